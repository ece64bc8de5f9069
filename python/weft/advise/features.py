"""What the rules know of a program and of a machine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import polars as pl

from ..trace import Trace, layout
from ..trace.stats import class_name

Shape = Literal["graph", "tree", "flat"]

_INITIALISATION = 2**64 - 1
"""The number of the iteration that writes the first data."""
_LEAST_CLASS = 0.01
"""Part of the work that a kind of tasks must have to count as one."""


@dataclass(frozen=True)
class Program:
    """What a recorded run says of the program. Times are in seconds, virtual ones in the model; sizes in bytes."""

    work: float
    """T1, the sum of the tasks' own times."""
    span: float
    """Tinf, the longest path."""
    tasks: int
    """Number of tasks, forks included."""
    longest: float
    """The longest own time of a task."""
    shape: Shape
    """graph: most of the work is in tasks of graphs; tree: tasks spawn tasks that spawn tasks; flat: neither."""
    depth: int
    """Most spawns above a task."""
    widest: int
    """Most tasks that one task has spawned."""
    iterations: int
    """How often the program says that it begins an iteration, or runs one graph; 0: it says nothing."""
    footprint: int | None
    """Bytes of different data that the tasks declare. None: they declare none."""
    traffic: int
    """Bytes that the tasks declare to touch, each time counted."""
    memory: float | None
    """Share of the tasks' time in which they wait for shared caches and memory. None: not known, on real threads."""
    hints_work: bool
    """Tasks or groups say how much work they have."""
    hints_bytes: bool
    """Tasks or groups say how many bytes they work on."""
    graph_data: bool
    """Tasks of graphs declare what they access."""
    moldable: int
    """Number of tasks whose width the policy may choose."""
    kinds: int
    """Number of names of tasks, those with less than 1 % of the work left out."""
    spread: float
    """Standard deviation over mean of the own times of tasks of one name; the mean over the names, by work."""
    complete: bool
    """Whether the whole run was recorded: if not, the figures are of its first part."""

    @property
    def parallelism(self) -> float:
        """T1 / Tinf; 1 if the run was too short for the clock."""
        return self.work / self.span if self.span > 0 else 1.0

    @property
    def grain(self) -> float:
        """Mean own time of a task in seconds."""
        return self.work / self.tasks if self.tasks else 0.0

    @property
    def reuse(self) -> float:
        """How often the data are touched; 0 if none are declared."""
        return self.traffic / self.footprint if self.footprint else 0.0

    @classmethod
    def of(cls, trace: Trace) -> Program:
        """The features of a recorded run."""
        records = trace.records
        tasks = trace.tasks.filter(pl.col("origin").is_null() | (pl.col("origin") != "runtime"))
        own = tasks["own"].fill_null(0).to_numpy() * 1e-9
        graph_work = float(own[(tasks["origin"] == "graph").fill_null(False).to_numpy()].sum())
        depth, widest = _tree(tasks)
        touched = _of_kind(records, "touch")
        declared = np.concatenate([touched, _of_kind(records, "data")])
        hints = _of_kind(records, "hint")
        kinds, spread = _kinds(tasks)
        work = trace.work * 1e-9
        return cls(
            work=work,
            span=trace.span * 1e-9,
            tasks=len(tasks),
            longest=float(own.max(initial=0.0)),
            shape="graph" if 2 * graph_work > work else "tree" if depth > 2 else "flat",
            depth=depth,
            widest=widest,
            iterations=_iterations(records),
            footprint=_union(declared) if len(declared) else None,
            traffic=int((touched if len(touched) else declared)["b"].sum()),
            memory=_waiting_for_memory(trace),
            hints_work=bool((hints["a"].view(np.float64) > 0).any()),
            hints_bytes=bool((hints["b"] > 0).any()),
            graph_data=graph_work > 0 and len(_of_kind(records, "data")) > 0,
            moldable=_moldable(trace),
            kinds=kinds,
            spread=spread,
            complete=trace.complete and trace.lost == 0,
        )


@dataclass(frozen=True)
class Machine:
    """What the rules know of a machine. Sizes are in bytes."""

    name: str
    workers: int
    packages: int
    domains: int
    """Groups of cores, each under one last-level cache."""
    nodes: int
    """Memory nodes with cores."""
    cache: int
    """The smallest last-level cache of a domain; 0: none is described."""
    private: int
    """The largest cache that a core has alone; 0: none is described."""
    slowest: float
    """Speed of the slowest core over that of the fastest one."""
    far_ns: float
    """What the longest way of a task from core to core takes, nanoseconds; 0: the machine does not say it."""

    @classmethod
    def of(cls, described: Mapping[str, Any], workers: int | None = None) -> Machine:
        """From what `weft.machine` returns. `workers`: fewer than the machine has; they have the first cores."""
        count = min(workers or described["workers"], described["ranks"])
        used = range(count)

        def has(ranks: tuple[int, int]) -> bool:
            return bool(ranks[0] < count)

        def cores_of(ranks: tuple[int, int]) -> int:
            return ranks[1] - ranks[0]

        domains = [d for d in described["domains"] if has(d["ranks"])]
        last = [
            max((c for c in described["caches"] if _within(d["ranks"], c["ranks"])), key=lambda c: c["level"])
            for d in domains
            if any(_within(d["ranks"], c["ranks"]) for c in described["caches"])
        ]
        threads = described["ranks"] // described["cores"]
        private = [c["bytes"] for c in described["caches"] if cores_of(c["ranks"]) <= threads]
        speeds = [described["core_classes"][described["class_of_rank"][rank]]["speed"] for rank in used]
        figures = {f["figure"]: f["value"] for f in described.get("figures", ()) if f["value"] is not None}
        steals = [figures.get(f"steal.{way}_ns", 0.0) for way in ("same_domain", "same_package", "other_package")]
        return cls(
            name=described["name"],
            workers=count,
            packages=sum(has(p["ranks"]) for p in described["packages"]),
            domains=len(domains),
            nodes=sum(has(n["ranks"]) and cores_of(n["ranks"]) > 0 for n in described["memory_nodes"]),
            cache=min((c["bytes"] for c in last), default=0),
            private=max(private, default=0),
            slowest=min(speeds) / max(speeds),
            far_ns=max(steals),
        )

    @property
    def equal(self) -> bool:
        """Whether all cores are equally fast."""
        return self.slowest > 0.99


def _within(inner: tuple[int, int], outer: tuple[int, int]) -> bool:
    return outer[0] <= inner[0] and inner[1] <= outer[1]


def _of_kind(records: npt.NDArray[np.void], kind: str) -> npt.NDArray[np.void]:
    found: npt.NDArray[np.void] = records[records["kind"] == layout.KIND[kind]]
    return found


def _tree(tasks: pl.DataFrame) -> tuple[int, int]:
    """Most spawns above a task, and most tasks of one parent. A parent stands before its children."""
    if tasks.is_empty():
        return 0, 0
    numbers = tasks["task"].to_numpy()
    parents = tasks["parent"].fill_null(0).to_numpy()
    order = np.argsort(numbers, kind="stable")
    at = np.searchsorted(numbers[order], parents)
    at = np.minimum(at, len(order) - 1)
    row = np.where(numbers[order][at] == parents, order[at], -1)
    row = np.where(row < np.arange(len(row)), row, -1)
    above = (row >= 0).astype(np.int64)
    while (row >= 0).any():  # each round doubles the way to the ancestor that `row` is
        inside = np.flatnonzero(row >= 0)
        above[inside] += above[row[inside]]
        row[inside] = row[row[inside]]
    _, children = np.unique(parents[parents != 0], return_counts=True)
    return int(above.max()), int(children.max(initial=0))


def _iterations(records: npt.NDArray[np.void]) -> int:
    said = _of_kind(records, "iteration")["a"]
    runs = _of_kind(records, "graph")
    _, sizes = np.unique(runs["b"], return_counts=True)  # a graph that runs again has as many tasks again
    return max(int((said != _INITIALISATION).sum()), int(sizes.max(initial=0)))


def _union(declared: npt.NDArray[np.void]) -> int:
    """Bytes of the union of intervals."""
    first = declared["a"].astype(np.int64)
    last = first + declared["b"].astype(np.int64)
    order = np.argsort(first, kind="stable")
    first, last = first[order], np.maximum.accumulate(last[order])
    before = np.concatenate([first[:1], last[:-1]])
    return int(np.maximum(last - np.maximum(first, before), 0).sum())


def _waiting_for_memory(trace: Trace) -> float | None:
    rows = _of_kind(trace.records, "activity")
    if not len(rows):
        return None
    spent = (rows["at"] - rows["a"]).astype(np.float64)
    seconds = {name: float(spent[rows["what"] == i].sum()) for i, name in enumerate(layout.ACTIVITIES)}
    busy = seconds["compute"] + seconds["private stall"] + seconds["shared stall"]
    return seconds["shared stall"] / busy if busy > 0 else None


def _moldable(trace: Trace) -> int:
    needs = _of_kind(trace.records, "need")
    cores = [number for number, name in trace.names.items() if name == "cores"]
    return int((np.isin(needs["n"], cores) & (needs["b"] & 4 > 0)).sum())


def _kinds(tasks: pl.DataFrame) -> tuple[int, float]:
    named = tasks.filter(pl.col("name").is_not_null() & (pl.col("own").fill_null(-1) >= 0))
    by = named.group_by(class_name().alias("class")).agg(
        pl.col("own").sum().alias("total"), pl.col("own").mean().alias("mean"), pl.col("own").std(ddof=0).alias("std")
    )
    total, mean, std = (by[column].to_numpy().astype(np.float64) for column in ("total", "mean", "std"))
    counts = (mean > 0) & (total >= _LEAST_CLASS * total.sum())
    if not counts.any():
        return 0, 0.0
    return int(counts.sum()), float(np.average(std[counts] / mean[counts], weights=total[counts]))
