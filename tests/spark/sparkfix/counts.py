"""Row counts, schemas and rows of a checkpoint, all told by Spark's own readers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from sparkfix import session

RAW = "_readAllColumnFamilies"
"""Internal option of the `statestore` source (4.2+): every column family, as raw bytes."""

JOIN_STORES = (
    "left-keyToNumValues",
    "left-keyWithIndexToValue",
    "right-keyToNumValues",
    "right-keyWithIndexToValue",
)
JSON_OPTIONS = {
    "ignoreNullFields": "false",
    "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX",
    "timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS",
}


def is_internal(family: str) -> bool:
    """Whether Spark counts the family under internal keys (join formats 3 and 4, transformWithState)."""
    return family.startswith("$") or family.endswith(("-tsWithKey", "-keyToNumValues"))


NANOS_OPTIONS = {
    **JSON_OPTIONS,
    "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSSSSXXX",
    "timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSSSS",
}
"""For stores with nanosecond timestamps: all timestamps of their decoded rows have nine digits."""


def json_options(frame: DataFrame) -> dict[str, str]:
    """How the rows of `frame` become JSON. Python cannot parse nanosecond types, so this asks the JVM."""
    schema = frame._jdf.schema().json()
    return NANOS_OPTIONS if "timestamp_ntz(" in schema or "timestamp_ltz(" in schema else JSON_OPTIONS


class Reader:
    """Spark's readers on one checkpoint."""

    def __init__(self, spark: SparkSession, checkpoint: Path, partitions: int, raw: bool = True) -> None:
        self.spark = spark
        self.has_raw = raw
        self.path = str(checkpoint)
        self.checkpoint = checkpoint
        self.partitions = partitions

    def load(self, **options: Any) -> DataFrame:
        """The `statestore` source with `options`; those that are None are left out."""
        reader = self.spark.read.format("statestore")
        for key, value in options.items():
            if value is not None:
                reader = reader.option(key, str(value))
        return reader.load(self.path)

    def metadata(self) -> list[dict[str, Any]]:
        """All rows of the `state-metadata` source."""
        rows = self.spark.read.format("state-metadata").load(self.path).collect()
        found = [row.asDict(recursive=True) for row in rows]
        return sorted(found, key=lambda r: (r["operatorId"], r["stateStoreName"]))

    def raw(self, operator: int, store: str, batch: int) -> DataFrame:
        """Raw rows of all families with `partition_id`.

        The raw reader gives no partition column, but plans one task per partition directory in
        ascending order, so Spark's own task number is the partition id.
        """
        frame = self.load(operatorId=operator, storeName=store, batchId=batch, **{RAW: "true"})
        return frame.withColumn("partition_id", F.spark_partition_id())

    def families(self, operator: int, store: str, batch: int, names: list[str]) -> dict[str, Any]:
        """Keys and elements per family and partition."""
        if self.has_raw:
            frame, key = self.raw(operator, store, batch), "key_bytes"
        else:
            frame, key = self.load(operatorId=operator, storeName=store, batchId=batch), "key"
            frame = frame.withColumn("column_family_name", F.lit("default"))
        counted = (
            frame.groupBy("column_family_name", "partition_id")
            .agg(F.count_distinct(key).alias("rows"), F.count("*").alias("elements"))
            .collect()
        )
        empty = {"rows": 0, "elements": 0}
        seen = sorted({row["column_family_name"] for row in counted} | set(names))
        result = {
            name: {
                "internal": is_internal(name),
                "partitions": {str(p): dict(empty) for p in range(self.partitions)},
            }
            for name in seen
        }
        for row in counted:
            slot = result[row["column_family_name"]]["partitions"]
            slot[str(row["partition_id"])] = {"rows": row["rows"], "elements": row["elements"]}
        return result

    def schemas(self, operator: int, store: str) -> list[dict[str, Any]]:
        """Key and value schema of every family, parsed by Spark from its schema files."""
        checker = session.scala_object(self.spark, session.STATE_PACKAGE + ".StateSchemaCompatibilityChecker")
        found: dict[str, dict[str, Any]] = {}
        for path in schema_files(self.checkpoint, operator, store):
            stream = self._open(path)
            try:
                parsed = checker.readSchemaFile(stream)
            finally:
                stream.close()
            for index in range(parsed.size()):
                family = parsed.apply(index)
                found[family.colFamilyName()] = {
                    "operator": operator,
                    "store": store,
                    "family": family.colFamilyName(),
                    "key_schema": family.keySchema().json(),
                    "value_schema": family.valueSchema().json(),
                }
        return [found[name] for name in sorted(found)]

    def _open(self, path: Path) -> Any:
        jvm = self.spark._jvm
        target = jvm.org.apache.hadoop.fs.Path(str(path))
        return target.getFileSystem(self.spark._jsc.hadoopConfiguration()).open(target)

    def rows(self, operator: int, store: str, batch: int) -> Iterator[str]:
        """All raw rows of a store as JSON lines, ordered; none where the raw reader does not work."""
        if not self.has_raw:
            return
        frame = self.raw(operator, store, batch).select(
            "column_family_name",
            "partition_id",
            F.hex("key_bytes").alias("k"),
            F.hex("value_bytes").alias("v"),
        )
        found = frame.collect()
        for row in sorted(found, key=lambda r: (r[0], r[1], r[2], r[3] or "")):
            yield json.dumps(
                {
                    "kind": "raw",
                    "batch": batch,
                    "operator": operator,
                    "store": store,
                    "family": row[0],
                    "partition": row[1],
                    "key": row[2],
                    "value": row[3],
                }
            )

    def decoded(self, operator: int, batch: int, label: str, **options: Any) -> Iterator[str]:
        """Rows as the ordinary reader shows them, every column as JSON."""
        frame = self.load(operatorId=operator, batchId=batch, **options)
        columns = [c for c in frame._jdf.columns() if c != "partition_id"]
        rendered = json_options(frame)
        texts = [
            F.to_json(F.struct(_declared(frame, c) if "joinSide" in options else c), rendered).alias(c)
            for c in columns
        ]
        found = frame.select("partition_id", *texts).collect()
        head = json.dumps({"kind": "decoded", "batch": batch, "operator": operator, "what": label})[:-1]
        for row in sorted(found, key=lambda r: tuple(str(x) for x in r)):
            inner = ", ".join(row[c][1:-1] for c in columns)
            yield f'{head}, "partition": {row["partition_id"]}, {inner}}}'


def _declared(frame: DataFrame, column: str) -> Column:
    """The column with only the declared fields: values of a join side carry one more than declared."""
    kind = frame.schema[column].dataType
    if not isinstance(kind, StructType):
        return F.col(column)
    return F.struct(*[F.col(column)[f.name].alias(f.name) for f in kind.fields]).alias(column)


def schema_files(checkpoint: Path, operator: int, store: str) -> list[Path]:
    """Schema files of a store, oldest first, either layout."""
    home = checkpoint / "state" / str(operator)
    newer = sorted(
        (p for p in (home / "_stateSchema" / store).glob("*_*") if not p.name.startswith(".")),
        key=lambda p: int(p.name.split("_")[0]),
    )
    if newer:
        return newer
    base = home / "0" if store == "default" else home / "0" / store
    older = base / "_metadata" / "schema"
    return [older] if older.exists() else []
