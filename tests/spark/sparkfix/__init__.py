"""Checkpoints that real Spark wrote, with the truth that Spark's own readers tell about them."""

VERSIONS = ("3.5.9", "4.0.5", "4.1.4", "4.2.1", "4.3.0")
"""Every Spark release that fixtures are made with."""

READER_VERSION = "4.3.0"
"""The release whose state data source gives the counts (only 4.2+ has the raw reader)."""

WORK_ROOT = "/tmp/statetop-fixtures"
"""Where checkpoints are written. Spark stores absolute paths in them, so the place is fixed and neutral."""
