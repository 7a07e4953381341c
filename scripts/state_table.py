"""Prints what state.sh measured as a table; fails when answers differ or a promise is not kept.

    state_table.py DIRECTORY...      smallest checkpoint first
"""

import json
import statistics
import sys
from pathlib import Path

# Promised: times faster than Spark; times of another measurement at most; peak megabytes at most.
FASTER = {"keys": ("spark-keys", 25), "jsonl": ("spark-json", 5)}
AT_MOST = {"keys": ("floor", 4), "curve": ("keys", 1.5)}
PEAK = {"keys": 300}
# Three times the rows may take this times three, and this times the memory.
LINEAR, FLAT = 1.25, 1.25

NAMES = {
    "floor": "read and decompress, nothing else",
    "keys": "statetop keys --by account_id",
    "jsonl": "statetop state --format jsonl",
    "curve": "statetop plan, 100 counts",
    "spark-keys": "Spark, groupBy account_id, top 20",
    "spark-json": "Spark, every row as JSON text",
}


def load(path):
    return json.loads(path.read_text())


def median(measured):
    return statistics.median(measured["seconds"])


def notes_on(name, results):
    """Ratios of one line to those it was promised against, and whether the promise holds."""
    notes, kept = [], True
    if name in FASTER:
        other, promised = FASTER[name]
        ratio = median(results[other]) / median(results[name])
        notes.append(f"{ratio:.1f}x faster than Spark (promised {promised}x)")
        kept = kept and ratio >= promised
    if name in AT_MOST:
        other, promised = AT_MOST[name]
        ratio = median(results[name]) / median(results[other])
        notes.append(f"{ratio:.2f}x {other} (promised {promised}x)")
        kept = kept and ratio <= promised
    peak = results[name]["peak_bytes"] / 1e6
    if name in PEAK and peak > PEAK[name]:
        notes.append(f"peak promised {PEAK[name]} MB")
        kept = False
    return notes, kept


def differences(work, results):
    """Where statetop's answer is not Spark's."""
    wrong = []
    expected = results["spark-keys"]["top"]
    top = [[key["key"]["account_id"], key["rows"]] for key in load(work / "keys.report")["keys"]]
    # Keys with equal counts may come in any order, and the last of them may be cut off.
    if [rows for _, rows in top] != [rows for _, rows in expected]:
        wrong.append(f"top keys: {top[:3]} ..., Spark {expected[:3]} ...")
    least = expected[-1][1]
    if {k for k, rows in top if rows > least} != {k for k, rows in expected if rows > least}:
        wrong.append("the top keys are not Spark's")
    lines = int((work / "jsonl.lines").read_text())
    if lines != results["spark-json"]["rows"]:
        wrong.append(f"{lines} lines of JSON, Spark {results['spark-json']['rows']} rows")
    return wrong


def table(work):
    """One checkpoint; returns its results and whether all is well."""
    results = {name: load(work / f"{name}.json") for name in NAMES}
    spark = results["spark-keys"]
    print(f"\n{work.name}: {spark['rows']:,} rows; medians of {len(results['keys']['seconds'])} runs "
          f"(Spark {spark['spark_version']}: {len(spark['seconds'])})\n")
    well = True
    for name, title in NAMES.items():
        notes, kept = notes_on(name, results)
        well = well and kept
        peak = results[name]["peak_bytes"] / 1e6
        mark = "" if kept else "  NOT KEPT"
        print(f"{title:36}{median(results[name]):9.3f} s{peak:8.0f} MB  {'; '.join(notes)}{mark}".rstrip())
    wrong = differences(work, results)
    for text in wrong:
        print(f"DIFFERENT: {text}")
    return results, well and not wrong


def main():
    works = [Path(argument) for argument in sys.argv[1:]]
    tables = [table(work) for work in works]
    well = all(fine for _, fine in tables)
    if len(tables) > 1:
        (small, _), (big, _) = tables[0], tables[-1]
        grown = big["spark-keys"]["rows"] / small["spark-keys"]["rows"]
        print(f"\n{grown:.1f} times the rows:")
        for name in ("floor", "keys", "jsonl", "curve"):
            time = median(big[name]) / median(small[name])
            memory = big[name]["peak_bytes"] / small[name]["peak_bytes"]
            fine = name == "floor" or (time <= grown * LINEAR and memory <= FLAT)
            well = well and fine
            print(f"{NAMES[name]:36}{time:5.2f} times the time, {memory:4.2f} times the memory"
                  f"{'' if fine else '  NOT KEPT'}")
    if not well:
        sys.exit(1)
    print("\nevery answer equals Spark's, every promise is kept")


if __name__ == "__main__":
    main()
