"""Broken and unfinished checkpoints."""

from __future__ import annotations

import json
import zipfile
from typing import Any

from sparkfix import confs
from sparkfix.cases.aggregation import windowed
from sparkfix.context import Context
from sparkfix.damage import Damage
from sparkfix.feeds import events
from sparkfix.registry import case, derived

CHANGELOG = "agg-window-changelog"
SNAPSHOTS = "agg-window-hot"
NEWEST = ("4.3.0",)


# made by Spark itself


@case("empty", "an empty directory", NEWEST, findings=("empty",))
def empty(ctx: Context) -> None:
    ctx.checkpoint.mkdir()


@case("no-batch", "a query that was started and stopped before any data came", NEWEST, findings=("no_batch",))
def no_batch(ctx: Context) -> None:
    ctx.run(windowed(ctx), "update", linger=0.2)


def fail_at(batch: int) -> Any:
    """A sink that computes everything (so that the state is written) and then fails at `batch`."""

    def each(frame: Any, number: int) -> None:
        frame.collect()
        if number == batch:
            raise RuntimeError("the sink is down")

    return lambda writer: writer.foreachBatch(each)


@case(
    "pending",
    "the sink failed in the last batch: planned, state written, not committed",
    ("3.5.9", "4.3.0"),
    findings=("batch_not_committed: offsets/6",),
)
def pending(ctx: Context) -> None:
    ctx.conf({confs.CHANGELOG: True})
    ctx.feed().add(events(7))
    ctx.run(windowed(ctx), "update", sink=fail_at(6), fails=True)


@case(
    "pending-first",
    "the sink failed in the very first batch: nothing was ever committed",
    NEWEST,
    findings=("no_committed_batch: offsets/0",),
)
def pending_first(ctx: Context) -> None:
    ctx.feed().add(events(1))
    ctx.run(windowed(ctx), "update", sink=fail_at(0), fails=True)


@case(
    "pending-format2",
    "the sink failed in the last batch, state checkpoint format 2: its files have ids that no commit names",
    NEWEST,
    findings=("batch_not_committed: offsets/5",),
)
def pending_format2(ctx: Context) -> None:
    ctx.conf({confs.CHANGELOG: True, confs.CHECKPOINT_FORMAT: 2})
    ctx.feed().add(events(6))
    ctx.run(windowed(ctx), "update", sink=fail_at(5), fails=True)
    ctx.run(windowed(ctx), "update", sink=fail_at(5), fails=True)


# logs


@derived("broken-only-metadata", "only the metadata file is left", SNAPSHOTS)
def only_metadata(d: Damage) -> None:
    for part in ("offsets", "commits", "state", "sources"):
        d.delete(part)
    d.find("no_batch")


@derived("broken-no-metadata", "the metadata file is missing", SNAPSHOTS)
def no_metadata(d: Damage) -> None:
    d.delete("metadata")
    d.find("missing_metadata", "metadata")


@derived("broken-zero-metadata", "the metadata file has no bytes", SNAPSHOTS)
def zero_metadata(d: Damage) -> None:
    d.truncate("metadata", 0)
    d.find("corrupt_metadata", "metadata")


@derived("broken-commit-missing", "the last commit entry is missing", CHANGELOG)
def commit_missing(d: Damage) -> None:
    d.delete(f"commits/{d.last}")
    d.find("batch_not_committed", f"offsets/{d.last}")


@derived("broken-offset-gap", "an offset entry in the middle is missing", CHANGELOG)
def offset_gap(d: Damage) -> None:
    d.delete("offsets/5")
    d.find("missing_offset_entry", "offsets/5")


@derived("broken-offset-last-missing", "the offset entry of the last committed batch is missing", CHANGELOG)
def offset_last_missing(d: Damage) -> None:
    d.delete(f"offsets/{d.last}")
    d.find("missing_offset_entry", f"offsets/{d.last}")


@derived("broken-offset-zero", "the last offset entry has no bytes", CHANGELOG)
def offset_zero(d: Damage) -> None:
    d.truncate(f"offsets/{d.last}", 0)
    d.find("corrupt_offset_entry", f"offsets/{d.last}")


@derived("broken-offset-truncated", "the last offset entry is cut inside its JSON", CHANGELOG)
def offset_truncated(d: Damage) -> None:
    d.truncate(f"offsets/{d.last}", 0.6)
    d.find("corrupt_offset_entry", f"offsets/{d.last}")


@derived("broken-commit-zero", "the last commit entry has no bytes", CHANGELOG)
def commit_zero(d: Damage) -> None:
    d.truncate(f"commits/{d.last}", 0)
    d.find("corrupt_commit_entry", f"commits/{d.last}")


@derived("broken-state-ahead", "the logs were restored from a backup that is one batch older than the state", CHANGELOG)
def state_ahead(d: Damage) -> None:
    d.delete(f"offsets/{d.last}")
    d.delete(f"commits/{d.last}")
    d.find("state_newer_than_commits")


@derived(
    "unfinished-repartition-crash",
    "a repartition that crashed before its commit: new snapshots are written",
    "resized-agg-last",
)
def repartition_crash(d: Damage) -> None:
    d.delete(f"commits/{d.last}")
    d.find("unfinished_repartition", f"offsets/{d.last}")


# snapshots


def dfs_names(d: Damage, relative: str) -> list[str]:
    """DFS names of the table files that a snapshot refers to."""
    with zipfile.ZipFile(d.path(relative)) as archive:
        text = archive.read("metadata").decode().split("\n", 1)[1]
    return [entry["dfsSstFileName"] for entry in json.loads(text)["sstFiles"]]


@derived("broken-zip-zero", "the newest snapshot of partition 2 has no bytes; changelogs reach back", CHANGELOG)
def zip_zero(d: Damage) -> None:
    d.find("corrupt_snapshot", d.newest(2))
    d.truncate(d.newest(2), 0)


@derived("broken-zip-truncated", "the newest snapshot of partition 2 is cut; changelogs reach back", CHANGELOG)
def zip_truncated(d: Damage) -> None:
    d.find("corrupt_snapshot", d.newest(2))
    d.truncate(d.newest(2), 0.5)


@derived("broken-zip-flipped", "bytes of the newest snapshot of partition 1 are flipped, no changelogs", SNAPSHOTS)
def zip_flipped(d: Damage) -> None:
    d.find("corrupt_snapshot", d.newest(1))
    d.flip(d.newest(1), 0.1, 64)
    d.lose(1, batches=[d.last])


@derived("broken-zip-zero-only", "the newest snapshot of partition 3 has no bytes, no changelogs", SNAPSHOTS)
def zip_zero_only(d: Damage) -> None:
    d.find("corrupt_snapshot", d.newest(3))
    d.truncate(d.newest(3), 0)
    d.lose(3, batches=[d.last])


@derived("broken-zip-missing", "the newest snapshot of partition 0 is missing, no changelogs", SNAPSHOTS)
def zip_missing(d: Damage) -> None:
    d.find("missing_state_version", d.newest(0))
    d.delete(d.newest(0))
    d.lose(0, batches=[d.last])


@derived(
    "broken-sst-missing", "a table file of the newest snapshot of partition 4 is missing, no changelogs", SNAPSHOTS
)
def sst_missing(d: Damage) -> None:
    name = dfs_names(d, d.newest(4))[-1]
    file = d.relative(d.store(4) / "SSTs" / name)
    d.delete(file)
    d.find("missing_sst", file)
    d.lose(4, batches=users(d, 4, name))


@derived("broken-sst-truncated", "a table file of the newest snapshot of partition 4 is cut, no changelogs", SNAPSHOTS)
def sst_truncated(d: Damage) -> None:
    name = dfs_names(d, d.newest(4))[-1]
    file = d.relative(d.store(4) / "SSTs" / name)
    d.truncate(file, 0.7)
    d.find("corrupt_sst", file)
    d.lose(4, batches=users(d, 4, name))


@derived(
    "broken-sst-missing-recoverable",
    "a table file of the newest snapshot of partition 4 is missing, but an older snapshot and changelogs reach back",
    CHANGELOG,
)
def sst_missing_recoverable(d: Damage) -> None:
    file = d.relative(d.store(4) / "SSTs" / dfs_names(d, d.newest(4))[-1])
    d.delete(file)
    d.find("missing_sst", file)


def users(d: Damage, partition: int, name: str) -> list[int]:
    """Batches whose snapshot refers to a table file."""
    zips = [p for p in d.store(partition).glob("*.zip")]
    return [int(p.stem) - 1 for p in zips if name in dfs_names(d, d.relative(p))]


# changelogs


@derived("broken-changelog-harmless", "a changelog below the newest snapshot of partition 0 is missing", CHANGELOG)
def changelog_harmless(d: Damage) -> None:
    newest = int(d.newest(0).rsplit("/", 1)[1].split(".")[0])
    file = d.relative(d.store(0) / f"{newest - 1}.changelog")
    d.delete(file)
    d.find("missing_changelog_harmless", file)


@derived(
    "broken-changelog-missing", "the last changelog of partition 1, above its newest snapshot, is missing", CHANGELOG
)
def changelog_missing(d: Damage) -> None:
    file = d.relative(d.store(1) / f"{d.last + 1}.changelog")
    d.delete(file)
    d.find("missing_changelog", file)
    d.lose(1, batches=[d.last])


@derived("broken-changelog-truncated", "the last changelog of partition 3 is cut", "agg-no-snapshot")
def changelog_truncated(d: Damage) -> None:
    file = d.relative(d.store(3) / f"{d.last}.changelog")
    d.truncate(file, 0.5)
    d.find("corrupt_changelog", file)
    d.lose(3, batches=[d.last, d.last - 1])


@derived("broken-changelog-zero", "the last changelog of partition 2 has no bytes", "agg-no-snapshot")
def changelog_zero(d: Damage) -> None:
    file = d.relative(d.store(2) / f"{d.last + 1}.changelog")
    d.truncate(file, 0)
    d.find("corrupt_changelog", file)
    d.lose(2, batches=[d.last])


@derived(
    "broken-checksum", "a changelog does not fit Spark's checksum file beside it (format 2)", "agg-format2-changelog"
)
def checksum(d: Damage) -> None:
    file = d.newest(1, "*.changelog")
    d.flip(file, 0.8, 1)
    d.find("checksum_mismatch", file)
    d.lose(1, batches=[d.last])


# metadata, schemas, directories


@derived("broken-operator-metadata", "the operator metadata is missing", CHANGELOG)
def operator_metadata(d: Damage) -> None:
    d.delete("state/0/_metadata")
    d.find("missing_operator_metadata", "state/0/_metadata/metadata")


@derived("broken-schema-missing", "the state schema file is missing: rows can be counted, not decoded", CHANGELOG)
def schema_missing(d: Damage) -> None:
    d.delete("state/0/0/_metadata/schema")
    d.find("missing_schema", "state/0/0/_metadata/schema")


@derived("broken-schema-missing-tws", "the state schema file of transformWithState is missing", "tws")
def schema_missing_tws(d: Damage) -> None:
    d.delete("state/0/_stateSchema/default")
    d.find("missing_schema", "state/0/_stateSchema/default")


@derived("broken-partition-missing", "the directory of partition 2 is missing", CHANGELOG)
def partition_missing(d: Damage) -> None:
    d.delete("state/0/2")
    d.find("missing_partition_directory", "state/0/2")
    d.lose(2)


@derived("broken-partition-missing-last", "the directory of the last partition is missing", CHANGELOG)
def partition_missing_last(d: Damage) -> None:
    d.delete("state/0/4")
    d.find("missing_partition_directory", "state/0/4")
    d.lose(4)


@derived("broken-operator-missing", "the whole state directory of the join is missing", "join-v3")
def operator_missing(d: Damage) -> None:
    d.delete("state/0")
    (d.checkpoint / "state" / "0").mkdir()
    d.find("missing_operator_directory", "state/0")
    for partition in range(5):
        d.lose(partition)


@derived("moved-tws", "a copied checkpoint: its operator metadata names schema files where it was before", "tws")
def moved_tws(d: Damage) -> None:
    d.find("schema_paths_elsewhere", "state/0/_metadata/v2")


# HDFS-backed provider


@derived("broken-hdfs-delta-missing", "the last delta of partition 1 is missing", "hdfs-agg")
def hdfs_delta_missing(d: Damage) -> None:
    file = d.relative(d.store(1) / f"{d.last + 1}.delta")
    d.delete(file)
    d.find("missing_delta", file)
    d.lose(1, batches=[d.last])


@derived("broken-hdfs-delta-truncated", "the last delta of partition 3 is cut", "hdfs-agg")
def hdfs_delta_truncated(d: Damage) -> None:
    file = d.relative(d.store(3) / f"{d.last + 1}.delta")
    d.truncate(file, 0.4)
    d.find("corrupt_delta", file)
    d.lose(3, batches=[d.last])


@derived(
    "broken-hdfs-snapshot-zero", "the newest snapshot of partition 0 has no bytes; all deltas are there", "hdfs-agg"
)
def hdfs_snapshot_zero(d: Damage) -> None:
    file = d.newest(0, "*.snapshot")
    d.truncate(file, 0)
    d.find("corrupt_snapshot", file)
