"""How long each task ran beside how many others: one equation per task."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..errors import Error, compose
from .workload import Floats, Ints, Workload

MOST_STATES = 512
"""More states than this occur only with many workers and many axes. One column for each would not fit into memory."""
_CHUNK = 1 << 20
"""Number of stretches that are added up at a time."""


@dataclass(frozen=True)
class Axis:
    """Classes of tasks that are counted together."""

    name: str
    classes: tuple[str, ...]

    @staticmethod
    def of(*classes: str) -> Axis:
        return Axis("+".join(classes), classes)


@dataclass(frozen=True)
class Equations:
    """sum over states s of c(s) * time[j, s] = 1, for each task j of a class; times in nanoseconds."""

    states: Ints
    """Shape (states, axes): number of running tasks of each axis."""
    time: Floats
    """Shape (tasks, states)."""

    def __add__(self, other: Equations) -> Equations:
        """The equations of both, which have the same axes."""
        states, column = np.unique(np.concatenate([self.states, other.states]), axis=0, return_inverse=True)
        column = column.reshape(-1)
        time = np.zeros((len(self.time) + len(other.time), len(states)))
        time[: len(self.time), column[: len(self.states)]] = self.time
        time[len(self.time) :, column[len(self.states) :]] = other.time
        return Equations(states, time)


class _Sweep:
    """The numbers of running tasks of some axes over time.

    `segment_class`, `segment_row`: shape (segments,), the class and the task of each stretch of these axes. `begin`,
    `end`: shape (segments,), its first and last instant. `lasting`, `state`: shape (instants - 1,), the time between
    two instants in nanoseconds, and the row of `states` in that time. `states`: shape (states, axes).
    """

    def __init__(self, run: Workload, axes: Sequence[Axis]) -> None:
        self.axis_of = np.full(len(run.classes), -1, np.int64)
        for i, axis in enumerate(axes):
            for name in axis.classes:
                if name in run.classes:
                    self.axis_of[run.classes.index(name)] = i
        of_run = run.task_class[run.segment_task]
        counted = np.flatnonzero(self.axis_of[of_run] >= 0)
        self.segment_class, self.segment_row = of_run[counted], run.segment_task[counted]
        instants = np.concatenate([run.segment_begin[counted], run.segment_end[counted]])
        times, at = np.unique(instants, return_inverse=True)
        self.begin, self.end = at.reshape(2, -1)
        self.lasting = np.diff(times).astype(np.float64)
        running = np.zeros((len(axes), len(self.lasting)), np.int64)
        for i in range(len(axes)):
            mine = self.axis_of[self.segment_class] == i
            begun, ended = (np.bincount(which[mine], minlength=len(times)) for which in (self.begin, self.end))
            running[i] = np.cumsum(begun - ended)[:-1]
        radix = (run.workers + 1,) * len(axes)
        numbers, self.state = np.unique(np.ravel_multi_index(tuple(running), radix), return_inverse=True)
        self.states = np.stack(np.unravel_index(numbers, radix), axis=1)


def concurrency(run: Workload, axis: Axis) -> float:
    """The average number of running tasks of an axis, while any ran."""
    sweep = _Sweep(run, [axis])
    level = sweep.states[sweep.state, 0]
    ran = sweep.lasting[level > 0].sum()
    return float((sweep.lasting * level).sum() / ran) if ran else 0.0


def time_above(run: Workload, axis: Axis, limit: float) -> float:
    """Nanoseconds in which more than `limit` tasks of an axis ran."""
    sweep = _Sweep(run, [axis])
    return float(sweep.lasting[sweep.states[sweep.state, 0] > limit].sum())


def equations(run: Workload, axes: Sequence[Axis], names: Sequence[str]) -> dict[str, Equations]:
    """The equations of each class of `names`, whose axis must be among `axes`. Tasks of unknown own time have none.

    One sweep goes over the begins and ends of the tasks of all axes. Then each task adds up the stretches between two
    of these that it covers: O(n log n + n * workers) for n tasks. Raises `Error` if more than MOST_STATES states occur.
    """
    sweep = _Sweep(run, axes)
    out = {}
    for name in names:
        if name not in run.classes:
            out[name] = Equations(sweep.states[:0], np.zeros((0, 0)))
            continue
        code = run.classes.index(name)
        possible = np.flatnonzero(sweep.states[:, sweep.axis_of[code]] >= 1)
        if len(possible) > MOST_STATES:
            what = "too many states of the limited classes occur"
            raise Error(compose(what, len(possible), f"{MOST_STATES} at most: limit fewer classes"))
        column = np.full(len(sweep.states), -1, np.int64)
        column[possible] = np.arange(len(possible))
        tasks = np.flatnonzero((run.task_class == code) & (run.own > 0))
        row = np.full(len(run.task_class), -1, np.int64)
        row[tasks] = np.arange(len(tasks))
        mine = np.flatnonzero((sweep.segment_class == code) & (row[sweep.segment_row] >= 0))
        mine = mine[np.argsort(sweep.segment_row[mine], kind="stable")]
        time = _sums(
            row[sweep.segment_row[mine]],
            sweep.begin[mine],
            sweep.end[mine],
            column[sweep.state],
            sweep.lasting,
            len(tasks),
            len(possible),
        )
        occurs = time.any(axis=0)
        out[name] = Equations(sweep.states[possible[occurs]], time[:, occurs])
    return out


def _sums(row: Ints, begin: Ints, end: Ints, column: Ints, lasting: Floats, rows: int, columns: int) -> Floats:
    """Shape (rows, columns): sums of the stretches between `begin` and `end` (indices), by column. `row` ascends."""
    out = np.zeros((rows, columns))
    covered = np.cumsum(end - begin)
    first = 0
    while first < len(row):
        last = max(first + 1, int(np.searchsorted(covered, covered[first] + _CHUNK)))
        lengths = end[first:last] - begin[first:last]
        which = np.arange(lengths.sum()) + np.repeat(begin[first:last] - np.cumsum(lengths) + lengths, lengths)
        low, high = int(row[first]), int(row[last - 1]) + 1
        cell = (np.repeat(row[first:last], lengths) - low) * columns + column[which]
        out[low:high] += np.bincount(cell, lasting[which], (high - low) * columns).reshape(-1, columns)
        first = last
    return out
