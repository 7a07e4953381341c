"""transformWithState in Python: every kind of state variable, timers and time-to-live."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from pyspark.sql import DataFrame

from sparkfix import confs
from sparkfix.context import Context
from sparkfix.feeds import events
from sparkfix.registry import case

FOREVER = 24 * 3600 * 1000
OUTPUT = "account_id string, n long"


class Ledger:
    """Keeps a value, a list and a map per account; `ttl` adds their expiring twins, `timers` a timer per input.

    The mixin is engine neutral: it only uses the handle, which is the same in both Python APIs.
    """

    ttl = False
    timers = ""
    extra_field = False

    def init(self, handle: Any) -> None:
        self.handle = handle
        value = "n int, last string" + (", note string" if self.extra_field else "")
        self.total = handle.getValueState("total", value)
        self.recent = handle.getListState("recent", "amount long, id string")
        self.by_kind = handle.getMapState("by_kind", "kind string", "n long")
        if self.ttl:
            self.ttl_value = handle.getValueState("ttl_value", "n int", FOREVER)
            self.ttl_list = handle.getListState("ttl_list", "amount long", FOREVER)
            self.ttl_map = handle.getMapState("ttl_map", "kind string", "n long", FOREVER)

    def take(self, key: tuple, amounts: list[int], ids: list[str], now: int) -> int:
        """Fold new payments into the state; returns how many this account had so far."""
        count = (self.total.get()[0] if self.total.exists() else 0) + len(amounts)
        self.total.update((count, ids[-1]) + (("evolved",) if self.extra_field else ()))
        self.recent.appendList(list(zip(amounts, ids)))
        for amount in amounts:
            kind = (f"k{amount % 5}",)
            old = self.by_kind.getValue(kind)[0] if self.by_kind.containsKey(kind) else 0
            self.by_kind.updateValue(kind, (old + 1,))
        if amounts[0] % 7 == 0:
            self.by_kind.removeKey((f"k{amounts[0] % 5}",))
        if count > 25:
            self.recent.clear()
        if amounts[-1] % 11 == 0:
            self.total.clear()
        if self.ttl:
            self.ttl_value.update((count,))
            self.ttl_list.appendList([(a,) for a in amounts])
            self.ttl_map.updateValue((f"k{count % 3}",), (count,))
            if amounts[0] % 5 == 0:
                self.ttl_value.clear()
            if amounts[0] % 9 == 0:
                self.ttl_list.clear()
        if self.timers:
            self.handle.registerTimer(now + (3600 * 1000 if self.timers == "processing" else 4 * 60 * 1000))
            if amounts[0] % 3 == 0:
                for timer in list(self.handle.listTimers())[:1]:
                    self.handle.deleteTimer(timer[0] if isinstance(timer, tuple) else timer)
        return count

    def expire(self) -> None:
        """What a timer does."""
        self.recent.clear()

    def close(self) -> None:
        """Nothing to close."""


def pandas_processor(shape: type[Ledger]) -> Any:
    """The 4.0 way: batches of one key arrive as pandas frames."""
    import pandas as pd
    from pyspark.sql.streaming import StatefulProcessor

    class Processor(shape, StatefulProcessor):  # type: ignore[misc, valid-type]
        def handleInputRows(self, key: tuple, rows: Iterator[Any], timerValues: Any) -> Iterator[Any]:
            frame = pd.concat(list(rows))
            now = clock(self, timerValues)
            count = self.take(key, [int(a) for a in frame["amount"]], list(frame["id"]), now)
            yield pd.DataFrame({"account_id": [key[0]], "n": [count]})

        def handleExpiredTimer(self, key: tuple, timerValues: Any, expiredTimerInfo: Any) -> Iterator[Any]:
            self.expire()
            return iter([])

    return Processor()


def row_processor(shape: type[Ledger]) -> Any:
    """The 4.1+ way: rows."""
    from pyspark.sql import Row
    from pyspark.sql.streaming import StatefulProcessor

    class Processor(shape, StatefulProcessor):  # type: ignore[misc, valid-type]
        def handleInputRows(self, key: tuple, rows: Iterator[Any], timerValues: Any) -> Iterator[Any]:
            taken = list(rows)
            now = clock(self, timerValues)
            count = self.take(key, [r["amount"] for r in taken], [r["id"] for r in taken], now)
            yield Row(account_id=key[0], n=count)

        def handleExpiredTimer(self, key: tuple, timerValues: Any, expiredTimerInfo: Any) -> Iterator[Any]:
            self.expire()
            return iter([])

    return Processor()


def clock(processor: Ledger, timer_values: Any) -> int:
    """The time from which a new timer is counted."""
    if processor.timers == "event":
        return max(timer_values.getCurrentWatermarkInMs(), 0)
    return timer_values.getCurrentProcessingTimeInMs()


class TtlLedger(Ledger):
    """With the expiring twins."""

    ttl = True


class ProcessingTimers(Ledger):
    """With processing-time timers."""

    timers = "processing"


class EventTimers(Ledger):
    """With event-time timers, some of which fire."""

    timers = "event"


class WiderLedger(Ledger):
    """With one more field in the value state (schema evolution)."""

    extra_field = True


def transform(ctx: Context, shape: type[Ledger], mode: str) -> DataFrame:
    """The stream through one of the processors, by the API of this release."""
    # In processing-time mode Spark would run empty batches for ever.
    ctx.conf({confs.NO_DATA_BATCHES: mode == "EventTime"})
    source = ctx.stream()
    if mode == "EventTime":
        source = source.withWatermark("ts", "3 minutes")
    grouped = source.groupBy("account_id")
    pandas = not ctx.at_least("4.1.0")
    call: Callable = grouped.transformWithStateInPandas if pandas else grouped.transformWithState
    processor = pandas_processor(shape) if pandas else row_processor(shape)
    return call(processor, outputStructType=OUTPUT, outputMode="Update", timeMode=mode)


def run_shape(
    ctx: Context, shape: type[Ledger], mode: str = "ProcessingTime", batches: int = 5, first: int = 0
) -> None:
    """Feed and run."""
    ctx.conf({confs.PARTITIONS: 3})
    ctx.feed().add(events(batches, 24, accounts=14, hot=0.3, first=first))
    ctx.run(transform(ctx, shape, mode), "update")


@case("tws", "transformWithState with a value, a list and a map per account", ("4.0.5", "4.1.4", "4.2.1", "4.3.0"))
def tws(ctx: Context) -> None:
    ctx.conf({confs.CHANGELOG: True})
    run_shape(ctx, Ledger, batches=7)


@case("tws-ttl", "transformWithState with time-to-live on a value, a list and a map", ("4.0.5", "4.3.0"))
def tws_ttl(ctx: Context) -> None:
    run_shape(ctx, TtlLedger)


@case("tws-timers-processing", "transformWithState with processing-time timers", ("4.0.5", "4.3.0"))
def tws_timers_processing(ctx: Context) -> None:
    ctx.conf({confs.CHANGELOG: True})
    run_shape(ctx, ProcessingTimers)


@case("tws-timers-event", "transformWithState with event-time timers, some fired", ("4.0.5", "4.3.0"))
def tws_timers_event(ctx: Context) -> None:
    run_shape(ctx, EventTimers, "EventTime", batches=6)


@case("tws-format2", "transformWithState in state checkpoint format 2 with changelogs", ("4.3.0",))
def tws_format2(ctx: Context) -> None:
    ctx.conf({confs.CHANGELOG: True, confs.CHECKPOINT_FORMAT: 2})
    run_shape(ctx, TtlLedger, batches=6)


@case("tws-avro", "transformWithState in Avro encoding", ("4.0.5", "4.3.0"))
def tws_avro(ctx: Context) -> None:
    ctx.conf({confs.ENCODING: "avro", confs.CHANGELOG: True})
    run_shape(ctx, TtlLedger)


@case("tws-avro-evolved", "transformWithState in Avro encoding, the value state gained a field", ("4.3.0",))
def tws_avro_evolved(ctx: Context) -> None:
    ctx.conf({confs.ENCODING: "avro"})
    run_shape(ctx, Ledger, batches=3)
    run_shape(ctx, WiderLedger, batches=3, first=3)


@case("tws-merge-v1", "list state joined with commas (mergeOperatorVersion 1)", ("4.3.0",))
def tws_merge_v1(ctx: Context) -> None:
    ctx.conf({confs.MERGE_VERSION: 1, confs.CHANGELOG: True})
    run_shape(ctx, Ledger)


@case("tws-row-checksum", "transformWithState with a checksum in every row", ("4.2.1", "4.3.0"))
def tws_row_checksum(ctx: Context) -> None:
    ctx.conf({confs.ROW_CHECKSUM: True, confs.CHANGELOG: True})
    run_shape(ctx, TtlLedger)
