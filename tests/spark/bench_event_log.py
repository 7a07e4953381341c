#!/usr/bin/env python3
"""Time Spark on an event log: its history server's replay, and a query over the log as JSON.

    $STATETOP_SPARK_HOME/4.3.0/bin/python tests/spark/bench_event_log.py LOG [--runs 3]

`replay` is what the history server does first with every log: `ReplayListenerBus` parses each event (no
listener is attached, so nothing is made of them). `json` is `spark.read.json` on two cores with a schema of the
fields that are needed, and the sum of state rows over tasks. The start of the JVM and a warm-up on the
first lines are not measured. Prints `{"spark_version", "progress", "state_rows", "replay": [..], "json": [..],
"peak_bytes"}`.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from pyspark.sql import SparkSession  # noqa: E402
from pyspark.sql import functions as F  # noqa: E402

from sparkfix import session  # noqa: E402

SCHEMA = (
    "Event string, `Stage ID` long, `Task End Reason` struct<Reason: string>, `Task Info` struct<`Partition ID`: int, "
    "Accumulables: array<struct<ID: long, Name: string, Update: string>>>, progress struct<batchId: long>"
)
ROWS = "number of total state rows"


def replay(spark: SparkSession, log: Path) -> float:
    """Seconds that the history server's bus takes to parse the log."""
    jvm = spark._jvm
    bus = jvm.org.apache.spark.scheduler.ReplayListenerBus()
    everything = session.scala_object(spark, "org.apache.spark.scheduler.ReplayListenerBus").SELECT_ALL_FILTER()
    stream = jvm.java.io.BufferedInputStream(jvm.java.io.FileInputStream(str(log)))
    begun = time.perf_counter()
    bus.replay(stream, log.name, False, everything)
    stream.close()
    return time.perf_counter() - begun


def as_json(spark: SparkSession, log: Path) -> tuple[float, int, int]:
    """Seconds, progress events and state rows by a query over the log."""
    begun = time.perf_counter()
    lines = spark.read.schema(SCHEMA).json(str(log))
    told = F.expr(f"aggregate(filter(`Task Info`.Accumulables, a -> a.Name = '{ROWS}'), 0L, (s, a) -> s + bigint(a.Update))")
    success = (F.col("Event") == "SparkListenerTaskEnd") & (F.col("`Task End Reason`.Reason") == "Success")
    row = lines.agg(
        F.count(F.col("progress.batchId")).alias("progress"), F.sum(F.when(success, told)).alias("rows")
    ).first()
    return time.perf_counter() - begun, row["progress"], row["rows"]


def peak(spark: SparkSession) -> int | None:
    """The most memory that the JVM process ever held, where the system tells it."""
    process = spark._jvm.java.lang.ProcessHandle.current().pid()
    try:
        status = Path(f"/proc/{process}/status").read_text()
    except OSError:
        return None
    lines = [line for line in status.splitlines() if line.startswith("VmHWM:")]
    return int(lines[0].split()[1]) * 1024 if lines else None


def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("log", type=Path)
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    spark = session.start(memory="3g")
    small = options.log.with_suffix(".small")
    with options.log.open("rb") as lines:
        small.write_bytes(b"".join(line for line, _ in zip(lines, range(2000))))
    replay(spark, small)
    as_json(spark, small)
    small.unlink()
    told: dict[str, Any] = {"spark_version": spark.version, "replay": [], "json": []}
    for _ in range(options.runs):
        told["replay"].append(replay(spark, options.log))
        seconds, told["progress"], told["state_rows"] = as_json(spark, options.log)
        told["json"].append(seconds)
    told["peak_bytes"] = peak(spark)
    print(json.dumps(told))
    spark.stop()


if __name__ == "__main__":
    main()
