"""What a trace says about contention: classes of tasks, how many of each ran when, and how long each took."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import polars as pl

from ..errors import Error
from ..trace.stats import class_name, critical_by_class
from ..trace.trace import Trace

Ints: TypeAlias = npt.NDArray[np.int64]
Floats: TypeAlias = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Need:
    """What the program itself declares that the tasks of a class need of a resource."""

    resource: str
    least: int
    most: int
    tasks: int


@dataclass(frozen=True)
class Workload:
    """The tasks of one trace. Times are nanoseconds.

    A phase is a stretch of time in which graphs run; between two phases no graph runs. A trace without graphs is one
    phase. Tasks that began outside of every phase (the root that runs the graphs), tasks of the runtime's own and
    cancelled ones are left out.
    """

    path: str
    workers: int
    classes: tuple[str, ...]
    task_class: Ints
    """Shape (tasks,): index into `classes`."""
    task_phase: Ints
    """Shape (tasks,)."""
    own: Ints
    """Shape (tasks,): time on top of a worker's stack; -1 if lost events make it unknown."""
    segment_task: Ints
    """Shape (segments,): row of the task."""
    segment_begin: Ints
    segment_end: Ints
    phases: Ints
    """Shape (phases, 2): begin and end."""
    limitable: frozenset[str] = frozenset()
    """Classes whose tasks all have a name and belong to graphs: a resources file can give these needs."""
    needs: dict[str, tuple[Need, ...]] = field(default_factory=dict)
    """By class."""
    suspended: dict[str, int] = field(default_factory=dict)
    """By class: number of tasks that waited inside."""
    refused: int = 0
    """Number of times that the gate kept a task: if it is not 0, the run was under limits already."""
    real_time: bool = False
    lost: int = 0
    complete: bool = True
    span: int = 0
    """The longest path of the whole trace."""
    critical: dict[str, int] = field(default_factory=dict)
    """By class: the part of it, in nanoseconds, that lies in its tasks."""

    @property
    def elapsed(self) -> int:
        """Sum of the phases' times."""
        return int((self.phases[:, 1] - self.phases[:, 0]).sum())

    def counts(self) -> Ints:
        """Shape (phases, classes): number of tasks."""
        out = np.zeros((len(self.phases), len(self.classes)), np.int64)
        np.add.at(out, (self.task_phase, self.task_class), 1)
        return out

    def own_of(self, name: str) -> Ints:
        """The known own times of a class."""
        own = self.own[self.task_class == self.classes.index(name)] if name in self.classes else self.own[:0]
        return own[own >= 0]


def workload(trace: Trace, skip: int = 0) -> Workload:
    """The tasks of a trace, without those of its first `skip` phases. Raises `Error` if none is left."""
    tasks = trace.tasks.unique("task", keep="last", maintain_order=True).with_columns(class_name().alias("class"))
    tasks = tasks.filter(
        pl.col("began").is_not_null()
        & (pl.col("origin").is_null() | (pl.col("origin") != "runtime"))
        & (pl.col("outcome").is_null() | (pl.col("outcome") != "cancelled"))
    ).with_columns(pl.max_horizontal("began", pl.col("ended").fill_null(trace.last)).alias("ended"))
    phases = _phases(tasks)
    if len(phases) <= skip:
        allowed = f"fewer than its {len(phases)} phases" if len(phases) else "a trace in which tasks ran"
        raise Error(
            f"{trace.path}: no task is left to analyse; given: the first {skip} phases left out; allowed: {allowed}"
        )
    began = tasks["began"].to_numpy()
    phase = np.searchsorted(phases[:, 0], began, side="right") - 1
    inside = (phase >= skip) & (began <= phases[np.maximum(phase, 0), 1])
    tasks = tasks.filter(pl.Series(inside)).with_row_index("row")
    classes = tuple(sorted(tasks["class"].unique().to_list()))
    codes = tasks["class"].replace_strict(list(classes), list(range(len(classes))), return_dtype=pl.Int64)
    segments = trace.segments.join(tasks.select("task", "row"), on="task").filter(pl.col("begin") < pl.col("end"))
    of_graphs = tasks.group_by("class").agg(
        (pl.col("name").is_not_null() & (pl.col("origin") == "graph")).all().alias("is")
    )
    return Workload(
        path=str(trace.path),
        workers=trace.header.workers,
        classes=classes,
        task_class=codes.to_numpy(),
        task_phase=phase[inside] - skip,
        own=tasks["own"].fill_null(-1).to_numpy(),
        segment_task=segments["row"].cast(pl.Int64).to_numpy(),
        segment_begin=segments["begin"].to_numpy(),
        segment_end=segments["end"].to_numpy(),
        phases=phases[skip:],
        limitable=frozenset(of_graphs.filter("is")["class"]),
        needs=_needs(trace, tasks),
        suspended=_suspended(trace, tasks),
        refused=trace.events.filter(pl.col("kind") == "refused").height,
        real_time=trace.header.time == "real",
        lost=trace.lost,
        complete=trace.complete,
        span=trace.span,
        critical=dict(critical_by_class(trace).iter_rows()),
    )


def _phases(tasks: pl.DataFrame) -> Ints:
    """Shape (phases, 2): when graphs ran, overlapping ones put together; without graphs, when any task ran."""
    if tasks.is_empty():
        return np.zeros((0, 2), np.int64)
    graphs = tasks.filter(pl.col("origin") == "graph")
    key = pl.col("group") if graphs.height else pl.lit(0)
    runs = (
        (graphs if graphs.height else tasks).group_by(key.alias("of")).agg(pl.col("began").min(), pl.col("ended").max())
    )
    runs = runs.sort("began", "ended")
    begin, end = runs["began"].to_numpy(), runs["ended"].to_numpy()
    latest = np.maximum.accumulate(end)
    first = np.append(True, begin[1:] > latest[:-1])
    last = np.append(first[1:], True)
    return np.stack([begin[first], latest[last]], axis=1)


def _needs(trace: Trace, tasks: pl.DataFrame) -> dict[str, tuple[Need, ...]]:
    """The needs from the `need` records, which belong to the last `spawn` of their stream."""
    events = trace.events.filter(pl.col("kind").is_in(["spawn", "need"]))
    if not (events["kind"] == "need").any():
        return {}
    spawned = pl.when(pl.col("kind") == "spawn").then(pl.col("a"))
    events = events.with_columns(spawned.forward_fill().over("stream").cast(pl.UInt32, strict=False).alias("task"))
    events = events.filter(pl.col("kind") == "need").join(tasks.select("task", "class"), on="task")
    found = events.group_by("class", "n").agg(
        pl.col("a").min().alias("least"), pl.col("a").max().alias("most"), pl.len().alias("tasks")
    )
    needs: dict[str, tuple[Need, ...]] = {}
    for name, number, least, most, count in found.sort("class", "n").iter_rows():
        resource = trace.names.get(number, str(number))
        if resource != "cores":  # the cores of a team, which resources files do not have
            needs[name] = (*needs.get(name, ()), Need(resource, least, most, count))
    return needs


def _suspended(trace: Trace, tasks: pl.DataFrame) -> dict[str, int]:
    waited = trace.events.filter(pl.col("kind") == "suspend").select(
        pl.col("a").cast(pl.UInt32, strict=False).alias("task")
    )
    found = tasks.join(waited.unique(), on="task", how="semi").group_by("class").len()
    return dict(found.iter_rows())
