"""Predicts how long the tasks of a run would take under limits.

M. Tillenius, E. Larsson, R. M. Badia, X. Martorell: Resource-aware task scheduling. ACM TECS 2015, sections 4.2.2 to
4.4.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from .contention import Axis
from .speeds import Speeds
from .workload import Ints


@dataclass(frozen=True)
class Model:
    """The inputs of a prediction. Every class with tasks belongs to one axis and has speeds."""

    workers: int
    axes: tuple[Axis, ...]
    """Names of all classes."""
    speeds: Mapping[str, Speeds]
    """Speeds by class, over one axis or several of `axes`."""
    min: Mapping[str, float]
    """By class: nanoseconds of a task that no other task slows down."""
    exclusive: frozenset[str] = field(default_factory=frozenset)
    """Axes that keep their share, even if workers become free."""

    def time(self, name: str, q: Mapping[str, float]) -> float:
        """Nanoseconds per task of a class while q workers run tasks of each axis."""
        s = self.speeds[name]
        return s.time([q.get(axis.name, 0.0) for axis in s.axes])

    def extrapolated(self, name: str, q: Mapping[str, float]) -> float:
        """The part of that time that rests on speeds that are not firm."""
        s = self.speeds[name]
        return s.extrapolated([q.get(axis.name, 0.0) for axis in s.axes])


@dataclass(frozen=True)
class Stretch:
    """A part of a predicted run: from the moment when one axis runs out of tasks until the next one does."""

    time: float
    """Nanoseconds."""
    q: dict[str, float]
    """Workers by axis."""


@dataclass(frozen=True)
class Prediction:
    """The prediction of a run under limits."""

    limits: dict[str, float]
    """By axis: the number of its tasks that may run at once."""
    time: float
    """Nanoseconds of all phases."""
    extrapolated: float
    """The part of the workers' busy time that rests on speeds that are not firm, 0 to 1."""
    idle: float
    """The part of the workers' time that no task could use."""
    stretches: tuple[Stretch, ...]
    """The steps of the longest phase."""


def predict(
    model: Model, counts: Ints, names: Sequence[str], limits: Mapping[str, float], *, steal: bool = False
) -> Prediction:
    """Predicts greedily, phase by phase: until the first axis runs out of tasks, then until the next one does.

    `counts`: shape (phases, classes `names`). `limits`: by axis, each above 0, together at most the workers. `steal`:
    when only limited tasks are left, they take all workers, in proportion to their limits; without it the other
    workers stay idle. The tasks of one axis are done in proportion, so that its classes end together.
    """
    total = busy = loose = 0.0
    longest: tuple[Stretch, ...] = ()
    kinds, how_often = np.unique(counts, axis=0, return_counts=True)
    for kind, times in zip(kinds, how_often.tolist(), strict=True):
        left = {name: float(n) for name, n in zip(names, kind.tolist(), strict=True) if n > 0}
        stretches = []
        while left:
            axes = {
                a.name: [n for n in a.classes if n in left] for a in model.axes if any(n in left for n in a.classes)
            }
            q = conditional(model, list(axes), limits, steal)
            # The work that is left for the workers of an axis, in nanoseconds of one worker.
            work = {a: sum(left[n] * model.time(n, q) for n in mine) for a, mine in axes.items()}
            lasts = min(work[a] / q[a] for a in axes if q[a] > 0)
            for a, mine in axes.items():
                done = lasts * q[a] / work[a]
                for n in mine:
                    part = left[n] * min(done, 1.0)
                    loose += times * part * model.time(n, q) * model.extrapolated(n, q)
                    left[n] -= part
                    if done >= 1 - 1e-12:
                        del left[n]
                busy += times * lasts * q[a]
            stretches.append(Stretch(lasts, q))
        took = sum(s.time for s in stretches)
        if took > sum(s.time for s in longest):
            longest = tuple(stretches)
        total += times * took
    return Prediction(
        limits={a: float(p) for a, p in limits.items()},
        time=total,
        extrapolated=loose / busy if busy else 0.0,
        idle=max(0.0, 1 - busy / (model.workers * total)) if total else 0.0,
        stretches=longest,
    )


def conditional(model: Model, present: Sequence[str], limits: Mapping[str, float], steal: bool) -> dict[str, float]:
    """The number of workers for each axis that has tasks left: equations (6) to (8)."""
    limited = {a: float(limits[a]) for a in present if a in limits}
    free = [a for a in present if a not in limits]
    taken = sum(limited.values())
    if free:
        share = max(0.0, model.workers - taken) / len(free)
        return limited | dict.fromkeys(free, share)
    movable = sum(p for a, p in limited.items() if a not in model.exclusive)
    if not steal or not movable:
        return limited
    fixed = taken - movable
    stretch = (model.workers - fixed) / movable
    return {a: p if a in model.exclusive else p * stretch for a, p in limited.items()}


def best_case(model: Model, counts: Ints, names: Sequence[str]) -> float:
    """Nanoseconds if no worker ever waited and every task were as fast as the fastest: no allocation takes less."""
    per_task = [_fastest(model, n) for n in names]
    return float(counts.sum(axis=0) @ np.array(per_task)) / model.workers if len(names) else 0.0


def worst_case(model: Model, counts: Ints, names: Sequence[str]) -> float:
    """Nanoseconds if the tasks of each class ran on all workers before those of the next class."""
    axis_of = {n: a.name for a in model.axes for n in a.classes}
    whole = float(model.workers)
    per_task = [model.time(n, {axis_of[n]: whole}) if n in model.speeds else 0.0 for n in names]
    return float(counts.sum(axis=0) @ np.array(per_task)) / model.workers if len(names) else 0.0


def _fastest(model: Model, name: str) -> float:
    return min([model.min[name], *(s.time for s in model.speeds[name].table.values())]) if name in model.speeds else 0.0
