"""The figures of a trace."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from .trace import Trace


@dataclass(frozen=True)
class WorkerTime:
    """What a worker did with the time of the trace, in nanoseconds."""

    worker: int
    core: int
    busy: int
    """Time in which it ran tasks."""
    searching: int
    asleep: int
    overhead: int
    """The rest: the time between tasks. Where events were lost it also holds the time about which nothing is known."""
    tasks: int
    """Number of tasks that began on it."""
    steals: int


@dataclass(frozen=True)
class TaskClass:
    """The own times of the tasks of one class, in nanoseconds: those of one name; without a name, those of one place in
    the program's source; without either, those of one origin."""

    name: str
    count: int
    """Number of tasks that began and whose own time is known."""
    total: int
    min: int
    median: float
    q3: float
    max: int
    critical: int
    """The part of the longest path, in nanoseconds, that lies in tasks of this name."""


@dataclass(frozen=True)
class Stats:
    """The figures of a trace. Times are in nanoseconds. A figure that the trace does not show is None."""

    path: str
    engine: str
    policy: str
    machine: str
    time_kind: str
    """`real` or `virtual`."""
    elapsed: int
    """Time from the first spawn to the last end of a task."""
    events: int
    tasks: int
    lost: int
    complete: bool
    workers: list[WorkerTime]
    balance: float | None
    """Busy time of the average worker over that of the busiest one; 1: all were equally busy."""
    steals: dict[float, int]
    """Number of steals by distance between thief and victim."""
    classes: list[TaskClass]
    """The class with the largest total comes first."""
    work: int
    """T1, the sum of the tasks' own times."""
    span: int
    """Tinf, the longest path."""
    parallelism: float | None
    """T1 / Tinf."""
    bound: int
    """max(T1 / p, Tinf): no schedule of this run's tasks takes less, if a task costs the same everywhere."""
    notes: list[str]
    """What the trace does not show, as texts."""

    def to_json(self) -> dict[str, Any]:
        """The same for JSON. Distances become texts."""
        return asdict(self) | {"steals": {f"{d:g}": n for d, n in self.steals.items()}}


def stats(trace: Trace) -> Stats:
    """The figures of a trace."""
    header, tasks = trace.header, trace.tasks
    begin, end = _window(trace)
    steals = trace.steals
    workers = _workers(trace, begin, end, steals["worker"].to_numpy())
    busy = [w.busy for w in workers]
    distances = steals.group_by("distance").len().sort("distance")
    work, span = trace.work, trace.span
    return Stats(
        path=str(trace.path),
        engine=header.engine,
        policy=header.policy,
        machine=header.machine,
        time_kind=header.time,
        elapsed=end - begin,
        events=len(trace.records),
        tasks=len(tasks),
        lost=trace.lost,
        complete=trace.complete,
        workers=workers,
        balance=sum(busy) / len(busy) / max(busy) if max(busy) > 0 else None,
        steals=dict(distances.iter_rows()),
        classes=_classes(trace),
        work=work,
        span=span,
        parallelism=work / span if span > 0 else None,
        bound=max(-(-work // header.workers), span),
        notes=_notes(trace),
    )


def _window(trace: Trace) -> tuple[int, int]:
    begin, end = trace.tasks["spawned"].min(), trace.tasks["ended"].max()
    if not isinstance(begin, int) or not isinstance(end, int):
        return trace.first, trace.last
    return begin, max(end, begin)


def _workers(trace: Trace, begin: int, end: int, thieves: npt.NDArray[np.int32]) -> list[WorkerTime]:
    count = trace.header.workers

    def by_worker(frame: pl.DataFrame) -> list[int]:
        inside = frame.select(
            "worker", time=(pl.col("end").clip(begin, end) - pl.col("begin").clip(begin, end)).cast(pl.Int64)
        )
        sums = dict(inside.group_by("worker").sum().iter_rows())
        return [sums.get(w, 0) for w in range(count)]

    busy = by_worker(trace.segments)
    searching = by_worker(trace.idle.filter(~pl.col("asleep")))
    asleep = by_worker(trace.idle.filter(pl.col("asleep")))
    began = dict(trace.tasks.drop_nulls("worker").group_by("worker").len().iter_rows())
    stole = np.bincount(thieves[thieves < count], minlength=count)
    return [
        WorkerTime(
            worker=w,
            core=trace.header.cores[w],
            busy=busy[w],
            searching=searching[w],
            asleep=asleep[w],
            overhead=max(0, end - begin - busy[w] - searching[w] - asleep[w]),
            tasks=began.get(w, 0),
            steals=int(stole[w]),
        )
        for w in range(count)
    ]


def class_name() -> pl.Expr:
    """The class of each task: its name, else its place in the program's source, else its origin."""
    return pl.coalesce("name", "place", pl.format("({})", pl.col("origin").cast(pl.String)), pl.lit("(unknown)"))


def classes_by_work(tasks: pl.DataFrame) -> list[str]:
    """The names of all classes, the one with the largest total of own times first."""
    totals = tasks.group_by(class_name().alias("class")).agg(pl.col("own").sum())
    return totals.sort("own", "class", descending=[True, False])["class"].to_list()


def critical_by_class(trace: Trace) -> pl.DataFrame:
    """One row a class: `class`, and `critical`, the nanoseconds of the longest path that lie in its tasks."""
    stretch = pl.col("end") - pl.col("begin")
    return trace.critical_path.group_by(class_name().alias("class")).agg(stretch.sum().alias("critical"))


def _classes(trace: Trace) -> list[TaskClass]:
    own = pl.col("own")
    critical = critical_by_class(trace)
    figures = (
        trace.tasks.drop_nulls("own")
        .group_by(class_name().alias("class"))
        .agg(
            own.count().alias("count"),
            own.sum().alias("total"),
            own.min().alias("min"),
            own.median().alias("median"),
            own.quantile(0.75, "linear").alias("q3"),
            own.max().alias("max"),
        )
        .join(critical, on="class", how="left")
        .with_columns(pl.col("critical").fill_null(0))
        .sort("total", "class", descending=[True, False])
    )
    return [TaskClass(*row) for row in figures.iter_rows()]


def _notes(trace: Trace) -> list[str]:
    notes = []
    if trace.lost:
        unknown = trace.tasks["own"].null_count()
        notes.append(
            f"{trace.lost} events were lost: own times of {unknown} tasks are not known; work and span are at least "
            "what is shown, and overhead holds the time that no event describes"
        )
    if not trace.complete:
        notes.append("the file ends before the process did: what came later is not in these figures")
    if not len(trace.tasks):
        notes.append("no task began")
    notes += trace.place_notes
    return notes
