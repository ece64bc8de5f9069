"""The contents of a page about a trace: a few facts, and columns of whole numbers."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from ...errors import Error, compose
from .. import layout
from ..colours import ACTIVITIES, OTHERS, of_classes
from ..stats import class_name, classes_by_work, stats
from ..trace import Trace
from .columns import LARGEST, Column, encode_all
from .constructs import Construct, Numbers, constructs
from .places import Places

UNKNOWN = -1
SEARCH, ASLEEP, LOST, FIRST_TASK = range(4)
"""What a worker does in a stretch: it looks for work, sleeps, does something unknown, or runs a task (its row +
FIRST_TASK)."""
INITIALISATION = 2**64 - 1
"""The number of the iteration that `weft::initialisation` begins."""
MOST_MARKS = 5000
_BEFORE = pl.col("end").cum_max().shift(1, fill_value=0).over("worker")
"""Up to when what stands above in a frame of stretches reaches, from the origin on."""


def head(trace: Trace, places: Places | None, tables: Tables) -> dict[str, Any]:
    """The facts besides the columns, as JSON."""
    figures, header = stats(trace), trace.header
    return {
        "file": trace.path.name,
        "program": Path(header.command[0]).name if header.command else "program",
        "command": list(header.command),
        "seed": header.seed,
        "weft": header.weft,
        "cores": list(header.cores),
        "machineText": header.machine_text,
        "stats": figures.to_json(),
        "origin": tables.origin,
        "last": tables.last,
        "workers": header.workers,
        "classes": tables.classes,
        "marks": tables.marks,
        "marksLeftOut": tables.marks_left_out,
        "constructs": [asdict(construct) for construct in tables.constructs],
        "distances": tables.distances,
        "origins": layout.ORIGINS,
        "starts": layout.STARTS,
        "outcomes": layout.OUTCOMES,
        "activities": [{"name": name, "colour": ACTIVITIES[name]} for name in layout.ACTIVITIES],
        "places": asdict(places) if places else None,
    }


class Tables:
    """A trace as columns. Rows of tasks are those of `trace.tasks`; other columns have them as row + 1, and 0 for none.

    Times are nanoseconds after `origin`, the first time of all. Raises `Error` if they are too far apart for a browser.
    """

    origin: int
    last: int
    classes: list[dict[str, str]]
    """Name and colour of each class; the class with the largest total comes first."""
    distances: list[float]
    constructs: list[Construct]
    marks: list[tuple[int, str]]
    """Time and name of the first MOST_MARKS beginnings of iterations, runs of graphs and groups with names."""
    marks_left_out: int
    columns: dict[str, Column]

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.tasks = trace.tasks
        self._rows = _Rows(self.tasks["task"].to_numpy())
        self.origin = trace.origin
        self.last = trace.last - self.origin
        self._find_marks()
        made = self._tasks() | self._calls() | self._stretches() | self._activities() | self._steals() | self._edges()
        try:
            self.columns = encode_all(made)
        except OverflowError:
            raise Error(
                f"{trace.path}: " + compose("times too far apart", f"{self.last} ns", f"at most {LARGEST} ns")
            ) from None

    # ---- tasks

    def _tasks(self) -> dict[str, tuple[Numbers, bool]]:
        tasks = self.tasks
        spawned = _since(tasks["spawned"], self.origin)
        began = _since(tasks["began"], self.origin)
        ended = _since(tasks["ended"], self.origin)
        return {
            "taskNumber": (_numbers(tasks["task"]), True),
            "taskClass": (of_class := self._classes(), False),
            "taskConstruct": (self._constructs(of_class), False),
            "taskOrigin": (_codes(tasks["origin"]), False),
            "taskParent": (self._rows(tasks["parent"].fill_null(0).to_numpy()), False),
            "taskSpawner": (self._spawners(), False),
            "taskWorker": (_numbers(tasks["worker"].fill_null(UNKNOWN)), False),
            "taskStart": (_codes(tasks["start"]), False),
            "taskOutcome": (_codes(tasks["outcome"]), False),
            "taskSpawned": (spawned, True),
            "taskBegan": (began, True),
            "taskEnded": (ended, True),
            "taskOwn": (_numbers(tasks["own"].fill_null(UNKNOWN)), False),
        } | self._joins()

    def _classes(self) -> Numbers:
        names = classes_by_work(self.tasks)
        colours = of_classes(names)
        self.classes = [{"name": name, "colour": colours.get(name, OTHERS)} for name in names]
        return _numbers(self.tasks.select(class_name().cast(pl.Enum(names)).to_physical()).to_series())

    def _spawners(self) -> Numbers:
        """The worker that spawned each task; UNKNOWN: a thread that is not a worker, or it is not known."""
        records = self.trace.records
        spawns = records[(records["kind"] == layout.KIND["spawn"]) & (records["stream"] < self.trace.header.workers)]
        spawner = np.full(len(self.tasks) + 1, UNKNOWN, np.int64)
        spawner[self._rows(spawns["a"])] = spawns["stream"]
        return spawner[1:]

    def _joins(self) -> dict[str, tuple[Numbers, bool]]:
        """`joinTask`, `joinAt`: where a task has waited. `taskJoin`: the join (row + 1) that waits for a task, 0: none.

        The first join behind an end is found by positions among the events, not by times: clocks differ a little.
        """
        tasks, ends = self.tasks, self.trace.events_of("end")
        ended = np.full(len(tasks) + 1, UNKNOWN, np.int64)
        ended[self._rows(ends["a"].to_numpy())] = ends["position"].to_numpy()
        waited = self.trace.events_of("waited").with_row_index("join", offset=1)
        waited = waited.with_columns(pl.Series("row", self._rows(waited["a"].to_numpy())))

        of_tasks = tasks.select(
            "group", "origin", pl.Series("position", ended[1:]), pl.int_range(1, pl.len() + 1).alias("row")
        )
        of_tasks = of_tasks.filter(pl.col("position") != UNKNOWN)
        children = of_tasks.filter(pl.col("origin") == "child")
        # The tasks of a graph do not name their group: they carry the number of their run.
        of_groups = waited.filter(pl.col("b") > 0)
        of_graphs = of_groups.join(children.select("group").unique(), left_on="b", right_on="group", how="anti")
        parents = self._rows(tasks["parent"].fill_null(0).to_numpy())
        graphs = of_tasks.filter(pl.col("origin") == "graph")
        graphs = graphs.with_columns(pl.Series("parent", parents[graphs["row"].to_numpy() - 1]))
        join = np.zeros(len(tasks) + 1, np.int64)
        for waiters, of, waited_for, key in ((of_groups, "b", children, "group"), (of_graphs, "row", graphs, "parent")):
            found = waited_for.sort("position").join_asof(
                waiters.select("position", "join", pl.col(of).alias(key)),
                on="position",
                by=key,
                strategy="forward",
                check_sortedness=False,
            )
            known = found.drop_nulls("join")
            join[known["row"].to_numpy()] = known["join"].to_numpy()
        forks = waited.filter(pl.col("b") == 0)
        join[self._rows(forks["n"].to_numpy())] = forks["join"].to_numpy()
        return {
            "taskJoin": (join[1:], False),
            "joinTask": (_numbers(waited["row"]), False),
            "joinAt": (_numbers(waited["at"]) - self.origin, True),
        }

    def _constructs(self, of_class: Numbers) -> Numbers:
        parents = self._rows(self.tasks["parent"].fill_null(0).to_numpy()) - 1
        self.constructs, of_task = constructs(of_class, parents, self.tasks["own"].fill_null(0).to_numpy())
        return of_task

    def _find_marks(self) -> None:
        events = self.trace.events_of("iteration", "graph", "group")
        names = self.trace.names
        marks = []
        for at, kind, a, n in events.select("at", "kind", "a", "n").iter_rows():
            if kind == "iteration":
                text = "initialisation" if a == INITIALISATION else f"iteration {a}"
                marks.append((at - self.origin, f"{text} begins"))
            elif kind == "graph":
                marks.append((at - self.origin, f"run {n} of a graph begins"))
            elif n in names:
                marks.append((at - self.origin, f"group {names[n]} is made"))
        self.marks, self.marks_left_out = marks[:MOST_MARKS], max(0, len(marks) - MOST_MARKS)

    def _calls(self) -> dict[str, tuple[Numbers, bool]]:
        calls = self.trace.calls
        return {
            "callTask": (self._rows(calls["task"].to_numpy()), True),
            "callBegin": (_numbers(calls["begin"]) - self.origin, True),
            "callEnd": (_numbers(calls["end"]) - self.origin, True),
            "callLane": (_numbers(calls["lane"]), False),
        }

    # ---- what workers do

    def _stretches(self) -> dict[str, tuple[Numbers, bool]]:
        segments, idle, records = self.trace.segments, self.trace.idle, self.trace.records
        gaps = records[(records["kind"] == layout.KIND["lost"]) & (records["stream"] < self.trace.header.workers)]
        ran = segments.select(
            pl.col("worker").cast(pl.Int32),
            "begin",
            "end",
            what=pl.Series(self._rows(segments["task"].to_numpy())) + (FIRST_TASK - 1),
        )
        idled = idle.select(
            pl.col("worker").cast(pl.Int32),
            "begin",
            "end",
            what=pl.when("asleep").then(ASLEEP).otherwise(SEARCH).cast(pl.Int64),
        )
        lost = pl.DataFrame({"worker": gaps["stream"].astype(np.int32), "end": gaps["at"].astype(np.int64)})
        lost = lost.select("worker", pl.col("end").alias("begin"), "end", what=pl.lit(LOST, pl.Int64))
        frame = pl.concat([lost, ran, idled]).sort("worker", "begin", maintain_order=True)
        frame = frame.with_columns(pl.col("begin", "end") - self.origin)
        # Events are missing since the last known event.
        frame = frame.with_columns(pl.when(pl.col("what") == LOST).then(_BEFORE).otherwise("begin").alias("begin"))
        return self._lanes("stretch", frame, delta=True)

    def _activities(self) -> dict[str, tuple[Numbers, bool]]:
        frame = self.trace.activities.select(
            "worker", pl.col("begin", "end") - self.origin, what=pl.col("what").to_physical()
        )
        return self._lanes("activity", frame.filter(pl.col("worker") < self.trace.header.workers), delta=False)

    def _lanes(self, name: str, frame: pl.DataFrame, delta: bool) -> dict[str, tuple[Numbers, bool]]:
        """Stretches by worker, ascending and disjoint: their number, the time since the one before, the length, what.

        Overlaps are cut. They only occur in files that no runtime has written.
        """
        frame = frame.with_columns(before=_BEFORE).with_columns(begin=pl.max_horizontal("begin", "before"))
        if not (whole := frame["begin"] < frame["end"]).all():
            frame = frame.filter(whole).with_columns(before=_BEFORE)
        counts = np.bincount(frame["worker"].to_numpy(), minlength=self.trace.header.workers)
        return {
            f"{name}Count": (counts.astype(np.int64), False),
            f"{name}Gap": (_numbers(frame["begin"] - frame["before"]), False),
            f"{name}Length": (_numbers(frame["end"] - frame["begin"]), False),
            f"{name}What": (_numbers(frame["what"]), delta),
        }

    # ---- between them

    def _steals(self) -> dict[str, tuple[Numbers, bool]]:
        workers = self.trace.header.workers
        steals = self.trace.steals.filter(pl.col("worker").is_between(0, workers - 1))
        steals = steals.filter(pl.col("victim").is_between(0, workers - 1))
        distance = steals["distance"].fill_nan(None)
        self.distances = distance.unique().drop_nulls().sort().to_list()
        codes = distance.replace_strict(self.distances, range(1, len(self.distances) + 1), default=0)
        return {
            "stealAt": (_numbers(steals["at"]) - self.origin, True),
            "stealThief": (_numbers(steals["worker"]), False),
            "stealVictim": (_numbers(steals["victim"]), False),
            "stealTask": (self._rows(steals["task"].to_numpy()), False),
            "stealDistance": (_numbers(codes), False),
        }

    def _edges(self) -> dict[str, tuple[Numbers, bool]]:
        edges = self.trace.records[self.trace.records["kind"] == layout.KIND["edge"]]
        before, behind = self._rows(edges["a"]), self._rows(edges["b"])
        known = (before > 0) & (behind > 0)
        return {"edgeFrom": (before[known], True), "edgeTo": (behind[known], True)}


class _Rows:
    """Row + 1 of the task of each number, 0 if there is none. A number that came again is the last task's."""

    def __init__(self, numbers: npt.NDArray[np.uint32]) -> None:
        largest = int(numbers.max(initial=0))
        # Each worker takes numbers by the thousand and need not use them up.
        self._dense = largest <= 16 * len(numbers) + 4_000_000
        if self._dense:
            self._table = np.zeros(largest + 1, np.uint32)
            self._table[numbers] = np.arange(1, len(numbers) + 1, dtype=np.uint32)
            self._table[0] = 0
        else:
            self._order = np.argsort(numbers, kind="stable")
            self._sorted = numbers[self._order]

    def __call__(self, numbers: npt.NDArray[np.integer]) -> Numbers:
        asked = numbers.astype(np.uint32)
        if self._dense:
            known = asked < len(self._table)
            return np.where(known, self._table[np.where(known, asked, 0)], 0).astype(np.int64)
        places = np.searchsorted(self._sorted, asked, side="right") - 1
        found = (places >= 0) & (self._sorted[places] == asked) & (asked > 0)
        return np.where(found, self._order[places] + 1, 0)


def _numbers(series: pl.Series) -> Numbers:
    return series.cast(pl.Int64).to_numpy()


def _since(times: pl.Series, origin: int) -> Numbers:
    return _numbers((times - origin).fill_null(UNKNOWN))


def _codes(words: pl.Series) -> Numbers:
    """Index in a closed list; 0: none, 1: the first."""
    return _numbers((words.to_physical().cast(pl.Int64) + 1).fill_null(0))
