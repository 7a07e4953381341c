"""Deterministic input: newline-delimited JSON files that Spark's file source reads one per batch."""

from __future__ import annotations

import datetime as dt
import json
import os
import random
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

Row = dict[str, Any]
START = dt.datetime(2026, 1, 1, tzinfo=dt.timezone.utc)


class Feed:
    """A directory of input files; the n-th file becomes visible as the n-th micro-batch."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.directory.mkdir(parents=True, exist_ok=True)
        self.files = 0

    def add(self, batches: Iterable[Iterable[Row]]) -> None:
        """Append one file per batch. Modification times rise by a second: the source orders by them."""
        for rows in batches:
            path = self.directory / f"{self.files:04}.json"
            hidden = self.directory / f".{self.files:04}.tmp"
            hidden.write_text("".join(json.dumps(row) + "\n" for row in rows))
            stamp = 1_750_000_000 + self.files
            os.utime(hidden, (stamp, stamp))
            hidden.rename(path)
            self.files += 1


def at(minutes: float) -> str:
    """Event time as Spark's JSON reader takes it."""
    return (START + dt.timedelta(minutes=minutes)).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def events(
    batches: int,
    rows: int = 30,
    *,
    accounts: int = 40,
    hot: float = 0.5,
    minutes_per_batch: float = 3.0,
    first: int = 0,
    seed: int = 7,
    ticks: int = 0,
) -> Iterator[list[Row]]:
    """Payments of accounts, of which `acct-7` makes the share `hot`; time moves on with every batch.

    With `ticks` event times fall on that many moments per batch, so that several rows share one.
    """
    for batch in range(first, first + batches):
        rng = random.Random(seed * 10_000 + batch)
        yield [
            {
                "id": f"p-{batch:03}-{i:03}",
                "account_id": "acct-7" if rng.random() < hot else f"acct-{rng.randrange(accounts)}",
                "ts": at((batch + (i * ticks // rows / ticks if ticks else i / rows)) * minutes_per_batch),
                "amount": rng.randrange(1, 500),
            }
            for i in range(rows)
        ]


EVENT_SCHEMA = "id string, account_id string, ts timestamp, amount long"
