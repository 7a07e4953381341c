"""Skew with a known answer: which keys are heavy, and whether more partitions would spread them."""

from __future__ import annotations

from collections.abc import Iterator

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from sparkfix import confs
from sparkfix.context import Context
from sparkfix.feeds import Row, at
from sparkfix.registry import case

WINDOWS = 48
SCHEMA = "account_id string, kind string, ts timestamp, amount long"


def payment(account: str, kind: str, minutes: float, amount: int = 1) -> Row:
    """One payment."""
    return {"account_id": account, "kind": kind, "ts": at(minutes), "amount": amount}


def hot_in_every_window(batches: int) -> Iterator[list[Row]]:
    """acct-7 pays in each of 48 windows of five minutes; each of 40 others in three of them."""
    for batch in range(batches):
        windows = range(batch * WINDOWS // batches, (batch + 1) * WINDOWS // batches)
        hot = [payment("acct-7", "card", 5 * w + 1) for w in windows]
        others = [
            payment(f"acct-{100 + a}", "card", 5 * w + 2)
            for w in windows
            for a in range(40)
            if w in (a % 16, a % 16 + 16, a % 16 + 32)
        ]
        yield hot + others


@case("agg-hot-windows", "windowed aggregation: acct-7 has a row in 48 windows, 40 others in three each", ("4.3.0",))
def agg_hot_windows(ctx: Context) -> None:
    ctx.conf({confs.CHANGELOG: True})
    ctx.feed().add(hot_in_every_window(6))
    frame = (
        ctx.stream(schema=SCHEMA)
        .withWatermark("ts", "1 day")
        .groupBy(F.window("ts", "5 minutes"), "account_id")
        .agg(F.count("*").alias("n"), F.sum("amount").alias("total"))
    )
    ctx.run(frame, "update")


def hot_pair(batches: int) -> Iterator[list[Row]]:
    """The pair (acct-7, card) is heavy; neither the account nor the kind is.

    48 windows. acct-7 pays by card in each: 48 rows. Twelve others pay once in each window by one of four kinds in
    turn: 48 rows too, 12 per kind. Sixteen more fill up the other kinds, so that each kind has 192 rows.
    """
    kinds = ("card", "cash", "wire", "cheque")
    for batch in range(batches):
        rows = []
        for w in range(batch * WINDOWS // batches, (batch + 1) * WINDOWS // batches):
            rows.append(payment("acct-7", "card", 5 * w + 1))
            rows += [payment(f"acct-{20 + a}", kinds[(w + a) % 4], 5 * w + 2) for a in range(12)]
            rows += [payment(f"acct-{40 + (w + k) % 16}", kind, 5 * w + 3) for k, kind in enumerate(kinds[1:])]
        yield rows


@case("agg-hot-pair", "windowed aggregation: account and kind are heavy only together", ("4.3.0",))
def agg_hot_pair(ctx: Context) -> None:
    ctx.conf({confs.CHANGELOG: True})
    ctx.feed().add(hot_pair(6))
    frame = (
        ctx.stream(schema=SCHEMA)
        .withWatermark("ts", "1 day")
        .groupBy(F.window("ts", "5 minutes"), "account_id", "kind")
        .agg(F.count("*").alias("n"))
    )
    ctx.run(frame, "update")


def self_joined(ctx: Context) -> DataFrame:
    """Orders with the refunds of the same account within a day: no row expires."""
    orders = (
        ctx.stream("orders", SCHEMA)
        .withWatermark("ts", "1 day")
        .selectExpr("account_id AS o_account", "ts AS o_ts", "amount AS o_amount")
    )
    refunds = (
        ctx.stream("refunds", SCHEMA)
        .withWatermark("ts", "1 day")
        .selectExpr("account_id AS r_account", "ts AS r_ts", "amount AS r_amount")
    )
    near = F.expr("o_account = r_account AND r_ts >= o_ts - interval 1 day AND r_ts <= o_ts + interval 1 day")
    return orders.join(refunds, near)


def feed_join(ctx: Context, orders: dict[str, int], batches: int) -> None:
    """`orders[account]` orders of each account per batch, and few refunds."""
    names = sorted(orders)
    for batch in range(batches):
        rows = [payment(a, "card", 10 * batch + i / 100, i) for a in names for i in range(orders[a])]
        ctx.feed("orders").add([rows])
        ctx.feed("refunds").add([[payment(a, "card", 10 * batch + 1, -1) for a in names[:3]]])


@case("join-hot-key", "stream-stream join: one account holds most orders, no count splits it", ("4.3.0",))
def join_hot_key(ctx: Context) -> None:
    ctx.conf({confs.JOIN_FORMAT: 3, confs.CHANGELOG: True})
    feed_join(ctx, {"acct-7": 120, **{f"acct-{100 + a}": 2 for a in range(40)}}, 4)
    ctx.run(self_joined(ctx))


def sharing(ctx: Context, partition: int, now: int, later: int, wanted: int) -> list[str]:
    """Accounts that share `partition` of `now` partitions and are alone in theirs of `later`, by Spark's own hash."""
    spread = (
        ctx.spark.range(2000)
        .selectExpr("CONCAT('acct-', id) AS account", "id")
        .selectExpr("account", "id", f"PMOD(HASH(account), {now}) AS p", f"PMOD(HASH(account), {later}) AS q")
        .where(f"p = {partition}")
        .orderBy("id")
        .collect()
    )
    first_of: dict[int, str] = {}
    for row in spread:
        first_of.setdefault(row["q"], row["account"])
    return [first_of[q] for q in sorted(first_of)][:wanted]


@case("join-collision", "stream-stream join: four busy accounts share partition 2 of 5; at 8 they separate", ("4.3.0",))
def join_collision(ctx: Context) -> None:
    ctx.conf({confs.JOIN_FORMAT: 3, confs.CHANGELOG: True})
    busy = {account: 40 for account in sharing(ctx, 2, 5, 8, 4)}
    feed_join(ctx, {**{f"acct-{5000 + a}": 2 for a in range(60)}, **busy}, 4)
    ctx.run(self_joined(ctx))
