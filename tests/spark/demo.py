#!/usr/bin/env python3
"""Make `assets/demo.tar.zst`: a real checkpoint whose batches can be replayed one by one.

Orders and payments are joined on the account, and what was paid is summed per account and window; one
account makes a third of the traffic. The checkpoint starts with 32 partitions, is resized to 48 by Spark's
offline repartition and runs on. Its archive starts with `demo.json`, which names for every batch the files
that were first seen after it, commit last; the files follow in that order with their real times.

Run with the newest Spark environment: `$STATETOP_SPARK_HOME/4.3.0/bin/python tests/spark/demo.py`.
"""

from __future__ import annotations

import argparse
import io
import json
import random
import shutil
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from pyspark.sql import DataFrame, SparkSession  # noqa: E402
from pyspark.sql import functions as F  # noqa: E402

from sparkfix import confs, feeds, pack, session  # noqa: E402

HOME = Path("/tmp/statetop-demo")
CHECKPOINT = HOME / "checkout-payments"
BEFORE, AFTER = 32, 48
BATCHES_BEFORE, BATCHES_AFTER = 4, 16
ROWS_BEFORE, ROWS_AFTER = 1500, 640
MINUTES = 4.0
ACCOUNTS = 2600
HOT = "acct-7"
HOT_SHARE = 0.34
SCHEMA = "id long, account_id string, ts timestamp, amount long"
SETTINGS = {
    confs.PROVIDER: confs.ROCKSDB_PROVIDER,
    confs.CHANGELOG: "true",
    confs.MIN_DELTAS: "6",
    confs.JOIN_FORMAT: "3",
    confs.NO_DATA_BATCHES: "false",
    "spark.sql.streaming.minBatchesToRetain": "1000",
}


def rows(batch: int, count: int, side: int) -> Iterator[dict[str, Any]]:
    """One side's rows of a batch. Other accounts follow a long-tailed distribution."""
    rng = random.Random(batch * 2 + side)
    for i in range(count):
        draw = rng.random()
        if draw < HOT_SHARE:
            account = HOT
        elif draw < 0.7:
            account = f"acct-{int(rng.paretovariate(0.6)) % ACCOUNTS}"
        else:
            account = f"acct-{rng.randrange(ACCOUNTS)}"
        yield {
            "id": batch * 10_000 + i,
            "account_id": account,
            "ts": feeds.at((batch + i / count) * MINUTES),
            "amount": rng.randrange(1, 300),
        }


def query(spark: SparkSession) -> DataFrame:
    """Join, then window."""

    def side(name: str, prefix: str) -> DataFrame:
        reader = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1)
        frame = reader.json(str(HOME / "in" / name)).withWatermark("ts", "58 minutes")
        return frame.select(*[F.col(c).alias(f"{prefix}_{c}") for c in frame.columns])

    near = "o_account_id = p_account_id AND p_ts BETWEEN o_ts AND o_ts + INTERVAL 4 MINUTES"
    joined = side("orders", "o").join(side("payments", "p"), F.expr(near), "inner")
    return joined.groupBy(F.window("o_ts", "10 minutes"), "o_account_id").agg(
        F.sum("p_amount").alias("paid"), F.count("*").alias("payments")
    )


class Recorder:
    """Lists the checkpoint after every batch and remembers which files appeared."""

    def __init__(self) -> None:
        self.seen: dict[str, int] = {}
        self.batches: list[dict[str, Any]] = []

    def record(self, batch: int, kind: str) -> None:
        """Attribute everything new to `batch`; nothing may have changed or gone."""
        now = {
            p.relative_to(CHECKPOINT).as_posix(): p.stat().st_mtime_ns
            for p in CHECKPOINT.rglob("*")
            if p.is_file() and not p.name.startswith(".")
        }
        gone = set(self.seen) - set(now)
        changed = [name for name, stamp in self.seen.items() if now.get(name, stamp) != stamp]
        if gone or changed:
            raise RuntimeError(f"batch {batch}: {len(gone)} files gone, changed: {changed[:5]}")
        commit = f"commits/{batch}"
        new = sorted((n for n in now if n not in self.seen and n != commit), key=lambda n: (now[n], n))
        self.batches.append({"batch": batch, "kind": kind, "files": [*new, commit]})
        self.seen = now


def build(spark: SparkSession) -> Recorder:
    """Run everything."""
    for key, value in {**SETTINGS, confs.PARTITIONS: str(BEFORE)}.items():
        spark.conf.set(key, value)
    orders, payments = feeds.Feed(HOME / "in" / "orders"), feeds.Feed(HOME / "in" / "payments")
    recorder = Recorder()

    def run(first: int, batches: int, count: int, shift: int) -> None:
        running = None
        for number in range(first, first + batches):
            orders.add([rows(number, count, 0)])
            payments.add([rows(number, count, 1)])
            if running is None:
                running = (
                    query(spark)
                    .writeStream.format("noop")
                    .outputMode("append")
                    .queryName("checkout-payments")
                    .option("checkpointLocation", str(CHECKPOINT))
                    .start()
                )
            running.processAllAvailable()
            recorder.record(number + shift, "data")
            print(f"batch {number + shift}: {state(running)}", flush=True)
        running.stop()
        session.unload_state(spark)

    run(0, BATCHES_BEFORE, ROWS_BEFORE, 0)
    # What maintenance uploaded after the last listing goes to the next entry.
    spark._streamingCheckpointManager.repartition(str(CHECKPOINT), AFTER)
    recorder.record(BATCHES_BEFORE, "repartition")
    run(BATCHES_BEFORE, BATCHES_AFTER, ROWS_AFTER, 1)
    return recorder


def state(running: Any) -> str:
    """Rows per operator, from the last progress."""
    progress = running.lastProgress
    operators = (progress or {})["stateOperators"] if progress else []
    return ", ".join(f"{o['operatorName']} {o['numRowsTotal']}" for o in operators)


def archive(recorder: Recorder, target: Path, version: str) -> None:
    """`demo.json`, then the files batch by batch with their modification times."""
    about = {
        "name": "checkout-payments",
        "spark_version": version,
        "partitions": [BEFORE, AFTER],
        "repartition_batch": BATCHES_BEFORE,
        "hot_account": HOT,
        "checkpoint": "checkpoint",
        "batches": recorder.batches,
    }
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as tar:
        times = [CHECKPOINT / name for entry in recorder.batches for name in entry["files"]]
        add(tar, "demo.json", json.dumps(about).encode(), min(p.stat().st_mtime for p in times))
        for path in times:
            name = "checkpoint/" + path.relative_to(CHECKPOINT).as_posix()
            add(tar, name, path.read_bytes(), path.stat().st_mtime)
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(pack.compress(buffer.getvalue(), 22))
    print(f"{target}: {target.stat().st_size} bytes, {len(times)} files, {len(recorder.batches)} batches")


def add(tar: tarfile.TarFile, name: str, data: bytes, stamp: float) -> None:
    """One regular file without owner."""
    info = tarfile.TarInfo(name)
    info.size, info.mtime, info.mode = len(data), stamp, 0o644
    tar.addfile(info, io.BytesIO(data))


def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=HERE.parent.parent / "assets" / "demo.tar.zst")
    options = parser.parse_args()
    shutil.rmtree(HOME, ignore_errors=True)
    spark = session.start()
    recorder = build(spark)
    archive(recorder, options.out.resolve(), spark.version)
    spark.stop()


if __name__ == "__main__":
    main()
