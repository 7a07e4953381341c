#!/usr/bin/env python3
"""What real Spark makes of a repartition, for every fixture: the truth of `statetop preflight`.

    tests/spark/generate.sh --versions 4.2.1,4.3.0 --list   # makes the environments
    tests/spark/preflight.py                                # all cases (about an hour on 2 cores)
    tests/spark/preflight.py --versions 4.3.0 --cases pending --budget 300

Each case copies a fixture, lets Spark repartition it, looks at what is left on the disk, tries again
with the same count, and compares the state before and after, or the output of the query when it is
started again. Results go to `tests/preflight/outcomes-<version>.json` as they come; cases that are
there already are skipped. A worker that says nothing for long is ended and the case is tried once more.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from io import BytesIO
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from generate import environment  # noqa: E402
from sparkfix import confs, logs  # noqa: E402

FIXTURES = HERE.parent / "fixtures"
RESULTS = HERE.parent / "preflight"
WORK = Path("/tmp/statetop-preflight")
BUILT_AT = "/tmp/statetop-fixtures"
"""Where fixtures were written, and what schema paths in their operator metadata say."""

VERSIONS = ("4.2.1", "4.3.0")
SILENCE = 240
"""Seconds after which a worker is taken for hung."""

AUTO_REPAIR = confs.STATE + "autoSnapshotRepair.enabled"
MAX_CHANGES = confs.STATE + "autoSnapshotRepair.maxChangeFileReplay"


@dataclass(frozen=True)
class Case:
    """One repartition of one copy."""

    fixture: str
    to: int
    confs: dict[str, str] = field(default_factory=dict)
    enforce: bool = True
    place: str = "own"
    """`own`: schema paths in the metadata name this copy; `moved`: a place that is gone; `copied`: the
    original, which is still there."""
    edits: list[dict[str, Any]] = field(default_factory=list)
    """Damage that no fixture has: `delete`, `write` + `text`, `cut` + `bytes`, `rename` + `to`."""
    path: str = "checkpoint"
    """What is given to Spark instead of the copy, relative to it: a mistyped path."""

    @property
    def name(self) -> str:
        """Unique, and short enough for a table."""
        short = {confs.CHECKPOINT_FORMAT: "format", confs.CHANGELOG: "changelog", AUTO_REPAIR: "repair"}
        words = [f"{self.fixture} to {self.to}"]
        words += [f"{short.get(k, k.rsplit('.', 1)[-1])}={v}" for k, v in self.confs.items()]
        words += [] if self.enforce else ["enforceExactlyOnceSink=false"]
        words += [] if self.place == "own" else [self.place]
        words += [edit_words(edit) for edit in self.edits]
        words += [] if self.path == "checkpoint" else [f"path {self.path!r}"]
        return ", ".join(words)


def edit_words(edit: dict[str, Any]) -> str:
    """A few words for the case's name."""
    verb = next(v for v in ("delete", "write", "cut", "rename") if v in edit)
    more = {"write": f" {edit.get('text', '')[:12]!r}", "cut": f" to {edit.get('bytes')}", "rename": f" to {edit.get('to')}"}.get(verb, "")
    return f"{verb} {edit[verb]}{more}"


# which cases


def truth(fixture: str) -> dict[str, Any]:
    """What is known of a fixture."""
    return json.loads((FIXTURES / fixture / "truth.json").read_text())


def other(count: int | None) -> int:
    """A count that is a change."""
    return 8 if count != 8 else 5


def cases() -> list[Case]:
    """All cases, the telling ones first."""
    found: list[Case] = []
    names = sorted(p.parent.name for p in FIXTURES.glob("*/truth.json"))
    told = {name: truth(name) for name in names}
    counts = {name: told[name]["partitions"] for name in names}
    new = {name: other(counts[name]) for name in names}

    def add(fixture: str, to: int | None = None, **more: Any) -> None:
        found.append(Case(fixture, new[fixture] if to is None else to, **more))

    changelog = {confs.CHANGELOG: "true"}
    format_2 = {confs.CHECKPOINT_FORMAT: "2"}
    # Every fixture as a session without settings finds it; the newest first.
    for name in sorted(names, key=lambda n: (not n.endswith("4.3.0"), not n.startswith(("broken", "pending")), n)):
        add(name)
    for name in names:
        if told[name]["state_checkpoint_format"] == 2:
            add(name, confs=format_2)
            add(name, confs={**format_2, **changelog})
        if name.startswith(("broken", "agg-no-snapshot", "agg-restarts")) or name == "agg-window-changelog-4.3.0":
            add(name, confs=changelog)
            add(name, confs={**changelog, AUTO_REPAIR: "false"})
        if name.startswith("pending") or name in (
            "broken-commit-missing-4.3.0",
            "broken-offset-last-missing-4.3.0",
            "broken-offset-zero-4.3.0",
        ):
            add(name, enforce=False)
            if counts[name]:
                add(name, counts[name])
                add(name, counts[name], enforce=False)
        if name.startswith("unfinished"):
            planned = told[name]["partition_history"][-1]["partitions"]
            for to in (planned, counts[name], 6):
                if to != new[name]:
                    add(name, to)
            add(name, planned, confs=format_2)
            add(name, 6, enforce=False)
        if name.startswith(("resized", "tws-4", "join-v3-4", "agg-window-hot", "chained-4.3", "dedup-4.3", "limit", "hdfs-agg", "stateless", "agg-no-keys")):
            if counts[name]:
                add(name, counts[name])
            if counts[name] != 2:
                add(name, 2)
    for to in (1, 3, 4, 6, 7, 14, 21, 42):
        for name in ("agg-no-keys-4.3.0", "agg-no-keys-3.5.9", "resized-no-keys-4.3.0"):
            if counts[name] != to:
                add(name, to)
    for name in ("named-sinks-4.3.0", "resized-format-switch-4.3.0"):
        for version in ("2", "3"):
            add(name, confs={confs.CHECKPOINT_FORMAT: version})
    for name in ("agg-window-hot-4.3.0", "tws-4.3.0", "join-v3-4.3.0", "join-v2-4.3.0", "limit-4.3.0", "pending-4.3.0"):
        add(name, confs=format_2)
    pending_2 = "pending-format2-4.3.0"
    add(pending_2, confs=format_2, enforce=False)
    for name in ("agg-window-changelog-4.3.0", "tws-4.3.0", "tws-avro-4.3.0", "tws-4.0.5", "join-v3-4.3.0", "join-v3-4.2.1", "join-v4-4.3.0"):
        add(name, place="moved")
        add(name, place="copied")
    add("moved-tws-4.3.0", place="moved")
    for to in (0, -1):
        add("agg-window-hot-4.3.0", to)
        add("empty-4.3.0", to)
    for path in ("", "checkpiont", "checkpoint/state", "checkpoint/offsets", "."):
        add("agg-window-hot-4.3.0", path=path)
    edited(add)
    seen: dict[str, Case] = {}
    for case in found:
        seen.setdefault(case.name, case)
    return list(seen.values())


def edited(add: Callable[..., None]) -> None:
    """Damage that the fixtures do not have."""

    def edit(fixture: str, *edits: dict[str, Any], **more: Any) -> None:
        add(fixture, edits=list(edits), **more)

    snapshots, changes, tws, pending = "agg-window-hot-4.3.0", "agg-window-changelog-4.3.0", "tws-4.3.0", "pending-4.3.0"
    changelog = {confs.CHANGELOG: "true"}
    edit(changes, {"delete": "offsets"})
    edit(changes, {"delete": "commits"})
    edit(changes, {"delete": "state"})
    edit(changes, {"delete": "sources"})
    edit(changes, {"write": "offsets/13", "text": "v1\n\n{\"logOffset\":13}"})
    edit(changes, {"write": "offsets/13", "text": "v9\n{}\n-"})
    edit(changes, {"write": "offsets/13", "text": "v1\n{\"batchWatermarkMs\":0,\"batchTimestampMs\":0,\"conf\":{}}\n{\"logOffset\":13}"})
    edit(changes, {"write": "commits/13", "text": "v9\n{}"})
    edit(changes, {"write": "commits/13", "text": "v1\n{\"nextBatch"})
    edit(changes, {"write": "commits/13", "text": "v1"})
    edit(changes, {"write": "commits/99", "text": "v1\n{\"nextBatchWatermarkMs\":0}"})
    edit(changes, {"write": "commits/14", "text": "v1\n{\"nextBatchWatermarkMs\":0}"})
    edit(changes, {"delete": "offsets/12"})
    edit(pending, {"delete": "offsets/5"})
    edit(pending, {"delete": "offsets/5"}, enforce=False)
    edit(pending, {"delete": "commits/5"})
    edit(pending, {"delete": "commits/5"}, enforce=False)
    edit(pending, {"write": "offsets/5", "text": "v1\n\n{\"logOffset\":5}"})
    edit(pending, {"write": "offsets/6", "text": ""})
    edit(pending, {"write": "offsets/6", "text": "v1\n\n{\"logOffset\":6}"})
    edit(pending, {"write": "offsets/6", "text": "v1\n{\"conf\":{}}\n{\"logOffset\":6}"})
    edit(pending, {"write": "offsets/5", "text": "v1\n{\"conf\":{}}\n{\"logOffset\":5}"})
    edit(changes, {"delete": "state/0/0"})
    edit(changes, {"delete": "state/0/0/14.changelog"})
    edit(changes, {"delete": "state/0/_metadata/metadata"})
    edit(changes, {"write": "state/0/_metadata/metadata", "text": ""})
    edit(changes, {"write": "state/0/_metadata/metadata", "text": "v9\n{}"})
    edit(changes, {"write": "state/0/_metadata/metadata", "text": "v1\n{\"oper"})
    edit(changes, {"write": "state/0/0/_metadata/schema", "text": ""})
    edit(changes, {"write": "state/0/0/_metadata/schema", "text": "\u0000\u0002v9"})
    edit(changes, {"write": "state/0/0/_metadata/schema", "text": "\u0000\u0002v2\u0000\u0000"})
    edit(changes, {"write": "state/0/7/stray", "text": "a directory beyond the last partition, with a gap"})
    edit(changes, {"write": "state/0/5/stray", "text": "a directory just beyond the last partition"})
    edit(changes, {"write": "state/0/2/99.zip", "text": "a newer version than any batch"})
    edit(changes, {"write": "state/0/2/15.zip", "text": "where the repartition writes"})
    edit(changes, {"write": "state/0/2/15.changelog", "text": "above the repartition's snapshot"})
    edit(snapshots, {"delete": "state/0/1/12.zip"}, confs=changelog)
    edit(snapshots, {"delete": "state/0/1/SSTs"})
    edit(snapshots, {"delete": "metadata"})
    edit(tws, {"delete": "state/0/_metadata/v2"})
    edit(tws, {"write": "state/0/_metadata/v2/0", "text": ""})
    edit(tws, {"write": "state/0/_metadata/v2/0", "text": "v9\n{}"})
    edit(tws, {"write": "state/0/_metadata/v2/3", "text": "v2\n{\"oper"})
    edit(tws, {"delete": "state/0/1"})
    edit("chained-4.3.0", {"delete": "state/1/_metadata"})
    edit("chained-4.3.0", {"delete": "state/0"})
    edit("chained-4.3.0", {"delete": "state/1/3/8.changelog"})
    edit("join-v2-4.3.0", {"delete": "state/0/2/left-keyToNumValues"})
    edit("join-v2-4.3.0", {"delete": "state/0/2/right-keyWithIndexToValue/8.changelog"})
    edit("join-v2-4.3.0", {"delete": "state/0/0/right-keyToNumValues/_metadata"})
    # After shrinking, the directories of the former partitions deleted by hand.
    for name, last in (("resized-agg-4.3.0", 8), ("resized-dedup-4.3.0", 8), ("resized-join-v3-4.3.0", 8)):
        edit(name, *({"delete": f"state/0/{p}"} for p in range(3, last)))
    edit("resized-tws-4.3.0", *({"delete": f"state/0/{p}"} for p in range(2, 5)))


# copies


def unpack(case: Case, home: Path) -> Path:
    """A fresh copy of the fixture; returns the checkpoint."""
    import pyarrow as pa

    shutil.rmtree(home, ignore_errors=True)
    home.mkdir(parents=True)
    data = pa.CompressedInputStream(
        pa.BufferReader((FIXTURES / case.fixture / "checkpoint.tar.zst").read_bytes()), "zstd"
    ).read()
    with tarfile.open(fileobj=BytesIO(data)) as tar:
        tar.extractall(home, filter="data")
    checkpoint = home / "checkpoint"
    if case.place != "moved":
        original = checkpoint
        if case.place == "copied":
            original = home / "original"
            shutil.copytree(checkpoint, original)
        for file in checkpoint.glob("state/*/_metadata/v2/*"):
            text = file.read_text()
            text = re.sub(rf"file:(//)?{BUILT_AT}/[^/\"]+/checkpoint", f"file:{original}", text)
            file.write_text(text)
    for change in case.edits:
        apply(checkpoint, change)
    return checkpoint


def apply(checkpoint: Path, edit: dict[str, Any]) -> None:
    """One edit."""
    if "delete" in edit:
        path = checkpoint / edit["delete"]
        shutil.rmtree(path) if path.is_dir() else path.unlink()
        return
    if "rename" in edit:
        (checkpoint / edit["rename"]).rename(checkpoint / edit["to"])
        return
    path = checkpoint / (edit.get("write") or edit["cut"])
    path.parent.mkdir(parents=True, exist_ok=True)
    if "write" in edit:
        path.write_bytes(edit["text"].encode())
    else:
        path.write_bytes(path.read_bytes()[: edit["bytes"]])
    (path.parent / f".{path.name}.crc").unlink(missing_ok=True)


def listing(checkpoint: Path) -> set[str]:
    """Every path inside."""
    if not checkpoint.exists():
        return set()
    return {p.relative_to(checkpoint).as_posix() for p in checkpoint.rglob("*") if not p.name.endswith(".crc")}


# asking Spark


class Engine:
    """A Spark session and what is asked of it."""

    def __init__(self) -> None:
        from sparkfix import session

        self.spark = session.start("2g", settings={"spark.sql.shuffle.partitions": "3", "spark.python.worker.reuse": "true"})
        # Spark 4.2.1 starts the coordinator of its state stores only here. Without it every repartition
        # that gets to the state fails, after it has written its offset entry; 4.3 does not need it.
        _ = self.spark.streams.active
        self.before: dict[tuple[str, str], Any] = {}

    def run(self, case: Case) -> dict[str, Any]:
        """One case, as an entry of the results."""
        home = WORK / hashlib.sha1(case.name.encode()).hexdigest()[:12]
        checkpoint = unpack(case, home)
        given = str(checkpoint) if case.path == "checkpoint" else (case.path and str(home / case.path))
        self.home = home
        for key, value in case.confs.items():
            self.spark.conf.set(key, value)
        try:
            was = listing(home)
            state = self.state(checkpoint, case)
            entry: dict[str, Any] = {"case": case.name, **slim(asdict(case))}
            errors = self.repartition(given, case)
            entry["outcome"] = "ok" if errors is None else "error"
            if errors is not None:
                entry["errors"] = errors
            entry["left"] = left(home, was, case)
            if errors is not None:
                if not case.enforce and any(p.startswith("commits") for p in entry["left"].get("entries", [])):
                    entry["restart"] = self.restart(case, checkpoint)
                entry["again"] = self.again(given, case)
                if "offset_without_commit" in entry["left"]:
                    entry["another_count"] = self.again(given, case, case.to + 1)
            else:
                entry["restart"] = self.restart(case, checkpoint)
                entry["state"] = self.compare(state, checkpoint, case)
                if entry["restart"] is None:
                    del entry["restart"]
            return entry
        finally:
            for key in case.confs:
                self.spark.conf.unset(key)
            shutil.rmtree(home, ignore_errors=True)

    def repartition(self, path: str, case: Case, to: int | None = None) -> list[dict[str, Any]] | None:
        """The chain of errors, deepest first; None if it succeeds."""
        try:
            manager = self.spark._streamingCheckpointManager
            manager.repartition(path, case.to if to is None else to, case.enforce)
        except Exception as error:
            return self.chain(error)
        return None

    def again(self, path: str, case: Case, to: int | None = None) -> str:
        """In one word: ok, or the deepest class."""
        errors = self.repartition(path, case, to)
        if errors is None:
            return "ok"
        return next((e["class"] for e in errors if e.get("class")), errors[0]["java"])

    def chain(self, error: Exception) -> list[dict[str, Any]]:
        """Every cause with its class, deepest first."""
        java = getattr(error, "_origin", None) or getattr(error, "java_exception", None)
        if java is None:
            return [{"java": type(error).__name__, "message": self.plain(str(error))}]
        found: list[dict[str, Any]] = []
        while java is not None and len(found) < 12:
            entry: dict[str, Any] = {"java": java.getClass().getName()}
            if self.is_spark_throwable(java) and java.getCondition():
                entry["class"] = java.getCondition()
                entry["sqlstate"] = java.getSqlState()
                parameters = java.getMessageParameters()
                entry["parameters"] = {k: self.plain(str(parameters[k]), 2000) for k in parameters}
            elif java.getMessage():
                entry["message"] = self.plain(java.getMessage().split("\n")[0])
            if not (found and entry == found[-1]):
                found.append(entry)
            java = java.getCause()
        return found[::-1]

    def is_spark_throwable(self, java: Any) -> bool:
        """Whether it has a class."""
        from py4j.java_gateway import is_instance_of

        gateway = self.spark.sparkContext._gateway
        return is_instance_of(gateway, java, "org.apache.spark.SparkThrowable")

    def plain(self, text: str, length: int = 400) -> str:
        """Without what differs from run to run."""
        for path in (self.home / "checkpoint", self.home / "original", self.home):
            word = {"checkpoint": "<checkpoint>", "original": "<original>"}.get(path.name, "<parent>")
            text = text.replace(str(path), word)
        text = re.sub(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "<uuid>", text)
        text = re.sub(r"/tmp/(?!statetop-fixtures)[^\s\"',\]]*", "<temporary>", text)
        text = re.sub(r"(stage|TID|Stage|job|task) \d+(\.\d+)?", r"\1 N", text)
        return text if len(text) <= length else text[:length] + "..."

    # the state before and after

    def rows(self, checkpoint: Path, batch: int) -> dict[str, Counter]:
        """Rows of every store at `batch`, each with whether its partition is the right one."""
        found: dict[str, Counter] = {}
        count = logs.partitions(checkpoint, batch)
        for path in checkpoint.glob("state/*/*"):
            if path.name.isdigit() and int(path.name) >= count:
                shutil.rmtree(path)
        was = self.spark.conf.get(confs.CHECKPOINT_FORMAT, None)
        self.spark.conf.set(confs.CHECKPOINT_FORMAT, str(logs.state_format(checkpoint, batch)))
        try:
            metadata = self.spark.read.format("state-metadata").load(str(checkpoint)).collect()
            for store in sorted({(m["operatorId"], m["operatorName"], m["stateStoreName"]) for m in metadata}):
                found[f"{store[0]} {store[1]} {store[2]}"] = self.store(checkpoint, batch, count, store)
        finally:
            if was is None:
                self.spark.conf.unset(confs.CHECKPOINT_FORMAT)
            else:
                self.spark.conf.set(confs.CHECKPOINT_FORMAT, was)
            self.spark.conf.unset(confs.FORMAT_VALIDATION)
        return found

    def store(self, checkpoint: Path, batch: int, count: int, store: tuple[int, str, str]) -> Counter:
        """Rows of one store as (family, key, value, whether it lies where the engine looks for it)."""
        from pyspark.sql import functions as F

        self.spark.conf.set("spark.sql.legacy.allowHashOnMapType", "true")
        # It refuses the engine's own layout of a null time with nanoseconds.
        self.spark.conf.set(confs.FORMAT_VALIDATION, "false")
        frame = (
            self.spark.read.format("statestore")
            .options(operatorId=store[0], storeName=store[2], batchId=batch, _readAllColumnFamilies="true")
            .load(str(checkpoint))
        )
        fields = frame.schema["partition_key"].dataType.fields
        # Without a grouping key the engine uses partition 0 alone.
        place = F.pmod(F.hash("partition_key"), F.lit(count)) if fields else F.lit(0)
        told = frame.select(
            "column_family_name", F.hex("key_bytes"), F.hex("value_bytes"), place == F.spark_partition_id()
        )
        return Counter(tuple(row) for row in told.collect())

    def state(self, checkpoint: Path, case: Case) -> Any:
        """The state that is to be kept: of the last commit that there is before."""
        key = (case.fixture, json.dumps([case.confs, case.place, case.edits]))
        if key in self.before:
            return self.before[key]
        result: Any = None
        commits = logs.entries(checkpoint / "commits")
        if commits:
            copy = checkpoint.parent / "before"
            shutil.copytree(checkpoint, copy)
            try:
                result = self.rows(copy, commits[-1])
            except Exception as error:
                result = self.chain(error)
            shutil.rmtree(copy)
        self.before = {key: result}
        return result

    def compare(self, before: Any, checkpoint: Path, case: Case) -> str:
        """What became of the rows."""
        batch = logs.entries(checkpoint / "commits")[-1]
        try:
            after = self.rows(checkpoint, batch)
        except Exception as error:
            errors = self.chain(error)
            return "unreadable after: " + next(
                (e["class"] for e in errors if e.get("class")), errors[0].get("message") or errors[0]["java"]
            )
        total = sum(sum(rows.values()) for rows in after.values())
        wrong = sum(n for rows in after.values() for row, n in rows.items() if not row[3])
        if wrong:
            return f"{wrong} of {total} rows in the wrong partition"
        if not isinstance(before, dict):
            return f"{total} rows after; not readable before"
        plain = [{s: Counter(r[:3] for r in c.elements()) for s, c in side.items()} for side in (before, after)]
        if plain[0] != plain[1]:
            was = sum(sum(rows.values()) for rows in before.values())
            return f"{was} rows before, {total} after, not the same"
        return f"the same {total} rows"

    # the query again

    def restart(self, case: Case, checkpoint: Path) -> str | None:
        """What the query puts out when it goes on, compared with the same query that was not resized."""
        kind = re.sub(r"-\d+\.\d+\.\d+$", "", case.fixture)
        query = QUERIES.get(kind)
        if query is None or (case.edits and case.enforce) or case.place != "own":
            return None
        resized = self.home / "resized"
        shutil.copytree(checkpoint, resized)
        untouched = unpack(Case(case.fixture, case.to, edits=case.edits), self.home / "untouched")
        expected = self.go_on(query, untouched, self.home / "a")
        found = self.go_on(query, resized, self.home / "b")
        shutil.rmtree(resized)
        shutil.rmtree(self.home / "untouched")
        if found == expected:
            return f"the same output of {len(found)} rows" if isinstance(found, list) else found
        if isinstance(expected, str):
            return f"{found if isinstance(found, str) else 'goes on'}; not resized: {expected}"
        return found if isinstance(found, str) else f"other output: {len(expected)} rows expected, {len(found)} found"

    def go_on(self, query: Callable, checkpoint: Path, home: Path) -> list[str] | str:
        """Output rows of more batches, or the deepest class of the error."""
        from sparkfix.context import Context

        context = Context.__new__(Context)
        context.spark, context.home, context.checkpoint = self.spark, home, checkpoint
        context.version = self.spark.version
        context._set, context._feeds, context.progress, context.notes = [], {}, [], []
        shutil.rmtree(home, ignore_errors=True)
        # A start looks at the files of the last batch again.
        for file in checkpoint.glob("sources/*/*"):
            if file.is_file():
                file.write_text(re.sub(rf"file://{BUILT_AT}/[^/\"]+/in", f"file://{home}/in", file.read_text()))
        for sidecar in checkpoint.glob("sources/*/.*.crc"):
            sidecar.unlink()
        rows: list[str] = []
        keys = [confs.JOIN_FORMAT, confs.NO_DATA_BATCHES]
        self.spark.conf.set(confs.NO_DATA_BATCHES, "false")
        try:
            frame, mode = query(context)
            running = (
                frame.writeStream.outputMode(mode)
                .option("checkpointLocation", str(checkpoint))
                .foreachBatch(lambda frame, _: rows.extend(frame.toJSON().collect()))
                .start()
            )
            try:
                running.processAllAvailable()
            finally:
                running.stop()
        except Exception as error:
            errors = self.chain(error)
            told = next((e for e in errors if e.get("class") and e["class"] != "STREAM_FAILED"), errors[0])
            return "fails: " + (told.get("class") or f"{told['java']}: {told.get('message', '')[:80]}")
        finally:
            for key in keys:
                self.spark.conf.unset(key)
        return sorted(rows)


def slim(entry: dict[str, Any]) -> dict[str, Any]:
    """Without what is as always."""
    usual = {"confs": {}, "enforce": True, "place": "own", "edits": [], "path": "checkpoint"}
    return {k: v for k, v in entry.items() if usual.get(k, ...) != v}


def left(home: Path, was: set[str], case: Case) -> dict[str, Any]:
    """What is on the disk now that was not before."""
    new = {p for p in listing(home) - was if not p.startswith(("original", "before"))}
    checkpoint = home / "checkpoint"
    offsets, commits = logs.entries(checkpoint / "offsets"), logs.entries(checkpoint / "commits")
    told: dict[str, Any] = {}
    if offsets and offsets[-1] > (commits[-1] if commits else -1):
        told["offset_without_commit"] = offsets[-1]
    made = sorted(p for p in new if re.search(r"(offsets|commits)/\d+$", p))
    if made:
        told["entries"] = [p.removeprefix("checkpoint/") for p in made]
    directories = sorted(p for p in new if p.rsplit("/", 1)[-1] in ("offsets", "commits"))
    if directories:
        told["directories"] = directories
    told["state_files"] = sum(1 for p in new if "/state/" in f"/{p}" and re.search(r"\.(zip|sst|changelog)$", p))
    return told


# queries that are started again


def queries() -> dict[str, Callable]:
    """By case: the query, its output mode, and its whole input with three batches more."""
    from pyspark.sql import functions as F

    from sparkfix.cases.aggregation import windowed
    from sparkfix.cases.chained import chain
    from sparkfix.cases.dedup import sessions
    from sparkfix.cases.join import feed as feed_join
    from sparkfix.cases.join import joined
    from sparkfix.cases.pandas_state import by_two_keys
    from sparkfix.feeds import events

    def fed(build: Callable, mode: str, first: int, **more: Any) -> Callable:
        def made(ctx: Any) -> tuple[Any, str]:
            ctx.feed().add(events(first + 3, **more))
            return build(ctx), mode

        return made

    def sides(how: str, first: int) -> Callable:
        def made(ctx: Any) -> tuple[Any, str]:
            feed_join(ctx, first + 3)
            return joined(ctx, how), "append"

        return made

    def hot(minutes: int = 5) -> Callable:
        return lambda ctx: windowed(ctx, minutes)

    def dedup(ctx: Any) -> Any:
        return ctx.stream().dropDuplicates(["account_id", "amount"])

    return {
        "agg-window-hot": fed(hot(), "update", 11),
        "agg-window-changelog": fed(hot(), "update", 13),
        "agg-format2": fed(hot(), "update", 9),
        "agg-no-keys": fed(
            lambda ctx: ctx.stream().agg(F.count("*").alias("n"), F.sum("amount").alias("total")), "complete", 4
        ),
        "resized-agg": fed(hot(30), "update", 10),
        "dedup": fed(dedup, "append", 4),
        "session-window": fed(sessions, "append", 8, accounts=25, hot=0.3),
        "chained": fed(chain, "append", 7),
        "pandas-state-two-keys": fed(by_two_keys, "update", 3),
        "join-v2": sides("inner", 7),
        "join-v3": sides("left_outer", 7),
        "join-v4": sides("left_outer", 7),
        "pending": fed(hot(), "update", 7),
        "pending-format2": fed(hot(), "update", 6),
        "broken-commit-missing": fed(hot(), "update", 13),
    }


QUERIES: dict[str, Callable] = {}


# running


def file_of(version: str) -> Path:
    """Where the outcomes of a version are."""
    return RESULTS / f"outcomes-{version}.json"


def known(version: str) -> dict[str, dict[str, Any]]:
    """What is known already, by case."""
    path = file_of(version)
    return {entry["case"]: entry for entry in json.loads(path.read_text())} if path.exists() else {}


def keep(version: str, found: dict[str, dict[str, Any]]) -> None:
    """Written whole, in the order of the cases, one entry a line."""
    order = {case.name: at for at, case in enumerate(cases())}
    entries = sorted((e for e in found.values() if e["case"] in order), key=lambda e: order[e["case"]])
    lines = ",\n".join(json.dumps(entry, sort_keys=False) for entry in entries)
    path = file_of(version)
    path.parent.mkdir(parents=True, exist_ok=True)
    hidden = path.with_suffix(".tmp")
    hidden.write_text(f"[\n{lines}\n]\n")
    hidden.rename(path)


def work(version: str, names: list[str], budget: float) -> None:
    """The worker: cases in this process's Spark, until the time is up."""
    QUERIES.update(queries())
    until = time.time() + budget
    engine = Engine()
    wanted = {case.name: case for case in cases()}
    for name in names:
        if time.time() > until:
            break
        print(f"begin\t{name}", flush=True)
        began = time.time()
        entry = engine.run(wanted[name])
        text = json.dumps(entry)
        if any(word in text for word in ("Connection refused", "Py4JNetworkError", "RpcEndpointNotFound")):
            # The JVM or its coordinator is gone: this says nothing of the checkpoint.
            os._exit(1)
        print(f"done\t{text}\t{time.time() - began:.1f}", flush=True)
        if "Java heap space" in text:
            os._exit(0)
    print("end", flush=True)
    os._exit(0)


def supervise(version: str, prefixes: list[str] | None, budget: float) -> int:
    """Runs workers until all cases are known or the time is up. Returns how many are missing."""
    until = time.time() + budget
    hung: Counter = Counter()
    while True:
        found = known(version)
        missing = [
            c.name
            for c in cases()
            if c.name not in found and hung[c.name] < 2 and (not prefixes or c.name.startswith(tuple(prefixes)))
        ]
        if not missing or time.time() > until:
            return len(missing)
        python = environment(version) / "bin" / "python"
        env = {**os.environ, "PYTHONPATH": str(HERE), "TZ": "UTC", "PYSPARK_PYTHON": str(python)}
        env |= {"SPARK_LOCAL_IP": "127.0.0.1", "PYTHONWARNINGS": "ignore"}
        env.pop("SPARK_HOME", None)
        command = [str(python), str(HERE / "preflight.py"), "--worker", version, "--budget", str(until - time.time())]
        process = subprocess.Popen(
            command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
        )
        process.stdin.write(json.dumps(missing))
        process.stdin.close()
        follow(version, process, found, hung)


def follow(version: str, process: subprocess.Popen, found: dict[str, Any], hung: Counter) -> None:
    """Keeps what a worker tells; ends it when it is silent for too long."""
    import selectors

    waiting = selectors.DefaultSelector()
    waiting.register(process.stdout, selectors.EVENT_READ)
    current = ""
    while True:
        if not waiting.select(timeout=SILENCE):
            print(f"HUNG {version} {current}", flush=True)
            hung[current] += 1
            break
        line = process.stdout.readline()
        if not line:
            hung[current] += 1 if current else 0
            break
        word, _, rest = line.rstrip("\n").partition("\t")
        if word == "begin":
            current = rest
        elif word == "done":
            text, _, seconds = rest.rpartition("\t")
            entry = json.loads(text)
            found[entry["case"]] = entry
            keep(version, found)
            told = entry["outcome"] if entry["outcome"] == "ok" else entry["errors"][0].get("class")
            print(f"{version} {seconds}s {entry['case']}: {told} {entry.get('state', '')}", flush=True)
            current = ""
        elif word == "end":
            break
        else:
            print(line, end="", file=sys.stderr)
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()


def main() -> int:
    """Entry point."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--versions", type=lambda t: t.split(","), default=list(VERSIONS))
    parser.add_argument("--cases", type=lambda t: t.split(","), default=None, help="beginnings of names")
    parser.add_argument("--budget", type=float, default=1e9, help="seconds after which no case is begun")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--worker", default="", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.list:
        for case in cases():
            print(case.name)
        return 0
    if options.worker:
        work(options.worker, json.loads(sys.stdin.read()), options.budget)
    missing = 0
    for version in options.versions:
        missing += supervise(version, options.cases, options.budget)
    print(f"{missing} cases are missing")
    return 0


if __name__ == "__main__":
    sys.exit(main())
