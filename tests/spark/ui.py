#!/usr/bin/env python3
"""Record what the web interfaces of real Spark applications answer, with other witnesses beside it.

    tests/spark/ui.py                       all releases, into tests/telemetry/ui
    tests/spark/ui.py --versions 4.3.0 --out DIR
    tests/spark/ui.py --stages truth,pack   only read the checkpoints and pack

The environments are those of `generate.sh` (`tests/spark/generate.sh --versions ... --list` makes them).
Each release runs the queries of `sparkfix/ui_recording.py` in one application that also writes an event
log. Then Spark 4.3.0 reads the rows per partition and batch from the checkpoints.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).absolute().parent
sys.path.insert(0, str(HERE))

import eventlogs  # noqa: E402
from sparkfix import READER_VERSION, VERSIONS, WORK_ROOT  # noqa: E402

HOME = Path(WORK_ROOT) / "ui"
GROUP = "ui"
"""The name under which the checkpoints of these queries lie."""


def spawn(version: str, args: list[str]) -> None:
    """Run this program as a worker in the environment of `version`, from a neutral place."""
    python = eventlogs.environment(version) / "bin" / "python"
    program = eventlogs.PROGRAM
    shutil.copytree(HERE, program, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
    env = {
        **os.environ,
        "PYTHONPATH": str(program),
        "TZ": "UTC",
        "PYSPARK_PYTHON": str(python),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYTHONWARNINGS": "ignore",
    }
    env.pop("SPARK_HOME", None)
    subprocess.run([str(python), str(program / "ui.py"), *args], env=env, cwd=WORK_ROOT, check=True)


def home_of(version: str) -> Path:
    """Where a recording is made."""
    return HOME / f"{GROUP}-{version}"


def record(version: str) -> None:
    """Run the queries of this environment's release, and keep all answers."""
    from sparkfix import recording, session, ui_recording

    home = home_of(version)
    shutil.rmtree(home, ignore_errors=True)
    logs = home / "logs"
    logs.mkdir(parents=True)
    settings = {**eventlogs.layout(version), "spark.eventLog.dir": logs.as_uri(), recording.SECRET: "hunter2"}
    spark = session.start(master=eventlogs.MASTER, settings=settings)
    recorder = recording.Recorder(spark, version, GROUP)
    ui_recording.run(recorder)
    (home / "answers.json").write_text(json.dumps(ui_recording.answers(spark), separators=(",", ":")))
    queries = [{**query, "runs": [without_stages(run) for run in query["runs"]]} for query in recorder.truth()]
    told = {"spark_version": version, "application": spark.sparkContext.applicationId, "queries": queries}
    recording.wait_for_log(spark, logs)
    told["tasks"] = list(ui_recording.tasks_of_log(eventlogs.log_lines(logs)))
    (home / "recorded.json").write_text(json.dumps(told))


def without_stages(run: dict) -> dict:
    """A run without what the interface itself said of it."""
    return {key: value for key, value in run.items() if key != "stages"}


def truth(versions: list[str]) -> None:
    """Add rows per partition of every batch that Spark's reader can read."""
    from sparkfix import confs, session

    spark = session.start()
    for key, value in {confs.PARTITIONS: "1", confs.TIME_TYPE: "true", confs.FORMAT_VALIDATION: "false"}.items():
        spark.conf.set(key, value)
    for version in versions:
        home = home_of(version)
        told = json.loads((home / "recorded.json").read_text())
        for query in told["queries"]:
            query["rows"] = eventlogs.rows_by_batch(spark, query, version, home)
            query.pop("checkpoint")
        (home / "truth.json").write_text(json.dumps(told, separators=(",", ":")) + "\n")
        print(f"{version}: truth made", flush=True)


def pack(versions: list[str], out: Path) -> None:
    """`VERSION/answers.json.zst` and `VERSION/truth.json.zst`."""
    from sparkfix import pack as packing

    for version in versions:
        target = out / version
        target.mkdir(parents=True, exist_ok=True)
        for name in ("answers.json", "truth.json"):
            data = (home_of(version) / name).read_bytes()
            (target / f"{name}.zst").write_bytes(packing.compress(data, 22))
        print(f"{target}: {sum(p.stat().st_size for p in target.iterdir())} bytes")


def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--versions", type=lambda t: t.split(","), default=list(VERSIONS))
    parser.add_argument("--out", type=Path, default=HERE.parent / "telemetry" / "ui")
    parser.add_argument("--stages", type=lambda t: t.split(","), default=["record", "truth", "pack"])
    parser.add_argument("--worker", choices=("record", "truth", "pack"))
    options = parser.parse_args()
    out = options.out.resolve()
    if options.worker == "record":
        record(options.versions[0])
    elif options.worker == "truth":
        truth(options.versions)
    elif options.worker == "pack":
        pack(options.versions, out)
    else:
        if "record" in options.stages:
            for version in options.versions:
                spawn(version, ["--worker", "record", "--versions", version])
        for stage in ("truth", "pack"):
            if stage in options.stages:
                args = ["--worker", stage, "--versions", ",".join(options.versions), "--out", str(out)]
                spawn(READER_VERSION, args)


if __name__ == "__main__":
    main()
