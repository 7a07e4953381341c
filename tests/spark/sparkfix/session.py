"""One Spark session per process, and the few JVM internals that the generator touches."""

from __future__ import annotations

from typing import Any

from pyspark.sql import SparkSession

STATE_PACKAGE = "org.apache.spark.sql.execution.streaming.state"


def start(memory: str = "1g", *, master: str = "local[2]", settings: dict[str, str] | None = None) -> SparkSession:
    """A small local session: two cores, no web interface, a busy maintenance thread; `settings` win over these."""
    builder = (
        SparkSession.builder.master(master)
        .appName("statetop fixtures")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.memory", memory)
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.streaming.stateStore.maintenanceInterval", "300ms")
    )
    for key, value in (settings or {}).items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    return spark


def scala_object(spark: SparkSession, name: str) -> Any:
    """The Scala singleton `name` (fully qualified), as a gateway object."""
    package, _, leaf = name.rpartition(".")
    view = spark._jvm
    for part in package.split("."):
        view = getattr(view, part)
    return getattr(getattr(view, leaf + "$"), "MODULE$")


def unload_state(spark: SparkSession) -> None:
    """Forget every loaded state store and stop maintenance, as the end of the process would."""
    scala_object(spark, STATE_PACKAGE + ".StateStore").stop()
