"""Codecs and storage options that change bytes on disk."""

from __future__ import annotations

from pyspark.sql import functions as F

from sparkfix import confs
from sparkfix.cases.aggregation import windowed
from sparkfix.context import Context
from sparkfix.feeds import events
from sparkfix.registry import case

NEWEST = ("4.3.0",)


def with_codec(ctx: Context, codec: str, provider: str, batches: int = 7) -> None:
    """Windowed aggregation with changelogs or deltas in a codec."""
    ctx.conf({confs.CODEC: codec, confs.PROVIDER: provider, confs.CHANGELOG: True})
    ctx.feed().add(events(batches))
    ctx.run(windowed(ctx), "update")


@case("codec-zstd", "changelogs compressed with zstd", ("3.5.9", "4.3.0"))
def codec_zstd(ctx: Context) -> None:
    with_codec(ctx, "zstd", confs.ROCKSDB_PROVIDER)


@case("codec-snappy", "changelogs compressed with snappy", NEWEST)
def codec_snappy(ctx: Context) -> None:
    with_codec(ctx, "snappy", confs.ROCKSDB_PROVIDER)


@case("codec-lzf", "changelogs compressed with lzf", NEWEST)
def codec_lzf(ctx: Context) -> None:
    with_codec(ctx, "lzf", confs.ROCKSDB_PROVIDER)


@case("hdfs-codec-zstd", "HDFS-backed deltas and snapshots compressed with zstd", NEWEST)
def hdfs_codec_zstd(ctx: Context) -> None:
    with_codec(ctx, "zstd", confs.HDFS_PROVIDER)


@case("hdfs-codec-snappy", "HDFS-backed deltas and snapshots compressed with snappy", NEWEST)
def hdfs_codec_snappy(ctx: Context) -> None:
    with_codec(ctx, "snappy", confs.HDFS_PROVIDER)


@case("hdfs-codec-lzf", "HDFS-backed deltas and snapshots compressed with lzf", NEWEST)
def hdfs_codec_lzf(ctx: Context) -> None:
    with_codec(ctx, "lzf", confs.HDFS_PROVIDER)


@case("codec-lz4-blocks", "a batch so big that its changelog has several lz4 blocks", NEWEST)
def codec_lz4_blocks(ctx: Context) -> None:
    ctx.conf({confs.CHANGELOG: True, confs.PARTITIONS: 2, confs.MIN_DELTAS: 10})
    ctx.feed().add(events(2, 1500, accounts=900, hot=0.1, minutes_per_batch=1))
    frame = ctx.stream().groupBy("account_id").agg(F.count("*").alias("n"), F.collect_list("id").alias("ids"))
    ctx.run(frame, "update")


@case("row-checksum", "a checksum in every row", ("4.2.1", "4.3.0"))
def row_checksum(ctx: Context) -> None:
    ctx.conf({confs.ROW_CHECKSUM: True, confs.CHANGELOG: True})
    ctx.feed().add(events(7))
    ctx.run(windowed(ctx), "update")


@case("hdfs-row-checksum", "a checksum in every row, HDFS-backed provider", NEWEST)
def hdfs_row_checksum(ctx: Context) -> None:
    ctx.conf({confs.ROW_CHECKSUM: True, confs.PROVIDER: confs.HDFS_PROVIDER})
    ctx.feed().add(events(7))
    ctx.run(windowed(ctx), "update")


@case("untracked-rows", "row counting is off: snapshots say numKeys -1", ("3.5.9", "4.3.0"))
def untracked_rows(ctx: Context) -> None:
    ctx.conf({confs.TRACK_ROWS: False, confs.CHANGELOG: True})
    ctx.feed().add(events(7))
    ctx.run(windowed(ctx), "update")
