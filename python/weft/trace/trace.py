"""The contents of a trace as tables."""

from __future__ import annotations

import heapq
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import polars as pl

from .. import _core
from . import layout
from .places import CodeAddress, Place, resolve

Records: TypeAlias = npt.NDArray[np.void]


@dataclass(frozen=True)
class Header:
    """The runtime's description of itself, from the beginning of the trace."""

    weft: str
    """Version of the library."""
    engine: str
    """`threads` or `model`."""
    policy: str
    """As given to the runtime."""
    seed: int
    workers: int
    cores: tuple[int, ...]
    """Rank of the machine's core for each worker."""
    machine: str
    machine_text: str
    """Description of the machine, several lines."""
    resources: str
    """The resources of WEFT_RESOURCES, a TOML text; empty: none."""
    command: tuple[str, ...]
    process: int
    began: float
    """Seconds since 1970."""
    time: str
    """`real` or `virtual`."""

    @staticmethod
    def of(fields: Mapping[str, Any]) -> Header:
        """From the JSON object of the file. Raises ValueError, TypeError or KeyError if it is wrong."""
        workers = fields["workers"]
        if type(workers) is not int or not 1 <= workers < layout.OUTSIDE:
            raise ValueError(f"workers: {workers!r}")
        cores = tuple(int(c) for c in fields["cores"])
        if len(cores) != workers:
            raise ValueError(f"cores of {len(cores)} workers")
        if fields["time"] not in ("real", "virtual"):
            raise ValueError(f"time: {fields['time']!r}")
        return Header(
            weft=str(fields["weft"]),
            engine=str(fields["engine"]),
            policy=str(fields["policy"]),
            seed=int(fields["seed"]),
            workers=workers,
            cores=cores,
            machine=str(fields["machine"]["name"]),
            machine_text=str(fields["machine"]["description"]),
            resources=str(fields.get("resources", "")),
            command=tuple(str(word) for word in fields["command"]),
            process=int(fields["process"]),
            began=float(fields["began"]),
            time=fields["time"],
        )


class Trace:
    """A trace, made by `read_trace`. Times are in nanoseconds since the trace began.

    Each table is made at first use and kept.
    """

    path: Path
    header: Header
    names: dict[int, str]
    """Names by number."""
    codes: dict[int, CodeAddress]
    """Addresses of code by number. A number that has a name, too, is that of the name's first task."""
    records: Records
    """The records as they stand in the file, one structured array."""
    lost: int
    """Number of events that found no room. If it is not 0, what the tables cannot know is null or missing."""
    complete: bool
    """Whether the process ended in order and the file has all of the trace."""

    def __init__(
        self,
        path: Path,
        header: Header,
        names: dict[int, str],
        records: Records,
        lost: int,
        complete: bool,
        codes: Mapping[int, CodeAddress] | None = None,
    ) -> None:
        self.path, self.header, self.names, self.records = path, header, names, records
        self.lost, self.complete, self.codes = lost, complete, dict(codes or {})

    def __repr__(self) -> str:
        return (
            f"<weft.Trace {self.path}: {len(self.records)} events, {self.header.workers} workers, "
            f"lost {self.lost}, {'complete' if self.complete else 'incomplete'}>"
        )

    # ---- names

    @property
    def places(self) -> dict[int, Place]:
        """The constructs of the program's source, by number, as far as its files have symbols: see `Place`."""
        return self._resolved[0]

    @property
    def place_notes(self) -> list[str]:
        """Why places have no names: of each program or library that is gone, has changed or is damaged."""
        return self._resolved[1]

    @cached_property
    def _resolved(self) -> tuple[dict[int, Place], list[str]]:
        return resolve(self.codes, self.header.began)

    # ---- tables

    @cached_property
    def events(self) -> pl.DataFrame:
        """All records by time, as far as the workers' clocks agree, a cause before its effects.

        `ready` stands where it was written, and is stamped with an earlier time.

        Columns: `at` (ns), `stream` (a worker; 65535: threads that are not workers), `kind`, `what`, `n`, `a`, `b`.
        docs/trace-format.md says what they mean for each kind.
        """
        return self._events(self._walked["order"])

    def events_of(self, *kinds: str) -> pl.DataFrame:
        """The `events` of the given kinds, with their `position` among all events. Cheaper than filtering `events`."""
        order = self._walked["order"]
        positions = np.flatnonzero(np.isin(self.records["kind"], [layout.KIND[k] for k in kinds])[order])
        return self._events(order[positions]).with_columns(pl.Series("position", positions))

    def _events(self, rows: npt.NDArray[np.uint32]) -> pl.DataFrame:
        columns: dict[str, pl.Series] = {}
        for name in ("at", "stream", "kind", "what", "n", "a", "b"):
            column = self.records[name][rows]
            columns[name] = pl.Series(name, column.astype(np.int64) if name == "at" else column)
        columns["kind"] = _words("kind", columns["kind"], layout.KINDS)
        return pl.DataFrame(columns)

    @cached_property
    def tasks(self) -> pl.DataFrame:
        """One row a task, in the order in which they are first mentioned.

        `task` (number), `name` (given by the program), `place` (name of the place in its source: `heat.cpp:41`),
        `origin` (root, child, fork, graph, share; runtime: the runtime's own, such as the
        forks by which a run of a graph spreads), `parent` (the task that spawned it), `group` (address; for tasks of
        graphs the number of the run), `worker` (on which it began), `start` (fresh, below, inside), `spawned`, `began`,
        `ended` (ns), `outcome` (done, threw, cancelled), `own` (ns on top of a worker's stack, up to the end of the
        trace). Null: it never happened, or is unknown.
        """
        t = self._walked["tasks"]
        names = _by_number("name", self.names)
        places = _by_number("place", {number: p.name for number, p in self.places.items()})
        frame = pl.DataFrame(
            {
                "task": t["number"],
                "number": t["name"],
                "origin": _words("origin", pl.Series(t["origin"]), layout.ORIGINS),
                "parent": t["parent"],
                "group": t["group"],
                "worker": t["worker"],
                "start": _words("start", pl.Series(t["start"]), layout.STARTS),
                "spawned": t["spawned"],
                "began": t["began"],
                "ended": t["ended"],
                "outcome": _words("outcome", pl.Series(t["outcome"]), layout.OUTCOMES),
                "own": t["own"],
            }
        )
        for unknown, columns in ((0, ("parent", "group")), (-1, ("worker", "spawned", "began", "ended", "own"))):
            frame = frame.with_columns(pl.when(pl.col(c) != unknown).then(pl.col(c)).alias(c) for c in columns)
        for texts in (names, places):
            frame = frame.join(texts, on="number", how="left", maintain_order="left")
        first = ("task", "name", "place")
        return frame.select(*first, *(c for c in frame.columns if c not in (*first, "number")))

    @cached_property
    def segments(self) -> pl.DataFrame:
        """The tasks that each worker ran, ascending and disjoint: `worker`, `task`, `begin`, `end` (ns)."""
        frame = pl.DataFrame({name: self._walked["segments"][name] for name in ("worker", "task", "begin", "end")})
        return frame.sort("worker", maintain_order=True)

    @cached_property
    def idle(self) -> pl.DataFrame:
        """The times at which each worker looked for work or slept: `worker`, `asleep`, `begin`, `end` (ns)."""
        columns = self._walked["idle"]
        frame = pl.DataFrame(
            {
                "worker": columns["worker"],
                "asleep": columns["asleep"].astype(bool),
                "begin": columns["begin"],
                "end": columns["end"],
            }
        )
        return frame.sort("worker", maintain_order=True)

    @cached_property
    def activities(self) -> pl.DataFrame:
        """The activities of each worker in the model, ascending and disjoint: `worker`, `what` (one of
        layout.ACTIVITIES), `begin`, `end` (ns). Traces of real threads have none.
        """
        kind, what = self.records["kind"], self.records["what"]
        of = np.flatnonzero((kind == layout.KIND["activity"]) & (what < len(layout.ACTIVITIES)))
        frame = pl.DataFrame(
            {
                "worker": self.records["stream"][of].astype(np.int32),
                "what": _words("what", pl.Series(what[of]), layout.ACTIVITIES),
                "begin": self.records["a"][of].astype(np.int64),
                "end": self.records["at"][of].astype(np.int64),
            }
        )
        return frame.sort("worker", maintain_order=True)

    @cached_property
    def steals(self) -> pl.DataFrame:
        """Tasks that one worker got from another: `at` (ns), `worker` (the thief), `victim`, `task`, `distance` between
        them.

        These are the tasks that a thief found, and those that a victim exposed and did not take back. For the latter,
        `at` is the time of the exposure.
        """
        columns = ["at", "worker", "victim", "task", "distance"]
        events = self.events_of("steal", "expose", "returned")
        distances = pl.Series("distance", events["b"].to_numpy().view(np.float64))
        events = events.with_columns(distances, pl.col("a").alias("task"))
        found = events.filter(pl.col("kind") == "steal").with_columns(
            pl.col("stream").cast(pl.Int32).alias("worker"), pl.col("n").cast(pl.Int32, strict=False).alias("victim")
        )
        handed = (
            events.filter(pl.col("kind") != "steal")
            .with_columns((pl.col("kind").shift(-1).over("stream", "task") == "returned").alias("undone"))
            .filter(
                (pl.col("kind") == "expose") & (pl.col("n") < self.header.workers) & ~pl.col("undone").fill_null(False)
            )
            .with_columns(pl.col("n").cast(pl.Int32).alias("worker"), pl.col("stream").cast(pl.Int32).alias("victim"))
        )
        # The model writes both events for one steal. The same task may be stolen again, also by the same thief.
        each = ["worker", "task"]
        nth = pl.int_range(pl.len()).over(each).alias("nth")
        handed = handed.with_columns(nth).join(found.with_columns(nth), on=[*each, "nth"], how="anti")
        return pl.concat([found.select(columns), handed.select(columns)]).sort("at", maintain_order=True)

    @cached_property
    def calls(self) -> pl.DataFrame:
        """The calls of threads into the runtime, one row a root that no task has spawned, by `begin`: `task`, `name`,
        `begin` (its spawn), `end` (ns; the end of the trace, if it has not ended), `lane`.

        A trace does not tell such threads apart. Calls that overlap have different lanes, from 0 on: a lane is one
        thread, or several that called one after another. The time in a lane between two calls is outside of runs.
        """
        tasks = self.tasks.filter((pl.col("origin") == "root") & pl.col("parent").is_null())
        calls = tasks.select(
            "task",
            "name",
            pl.coalesce("spawned", "began").alias("begin"),
            pl.col("ended").fill_null(self.last).alias("end"),
        )
        calls = calls.drop_nulls("begin").with_columns(pl.max_horizontal("begin", "end").alias("end"))
        calls = calls.sort("begin", "task")
        lanes = _lanes(calls["begin"].to_list(), calls["end"].to_list())
        return calls.with_columns(pl.Series("lane", lanes, pl.UInt32))

    # ---- figures

    @property
    def origin(self) -> int:
        """The zero of pictures and pages: the time of the first thing that the tables tell of, in ns."""
        times = [self.tasks["spawned"].min(), self.tasks["began"].min(), self.activities["begin"].min(), self.first]
        return min(int(t) for t in times if isinstance(t, int))

    @property
    def first(self) -> int:
        """Time of the first event in ns; 0 if there is none."""
        return int(self._walked["first"])

    @property
    def last(self) -> int:
        """Time of the last event in ns; 0 if there is none."""
        return int(self._walked["last"])

    @property
    def work(self) -> int:
        """T1: the sum of the tasks' own times, in ns. If events were lost, T1 is larger than this."""
        own = self._walked["tasks"]["own"]
        return int(own[own > 0].sum())

    @property
    def span(self) -> int:
        """Tinf: the longest path through forks, joins, groups and edges, in ns. Roots that no task has spawned count as
        independent of each other. If events were lost, Tinf may be larger than this."""
        return int(self._walked["span"])

    @cached_property
    def critical_path(self) -> pl.DataFrame:
        """The path whose length is `span`, one row a stretch in one task, from its beginning: `task`, `name`, `place`,
        `origin`, `begin`, `end` (ns of the path). A run takes at least as long as this path, however many workers there
        are."""
        c = self._walked["critical"]
        about: pl.DataFrame = self.tasks.select("task", "name", "place", "origin")[c["task"]]
        return about.with_columns(pl.Series("begin", c["begin"]), pl.Series("end", c["end"]))

    @property
    def disorder(self) -> int:
        """Number of events that come before their cause: 0, unless events were lost or the file is cut."""
        return int(self._walked["disorder"])

    @cached_property
    def _walked(self) -> dict[str, Any]:
        raw = self.records.view(np.uint8).reshape(len(self.records), layout.RECORD.itemsize)
        return _core.walk(raw, self.header.workers, self.complete)


def _by_number(name: str, texts: Mapping[int, str]) -> pl.DataFrame:
    schema = {"number": pl.UInt32, name: pl.String}
    return pl.DataFrame({"number": list(texts), name: list(texts.values())}, schema=schema)


def _lanes(begins: list[int], ends: list[int]) -> list[int]:
    """For each stretch the first lane that is free at its begin; `begins` ascend."""
    busy: list[tuple[int, int]] = []  # (end, lane), the earliest end first
    free: list[int] = []
    lanes = []
    for begin, end in zip(begins, ends, strict=True):
        while busy and busy[0][0] <= begin:
            heapq.heappush(free, heapq.heappop(busy)[1])
        lane = heapq.heappop(free) if free else len(busy)
        heapq.heappush(busy, (end, lane))
        lanes.append(lane)
    return lanes


def _words(name: str, numbers: pl.Series, words: list[str]) -> pl.Series:
    """Numbers as words of a closed list; null for a number without a word."""
    kind = pl.Enum(words)
    known = pl.Series(words, dtype=kind)
    return known.gather(pl.select(pl.when(numbers < len(words)).then(numbers.cast(pl.UInt32))).to_series()).alias(name)
