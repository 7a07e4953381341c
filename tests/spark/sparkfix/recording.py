"""Queries that run while an event log is written, and what Spark itself says of them.

Everything is in one application per release: two queries at the same time, a restart (with a
repartition before it where the release has one), operators that share a stage, tasks that fail
and are tried again, a sink that runs the plan twice, a batch that fails.
"""

from __future__ import annotations

import json
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pyspark import TaskContext
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import LongType

from sparkfix import confs, session
from sparkfix.cases.join import joined
from sparkfix.cases.tws import Ledger, transform
from sparkfix.context import Context, first_line
from sparkfix.feeds import events
from sparkfix.registry import Case

SECRET = "spark.statetop.test.password"
"""A conf whose value must never be shown."""


def place(recording: str, query: str) -> str:
    """The name under which a query's checkpoint lies in the place of all fixtures, without the version."""
    return f"eventlog-{recording}-{query}"


class Query:
    """One query over its restarts, with the truth of each run."""

    def __init__(self, spark: SparkSession, version: str, name: str, place: str, settings: dict[str, Any]) -> None:
        made = Case(place, name, (version,), lambda _: None)
        self.name = name
        self.context = Context(spark, made, version)
        self.settings = {confs.CHANGELOG: "true", "spark.sql.streaming.minBatchesToRetain": "1000", **settings}
        self.runs: list[dict[str, Any]] = []
        self.repartitions: list[dict[str, Any]] = []
        self.running: Any = None

    def start(self, frame: DataFrame, mode: str, sink: Callable[[Any], Any] | None = None) -> None:
        """Start it under its name."""
        writer = frame.writeStream.outputMode(mode).queryName(self.name)
        writer = writer.option("checkpointLocation", str(self.context.checkpoint))
        writer = sink(writer) if sink else writer.format("noop")
        self.running = writer.start()

    def finish(self) -> None:
        """Let it use up its input, stop it, and keep what it says of itself."""
        query, failure = self.running, None
        try:
            query.processAllAvailable()
            time.sleep(1.0)
        except Exception as error:
            failure = first_line(error)
        self.runs.append(
            {
                "id": query.id,
                "run_id": query.runId,
                "failed": failure,
                "progress": [json.loads(p.json()) for p in query._jsq.recentProgress()],
            }
        )
        query.stop()

    def repartition(self, partitions: int) -> None:
        """Spark's offline repartition while it is stopped."""
        session.unload_state(self.context.spark)
        self.context.spark._streamingCheckpointManager.repartition(str(self.context.checkpoint), partitions)
        self.repartitions.append({"after_run": len(self.runs) - 1, "partitions": partitions})


def windowed(ctx: Context) -> DataFrame:
    """Payments per account and five minutes."""
    frame = ctx.stream().withWatermark("ts", "30 minutes")
    return frame.groupBy(F.window("ts", "5 minutes"), "account_id").agg(F.count("*").alias("n"))


def chained(ctx: Context) -> DataFrame:
    """Distinct payments, then a count by other columns: each operator in a stage of its own."""
    frame = ctx.stream().withWatermark("ts", "5 minutes").dropDuplicates(["account_id", "amount", "ts"])
    return frame.groupBy(F.window("ts", "5 minutes"), "account_id").agg(F.count("*").alias("n"))


def together(ctx: Context) -> DataFrame:
    """Distinct by the columns that are counted by: one stage holds both operators."""
    frame = ctx.stream().withWatermark("ts", "5 minutes").dropDuplicates(["ts", "account_id"])
    return frame.groupBy("ts", "account_id").agg(F.count("*").alias("n"))


@F.udf(LongType())
def fragile(n: int) -> int:
    """Fails in partition 1 the first time that a task tries it."""
    task = TaskContext.get()
    if task is not None and task.partitionId() == 1 and task.attemptNumber() == 0:
        raise RuntimeError("the first attempt of partition 1 fails")
    return n


def twice(frame: DataFrame, batch: int) -> None:
    """A sink that runs the plan of the batch two times."""
    frame.count()
    frame.write.format("noop").mode("overwrite").save()


def refuse(frame: DataFrame, batch: int) -> None:
    """A sink that gives up at batch 1."""
    frame.count()
    if batch == 1:
        raise ValueError("the table LEDGER is locked")


class Recorder:
    """Runs the queries of one application."""

    def __init__(self, spark: SparkSession, version: str, recording: str) -> None:
        self.spark = spark
        self.version = version
        self.recording = recording
        self.queries: list[Query] = []

    def at_least(self, version: str) -> bool:
        """Whether the running release is `version` or newer."""
        return tuple(map(int, self.version.split("."))) >= tuple(map(int, version.split(".")))

    def query(self, name: str, settings: dict[str, Any] | None = None) -> Query:
        """A new query; its settings hold until the next one is made."""
        made = Query(self.spark, self.version, name, place(self.recording, name), settings or {})
        made.context.conf({confs.JOIN_FORMAT: "2", **made.settings})
        self.queries.append(made)
        return made

    def simple(
        self,
        name: str,
        frame: Callable[[Context], DataFrame],
        mode: str,
        *,
        batches: int = 2,
        settings: dict[str, Any] | None = None,
        sink: Callable[[Any], Any] | None = None,
    ) -> Query:
        """One query, one run."""
        query = self.query(name, settings)
        query.context.feed().add(events(batches))
        query.start(frame(query.context), mode, sink)
        query.finish()
        query.context.close()
        return query

    def aggregation(self, batches: int = 3) -> None:
        """A hot key; a join runs beside it; then a restart, after a repartition where there is one."""
        agg, join = self.query("agg"), self.query("join")
        agg.context.feed().add(events(batches, hot=0.6))
        for side, seed in (("orders", 3), ("payments", 5)):
            join.context.feed(side).add(events(batches, 16, accounts=30, hot=0.3, seed=seed, ticks=4))
        agg.start(windowed(agg.context), "update")
        join.start(joined(join.context, "inner"), "append")
        agg.finish()
        join.finish()
        if self.at_least("4.2.0"):
            agg.repartition(8)
        agg.context.feed().add(events(2, first=batches, hot=0.6))
        agg.start(windowed(agg.context), "update")
        agg.finish()
        agg.context.close()

    def everything(self) -> None:
        """All queries."""
        self.aggregation()
        self.simple("chained", chained, "append", batches=3)
        self.simple("together", together, "append", batches=3)
        self.simple("hdfs", windowed, "update", settings={confs.PROVIDER: confs.HDFS_PROVIDER})
        self.simple("untracked", windowed, "update", settings={confs.TRACK_ROWS: "false"})
        retried = self.simple("retried", lambda c: windowed(c).withColumn("n", fragile("n")), "update")
        assert retried.runs[0]["failed"] is None, retried.runs
        self.simple("twice", windowed, "update", sink=lambda w: w.foreachBatch(twice))
        failing = self.simple("failing", windowed, "update", sink=lambda w: w.foreachBatch(refuse))
        assert failing.runs[0]["failed"], "this one was expected to fail"
        if self.at_least("4.0.0"):
            self.simple("tws", lambda c: transform(c, Ledger, "ProcessingTime"), "update")

    def reload(self) -> None:
        """Two operators whose instances are loaded from storage after a restart."""
        query = self.query("chained")
        query.context.feed().add(events(2))
        query.start(chained(query.context), "append")
        query.finish()
        session.unload_state(self.spark)
        query.context.feed().add(events(1, first=2))
        query.start(chained(query.context), "append")
        query.finish()
        query.context.close()

    def truth(self) -> list[dict[str, Any]]:
        """What Spark says of each query, tasks as its web interface tells them."""
        stages = Interface(self.spark).stages_by_run()
        return [
            {
                "name": q.name,
                "checkpoint": str(q.context.checkpoint),
                "runs": [{**run, "stages": stages.get(run["run_id"], [])} for run in q.runs],
                "repartitions": q.repartitions,
                "rows_tracked": q.settings.get(confs.TRACK_ROWS) != "false",
            }
            for q in self.queries
        ]


class Interface:
    """The REST interface of the application that runs here."""

    def __init__(self, spark: SparkSession) -> None:
        context = spark.sparkContext
        self.base = f"{context.uiWebUrl}/api/v1/applications/{context.applicationId}"

    def get(self, path: str) -> Any:
        """One answer."""
        with urllib.request.urlopen(self.base + path, timeout=60) as answer:
            return json.load(answer)

    def stages_by_run(self) -> dict[str, list[dict[str, Any]]]:
        """Per run id (the job group), the stages that ran, with their tasks."""
        by_run: dict[str, list[dict[str, Any]]] = {}
        seen = {}
        for stage in self.get("/stages"):
            if stage["status"] != "SKIPPED":
                seen.setdefault(stage["stageId"], []).append(stage["attemptId"])
        for job in sorted(self.get("/jobs"), key=lambda j: j["jobId"]):
            batch = next((t for t in job.get("description", "").split("\n") if t.startswith("batch = ")), "")
            for stage in sorted(job["stageIds"]):
                for attempt in seen.get(stage, []):
                    entry = {
                        "job": job["jobId"],
                        "batch": int(batch[8:]) if batch[8:].isdigit() else None,
                        "stage": stage,
                        "attempt": attempt,
                        "tasks": [self.task(t) for t in self.tasks(stage, attempt)],
                    }
                    by_run.setdefault(job.get("jobGroup"), []).append(entry)
        return by_run

    def tasks(self, stage: int, attempt: int) -> list[dict[str, Any]]:
        """All tasks of a stage."""
        found = self.get(f"/stages/{stage}/{attempt}/taskList?length=10000")
        return sorted(found, key=lambda t: t["taskId"])

    @staticmethod
    def task(told: dict[str, Any]) -> dict[str, Any]:
        """The part of a task that is compared."""
        metrics = told.get("taskMetrics", {})
        shuffle = metrics.get("shuffleReadMetrics", {})
        return {
            "partition": told["partitionId"],
            "status": told["status"],
            "duration_ms": told.get("duration"),
            "executor": told["executorId"],
            "host": told["host"],
            "records_read": shuffle.get("recordsRead"),
            "bytes_read": (shuffle.get("localBytesRead") or 0) + (shuffle.get("remoteBytesRead") or 0),
            "fetch_wait_ms": shuffle.get("fetchWaitTime"),
            "gc_ms": metrics.get("jvmGcTime"),
            "spilled": metrics.get("diskBytesSpilled"),
            "accumulators": len(told.get("accumulatorUpdates", [])),
        }


def wait_for_log(spark: SparkSession, directory: Path) -> None:
    """Stop the application, so that its log is complete."""
    spark.stop()
    deadline = time.time() + 30
    while time.time() < deadline and any(directory.rglob("*.inprogress")):
        time.sleep(0.2)
