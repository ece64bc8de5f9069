"""How much other tasks slow down the tasks of a class, and what could be gained without that.

M. Tillenius, E. Larsson, R. M. Badia, X. Martorell: Resource-aware task scheduling. ACM TECS 2015, section 4.1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .workload import Workload

SENSITIVE = 0.5
"""A class with a larger sigma is sensitive: a quarter of its tasks take at least 1.5 times as long as the fastest."""


@dataclass(frozen=True)
class Sensitivity:
    """The own times of a class of tasks, in nanoseconds."""

    name: str
    count: int
    total: int
    min: int
    """m: time of the fastest task, in the serial trace if one is given."""
    q3: float
    max: int
    sigma: float | None
    """(Q3 - m) / m; above 1, a quarter of the tasks take more than twice as long as the fastest. None: m is 0."""
    serial: bool
    """Whether `min` comes from a serial trace."""


@dataclass(frozen=True)
class Reduction:
    """The gain if every task took as long as the fastest of its class: an upper bound, as a part of the whole."""

    of_thread_time: float
    """R = (T0 - sum n m) / T0, where T0 is the sum of all tasks' own times."""
    of_elapsed: float
    """The same with the elapsed time times the workers as T0."""


def sensitivities(runs: Sequence[Workload], serial: Workload | None = None) -> list[Sensitivity]:
    """The statistics of all classes of the runs, the largest total first. `serial`: a run of one worker, for the
    fastest times."""
    out = []
    for name in dict.fromkeys(name for run in runs for name in run.classes):
        own = np.concatenate([run.own_of(name) for run in runs])
        if not len(own):
            continue
        alone = serial.own_of(name) if serial else own[:0]
        m = int(alone.min() if len(alone) else own.min())
        q3 = float(np.quantile(own, 0.75))
        out.append(
            Sensitivity(
                name=name,
                count=len(own),
                total=int(own.sum()),
                min=m,
                q3=q3,
                max=int(own.max()),
                sigma=(q3 - m) / m if m else None,
                serial=len(alone) > 0,
            )
        )
    return sorted(out, key=lambda s: (-s.total, s.name))


def reduction(run: Workload, classes: Sequence[Sensitivity]) -> Reduction:
    """The reduction of one run, with the fastest times of `classes`."""
    least = {c.name: c.min for c in classes}
    ideal, thread_time = 0, 0
    for name in run.classes:
        own = run.own_of(name)
        ideal += len(own) * least.get(name, 0)
        thread_time += int(own.sum())
    whole = run.workers * run.elapsed
    return Reduction(
        of_thread_time=(thread_time - ideal) / thread_time if thread_time else 0.0,
        of_elapsed=(whole - ideal) / whole if whole else 0.0,
    )
