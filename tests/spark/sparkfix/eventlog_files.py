"""The same events in every layout and codec, written by Spark's own event log writers.

An application's lines, as its listener wrote them, go once more through `EventLogFileWriter`: that gives
logs that differ in nothing but the form on disk, also ones that are not finished, rolled at a chosen
line, or compacted as the history server does it.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

CODECS = ("none", "zstd", "lz4", "snappy", "lzf")
FLUSHED = ("QueryProgressEvent", "StageCompleted", "JobStart", "JobEnd", "QueryStartedEvent", "QueryTerminatedEvent")
"""Spark's listener flushes after these and others; what is flushed is what a reader of a growing log sees."""


@dataclass(frozen=True)
class Form:
    """One form on disk."""

    codec: str
    rolling: bool
    finished: bool = True
    rolls: int = 2
    """How often a rolling log is rolled."""

    @property
    def name(self) -> str:
        """`rolling-zstd`, `single-none-inprogress`."""
        layout = "rolling" if self.rolling else "single"
        return f"{layout}-{self.codec}" + ("" if self.finished else "-inprogress")


class Writers:
    """Spark's writers, reached through a gateway; they need no session."""

    def __init__(self, jvm: Any, application: str) -> None:
        self.jvm = jvm
        self.application = application
        self.hadoop = jvm.org.apache.hadoop.conf.Configuration()

    def write(self, lines: list[str], into: Path, form: Form) -> None:
        """Write `lines` in `form` below `into`, which is made anew."""
        shutil.rmtree(into, ignore_errors=True)
        into.mkdir(parents=True)
        writer = self._writer(into, form)
        writer.start()
        step = max(1, len(lines) // (form.rolls + 1))
        for number, line in enumerate(lines, start=1):
            writer.writeEvent(line, any(name in line[:120] for name in FLUSHED))
            if form.rolling and number % step == 0 and number // step <= form.rolls:
                writer.rollEventLogFile()
        if form.finished:
            writer.stop()

    def compact(self, directory: Path) -> str:
        """Compact the rolled files of the log `directory`, keeping the newest; returns Spark's own result code."""
        jvm, conf = self.jvm, self._conf(Form("zstd", True))
        path = jvm.org.apache.hadoop.fs.Path(str(directory))
        system = path.getFileSystem(self.hadoop)
        status = system.getFileStatus(path)
        reader = jvm.org.apache.spark.deploy.history.RollingEventLogFilesFileReader(system, status.getPath())
        compactor = jvm.org.apache.spark.deploy.history.EventLogFileCompactor(conf, self.hadoop, system, 1, 0.0)
        return compactor.compact(reader.listEventLogFiles()).toString()

    def _conf(self, form: Form) -> Any:
        conf = self.jvm.org.apache.spark.SparkConf(False)
        conf.set("spark.eventLog.enabled", "true")
        conf.set("spark.eventLog.rolling.enabled", str(form.rolling).lower())
        conf.set("spark.eventLog.compress", str(form.codec != "none").lower())
        if form.codec != "none":
            conf.set("spark.eventLog.compression.codec", form.codec)
        return conf

    def _writer(self, into: Path, form: Form) -> Any:
        none = self.jvm.scala.Option.empty()
        kind = "RollingEventLogFilesWriter" if form.rolling else "SingleEventLogFileWriter"
        made = getattr(self.jvm.org.apache.spark.deploy.history, kind)
        return made(self.application, none, self.jvm.java.net.URI(into.as_uri()), self._conf(form), self.hadoop)
