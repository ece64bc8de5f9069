"""Stacks, tables and figures of made-up traces."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import polars as pl
import weft
from weft.trace import layout
from writing import BELOW, CHILD, FORK, FRESH, GRAPH, INSIDE, ROOT, TraceFile, stolen_parent

Write = Callable[[TraceFile], Path]


def segments(trace: weft.Trace) -> list[tuple[int, ...]]:
    return list(trace.segments.iter_rows())


def own(trace: weft.Trace) -> dict[int, int]:
    return dict(trace.tasks.select("task", "own").iter_rows())


def test_a_parent_that_was_taken(write: Write) -> None:
    trace = weft.read_trace(write(stolen_parent()))
    assert trace.complete and trace.lost == 0 and trace.disorder == 0
    assert trace.header.workers == 2 and trace.names == {1: "child"}
    assert segments(trace) == [(0, 1, 10, 20), (0, 2, 20, 100), (0, 1, 110, 120), (1, 1, 40, 50)]
    assert own(trace) == {1: 30, 2: 80}
    assert trace.work == 110
    assert trace.span == 10 + 80 + 10  # to the spawn, the child, behind the wait
    assert list(trace.idle.iter_rows()) == [
        (1, False, 6, 20),
        (1, True, 20, 25),
        (1, False, 25, 35),
        (1, False, 55, 120),
    ]
    assert trace.steals.rows() == [(30, 1, 0, 1, 2.0)]
    rows = trace.tasks.rows(named=True)
    assert rows[0] == {
        "task": 1, "name": None, "place": None, "origin": "root", "parent": None, "group": None, "worker": 0,
        "start": "fresh", "spawned": 5, "began": 10, "ended": 120, "outcome": "done", "own": 30,
    }  # fmt: skip
    assert (rows[1]["name"], rows[1]["parent"], rows[1]["group"], rows[1]["start"]) == ("child", 1, 0x1000, "below")
    assert trace.events["kind"][0] == "spawn" and len(trace.events) == len(trace.records) == 17


def test_a_join_without_a_steal(write: Write) -> None:
    trace = TraceFile(workers=1).stream(layout.OUTSIDE, (0, "spawn", 1, 0, 0, ROOT))
    trace.stream(
        0,
        (10, "begin", 1, 0, 0, FRESH),
        (20, "spawn", 2, 0, 0, FORK),
        (50, "begin", 2, 0, 0, INSIDE),
        (80, "end", 2, 0, 0, 1),
        (100, "end", 1),
    )
    read = weft.read_trace(write(trace.end()))
    assert segments(read) == [(0, 1, 10, 50), (0, 2, 50, 80), (0, 1, 80, 100)]
    assert (read.work, read.span) == (90, 10 + 30 + 20)
    assert read.tasks["outcome"].to_list() == ["done", "threw"]


def test_a_second_closure_that_ended_elsewhere(write: Write) -> None:
    trace = TraceFile().stream(layout.OUTSIDE, (0, "spawn", 1, 0, 0, ROOT))
    trace.stream(
        0,
        (0, "begin", 1, 0, 0, FRESH),
        (10, "spawn", 2, 0, 0, FORK),
        (20, "expose", 2, 0, 1),
        (100, "waited", 1, 0, 2),
        (110, "end", 1),
    )
    trace.stream(1, (30, "begin", 2, 0, 0, FRESH), (90, "end", 2))
    read = weft.read_trace(write(trace.end()))
    assert own(read) == {1: 110, 2: 60}
    assert read.span == 110  # the first closure took longer
    assert len(read.steals) == 1


def test_an_offer_that_no_thief_took(write: Write) -> None:
    trace = TraceFile().stream(
        0,
        (0, "spawn", 1, 0, 0, ROOT),
        (0, "begin", 1, 0, 0, FRESH),
        (10, "spawn", 2, 7, 0, CHILD),
        (10, "begin", 2, 0, 0, BELOW),
        (20, "expose", 1, 0, 1),
        (20, "returned", 1),
        (30, "end", 2),
        (40, "end", 1),
    )
    read = weft.read_trace(write(trace.end()))
    assert segments(read) == [(0, 1, 0, 10), (0, 2, 10, 30), (0, 1, 30, 40)]
    assert read.steals.is_empty()


def test_what_lies_below_a_suspended_task_goes_with_it(write: Write) -> None:
    trace = TraceFile().stream(
        0,
        (0, "spawn", 1, 0, 0, ROOT),
        (0, "begin", 1, 0, 0, FRESH),
        (10, "spawn", 2, 7, 0, CHILD),
        (10, "begin", 2, 0, 0, BELOW),
        (20, "suspend", 2),
    )
    trace.stream(1, (20, "resume", 2), (30, "end", 2), (40, "end", 1))
    read = weft.read_trace(write(trace.end()))
    assert read.disorder == 0
    assert segments(read) == [(0, 1, 0, 10), (0, 2, 10, 20), (1, 2, 20, 30), (1, 1, 30, 40)]


def test_equal_times_of_several_streams(write: Write) -> None:
    """A resume in the first stream at the time of the suspend in the second, and so on."""
    trace = TraceFile(workers=3)
    trace.stream(0, (5, "resume", 1), (5, "begin", 2, 0, 0, FRESH), (5, "end", 2), (5, "end", 1))
    trace.stream(1, (5, "begin", 1, 0, 0, FRESH), (5, "suspend", 1))
    trace.stream(2, (0, "search"), (5, "spawn", 1, 0, 0, ROOT), (5, "spawn", 2, 0, 0, ROOT), (5, "found"))
    read = weft.read_trace(write(trace.end()))
    assert read.disorder == 0
    kinds = read.events["kind"].to_list()
    assert kinds.index("suspend") < kinds.index("resume")
    assert read.tasks["ended"].to_list() == [5, 5]


def test_clocks_that_differ(write: Write) -> None:
    """An effect that is stamped before its cause counts from when that happened."""
    trace = TraceFile()
    trace.stream(
        0,
        (5, "spawn", 1, 0, 0, ROOT),
        (5, "begin", 1, 0, 0, FRESH),
        (10, "spawn", 2, 9, 0, CHILD),
        (20, "suspend", 1),
    )
    trace.stream(
        1,
        (9, "begin", 2, 0, 0, FRESH),
        (15, "end", 2),
        (19, "resume", 1),
        (19, "waited", 1, 9),
        (30, "end", 1),
    )
    read = weft.read_trace(write(trace.end()))
    assert read.disorder == 0
    assert segments(read) == [(0, 1, 5, 20), (1, 2, 10, 15), (1, 1, 20, 30)]
    assert read.tasks["began"].to_list() == [5, 10]


def test_a_cause_that_never_comes(write: Write) -> None:
    trace = TraceFile().stream(0, (5, "resume", 1), (10, "end", 1))
    trace.stream(1, *((at, "search" if at % 2 else "found") for at in range(0, 1000)))
    read = weft.read_trace(write(trace.end()))
    assert read.disorder == 1 and own(read) == {1: None}
    assert segments(read) == [(0, 1, 5, 10)]


def test_edges_make_the_span_of_a_graph(write: Write) -> None:
    tasks = (11, 12, 13)
    trace = TraceFile()
    trace.stream(
        0,
        (0, "spawn", 1, 0, 0, ROOT),
        (0, "begin", 1, 0, 0, FRESH),
        (10, "graph", 11, 3, 1),
        *((10, "spawn", t, 11, 0, GRAPH) for t in tasks),
        (10, "edge", 11, 13),
        (10, "edge", 12, 13),
        (10, "begin", 11, 0, 0, INSIDE),
        (40, "end", 11),
        (50, "begin", 13, 0, 0, INSIDE),
        (60, "end", 13),
        (60, "end", 1),
    )
    trace.stream(1, (20, "begin", 12, 0, 0, FRESH), (50, "end", 12))
    read = weft.read_trace(write(trace.end()))
    assert read.disorder == 0
    assert own(read) == {1: 20, 11: 30, 12: 30, 13: 10}
    assert read.span == 10 + 30 + 10  # the root, 11 or 12, 13
    assert read.tasks.filter(task=12)["parent"].item() == 1


def test_lost_events_leave_no_wrong_number(write: Write) -> None:
    trace = TraceFile().stream(
        0,
        (0, "spawn", 1, 0, 0, ROOT),
        (0, "begin", 1, 0, 0, FRESH),
        (10, "spawn", 2, 0, 0, FORK),
        (20, "begin", 2, 0, 0, INSIDE),
        (90, "lost", 7),
        (90, "end", 1),
        (95, "spawn", 3, 0, 0, ROOT),
        (95, "begin", 3, 0, 0, FRESH),
        (99, "end", 3),
    )
    read = weft.read_trace(write(trace.end(lost=7)))
    assert read.lost == 7
    assert own(read) == {1: None, 2: None, 3: 4}
    assert segments(read) == [(0, 1, 0, 20), (0, 3, 95, 99)]
    assert read.tasks["ended"].to_list() == [90, None, 99]


def test_lost_events_where_a_waiting_task_may_have_run(write: Write) -> None:
    trace = TraceFile().stream(
        0,
        (0, "spawn", 1, 0, 0, ROOT),
        (0, "begin", 1, 0, 0, FRESH),
        (10, "suspend", 1),
        (80, "resume", 1),
        (90, "end", 1),
    )
    trace.stream(1, (5, "search"), (50, "lost", 3), (50, "search"))
    assert own(weft.read_trace(write(trace.end(lost=3)))) == {1: None}


def test_an_unnamed_number_and_a_trace_without_events(write: Write) -> None:
    read = weft.read_trace(write(TraceFile().stream(0, (1, "spawn", 5, 0, 99, ROOT)).end()))
    assert read.tasks["name"].to_list() == [None] and read.tasks["own"].to_list() == [None]
    empty = weft.read_trace(write(TraceFile().end()))
    assert empty.complete and len(empty.tasks) == len(empty.events) == len(empty.segments) == len(empty.idle) == 0
    assert empty.steals.is_empty() and (empty.work, empty.span, empty.last) == (0, 0, 0)


def test_times_are_whole_and_large(write: Write) -> None:
    late = 10**15
    trace = TraceFile(workers=1).stream(0, (late, "spawn", 1, 0, 0, ROOT), (late, "begin", 1), (late + 1, "end", 1))
    read = weft.read_trace(write(trace.end()))
    assert segments(read) == [(0, 1, late, late + 1)]
    assert read.events["at"].dtype.is_signed_integer() and read.records.dtype == layout.RECORD


def test_numbers_that_come_again(write: Write) -> None:
    """After 2^32 tasks the next one has a number that another task had."""
    trace = TraceFile(workers=1).stream(
        0, (0, "spawn", 1), (1, "begin", 1), (2, "end", 1), (3, "spawn", 1), (4, "begin", 1), (9, "end", 1)
    )
    read = weft.read_trace(write(trace.end()))
    assert read.tasks["own"].to_list() == [1, 5]


def test_events_of_some_kinds(modelled: Path, threaded: Path) -> None:
    for path in (modelled, threaded):
        trace = weft.read_trace(path)
        all_of_them = trace.events.with_row_index("position")
        for kinds in (["end"], ["spawn", "waited"], ["lost"]):
            wanted = all_of_them.filter(pl.col("kind").cast(pl.String).is_in(kinds))
            assert trace.events_of(*kinds).rows() == wanted.select(*trace.events.columns, "position").rows()
