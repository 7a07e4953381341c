"""Turns a finished checkpoint into a fixture: the archive, `truth.json` and `rows.jsonl.zst`."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from sparkfix import READER_VERSION, WORK_ROOT, confs, logs, pack
from sparkfix.context import first_line
from sparkfix.counts import JOIN_STORES, Reader, is_internal
from sparkfix.registry import Case

MAX_ROWS = 3000
RAW_REFUSES = ("globalLimit",)
EARLIER_BATCHES = 2
SAME_STORES = {"join-v1": "join-v2-outer"}
"""Cases that only 3.5 can make, and the case with the same operators from which they borrow metadata."""


class Problem(Exception):
    """Spark's readers and its progress events disagree, or a reader failed unexpectedly."""


def make(spark: SparkSession, made: Case, version: str, out: Path) -> list[str]:
    """Write the fixture of `made`; returns warnings."""
    name = made.fixture(version)
    home = Path(WORK_ROOT) / name
    build = json.loads((home / "build.json").read_text())
    target = out / name
    shutil.rmtree(target, ignore_errors=True)
    pack.pack(home / "checkpoint", target / "checkpoint.tar.zst", made.keep_crc)
    head = {
        "fixture": name,
        "case": made.name,
        "spark_version": version,
        "description": made.description,
    }
    told = logs.describe(home / "checkpoint")
    truth = {**head, **told, **blank()}
    truth["progress"] = build["progress"][-4:]
    truth["spark_messages"] = build["notes"]
    truth["expect"] = {"findings": list(made.findings), "unreadable_partitions": []}
    warnings: list[str] = []
    rows: list[str] = []
    if told["stateful"] and told["last_committed_batch"] is not None:
        rows = count(spark, home, truth, made.truth_may_fail)
        if build.get("rows_tracked", True):
            warnings = compare(truth, build["progress"])
    write(target, truth, rows)
    return [f"{name}: {w}" for w in warnings]


def write(target: Path, truth: dict[str, Any], rows: list[str]) -> None:
    """Store the two text files of a fixture."""
    target.mkdir(parents=True, exist_ok=True)
    (target / "truth.json").write_text(json.dumps(truth, indent=1, ensure_ascii=True) + "\n")
    if rows:
        (target / "rows.jsonl.zst").write_bytes(pack.compress(("\n".join(rows) + "\n").encode()))


def blank() -> dict[str, Any]:
    """The fields that only a stateful, readable checkpoint fills."""
    return {
        "state_metadata": None,
        "truth_from": "no state to read",
        "counts": [],
        "schemas": [],
        "progress": [],
        "expect": {"findings": [], "unreadable_partitions": []},
    }


def count(spark: SparkSession, home: Path, truth: dict[str, Any], may_fail: bool) -> list[str]:
    """Fill counts, schemas and metadata of `truth`; returns the rows of the last committed batch."""
    checkpoint = home / "checkpoint"
    last = truth["last_committed_batch"]
    borrowed = not any((checkpoint / "state").glob("*/_metadata"))
    if borrowed:
        home = with_metadata(home, truth)
        checkpoint = home / "checkpoint"
    raw = truth["provider"] == "rocksdb"
    truth["truth_from"] = f"Spark {READER_VERSION}, statestore source " + (
        "with _readAllColumnFamilies: rows = distinct key_bytes, elements = returned rows"
        if raw
        else "per store (the raw reader refuses this provider): rows = distinct keys"
    )
    reader = Reader(spark, checkpoint, truth["partitions"])
    metadata = reader.metadata()
    truth["state_metadata"] = None if borrowed else metadata
    if borrowed:
        truth["truth_from"] += (
            f"; on a copy with the operator metadata files of {lender(truth)}, "
            "since this release writes none"
        )
    stores = [(m["operatorId"], m["operatorName"], m["stateStoreName"]) for m in metadata]
    for operator, _, store in stores:
        truth["schemas"] += reader.schemas(operator, store)
    rows: list[str] = []
    for batch in wanted_batches(checkpoint, last, truth["partition_history"]):
        # The reader does not take the checkpoint format from the commit log: it needs the session setting.
        spark.conf.set(confs.CHECKPOINT_FORMAT, str(logs.state_format(checkpoint, batch)))
        place = bounded(home, logs.partitions(checkpoint, batch) or truth["partitions"])
        reader = Reader(spark, place, logs.partitions(checkpoint, batch) or truth["partitions"], raw)
        try:
            found = [count_store(reader, batch, store, truth) for store in stores]
        except Exception as error:
            if batch == last and not may_fail:
                raise
            if batch == last:
                truth["spark_reader_error"] = first_line(error)
            truth["spark_messages"].append(f"batch {batch} is not readable: {first_line(error)}")
            continue
        truth["counts"] += found
        if batch == last and total_elements(found) <= MAX_ROWS:
            for entry in found:
                if entry["name"] in RAW_REFUSES:
                    continue
                rows += reader.rows(entry["operator"], entry["store"], batch)
                rows += decoded(reader, entry, metadata)
    return rows


def count_store(reader: Reader, batch: int, store: tuple[int, str, str], truth: dict[str, Any]) -> dict[str, Any]:
    """One entry of `counts`."""
    operator, name, label = store
    known = [s["family"] for s in truth["schemas"] if s["operator"] == operator and s["store"] == label]
    if name in RAW_REFUSES and reader.has_raw:
        reader = Reader(reader.spark, reader.checkpoint, reader.partitions, raw=False)
        note = f"; operator {operator} ({name}) per store, since the raw reader refuses it"
        truth["truth_from"] += note if note not in truth["truth_from"] else ""
    families = reader.families(operator, label, batch, known)
    return {"batch": batch, "operator": operator, "name": name, "store": label, "families": families}


def wanted_batches(checkpoint: Path, last: int, history: list[dict[str, Any]]) -> list[int]:
    """The last committed batch, up to two earlier ones, spread out, then every repartition and the batch before it."""
    commits = logs.entries(checkpoint / "commits")
    earlier = [b for b in commits if b < last]
    picks = [earlier[-1]] if earlier else []
    if len(earlier) > EARLIER_BATCHES:
        picks.append(earlier[len(earlier) // 2])
    around = [b for h in history if h["repartition"] for b in (h["batch"] - 1, h["batch"]) if b in earlier]
    return [last, *dict.fromkeys(picks + around)]


def lender(truth: dict[str, Any]) -> str:
    """The fixture that has the operator metadata which 3.5 did not write."""
    return f"{SAME_STORES.get(truth['case'], truth['case'])}-{READER_VERSION}"


def with_metadata(home: Path, truth: dict[str, Any]) -> Path:
    """A copy of a 3.5 checkpoint with the operator metadata that a newer release wrote for the same query."""
    copy = home / "with-metadata"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(home / "checkpoint", copy / "checkpoint")
    newer = Path(WORK_ROOT) / lender(truth) / "checkpoint" / "state"
    for operator in (copy / "checkpoint" / "state").iterdir():
        shutil.copytree(newer / operator.name / "_metadata", operator / "_metadata")
    return copy


def bounded(home: Path, partitions: int) -> Path:
    """The checkpoint, or a copy without partition directories beyond `partitions`.

    Directories that a shrink left behind make Spark's reader fail, so the truth is read without them.
    """
    checkpoint = home / "checkpoint"
    extra = [p for p in (checkpoint / "state").glob("*/*") if p.name.isdigit() and int(p.name) >= partitions]
    if not extra:
        return checkpoint
    copy = home / f"bounded-{partitions}"
    if not copy.exists():
        shutil.copytree(checkpoint, copy)
        for path in extra:
            shutil.rmtree(copy / path.relative_to(checkpoint))
    return copy


def total_elements(found: list[dict[str, Any]]) -> int:
    """Elements over all stores, families and partitions."""
    return sum(p["elements"] for s in found for f in s["families"].values() for p in f["partitions"].values())


def decoded(reader: Reader, entry: dict[str, Any], metadata: list[dict[str, Any]]) -> list[str]:
    """Rows as the ordinary reader shows them, for whatever it can show of this store."""
    operator, name, store, batch = (entry[k] for k in ("operator", "name", "store", "batch"))
    families = entry["families"]
    views: list[tuple[str, dict[str, Any]]] = []
    if name.startswith("transformWithState"):
        text = next(m["operatorProperties"] for m in metadata if m["operatorId"] == operator)
        for variable in json.loads(text)["stateVariables"]:
            if variable["stateVariableType"] == "TimerState":
                views.append(("timers", {"readRegisteredTimers": "true"}))
            else:
                views.append((variable["stateName"], {"stateVarName": variable["stateName"]}))
    elif "left-tsWithKey" in families:
        return []  # join format 4: the ordinary reader of 4.3.0 shows garbage in the key's __event_time
    elif name == "symmetricHashJoin" and store == "default":
        views = [(side, {"joinSide": side}) for side in ("left", "right")]
    elif store in JOIN_STORES:
        views = [(store, {"storeName": store})]
    else:
        views = [(store, {})]
    lines: list[str] = []
    for label, options in views:
        lines += reader.decoded(operator, batch, label, **options)
    return lines


def compare(truth: dict[str, Any], progress: list[dict[str, Any]]) -> list[str]:
    """Cross-check: sums over partitions against `numRowsTotal` of the progress event of the batch."""
    by_batch = {p["batchId"]: p["stateOperators"] for p in progress}
    sums: dict[tuple[int, int], list[int]] = {}
    for entry in truth["counts"]:
        if entry["store"].endswith("-keyToNumValues"):
            continue  # join formats 1 and 2: the metric counts each buffered row once, not the count stores
        total = sums.setdefault((entry["batch"], entry["operator"]), [0, 0])
        for name, family in entry["families"].items():
            total[is_internal(name)] += sum(p["rows"] for p in family["partitions"].values())
    resized = any(h["repartition"] for h in truth["partition_history"])
    problems = []
    for (batch, operator), (rows, internal) in sorted(sums.items()):
        if batch not in by_batch:
            continue
        told = by_batch[batch][operator]["numRowsTotal"]
        # A repartition forgets which families are internal and counts them too, ever after.
        if told != rows and not (resized and told == rows + internal):
            problems.append(f"batch {batch} operator {operator}: reader {rows}, progress {told}")
    return problems
