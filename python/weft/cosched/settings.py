"""What a daemon is told when it starts."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from .. import _core
from ..errors import Error, compose

PERIOD = 227_000_000
"""ns between two readings of the counters: 0.5e9 cycles at 2.2 GHz, as Collins et al. (ROSS'15) have it."""
_LEAST_PERIOD, _GREATEST_PERIOD = 1_000_000, 60_000_000_000
WAYS = ("affinity", "cpuset")


def default_directory() -> str:
    """COSCHED_DIRECTORY, or a directory of this user in shared memory."""
    return os.environ.get("COSCHED_DIRECTORY") or f"/dev/shm/weft-cosched-{os.geteuid()}"


@dataclass(frozen=True)
class Settings:
    """Times in ns."""

    directory: str
    scheduler: str = "lira-adaptive"
    domains: str = "caches"
    period: int = PERIOD
    counter_period: int = PERIOD
    """A placement of lira-adaptive stays for so long at least."""
    weight: int = 500
    """Of a new rate in the average, in thousandths."""
    idle_below: int = 500
    """A program is idle if its high-priority threads are runnable for less than so many thousandths of the time."""
    band: int = 50
    """A program's rate counts as changed if it differs by more than so many thousandths of the largest one."""
    by_instruction: bool = False
    way: str = "affinity"
    trace: str = ""
    """A file for a trace of the placements; none if it is empty."""
    costs: tuple[tuple[tuple[int, ...], float], ...] = ()
    """For best-static and worst-static: measured placements, each with its cost."""

    def checked(self) -> Settings:
        """Returns itself. Raises `Error` for what no daemon can do."""
        if self.scheduler not in _core.share_schedulers:
            raise Error(compose("unknown scheduler", self.scheduler, ", ".join(_core.share_schedulers)))
        if self.way not in WAYS:
            raise Error(compose("unknown way to place programs", self.way, ", ".join(WAYS)))
        if not os.path.isabs(self.directory) or ":" in self.directory:
            raise Error(compose("no directory for the table", repr(self.directory), "an absolute path without a colon"))
        for name, value in (("period", self.period), ("counter period", self.counter_period)):
            if not _LEAST_PERIOD <= value <= _GREATEST_PERIOD:
                raise Error(compose(f"the {name} is out of range", f"{value / 1e9:g} s", "0.001 s to 60 s"))
        for name, value in (("weight", self.weight), ("idle limit", self.idle_below), ("band", self.band)):
            if not 0 <= value <= 1000:
                raise Error(compose(f"the {name} is out of range", value / 1000, "0 to 1"))
        return self

    def to_json(self) -> str:
        return json.dumps(asdict(self))


def from_json(text: str) -> Settings:
    """Raises `Error` if it is not what to_json() has written."""
    known = {f.name for f in fields(Settings)}
    try:
        given: Mapping[str, Any] = json.loads(text)
        costs = tuple((tuple(int(d) for d in domains), float(cost)) for domains, cost in given.get("costs", ()))
        return Settings(**{k: v for k, v in given.items() if k in known} | {"costs": costs}).checked()
    except (ValueError, TypeError, AttributeError):
        raise Error(compose("no settings of a daemon", text[:200], "what Settings.to_json() writes")) from None


def socket_path(directory: str) -> Path:
    return Path(directory, "socket")


def programs_path(directory: str) -> Path:
    """Which programs a daemon has taken up, for the one that takes its place."""
    return Path(directory, "programs.json")


def log_path(directory: str) -> Path:
    return Path(directory, "log")
