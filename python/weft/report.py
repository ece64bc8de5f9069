"""What a program says of its runs: the file that WEFT_REPORT names, as JSON. docs/reports.md lists its keys."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .errors import Error, compose

_BUSY = ("compute", "private_stall", "shared_stall")
"""What a modelled worker does in user code: together the `busy` of a real one."""


@dataclass(frozen=True)
class WorkerReport:
    """What a worker did in a run; seconds. The parts add up to the run's time."""

    busy: float
    """In tasks; on real threads with what the runtime does between them."""
    search: float
    asleep: float
    overhead: float | None
    """Of the runtime; None on real threads, where only a trace tells."""
    tasks: int
    steals: int
    exposures: int


@dataclass(frozen=True)
class RunReport:
    """One run: from the beginning of a root, with no other one there, until the last one has ended."""

    engine: str
    """`threads` or `model`."""
    machine: str
    policy: str
    seed: int | None
    """None in reports of libraries that do not tell."""
    seconds: float
    """Virtual ones in the model."""
    workers: tuple[WorkerReport, ...]
    fields: Mapping[str, Any]
    """The whole JSON object: the model also tells of caches, memory and disks."""

    @property
    def virtual(self) -> bool:
        return self.engine == "model"

    @property
    def busy(self) -> float:
        """Of all workers, in seconds."""
        return sum(w.busy for w in self.workers)

    @property
    def steals(self) -> int:
        return sum(w.steals for w in self.workers)

    @property
    def tasks(self) -> int:
        return sum(w.tasks for w in self.workers)

    @property
    def balance(self) -> float | None:
        """Busy time of the average worker over that of the busiest; None if nobody was busy."""
        most = max((w.busy for w in self.workers), default=0.0)
        return self.busy / len(self.workers) / most if most > 0 else None

    @classmethod
    def of(cls, fields: Mapping[str, Any]) -> RunReport:
        """Of one object of `runs`. Raises KeyError, TypeError or ValueError where it is none."""
        workers = tuple(
            WorkerReport(
                busy=float(w["busy"]) if "busy" in w else sum(float(w[part]) for part in _BUSY),
                search=float(w["search"]),
                asleep=float(w["asleep"]),
                overhead=float(w["overhead"]) if "overhead" in w else None,
                tasks=int(w["tasks"]),
                steals=int(w["steals"]),
                exposures=int(w["exposures"]),
            )
            for w in fields["workers"]
        )
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
class Report:
    """Of one runtime of a program."""

    runs: tuple[RunReport, ...]
    """In order: the first ones, and the last."""
    runs_ended: int
    """How many there were."""
    process: int | None = None
    """Its number, where that is known."""

    @property
    def seconds(self) -> float:
        """Of the runs in it."""
        return sum(r.seconds for r in self.runs)

    @property
    def complete(self) -> bool:
        """Every run is in it."""
        return len(self.runs) == self.runs_ended


def read_report(path: Path) -> Report | None:
    """Reads a report in JSON. None for an empty file: the process was killed before it could write one.

    Raises `Error` for what is no report, OSError for what cannot be read.
    """
    text = path.read_text(encoding="utf-8")
    if not text:
        return None
    try:
        fields = json.loads(text)
        return Report(tuple(RunReport.of(r) for r in fields["runs"]), int(fields["runs_ended"]))
    except (KeyError, TypeError, ValueError, RecursionError) as failure:
        given = f"{type(failure).__name__}: {failure}"
        raise Error(
            f"{path}: " + compose("no report, or a damaged one", given, "a file that WEFT_REPORT named")
        ) from None
