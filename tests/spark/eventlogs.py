#!/usr/bin/env python3
"""Record the event logs of real Spark applications, with Spark's own numbers beside them.

    tests/spark/eventlogs.py                       all releases, into tests/telemetry/eventlogs
    tests/spark/eventlogs.py --versions 4.3.0 --out DIR
    tests/spark/eventlogs.py --stages truth        only read the checkpoints and pack

The environments are those of `generate.sh` (`tests/spark/generate.sh --versions ... --list` makes them).
Each release runs the queries of `sparkfix/recording.py` in one application; 4.3.0 runs a small one too,
whose log is written in every layout and codec (`sparkfix/eventlog_files.py`). Then Spark 4.3.0 reads the
rows per partition and batch from the checkpoints.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).absolute().parent
sys.path.insert(0, str(HERE))

from sparkfix import READER_VERSION, VERSIONS, WORK_ROOT  # noqa: E402

HOME = Path(WORK_ROOT) / "eventlogs"
PROGRAM = Path(WORK_ROOT) / "program"
"""Where this program is copied before it runs: logs quote its path in stack traces."""
SMALL = "small-" + READER_VERSION
RELOAD = "reload-" + READER_VERSION
MASTER = "local[2,2]"
"""Two cores, and a task may fail once."""


def environment(version: str) -> Path:
    """The virtual environment of a Spark version."""
    home = os.environ.get("STATETOP_SPARK_HOME") or str(Path.home() / ".cache/statetop/spark")
    return Path(home) / version


def spawn(version: str, args: list[str]) -> None:
    """Run this program as a worker in the environment of `version`."""
    python = environment(version) / "bin" / "python"
    shutil.copytree(HERE, PROGRAM, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
    env = {
        **os.environ,
        "PYTHONPATH": str(PROGRAM),
        "TZ": "UTC",
        "PYSPARK_PYTHON": str(python),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYTHONWARNINGS": "ignore",
    }
    env.pop("SPARK_HOME", None)
    subprocess.run([str(python), str(PROGRAM / "eventlogs.py"), *args], env=env, cwd=WORK_ROOT, check=True)


# Recording: in the environment of each release.


def layout(version: str) -> dict[str, str]:
    """Settings of the log: every release in the layout that it is usually seen in, uncompressed."""
    rolling = version not in ("3.5.9", "4.2.1")
    return {
        "spark.eventLog.enabled": "true",
        "spark.eventLog.compress": "false",
        "spark.eventLog.rolling.enabled": str(rolling).lower(),
        "spark.ui.enabled": "true",
        "spark.ui.port": "0",
    }


def record(name: str) -> None:
    """Run the application `name` (`all-VERSION`, or one of the special ones) of this environment's release."""
    import pyspark

    from sparkfix import recording, session

    version = pyspark.__version__
    home = HOME / name
    shutil.rmtree(home, ignore_errors=True)
    logs = home / "logs"
    logs.mkdir(parents=True)
    settings = {**layout(version), "spark.eventLog.dir": logs.as_uri(), recording.SECRET: "hunter2"}
    spark = session.start(master=MASTER, settings=settings)
    application = spark.sparkContext.applicationId
    recorder = recording.Recorder(spark, version, name.split("-")[0])
    if name == SMALL:
        recorder.aggregation(2)
    elif name == RELOAD:
        recorder.reload()
    else:
        recorder.everything()
    truth = {"spark_version": version, "application": application, "queries": recorder.truth()}
    (home / "recorded.json").write_text(json.dumps(truth))
    recording.wait_for_log(spark, logs)


def log_lines(logs: Path) -> list[str]:
    """The lines of the one uncompressed log below `logs`."""
    parts = [p for p in logs.rglob("*") if p.is_file() and not p.name.startswith((".", "appstatus"))]
    parts.sort(key=lambda p: int(p.name.split("_")[1]) if p.name.startswith("events_") else 0)
    return "".join(p.read_text() for p in parts).splitlines()


def first_batches(lines: list[str]) -> int:
    """How many lines there are up to the end of the second batch."""
    ends = [number for number, line in enumerate(lines, start=1) if "QueryProgressEvent" in line[:120]]
    return ends[1]


def write_forms(name: str) -> None:
    """The other forms of a log: all of them of the small one, else what 4.x writes by default, of its beginning."""
    from pyspark.java_gateway import launch_gateway

    from sparkfix import eventlog_files
    from sparkfix.eventlog_files import Form

    home = HOME / name
    application = json.loads((home / "recorded.json").read_text())["application"]
    writers = eventlog_files.Writers(launch_gateway().jvm, application)
    lines = log_lines(home / "logs")
    forms = home / "forms"
    shutil.rmtree(forms, ignore_errors=True)
    if name == SMALL:
        wanted = [Form(codec, False) for codec in eventlog_files.CODECS]
        wanted += [Form(codec, True) for codec in ("none", "zstd")]
        wanted += [Form(codec, False, finished=False) for codec in eventlog_files.CODECS]
        wanted += [Form("zstd", True, finished=False)]
    else:
        wanted = [Form("zstd", True)]
        lines = lines[: first_batches(lines)]
    for form in wanted:
        writers.write(lines, forms / form.name, form)
    if name == SMALL:
        compacted = forms / "compacted-zstd"
        writers.write(lines, compacted, Form("zstd", True, rolls=4))
        print("compaction:", writers.compact(next(compacted.iterdir())), flush=True)


# Truth: with the newest release.


def truth(names: list[str]) -> None:
    """Add rows per partition of every batch that Spark's reader can read."""
    from sparkfix import confs, session

    spark = session.start()
    for key, value in {confs.PARTITIONS: "1", confs.TIME_TYPE: "true", confs.FORMAT_VALIDATION: "false"}.items():
        spark.conf.set(key, value)
    for name in names:
        home = HOME / name
        told = json.loads((home / "recorded.json").read_text())
        for query in told["queries"]:
            query["rows"] = rows_by_batch(spark, query, told["spark_version"], home)
            query.pop("checkpoint")
        (home / "truth.json").write_text(json.dumps(told, indent=None, separators=(",", ":")) + "\n")
        print(f"{name}: truth made", flush=True)


def rows_by_batch(spark: Any, query: dict[str, Any], version: str, home: Path) -> list[dict[str, Any]]:
    """Per batch and operator the rows of each partition, as progress events count them."""
    from sparkfix import logs, truth
    from sparkfix.context import first_line
    from sparkfix.counts import Reader, is_internal

    checkpoint = Path(query["checkpoint"])
    if not any((checkpoint / "state").glob("*/_metadata")):
        checkpoint = borrowed(checkpoint, query["name"], home)
    found: list[dict[str, Any]] = []
    told = {p["batchId"]: p["stateOperators"] for run in query["runs"] for p in run["progress"] if p["stateOperators"]}
    for batch in sorted(told):
        count = logs.partitions(checkpoint, batch)
        if count is None or not (checkpoint / "commits" / str(batch)).exists():
            continue
        place = truth.bounded(checkpoint.parent, count) if checkpoint.name == "checkpoint" else checkpoint
        try:
            reader = Reader(spark, place, count, raw=query["name"] != "hdfs")
            stores = [(m["operatorId"], m["stateStoreName"]) for m in reader.metadata()]
            sums: dict[int, list[int]] = {}
            for operator, store in stores:
                if store.endswith("-keyToNumValues"):
                    continue
                rows = sums.setdefault(operator, [0] * count)
                for family, content in reader.families(operator, store, batch, []).items():
                    if is_internal(family):
                        continue
                    for partition, counted in content["partitions"].items():
                        rows[int(partition)] += counted["rows"]
        except Exception as error:
            print(f"{version} {query['name']} batch {batch} is not readable: {first_line(error)}", flush=True)
            continue
        for operator, rows in sorted(sums.items()):
            found.append({"batch": batch, "operator": operator, "partitions": rows})
            total = told[batch][operator]["numRowsTotal"]
            counted = sum(rows) * (2 if query["name"] == "twice" else 1)
            if query["rows_tracked"] and counted != total:
                print(f"MISMATCH {version} {query['name']} batch {batch} operator {operator}: {counted}, {total}")
    return found


def borrowed(checkpoint: Path, name: str, home: Path) -> Path:
    """A copy of a 3.5 checkpoint with the operator metadata that 4.0 wrote for the same query."""
    from sparkfix import recording

    group = home.name.rsplit("-", 1)[0]
    newer = Path(WORK_ROOT) / f"{recording.place(group, name)}-4.0.5" / "checkpoint" / "state"
    copy = home / "borrowed" / name / "checkpoint"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(checkpoint, copy)
    for operator in (copy / "state").iterdir():
        if operator.name.isdigit() and (newer / operator.name / "_metadata").exists():
            shutil.copytree(newer / operator.name / "_metadata", operator / "_metadata")
    return copy


# Packing: no Spark.


def pack(names: list[str], out: Path) -> None:
    """`NAME/logs.tar.zst` with the log and its other forms, and `NAME/truth.json.zst`."""
    from sparkfix import pack as packing

    for name in names:
        home, target = HOME / name, out / name
        shutil.rmtree(target, ignore_errors=True)
        target.mkdir(parents=True)
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as tar:
            for top in ("logs", "forms"):
                for path in sorted((home / top).rglob("*")):
                    if path.is_file() and not packing.is_sidecar(path):
                        add(tar, path.relative_to(home).as_posix(), path.read_bytes())
        (target / "logs.tar.zst").write_bytes(packing.compress(buffer.getvalue(), 22))
        (target / "truth.json.zst").write_bytes(packing.compress((home / "truth.json").read_bytes(), 22))
        print(f"{target}: {sum(p.stat().st_size for p in target.iterdir())} bytes")


def add(tar: tarfile.TarFile, name: str, data: bytes) -> None:
    """One file without owner and time."""
    info = tarfile.TarInfo(name)
    info.size, info.mode = len(data), 0o644
    tar.addfile(info, io.BytesIO(data))


def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--versions", type=lambda t: t.split(","), default=list(VERSIONS))
    parser.add_argument("--out", type=Path, default=HERE.parent / "telemetry" / "eventlogs")
    parser.add_argument("--stages", type=lambda t: t.split(","), default=["record", "forms", "truth", "pack"])
    parser.add_argument("--worker", choices=("record", "forms", "truth", "pack"))
    parser.add_argument("--names", type=lambda t: t.split(","))
    options = parser.parse_args()
    out = options.out.resolve()
    if options.worker == "record":
        record(options.names[0])
    elif options.worker == "forms":
        write_forms(options.names[0])
    elif options.worker == "truth":
        truth(options.names)
    elif options.worker == "pack":
        pack(options.names, out)
    else:
        names = options.names or [f"all-{v}" for v in options.versions]
        if not options.names and READER_VERSION in options.versions:
            names += [SMALL, RELOAD]
        for name in names:
            for stage in ("record", "forms"):
                if stage in options.stages:
                    spawn(name.rsplit("-", 1)[1], ["--worker", stage, "--names", name])
        for stage in ("truth", "pack"):
            if stage in options.stages:
                spawn(READER_VERSION, ["--worker", stage, "--names", ",".join(names), "--out", str(out)])


if __name__ == "__main__":
    main()
