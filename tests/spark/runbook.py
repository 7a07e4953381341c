"""Follows a runbook to the letter: every command that it prints, with real Spark.

    SPARK/4.3.0/bin/python tests/spark/runbook.py --statetop BIN --fixture DIR --to 7 --work DIR

Unpacks the checkpoint of a fixture, lets `statetop runbook` write its document, runs its blocks
in their order (the rehearsal on a copy, the checks, the repartition), and ends with 1 unless each
of them succeeds and both checkpoints have the count and are sound afterwards.
"""

import argparse
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pyarrow as pa


def run(command: list[str], env: dict[str, str], at: Path) -> str:
    """The output of a command that has to succeed."""
    done = subprocess.run(command, env=env, cwd=at, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{command} ended with {done.returncode}:\n{done.stdout}\n{done.stderr[-4000:]}")
    return done.stdout


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--statetop", type=Path, required=True)
    parser.add_argument("--fixture", type=Path, required=True, help="a folder with checkpoint.tar.zst")
    parser.add_argument("--to", type=int, default=7)
    parser.add_argument("--work", type=Path, required=True, help="emptied first")
    options = parser.parse_args()
    work = options.work.absolute()
    shutil.rmtree(work, ignore_errors=True)
    (work / "bin").mkdir(parents=True)
    # The document's own words: statetop and spark-submit, as they are on the path.
    (work / "bin" / "statetop").symlink_to(options.statetop.absolute())
    here = Path(sys.executable).parent
    path = f"{work / 'bin'}:{here}:{os.environ['PATH']}"
    env = {**os.environ, "PATH": path, "PYSPARK_PYTHON": sys.executable, "STATETOP_DATA_DIR": str(work / "data")}
    with pa.input_stream(str(options.fixture / "checkpoint.tar.zst"), compression="zstd") as packed:
        tarfile.open(fileobj=io.BytesIO(packed.read())).extractall(work)
    checkpoint = work / "checkpoint"
    run(["statetop", "runbook", str(checkpoint), "--to", str(options.to), "-o", "resize.md"], env, work)
    document = (work / "resize.md").read_text()
    ran = 0
    for kind, text in re.findall(r"```(\w+)\n(.*?)\n```", document, re.DOTALL):
        name = re.match(r"# (\S+\.py)\n", text)
        if kind == "python" and name:
            (work / name.group(1)).write_text(text)
        elif kind == "sh":
            run(["bash", "-e", "-c", text], env, work)
            ran += 1
    if ran < 5:
        sys.exit(f"only {ran} blocks of commands in\n{document}")
    for place in [checkpoint, Path(f"{checkpoint}-rehearsal")]:
        found = json.loads(run(["statetop", "inspect", str(place), "--format", "json"], env, work))
        if found["partitions"] != options.to or found["status"] != "committed":
            sys.exit(f"{place}: {found['partitions']} partitions, {found['status']}")
        run(["statetop", "verify", str(place)], env, work)
    print(f"{options.fixture.name}: {ran} blocks of commands, {options.to} partitions, sound")


if __name__ == "__main__":
    main()
