#!/usr/bin/env python3
"""Widens a checkpoint to more partitions by copying its partition directories.

    benches/widen.py CHECKPOINT INTO --partitions 10000

For measuring start-up and listing only: every file is one that Spark wrote, but keys lie in
partitions where Spark would not put them. Having Spark itself write 10,000 RocksDB stores
takes most of an hour. Files are hard links where the file system allows it.
"""

import argparse
import json
import os
import shutil
from pathlib import Path


def link(source: str, target: str) -> None:
    """A hard link, or a copy where there is none to be had."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


def widen(checkpoint: Path, into: Path, partitions: int) -> None:
    """Copies `checkpoint`, repeats each operator's partitions and pins the new count."""
    shutil.copytree(checkpoint, into, copy_function=link, ignore=shutil.ignore_patterns(".*.crc"))
    for operator in (into / "state").iterdir():
        have = sorted(int(entry.name) for entry in operator.iterdir() if entry.name.isdigit())
        for number in range(len(have), partitions):
            source = operator / str(have[number % len(have)])
            shutil.copytree(source, operator / str(number), copy_function=link)
    for entry in (into / "offsets").iterdir():
        lines = entry.read_text().split("\n")
        metadata = json.loads(lines[1])
        metadata["conf"]["spark.sql.shuffle.partitions"] = str(partitions)
        lines[1] = json.dumps(metadata)
        # The link must not be written through.
        entry.unlink()
        entry.write_text("\n".join(lines))


def main() -> None:
    """Reads the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("checkpoint", type=Path)
    parser.add_argument("into", type=Path)
    parser.add_argument("--partitions", type=int, default=10_000)
    args = parser.parse_args()
    widen(args.checkpoint, args.into, args.partitions)


if __name__ == "__main__":
    main()
