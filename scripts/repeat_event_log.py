#!/usr/bin/env python3
"""Makes a large event log of a real one, by repeating what its queries did.

    repeat_event_log.py LOG OUT --megabytes 2000

LOG is an uncompressed log, one file or a rolling directory. Its beginning (versions, confs, the
starts of the queries) is written once. Then its batches are written again and again, each time with
later times and other ids: jobs, stages, tasks, executions, accumulators, batches. So the result is
what the same queries would have written had they run on, and nothing in it repeats an id. Prints
what it made as JSON.
"""

from __future__ import annotations

import argparse
import datetime as dt
import json
import re
import sys
from pathlib import Path

ONCE = (
    "SparkListenerLogStart", "ResourceProfileAdded", "BlockManagerAdded", "EnvironmentUpdate",
    "ApplicationStart", "ExecutorAdded", "QueryStartedEvent",
)
NEVER = ("QueryTerminatedEvent", "ApplicationEnd")
IDS = {
    "job": ('"Job ID":',),
    "stage": ('"Stage ID":',),
    "task": ('"Task ID":',),
    "execution": (
        '"executionId":', '"rootExecutionId":', '"spark.sql.execution.id":"',
        '"spark.sql.execution.root.id":"',
    ),
    "accumulator": ('"ID":', '"accumulatorId":'),
    "batch": ('"batchId":', '"streaming.sql.batchId":"', "batch = "),
    "time": (
        '"Launch Time":', '"Finish Time":', '"Submission Time":', '"Completion Time":', '"time":',
        '"Timestamp":',
    ),
}
KIND = {marker: kind for kind, markers in IDS.items() for marker in markers}
MARKERS = "|".join(re.escape(m) for m in sorted(KIND, key=len, reverse=True))
SLOT = re.compile(rf'({MARKERS})(\d+)|("Stage IDs":)\[([\d,]*)\]|("timestamp":")([^"]+)(")')
ISO = "%Y-%m-%dT%H:%M:%S.%f"


def lines_of(log: Path) -> list[str]:
    """The lines of a log."""
    files = [log] if log.is_file() else sorted(
        log.glob("events_*"), key=lambda path: int(path.name.split("_")[1])
    )
    return "".join(path.read_text() for path in files).splitlines(keepends=True)


def name_of(line: str) -> str:
    """The name of a line's event."""
    return line[:200].split('"', 4)[3]


def template(text: str) -> list[str | tuple[str, int]]:
    """The text cut into what stays and what is shifted: pairs of kind and value."""
    parts: list[str | tuple[str, int]] = []
    done = 0
    for found in SLOT.finditer(text):
        parts.append(text[done:found.start()])
        done = found.end()
        if found[1] and KIND[found[1]] == "time" and found[2] == "0":
            # The finish of a task that has begun only.
            parts.append(found[0])
        elif found[1]:
            parts += [found[1], (KIND[found[1]], int(found[2]))]
        elif found[3]:
            parts.append(found[3] + "[")
            for place, stage in enumerate(filter(None, found[4].split(","))):
                parts += [","] if place else []
                parts.append(("stage", int(stage)))
            parts.append("]")
        else:
            moment = dt.datetime.strptime(found[6].rstrip("Z"), ISO).replace(tzinfo=dt.timezone.utc)
            parts += [found[5], ("iso", round(moment.timestamp() * 1000)), found[7]]
    parts.append(text[done:])
    return parts


def write(value: int, kind: str, shift: dict[str, int]) -> str:
    """A shifted value."""
    if kind != "iso":
        return str(value + shift[kind])
    moment = dt.datetime.fromtimestamp((value + shift["time"]) / 1000, dt.timezone.utc)
    return moment.strftime(ISO)[:-3] + "Z"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("log", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--megabytes", type=int, default=2000)
    options = parser.parse_args()

    lines = lines_of(options.log)
    head = [line for line in lines if name_of(line).endswith(ONCE)]
    body = [line for line in lines if not name_of(line).endswith(ONCE + NEVER)]
    parts = template("".join(body))
    values: dict[str, list[int]] = {}
    for part in parts:
        if isinstance(part, tuple):
            values.setdefault(part[0], []).append(part[1])
    # Ids start anew above the highest, times a second after the latest.
    step = {kind: max(found) - min(found) + 1 for kind, found in values.items()}
    step["time"] += 1000
    size = copies = 0
    with options.out.open("w") as out:
        size += out.write("".join(head))
        while size < options.megabytes * 1_000_000:
            shift = {kind: by * copies for kind, by in step.items()}
            text = (p if isinstance(p, str) else write(p[1], p[0], shift) for p in parts)
            size += out.write("".join(text))
            copies += 1
            print(f"\r{size / 1e6:.0f} MB", end="", file=sys.stderr)
    print(file=sys.stderr)
    progress = sum(name_of(line).endswith("QueryProgressEvent") for line in body) * copies
    print(json.dumps({"bytes": size, "copies": copies, "lines": len(body) * copies, "progress": progress}))


if __name__ == "__main__":
    main()
