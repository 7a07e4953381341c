"""What a case gets: a place, settings, input and a way to run its query."""

from __future__ import annotations

import json
import re
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from sparkfix import WORK_ROOT, confs, feeds, session
from sparkfix.registry import Case


class Context:
    """One fixture in the making. A case calls `conf`, `feed`, `run` and the like, in order."""

    def __init__(self, spark: SparkSession, made: Case, version: str) -> None:
        self.spark = spark
        self.case = made
        self.version = version
        self.fixture = made.fixture(version)
        self.home = Path(WORK_ROOT) / self.fixture
        shutil.rmtree(self.home, ignore_errors=True)
        self.home.mkdir(parents=True)
        self.checkpoint = self.home / "checkpoint"
        self.progress: list[dict[str, Any]] = []
        self.notes: list[str] = []
        self._set: list[str] = []
        self._feeds: dict[str, feeds.Feed] = {}
        self.conf(confs.DEFAULTS)

    def at_least(self, version: str) -> bool:
        """Whether the running release is `version` or newer."""
        return tuple(map(int, self.version.split("."))) >= tuple(map(int, version.split(".")))

    def conf(self, values: dict[str, Any]) -> None:
        """Set session settings for the rest of this case."""
        for key, value in values.items():
            text = str(value).lower() if isinstance(value, bool) else str(value)
            self.spark.conf.set(key, text)
            self._set.append(key)

    def close(self) -> None:
        """Undo the settings and drop what the JVM still holds."""
        for query in self.spark.streams.active:
            query.stop()
        session.unload_state(self.spark)
        for key in self._set:
            self.spark.conf.unset(key)

    # input

    def feed(self, name: str = "events") -> feeds.Feed:
        """The input directory `name`."""
        if name not in self._feeds:
            self._feeds[name] = feeds.Feed(self.home / "in" / name)
        return self._feeds[name]

    def stream(self, name: str = "events", schema: str = feeds.EVENT_SCHEMA, **options: Any) -> DataFrame:
        """A stream over the feed `name`, one file per micro-batch."""
        self.feed(name)
        reader = self.spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).options(**options)
        return reader.json(str(self.home / "in" / name))

    # running

    def run(
        self,
        frame: DataFrame,
        mode: str = "append",
        *,
        sink: Callable[[Any], Any] | None = None,
        linger: float = 1.2,
        fails: bool = False,
        unload: bool = True,
        during: Callable[[Any], None] | None = None,
    ) -> None:
        """Run the query until the input is used up, let maintenance work, stop and unload the state.

        `sink` configures the writer (default: the noop sink); `during` may feed more while it runs.
        With `fails` the query is expected to end with an error by itself.
        """
        writer = frame.writeStream.outputMode(mode).option("checkpointLocation", str(self.checkpoint))
        writer = sink(writer) if sink else writer.format("noop")
        query = writer.start()
        try:
            query.processAllAvailable()
            if during:
                during(query)
            time.sleep(linger)
        except Exception as error:
            if not fails:
                raise
            self.notes.append(first_line(error))
        finally:
            self.progress += [json.loads(p.json()) for p in query._jsq.recentProgress()]
            query.stop()
            if unload:
                session.unload_state(self.spark)

    def repartition(self, partitions: int, *, fails: bool = False) -> None:
        """Spark's offline repartition (4.2+) of this checkpoint."""
        try:
            self.spark._streamingCheckpointManager.repartition(str(self.checkpoint), partitions)
        except Exception as error:
            if not fails:
                raise
            self.notes.append(first_line(error))
        else:
            if fails:
                raise AssertionError("this repartition was expected to fail")
        finally:
            session.unload_state(self.spark)

    def finish(self) -> None:
        """Leave what the truth pass needs beside the checkpoint."""
        seen = {p["batchId"]: p for p in self.progress if p.get("durationMs", {}).get("addBatch") is not None}
        build = {
            "spark_version": self.version,
            "notes": self.notes,
            "rows_tracked": self.spark.conf.get(confs.TRACK_ROWS, "true") == "true",
            "progress": [trim(seen[b]) for b in sorted(seen)],
        }
        (self.home / "build.json").write_text(json.dumps(build, indent=1))


OPERATOR_FIELDS = (
    "operatorName",
    "numRowsTotal",
    "numRowsUpdated",
    "numRowsRemoved",
    "numShufflePartitions",
    "numStateStoreInstances",
)


def trim(progress: dict[str, Any]) -> dict[str, Any]:
    """The part of a progress event that goes into the truth."""
    return {
        "batchId": progress["batchId"],
        "numInputRows": progress.get("numInputRows"),
        "stateOperators": [
            {field: op.get(field) for field in OPERATOR_FIELDS} for op in progress.get("stateOperators", [])
        ],
    }


def first_line(error: Exception) -> str:
    """The telling line of a Spark error: its deepest cause, else the first line with an error class."""
    lines = [t.strip() for t in str(error).splitlines() if t.strip() and "An error occurred while calling" not in t]
    causes = [t for t in lines if t.startswith("Caused by: ")]
    classed = [t for t in lines if re.search(r"\[[A-Z][A-Z_0-9]+(\.[A-Z_0-9]+)?\]", t) and "Suppressed" not in t]
    text = (causes[-1:] or classed[:1] or lines[:1] or [type(error).__name__])[0]
    return re.sub(r"^(: |Caused by: )+", "", text)[:400]
