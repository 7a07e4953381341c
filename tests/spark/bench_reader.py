#!/usr/bin/env python3
"""Time Spark's `statestore` reader counting the rows of every partition of a checkpoint.

    $STATETOP_SPARK_HOME/4.3.0/bin/python tests/spark/bench_reader.py CHECKPOINT [--runs 3] [--operator 0]

The start of the JVM and a warm-up (a small aggregation, and one row of this state) are not measured.
Prints `{"spark_version", "rows", "seconds": [..], "counts": {"0": ..}}`.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from pyspark.sql import SparkSession  # noqa: E402

from sparkfix import session  # noqa: E402


def count(spark: SparkSession, checkpoint: str, operator: int) -> dict[str, int]:
    """Rows per partition."""
    frame = spark.read.format("statestore").option("operatorId", operator).load(checkpoint)
    return {str(r["partition_id"]): r["count"] for r in frame.groupBy("partition_id").count().collect()}


def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkpoint")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--operator", type=int, default=0)
    options = parser.parse_args()
    spark = session.start(memory="3g")
    spark.range(1000).groupBy("id").count().collect()
    frame = spark.read.format("statestore").option("operatorId", options.operator).load(options.checkpoint)
    frame.limit(1).collect()
    seconds: list[float] = []
    counts: dict[str, int] = {}
    for _ in range(options.runs):
        began = time.perf_counter()
        counts = count(spark, options.checkpoint, options.operator)
        seconds.append(round(time.perf_counter() - began, 3))
    ordered = {k: counts[k] for k in sorted(counts, key=int)}
    print(
        json.dumps(
            {
                "spark_version": spark.version,
                "rows": sum(counts.values()),
                "seconds": seconds,
                "counts": ordered,
            }
        )
    )
    spark.stop()


if __name__ == "__main__":
    main()
