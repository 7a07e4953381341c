"""Sources, sinks and log formats; some of these queries keep no state."""

from __future__ import annotations

import time
from typing import Any

from pyspark.sql import functions as F

from sparkfix import confs
from sparkfix.cases.aggregation import windowed
from sparkfix.context import Context
from sparkfix.feeds import events
from sparkfix.registry import case

NEWEST = ("4.3.0",)


@case(
    "stateless",
    "a query without state that ran 13 batches (its source log has a compact file)",
    ("3.5.9", "4.3.0"),
    smoke=True,
)
def stateless(ctx: Context) -> None:
    ctx.feed().add(events(13, 5))
    ctx.run(ctx.stream().where("amount > 100"))


@case("stateless-file-sink", "a query without state into a file sink", NEWEST)
def stateless_file_sink(ctx: Context) -> None:
    ctx.feed().add(events(3, 5))
    target = str(ctx.home / "out")
    ctx.run(ctx.stream(), sink=lambda w: w.format("json").option("path", target))


@case("rate-source", "an aggregation over the rate source into a memory sink", ("3.5.9", "4.3.0"))
def rate_source(ctx: Context) -> None:
    frame = (
        ctx.spark.readStream.format("rate")
        .option("rowsPerSecond", 20)
        .load()
        .groupBy((F.col("value") % 12).alias("bucket"))
        .agg(F.count("*").alias("n"))
    )
    run_for(ctx, frame, 6, "update", lambda w: w.format("memory").queryName("rates"))


@case("rate-micro-batch", "a stream-stream union of two sources, one of them rate-micro-batch", NEWEST)
def rate_micro_batch(ctx: Context) -> None:
    ctx.feed().add(events(3, 10))
    rate = (
        ctx.spark.readStream.format("rate-micro-batch")
        .option("rowsPerBatch", 10)
        .load()
        .select(F.concat(F.lit("acct-"), F.col("value") % 9).alias("account_id"))
    )
    frame = ctx.stream().select("account_id").union(rate).groupBy("account_id").count()
    run_for(ctx, frame, 6, "update", lambda w: w.format("noop"))


def run_for(ctx: Context, frame: Any, seconds: float, mode: str, sink: Any) -> None:
    """Run a source that never ends for a while; wait for a quiet moment between two batches to stop."""
    import json

    from sparkfix import session

    query = sink(
        frame.writeStream.outputMode(mode)
        .option("checkpointLocation", str(ctx.checkpoint))
        .trigger(processingTime="1500 milliseconds")
    ).start()
    time.sleep(seconds)
    deadline = time.time() + 30
    while time.time() < deadline:
        status = query.status
        if not status["isTriggerActive"] and query.recentProgress:
            break
        time.sleep(0.05)
    query.stop()
    ctx.progress += [json.loads(p.json()) for p in query._jsq.recentProgress()]
    session.unload_state(ctx.spark)


@case("offset-log-v2", "offset log format 2", ("4.2.1", "4.3.0"))
def offset_log_v2(ctx: Context) -> None:
    ctx.conf({confs.OFFSET_LOG: 2, confs.CHANGELOG: True})
    ctx.feed("left").add(events(4, 12))
    ctx.feed("right").add(events(3, 12, seed=9))
    both = ctx.stream("left").union(ctx.stream("right"))
    ctx.run(both.groupBy("account_id").count(), "update")


@case("named-sources", "named sources (source evolution): offset log format 2 keyed by name", NEWEST)
def named_sources(ctx: Context) -> None:
    ctx.conf({confs.SOURCE_EVOLUTION: True, confs.CHANGELOG: True})
    ctx.feed("orders").add(events(3, 12))
    reader = ctx.spark.readStream.schema("id string, account_id string, ts timestamp, amount long")
    frame = reader.option("maxFilesPerTrigger", 1).name("orders").json(str(ctx.home / "in" / "orders"))
    ctx.run(frame.groupBy("account_id").count(), "update")


def named_sink(writer: Any) -> Any:
    """The noop sink under a name; Python has no call for that yet."""
    writer._jwrite = writer._jwrite.name("ledger")
    return writer.format("noop")


@case("named-sinks", "a named sink (sink evolution): commit log format 3", NEWEST)
def named_sinks(ctx: Context) -> None:
    ctx.conf({confs.SINK_EVOLUTION: True, confs.CHANGELOG: True})
    ctx.feed().add(events(4, 20))
    ctx.run(windowed(ctx), "update", sink=named_sink)


@case("foreach-batch", "an aggregation into foreachBatch", NEWEST)
def foreach_batch(ctx: Context) -> None:
    ctx.feed().add(events(3, 20))
    ctx.run(windowed(ctx), "update", sink=lambda w: w.foreachBatch(lambda frame, number: frame.collect() and None))
