"""Values of every type: streaming joins buffer whole input rows, so any column gets into the state."""

from __future__ import annotations

from collections.abc import Iterator

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from sparkfix import confs
from sparkfix.cases.keys import NASTY
from sparkfix.context import Context
from sparkfix.feeds import Row, at
from sparkfix.registry import case

KEYS = 7
"""Distinct join keys; a few rows share each."""

NUMBERS = {
    "v_boolean": "i % 2 = 0",
    "v_byte": "CAST(CASE i % 5 WHEN 0 THEN -128 WHEN 1 THEN 127 ELSE i - 20 END AS TINYINT)",
    "v_short": "CAST(CASE i % 5 WHEN 0 THEN -32768 WHEN 1 THEN 32767 ELSE i - 20 END AS SMALLINT)",
    "v_int": "CASE i % 5 WHEN 0 THEN -2147483648 WHEN 1 THEN 2147483647 ELSE i - 20 END",
    "v_long": "CASE i % 5 WHEN 0 THEN CAST('-9223372036854775808' AS BIGINT) WHEN 1 THEN 9223372036854775807L "
    "ELSE CAST(i - 20 AS BIGINT) END",
    "v_float": "CAST(ELEMENT_AT(ARRAY('NaN', '-0.0', '0.0', 'Infinity', '-Infinity', '1.4E-45', '3.4028235E38', "
    "'-1.17549435E-38', '0.1', '16777217', '-12345.678'), i % 11 + 1) AS FLOAT)",
    "v_double": "CAST(ELEMENT_AT(ARRAY('NaN', '-0.0', '0.0', 'Infinity', '-Infinity', '4.9E-324', "
    "'1.7976931348623157E308', '-2.2250738585072014E-308', '0.1', '9007199254740993', '-12345.678', '1.0E10', "
    "'123456789.125'), i % 13 + 1) AS DOUBLE)",
    "v_decimal": "CAST(ELEMENT_AT(ARRAY('-9999999999999999.99', '9999999999999999.99', '-0.01', '0', '12.30'), "
    "i % 5 + 1) AS DECIMAL(18, 2))",
    "v_decimal_small": "CAST((i - 20) * 0.001 AS DECIMAL(4, 3))",
    "v_decimal_19": "CAST(ELEMENT_AT(ARRAY('-9999999999999999999', '9999999999999999999', '-1', '0', '128', '-129'), "
    "i % 6 + 1) AS DECIMAL(19, 0))",
    "v_decimal_38": "CAST(ELEMENT_AT(ARRAY('-99999999999999999999999999999999999999', "
    "'99999999999999999999999999999999999999', '-1', '0', '255', '-256', '18446744073709551616'), i % 7 + 1) "
    "AS DECIMAL(38, 0))",
    "v_decimal_scale": "CAST(ELEMENT_AT(ARRAY('-0.00000000000000000001', '0.00000000000000000001', "
    "'-123456789012345678.00000000000000000009', '1'), i % 4 + 1) AS DECIMAL(38, 20))",
}
TEXTS = {
    "v_string": "s",
    "v_char": "CAST(SUBSTR(s, 1, 4) AS CHAR(6))",
    "v_varchar": "CAST(SUBSTR(s, 1, 8) AS VARCHAR(8))",
    "v_binary": "UNHEX(REPEAT(HEX(i * 37), i % 5))",
}
TIMES = {
    "v_date": "ELEMENT_AT(ARRAY(DATE'0001-01-01', DATE'1582-10-15', DATE'1900-02-28', DATE'1969-12-31', "
    "DATE'1970-01-01', DATE'2024-02-29', DATE'9999-12-31'), i % 7 + 1)",
    "v_timestamp": "ELEMENT_AT(ARRAY(TIMESTAMP'0001-01-01 00:00:00.000001Z', TIMESTAMP'1883-11-18 12:00:00Z', "
    "TIMESTAMP'1969-12-31 23:59:59.999999Z', TIMESTAMP'1970-01-01 00:00:00Z', "
    "TIMESTAMP'2026-03-29 01:30:00.5+02:00', TIMESTAMP'9999-12-31 23:59:59.999999Z'), i % 6 + 1)",
    "v_timestamp_ntz": "ELEMENT_AT(ARRAY(TIMESTAMP_NTZ'0001-01-01 00:00:00.000001', "
    "TIMESTAMP_NTZ'1969-12-31 23:59:59.999999', TIMESTAMP_NTZ'2026-03-29 02:30:00', "
    "TIMESTAMP_NTZ'9999-12-31 23:59:59.999999'), i % 4 + 1)",
    "v_year_month": "MAKE_YM_INTERVAL(i - 20, 5)",
    "v_year": "CAST(MAKE_YM_INTERVAL(i - 20, 0) AS INTERVAL YEAR)",
    "v_month": "CAST(MAKE_YM_INTERVAL(0, i - 20) AS INTERVAL MONTH)",
    "v_day": "CAST(MAKE_DT_INTERVAL(i - 20) AS INTERVAL DAY)",
    "v_day_hour": "CAST(MAKE_DT_INTERVAL(i - 20, 1) AS INTERVAL DAY TO HOUR)",
    "v_day_minute": "CAST(MAKE_DT_INTERVAL(20 - i, 1, 2) AS INTERVAL DAY TO MINUTE)",
    "v_day_second": "MAKE_DT_INTERVAL(i - 20, 1, 2, 3.000004)",
    "v_hour": "CAST(MAKE_DT_INTERVAL(0, i - 20) AS INTERVAL HOUR)",
    "v_hour_minute": "CAST(MAKE_DT_INTERVAL(0, i - 20, 7) AS INTERVAL HOUR TO MINUTE)",
    "v_hour_second": "CAST(MAKE_DT_INTERVAL(0, i - 20, 7, 8.5) AS INTERVAL HOUR TO SECOND)",
    "v_minute": "CAST(MAKE_DT_INTERVAL(0, 0, i - 20) AS INTERVAL MINUTE)",
    "v_minute_second": "CAST(MAKE_DT_INTERVAL(0, 0, i - 20, 9) AS INTERVAL MINUTE TO SECOND)",
    "v_second": "CAST(MAKE_DT_INTERVAL(0, 0, 0, (i - 20) * 1.25) AS INTERVAL SECOND)",
    "v_interval": "MAKE_INTERVAL(i - 20, i % 5 - 2, 0, 20 - i, i, -i, (20 - i) * 1.000001)",
}
NESTED = {
    "v_array": "SLICE(ARRAY(CAST(i AS SMALLINT), NULL, CAST(-3 AS SMALLINT)), 1, i % 4)",
    "v_array_boolean": "SLICE(ARRAY(TRUE, NULL, FALSE, i % 2 = 0, TRUE), 1, i % 6)",
    "v_array_byte": "SLICE(ARRAY(CAST(i AS TINYINT), NULL, CAST(-3 AS TINYINT)), 1, i % 4)",
    "v_array_string": "SLICE(ARRAY(s, NULL, 'x', ''), 1, i % 5)",
    "v_array_binary": "SLICE(ARRAY(UNHEX(HEX(i)), NULL, X''), 1, i % 4)",
    "v_array_decimal": "SLICE(ARRAY(CAST((i - 20) * 1.5 AS DECIMAL(10, 2)), NULL, CAST(-0.01 AS DECIMAL(10, 2))), "
    "1, i % 4)",
    "v_array_decimal_wide": "SLICE(ARRAY(CAST((i - 20) AS DECIMAL(30, 4)), NULL, "
    "CAST('-12345678901234567890.1234' AS DECIMAL(30, 4))), 1, i % 4)",
    "v_array_float": "ARRAY(CAST('NaN' AS FLOAT), CAST(i AS FLOAT), NULL, CAST('-0.0' AS FLOAT))",
    "v_array_double": "ARRAY(CAST('Infinity' AS DOUBLE), i / 3.0D, NULL)",
    "v_array_date": "ARRAY(DATE_ADD(DATE'1969-12-20', i), NULL)",
    "v_array_timestamp": "ARRAY(TIMESTAMP_MICROS(CAST(i - 20 AS BIGINT) * 86400000001), NULL)",
    "v_array_interval": "ARRAY(MAKE_INTERVAL(0, i), NULL, MAKE_INTERVAL(0, 0, 0, -i, 0, 0, 0.5))",
    "v_array_long": "SEQUENCE(CAST(0 AS BIGINT), CAST(i * 2 AS BIGINT))",
    "v_array_array": "SLICE(ARRAY(ARRAY(i, NULL), NULL, ARRAY()), 1, i % 4)",
    "v_array_struct": "SLICE(ARRAY(NAMED_STRUCT('a', i, 'b', s), NULL, NAMED_STRUCT('a', NULL, 'b', '')), 1, i % 4)",
    "v_struct": "NAMED_STRUCT('a', IF(i % 4 = 1, NULL, i), 'b', ARRAY(NAMED_STRUCT('c', s, 'd', ARRAY(i, NULL))), "
    "'e', NAMED_STRUCT('f', IF(i % 3 = 0, NULL, NAMED_STRUCT('g', CAST(i AS DECIMAL(25, 1))))))",
    "v_map": "IF(i % 4 = 0, CAST(MAP() AS MAP<STRING, INT>), MAP(CONCAT(s, '1'), i, 'other', NULL))",
    "v_map_struct": "MAP(i, NAMED_STRUCT('x', i, 'y', s), i + 1, NULL)",
    "v_map_nested": "MAP('k', MAP(i, ARRAY(s, NULL)), 'none', NULL)",
    "v_map_key_struct": "MAP(NAMED_STRUCT('p', i, 'q', s), DATE_ADD(DATE'1970-01-01', -i))",
    "v_void": "NULL",
}
SINCE_4_0 = {
    "v_variant": "PARSE_JSON(ELEMENT_AT(ARRAY('null', 'true', '-1', '128', '-32769', '2147483648', '1.5', "
    "'123456789012345678901234567890', '1e300', '\"short\"', CONCAT('\"', REPEAT('long', 20), '\"'), '[]', '{}', "
    "'[1, \"a\", null, [true]]', '{\"b\": {\"c\": [1.25, \"x\"]}, \"a\": \"1\"}'), i % 15 + 1))",
    "v_variant_typed": "CASE i % 6 WHEN 0 THEN CAST(DATE'2026-01-01' AS VARIANT) "
    "WHEN 1 THEN CAST(TIMESTAMP'2026-01-01 00:00:00.5Z' AS VARIANT) WHEN 2 THEN CAST(X'00FF' AS VARIANT) "
    "WHEN 3 THEN CAST(CAST(0.5 AS FLOAT) AS VARIANT) WHEN 4 THEN CAST(CAST('-1.50' AS DECIMAL(38, 2)) AS VARIANT) "
    "ELSE CAST(TIMESTAMP_NTZ'2026-01-01 00:00:00' AS VARIANT) END",
    "v_array_variant": "ARRAY(PARSE_JSON(CAST(i AS STRING)), NULL, PARSE_JSON('{\"a\": [1]}'))",
    "v_collated": "CONCAT('AbC', i) COLLATE UTF8_LCASE",
}
SINCE_4_1 = {
    "v_time": "ELEMENT_AT(ARRAY(TIME'00:00:00', TIME'12:34:56.123456', TIME'23:59:59.999999'), i % 3 + 1)",
    "v_array_time": "ARRAY(TIME'01:02:03', NULL)",
}
NANOSECONDS = {
    f"v_{kind}_{digits}": f"CAST(ELEMENT_AT(ARRAY('0001-01-01 00:00:00.000000001', '1969-12-31 23:59:59.999999999', "
    f"'1970-01-01 00:00:00', '2026-11-01 10:00:00.123456789', '9999-12-31 23:59:59.999999999'), i % 5 + 1) "
    f"AS TIMESTAMP_{kind.upper()}({digits}))"
    for kind in ("ntz", "ltz")
    for digits in (7, 8, 9)
}
NANOSECONDS["v_array_ntz"] = "ARRAY(CAST('1969-12-31 23:59:59.999999999' AS TIMESTAMP_NTZ(9)), NULL)"
NANOSECONDS["v_time"] = "CAST(ELEMENT_AT(ARRAY('00:00:00.000000001', '23:59:59.999999999'), i % 2 + 1) AS TIME(9))"


def columns(ctx: Context) -> dict[str, str]:
    """The columns that this release knows."""
    known = {**NUMBERS, **TEXTS, **TIMES, **NESTED}
    for version, more in (("4.0.0", SINCE_4_0), ("4.1.0", SINCE_4_1)):
        known.update(more if ctx.at_least(version) else {})
    return known


def with_nulls(known: dict[str, str]) -> list[str]:
    """The columns as SQL; in each every tenth value is null, never in the same row as its neighbours."""
    return [
        f"{text} AS {name}" if name == "v_void" else f"IF((i + {number}) % 10 = 9, NULL, {text}) AS {name}"
        for number, (name, text) in enumerate(known.items())
    ]


def numbered(batches: int, rows: int) -> Iterator[list[Row]]:
    """Rows that carry a number, a string and a time; the typed columns are computed from them."""
    for batch in range(batches):
        yield [
            {
                "i": batch * rows + i,
                "s": NASTY[(batch * 5 + i) % len(NASTY)],
                "ts": at(batch + i / rows),
            }
            for i in range(rows)
        ]


def typed_join(ctx: Context, known: dict[str, str]) -> DataFrame:
    """Typed rows with the numbered rows of the same key; nothing expires."""
    schema = "i int, s string, ts timestamp"
    left = (
        ctx.stream("typed", schema)
        .withWatermark("ts", "60 minutes")
        .selectExpr(f"i % {KEYS} AS l_key", "ts AS l_ts", "i", *with_nulls(known))
    )
    right = (
        ctx.stream("plain", schema)
        .withWatermark("ts", "60 minutes")
        .selectExpr(f"i % {KEYS} AS r_key", "ts AS r_ts", "s AS r_s")
    )
    near = F.expr("l_key = r_key AND r_ts >= l_ts - interval 5 minutes AND r_ts <= l_ts + interval 5 minutes")
    return left.join(right, near)


def run_typed(ctx: Context, known: dict[str, str], version: int, changelog: bool) -> None:
    """Run the typed join in one state format."""
    ctx.conf({confs.JOIN_FORMAT: version, confs.CHANGELOG: changelog, confs.PARTITIONS: 3, confs.MIN_DELTAS: 2})
    ctx.conf({confs.CHAR_TYPES: True, confs.ANSI: False})
    if ctx.at_least("4.1.0"):
        ctx.conf({confs.TIME_TYPE: True})
    if ctx.at_least("4.3.0"):
        ctx.conf({confs.NANOS_TYPES: True})
    ctx.feed("typed").add(numbered(3, 16))
    ctx.feed("plain").add(numbered(3, 4))
    ctx.run(typed_join(ctx, known))


@case("join-types", "stream-stream join of format 2 that buffers a column of every type", ("3.5.9", "4.0.5", "4.3.0"))
def join_types(ctx: Context) -> None:
    run_typed(ctx, columns(ctx), 2, True)


@case("join-types-v3", "stream-stream join of format 3 that buffers a column of every type", ("4.1.4", "4.3.0"))
def join_types_v3(ctx: Context) -> None:
    run_typed(ctx, columns(ctx), 3, False)


@case("join-types-v4", "stream-stream join of format 4 that buffers a column of every type", ("4.3.0",))
def join_types_v4(ctx: Context) -> None:
    run_typed(ctx, columns(ctx), 4, True)


@case("join-nanos", "stream-stream join of format 2 that buffers times with nanoseconds", ("4.3.0",))
def join_nanos(ctx: Context) -> None:
    # The engine's check of written rows refuses its own layout of a null nanosecond timestamp.
    ctx.conf({confs.FORMAT_VALIDATION: False})
    run_typed(ctx, NANOSECONDS, 2, True)


KEYS_2 = {
    "k_boolean": "i % 3 = 0",
    "k_byte": "CAST(i * 3 - 60 AS TINYINT)",
    "k_short": "CAST(i * 911 - 16000 AS SMALLINT)",
    "k_timestamp_ntz": "CAST(TIMESTAMP_MICROS(CAST(i - 20 AS BIGINT) * 3600000007) AS TIMESTAMP_NTZ)",
    "k_interval": TIMES["v_interval"],
    "k_year": TIMES["v_year"],
    "k_minute_second": TIMES["v_minute_second"],
    "k_time": "CAST(CONCAT('0', i % 10, ':', i + 10, ':00.00000000', i % 7) AS TIME(9))",
    "k_array_struct": NESTED["v_array_struct"],
    "k_array_decimal": NESTED["v_array_decimal_wide"],
    "k_struct": NESTED["v_struct"],
    "k_char": TEXTS["v_char"],
    "k_nanos": "CAST(CONCAT('19', i + 40, '-12-31 23:59:59.99999999', i % 10) AS TIMESTAMP_NTZ(9))",
}


@case("keys-each-type-2", "deduplication by one column of a further type at a time: operators in a chain", ("4.3.0",))
def keys_each_type_2(ctx: Context) -> None:
    ctx.conf({confs.PARTITIONS: 3, confs.CHAR_TYPES: True, confs.ANSI: False})
    ctx.conf({confs.TIME_TYPE: True, confs.NANOS_TYPES: True})
    ctx.feed().add(numbered(2, 25))
    typed = [f"IF(i % 11 = {n % 11}, NULL, {text}) AS {name}" for n, (name, text) in enumerate(KEYS_2.items())]
    frame = ctx.stream(schema="i int, s string").selectExpr(*typed)
    for name in list(KEYS_2)[1:]:
        frame = frame.dropDuplicates([name])
    ctx.run(frame.dropDuplicates(["k_boolean", "k_byte"]))


@case("keys-map", "aggregation by a map and a number", ("4.3.0",))
def keys_map(ctx: Context) -> None:
    ctx.conf({confs.PARTITIONS: 3, confs.ANSI: False})
    ctx.feed().add(numbered(2, 20))
    frame = ctx.stream(schema="i int, s string").selectExpr("MAP('b', i % 9, 'a', 1) AS k_map", "i % 2 AS k_int")
    ctx.run(frame.groupBy("k_map", "k_int").agg(F.count("*").alias("n")), "update")
