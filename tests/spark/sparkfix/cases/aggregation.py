"""Aggregations over event-time windows with one account that dominates."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from sparkfix import confs
from sparkfix.context import Context
from sparkfix.feeds import events
from sparkfix.registry import case

FORMAT_2 = ("4.0.5", "4.1.4", "4.2.1", "4.3.0")


def windowed(ctx: Context, minutes: int = 5) -> DataFrame:
    """Payments per account and window; windows leave the state as the watermark moves."""
    return (
        ctx.stream()
        .withWatermark("ts", f"{minutes} minutes")
        .groupBy(F.window("ts", f"{minutes} minutes"), "account_id")
        .agg(F.count("*").alias("n"), F.sum("amount").alias("total"))
    )


@case(
    "agg-window-hot", "windowed aggregation with a hot account, a snapshot at every batch (changelog off)", smoke=True
)
def agg_window_hot(ctx: Context) -> None:
    ctx.feed().add(events(11))
    ctx.run(windowed(ctx), "update")


@case(
    "agg-window-changelog",
    "windowed aggregation, changelogs with snapshots every few batches and some beyond",
    smoke=True,
)
def agg_window_changelog(ctx: Context) -> None:
    ctx.conf({confs.CHANGELOG: True})
    ctx.feed().add(events(13))
    ctx.run(windowed(ctx), "update")


@case("agg-format2", "windowed aggregation with state checkpoint format 2, a snapshot at every batch", FORMAT_2)
def agg_format2(ctx: Context) -> None:
    ctx.conf({confs.CHECKPOINT_FORMAT: 2})
    ctx.feed().add(events(7))
    ctx.run(windowed(ctx), "update")
    ctx.feed().add(events(2, first=7))
    ctx.run(windowed(ctx), "update")


@case("agg-format2-changelog", "windowed aggregation with state checkpoint format 2 and changelogs", FORMAT_2)
def agg_format2_changelog(ctx: Context) -> None:
    ctx.conf({confs.CHECKPOINT_FORMAT: 2, confs.CHANGELOG: True})
    ctx.feed().add(events(12))
    ctx.run(windowed(ctx), "update")


@case("agg-restarts", "keyed aggregation that was restarted with changelogs on, off and on again", ("3.5.9", "4.3.0"))
def agg_restarts(ctx: Context) -> None:
    def keyed() -> DataFrame:
        return ctx.stream().groupBy("account_id").agg(F.count("*").alias("n"), F.max("amount").alias("top"))

    for run, changelog in enumerate((True, False, True)):
        ctx.conf({confs.CHANGELOG: changelog})
        ctx.feed().add(events(4, first=4 * run, accounts=60))
        ctx.run(keyed(), "update")


@case("agg-no-keys", "an aggregate without keys: all state is in partition 0", ("3.5.9", "4.3.0"))
def agg_no_keys(ctx: Context) -> None:
    ctx.feed().add(events(4))
    ctx.run(ctx.stream().agg(F.count("*").alias("n"), F.sum("amount").alias("total")), "complete")


@case("agg-no-snapshot", "changelogs only: no snapshot was uploaded yet", ("4.3.0",))
def agg_no_snapshot(ctx: Context) -> None:
    ctx.conf({confs.CHANGELOG: True, confs.MIN_DELTAS: 100})
    ctx.feed().add(events(5))
    ctx.run(windowed(ctx), "update")


@case("agg-retained", "few batches retained: old offsets, commits and snapshots are gone", ("3.5.9", "4.3.0"))
def agg_retained(ctx: Context) -> None:
    ctx.conf(
        {
            confs.CHANGELOG: True,
            confs.MIN_DELTAS: 2,
            "spark.sql.streaming.minBatchesToRetain": 3,
            "spark.sql.streaming.ratioExtraSpaceAllowedInCheckpoint": 0,
        }
    )
    ctx.feed().add(events(14))
    ctx.run(windowed(ctx), "update", linger=2.5)


@case("agg-v1", "windowed aggregation in state format 1: values repeat the key columns", ("3.5.9", "4.3.0"))
def agg_v1(ctx: Context) -> None:
    ctx.conf({confs.AGGREGATION_FORMAT: 1, confs.CHANGELOG: True})
    ctx.feed().add(events(6))
    ctx.run(windowed(ctx), "update")
