#!/usr/bin/env python3
"""Make the fixtures. `generate.sh` is the front door: it prepares the environments and calls this.

Without `--worker` this only plans: for each Spark version it runs itself in that version's
environment to build the checkpoints, then once with the reader version to make the truth.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
import traceback
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from sparkfix import READER_VERSION, VERSIONS, WORK_ROOT  # noqa: E402


def environment(version: str) -> Path:
    """The virtual environment of a Spark version."""
    home = os.environ.get("STATETOP_SPARK_HOME") or str(Path.home() / ".cache/statetop/spark")
    return Path(home) / version


def spawn(version: str, args: list[str]) -> int:
    """Run this program as a worker in the environment of `version`."""
    python = environment(version) / "bin" / "python"
    if not python.exists():
        print(f"no environment for Spark {version} at {python.parent.parent}; use generate.sh", file=sys.stderr)
        return 3
    env = {
        **os.environ,
        "PYTHONPATH": str(HERE),
        "TZ": "UTC",
        "PYSPARK_PYTHON": str(python),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYTHONWARNINGS": "ignore",
    }
    env.pop("SPARK_HOME", None)
    return subprocess.run([str(python), str(HERE / "generate.py"), *args], env=env, check=False).returncode


def brief() -> str:
    """The current error with the frames of this program, and without pages of JVM frames."""
    lines = traceback.format_exc().splitlines()
    telling = [
        t
        for t in lines
        if not t.startswith("\torg.apache")
        and not t.startswith("\tat ")
        and not t.startswith("\t\tat ")
        and "site-packages" not in t
    ]
    return "\n".join(line[:300] for line in telling[:40])


def work(options: argparse.Namespace) -> int:
    """The worker: build checkpoints and/or make truths in this process's Spark."""
    import pyspark

    from sparkfix import confs, damage, registry, session, truth
    from sparkfix.context import Context

    version = pyspark.__version__
    spark = session.start()
    failures: list[str] = []
    if "build" in options.worker:
        for made in registry.select(options.cases, version, options.smoke):
            if made.base:
                continue
            began = time.time()
            context = Context(spark, made, version)
            try:
                made.build(context)
                context.finish()
                print(f"built {context.fixture} in {time.time() - began:.1f} s", flush=True)
            except Exception:
                failures.append(f"build {context.fixture}")
                print(brief(), flush=True)
            finally:
                context.close()
    if "truth" in options.worker:
        spark.conf.set(confs.PARTITIONS, "1")
        spark.conf.set(confs.TIME_TYPE, "true")
        spark.conf.set(confs.NANOS_TYPES, "true")
        spark.conf.set(confs.FORMAT_VALIDATION, "false")
        for target in options.versions:
            for made in registry.select(options.cases, target, options.smoke):
                began = time.time()
                name = made.fixture(target)
                try:
                    if made.base:
                        warnings = damage.make(spark, made, target, options.out)
                    elif not (Path(WORK_ROOT) / name / "build.json").exists():
                        failures.append(f"truth {name}: not built")
                        continue
                    else:
                        warnings = truth.make(spark, made, target, options.out)
                    for warning in warnings:
                        print("MISMATCH", warning, flush=True)
                    print(f"truth {name} in {time.time() - began:.1f} s", flush=True)
                except Exception:
                    failures.append(f"truth {name}")
                    print(brief(), flush=True)
                session.unload_state(spark)
    spark.stop()
    for failure in failures:
        print("FAILED", failure, flush=True)
    return 1 if failures else 0


def main() -> int:
    """Entry point."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--versions", type=lambda t: t.split(","), default=None, help="comma separated Spark versions")
    parser.add_argument("--cases", type=lambda t: t.split(","), default=None, help="comma separated names or prefixes")
    parser.add_argument("--out", type=Path, default=HERE.parent / "fixtures", help="where fixtures go")
    parser.add_argument("--list", action="store_true", help="list the cases and stop")
    parser.add_argument("--smoke", action="store_true", help="only the smallest cases, newest Spark only")
    parser.add_argument("--stages", default="build,truth", help="build, truth or both (default)")
    parser.add_argument("--worker", default="", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.list:
        from sparkfix import registry

        for made in registry.load().values():
            print(
                json.dumps(
                    {
                        "case": made.name,
                        "versions": made.versions,
                        "base": made.base,
                        "smoke": made.smoke,
                        "description": made.description,
                    }
                )
            )
        return 0
    options.versions = options.versions or ([READER_VERSION] if options.smoke else list(VERSIONS))
    options.out = options.out.resolve()
    if options.worker:
        return work(options)
    common = ["--out", str(options.out), "--versions", ",".join(options.versions)]
    common += ["--cases", ",".join(options.cases)] if options.cases else []
    common += ["--smoke"] if options.smoke else []
    code = 0
    stages = options.stages.split(",")
    for version in options.versions:
        if "build" in stages and version != READER_VERSION:
            code |= spawn(version, ["--worker", "build", *common])
    rest = [s for s in stages if s != "build" or READER_VERSION in options.versions]
    return code | (spawn(READER_VERSION, ["--worker", ",".join(rest), *common]) if rest else 0)


if __name__ == "__main__":
    sys.exit(main())
