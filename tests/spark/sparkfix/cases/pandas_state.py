"""applyInPandasWithState: arbitrary state with time-outs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql.streaming.state import GroupStateTimeout

from sparkfix import confs
from sparkfix.context import Context
from sparkfix.feeds import events
from sparkfix.registry import case


def count_payments(key: tuple, frames: Iterator[Any], state: Any) -> Iterator[Any]:
    """Keeps count and last id; forgets an account when its time-out fires."""
    import pandas as pd

    if state.hasTimedOut:
        state.remove()
        return
    count, last = state.get if state.exists else (0, "")
    for frame in frames:
        count += len(frame)
        last = frame["id"].iloc[-1]
    if count % 10 == 9:
        state.remove()
    else:
        state.update((count, last))
    yield pd.DataFrame({"account_id": [key[0]], "n": [count]})


def count_with_event_timeout(key: tuple, frames: Iterator[Any], state: Any) -> Iterator[Any]:
    """The same with an event-time time-out six minutes after the newest payment."""
    import pandas as pd

    if state.hasTimedOut:
        state.remove()
        return
    count, last = state.get if state.exists else (0, "")
    newest = 0
    for frame in frames:
        count += len(frame)
        last = frame["id"].iloc[-1]
        newest = max(newest, int(frame["ts"].max().timestamp() * 1000))
    state.update((count, last))
    state.setTimeoutTimestamp(newest + 6 * 60 * 1000)
    yield pd.DataFrame({"account_id": [key[0]], "n": [count]})


@case("pandas-state", "applyInPandasWithState without a time-out")
def pandas_state(ctx: Context) -> None:
    ctx.conf({confs.CHANGELOG: True, confs.PARTITIONS: 3})
    ctx.feed().add(events(4))
    frame = (
        ctx.stream()
        .groupBy("account_id")
        .applyInPandasWithState(
            count_payments, "account_id string, n long", "n int, last string", "update", GroupStateTimeout.NoTimeout
        )
    )
    ctx.run(frame, "update")


@case("pandas-state-timeout", "applyInPandasWithState with event-time time-outs, some fired", ("3.5.9", "4.3.0"))
def pandas_state_timeout(ctx: Context) -> None:
    ctx.conf({confs.PARTITIONS: 3})
    ctx.feed().add(events(6, accounts=25))
    frame = (
        ctx.stream()
        .withWatermark("ts", "2 minutes")
        .groupBy("account_id")
        .applyInPandasWithState(
            count_with_event_timeout,
            "account_id string, n long",
            "n int, last string",
            "update",
            GroupStateTimeout.EventTimeTimeout,
        )
    )
    ctx.run(frame, "update")


def count_by_two(key: tuple, frames: Iterator[Any], state: Any) -> Iterator[Any]:
    """Keeps a count per account and kind."""
    import pandas as pd

    (count,) = state.get if state.exists else (0,)
    count += sum(len(frame) for frame in frames)
    state.update((count,))
    yield pd.DataFrame({"account_id": [key[0]], "n": [count]})


def by_two_keys(ctx: Context) -> DataFrame:
    """applyInPandasWithState with a grouping key of two columns."""
    return (
        ctx.stream()
        .selectExpr("account_id", "amount % 3 AS kind", "id")
        .groupBy("account_id", "kind")
        .applyInPandasWithState(
            count_by_two, "account_id string, n long", "n long", "update", GroupStateTimeout.NoTimeout
        )
    )


@case("pandas-state-two-keys", "applyInPandasWithState with a grouping key of two columns", ("3.5.9", "4.3.0"))
def pandas_state_two_keys(ctx: Context) -> None:
    ctx.conf({confs.CHANGELOG: True, confs.PARTITIONS: 3})
    ctx.feed().add(events(4))
    ctx.run(by_two_keys(ctx), "update")
