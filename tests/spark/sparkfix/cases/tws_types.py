"""transformWithState with state variables of many types and a grouping key of two columns."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from sparkfix import confs
from sparkfix.cases.keys import NASTY
from sparkfix.cases.types import numbered
from sparkfix.context import Context
from sparkfix.registry import case

FIELDS = {
    "b": "boolean",
    "y": "tinyint",
    "h": "smallint",
    "i": "int",
    "l": "bigint",
    "f": "float",
    "d": "double",
    "s": "string",
    "x": "binary",
    "dt": "date",
    "ts": "timestamp",
    "ntz": "timestamp_ntz",
    "dec": "decimal(10, 2)",
    "wide": "decimal(30, 4)",
    "ints": "array<int>",
    "pairs": "array<struct<a: int, b: string>>",
    "counts": "map<string, int>",
    "nested": "struct<p: int, q: struct<r: string>>",
}
NOT_IN_AVRO = ("y", "h")
"""Fields of a type that Spark's Avro encoding of state refuses."""
OUTPUT = "bucket int, n long"
EPOCH = dt.datetime(1970, 1, 1)


def typed_value(i: int, names: list[str], gap: int | None) -> tuple:
    """A value row with these fields, in their order; in each every tenth value is null.

    `gap` stands inside collections of numbers: null, or a number where the encoding refuses null there.
    """
    from pyspark.sql import Row

    s = NASTY[i % len(NASTY)]
    values: list[Any] = [
        i % 2 == 0,
        i % 100 - 50,
        -911 * (i % 30),
        i * 1000003,
        -i * 922337203685477,
        [float("nan"), float("inf"), -0.0, 1.5, 0.1][i % 5],
        [float("-inf"), float("nan"), -0.0, 1e300, -0.1][i % 5],
        s,
        bytes([i % 256]) * (i % 5),
        dt.date(1969, 12, 20) + dt.timedelta(days=i),
        EPOCH + dt.timedelta(days=i - 20, microseconds=i),
        EPOCH + dt.timedelta(days=20 - i, microseconds=1),
        Decimal(i - 20) / 4,
        Decimal(i - 20) * Decimal("123456789012345.6789"),
        [i, gap, -i][: i % 4],
        [Row(a=i, b=s), None, Row(a=None, b="")][: i % 4],
        {s + "1": i, "none": gap} if i % 4 else {},
        Row(p=i, q=Row(r=s) if i % 3 else None),
    ]
    given = dict(zip(FIELDS, values))
    return tuple(None if (i + n) % 10 == 9 else given[name] for n, name in enumerate(names))


def processor(names: list[str], gap: int | None) -> Any:
    """Keeps the newest value of every type, a list of them, and a map with a key of two columns."""
    from pyspark.sql import Row
    from pyspark.sql.streaming import StatefulProcessor

    schema = ", ".join(f"{name} {FIELDS[name]}" for name in names)

    class Typed(StatefulProcessor):
        def init(self, handle: Any) -> None:
            self.newest = handle.getValueState("newest", schema)
            self.all = handle.getListState("all", schema)
            self.by_pair = handle.getMapState("by_pair", "s string, parity int", "seen array<int>, last decimal(20, 1)")

        def handleInputRows(self, key: tuple, rows: Iterator[Any], timerValues: Any) -> Iterator[Any]:
            count = 0
            for row in rows:
                count += 1
                value = typed_value(row["i"], names, gap)
                self.newest.update(value)
                self.all.appendList([value])
                pair = (row["s"], row["i"] % 2)
                seen = self.by_pair.getValue(pair)[0] if self.by_pair.containsKey(pair) else []
                self.by_pair.updateValue(pair, ([*seen, row["i"]], Decimal(row["i"]) / 2))
            yield Row(bucket=key[0], n=count)

        def close(self) -> None:
            """Nothing to close."""

    return Typed()


def run_typed(ctx: Context, names: list[str], gap: int | None) -> None:
    """Feed and run."""
    ctx.conf({confs.PARTITIONS: 3, confs.NO_DATA_BATCHES: False, confs.CHANGELOG: True, confs.MIN_DELTAS: 2})
    ctx.feed().add(numbered(3, 15))
    grouped = (
        ctx.stream(schema="i int, s string, ts timestamp")
        .selectExpr("i", "s", "i % 4 AS bucket", "IF(i % 3 = 0, NULL, SUBSTR(s, 1, 1)) AS letter")
        .groupBy("bucket", "letter")
    )
    frame = grouped.transformWithState(
        processor(names, gap), outputStructType=OUTPUT, outputMode="Update", timeMode="ProcessingTime"
    )
    ctx.run(frame, "update")


@case("tws-types", "transformWithState with fields of every type, grouped by two columns", ("4.3.0",))
def tws_types(ctx: Context) -> None:
    run_typed(ctx, list(FIELDS), None)


@case("tws-types-avro", "transformWithState with fields of most types, grouped by two columns, in Avro encoding", ("4.3.0",))
def tws_types_avro(ctx: Context) -> None:
    ctx.conf({confs.ENCODING: "avro"})
    run_typed(ctx, [name for name in FIELDS if name not in NOT_IN_AVRO], -1)
