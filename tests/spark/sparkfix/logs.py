"""The plain-text part of a checkpoint: which batches exist and what their offset entries pin.

Only names and JSON text are looked at here; every number of rows comes from Spark (see `counts`).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from sparkfix import confs


def entries(directory: Path) -> list[int]:
    """Batch ids of a log directory, ascending."""
    if not directory.is_dir():
        return []
    return sorted(int(p.name) for p in directory.iterdir() if p.is_file() and p.name.isdigit())


def lines(path: Path) -> list[str]:
    """The lines of a log entry; empty if there is no such file."""
    return path.read_text(errors="replace").split("\n") if path.is_file() else []


def metadata(path: Path) -> dict[str, Any] | None:
    """The JSON on the second line of a log entry, or None if it is missing or broken."""
    try:
        return json.loads(lines(path)[1])
    except (IndexError, ValueError):
        return None


def version(path: Path) -> int | None:
    """The format version on the first line of a log entry."""
    found = lines(path)
    return int(found[0][1:]) if found and found[0][:1] == "v" and found[0][1:].isdigit() else None


def pinned(checkpoint: Path, batch: int, key: str) -> str | None:
    """A setting as pinned in the offset entry of `batch`."""
    found = metadata(checkpoint / "offsets" / str(batch))
    return (found or {}).get("conf", {}).get(key)


def partitions(checkpoint: Path, batch: int) -> int | None:
    """The partition count pinned in the offset entry of `batch`."""
    text = pinned(checkpoint, batch, confs.PARTITIONS)
    return int(text) if text else None


def query_id(checkpoint: Path) -> str | None:
    """The query id in `metadata`."""
    try:
        return json.loads((checkpoint / "metadata").read_text())["id"]
    except (OSError, ValueError, KeyError):
        return None


def describe(checkpoint: Path) -> dict[str, Any]:
    """Everything of `truth.json` that the logs tell."""
    offsets = entries(checkpoint / "offsets")
    commits = entries(checkpoint / "commits")
    planned = offsets[-1] if offsets else None
    committed = commits[-1] if commits else None
    history: list[dict[str, Any]] = []
    for batch in offsets:
        count = partitions(checkpoint, batch)
        before = partitions(checkpoint, batch - 1) if batch - 1 in offsets else None
        history.append(
            {
                "batch": batch,
                "partitions": count,
                "repartition": None not in (count, before) and count != before,
            }
        )
    known = [h for h in history if h["partitions"] is not None]
    valid = [h for h in known if committed is not None and h["batch"] <= committed]
    in_force = (valid or known or [None])[-1]
    provider = pinned(checkpoint, in_force["batch"], confs.PROVIDER) if in_force else None
    stateful = (checkpoint / "state").is_dir() and any((checkpoint / "state").iterdir())
    return {
        "query_id": query_id(checkpoint),
        "stateful": stateful,
        "provider": ("rocksdb" if "RocksDB" in (provider or "") else "hdfs") if stateful else None,
        "last_planned_batch": planned,
        "last_committed_batch": committed,
        "status": status(checkpoint, planned, committed, history),
        "partitions": in_force["partitions"] if in_force else None,
        "partition_history": history,
        "offset_log_version": _newest(checkpoint / "offsets", offsets),
        "commit_log_version": _newest(checkpoint / "commits", commits),
        "state_checkpoint_format": state_format(checkpoint, committed) if stateful else None,
        "changelog": any((checkpoint / "state").rglob("*.changelog")) if stateful else None,
    }


def state_format(checkpoint: Path, batch: int | None) -> int:
    """The state checkpoint format of the version that `batch` committed."""
    found = metadata(checkpoint / "commits" / str(batch)) or {}
    return 2 if found.get("stateUniqueIds") else 1


def status(checkpoint: Path, planned: int | None, committed: int | None, history: list[dict[str, Any]]) -> str:
    """How far the query got."""
    if planned is None and committed is None:
        return "no_batch" if (checkpoint / "metadata").exists() else "empty"
    if committed is None:
        return "no_committed_batch"
    if planned is not None and planned > committed:
        return "unfinished_repartition" if history[-1]["repartition"] else "pending"
    return "committed"


def _newest(directory: Path, batches: list[int]) -> int | None:
    """The version of the newest entry that has a readable one."""
    found = (version(directory / str(batch)) for batch in reversed(batches))
    return next((v for v in found if v is not None), None)
