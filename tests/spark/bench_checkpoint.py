#!/usr/bin/env python3
"""Make a big checkpoint to measure against (never committed).

    $STATETOP_SPARK_HOME/4.3.0/bin/python tests/spark/bench_checkpoint.py /tmp/statetop-bench/big
    ... --changelog off
    ... --partitions 10000 --rows 200000

Payments are counted per order in the RocksDB state store. Most rows come in the first batches, so that every
partition has a snapshot; the last batches stay in changelogs beyond it (with `--changelog on`).
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from pyspark.sql import DataFrame, SparkSession  # noqa: E402
from pyspark.sql import functions as F  # noqa: E402

from sparkfix import confs, session  # noqa: E402

MANY = 1000
"""Above this many partitions: fewer batches, and stores are closed after each, or the process would drown."""
BATCHES = {False: (4, 3), True: (1, 1)}
"""Bulk and tail batches, for few and for many partitions."""
TAIL_SHARE = 0.02


def inputs(spark: SparkSession, home: Path, rows: int, batches: tuple[int, int]) -> Path:
    """One parquet file per batch: the bulk first, then small batches that mix new and known orders."""
    target = home / "in"
    bulks, tails = batches
    tail = int(rows * TAIL_SHARE)
    bulk = (rows - tails * tail) // bulks
    edges = [i * bulk for i in range(bulks)] + [rows - (tails - i) * tail for i in range(tails)] + [rows]
    for number, (low, high) in enumerate(zip(edges, edges[1:])):
        start = low if number < bulks else max(0, low - tail)
        frame = spark.range(start, high, 1, 1).select(
            F.concat(F.lit("order-"), F.col("id")).alias("order_id"),
            F.when(F.col("id") % 3 == 0, F.lit("acct-7"))
            .otherwise(F.concat(F.lit("acct-"), F.col("id") % 5000))
            .alias("account_id"),
            (F.col("id") % 997).alias("amount"),
        )
        frame.write.parquet(str(home / "tmp"))
        part = next((home / "tmp").glob("part-*"))
        target.mkdir(parents=True, exist_ok=True)
        part.rename(target / f"{number:03}.parquet")
        shutil.rmtree(home / "tmp")
        time.sleep(0.02)
    return target


def query(spark: SparkSession, source: Path) -> DataFrame:
    """A keyed aggregation."""
    schema = "order_id string, account_id string, amount long"
    frame = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(source))
    return frame.groupBy("order_id", "account_id").agg(F.count("*").alias("n"), F.sum("amount").alias("total"))


def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("home", type=Path, help="directory to make; the checkpoint is HOME/checkpoint")
    parser.add_argument("--partitions", type=int, default=200)
    parser.add_argument("--rows", type=int, default=3_000_000)
    parser.add_argument("--changelog", choices=("on", "off"), default="on")
    options = parser.parse_args()
    shutil.rmtree(options.home, ignore_errors=True)
    options.home.mkdir(parents=True)
    spark = session.start(memory="3g")
    batches = BATCHES[options.partitions > MANY]
    settings = {
        confs.PROVIDER: confs.ROCKSDB_PROVIDER,
        confs.PARTITIONS: options.partitions,
        confs.CHANGELOG: "true" if options.changelog == "on" else "false",
        confs.MIN_DELTAS: batches[0],
        confs.ROCKS + "boundedMemoryUsage": "true",
        confs.ROCKS + "maxMemoryUsageMB": 1500,
        confs.NO_DATA_BATCHES: "false",
        confs.UNLOAD_ON_COMMIT: str(options.partitions > MANY).lower(),
    }
    for key, value in settings.items():
        spark.conf.set(key, str(value))
    source = inputs(spark, options.home, options.rows, batches)
    checkpoint = options.home / "checkpoint"
    began = time.time()
    running = (
        query(spark, source)
        .writeStream.format("noop")
        .outputMode("update")
        .option("checkpointLocation", str(checkpoint))
        .start()
    )
    running.processAllAvailable()
    wanted = options.partitions if options.changelog == "on" else 0
    deadline = time.time() + 600
    while len(list(checkpoint.glob("state/0/*/*.zip"))) < wanted and time.time() < deadline:
        time.sleep(1)
    last = json.loads(running._jsq.lastProgress().json())
    running.stop()
    session.unload_state(spark)
    shutil.rmtree(source)
    print(
        json.dumps(
            {
                "checkpoint": str(checkpoint),
                "partitions": options.partitions,
                "rows": last["stateOperators"][0]["numRowsTotal"],
                "batches": last["batchId"] + 1,
                "snapshots": len(list(checkpoint.glob("state/0/*/*.zip"))),
                "changelogs": len(list(checkpoint.glob("state/0/*/*.changelog"))),
                "seconds": round(time.time() - began, 1),
            }
        )
    )
    spark.stop()


if __name__ == "__main__":
    main()
