"""The diagnosis of a trace, and the gain from limits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np

from ..errors import Error, compose
from ..trace.trace import Trace
from . import allocation
from .contention import Axis, Equations, concurrency, equations
from .notes import notes
from .prediction import Model, Prediction, best_case, predict, worst_case
from .resources_file import resources_file
from .sensitivity import SENSITIVE, Reduction, Sensitivity, reduction, sensitivities
from .speeds import Speeds, solve
from .workload import Need, Workload, workload

SLOWER = 1.1
"""A class whose sigma is above SENSITIVE is limited if, by the solved speeds, its tasks take at least this many times
as long beside many of their kind as beside few."""
MOST_LIMITS = 3
MOST_ALLOCATIONS = 30_000
MOST_JOINT_STATES = 200
"""Axes are combined into one allocation state as long as there are at most this many states."""
EVIDENCE = 10.0
"""From this difference of Bayes's information criterion on, classes count as slowing each other down."""
PRECISION = 0.01
"""Differences below this part of a task's time explain nothing."""
WORTH = 0.02
"""A gain below this part of the time counts as none."""

Kind = Literal["independent", "interacting"]


@dataclass(frozen=True)
class Analysis:
    """The result of an analysis. Times are in nanoseconds."""

    path: str
    workers: int
    tasks: int
    phases: int
    elapsed: int
    """Time of all phases."""
    busy: float
    """The part of the workers' time in which tasks ran."""
    classes: tuple[Sensitivity, ...]
    reduction: Reduction
    limits: tuple[Axis, ...]
    """The axes that the predictions limit; empty if there is nothing to limit."""
    kind: Kind
    evidence: float | None
    """How much lower Bayes's information criterion is if classes may slow each other down; None: not compared."""
    speeds: tuple[Speeds, ...]
    predictions: tuple[Prediction, ...]
    """All allocations, the shortest time first; of equal times the one with the least work."""
    concurrency: Mapping[str, float]
    """By class: the average number of its running tasks, while any ran."""
    span: int
    """The longest path through the whole trace: no number of workers makes it shorter."""
    critical: Mapping[str, int]
    """By class: the part of the longest path, in nanoseconds, that lies in its tasks. Shortening these shortens
    the path."""
    best_case: float | None
    """Time if no task were slowed down; None if there is nothing to limit."""
    worst_case: float | None
    needs: Mapping[str, tuple[Need, ...]]
    """By class: what the program itself declares."""
    notes: tuple[str, ...]
    """What the traces do not show, and which results rest on little data."""

    @property
    def best(self) -> Prediction | None:
        return self.predictions[0] if self.predictions else None

    @property
    def gain(self) -> float:
        """The gain of the best prediction over the measured time, as a part of that; 0 without predictions."""
        return 1 - self.best.time / self.elapsed if self.best and self.elapsed else 0.0

    @property
    def worthwhile(self) -> bool:
        return self.gain >= WORTH

    def resources(self, comment: str = "") -> str:
        """The resources file of the best allocation. Raises `Error` if nothing was limited."""
        if not self.best:
            raise Error(
                compose("there is nothing to limit", self.path, "a trace with a class that suffers, or --limit")
            )
        return resources_file(self.best.limits, self.limits, self.needs, comment)

    def to_json(self) -> dict[str, Any]:
        """The same for JSON: speeds as lists, the best resources file as text."""
        out = asdict(self)
        for one, s in zip(out["speeds"], self.speeds, strict=True):
            one["table"] = [asdict(speed) | {"firm": speed.firm} for speed in s.table.values()]
            one["own"] = s.axes[s.own].name
        return out | {
            "gain": self.gain,
            "worthwhile": self.worthwhile,
            "resources": self.resources() if self.best else None,
        }


def analyze(
    trace: Trace,
    *,
    more: Sequence[Trace] = (),
    serial: Trace | None = None,
    limit: Sequence[Sequence[str]] | None = None,
    kind: Kind | None = None,
    skip: int = 0,
) -> Analysis:
    """Finds which classes of tasks are slowed down by others, and how long the run would take under limits.

    `more`: further traces of the same program, used for the speeds only. `serial`: a trace with a single worker, for
    the fastest times and the speeds of a task alone. `limit`: groups of classes that are limited together; None: at
    most MOST_LIMITS, chosen by SENSITIVE and SLOWER. `kind`: whether a class's speed depends on its own axis or on all
    axes; None: chosen by EVIDENCE. `skip`: number of phases (graphs that run one after the other) that are left out at
    the beginning of each trace. Raises `Error` for traces that do not fit together and for classes that cannot be
    limited.
    """
    run = workload(trace, skip)
    others = [workload(t, skip) for t in more]
    alone = workload(serial, skip) if serial else None
    _check(run, others, alone)
    return diagnose(run, others, alone, limit, kind)


def diagnose(
    run: Workload,
    more: Sequence[Workload] = (),
    serial: Workload | None = None,
    limit: Sequence[Sequence[str]] | None = None,
    kind: Kind | None = None,
) -> Analysis:
    """analyze() of workloads."""
    return _Diagnosis(run, more, serial, limit, kind).result()


def _check(run: Workload, others: Sequence[Workload], alone: Workload | None) -> None:
    if alone and alone.workers != 1:
        raise Error(compose(f"{alone.path} is no serial trace", f"{alone.workers} workers", "1 worker"))
    for other in others:
        if other.workers > run.workers:
            raise Error(
                compose(f"{other.path} has more workers than {run.path}", other.workers, f"{run.workers} at most")
            )


class _Diagnosis:
    def __init__(
        self,
        run: Workload,
        others: Sequence[Workload],
        alone: Workload | None,
        limit: Sequence[Sequence[str]] | None,
        kind: Kind | None,
    ) -> None:
        self.run, self.alone = run, alone
        self.all = [run, *others, *([alone] if alone else [])]
        self.notes: list[str] = []
        self.classes = sensitivities([run, *others], alone)
        self.of = {c.name: c for c in self.classes if c.name in run.classes and c.total > 0}
        self.single = self.speeds([Axis.of(name) for name in self.of])
        self.limits = self.given(limit) if limit else self.found()
        self.kind: Kind = "independent"
        self.evidence: float | None = None
        self.table = self.single
        if self.limits:
            self.fit(kind)

    # ---- speeds

    def speeds(self, axes: Sequence[Axis], joint: Sequence[Axis] = ()) -> dict[str, Speeds]:
        """Speeds by class, over the axes in `joint` together if the class belongs to one of them, else over its own."""
        groups = [list(joint)] if joint else []
        groups += [[axis] for axis in axes if axis not in joint]
        out = {}
        for group in groups:
            names = [name for axis in group for name in axis.classes if name in self.of]
            sums: dict[str, Equations] = {}
            for w in self.all:
                for name, e in equations(w, group, names).items():
                    sums[name] = sums[name] + e if name in sums else e
            for name, e in sums.items():
                own = next(i for i, axis in enumerate(group) if name in axis.classes)
                solved = solve(name, group, own, self.run.workers, e)
                if solved:
                    out[name] = solved
        return out

    def fit(self, kind: Kind | None) -> None:
        limited = {name for axis in self.limits for name in axis.classes}
        free = [Axis.of(name) for name in self.of if name not in limited]
        axes = [*self.limits, *free]
        self.axes = axes
        self.table = self.speeds(axes)
        joint = list(self.limits)
        for axis in free:
            if len(joint) < MOST_LIMITS and _states(self.run.workers, len(joint) + 1) <= MOST_JOINT_STATES:
                joint.append(axis)
        if kind == "independent" or len(joint) < 2 or _states(self.run.workers, len(joint)) > MOST_JOINT_STATES:
            if kind == "interacting":
                given = f"{len(joint)} axes of {self.run.workers} workers"
                raise Error(
                    compose(
                        "too many allocation states, or one",
                        given,
                        f"2 axes or more, {MOST_JOINT_STATES} states at most",
                    )
                )
            return
        together = self.speeds(axes, joint)
        names = [name for axis in joint for name in axis.classes if name in together]
        self.evidence = sum(_criterion(self.table[name]) - _criterion(together[name]) for name in names)
        if kind == "interacting" or self.evidence > EVIDENCE:
            self.kind, self.table = "interacting", together

    # ---- what to limit

    def given(self, limit: Sequence[Sequence[str]]) -> list[Axis]:
        limitable = sorted(name for name in self.of if name in self.run.limitable)
        seen = set[str]()
        for name in (name for group in limit for name in group):
            if name not in limitable:
                raise Error(
                    compose(
                        "no class that can be limited",
                        name,
                        ", ".join(limitable) or "names of tasks of graphs, of which this trace has none",
                    )
                )
            if name in seen:
                raise Error(compose("a class is limited twice", name, "each once"))
            seen.add(name)
        if len(limit) > self.run.workers:
            raise Error(compose("more limits than workers", len(limit), f"{self.run.workers} at most"))
        self.check_count(len(limit))
        return [Axis.of(*group) for group in limit]

    def check_count(self, limits: int) -> None:
        count = allocation.count(self.run.workers, limits)
        if count > MOST_ALLOCATIONS:
            raise Error(
                compose(
                    "too many allocations", f"{count} of {limits} limits", f"{MOST_ALLOCATIONS} at most: limit fewer"
                )
            )

    def found(self) -> list[Axis]:
        """Chooses classes by sigma. Those that need the same resource of the program go together."""
        sensitive = [c for c in self.of.values() if c.sigma is not None and c.sigma > SENSITIVE]
        axes: list[Axis] = []
        for c in sorted(sensitive, key=lambda c: (c.count * c.min - c.total, c.name)):
            if any(c.name in axis.classes for axis in axes):
                continue
            if c.name not in self.run.limitable:
                self.notes.append(
                    f"{c.name} varies (sigma {c.sigma:.2g}), but only named tasks of graphs can be limited"
                )
            elif not self.gets_slower(c.name):
                self.notes.append(
                    f"{c.name} varies (sigma {c.sigma:.2g}), but not with how many of its kind run: its tasks differ, "
                    "or others slow them down"
                )
            elif len(axes) < min(MOST_LIMITS, self.run.workers) and self.fits(len(axes) + 1):
                axes.append(self.axis_of(c.name))
            else:
                self.notes.append(
                    f"{c.name} is sensitive too (sigma {c.sigma:.2g}), but {len(axes)} classes are limited already"
                )
        return axes

    def fits(self, limits: int) -> bool:
        return allocation.count(self.run.workers, limits) <= MOST_ALLOCATIONS

    def gets_slower(self, name: str) -> bool:
        """Decides by SLOWER, and by more than two standard errors of both times."""
        solved = [s for s in self.single[name].table.values() if s.source == "solved"]
        few = solved[0] if solved else None
        return few is not None and any(
            s.time >= SLOWER * few.time
            and s.time * (1 - 2 * (s.error or 0.0)) > few.time * (1 + 2 * (few.error or 0.0))
            for s in solved
        )

    def axis_of(self, name: str) -> Axis:
        needs = {n.resource for n in self.run.needs.get(name, ())}
        alike = [
            other
            for other in self.of
            if len(needs) == 1
            and {n.resource for n in self.run.needs.get(other, ())} == needs
            and other in self.run.limitable
        ]
        return Axis.of(*sorted(alike)) if alike else Axis.of(name)

    # ---- the result

    def result(self) -> Analysis:
        run = self.run
        names = [name for name in run.classes if name in self.table]
        counts = run.counts()[:, np.isin(run.classes, names)]
        predictions: list[Prediction] = []
        best = worst = None
        if self.limits and run.workers > 1:
            model = Model(run.workers, tuple(self.axes), self.table, {n: float(self.of[n].min) for n in names})
            for p in allocation.allocations(run.workers, len(self.limits)):
                limits = {axis.name: float(amount) for axis, amount in zip(self.limits, p, strict=True)}
                predictions.append(predict(model, counts, names, limits))
            predictions.sort(key=_rank)
            best, worst = best_case(model, counts, names), worst_case(model, counts, names)
        thread_time = int(run.own[run.own > 0].sum())
        whole = run.workers * run.elapsed
        busy = thread_time / whole if whole else 0.0
        return Analysis(
            path=run.path,
            workers=run.workers,
            tasks=len(run.task_class),
            phases=len(run.phases),
            elapsed=run.elapsed,
            busy=busy,
            classes=tuple(self.classes),
            reduction=reduction(run, self.classes),
            limits=tuple(self.limits),
            kind=self.kind,
            evidence=self.evidence,
            speeds=tuple(self.table[name] for name in sorted(self.table, key=lambda n: (-self.of[n].total, n))),
            predictions=tuple(predictions),
            concurrency={name: concurrency(run, Axis.of(name)) for name in self.of},
            span=run.span,
            critical=run.critical,
            best_case=best,
            worst_case=worst,
            needs=run.needs,
            notes=(*self.notes, *notes(self.all, self.of, self.limits, self.single, self.table, predictions, busy)),
        )


def _rank(p: Prediction) -> tuple[float, ...]:
    """Sort key: the shortest time first, of equal times the least work first, then what forbids the least."""
    return (float(f"{p.time:.9g}"), -round(p.idle, 2), -sum(p.limits.values()), *p.limits.values())


def _criterion(s: Speeds) -> float:
    """Bayes's information criterion of a fit."""
    unknowns = sum(speed.source == "solved" for speed in s.table.values())
    return float(s.equations * np.log(max(s.residual, PRECISION) ** 2) + unknowns * np.log(s.equations))


def _states(workers: int, axes: int) -> int:
    return allocation.count(workers + axes, axes)
