"""Grouping keys of many types, and strings that hurt."""

from __future__ import annotations

from collections.abc import Iterator

from pyspark.sql import functions as F

from sparkfix import confs
from sparkfix.context import Context
from sparkfix.feeds import Row
from sparkfix.registry import case

NASTY = [
    "",
    " ",
    "a",
    "ab",
    "abc",
    "abcd",
    "abcdefgh",
    "payments\tx",
    "line\nbreak",
    'quote"and\\slash',
    "nul\u0000byte",
    "\u001b[31mred\u001b[0m",
    "\u001b]0;title\u0007",
    "bell\u0007",
    "back\bspace",
    "\u009b31m",
    "del\u007f",
    "caf\u00e9",
    "cafe\u0301",
    "\u4ea4\u6613\u53f7",
    "\u0645\u062f\u0641\u0648\u0639\u0627\u062a",
    "\U0001f600",
    "\U0001f469\u200d\U0001f4bb",
    "\u202eright-to-left",
    "zero\u200bwidth",
    "\ufeffbom",
    "x" * 300,
    "null",
    "0",
    "-0",
]
"""Strings with control characters, escape sequences, combining and wide characters."""


def numbers(batches: int, rows: int) -> Iterator[list[Row]]:
    """Rows that only carry a number; the key columns are computed from it."""
    for batch in range(batches):
        yield [{"i": batch * 7 + i, "s": NASTY[(batch * 5 + i) % len(NASTY)]} for i in range(rows)]


KEY_TYPES = {
    "k_string": "IF(i % 11 = 3, NULL, s)",
    "k_int": "IF(i % 7 = 0, NULL, CAST((i - 20) * 1000003 AS INT))",
    "k_long": "CAST((i - 20) AS BIGINT) * 922337203685477",
    "k_short": "CAST((i - 20) * 911 AS SMALLINT)",
    "k_byte": "CAST((i % 200) - 100 AS TINYINT)",
    "k_boolean": "IF(i % 5 = 0, NULL, i % 2 = 0)",
    "k_float": "CAST(CASE i % 6 WHEN 0 THEN 'NaN' WHEN 1 THEN '-0.0' WHEN 2 THEN 'Infinity' "
    "ELSE (i * 1.25) END AS FLOAT)",
    "k_double": "CAST(CASE i % 6 WHEN 3 THEN 'NaN' WHEN 4 THEN '-0.0' WHEN 5 THEN '-Infinity' "
    "ELSE (i / 3.0) END AS DOUBLE)",
    "k_date": "DATE_ADD(DATE'1969-12-20', i)",
    "k_timestamp": "TIMESTAMP_MICROS(CAST(i - 20 AS BIGINT) * 86400000001)",
    "k_timestamp_ntz": "CAST(TIMESTAMP_MICROS(CAST(i AS BIGINT) * 3600000007) AS TIMESTAMP_NTZ)",
    "k_decimal": "CAST((i - 20) * 12.34 AS DECIMAL(10, 2))",
    "k_decimal_wide": "CAST(CAST(IF(i % 9 = 4, NULL, (i - 20)) AS DECIMAL(30, 4)) "
    "* CAST(123456789012345.6789 AS DECIMAL(30, 4)) AS DECIMAL(30, 4))",
    "k_binary": "IF(i % 13 = 5, NULL, UNHEX(REPEAT(HEX(i), i % 5)))",
    "k_struct": "NAMED_STRUCT('a', IF(i % 4 = 1, NULL, i), 'b', s, 'c', NAMED_STRUCT('d', CAST(i AS SMALLINT)))",
    "k_array": "IF(i % 8 = 2, NULL, SLICE(ARRAY(CAST(i AS SMALLINT), NULL, CAST(3 AS SMALLINT)), 1, i % 4))",
    "k_array_string": "SLICE(ARRAY(s, NULL, 'x', ''), 1, i % 5)",
    "k_day_time": "MAKE_DT_INTERVAL(i - 20, 1, 2, 3.000004)",
    "k_year_month": "MAKE_YM_INTERVAL(i - 20, 5)",
}


@case("keys-types", "one grouping key of nineteen columns of different types, with nulls", ("3.5.9", "4.0.5", "4.3.0"))
def keys_types(ctx: Context) -> None:
    ctx.conf({confs.CHANGELOG: True, confs.MIN_DELTAS: 2})
    ctx.feed().add(numbers(4, 30))
    frame = ctx.stream(schema="i int, s string").selectExpr(*[f"{e} AS {n}" for n, e in KEY_TYPES.items()], "i")
    ctx.run(frame.groupBy(*KEY_TYPES).agg(F.count("*").alias("n"), F.collect_set("i").alias("seen")), "update")


@case("keys-each-type", "deduplication by one column of a type at a time: eight dedup operators in a chain", ("4.3.0",))
def keys_each_type(ctx: Context) -> None:
    ctx.conf({confs.PARTITIONS: 3})
    ctx.feed().add(numbers(2, 40))
    chosen = (
        "k_float",
        "k_double",
        "k_date",
        "k_decimal",
        "k_decimal_wide",
        "k_binary",
        "k_day_time",
        "k_array_string",
    )
    frame = ctx.stream(schema="i int, s string").selectExpr(*[f"{KEY_TYPES[n]} AS {n}" for n in chosen])
    for name in chosen:
        frame = frame.dropDuplicates([name])
    ctx.run(frame)


@case("keys-strings", "string keys with control characters, escape sequences and unicode")
def keys_strings(ctx: Context) -> None:
    ctx.feed().add(numbers(3, 30))
    frame = ctx.stream(schema="i int, s string").groupBy("s").agg(F.count("*").alias("n"), F.max("i").alias("top"))
    ctx.run(frame, "update")


@case("values-types", "aggregation buffers of many types: first, collections, maps, averages, sketches", ("4.3.0",))
def values_types(ctx: Context) -> None:
    ctx.conf({confs.CHANGELOG: True})
    ctx.feed().add(numbers(3, 30))
    typed = {
        n: KEY_TYPES[n] for n in ("k_decimal", "k_binary", "k_struct", "k_timestamp", "k_array_string", "k_double")
    }
    frame = ctx.stream(schema="i int, s string").selectExpr(
        "i % 12 AS g", "i", "s", *[f"{e} AS {n}" for n, e in typed.items()]
    )
    values = [F.first(n, True).alias(f"first_{n}") for n in typed]
    values += [F.avg("i").alias("mean"), F.collect_list("s").alias("all"), F.stddev("i").alias("spread")]
    ctx.run(frame.groupBy("g").agg(*values), "update")
