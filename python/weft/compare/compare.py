"""Measures policies against each other."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any

import numpy as np

from .. import library
from ..errors import compose
from ..launcher import LaunchError, Run, failure_of, launch
from ..summary import RuntimeSummary, summarise

BASELINE = "steal"
"""The policy that, with 1 worker, is the baseline of all others."""

Step = Callable[[str, float], None]
"""Called before each run with what is run and the part of all runs that is done, 0 to 1."""


@dataclass(frozen=True)
class Place:
    """A place where a program is run."""

    name: str
    spec: str | None
    """The modelled machine, as for WEFT_MACHINE; None: real threads of this machine."""

    @property
    def virtual(self) -> bool:
        return self.spec is not None


HERE = Place("here", None)


@dataclass(frozen=True)
class Spread:
    """Statistics of several measurements of one thing."""

    count: int
    median: float
    q1: float
    q3: float
    min: float
    max: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        """From the measurements. Quartiles are interpolated linearly."""
        q1, q3 = np.quantile(values, [0.25, 0.75])
        return cls(len(values), median(values), float(q1), float(q3), min(values), max(values))


@dataclass(frozen=True)
class Row:
    """A policy at a place."""

    place: Place
    policy: str
    label: str
    """What tells it from the other rows of the place: the policy, with the workers if several numbers are compared."""
    workers: int | None
    """None if it did not run."""
    seconds: Spread | None
    """Time of the program's runs in seconds, virtual at modelled places. None if it did not run."""
    speedup: float | None
    """Median time of `steal` with 1 worker at the same place, over the median time of this policy."""
    busy: float | None
    """Median share of the workers' time. This and the next two are of the runtime that took longest."""
    balance: float | None
    steals: float | None
    exact: bool
    """Whether another run would be the same: it is modelled, with declared costs."""
    refused: str
    """The reason why it did not run or failed; empty if it ran."""


@dataclass(frozen=True)
class Comparison:
    """The result of a comparison."""

    command: tuple[str, ...]
    repeat: int
    rows: tuple[Row, ...]
    """By place: first the row of `steal` with 1 worker, then the policies."""

    @property
    def places(self) -> list[Place]:
        return list(dict.fromkeys(row.place for row in self.rows))

    def at(self, place: Place) -> list[Row]:
        """The rows of a place: the baseline, then the policies."""
        return [row for row in self.rows if row.place == place]

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


class _Cell:
    """A row while it is measured."""

    def __init__(self, place: Place, policy: str, label: str, workers: int | None) -> None:
        self.place, self.policy, self.label, self.workers = place, policy, label, workers
        self.seconds: list[float] = []
        self.longest: list[RuntimeSummary] = []
        self.refused = ""
        self.is_exact = False

    def is_wanted(self) -> bool:
        """Whether another run is of use: the policy runs, and another run may differ."""
        return not self.refused and not self.is_exact

    def row(self, alone: float | None) -> Row:
        if self.refused or not self.seconds:
            return _refused(self.place, self.policy, self.label, self.refused)
        spread = Spread.of(self.seconds)
        balances = [r.balance for r in self.longest if r.balance is not None]
        return Row(
            place=self.place,
            policy=self.policy,
            label=self.label,
            workers=len(self.longest[0].workers),
            seconds=spread,
            speedup=alone / spread.median if alone and spread.median > 0 else None,
            busy=median(sum(w.busy for w in r.workers) / (r.seconds * len(r.workers)) for r in self.longest),
            balance=median(balances) if balances else None,
            steals=median(sum(w.steals for w in r.workers) for r in self.longest),
            exact=self.is_exact,
            refused="",
        )


def _refused(place: Place, policy: str, label: str, why: str) -> Row:
    return Row(place, policy, label, None, None, None, None, None, None, False, why)


def applicable() -> tuple[list[str], dict[str, str]]:
    """The library's policies that run without settings, and the reasons for the others."""
    policies = library.policies()
    missing = {p.name: [k.key for k in p.knobs if not k.default] for p in policies}
    refused = {name: f"needs a value for {', '.join(knobs)}" for name, knobs in missing.items() if knobs}
    return [p.name for p in policies if p.name not in refused], refused


def compare(
    command: Sequence[str],
    *,
    policies: Sequence[str] | None = None,
    machines: Sequence[str] = (),
    here: bool = True,
    repeat: int = 5,
    workers: int | Sequence[int] | None = None,
    seed: int | None = None,
    timeout: float | None = None,
    step: Step | None = None,
) -> Comparison:
    """Runs a program under each policy at each place, `repeat` times. It does so in rounds, so that other load of the
    machine affects all policies alike; the order changes from round to round.

    `policies`: None: all that run without settings. `machines`: modelled machines, as for WEFT_MACHINE. `workers`: a
    number, or several, each for every policy; None: as many as the place has. `timeout`: time limit of one run in
    seconds. On modelled machines a program that declares its costs is run once, since a second run would be the same.

    The measured time is that within runs of Weft, as in its reports: reading input and checking results outside of
    them does not count. If the program refuses a policy or fails under it, the row's reason is the last line of its
    standard error. Raises `LaunchError` if the program fails with 1 worker of `steal`, or if a signal to end came.
    """
    refused: dict[str, str] = {}
    if policies is None:
        policies, refused = applicable()
    places = [HERE] * here + [Place(_name_of(m), m) for m in machines]
    if not places or repeat < 1 or not policies:
        given = f"{len(places)} places, {repeat} runs, {len(policies)} policies"
        raise LaunchError(compose("nothing to compare", given, "at least one of each"))
    counts = [workers] if workers is None or isinstance(workers, int) else list(workers)
    labelled = [(p, p if len(counts) == 1 else f"{p}, {_of_workers(n)}", n) for p in policies for n in counts]
    cells = [
        _Cell(place, *one) for place in places for one in [(BASELINE, f"{BASELINE}, {_of_workers(1)}", 1), *labelled]
    ]
    settings = {"seed": seed, "timeout": timeout}
    done = 0
    for number in range(repeat):
        for i in range(len(cells)):
            cell = cells[(i + number) % len(cells)]
            if step:
                what = cell.label if len(counts) > 1 else cell.policy
                step(f"{what} on {cell.place.name}", done / (repeat * len(cells)))
            done += 1
            if cell.is_wanted():
                _measure(cell, command, settings)
                if cell.refused and cell.workers == 1 and cell.policy == BASELINE and cell.place is places[0]:
                    raise LaunchError(f"with 1 worker of {BASELINE}: {cell.refused}")
    rows: list[Row] = []
    for place in places:
        its = [c for c in cells if c.place is place]
        alone = Spread.of(its[0].seconds).median if its[0].seconds else None
        rows += [c.row(alone) for c in its]
        rows += [_refused(place, name, name, why) for name, why in refused.items()]
    return Comparison(tuple(command), repeat, tuple(rows))


def _of_workers(count: int | None) -> str:
    return "1 worker" if count == 1 else f"{count} workers"


def _name_of(machine: str) -> str:
    return str(library.machine(machine)["name"])


def _measure(cell: _Cell, command: Sequence[str], settings: dict[str, Any]) -> None:
    """Runs the program once more."""
    # Settings of the place in this process's environment are not meant for another place.
    environment: dict[str, str | None] = {"WEFT_TRACE": None, "WEFT_ENGINE": "threads", "WEFT_MACHINE": None}
    if cell.place.virtual:
        environment |= {"WEFT_ENGINE": "model", "WEFT_MACHINE": cell.place.spec, "WEFT_PIN": None}
    else:
        environment |= {"WEFT_SCENARIO": None, "WEFT_COSTS": None}
    with tempfile.TemporaryFile() as errors:
        run = launch(
            command,
            policy=cell.policy,
            workers=cell.workers,
            environment=environment,
            stdout=subprocess.DEVNULL,
            stderr=errors,
            **settings,
        )
        cell.refused = failure_of(run, errors.fileno())
    if not cell.refused:
        _take(cell, run)


def _take(cell: _Cell, run: Run) -> None:
    summary = summarise(run)
    if not summary.runtimes or summary.run_seconds <= 0:
        cell.refused = "nothing ran in parallel"
        return
    cell.seconds.append(summary.run_seconds)
    cell.longest.append(max(summary.runtimes, key=lambda r: r.seconds))
    reports = [r for report in run.reports for r in report.runs]
    cell.is_exact = all(r.virtual and r.fields.get("costs") == "declared" for r in reports)
