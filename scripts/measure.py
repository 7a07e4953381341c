#!/usr/bin/env python3
"""Runs a command several times and prints its times and peak memory as JSON.

    measure.py --runs 5 -- statetop partitions CKPT --format json

One run before the counted ones warms the file cache. Standard output of the last run goes
to --output. Needs nothing but Python, on Linux or macOS.
"""

import argparse
import json
import os
import subprocess
import sys
import time


def run(command, output):
    """Seconds and peak resident bytes of one run."""
    begun = time.perf_counter()
    with open(output, "wb") as out:
        process = subprocess.Popen(command, stdout=out, stdin=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - begun
    code = os.waitstatus_to_exitcode(status)
    if code not in (0, 1):
        sys.exit(f"measure.py: {command[0]} ended with {code}")
    unit = 1 if sys.platform == "darwin" else 1024
    return seconds, usage.ru_maxrss * unit


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--output", default=os.devnull)
    parser.add_argument("command", nargs="+")
    options = parser.parse_args()

    run(options.command, options.output)
    runs = [run(options.command, options.output) for _ in range(options.runs)]
    print(json.dumps({
        "seconds": [seconds for seconds, _ in runs],
        "peak_bytes": max(peak for _, peak in runs),
    }))


if __name__ == "__main__":
    main()
