#!/usr/bin/env python3
"""Times the console's first screens under a pseudo-terminal of 80x24.

    benches/first_screen.py STATETOP CHECKPOINT [--runs 5]

Prints, as JSON, milliseconds from the start of the process until the overview shows batches
(`overview`) and until it shows rows of every store (`rows`), and the bytes that the console
writes in the two idle seconds after that, beyond its age labels' (`idle_bytes`, paused).
"""

import argparse
import fcntl
import json
import os
import pty
import re
import select
import statistics
import struct
import subprocess
import termios
import time

ESCAPES = re.compile(rb"\x1b\[[0-9;?]*[A-Za-z]|\x1b[=>()][0-9A-B]?")
LIMIT = 30.0


def visible(output: bytes) -> str:
    """What was written, without escape sequences."""
    return ESCAPES.sub(b"", output).decode(errors="replace")


class Console:
    """A running console and what it has written."""

    def __init__(self, statetop: str, checkpoint: str) -> None:
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        environment = {**os.environ, "TERM": "xterm-256color", "LANG": "C.UTF-8"}
        self.begun = time.perf_counter()
        self.process = subprocess.Popen(
            [statetop, checkpoint, "--no-memory"],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env=environment,
        )
        os.close(slave)
        self.written = b""

    def read(self, seconds: float) -> int:
        """Reads what comes within `seconds`; how many bytes that was."""
        before = len(self.written)
        end = time.perf_counter() + seconds
        while (left := end - time.perf_counter()) > 0:
            if select.select([self.master], [], [], left)[0]:
                self.written += os.read(self.master, 65536)
                if seconds < 1:
                    break
        return len(self.written) - before

    def until(self, pattern: str) -> float:
        """Milliseconds from the start until `pattern` is on screen."""
        while not re.search(pattern, visible(self.written)):
            self.read(0.5)
            if time.perf_counter() - self.begun > LIMIT:
                raise SystemExit(f"{pattern!r} did not appear in {LIMIT} s")
        return (time.perf_counter() - self.begun) * 1000

    def quit(self) -> None:
        """Ends the console."""
        os.write(self.master, b"\x03")
        self.process.wait(10)
        os.close(self.master)


def main() -> None:
    """Reads the command line, measures, prints."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("statetop")
    parser.add_argument("checkpoint")
    parser.add_argument("--runs", type=int, default=5)
    args = parser.parse_args()
    overview, rows, idle = [], [], []
    for _ in range(args.runs):
        console = Console(args.statetop, args.checkpoint)
        overview.append(console.until(r"planned and committed|planned, "))
        rows.append(console.until(r"of the rows|spread"))
        os.write(console.master, b" ")
        console.read(2.0)
        idle.append(console.read(2.0))
        console.quit()
    print(
        json.dumps(
            {
                "overview_ms": round(statistics.median(overview), 1),
                "rows_ms": round(statistics.median(rows), 1),
                "idle_bytes": max(idle),
            }
        )
    )


if __name__ == "__main__":
    main()
