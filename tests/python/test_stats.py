"""The figures of `weft trace stats`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import polars as pl
import weft
from weft.trace.stats import stats
from writing import FRESH, ROOT, TraceFile, stolen_parent


def test_figures_of_a_stolen_parent(write: Callable[[TraceFile], Path]) -> None:
    s = stats(weft.read_trace(write(stolen_parent())))
    assert (s.elapsed, s.work, s.span, s.bound) == (115, 110, 100, 100)
    assert s.parallelism == 1.1 and s.notes == []
    first, second = s.workers
    assert (first.busy, first.searching, first.asleep, first.overhead) == (100, 0, 0, 15)
    assert (second.busy, second.searching, second.asleep, second.overhead) == (10, 14 + 10 + 65, 5, 11)
    assert (first.tasks, second.tasks, first.steals, second.steals) == (2, 0, 0, 1)
    assert s.balance == 55 / 100 and s.steals == {2.0: 1}
    assert [(c.name, c.count, c.total, c.critical) for c in s.classes] == [("child", 1, 80, 80), ("(root)", 1, 30, 20)]
    assert json.loads(json.dumps(s.to_json()))["steals"] == {"2": 1}


def test_quartiles(write: Callable[[TraceFile], Path]) -> None:
    trace = TraceFile(workers=1).names(n3="leaf")
    at = 0
    for task, own in enumerate((4, 1, 2, 3, 10), start=1):
        trace.stream(0, (at, "spawn", task, 0, 3, ROOT), (at, "begin", task, 0, 0, FRESH), (at + own, "end", task))
        at += own
    (leaf,) = stats(weft.read_trace(write(trace.end()))).classes
    assert (leaf.name, leaf.count, leaf.total, leaf.min, leaf.median, leaf.q3, leaf.max) == ("leaf", 5, 20, 1, 3, 4, 10)


def test_the_longest_path(write: Callable[[TraceFile], Path], modelled: Path, threaded: Path) -> None:
    path = weft.read_trace(write(stolen_parent())).critical_path
    assert path.select("task", "begin", "end").rows() == [(1, 0, 10), (2, 10, 90), (1, 90, 100)]
    assert path["name"].to_list() == [None, "child", None]
    for real in (modelled, threaded):
        trace = weft.read_trace(real)
        path = trace.critical_path
        assert path["begin"][0] == 0 and path["end"][-1] == trace.span
        assert (path["begin"][1:] == path["end"][:-1]).all()
        own = (
            path.group_by("task").agg((pl.col("end") - pl.col("begin")).sum().alias("on")).join(trace.tasks, on="task")
        )
        assert (own["on"] <= own["own"]).all()


def test_what_cannot_be_told_is_said(write: Callable[[TraceFile], Path]) -> None:
    events = ((0, "spawn", 1), (0, "begin", 1), (5, "lost", 3), (9, "end", 1))
    s = stats(weft.read_trace(write(TraceFile().stream(0, *events))))
    assert s.lost == 3 and not s.complete
    assert "3 events were lost: own times of 1 tasks" in s.notes[0] and "the file ends before" in s.notes[1]
    assert s.parallelism is None and s.balance is None and s.classes == []
    assert stats(weft.read_trace(write(TraceFile().end()))).notes == ["no task began"]


def test_bounds_of_real_runs(modelled: Path, threaded: Path) -> None:
    for path in (modelled, threaded):
        s = stats(weft.read_trace(path))
        assert 0 < s.span <= s.bound <= s.elapsed
        assert s.span == sum(c.critical for c in s.classes)
        assert s.work == sum(w.busy for w in s.workers) == sum(c.total for c in s.classes)
        for w in s.workers:
            assert w.busy + w.searching + w.asleep + w.overhead == s.elapsed
    assert {c.name for c in stats(weft.read_trace(threaded)).classes} >= {"lu0", "fwd", "bdiv", "bmod"}
    assert sum(stats(weft.read_trace(modelled)).steals.values()) > 0
