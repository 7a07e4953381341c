"""The list of cases: one case is one function, announced with a decorator."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass, field

from sparkfix import READER_VERSION, VERSIONS

MODULES = (
    "aggregation",
    "keys",
    "types",
    "dedup",
    "join",
    "hot",
    "pandas_state",
    "tws",
    "tws_types",
    "chained",
    "hdfs",
    "formats",
    "sources",
    "repartition",
    "broken",
)


@dataclass(frozen=True)
class Case:
    """One kind of checkpoint; with a version it becomes one fixture."""

    name: str
    description: str
    versions: tuple[str, ...]
    build: Callable = field(repr=False)
    base: str | None = None
    """For derived (broken) fixtures: the case whose finished checkpoint is damaged."""
    keep_crc: bool = False
    """Keep Hadoop's `.name.crc` sidecars in the archive."""
    smoke: bool = False
    """One of the smallest cases, run live by continuous integration."""
    truth_may_fail: bool = False
    """Spark's reader is expected to refuse (part of) this checkpoint."""
    findings: tuple[str, ...] = ()
    """What a reader must notice, as "kind: file"."""

    def fixture(self, version: str) -> str:
        """The directory name of this case made with `version`."""
        return f"{self.name}-{version}"


CASES: dict[str, Case] = {}


def case(
    name: str,
    description: str,
    versions: tuple[str, ...] = VERSIONS,
    *,
    keep_crc: bool = False,
    smoke: bool = False,
    truth_may_fail: bool = False,
    findings: tuple[str, ...] = (),
) -> Callable:
    """Announce a function `f(ctx)` that runs a query and leaves a checkpoint."""

    def add(function: Callable) -> Callable:
        new = Case(name, description, versions, function, None, keep_crc, smoke, truth_may_fail, findings)
        _register(new)
        return function

    return add


def derived(name: str, description: str, base: str, version: str = READER_VERSION) -> Callable:
    """Announce a function `f(damage)` that damages a copy of the checkpoint of case `base`."""

    def add(function: Callable) -> Callable:
        keep = CASES[base].keep_crc
        _register(Case(name, description, (version,), function, base, keep, False, True))
        return function

    return add


def _register(new: Case) -> None:
    new.build.__doc__ = new.build.__doc__ or new.description
    if new.name in CASES:
        raise ValueError(f"case {new.name} is announced twice")
    CASES[new.name] = new


def load() -> dict[str, Case]:
    """Import every module of cases and return them by name, in order of announcement."""
    for module in MODULES:
        importlib.import_module(f"sparkfix.cases.{module}")
    return CASES


def select(names: list[str] | None, version: str, smoke: bool = False) -> list[Case]:
    """The cases of `version` whose name is, or starts with, one of `names` (all when None)."""
    chosen = [c for c in load().values() if version in c.versions and (c.smoke or not smoke)]
    if names is None:
        return chosen
    return [c for c in chosen if any(c.name == n or c.name.startswith(n.rstrip("*")) for n in names)]
