"""Broken fixtures: a copy of a finished checkpoint, damaged the way reality does.

The truth is that of the healthy original, less what the damage makes unreadable. Spark's own reader is
asked too, and what it says about the damaged copy is kept as `spark_reader_on_damaged`.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from sparkfix import WORK_ROOT, confs, logs, pack, truth
from sparkfix.context import first_line
from sparkfix.counts import Reader
from sparkfix.registry import CASES, Case


class Damage:
    """A checkpoint to break, with notes of what a reader must notice."""

    def __init__(self, checkpoint: Path, healthy: dict[str, Any]) -> None:
        self.checkpoint = checkpoint
        self.last: int = healthy["last_committed_batch"]
        self.findings: list[str] = []
        self.unreadable: list[tuple[int, str, int, tuple[int, ...] | None]] = []

    def path(self, relative: str) -> Path:
        """A file of the checkpoint, which must be there."""
        found = self.checkpoint / relative
        if not found.exists():
            raise FileNotFoundError(found)
        return found

    def store(self, partition: int, operator: int = 0, store: str = "default") -> Path:
        """The directory of one state store."""
        home = self.checkpoint / "state" / str(operator) / str(partition)
        return home if store == "default" else home / store

    def newest(self, partition: int, pattern: str = "*.zip") -> str:
        """The file of the highest version that fits the pattern, relative to the checkpoint."""
        found = sorted(self.store(partition).glob(pattern), key=lambda p: int(p.name.split(".")[0].split("_")[0]))
        return self.relative(found[-1])

    def relative(self, path: Path) -> str:
        """The path inside the checkpoint."""
        return path.relative_to(self.checkpoint).as_posix()

    def delete(self, relative: str) -> None:
        """Remove a file or directory together with its Hadoop sidecar."""
        path = self.path(relative)
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()
        self._forget_sidecar(path)

    def truncate(self, relative: str, keep: float) -> None:
        """Cut a file to a share of its length."""
        path = self.path(relative)
        data = path.read_bytes()
        self._rewrite(path, data[: int(len(data) * keep)])

    def flip(self, relative: str, at: float = 0.5, length: int = 16) -> None:
        """Invert some bytes in the middle."""
        path = self.path(relative)
        data = bytearray(path.read_bytes())
        start = int(len(data) * at)
        for index in range(start, min(start + length, len(data))):
            data[index] ^= 0xFF
        self._rewrite(path, bytes(data))

    def _rewrite(self, path: Path, data: bytes) -> None:
        path.write_bytes(data)
        self._forget_sidecar(path)

    @staticmethod
    def _forget_sidecar(path: Path) -> None:
        """Without this Hadoop would report its own checksum instead of Spark looking at the file."""
        (path.parent / f".{path.name}.crc").unlink(missing_ok=True)

    def find(self, kind: str, file: str = "") -> None:
        """Note what a reader must notice."""
        self.findings.append(f"{kind}: {file}" if file else kind)

    def lose(
        self, partition: int, operator: int = 0, store: str = "default", batches: Iterable[int] | None = None
    ) -> None:
        """Note a partition that cannot be read at `batches` (None: at any batch that the truth counts)."""
        self.unreadable.append((operator, store, partition, None if batches is None else tuple(batches)))


def make(spark: SparkSession, made: Case, version: str, out: Path) -> list[str]:
    """Write the broken fixture of `made`; returns warnings."""
    name = made.fixture(version)
    base = CASES[made.base].fixture(version)
    home = Path(WORK_ROOT) / name
    shutil.rmtree(home, ignore_errors=True)
    shutil.copytree(Path(WORK_ROOT) / base / "checkpoint", home / "checkpoint")
    healthy = json.loads((out / base / "truth.json").read_text())
    damage = Damage(home / "checkpoint", healthy)
    made.build(damage)
    target = out / name
    shutil.rmtree(target, ignore_errors=True)
    pack.pack(home / "checkpoint", target / "checkpoint.tar.zst", made.keep_crc)
    told = logs.describe(home / "checkpoint")
    commits = logs.entries(home / "checkpoint" / "commits")
    result = {**healthy, **told, "fixture": name, "case": made.name, "description": made.description}
    result["derived_from"] = base
    result["truth_from"] = f"the healthy original {base}: {healthy['truth_from']}"
    result["counts"] = [
        remaining(entry, damage) for entry in healthy["counts"] if told["stateful"] and entry["batch"] in commits
    ]
    result["progress"] = [p for p in healthy["progress"] if p["batchId"] in commits]
    if not told["stateful"]:
        result["state_metadata"], result["schemas"] = None, []
    result["expect"] = {
        "findings": damage.findings,
        "unreadable_partitions": sorted(
            [o, s, p]
            for o, s, p, batches in damage.unreadable
            if batches is None or told["last_committed_batch"] in batches
        ),
    }
    result["spark_reader_on_damaged"], warnings = ask_spark(spark, home / "checkpoint", result, damage)
    truth.write(target, result, rows_left(out / base, result, damage))
    return [f"{name}: {w}" for w in warnings]


def remaining(entry: dict[str, Any], damage: Damage) -> dict[str, Any]:
    """One entry of `counts` without the partitions that cannot be read at its batch."""
    gone = {
        str(p)
        for o, s, p, batches in damage.unreadable
        if (o, s) == (entry["operator"], entry["store"]) and (batches is None or entry["batch"] in batches)
    }
    families = {
        name: {**family, "partitions": {k: v for k, v in family["partitions"].items() if k not in gone}}
        for name, family in entry["families"].items()
    }
    return {**entry, "families": families}


def rows_left(base: Path, result: dict[str, Any], damage: Damage) -> list[str]:
    """The rows of the original that are still there, if its last batch is still the last."""
    source = base / "rows.jsonl.zst"
    if not source.exists():
        return []
    gone = {(o, p) for o, _, p, _ in damage.unreadable}
    kept = []
    for line in pack.expand(source.read_bytes()).decode().splitlines():
        row = json.loads(line)
        if row["batch"] == result["last_committed_batch"] and (row["operator"], row["partition"]) not in gone:
            kept.append(line)
    return kept


def ask_spark(spark: SparkSession, checkpoint: Path, result: dict[str, Any], damage: Damage) -> tuple[str, list[str]]:
    """What Spark's reader says of the damaged copy, and warnings where that contradicts the case."""
    wanted = [e for e in result["counts"] if e["batch"] == result["last_committed_batch"]]
    if not wanted:
        return "not asked: no counts at the last committed batch", []
    spark.conf.set(confs.CHECKPOINT_FORMAT, str(result["state_checkpoint_format"] or 1))
    # The engine falls back to an older snapshot only where changelogs are on in the session.
    spark.conf.set(confs.CHANGELOG, str(bool(result["changelog"])).lower())
    reader = Reader(spark, checkpoint, result["partitions"], result["provider"] == "rocksdb")
    complete = not result["expect"]["unreadable_partitions"]
    try:
        for entry in wanted:
            found = reader.families(entry["operator"], entry["store"], entry["batch"], list(entry["families"]))
            if complete and found != entry["families"]:
                return "reads, but other counts than the original", ["Spark reads other counts"]
    except Exception as error:
        return f"fails: {first_line(error)}", []
    finally:
        spark.conf.unset(confs.CHANGELOG)
    if complete:
        return "reads the same counts as the original", []
    return "reads what is left and does not complain", []
