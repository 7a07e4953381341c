"""Prints what compare.sh measured as a table, and fails when the counts disagree."""

import json
import statistics
import sys
from pathlib import Path

# What is promised: times faster than Spark, and peak megabytes.
PROMISED = {"snapshot": 100, "exact": 25}
PROMISED_PEAK = 200
NAMES = {
    "overview": "inspect",
    "snapshot": "partitions, snapshot grade",
    "exact": "partitions, exact",
}


def load(path):
    return json.loads(path.read_text())


def partitions(report):
    """The partitions of operator 0's only store."""
    return report["operators"][0]["stores"][0]["partitions"]


def differences(report, spark):
    """Partitions whose exact count is not Spark's."""
    wrong = []
    for partition in partitions(report):
        expected = spark["counts"].get(str(partition["partition"]), 0)
        if partition["rows"] != expected:
            wrong.append(f"partition {partition['partition']}: {partition['rows']}, Spark {expected}")
    return wrong


def main():
    work, changelog = Path(sys.argv[1]), sys.argv[2]
    spark = load(work / "spark.json")
    reference = statistics.median(spark["seconds"])
    print(f"\n{len(partitions(load(work / 'exact.report')))} partitions, {spark['rows']:,} rows, "
          f"changelog {changelog}; medians of {len(spark['seconds'])} runs\n")
    print(f"{'':34}{'time':>12}{'Spark/this':>12}{'peak':>10}")
    print(f"{'Spark ' + spark['spark_version'] + ' statestore reader':34}{reference:10.3f} s")
    for name, title in NAMES.items():
        measured = load(work / f"{name}.json")
        seconds = statistics.median(measured["seconds"])
        ratio = reference / seconds
        peak = measured["peak_bytes"] / 1e6
        notes = []
        if ratio < PROMISED.get(name, 0):
            notes.append(f"promised {PROMISED[name]}")
        if peak > PROMISED_PEAK:
            notes.append(f"promised {PROMISED_PEAK} MB")
        print(f"{'statetop ' + title:34}{seconds:10.3f} s{ratio:11.0f}x{peak:7.0f} MB"
              f"  {'; '.join(notes)}".rstrip())
    wrong = differences(load(work / "exact.report"), spark)
    if wrong:
        sys.exit("the counts disagree:\n" + "\n".join(wrong[:20]))
    print("every partition's exact count equals Spark's")


if __name__ == "__main__":
    main()
