"""Checkpoints that Spark's offline repartition (4.2+) resized, with batches after."""

from __future__ import annotations

from sparkfix import confs
from sparkfix.cases.aggregation import windowed
from sparkfix.cases.chained import chain
from sparkfix.cases.dedup import sessions
from sparkfix.cases.join import feed as feed_join
from sparkfix.cases.join import joined
from sparkfix.cases.pandas_state import by_two_keys
from sparkfix.cases.sources import named_sink
from sparkfix.cases.tws import EventTimers, TtlLedger, transform
from sparkfix.context import Context
from sparkfix.feeds import events
from sparkfix.registry import case

RESIZABLE = ("4.2.1", "4.3.0")


@case("resized-agg", "windowed aggregation resized 5 to 8 to 3, batches after each; old directories remain", RESIZABLE)
def resized_agg(ctx: Context) -> None:
    ctx.conf({confs.CHANGELOG: True})
    ctx.feed().add(events(4))
    ctx.run(windowed(ctx, 30), "update")
    for step, partitions in enumerate((8, 3), start=1):
        ctx.repartition(partitions)
        ctx.feed().add(events(3, first=1 + 3 * step))
        ctx.run(windowed(ctx, 30), "update")


@case("resized-agg-last", "windowed aggregation whose last batch is the repartition", RESIZABLE)
def resized_agg_last(ctx: Context) -> None:
    ctx.feed().add(events(4))
    ctx.run(windowed(ctx, 30), "update")
    ctx.repartition(7)


@case("resized-agg-format2", "aggregation in state checkpoint format 2 resized 5 to 8", ("4.3.0",))
def resized_agg_format2(ctx: Context) -> None:
    ctx.conf({confs.CHANGELOG: True, confs.CHECKPOINT_FORMAT: 2})
    ctx.feed().add(events(4))
    ctx.run(windowed(ctx, 30), "update")
    ctx.repartition(8)
    ctx.feed().add(events(3, first=4))
    ctx.run(windowed(ctx, 30), "update")


@case(
    "resized-setting-ignored",
    "after a resize the session asks for state checkpoint format 2: the engine keeps 1",
    ("4.3.0",),
)
def resized_setting_ignored(ctx: Context) -> None:
    ctx.conf({confs.CHANGELOG: True})
    ctx.feed().add(events(4))
    ctx.run(windowed(ctx, 30), "update")
    ctx.repartition(8)
    ctx.conf({confs.CHECKPOINT_FORMAT: 2})
    ctx.feed().add(events(3, first=4))
    ctx.run(windowed(ctx, 30), "update")


@case(
    "resized-format-switch",
    "a resize of a checkpoint with a named sink switches the state to checkpoint format 2 "
    "in mid-life (the error text of the first attempt asks for the setting 3)",
    ("4.3.0",),
)
def resized_format_switch(ctx: Context) -> None:
    ctx.conf({confs.CHANGELOG: True, confs.SINK_EVOLUTION: True})

    def run() -> None:
        ctx.run(windowed(ctx, 30), "update", sink=named_sink)

    ctx.feed().add(events(4))
    run()
    ctx.repartition(8, fails=True)
    ctx.conf({confs.CHECKPOINT_FORMAT: 3})
    ctx.repartition(8)
    ctx.conf({confs.CHECKPOINT_FORMAT: 2})
    ctx.feed().add(events(3, first=4))
    run()


@case("resized-join-v3", "stream-stream join format 3 resized 5 to 8 to 3", RESIZABLE)
def resized_join_v3(ctx: Context) -> None:
    ctx.conf({confs.JOIN_FORMAT: 3, confs.CHANGELOG: True})
    feed_join(ctx, 3)
    ctx.run(joined(ctx, "left_outer"))
    for step, partitions in enumerate((8, 3), start=1):
        ctx.repartition(partitions)
        feed_join(ctx, 2, first=1 + 2 * step)
        ctx.run(joined(ctx, "left_outer"))


@case("resized-join-v2", "stream-stream join format 2 resized 5 to 8", ("4.3.0",))
def resized_join_v2(ctx: Context) -> None:
    feed_join(ctx, 3)
    ctx.run(joined(ctx, "inner"))
    ctx.repartition(8)
    feed_join(ctx, 2, first=3)
    ctx.run(joined(ctx, "inner"))


@case(
    "resized-join-v4",
    "stream-stream join format 4 resized 5 to 8: Spark corrupts it silently",
    ("4.3.0",),
    truth_may_fail=True,
    findings=("corrupt_list_values: state/0", "misplaced_keys: state/0"),
)
def resized_join_v4(ctx: Context) -> None:
    ctx.conf({confs.JOIN_FORMAT: 4, confs.CHANGELOG: True})
    feed_join(ctx, 3)
    ctx.run(joined(ctx, "inner"))
    ctx.repartition(8)


@case("resized-tws", "transformWithState with time-to-live resized 3 to 5 to 2", RESIZABLE)
def resized_tws(ctx: Context) -> None:
    ctx.conf({confs.PARTITIONS: 3, confs.CHANGELOG: True})
    ctx.feed().add(events(3, 24, accounts=14, hot=0.3))
    ctx.run(transform(ctx, TtlLedger, "ProcessingTime"), "update")
    for step, partitions in enumerate((5, 2), start=1):
        ctx.repartition(partitions)
        ctx.feed().add(events(2, 24, accounts=14, hot=0.3, first=1 + 2 * step))
        ctx.run(transform(ctx, TtlLedger, "ProcessingTime"), "update")


@case("resized-dedup", "dropDuplicates resized 5 to 8 to 3", RESIZABLE)
def resized_dedup(ctx: Context) -> None:
    ctx.feed().add(events(3))
    ctx.run(ctx.stream().dropDuplicates(["account_id", "amount"]))
    for step, partitions in enumerate((8, 3), start=1):
        ctx.repartition(partitions)
        ctx.feed().add(events(2, first=1 + 2 * step))
        ctx.run(ctx.stream().dropDuplicates(["account_id", "amount"]))


@case("resized-session", "session windows resized 5 to 8", ("4.3.0",))
def resized_session(ctx: Context) -> None:
    ctx.conf({confs.CHANGELOG: True})
    ctx.feed().add(events(5, accounts=25, hot=0.3))
    ctx.run(sessions(ctx), "append")
    ctx.repartition(8)
    ctx.feed().add(events(2, first=5, accounts=25, hot=0.3))
    ctx.run(sessions(ctx), "append")


@case("resized-pandas-state", "applyInPandasWithState with two grouping columns resized 3 to 7", ("4.3.0",))
def resized_pandas_state(ctx: Context) -> None:
    ctx.conf({confs.CHANGELOG: True, confs.PARTITIONS: 3})
    ctx.feed().add(events(3))
    ctx.run(by_two_keys(ctx), "update")
    ctx.repartition(7)
    ctx.feed().add(events(2, first=3))
    ctx.run(by_two_keys(ctx), "update")


@case("resized-chained", "dropDuplicates, then a windowed aggregation, resized 5 to 8: both operators", ("4.3.0",))
def resized_chained(ctx: Context) -> None:
    ctx.conf({confs.CHANGELOG: True})
    ctx.feed().add(events(4))
    ctx.run(chain(ctx), "append")
    ctx.repartition(8)
    ctx.feed().add(events(2, first=4))
    ctx.run(chain(ctx), "append")


@case("resized-tws-timers", "transformWithState with event-time timers resized 3 to 5", ("4.3.0",))
def resized_tws_timers(ctx: Context) -> None:
    ctx.conf({confs.PARTITIONS: 3, confs.CHANGELOG: True})
    ctx.feed().add(events(4, 24, accounts=14, hot=0.3))
    ctx.run(transform(ctx, EventTimers, "EventTime"), "update")
    ctx.repartition(5)
    ctx.feed().add(events(2, 24, accounts=14, hot=0.3, first=4))
    ctx.run(transform(ctx, EventTimers, "EventTime"), "update")


@case(
    "resized-no-keys",
    "an aggregate without keys resized 5 to 8: its one row moved and is never found again",
    ("4.3.0",),
    truth_may_fail=True,
    findings=("lost_row_of_keyless_aggregate: state/0",),
)
def resized_no_keys(ctx: Context) -> None:
    from pyspark.sql import functions as F

    def totals():  # noqa: ANN202
        return ctx.stream().agg(F.count("*").alias("n"))

    ctx.feed().add(events(2))
    ctx.run(totals(), "complete")
    ctx.repartition(8)
    ctx.feed().add(events(2, first=2))
    ctx.run(totals(), "complete")


@case(
    "unfinished-repartition",
    "a repartition that failed after it had written its offset entry "
    "(session setting of the checkpoint format did not match)",
    RESIZABLE,
    findings=("unfinished_repartition: offsets/5",),
)
def unfinished_repartition(ctx: Context) -> None:
    ctx.conf({confs.CHANGELOG: True})
    ctx.feed().add(events(4))
    ctx.run(windowed(ctx, 30), "update")
    ctx.conf({confs.CHECKPOINT_FORMAT: 2})
    ctx.repartition(8, fails=True)


@case(
    "unfinished-repartition-limit",
    "a repartition of a query with a streaming limit: refused half way, for good",
    ("4.3.0",),
    findings=("unfinished_repartition: offsets/3",),
)
def unfinished_repartition_limit(ctx: Context) -> None:
    ctx.feed().add(events(3))
    ctx.run(ctx.stream().limit(50))
    ctx.repartition(8, fails=True)
