"""How long each task ran beside how many others: one equation a task."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..errors import Error, compose
from .workload import Floats, Ints, Workload

MOST_STATES = 512
"""More states than that occur only where many workers meet many axes; one column each would not fit."""
_CHUNK = 1 << 20
"""Stretches that are added up at a time."""


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
    """Shape (states, axes): how many tasks of each axis run."""
    time: Floats
    """Shape (tasks, states)."""

    def __add__(self, other: Equations) -> Equations:
        """Those of both, of the same axes."""
        states, column = np.unique(np.concatenate([self.states, other.states]), axis=0, return_inverse=True)
        column = column.reshape(-1)
        time = np.zeros((len(self.time) + len(other.time), len(states)))
        time[: len(self.time), column[: len(self.states)]] = self.time
        time[len(self.time) :, column[len(self.states) :]] = other.time
        return Equations(states, time)


def equations(run: Workload, axes: Sequence[Axis], names: Sequence[str]) -> dict[str, Equations]:
    """For each class of `names`, whose axis must be among `axes`; tasks whose own time is not known have none.

    One sweep over the begins and ends of the tasks of all axes; then each task adds up the stretches between two of
    these that it covers: O(n log n + n * workers) for n tasks. Raises `Error` where more than MOST_STATES states occur.
    """
    axis_of = np.full(len(run.classes), -1, np.int64)
    for i, axis in enumerate(axes):
        for name in axis.classes:
            if name in run.classes:
                axis_of[run.classes.index(name)] = i
    segment_class = run.task_class[run.segment_task]
    counted = np.flatnonzero(axis_of[segment_class] >= 0)
    segment_class, segment_row = segment_class[counted], run.segment_task[counted]
    times, at = np.unique(np.concatenate([run.segment_begin[counted], run.segment_end[counted]]), return_inverse=True)
    begin_at, end_at = at.reshape(2, -1)
    lasting = np.diff(times).astype(np.float64)
    running = np.zeros((len(axes), max(len(times) - 1, 0)), np.int64)
    for i in range(len(axes)):
        mine = axis_of[segment_class] == i
        change = np.bincount(begin_at[mine], minlength=len(times)) - np.bincount(end_at[mine], minlength=len(times))
        running[i] = np.cumsum(change)[:-1]
    radix = (run.workers + 1,) * len(axes)
    numbers, state = np.unique(np.ravel_multi_index(tuple(running), radix), return_inverse=True)
    states = np.stack(np.unravel_index(numbers, radix), axis=1)

    out = {}
    for name in names:
        if name not in run.classes:
            out[name] = Equations(states[:0], np.zeros((0, 0)))
            continue
        code = run.classes.index(name)
        possible = np.flatnonzero(states[:, axis_of[code]] >= 1)
        if len(possible) > MOST_STATES:
            what = "too many states of the limited classes occur"
            raise Error(compose(what, len(possible), f"{MOST_STATES} at most: limit fewer classes"))
        column = np.full(len(states), -1, np.int64)
        column[possible] = np.arange(len(possible))
        tasks = np.flatnonzero((run.task_class == code) & (run.own > 0))
        row = np.full(len(run.task_class), -1, np.int64)
        row[tasks] = np.arange(len(tasks))
        mine = np.flatnonzero((segment_class == code) & (row[segment_row] >= 0))
        mine = mine[np.argsort(segment_row[mine], kind="stable")]
        time = _sums(
            row[segment_row[mine]], begin_at[mine], end_at[mine], column[state], lasting, len(tasks), len(possible)
        )
        occurs = time.any(axis=0)
        out[name] = Equations(states[possible[occurs]], time[:, occurs])
    return out


def _sums(row: Ints, begin: Ints, end: Ints, column: Ints, lasting: Floats, rows: int, columns: int) -> Floats:
    """Shape (rows, columns): what lasts between `begin` and `end` (indices), by column. `row` ascends."""
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
