#!/usr/bin/env python3
"""Time Spark's `statestore` reader on one store of a checkpoint.

    $STATETOP_SPARK_HOME/4.3.0/bin/python tests/spark/bench_reader.py CHECKPOINT [--runs 3] [--operator 0]
    ... --mode keys --by account_id      the 20 heaviest values of a grouping column, by rows
    ... --mode json --into DIR           every row as JSON text, written to a local directory

The start of the JVM and a warm-up (a small aggregation, and one row of this state) are not measured.
Prints `{"spark_version", "mode", "rows", "seconds": [..], "peak_bytes", ..}` and, by mode, `"counts": {"0": ..}`
(rows per partition), `"top": [[value, rows], ..]` or `"json_bytes"`.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from pyspark.sql import DataFrame, SparkSession  # noqa: E402
from pyspark.sql import functions as F  # noqa: E402

from sparkfix import session  # noqa: E402

TOP = 20


def count(frame: DataFrame) -> dict[str, int]:
    """Rows per partition."""
    counts = {r["partition_id"]: r["count"] for r in frame.groupBy("partition_id").count().collect()}
    return {str(p): counts[p] for p in sorted(counts)}


def heaviest(frame: DataFrame, columns: list[str]) -> list[list[Any]]:
    """The values of grouping columns with the most rows."""
    grouped = frame.groupBy(*[F.col(f"key.{c}").alias(c) for c in columns]).count()
    # Equal counts in a fixed order, so that the answer is one answer.
    ordered = grouped.orderBy(F.desc("count"), *columns).limit(TOP)
    return [[*(row[c] for c in columns), row["count"]] for row in ordered.collect()]


def write_json(frame: DataFrame, into: Path) -> int:
    """Writes every row as a line of JSON; returns the bytes written."""
    shutil.rmtree(into, ignore_errors=True)
    frame.select(F.to_json(F.struct("partition_id", "key", "value")).alias("value")).write.text(str(into))
    return sum(part.stat().st_size for part in into.glob("part-*"))


def peak(spark: SparkSession) -> int:
    """The most memory that the JVM process ever held, where the system tells it."""
    process = spark._jvm.java.lang.ProcessHandle.current().pid()
    try:
        status = Path(f"/proc/{process}/status").read_text()
    except OSError:
        return 0
    line = next((text for text in status.splitlines() if text.startswith("VmHWM:")), "VmHWM: 0 kB")
    return int(line.split()[1]) * 1024


def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkpoint")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--operator", type=int, default=0)
    parser.add_argument("--mode", choices=("count", "keys", "json"), default="count")
    parser.add_argument("--by", default="account_id", help="grouping columns for --mode keys, comma separated")
    parser.add_argument("--into", type=Path, default=Path("/tmp/statetop-bench/spark-json"), help="for --mode json")
    options = parser.parse_args()
    spark = session.start(memory="3g")
    spark.range(1000).groupBy("id").count().collect()

    def load() -> DataFrame:
        return spark.read.format("statestore").option("operatorId", options.operator).load(options.checkpoint)

    load().limit(1).collect()
    modes: dict[str, tuple[str, Callable[[], Any]]] = {
        "count": ("counts", lambda: count(load())),
        "keys": ("top", lambda: heaviest(load(), options.by.split(","))),
        "json": ("json_bytes", lambda: write_json(load(), options.into)),
    }
    name, measure = modes[options.mode]
    seconds: list[float] = []
    answer: Any = None
    for _ in range(options.runs):
        began = time.perf_counter()
        answer = measure()
        seconds.append(round(time.perf_counter() - began, 3))
    rows = sum(answer.values()) if options.mode == "count" else load().count()
    report = {"spark_version": spark.version, "mode": options.mode, "rows": rows, "seconds": seconds}
    print(json.dumps({**report, "peak_bytes": peak(spark), name: answer}))
    spark.stop()


if __name__ == "__main__":
    main()
