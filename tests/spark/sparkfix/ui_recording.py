"""Queries that run while the web interface is watched, and all that it answers about them.

The answers are kept whole, so that a server in a test can give any part of them again: pages of
lists, and lists as they were at a moment of the run.
"""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import LongType

from sparkfix import confs, recording
from sparkfix.context import Context
from sparkfix.feeds import events

LONG = "100000"
"""A length above that of every list."""


def total(ctx: Context) -> DataFrame:
    """All payments: without a grouping key there is one partition, and one task."""
    return ctx.stream().groupBy().agg(F.count("*").alias("n"))


@F.udf(LongType())
def slow(n: int) -> int:
    """Takes so long that the query is stopped in the middle."""
    time.sleep(20)
    return n


def run(recorder: recording.Recorder) -> None:
    """One query after the other, and two at once."""
    recorder.aggregation(2)
    recorder.simple("chained", recording.chained, "append")
    recorder.simple("together", recording.together, "append")
    recorder.simple("total", total, "update")
    recorder.simple("untracked", recording.windowed, "update", settings={confs.TRACK_ROWS: "false"})
    recorder.simple("retried", lambda c: recording.windowed(c).withColumn("n", recording.fragile("n")), "update")
    recorder.simple("twice", recording.windowed, "update", sink=lambda w: w.foreachBatch(recording.twice))
    recorder.simple("failing", recording.windowed, "update", sink=lambda w: w.foreachBatch(recording.refuse))
    stopped = recorder.query("stopped")
    stopped.context.feed().add(events(1))
    stopped.start(recording.windowed(stopped.context).withColumn("n", slow("n")), "update")
    wait_for_state(recorder.spark, stopped.running.runId)
    stopped.running.stop()
    stopped.runs.append({"id": stopped.running.id, "run_id": stopped.running.runId, "failed": None, "progress": []})
    stopped.context.close()
    time.sleep(2)


def wait_for_state(spark: SparkSession, run_id: str) -> None:
    """Until a task of the second stage of the run's job works."""
    interface = recording.Interface(spark)
    deadline = time.time() + 60
    while time.time() < deadline:
        jobs = [job for job in interface.get("/jobs") if job.get("jobGroup") == run_id]
        if jobs and jobs[0]["numCompletedTasks"] and jobs[0]["numActiveTasks"]:
            return
        time.sleep(0.2)
    raise TimeoutError("the query that was to be stopped did not begin")


def answers(spark: SparkSession) -> dict[str, Any]:
    """All that the interface answers about the application."""
    interface = recording.Interface(spark)
    sql = interface.get(f"/sql?details=false&planDescription=false&offset=0&length={LONG}")
    stages = sorted({stage["stageId"] for stage in interface.get("/stages")})
    attempts = {
        str(stage): interface.get(f"/stages/{stage}?details=false&withSummaries=false") for stage in stages
    }
    return {
        "applications": root(spark, "/api/v1/applications"),
        "environment": environment(interface.get("/environment")),
        "sql": sql,
        "plans": {str(e["id"]): interface.get(f"/sql/{e['id']}?planDescription=false") for e in sql},
        "jobs": {str(job["jobId"]): interface.get(f"/jobs/{job['jobId']}") for job in interface.get("/jobs")},
        "stages": attempts,
        "tasks": {
            f"{stage}/{it['attemptId']}": interface.get(f"/stages/{stage}/{it['attemptId']}/taskList?length={LONG}")
            for stage, all_of_it in attempts.items()
            for it in all_of_it
            if it["status"] != "SKIPPED"
        },
        "not_there": {path: refused(interface, path) for path in ("/sql/99999", "/jobs/99999", "/stages/99999")},
    }


def environment(told: dict[str, Any]) -> dict[str, Any]:
    """Without class path and the settings of this machine."""
    return {"runtime": told["runtime"], "sparkProperties": told["sparkProperties"]}


def root(spark: SparkSession, path: str) -> Any:
    """An answer that is not of one application."""
    with urllib.request.urlopen(f"{spark.sparkContext.uiWebUrl}{path}", timeout=60) as answer:
        return json.load(answer)


def refused(interface: recording.Interface, path: str) -> dict[str, Any]:
    """How the interface says that something is not there."""
    try:
        with urllib.request.urlopen(interface.base + path, timeout=60) as answer:
            return {"status": answer.status, "kind": answer.headers["Content-Type"], "body": answer.read().decode()}
    except urllib.error.HTTPError as error:
        return {"status": error.code, "kind": error.headers["Content-Type"], "body": error.read().decode()}


def tasks_of_log(lines: list[str]) -> Iterator[dict[str, Any]]:
    """What the event log says of the tasks of microbatches: another witness than the interface."""
    stages: dict[int, dict[str, Any]] = {}
    for line in lines:
        event = json.loads(line)
        if event["Event"] == "SparkListenerJobStart" and "sql.streaming.queryId" in (event.get("Properties") or {}):
            properties = event["Properties"]
            about = {"run_id": properties["spark.jobGroup.id"], "batch": int(properties["streaming.sql.batchId"])}
            stages.update({stage: about for stage in event["Stage IDs"] if stage not in stages})
        elif event["Event"] == "SparkListenerTaskEnd" and event["Stage ID"] in stages:
            info, metrics = event["Task Info"], event.get("Task Metrics") or {}
            if event["Task End Reason"]["Reason"] != "Success":
                continue
            shuffle = metrics["Shuffle Read Metrics"]
            yield {
                **stages[event["Stage ID"]],
                "stage": event["Stage ID"],
                "partition": info["Partition ID"],
                "stateful": any(a.get("Name") == "memory used by state" for a in info["Accumulables"]),
                "task_ms": info["Finish Time"] - info["Launch Time"],
                "executor": info["Executor ID"],
                "host": info["Host"],
                "records": shuffle["Total Records Read"],
                "bytes": shuffle["Local Bytes Read"] + shuffle["Remote Bytes Read"],
                "fetch_wait_ms": shuffle["Fetch Wait Time"],
                "gc_ms": metrics["JVM GC Time"],
                "spilled": metrics["Disk Bytes Spilled"],
            }
