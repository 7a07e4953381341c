"""Stream-stream joins in the state formats that each release can write."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from sparkfix import confs
from sparkfix.context import Context
from sparkfix.feeds import EVENT_SCHEMA, events
from sparkfix.registry import case


def joined(ctx: Context, how: str) -> DataFrame:
    """Orders with the payments of the same account within ten minutes."""
    orders = (
        ctx.stream("orders")
        .withWatermark("ts", "6 minutes")
        .select(F.col("account_id").alias("o_account"), F.col("ts").alias("o_ts"), F.col("id").alias("order_id"))
    )
    payments = (
        ctx.stream("payments", EVENT_SCHEMA)
        .withWatermark("ts", "6 minutes")
        .select(F.col("account_id").alias("p_account"), F.col("ts").alias("p_ts"), F.col("amount"))
    )
    near = F.expr("o_account = p_account AND p_ts >= o_ts - interval 5 minutes AND p_ts <= o_ts + interval 5 minutes")
    return orders.join(payments, near, how)


def feed(ctx: Context, batches: int, first: int = 0) -> None:
    """Both sides; the hot account makes lists of several rows under one key."""
    ctx.feed("orders").add(events(batches, 16, accounts=30, hot=0.3, first=first, seed=3, ticks=4))
    ctx.feed("payments").add(events(batches, 16, accounts=30, hot=0.3, first=first, seed=5, ticks=4))


def run_format(ctx: Context, version: int, how: str, changelog: bool, batches: int = 7) -> None:
    """Run the join in one state format."""
    ctx.conf({confs.JOIN_FORMAT: version, confs.CHANGELOG: changelog})
    feed(ctx, batches)
    ctx.run(joined(ctx, how))


@case("join-v2", "inner stream-stream join, state format 2: four stores per partition")
def join_v2(ctx: Context) -> None:
    run_format(ctx, 2, "inner", True)


@case("join-v2-outer", "left outer stream-stream join, state format 2, a snapshot at every batch", ("3.5.9", "4.3.0"))
def join_v2_outer(ctx: Context) -> None:
    run_format(ctx, 2, "left_outer", False, 5)


@case("join-v2-format2", "stream-stream join, state format 2 in state checkpoint format 2", ("4.3.0",))
def join_v2_format2(ctx: Context) -> None:
    ctx.conf({confs.CHECKPOINT_FORMAT: 2})
    run_format(ctx, 2, "inner", True, 5)


@case("join-v3", "stream-stream join, state format 3: four column families in one store", ("4.1.4", "4.2.1", "4.3.0"))
def join_v3(ctx: Context) -> None:
    run_format(ctx, 3, "left_outer", True)


@case("join-v3-format2", "stream-stream join, state format 3 in state checkpoint format 2", ("4.3.0",))
def join_v3_format2(ctx: Context) -> None:
    ctx.conf({confs.CHECKPOINT_FORMAT: 2})
    run_format(ctx, 3, "inner", True, 6)


@case("join-v4", "stream-stream join, state format 4: lists by key and time", ("4.3.0",))
def join_v4(ctx: Context) -> None:
    run_format(ctx, 4, "left_outer", True)


@case("join-v4-full", "full outer stream-stream join, state format 4, a snapshot at every batch", ("4.3.0",))
def join_v4_full(ctx: Context) -> None:
    run_format(ctx, 4, "full_outer", False, 5)


@case("join-v1", "inner stream-stream join, state format 1 (newer releases refuse to begin one)", ("3.5.9",))
def join_v1(ctx: Context) -> None:
    run_format(ctx, 1, "inner", True, 5)
