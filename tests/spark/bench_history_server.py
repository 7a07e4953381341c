#!/usr/bin/env python3
"""Time Spark's history server on an event log, from its start until it can show the application.

    python3 tests/spark/bench_history_server.py LOG --spark PYSPARK_FOLDER [--runs 1]

PYSPARK_FOLDER is the folder of the package `pyspark`, which has Spark's jars. `ready` is when the server
answers, `listed` when it lists the application (it then has looked at the beginning and end of the log
only), `loaded` when it answers a question about its jobs, for which it reads the log whole. All are
seconds from the start of the process, the start of its JVM included: that is what an operator waits for.
Prints `{"ready": [..], "listed": [..], "loaded": [..], "peak_bytes"}`.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

SERVER = "org.apache.spark.deploy.history.HistoryServer"
PATIENCE = 1800
"""Seconds after which it is given up."""


def free_port() -> int:
    """A port of this machine that nobody uses now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def ask(url: str) -> Any | None:
    """An answer, or None where there is none yet."""
    try:
        with urllib.request.urlopen(url, timeout=PATIENCE) as answer:
            return json.load(answer)
    except (OSError, ValueError):
        return None


def until(url: str, process: subprocess.Popen[bytes], begun: float) -> tuple[float, Any]:
    """Seconds until a question is answered with something, and the answer."""
    while time.perf_counter() - begun < PATIENCE:
        if process.poll() is not None:
            raise SystemExit(f"the history server has ended with {process.returncode}")
        answer = ask(url)
        if answer:
            return time.perf_counter() - begun, answer
        time.sleep(0.1)
    raise SystemExit("the history server takes too long")


def command(spark: Path, logs: Path, scratch: Path, port: int) -> list[str]:
    """How the server is started: what `sbin/start-history-server.sh` does, without its daemon."""
    confs = {
        "spark.history.fs.logDirectory": logs.as_uri(),
        "spark.history.ui.port": str(port),
        "spark.history.fs.update.interval": "1s",
        "spark.local.dir": str(scratch),
    }
    exports = ["java.lang", "java.net", "java.nio", "java.util", "java.util.concurrent", "sun.nio.ch", "sun.util.calendar"]
    opens = [f"--add-opens=java.base/{name}=ALL-UNNAMED" for name in exports]
    options = [f"-D{name}={value}" for name, value in confs.items()]
    return ["java", "-Xmx3g", *opens, *options, "-cp", f"{spark}/jars/*", SERVER]


def peak(process: subprocess.Popen[bytes]) -> int | None:
    """The most memory that the process ever held, where the system tells it."""
    try:
        status = Path(f"/proc/{process.pid}/status").read_text()
    except OSError:
        return None
    lines = [line for line in status.splitlines() if line.startswith("VmHWM:")]
    return int(lines[0].split()[1]) * 1024 if lines else None


def run(log: Path, spark: Path) -> dict[str, Any]:
    """One start of the server."""
    scratch = Path(tempfile.mkdtemp(prefix="statetop-history-"))
    try:
        logs = scratch / "logs"
        logs.mkdir()
        # The log may lie among other files, and a link to it is not followed everywhere.
        os.link(log, logs / log.name)
        port = free_port()
        env = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1"}
        with (scratch / "server.log").open("wb") as said:
            begun = time.perf_counter()
            process = subprocess.Popen(command(spark, logs, scratch, port), stdout=said, stderr=said, env=env)
            base = f"http://127.0.0.1:{port}/api/v1"
            try:
                ready, _ = until(f"{base}/version", process, begun)
                listed, applications = until(f"{base}/applications", process, begun)
                loaded, _ = until(f"{base}/applications/{applications[0]['id']}/jobs", process, begun)
                return {"ready": ready, "listed": listed, "loaded": loaded, "peak_bytes": peak(process)}
            except SystemExit:
                sys.stderr.write((scratch / "server.log").read_text()[-4000:])
                raise
            finally:
                process.kill()
                process.wait()
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("log", type=Path)
    parser.add_argument("--spark", type=Path, required=True)
    parser.add_argument("--runs", type=int, default=1)
    options = parser.parse_args()
    runs = [run(options.log.absolute(), options.spark.absolute()) for _ in range(options.runs)]
    told: dict[str, Any] = {name: [one[name] for one in runs] for name in ("ready", "listed", "loaded")}
    peaks = [one["peak_bytes"] for one in runs if one["peak_bytes"]]
    told["peak_bytes"] = max(peaks) if peaks else None
    print(json.dumps(told))


if __name__ == "__main__":
    main()
