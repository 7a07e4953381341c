"""Several stateful operators in one query, and streaming limits."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from sparkfix import confs
from sparkfix.cases.join import feed as feed_join
from sparkfix.cases.join import joined
from sparkfix.context import Context
from sparkfix.feeds import events
from sparkfix.registry import case


def chain(ctx: Context) -> DataFrame:
    """Distinct payments counted per account and window."""
    return (
        ctx.stream()
        .withWatermark("ts", "5 minutes")
        .dropDuplicates(["account_id", "amount", "ts"])
        .groupBy(F.window("ts", "5 minutes"), "account_id")
        .agg(F.count("*").alias("n"))
    )


@case("chained", "dropDuplicates, then a windowed aggregation: two operators")
def chained(ctx: Context) -> None:
    ctx.conf({confs.CHANGELOG: True})
    ctx.feed().add(events(7))
    ctx.run(chain(ctx), "append")


@case("chained-join", "a stream-stream join, then a windowed aggregation", ("4.3.0",))
def chained_join(ctx: Context) -> None:
    ctx.conf({confs.CHANGELOG: True, confs.JOIN_FORMAT: 3})
    feed_join(ctx, 7)
    frame = joined(ctx, "inner").groupBy(F.window("o_ts", "5 minutes"), "o_account").agg(F.sum("amount").alias("paid"))
    ctx.run(frame, "append")


@case("limit", "a streaming limit: all state is one row in partition 0", ("3.5.9", "4.3.0"))
def limit(ctx: Context) -> None:
    ctx.feed().add(events(3))
    ctx.run(ctx.stream().limit(50))
