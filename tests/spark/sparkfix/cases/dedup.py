"""Deduplication and session windows."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from sparkfix import confs
from sparkfix.context import Context
from sparkfix.feeds import events
from sparkfix.registry import case


@case("dedup", "dropDuplicates on two columns without a watermark: state only grows", smoke=True)
def dedup(ctx: Context) -> None:
    ctx.feed().add(events(4))
    ctx.run(ctx.stream().dropDuplicates(["account_id", "amount"]))


@case(
    "dedup-watermark",
    "dropDuplicates with the event time among the columns, expired by the watermark",
    ("3.5.9", "4.3.0"),
)
def dedup_watermark(ctx: Context) -> None:
    ctx.conf({confs.CHANGELOG: True})
    ctx.feed().add(events(8))
    ctx.run(ctx.stream().withWatermark("ts", "4 minutes").dropDuplicates(["account_id", "ts"]))


@case("dedup-within-watermark", "dropDuplicatesWithinWatermark on the payment id")
def dedup_within_watermark(ctx: Context) -> None:
    ctx.conf({confs.CHANGELOG: True})
    ctx.feed().add(events(8))
    ctx.run(ctx.stream().withWatermark("ts", "4 minutes").dropDuplicatesWithinWatermark(["id"]))


def sessions(ctx: Context) -> DataFrame:
    """Payments counted per account and session."""
    return (
        ctx.stream()
        .withWatermark("ts", "5 minutes")
        .groupBy(F.session_window("ts", "2 minutes"), "account_id")
        .agg(F.count("*").alias("n"))
    )


@case("session-window", "session windows per account (prefix-scan keys)")
def session_window(ctx: Context) -> None:
    ctx.conf({confs.CHANGELOG: True})
    ctx.feed().add(events(8, accounts=25, hot=0.3))
    ctx.run(sessions(ctx), "append")
