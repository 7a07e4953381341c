"""Prints what eventlog.sh measured as a table; fails when answers differ or a promise is not kept.

    eventlog_table.py DIRECTORY
"""

import json
import statistics
import sys
from pathlib import Path

# Promised: megabytes per second at least, peak megabytes at most.
SPEED, PEAK = 300, 64

NAMES = {
    "reader": "the library, events counted",
    "statetop": "statetop progress --format jsonl",
    "jq": "jq, batches and state rows of tasks",
    "replay": "Spark's history server, parsing alone",
    "json": "spark.read.json on two cores, sum of state rows",
    "loaded": "Spark's history server, until it shows the application",
}


def load(path):
    return json.loads(path.read_text()) if path.is_file() else None


def counts_of_jq(report):
    """Progress events and state rows in what jq printed."""
    progress = rows = 0
    with report.open() as lines:
        for line in lines:
            told = json.loads(line)
            progress += "batch" in told
            rows += sum(int(update) for update in told.get("rows", []))
    return progress, rows


def main():
    work = Path(sys.argv[1])
    made, spark = load(work / "made.json"), load(work / "spark.json")
    measured = {name: load(work / f"{name}.json") for name in ("reader", "statetop", "jq")}
    if spark:
        for name in ("replay", "json"):
            measured[name] = {"seconds": spark[name], "peak_bytes": spark["peak_bytes"]}
    history = load(work / "history.json")
    if history:
        measured["loaded"] = {"seconds": history["loaded"], "peak_bytes": history["peak_bytes"]}
    size = made["bytes"] / 1e6
    print(f"{size:.0f} MB, {made['lines']} lines, {made['progress']} batches")
    print(f"{'':56}{'seconds':>9}{'MB/s':>8}{'peak MB':>9}")
    kept = True
    for name, told in measured.items():
        if not told:
            continue
        seconds = statistics.median(told["seconds"])
        peak = (told["peak_bytes"] or 0) / 1e6
        note = ""
        if name in ("reader", "statetop") and (size / seconds < SPEED or peak > PEAK):
            note, kept = f"  promised: {SPEED} MB/s, {PEAK} MB", False
        print(f"{NAMES[name]:56}{seconds:9.2f}{size / seconds:8.0f}{peak:9.0f}{note}")

    if history:
        ready, listed = (statistics.median(history[name]) for name in ("ready", "listed"))
        print(f"of which the history server answers after {ready:.1f} s and lists the application after {listed:.1f} s")
    reader = load(work / "reader.report")
    answers = {"reader": (reader["progress"], reader["state_rows"]), "jq": counts_of_jq(work / "jq.report")}
    if spark:
        answers["spark"] = (spark["progress"], spark["state_rows"])
    if len(set(answers.values())) != 1:
        print(f"the answers differ: {answers}")
        kept = False
    sys.exit(0 if kept else 1)


if __name__ == "__main__":
    main()
