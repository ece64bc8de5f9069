"""The speeds of the tasks of a class, by the number of tasks that run beside them.

M. Tillenius, E. Larsson, R. M. Badia, X. Martorell: Resource-aware task scheduling. ACM TECS 2015, sections 4.2.1 and
4.3.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, TypeAlias

import numpy as np

from .contention import Axis, Equations
from .workload import Floats, Ints

SMALL = 0.01
"""A column is small if its sum is below this part of the largest sum. What a row has in such columns is small if it is
below this part of the row. The paper's text has the tolerance as 100."""
UNDETERMINED = 0.5
"""A solved speed with a relative standard error above this is dropped: it is less than two standard errors from 0."""
FIRM = 0.1
"""A speed with a relative standard error above this is not firm."""
_WEAK = 1e-5
"""Weight of `neighbours are alike` against `neighbours lie on a line`. It decides only what the lines leave open."""

State: TypeAlias = tuple[int, ...]
Source: TypeAlias = Literal["solved", "interpolated", "extrapolated"]


@dataclass(frozen=True)
class Speed:
    """The speed of a class in one state."""

    state: State
    """Number of running tasks of each axis."""
    time: float
    """Nanoseconds per task."""
    source: Source
    """How it was found: `solved` from the tasks' times, else from neighbouring states."""
    seen: float
    """The part of the class's time that was spent in this state."""
    error: float | None
    """Relative standard error of the fit; None: not solved, or no more equations than unknowns."""

    @property
    def firm(self) -> bool:
        """Whether it is solved, and exact enough to build on."""
        return self.source == "solved" and (self.error is None or self.error <= FIRM)


@dataclass(frozen=True)
class Speeds:
    """The speeds of a class in every state in which at least one task of its axis runs."""

    name: str
    axes: tuple[Axis, ...]
    own: int
    """Index of the class's own axis."""
    table: dict[State, Speed]
    residual: float
    """Root of the mean square of (sum of c * time) - 1 over the tasks."""
    equations: int

    def time(self, q: Sequence[float]) -> float:
        """Nanoseconds per task while q tasks of each axis run, interpolated linearly between whole numbers.

        Of its own axis at least one task runs: t(0) = t(1).
        """
        return sum(weight * self.table[state].time for state, weight in self.corners(q))

    def extrapolated(self, q: Sequence[float]) -> float:
        """The part of time(q) that rests on speeds that are not firm."""
        parts = [(weight * self.table[state].time, self.table[state].firm) for state, weight in self.corners(q)]
        total = sum(part for part, _ in parts)
        return sum(part for part, firm in parts if not firm) / total

    def corners(self, q: Sequence[float]) -> list[tuple[State, float]]:
        """The whole states around q and their weights, which add up to 1."""
        choices = []
        for axis, value in enumerate(q):
            low = int(np.floor(value + 1e-9))
            beta = max(0.0, value - low)
            pair = [(low, 1 - beta)] + ([(low + 1, beta)] if beta > 1e-9 else [])
            choices.append([(max(1, level) if axis == self.own else level, weight) for level, weight in pair])
        weights: dict[State, float] = {}
        for combination in itertools.product(*choices):
            state = self._nearest(tuple(level for level, _ in combination))
            weights[state] = weights.get(state, 0.0) + float(np.prod([weight for _, weight in combination]))
        return list(weights.items())

    def _nearest(self, state: State) -> State:
        """`state`, or the nearest existing one: corners of a full allocation may have more tasks than workers."""
        if state in self.table:
            return state
        own, others = self.own, self._array
        distance = np.abs(others - np.array(state)).sum(axis=1) * len(others) + np.abs(others[:, own] - state[own])
        nearest: State = tuple(others[int(distance.argmin())].tolist())
        return nearest

    @cached_property
    def _array(self) -> Ints:
        return np.array(list(self.table), np.int64)


def said(s: Speeds, state: State) -> str:
    """A state in words: 2 copy + 1 read."""
    return " + ".join(f"{n} {axis.name}" for n, axis in zip(state, s.axes, strict=True) if n)


def states_of(workers: int, axes: int, own: int) -> Ints:
    """Shape (states, axes): all states with at least one task of the own axis and no more tasks than workers."""
    levels = [range(1 if axis == own else 0, workers + 1) for axis in range(axes)]
    return np.array([s for s in itertools.product(*levels) if sum(s) <= workers], np.int64).reshape(-1, axes)


def solve(name: str, axes: Sequence[Axis], own: int, workers: int, e: Equations) -> Speeds | None:
    """The speeds of a class from its tasks' equations; None if it has no equation.

    Least squares in steps, the well represented states first. Then one factor scales the speeds such that the work of
    all tasks together adds up to their number: if tasks of a class differ in size, least squares alone estimates them
    slower than they are.
    """
    if not e.time.size:
        return None
    unit = e.time.sum(axis=1).mean()
    speed, error = _in_steps(e.time / unit)
    solved = np.isfinite(speed)
    lattice = states_of(workers, len(axes), own)
    index = {tuple(s): i for i, s in enumerate(lattice.tolist())}
    known = np.full(len(lattice), np.nan)
    errors: list[float | None] = [None] * len(lattice)
    seen = np.zeros(len(lattice))
    column_of = [index[tuple(s)] for s in e.states.tolist()]
    for column, i in enumerate(column_of):
        seen[i] = e.time[:, column].sum() / e.time.sum()
        if solved[column]:
            known[i] = speed[column]
            errors[i] = error[column]
    if not solved.any():
        # The states cannot be distinguished: all tasks count as if they had run in one state.
        known[column_of[int(e.time.sum(axis=0).argmax())]] = 1.0
    filled, between = fill(lattice, known, own)
    work = (e.time / unit) @ filled[column_of]
    filled = filled * (len(work) / work.sum())
    work = work * (len(work) / work.sum())
    table = {}
    for i, state in enumerate(lattice.tolist()):
        is_solved = bool(np.isfinite(known[i])) and bool(solved.any())
        source: Source = "solved" if is_solved else "interpolated" if between[i] else "extrapolated"
        table[tuple(state)] = Speed(tuple(state), float(unit / filled[i]), source, float(seen[i]), errors[i])
    return Speeds(name, tuple(axes), own, table, float(np.sqrt(np.mean((work - 1) ** 2))), len(e.time))


def _in_steps(a: Floats) -> tuple[Floats, list[float | None]]:
    """Speeds by column, NaN if the rows do not determine them, and their relative standard errors."""
    count = a.shape[1]
    speed = np.full(count, np.nan)
    error: list[float | None] = [None] * count
    rows = np.ones(len(a), bool)
    b = np.ones(len(a))
    whole = left = a.sum(axis=1)
    """The sums of each row over all columns, and over the unsolved ones."""
    open_columns, aside = set(range(count)), set[int]()
    while candidates := sorted(open_columns - aside):
        sums = a[rows].sum(axis=0)
        largest = max(sums[c] for c in candidates)
        good = [c for c in candidates if sums[c] >= SMALL * largest and sums[c] > 0]
        if not good:
            break
        small = sorted(open_columns - set(good))
        chosen = rows & (a[:, small].sum(axis=1) <= SMALL * left) & (a[:, good].sum(axis=1) > 0)
        c, relative, bad = _least_squares(a[np.ix_(chosen, good)], b[chosen])
        if bad is not None:
            aside.add(good[bad])
            continue
        for column, value, err in zip(good, c, relative, strict=True):
            speed[column], error[column] = value, err
        open_columns -= set(good)
        aside.clear()
        b = b - a[:, good] @ c
        left = a[:, sorted(open_columns)].sum(axis=1)
        # A row with hardly anything left would only show how well the others fit.
        rows &= (b > 0) & (left > SMALL * whole)
    return speed, error


def _least_squares(a: Floats, b: Floats) -> tuple[Floats, list[float | None], int | None]:
    """The solution, its relative standard errors, and None; or, if there is none, the column that prevents it."""
    size = np.sqrt((a * a).sum(axis=0))
    if len(a) < a.shape[1] or not size.all():
        return b, [], int(size.argmin())
    c, _, rank, _ = np.linalg.lstsq(a / size, b, rcond=1e-6)
    if rank < a.shape[1]:
        return b, [], int(size.argmin())
    c = c / size
    if (c <= 0).any():
        return b, [], int(c.argmin())
    freedom = len(a) - a.shape[1]
    if freedom == 0:
        return c, [None] * len(c), None
    variance = float(((a @ c - b) ** 2).sum()) / freedom
    covariance = np.linalg.pinv((a / size).T @ (a / size)) * variance
    relative = np.sqrt(np.maximum(np.diag(covariance), 0)) / size / c
    return c, relative.tolist(), int(relative.argmax()) if relative.max() > UNDETERMINED else None


def fill(lattice: Ints, known: Floats, own: int) -> tuple[Floats, list[bool]]:
    """Fills in the unknown speeds (NaN) of all states, and says of each such state whether it lies between known ones.

    Neighbours in a row lie on a line, c(r - 1) - 2 c(r) + c(r + 1) = 0, for rows along one axis and for rows in which a
    task of one axis replaces a task of another. A speed that would be negative or zero is that of the nearest known
    state, such that the throughput of the own axis is the same as there.
    """
    unknown = np.flatnonzero(~np.isfinite(known))
    if not len(unknown):
        return known.copy(), [True] * len(lattice)
    index = {tuple(s): i for i, s in enumerate(lattice.tolist())}
    steps = _directions(lattice.shape[1])
    place = {int(i): n for n, i in enumerate(unknown)}
    rows: list[tuple[list[tuple[int, float]], float]] = []
    between = [False] * len(lattice)
    for i, state in enumerate(lattice):
        for step in steps:
            before, after = index.get(tuple((state - step).tolist())), index.get(tuple((state + step).tolist()))
            if before is not None and after is not None and any(n in place for n in (before, i, after)):
                rows.append(([(before, 1.0), (i, -2.0), (after, 1.0)], 1.0))
            if after is not None and (i in place or after in place):
                rows.append(([(i, -1.0), (after, 1.0)], _WEAK))
            if i in place:
                between[i] |= _sees(state, step, index, known) and _sees(state, -step, index, known)
    a, b = np.zeros((len(rows), len(unknown))), np.zeros(len(rows))
    for row, (terms, weight) in enumerate(rows):
        for i, factor in terms:
            if i in place:
                a[row, place[i]] += weight * factor
            else:
                b[row] -= weight * factor * known[i]
    out = known.copy()
    out[unknown] = np.linalg.lstsq(a, b, rcond=None)[0] if len(rows) else np.nanmean(known)
    there = np.flatnonzero(np.isfinite(known))
    for i in unknown.tolist():
        if not out[i] > 0.01 * known[there].min():
            nearest = int(there[np.abs(lattice[there] - lattice[i]).sum(axis=1).argmin()])
            out[i] = known[nearest] * min(1.0, lattice[nearest, own] / lattice[i, own])
    return out, between


def _directions(axes: int) -> Iterable[Ints]:
    unit = np.eye(axes, dtype=np.int64)
    return [*unit, *(unit[i] - unit[j] for i in range(axes) for j in range(i))]


def _sees(state: Ints, step: Ints, index: dict[State, int], known: Floats) -> bool:
    """Whether there is a known state in that direction."""
    at = state + step
    while (i := index.get(tuple(at.tolist()))) is not None:
        if np.isfinite(known[i]):
            return True
        at = at + step
    return False
