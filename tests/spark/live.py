#!/usr/bin/env python3
"""Run a stateful query with real Spark while statetop is attached to it, and keep what both say.

    $STATETOP_SPARK_HOME/4.3.0/bin/python tests/spark/live.py --statetop BINARY --out DIR
    STATETOP_LIVE=DIR cargo test --test live -- --ignored

One application runs a query with two stateful operators; four statetops follow it at the same time, each by
another source: the event log (as Spark writes it by default: rolling, zstd), the lines of progress that a
listener writes, the driver's log, and the Spark UI; a fifth records all of them. The query is stopped,
repartitioned by Spark, and started again. `DIR` then has

    checkpoint/, logs/, driver.log, progress.jsonl     what Spark wrote
    events.jsonl, progress.told.jsonl, driver.jsonl,   what each statetop told
    ui.jsonl
    recorded.zst                                       what one recorded of the log, the driver's log and the UI
    truth.json                                         what Spark itself says: progress of its API, tasks of its
                                                       REST interface, rows per partition of its state reader

The tests in `tests/live.rs` compare the two. Ends with an error when a statetop does not keep up.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).absolute().parent
sys.path.insert(0, str(HERE))

from pyspark.sql import DataFrame, SparkSession  # noqa: E402
from pyspark.sql import functions as F  # noqa: E402
from pyspark.sql.streaming.listener import StreamingQueryListener  # noqa: E402

from sparkfix import confs, counts, feeds, recording, session  # noqa: E402

NAME = "payments"
FROM, TO = 5, 8
BEFORE, AFTER = 24, 8
"""Files before and after the repartition; Spark adds batches without data as the watermark moves."""
PATIENCE = 90
"""Seconds that a statetop may take until it has told the last batch."""
RETAIN = "spark.sql.streaming.minBatchesToRetain"

LOG4J = """\
rootLogger.level = info
rootLogger.appenderRef.file.ref = file
appender.file.type = File
appender.file.name = file
appender.file.fileName = {path}
appender.file.layout.type = PatternLayout
appender.file.layout.pattern = %d{{yy/MM/dd HH:mm:ss}} %p %c{{1}}: %m%n%ex
"""


class Writer(StreamingQueryListener):
    """Writes each progress object as a line, as people's listeners do."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.touch()

    def onQueryStarted(self, event: Any) -> None:
        """Nothing."""

    def onQueryProgress(self, event: Any) -> None:
        """One line."""
        with self.path.open("a") as lines:
            lines.write(event.progress.json.replace("\n", "") + "\n")

    def onQueryIdle(self, event: Any) -> None:
        """Nothing."""

    def onQueryTerminated(self, event: Any) -> None:
        """Nothing."""


class Follower:
    """A statetop that follows a source until it is stopped."""

    def __init__(self, binary: Path, arguments: list[str], output: Path, code: int = 130) -> None:
        self.output = output
        self.code = code
        self.errors = output.with_suffix(".err")
        with output.open("wb") as out, self.errors.open("wb") as err:
            self.process = subprocess.Popen([str(binary), *arguments], stdout=out, stderr=err, stdin=subprocess.DEVNULL)

    def wait_for(self, run: str, batch: int) -> None:
        """Until it has told this batch."""
        deadline = time.time() + PATIENCE
        while time.time() < deadline:
            if self.process.poll() is not None:
                break
            if any(is_progress(line, run, batch) for line in self.output.read_text().splitlines()):
                return
            time.sleep(0.3)
        raise SystemExit(f"{self.output.name}: batch {batch} was not told; {self.errors.read_text()}")

    def stop(self) -> None:
        """As Ctrl-C does."""
        self.process.send_signal(signal.SIGINT)
        code = self.process.wait(timeout=20)
        if code != self.code:
            raise SystemExit(f"{self.output.name}: exit code {code}, not {self.code}; {self.errors.read_text()}")


def is_progress(line: str, run: str, batch: int) -> bool:
    """Whether a line of statetop tells of this batch; the last line may be half written."""
    if run not in line:
        return False
    try:
        told = json.loads(line)
    except ValueError:
        return False
    return told["kind"] == "progress" and told["run_id"] == run and told["batch_id"] == batch


def start(out: Path) -> SparkSession:
    """A session with everything on that statetop can attach to."""
    (out / "logs").mkdir(parents=True)
    log4j = out / "log4j2.properties"
    log4j.write_text(LOG4J.format(path=out / "driver.log"))
    builder = (
        SparkSession.builder.master("local[2]")
        .appName("statetop live")
        .config("spark.driver.memory", "1g")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.extraJavaOptions", f"-Dlog4j2.configurationFile={log4j.as_uri()} -Duser.timezone=UTC")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.ui.enabled", "true")
        .config("spark.ui.port", "0")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.eventLog.enabled", "true")
        .config("spark.eventLog.dir", (out / "logs").as_uri())
        .config(confs.PARTITIONS, str(FROM))
        .config(confs.PROVIDER, confs.ROCKSDB_PROVIDER)
        .config(confs.CHANGELOG, "true")
        .config(RETAIN, "1000")
    )
    return builder.getOrCreate()


def query(spark: SparkSession, out: Path) -> Any:
    """Distinct payments, then a count per account and window: two operators, each in a stage of its own."""
    lines = spark.readStream.schema(feeds.EVENT_SCHEMA).option("maxFilesPerTrigger", 1).json(str(out / "in"))
    distinct = lines.withWatermark("ts", "15 minutes").dropDuplicates(["account_id", "amount", "ts"])
    counted: DataFrame = distinct.groupBy(F.window("ts", "5 minutes"), "account_id").agg(F.count("*").alias("n"))
    writer = counted.writeStream.outputMode("append").queryName(NAME).format("noop")
    return writer.option("checkpointLocation", str(out / "checkpoint")).start()


def run(running: Any, feed: feeds.Feed, first: int, batches: int) -> dict[str, Any]:
    """Feed the query while it runs; stop it between two batches, and keep what it says of itself."""
    for rows in feeds.events(batches, rows=300, accounts=200, hot=0.3, first=first):
        feed.add([rows])
        time.sleep(0.2)
    running.processAllAvailable()
    progress = [json.loads(told.json()) for told in running._jsq.recentProgress()]
    running.stop()
    return {"id": running.id, "run_id": running.runId, "progress": progress}


def batches_of(told: dict[str, Any]) -> list[int]:
    """The batches of a run that did something: a query that waits reports its last one again."""
    return [p["batchId"] for p in told["progress"] if p["stateOperators"]]


def rows(spark: SparkSession, out: Path, runs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows per partition by Spark's state reader, of every fourth batch and the first and last of each run."""
    spark.conf.set(confs.FORMAT_VALIDATION, "false")
    found = []
    for told, partitions in zip(runs, (FROM, TO)):
        batches = batches_of(told)
        wanted = sorted({*batches[::4], batches[-1]})
        reader = counts.Reader(spark, out / "checkpoint", partitions)
        for batch in wanted:
            for operator in (0, 1):
                families = reader.families(operator, "default", batch, ["default"])
                by_partition = families["default"]["partitions"]
                of_each = [by_partition[str(partition)]["rows"] for partition in range(partitions)]
                found.append({"batch": batch, "operator": operator, "partitions": of_each})
    return found


def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--statetop", type=Path, required=True, help="the binary")
    parser.add_argument("--out", type=Path, required=True, help="a directory, which is emptied first")
    options = parser.parse_args()
    out = options.out.absolute()
    shutil.rmtree(out, ignore_errors=True)
    os.environ["TZ"] = "UTC"
    spark = start(out)
    spark.streams.addListener(Writer(out / "progress.jsonl"))
    followers: list[Follower] = []
    try:
        truth = attached(spark, options.statetop.absolute(), out, followers)
    finally:
        for follower in followers:
            if follower.process.poll() is None:
                follower.process.kill()
        spark.stop()
    (out / "truth.json").write_text(json.dumps(truth))
    told = sum(len(run["progress"]) for run in truth["runs"])
    print(f"{out}: {told} batches, {len(truth['rows'])} times rows per partition")


def attached(spark: SparkSession, binary: Path, out: Path, followers: list[Follower]) -> dict[str, Any]:
    """Run the query over its repartition while statetop follows and records; what Spark says of it."""
    ui = spark.sparkContext.uiWebUrl
    sources = {
        "events.jsonl": str(out / "logs"),
        "progress.told.jsonl": str(out / "progress.jsonl"),
        "driver.jsonl": str(out / "driver.log"),
        "ui.jsonl": ui,
    }
    for name, source in sources.items():
        arguments = ["progress", source, "--follow", "--format", "jsonl"]
        followers.append(Follower(binary, arguments, out / name))
    recorded = [sources["events.jsonl"], sources["driver.jsonl"], ui]
    arguments = ["record", *recorded, "-o", str(out / "recorded.zst"), "--follow"]
    followers.append(Follower(binary, arguments, out / "record.txt", code=0))

    feed = feeds.Feed(out / "in")
    runs = [run(query(spark, out), feed, 0, BEFORE)]
    session.unload_state(spark)
    begun = time.time()
    spark._streamingCheckpointManager.repartition(str(out / "checkpoint"), TO)
    repartition = {"from": FROM, "to": TO, "seconds": time.time() - begun}
    session.unload_state(spark)
    runs.append(run(query(spark, out), feed, BEFORE, AFTER))

    for follower in followers[:-1]:
        follower.wait_for(runs[-1]["run_id"], batches_of(runs[-1])[-1])
    # It hears what the others hear, but asks the interface at other moments.
    time.sleep(5)
    for follower in followers:
        follower.stop()
    stages = recording.Interface(spark).stages_by_run()
    session.unload_state(spark)
    return {
        "name": NAME,
        "ui": ui,
        "runs": [{**told, "stages": stages[told["run_id"]]} for told in runs],
        "repartition": repartition,
        "rows": rows(spark, out, runs),
    }


if __name__ == "__main__":
    main()
