"""The HDFS-backed provider, Spark's default: deltas, and snapshots by maintenance."""

from __future__ import annotations

from pyspark.sql import functions as F

from sparkfix import confs
from sparkfix.cases.aggregation import windowed
from sparkfix.cases.join import feed as feed_join
from sparkfix.cases.join import joined
from sparkfix.context import Context
from sparkfix.feeds import events
from sparkfix.registry import case


def use_hdfs(ctx: Context) -> None:
    """Select the provider."""
    ctx.conf({confs.PROVIDER: confs.HDFS_PROVIDER})


@case("hdfs-agg", "windowed aggregation on the HDFS-backed provider, snapshots and deltas", smoke=True)
def hdfs_agg(ctx: Context) -> None:
    use_hdfs(ctx)
    ctx.feed().add(events(12))
    ctx.run(windowed(ctx), "update")


@case("hdfs-session", "session windows on the HDFS-backed provider", ("3.5.9", "4.3.0"))
def hdfs_session(ctx: Context) -> None:
    use_hdfs(ctx)
    ctx.feed().add(events(6, accounts=25, hot=0.3))
    frame = (
        ctx.stream()
        .withWatermark("ts", "5 minutes")
        .groupBy(F.session_window("ts", "2 minutes"), "account_id")
        .agg(F.count("*").alias("n"))
    )
    ctx.run(frame, "append")


@case(
    "hdfs-dedup",
    "dropDuplicatesWithinWatermark on the HDFS-backed provider, Hadoop sidecars kept",
    ("4.3.0",),
    keep_crc=True,
)
def hdfs_dedup(ctx: Context) -> None:
    use_hdfs(ctx)
    ctx.feed().add(events(6))
    ctx.run(ctx.stream().withWatermark("ts", "4 minutes").dropDuplicatesWithinWatermark(["id"]))


@case("hdfs-join", "stream-stream join format 2 on the HDFS-backed provider", ("4.3.0",))
def hdfs_join(ctx: Context) -> None:
    use_hdfs(ctx)
    feed_join(ctx, 5)
    ctx.run(joined(ctx, "inner"))
