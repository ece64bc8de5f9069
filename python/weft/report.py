"""Reports of a program's runs: the JSON file that WEFT_REPORT names. docs/reports.md lists its keys."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .errors import Error, compose
from .files import read_text

_BUSY = ("compute", "private_stall", "shared_stall")
"""The parts of a modelled worker's time in user code. Together they are what `busy` is for a real worker."""


@dataclass(frozen=True)
class WorkerReport:
    """What a worker did in a run, in seconds. The parts add up to the run's time."""

    busy: float
    """Time in tasks. On real threads it includes what the runtime does between them."""
    search: float
    asleep: float
    overhead: float | None
    """Time in the runtime. None on real threads, where only a trace shows it."""
    tasks: int
    steals: int
    exposures: int
    on_core: float | None = None
    """The part of `busy` that the worker was on a core. This and the next three are None if the time is not divided."""
    waiting: float | None = None
    """The part of `busy` that it was ready to run and on no core; None also if the kernel does not count this: then
    it is in `blocked`."""
    blocked: float | None = None
    """The part of `busy` that a task was blocked in the kernel."""
    uncertain: float | None = None
    """By how much these parts may be wrong."""

    @classmethod
    def of(cls, w: Mapping[str, Any]) -> WorkerReport:
        """From one object of `workers`. Raises KeyError, TypeError or ValueError if it is none."""

        def known(key: str) -> float | None:
            return float(w[key]) if w.get(key) is not None else None

        return cls(
            busy=float(w["busy"]) if "busy" in w else sum(float(w[part]) for part in _BUSY),
            search=float(w["search"]),
            asleep=float(w["asleep"]),
            overhead=known("overhead"),
            tasks=int(w["tasks"]),
            steals=int(w["steals"]),
            exposures=int(w["exposures"]),
            on_core=known("on_core"),
            waiting=known("waiting"),
            blocked=known("blocked"),
            uncertain=known("uncertain"),
        )


@dataclass(frozen=True)
class RunReport:
    """One run: from the beginning of a root, while there is no other root, to the end of the last root."""

    engine: str
    """`threads` or `model`."""
    machine: str
    policy: str
    seed: int | None
    """None in reports of libraries that do not say."""
    seconds: float
    """Virtual seconds in the model."""
    workers: tuple[WorkerReport, ...]
    fields: Mapping[str, Any]
    """The whole JSON object. The model also reports caches, memory and disks."""

    @property
    def virtual(self) -> bool:
        return self.engine == "model"

    @property
    def busy(self) -> float:
        """Seconds, summed over all workers."""
        return sum(w.busy for w in self.workers)

    @property
    def steals(self) -> int:
        return sum(w.steals for w in self.workers)

    @property
    def tasks(self) -> int:
        return sum(w.tasks for w in self.workers)

    @property
    def balance(self) -> float | None:
        """Busy time of the average worker over that of the busiest one; None if no worker was busy."""
        most = max((w.busy for w in self.workers), default=0.0)
        return self.busy / len(self.workers) / most if most > 0 else None

    @classmethod
    def of(cls, fields: Mapping[str, Any]) -> RunReport:
        """From one object of `runs`. Raises KeyError, TypeError or ValueError if it is not a run."""
        workers = tuple(WorkerReport.of(w) for w in fields["workers"])
        if not workers:
            raise ValueError("no workers")
        return cls(
            engine=str(fields.get("engine", "model")),
            machine=str(fields["machine"]),
            policy=str(fields["policy"]),
            seed=int(fields["seed"]) if "seed" in fields else None,
            seconds=float(fields["seconds"]),
            workers=workers,
            fields=fields,
        )


@dataclass(frozen=True)
class TotalReport:
    """All runs of one runtime on real threads, and the time between them, in seconds."""

    seconds: float
    """From the beginning of the first run to the end of the last one; the sum of `in_runs`, `outside`, `recording`."""
    in_runs: float
    outside: float
    """Time in which there was no run."""
    outside_cpu: float
    """Processor time that the program's threads had in it."""
    recording: float
    """Time in which reports were made."""
    divided: str
    """Whether busy time is divided; if it is not, why."""
    workers: tuple[WorkerReport, ...]
    """Sums over the runs."""
    notes: tuple[str, ...]
    """What a reader should know of these figures."""
    fields: Mapping[str, Any]
    """The whole JSON object."""

    @classmethod
    def of(cls, fields: Mapping[str, Any]) -> TotalReport:
        """From the object `total`. Raises KeyError, TypeError or ValueError if it is none."""
        return cls(
            seconds=float(fields["seconds"]),
            in_runs=float(fields["in_runs"]),
            outside=float(fields["outside"]),
            outside_cpu=float(fields["outside_cpu"]),
            recording=float(fields["recording"]),
            divided=str(fields["divided"]),
            workers=tuple(WorkerReport.of(w) for w in fields["workers"]),
            notes=tuple(str(note) for note in fields["notes"]),
            fields=fields,
        )


@dataclass(frozen=True)
class Report:
    """The report of one runtime of a program."""

    runs: tuple[RunReport, ...]
    """In order. If there were too many: the first ones, and the last."""
    runs_ended: int
    """Number of runs that have ended."""
    process: int | None = None
    """Number of the process, if it is known."""
    total: TotalReport | None = None
    """None in the model, and in reports of libraries that do not say."""

    @property
    def seconds(self) -> float:
        """Sum over all runs, in seconds; without `total`, over the runs in it."""
        return self.total.in_runs if self.total else sum(r.seconds for r in self.runs)

    @property
    def complete(self) -> bool:
        """Whether every run is in it."""
        return len(self.runs) == self.runs_ended


def read_report(path: Path) -> Report | None:
    """Reads a report in JSON. Returns None for an empty file: the process was killed before it could write one.

    Raises `Error` for a file that is not a report, OSError for a file that cannot be read.
    """
    text = read_text(path)
    if not text:
        return None
    try:
        fields = json.loads(text)
        total = TotalReport.of(fields["total"]) if "total" in fields else None
        runs = tuple(RunReport.of(r) for r in fields["runs"])
        if total and runs and len(total.workers) != len(runs[0].workers):
            raise ValueError(f"{len(total.workers)} workers in all, {len(runs[0].workers)} in the first run")
        return Report(runs, int(fields["runs_ended"]), total=total)
    except (KeyError, TypeError, ValueError, RecursionError) as failure:
        given = f"{type(failure).__name__}: {failure}"
        raise Error(
            f"{path}: " + compose("no report, or a damaged one", given, "a file that WEFT_REPORT named")
        ) from None
