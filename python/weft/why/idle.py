"""Which tasks the idle workers waited for.

While workers have nothing to do, the tasks that run meanwhile are the reason: had they been cut into more pieces, the
idle workers would have had work. So each moment's idleness is divided among the tasks that run at that moment.
N. R. Tallent, J. M. Mellor-Crummey: Effective performance measurement and analysis of multithreaded applications.
PPoPP 2009.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import polars as pl

from ..trace.stats import class_name
from ..trace.trace import Trace

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Kind = Literal["long_piece", "no_parallelism", "short_runs", "waiting", "uneven"]

LONG = 0.4
"""A task is one long piece if it takes at least this part of its run."""
OTHERS = 0.1
"""And the other tasks of the run together at least this part of it: else the run has no parallelism."""
SHORT_NS = 150_000
"""A run is short below this: waking a worker takes a considerable part of it."""
FEW = 1.3
"""A run whose work is below this many times its span-like time has no parallelism."""
MOST_RUNS = 2000
"""Runs that are looked at one by one."""
GREEDY = 1.25
"""A run that takes more than this many times what any greedy scheduler needs for it is kept back by the scheduler."""
WAITING = 0.5
"""Idleness is for waiting tasks if tasks waited for a lock or the like during at least this part of it."""


@dataclass(frozen=True)
class IdleRun:
    """One run, in seconds."""

    kind: Kind
    construct: str
    """The class of the task that the idle workers waited for most."""
    idle: float
    """Sum over the workers."""
    length: float
    work: float
    """Sum of the tasks' own times."""
    longest: float
    """Own time of the task that they waited for most."""
    begin: float
    """Of the run, or of the one long piece: seconds since 1970."""
    end: float
    tasks: int
    parallelism: float = 0.0
    """Its work over the longest path of any run: at least so many workers would have had something to do. 0: unknown,
    or the run takes about what a greedy scheduler needs for it."""


@dataclass(frozen=True)
class Idle:
    """The idleness of a traced run, in seconds, by run of the program."""

    runs: tuple[IdleRun, ...]
    total: float
    """Time in which workers looked for work or slept, between the beginnings and ends of runs; a sum over workers."""
    elapsed: float
    """Time of all runs together."""


def idle_of(trace: Trace) -> Idle:
    """Divides the idleness among the runs and their tasks."""
    tasks = trace.tasks.with_columns(class_name().alias("class"))
    bounds = _runs(tasks, trace.last)
    segments = trace.segments.join(tasks.select("task", "class"), on="task", how="left")
    segments = segments.filter(pl.col("begin") < pl.col("end")).sort("begin")
    idle = trace.idle.filter(pl.col("begin") < pl.col("end"))
    meter = _Meter(segments, idle)
    waits = _waits(trace)
    by_run = meter.idle(bounds[:, 0], bounds[:, 1])
    is_long = (bounds[:, 1] - bounds[:, 0]) >= SHORT_NS
    # The longest ones are looked at one by one; what is left beyond MOST_RUNS is treated like the short ones.
    looked_at = np.flatnonzero(is_long)
    looked_at = np.sort(looked_at[np.argsort(-by_run[looked_at], kind="stable")][:MOST_RUNS])
    ran = [_run(trace, segments, meter, waits, int(bounds[i, 0]), int(bounds[i, 1])) for i in looked_at]
    runs = [r for r in ran if r]
    rest = np.setdiff1d(np.arange(len(bounds)), looked_at)
    runs += _short(trace, segments, meter, bounds[rest])
    return Idle(tuple(runs), sum(r.idle for r in runs), float((bounds[:, 1] - bounds[:, 0]).sum()) * 1e-9)


def _short(trace: Trace, segments: pl.DataFrame, meter: _Meter, bounds: Ints) -> list[IdleRun]:
    """Runs that are told by their number and not one by one: each has the class that has most of the work in all of
    them."""
    if not len(bounds) or segments.is_empty():
        return []
    begin = segments["begin"].to_numpy()
    of = np.searchsorted(bounds[:, 0], begin, side="right") - 1
    inside = (of >= 0) & (begin < bounds[np.maximum(of, 0), 1])
    ns = (segments["end"].to_numpy() - begin).astype(np.float64)
    work = np.bincount(of[inside], ns[inside], len(bounds))
    count = np.bincount(of[inside], minlength=len(bounds))
    by_class = segments.filter(pl.Series(inside)).with_columns((pl.col("end") - pl.col("begin")).alias("ns"))
    ranked = by_class.group_by("class").agg(pl.col("ns").sum()).sort("ns", descending=True)["class"].to_list()
    construct = next((c for c in ranked if c != "(root)"), ranked[0] if ranked else "(root)")
    idle, began = meter.idle(bounds[:, 0], bounds[:, 1]), trace.header.began
    return [
        IdleRun(
            kind="short_runs",
            construct=construct,
            idle=float(idle[i]) * 1e-9,
            length=float(to - at) * 1e-9,
            work=float(work[i]) * 1e-9,
            longest=float(work[i]) * 1e-9,
            begin=began + at * 1e-9,
            end=began + to * 1e-9,
            tasks=int(count[i]),
        )
        for i, (at, to) in enumerate(bounds.tolist())
    ]


class _Meter:
    """Integrals over time of how many workers were idle and how many ran tasks."""

    def __init__(self, segments: pl.DataFrame, idle: pl.DataFrame) -> None:
        marks = [
            (segments["begin"], 1, 0),
            (segments["end"], -1, 0),
            (idle["begin"], 0, 1),
            (idle["end"], 0, -1),
        ]
        at = np.concatenate([m[0].to_numpy().astype(np.int64) for m in marks])
        run = np.concatenate([np.full(len(m[0]), m[1], np.int64) for m in marks])
        free = np.concatenate([np.full(len(m[0]), m[2], np.int64) for m in marks])
        order = np.argsort(at, kind="stable")
        self.at: Ints = at[order]
        running, idling = np.cumsum(run[order]), np.cumsum(free[order])
        steps = np.diff(self.at, append=self.at[-1:]).astype(np.float64)
        self._idle = _sums(idling * steps)
        self._blame = _sums(np.where(running > 0, idling / np.maximum(running, 1), 0.0) * steps)

    def idle(self, begin: Any, end: Any) -> Floats:
        """Idle time of all workers, in ns."""
        return self._between(self._idle, begin, end)

    def blame(self, begin: Any, end: Any) -> Floats:
        """The part of it that falls to one task that runs all the time, in ns."""
        return self._between(self._blame, begin, end)

    def _between(self, sums: Floats, begin: Any, end: Any) -> Floats:
        out: Floats = np.interp(end, self.at, sums) - np.interp(begin, self.at, sums)
        return out


def _sums(steps: Floats) -> Floats:
    return np.concatenate([[0.0], np.cumsum(steps)[:-1]]) if len(steps) else np.zeros(1)


def _runs(tasks: pl.DataFrame, last: int) -> Ints:
    """Shape (runs, 2): when roots ran, overlapping ones put together."""
    roots = tasks.filter((pl.col("origin") == "root") & pl.col("began").is_not_null())
    if roots.is_empty():
        return np.zeros((0, 2), np.int64)
    roots = roots.select(
        pl.coalesce("spawned", "began").alias("begin"), pl.col("ended").fill_null(last).alias("end")
    ).sort("begin", "end")
    begin, end = roots["begin"].to_numpy(), roots["end"].to_numpy()
    latest = np.maximum.accumulate(end)
    first = np.append(True, begin[1:] > latest[:-1])
    return np.stack([begin[first], latest[np.append(first[1:], True)]], axis=1).astype(np.int64)


def _waits(trace: Trace) -> Ints:
    """Shape (waits, 2): when tasks waited for a lock, a future or a time."""
    events = trace.events_of("suspend", "resume").filter(pl.col("at") >= 0)
    if events.is_empty():
        return np.zeros((0, 2), np.int64)
    rows = events.select("at", "kind", "what", "a").sort("a", "at", maintain_order=True)
    nxt = rows.with_columns(
        pl.col("at").shift(-1).over("a").alias("until"), pl.col("kind").shift(-1).over("a").alias("then")
    )
    waits = nxt.filter((pl.col("kind") == "suspend") & (pl.col("what") == _UNBLOCKED) & (pl.col("then") == "resume"))
    return np.stack([waits["at"].to_numpy(), waits["until"].to_numpy()], axis=1).astype(np.int64)


_UNBLOCKED = 5


def _run(trace: Trace, segments: pl.DataFrame, meter: _Meter, waits: Ints, begin: int, end: int) -> IdleRun | None:
    length = end - begin
    idle = float(meter.idle(begin, end))
    low, high = (segments["begin"].search_sorted(at, side="left") for at in (begin, end))
    inside = segments[int(low) : int(high)]
    if inside.is_empty() or idle <= 0:
        return None
    blamed = inside.with_columns(
        pl.Series("blame", meter.blame(inside["begin"].to_numpy(), inside["end"].to_numpy())),
        (pl.col("end") - pl.col("begin")).alias("ns"),
    )
    by_task = blamed.group_by("task").agg(pl.col("blame").sum(), pl.col("ns").sum(), pl.col("class").first())
    top = by_task.sort("blame", descending=True).row(0, named=True)
    by_class = blamed.group_by("class").agg(pl.col("blame").sum(), pl.col("ns").sum())
    named = by_class.filter(pl.col("class") != "(root)")
    chosen = (by_class if named.is_empty() else named).sort("blame", "ns", descending=True)["class"][0]
    own_stretches = blamed.filter(pl.col("task") == top["task"]).sort("blame", descending=True)
    work, longest = float(blamed["ns"].sum()), float(top["ns"])
    # R. L. Graham: Bounds for certain multiprocessing anomalies. Bell System Technical Journal 1966.
    greedy = work / trace.header.workers + trace.span
    parallelism = work / trace.span if trace.span and length > GREEDY * greedy else 0.0
    kind = _kind(length, work, longest, float(top["blame"]) / idle, _overlap(waits, begin, end) / length)
    if parallelism and kind != "waiting":
        kind = "uneven"
    began = trace.header.began
    if kind == "long_piece":
        begin, end = int(own_stretches["begin"][0]), int(own_stretches["end"][0])
    return IdleRun(
        kind=kind,
        construct=str(top["class"] if kind == "long_piece" and top["class"] != "(root)" else chosen),
        idle=idle * 1e-9,
        length=length * 1e-9,
        work=work * 1e-9,
        longest=longest * 1e-9,
        begin=began + begin * 1e-9,
        end=began + end * 1e-9,
        tasks=by_task.height,
        parallelism=parallelism,
    )


def _kind(length: float, work: float, longest: float, blamed: float, waiting: float) -> Kind:
    """All in ns; `blamed`: the part of the idleness that one task has; `waiting`: the part of the run in which tasks
    waited."""
    if waiting >= WAITING:
        return "waiting"
    if longest >= LONG * length and blamed >= 0.5 and work - longest >= OTHERS * length:
        return "long_piece"
    if work < FEW * length:
        return "no_parallelism"
    return "uneven"


def _overlap(waits: Ints, begin: int, end: int) -> float:
    """The time in which any task waits."""
    clipped = np.clip(waits, begin, end)
    clipped = clipped[clipped[:, 1] > clipped[:, 0]]
    if not len(clipped):
        return 0.0
    clipped = clipped[np.argsort(clipped[:, 0])]
    latest = np.maximum.accumulate(clipped[:, 1])
    starts = np.append(clipped[0, 0], np.maximum(clipped[1:, 0], latest[:-1]))
    return float(np.maximum(latest - starts, 0).sum())
