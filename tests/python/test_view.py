"""`weft trace view`: the page, opened in a browser without a window."""

from __future__ import annotations

import base64
import json
import math
import re
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import looks
import numpy as np
import polars as pl
import pytest
import weft
from browser import Browser
from conftest import MACHINE
from hypothesis import given, settings
from hypothesis import strategies as st
from weft.cli import run
from weft.cli.trace import duration
from weft.trace import layout
from weft.trace.stats import stats
from weft.trace.view import view
from weft.trace.view.columns import LARGEST, encode
from weft.trace.view.constructs import constructs
from weft.trace.view.page import bundle
from writing import BELOW, CHILD, FRESH, GRAPH, ROOT, TraceFile, double, stolen_parent

Write = Callable[[TraceFile], Path]
Open = Callable[..., Browser]


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with Browser(tmp_path_factory.mktemp("profile")) as started:
        yield started


@pytest.fixture
def show(browser: Browser, tmp_path: Path) -> Open:
    """Opens the page of a trace and waits until it is shown. Nothing may have failed, and nothing been fetched."""

    def opened(trace: Path, machine: Path | None = None) -> Browser:
        page = tmp_path / "page.html"
        view(weft.read_trace(trace), page, str(machine) if machine else None)
        browser.open(page)
        browser.wait_for("window.weft?.ready")
        drawn(browser)
        assert browser.log == [] and browser.requests == [page.as_uri()]
        return browser

    return opened


def drawn(browser: Browser) -> None:
    """What was asked for is on the screen."""
    browser.run("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")


def texts(browser: Browser, selector: str) -> list[str]:
    found: list[str] = browser.run(f"[...document.querySelectorAll({json.dumps(selector)})].map((e) => e.textContent)")
    return found


def rows(browser: Browser, panel: str) -> list[list[str]]:
    found: list[list[str]] = browser.run(
        f"[...document.querySelectorAll('#{panel} tbody tr')].map((r) => [...r.cells].map((c) => c.textContent))"
    )
    return found


def where(browser: Browser, selector: str) -> tuple[float, float, float, float]:
    """Left, top, width, height."""
    box = browser.run(
        f"(({{left, top, width, height}}) => [left, top, width, height])"
        f"(document.querySelector({json.dumps(selector)}).getBoundingClientRect())"
    )
    return box[0], box[1], box[2], box[3]


def numbers(browser: Browser, *columns: str) -> list[list[float]]:
    """Columns of the page's trace."""
    found: list[list[float]] = browser.run("[" + ",".join(f"[...weft.trace.{c}]" for c in columns) + "]")
    return found


def place_of(browser: Browser, worker: int, time: float) -> tuple[float, float]:
    """Of a point of the timeline, on the screen."""
    left, top, _, _ = where(browser, "#timeline")
    x, y = browser.run(f"[weft.timeline.x({time}), weft.timeline.middle({worker})]")
    return left + x, top + y


def pixels(browser: Browser, canvas: str) -> str:
    value: str = browser.run(f"document.getElementById('{canvas}').toDataURL()")
    return value


def is_duration(text: str, ns: float) -> bool:
    """Three digits of it; whichever neighbour, for what lies in the middle of two."""
    number, unit = text.split()
    shown = float(number) * {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}[unit]
    digit = 10.0 ** (math.floor(math.log10(ns)) - 2) if ns > 0 else 0
    return abs(shown - ns) <= digit / 2 * (1 + 1e-9) and duration(ns).endswith(f" {unit}")


# ---- what is shown is what the trace says


def test_the_figures_are_those_of_stats(show: Open, modelled: Path, threaded: Path) -> None:
    for path in (modelled, threaded):
        s = stats(weft.read_trace(path))
        page = show(path)
        assert s.parallelism is not None and s.balance is not None
        shown = dict(zip(texts(page, "#figures dt"), texts(page, "#figures dd"), strict=True))
        assert shown["time"].startswith(duration(s.elapsed)) and ("virtual" in shown["time"]) == (path == modelled)
        assert (shown["work T1"], shown["span T∞"], shown["bound"]) == tuple(
            duration(float(ns)) for ns in (s.work, s.span, s.bound)
        )
        assert (shown["parallelism"], shown["balance"]) == (f"{s.parallelism:.3g}", f"{s.balance:.3g}")
        assert shown["tasks"] == f"{s.tasks:,}" and shown["events"] == f"{s.events:,}"
        assert shown["steals"] == str(len(weft.read_trace(path).steals))
        assert s.policy in texts(page, "#facts")[0] and s.machine in texts(page, "#facts")[0]
        for row, c in zip(rows(page, "panel-classes"), s.classes, strict=True):
            assert row[:2] == [c.name, f"{c.count:,}"]
            for text, ns in zip(row[2:], (c.total, c.min, c.median, c.q3, c.max), strict=True):
                assert is_duration(text, ns)
        workers = rows(page, "panel-workers")
        wanted = [(str(w.worker), str(w.tasks), str(w.steals)) for w in s.workers]
        assert [(r[0], r[-2], r[-1]) for r in workers] == wanted
        assert page.run("document.getElementById('notes').hidden")


def test_the_page_has_the_tables_of_the_trace(show: Open, modelled: Path, threaded: Path) -> None:
    for path in (modelled, threaded):
        trace, page = weft.read_trace(path), show(path)
        origin = page.run("weft.trace.head.origin")
        tasks = trace.tasks
        for column, name, lower in (
            ("task", "taskNumber", 0), ("spawned", "taskSpawned", origin), ("began", "taskBegan", origin),
            ("ended", "taskEnded", origin), ("own", "taskOwn", 0), ("worker", "taskWorker", 0),
        ):  # fmt: skip
            assert page.run(f"[...weft.trace.{name}]") == (tasks[column].cast(pl.Int64) - lower).to_list()
        number = {row + 1: n for row, n in enumerate(tasks["task"].to_list())} | {0: None}
        assert [number[p] for p in page.run("[...weft.trace.taskParent]")] == tasks["parent"].to_list()
        first, begin, end, what = numbers(page, "lanes.first", "lanes.begin", "lanes.end", "lanes.what")
        shown = [
            (worker, number[what[i] - 2] if what[i] > 2 else ("search", "asleep")[what[i]], begin[i], end[i])
            for worker in range(trace.header.workers)
            for i in range(first[worker], first[worker + 1])
        ]
        wanted = [(w, t, b - origin, e - origin) for w, t, b, e in trace.segments.rows()]
        wanted += [(w, "asleep" if a else "search", b - origin, e - origin) for w, a, b, e in trace.idle.rows()]
        assert shown == sorted(wanted, key=lambda s: (s[0], s[2]))
        of_model = trace.activities.with_columns(pl.col("begin", "end") - origin, pl.col("what").to_physical())
        shown_activities = numbers(page, "activities.begin", "activities.end", "activities.what")
        assert shown_activities == [of_model[c].to_list() for c in ("begin", "end", "what")]
        steals = trace.steals.with_columns(pl.col("at") - origin)
        shown_steals = numbers(page, "stealAt", "stealThief", "stealVictim")
        assert shown_steals == [steals[c].to_list() for c in ("at", "worker", "victim")]
        noted = trace.records[trace.records["kind"] == layout.KIND["edge"]]
        ends = [[number[row] for row in column] for column in numbers(page, "edgeFrom", "edgeTo")]
        assert ends == [noted["a"].tolist(), noted["b"].tolist()]


def test_time_is_covered_as_the_stretches_say(show: Open, modelled: Path) -> None:
    """The sums before every so many stretches give what adding all of them up gives, at any edge."""
    page, trace = show(modelled), weft.read_trace(modelled)
    edges = np.linspace(0, page.run("weft.trace.last"), 997)
    script = f"""(() => {{
        const edges = Float64Array.from({edges.tolist()});
        return [...Array(weft.trace.workers).keys()].map((w) => {{
            const out = new Float64Array(edges.length * weft.timeline.palette.size);
            weft.timeline.cover.before(w, edges, out);
            return [...out];
        }});
    }})()"""
    sums = np.array(page.run(script)).reshape(trace.header.workers, len(edges), -1)
    origin = page.run("weft.trace.head.origin")
    for worker in range(trace.header.workers):
        of = trace.segments.filter(pl.col("worker") == worker)
        begin, end = of["begin"].to_numpy() - origin, of["end"].to_numpy() - origin
        wanted = [np.clip(edge - begin, 0, end - begin).sum() for edge in edges]
        assert np.allclose(sums[worker, :, :-3].sum(axis=1), wanted)


def test_busy_workers(show: Open, write: Write) -> None:
    page = show(write(stolen_parent()))
    page.run("weft.state.look(35, 45)")  # after the first event: the child runs on worker 0, its parent on worker 1
    drawn(page)
    assert page.run("[weft.timeline.busyAt(36), weft.timeline.busyAt(44)]") == pytest.approx([2, 2])
    page.run("weft.state.look(0, 115)")
    drawn(page)
    assert page.run("weft.timeline.busyAt(60)") == pytest.approx(1)


def test_steals_by_the_parts_of_the_machine(show: Open, modelled: Path) -> None:
    trace = weft.read_trace(modelled)
    page = show(modelled, MACHINE)
    captions = texts(page, "#panel-steals caption")
    assert [c.split(":")[0] for c in captions] == ["By distance", "By package", "By cache domain", "By worker"]
    machine = weft.machine(str(MACHINE))
    package = {
        w: next(i for i, p in enumerate(machine["packages"]) if p["ranks"][0] <= c < p["ranks"][1])
        for w, c in enumerate(trace.header.cores)
    }
    count = np.zeros((4, 4), int)
    for _, thief, victim, _, _ in trace.steals.rows():
        count[package[thief], package[victim]] += 1
    cells = texts(page, "#panel-steals table:nth-child(2) tbody td")
    assert [0 if c == "·" else int(c) for c in cells] == count.ravel().tolist()
    by_worker = [int(n) for n in texts(page, "#panel-steals table:last-child tbody td") if n != "·"]
    assert sum(by_worker) == len(trace.steals)
    assert "By package" not in " ".join(texts(show(modelled), "#panel-steals caption")), "the machine is not this one"


def test_activities_of_the_model(show: Open, modelled: Path, threaded: Path) -> None:
    page = show(modelled)
    assert not page.run("document.getElementById('activity-legend').hidden")
    worker, begin, end, what = page.run(
        """(() => {
            const a = weft.trace.activities;
            const i = a.what.indexOf(0);
            return [a.first.findIndex((f) => f > i) - 1, a.begin[i], a.end[i], weft.trace.head.activities[0].name];
        })()"""
    )
    assert what == "compute"
    page.run(f"weft.state.look({begin}, {end})")
    drawn(page)
    x, y = place_of(page, worker, (begin + end) / 2)
    page.mouse("mouseMoved", x, y + page.run("weft.timeline.lane / 2"))
    assert texts(page, "#tip strong") == ["compute"]
    assert show(threaded).run("document.getElementById('activity-legend').hidden")


def test_what_is_lost_is_said(show: Open, write: Write) -> None:
    events = ((0, "spawn", 1), (0, "begin", 1), (5, "lost", 3), (9, "end", 1))
    page = show(write(TraceFile().stream(0, *events)))
    assert texts(page, "#notes li") == stats(weft.read_trace(write(TraceFile().stream(0, *events)))).notes
    assert not page.run("document.getElementById('notes').hidden")
    assert "at least" in texts(page, "[data-figure='work T1'] dd")[0]
    assert page.run("[[...weft.trace.lanes.what], [...weft.trace.lanes.end]]") == [[2], [5]]
    page.mouse("mouseMoved", *place_of(page, 0, 3))
    assert "events lost" in texts(page, "#tip strong")[0] and "events lost" in texts(page, "#legend li")


# ---- looking around


def test_wheel_keys_drag_and_brush(show: Open, modelled: Path) -> None:
    page = show(modelled)
    last = page.run("weft.trace.last")
    look = "[weft.state.begin, weft.state.end]"
    assert page.run(look) == [0, last]
    before = pixels(page, "timeline")
    x, y = place_of(page, 3, last / 2)
    page.mouse("mouseWheel", x, y, deltaX=0, deltaY=-400)
    page.wait_for("weft.state.begin > 0")
    begin, end = page.run(look)
    assert begin < last / 2 < end < last and (end - begin) < 0.8 * last
    assert (last / 2 - begin) / (end - begin) == pytest.approx(0.5, abs=0.01), "the point under the pointer moves"
    drawn(page)
    assert pixels(page, "timeline") != before

    page.mouse("mousePressed", x, y, button="left", clickCount=1)
    page.mouse("mouseMoved", x + 100, y, button="left")
    page.mouse("mouseReleased", x + 100, y, button="left", clickCount=1)
    moved = page.run(look)
    assert moved[0] < begin and moved[1] - moved[0] == pytest.approx(end - begin)
    assert page.run("weft.state.task") == -1, "a drag chooses nothing"

    page.run("document.getElementById('timeline').focus()")
    page.key("ArrowRight")
    assert page.run(look)[0] > moved[0]
    page.key("+")
    assert page.run("weft.state.end - weft.state.begin") == pytest.approx((end - begin) / 1.5)
    page.key("0")
    assert page.run(look) == [0, last]
    drawn(page)
    assert pixels(page, "timeline") == before

    left, top, width, _ = where(page, "#overview")
    page.mouse("mousePressed", left + width / 4, top + 20, button="left", clickCount=1)
    page.mouse("mouseMoved", left + width / 2, top + 20, button="left")
    page.mouse("mouseReleased", left + width / 2, top + 20, button="left", clickCount=1)
    assert page.run(look) == pytest.approx([last / 4, last / 2], rel=0.02)


def test_the_closest_look_is_exact(show: Open, write: Write) -> None:
    page = show(write(stolen_parent()))
    for _ in range(60):
        page.run("weft.state.zoom(1 / 2, 35)")
    assert page.run("weft.state.end - weft.state.begin") == 10
    page.run("weft.state.look(30, 50)")
    drawn(page)
    colours = page.run(
        """[34.5, 35.5, 44.5, 45.5].map((time) => {
            const [x, y] = [weft.timeline.x(time), weft.timeline.top(1) + 3].map(Math.round);
            return document.getElementById("timeline").getContext("2d").getImageData(x, y, 1, 1).data.join();
        })"""
    )
    before, first, last, behind = colours
    assert first == last and before != first and behind != last, "worker 1 runs the root from 35 to 45"


def test_a_chosen_task(show: Open, write: Write) -> None:
    page = show(write(stolen_parent()))
    x, y = place_of(page, 0, 50)
    page.mouse("mouseMoved", x, y)
    assert texts(page, "#tip strong") == ["child #2"] and "(root) #1" in " ".join(texts(page, "#tip td"))
    assert page.run("weft.state.hovered") == 1
    page.click(x, y)
    page.wait_for("document.querySelector('.graph')")
    assert texts(page, "#panel-task h2") == ["child #2"]
    facts = dict(zip(texts(page, ".task-facts dt"), texts(page, ".task-facts dd"), strict=True))
    assert facts["own time"] == "80 ns" and facts["parent"] == "(root) #1" and facts["start"] == "below"
    assert facts["joined"] == "105 ns"
    assert page.run("[...document.querySelectorAll('.graph .task')].map((t) => t.dataset.task)") == ["2", "1"]
    assert page.run("document.querySelectorAll('.graph .edge.spawn').length") == 1
    assert page.run("document.querySelectorAll('.graph .edge.join').length") == 1
    assert texts(page, "#say") == ["child #2"]
    # A click on its parent's box, and the keys.
    page.run("document.querySelector('.graph .task[data-task=\"1\"]').dispatchEvent(new MouseEvent('click'))")
    page.wait_for("document.querySelector('#panel-task h2').textContent", "(root) #1")
    assert page.run("weft.timeline.chosen.stretches.map((s) => s.worker)") == [0, 1, 0]
    assert page.run("weft.timeline.chosen.steals.length") == 1
    page.run("document.getElementById('timeline').focus()")
    page.key(".")
    assert page.run("weft.state.task") == 1
    page.key("ArrowDown")
    assert page.run("weft.state.task") == 0
    page.key("Escape")
    assert page.run("weft.state.task") == -1


def test_the_graph_around_a_task(show: Open, threaded: Path) -> None:
    trace, page = weft.read_trace(threaded), show(threaded)
    noted = trace.records[trace.records["kind"] == layout.KIND["edge"]]
    edges = list(zip(noted["a"].tolist(), noted["b"].tolist(), strict=True))
    task = next(a for a, b in edges if any(a == d for _, d in edges))  # it has neighbours on both sides
    page.run(f"weft.state.choose(weft.trace.rowOf({task}))")
    page.wait_for("document.querySelector('.graph')")
    page.run("document.getElementById('depth').value = 1")
    page.run("document.getElementById('depth').dispatchEvent(new Event('change'))")
    near = {task} | {b for a, b in edges if a == task} | {a for a, b in edges if b == task}
    near.add(trace.tasks.filter(pl.col("task") == task)["parent"].item())
    shown = {int(t) for t in page.run("[...document.querySelectorAll('.graph .task')].map((t) => t.dataset.task)")}
    assert shown == near
    drawn_edges = page.run("document.querySelectorAll('.graph .edge.data').length")
    assert drawn_edges == sum(a in near and b in near for a, b in edges)
    overlaps = page.run(
        """(() => {
            const boxes = [...document.querySelectorAll(".graph .task rect:not(.class)")].map((r) => r.getBBox());
            const apart = (a, b) => a.x >= b.x + b.width || b.x >= a.x + a.width
                || a.y >= b.y + b.height || b.y >= a.y + a.height;
            return boxes.flatMap((a, i) => boxes.slice(i + 1).filter((b) => !apart(a, b))).length;
        })()"""
    )
    assert overlaps == 0


def test_a_task_with_many_children(show: Open, write: Write) -> None:
    """As many as are legible are drawn; the page says how many more there are."""
    trace = TraceFile(workers=1).stream(0, (0, "spawn", 1, 0, 0, ROOT), (0, "begin", 1, 0, 0, FRESH))
    for i in range(500):
        at, task = 10 * i + 1, i + 2
        trace.stream(0, (at, "spawn", task, 7, 0, CHILD), (at, "begin", task, 0, 0, BELOW), (at + 5, "end", task))
    page = show(write(trace.stream(0, (6000, "end", 1)).end()))
    page.run("weft.state.choose(0)")
    page.wait_for("document.querySelector('.graph')")
    drawn_tasks = page.run("document.querySelectorAll('.graph .task').length") - 1
    assert 10 <= drawn_tasks < 100 and texts(page, ".graph .more") == [f"+{500 - drawn_tasks}"]


def test_a_stretch_of_time(show: Open, write: Write) -> None:
    page = show(write(stolen_parent()))
    (x0, y), (x1, _) = place_of(page, 0, 20), place_of(page, 0, 60)
    page.mouse("mousePressed", x0, y, button="left", clickCount=1, modifiers=8)
    page.mouse("mouseMoved", x1, y, button="left", modifiers=8)
    page.mouse("mouseReleased", x1, y, button="left", clickCount=1, modifiers=8)
    page.wait_for("document.getElementById('draw-range')")
    assert page.run("weft.state.range") == pytest.approx([20, 60], abs=0.2)
    page.run("weft.state.choose(-1, [20, 60])")
    page.wait_for("weft.state.range[0] === 20 && document.querySelector('.listed tbody tr')")
    page.wait_for("document.querySelectorAll('.listed tbody tr').length", 2)
    assert texts(page, ".listed tbody td:nth-child(3)") == ["40 ns", "10 ns"]
    assert "2 tasks ran, workers were busy 62.5%" in texts(page, "#panel-task p")[0]
    page.run("document.getElementById('draw-range').click()")
    assert page.run("document.querySelectorAll('.graph .task').length") == 2


def test_tables_sort_and_classes_stand_out(show: Open, threaded: Path) -> None:
    s, page = stats(weft.read_trace(threaded)), show(threaded)
    assert [r[0] for r in rows(page, "panel-classes")] == [c.name for c in s.classes]
    press = "[...document.querySelectorAll('#panel-classes th button')].find((b) => b.textContent === '{}').click()"
    page.run(press.format("count"))
    counts = [int(r[1].replace(",", "")) for r in rows(page, "panel-classes")]
    assert counts == sorted(counts, reverse=True) and len(counts) == len(s.classes)
    assert page.run("document.querySelectorAll('#panel-classes [aria-sort=descending]').length") == 1
    page.run(press.format("count"))
    assert [int(r[1].replace(",", "")) for r in rows(page, "panel-classes")] == counts[::-1]
    page.run(press.format("class"))
    assert sorted(r[0] for r in rows(page, "panel-classes")) == sorted(c.name for c in s.classes)

    before = pixels(page, "timeline")
    page.run("document.querySelector('#panel-classes tbody tr').click()")
    drawn(page)
    marked = page.run("weft.trace.head.classes[weft.state.marked].name")
    assert marked == rows(page, "panel-classes")[0][0] and pixels(page, "timeline") != before
    assert page.run("document.querySelector('#panel-classes tbody tr').getAttribute('aria-selected')") == "true"
    page.run("document.querySelector('#panel-classes tbody tr').click()")
    drawn(page)
    assert page.run("weft.state.marked") == -1 and pixels(page, "timeline") == before


def test_search_and_colours_of_the_page(show: Open, threaded: Path) -> None:
    page = show(threaded)
    find = "document.getElementById('search-text').value = {}; document.getElementById('search').requestSubmit()"
    number = page.run("weft.trace.taskNumber[40]")
    page.run(find.format(f"'#{number}'"))
    assert page.run("weft.state.task") == 40
    page.run(find.format("'BMOD'"))
    assert texts(page, "#say-search") == ["bmod stands out"]
    page.run(find.format("'nobody'"))
    assert texts(page, "#say-search") == ["No task and no class: nobody"]
    light = page.run("getComputedStyle(document.body).backgroundColor")
    page.run("document.getElementById('theme').click()")
    drawn(page)
    assert page.run("getComputedStyle(document.body).backgroundColor") != light and page.log == []


def test_what_a_screen_reader_finds(show: Open, modelled: Path) -> None:
    page = show(modelled)
    assert (
        page.run(
            """[...document.querySelectorAll('button, canvas, input, [role=tab]')]
        .filter((e) => !(e.textContent.trim() || e.getAttribute('aria-label'))).length"""
        )
        == 0
    )
    page.run("document.getElementById('tab-classes').focus()")
    page.key("ArrowRight")
    assert page.run("document.activeElement.id") == "tab-workers"
    shown = "[...document.querySelectorAll('[role=tabpanel]:not([hidden])')].map((p) => p.id)"
    assert page.run(shown) == ["panel-workers"]


# ---- callers, marks, constructs


def nested() -> TraceFile:
    """Two runs of one thread, one of another; an outer class spawns an inner one, which spawns itself."""
    trace = TraceFile(workers=1).names(n1="outer", n2="inner", n3="sweep")
    trace.stream(
        layout.OUTSIDE, (100, "spawn", 1, 0, 1, ROOT), (200, "spawn", 5, 0, 2, ROOT), (700, "spawn", 6, 0, 2, ROOT)
    )
    trace.stream(
        0,
        (110, "begin", 1),
        (110, "iteration", 7),
        (120, "group", 0x1000, 0, 3),
        (130, "spawn", 2, 0x1000, 2, CHILD),
        (130, "begin", 2, 0, 0, BELOW),
        (150, "spawn", 3, 0x2000, 2, CHILD),
        (150, "begin", 3, 0, 0, BELOW),
        (210, "end", 3),
        (250, "end", 2),
        (300, "end", 1),
        (300, "begin", 5),
        (400, "end", 5),
        (700, "begin", 6),
        (900, "end", 6),
    )
    return trace.end()


def test_callers(show: Open, write: Write) -> None:
    path = write(nested())
    calls = weft.read_trace(path).calls
    assert calls.select("task", "begin", "end", "lane").rows() == [(1, 100, 300, 0), (5, 200, 400, 1), (6, 700, 900, 0)]
    page = show(path)
    assert page.run("weft.timeline.calls.lanes.map((l) => [...l])") == [[0, 2], [1]]
    assert page.run("weft.timeline.calls.shares") == [0.5, 0.25], "of 800 ns"
    left, top, _, _ = where(page, "#timeline")
    y = top + page.run("weft.timeline.callsTop") + 4
    for time, title, row in (
        (600 - 100, "outside of runs", "400 ns from 200 ns"),
        (750 - 100, "run 3", "200 ns from 600 ns"),
    ):
        page.mouse("mouseMoved", left + page.run(f"weft.timeline.x({time})"), y)
        assert texts(page, "#tip strong") == [title] and row in texts(page, "#tip td")
    page.click(left + page.run("weft.timeline.x(650)"), y)
    assert page.run("weft.trace.taskNumber[weft.state.task]") == 6


def test_many_callers_share_the_last_row(show: Open, write: Write) -> None:
    trace = TraceFile(workers=1)
    trace.stream(layout.OUTSIDE, *((10, "spawn", i + 1, 0, 0, ROOT) for i in range(9)))
    for i in range(9):
        trace.stream(0, (20 + 10 * i, "begin", i + 1), (29 + 10 * i, "end", i + 1))
    page = show(write(trace.end()))
    assert page.run("weft.timeline.calls.lanes.map((l) => l.length)") == [1, 1, 1, 6]


def test_marks(show: Open, write: Write) -> None:
    page = show(write(nested()))
    wanted = [
        (0, "run 1 begins"),
        (10, "iteration 7 begins"),
        (20, "group sweep is made"),
        (100, "run 2 begins"),
        (600, "run 3 begins"),
    ]
    assert page.run("weft.timeline.marks.all.map((m) => [m.at, m.text])") == [list(mark) for mark in wanted]
    left, top, _, _ = where(page, "#timeline")
    page.mouse("mouseMoved", left + page.run("weft.timeline.x(600)"), top + 18)
    assert texts(page, "#tip strong") == ["run 3 begins"]
    page.run("weft.state.look(300, 400)")
    page.key("]")
    assert page.run("weft.state.begin") == pytest.approx(595)
    for at in (100, 20):
        page.key("[")
        assert page.run("weft.state.begin") == pytest.approx(at - 5)
    page.key("]")
    assert page.run("weft.state.begin") == pytest.approx(95)


def test_the_tree_of_constructs(show: Open, write: Write) -> None:
    page = show(write(nested()))
    names = "#constructs .construct"
    assert texts(page, names) == ["inner", "outer", "inner"], "a recursion is one construct"
    assert texts(page, "#constructs .share") == ["61.2%", "38.8%", "24.5%"]
    own = page.run("weft.trace.head.constructs.map((c) => [c.count, c.own, c.total])")
    assert own == [[1, 70, 190], [2, 120, 120], [2, 300, 300]]
    before = pixels(page, "timeline")
    page.run("document.querySelectorAll('#constructs li')[2].click()")
    drawn(page)
    colour = page.run("weft.trace.head.classes.find((c) => c.name === 'inner').colour")
    lit = f"(_, row) => weft.timeline.palette.colourOfTask(weft.trace, row) === '{colour}'"
    assert page.run(f"[...weft.trace.taskNumber].filter({lit})") == [2, 3], "the same class elsewhere fades"
    assert pixels(page, "timeline") != before
    chosen = "[...document.querySelectorAll('#constructs li')].map((l) => l.getAttribute('aria-selected'))"
    assert page.run(chosen) == ["false", "false", "true"]
    page.key("Escape")
    drawn(page)
    assert page.run("weft.state.construct") == -1 and pixels(page, "timeline") == before

    page.run("document.querySelector('#constructs li').focus()")
    page.key("ArrowDown")
    page.key("ArrowDown")
    page.key("Enter")
    assert page.run("weft.state.construct") == 1
    page.key("ArrowLeft")
    page.key("ArrowLeft")
    assert len(texts(page, names)) == 2, "the construct around it is closed"
    page.key("ArrowRight")
    assert len(texts(page, names)) == 3
    page.key("c")
    assert page.run("document.getElementById('constructs').hidden")


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(-1, 20), st.integers(0, 100)), min_size=1, max_size=20))
def test_constructs_have_every_task_once(tasks: list[tuple[int, int, int]]) -> None:
    of_class, parents, own = (np.array(column, np.int64) for column in zip(*tasks, strict=True))
    parents = np.where(parents < len(tasks), parents, -1)  # cycles are among them
    tree, of_task = constructs(of_class, parents, own)
    assert [tree[i].cls for i in of_task] == of_class.tolist()
    assert sum(c.count for c in tree) == len(tasks) and sum(c.own for c in tree) == own.sum()
    assert sum(c.total for c in tree if c.parent < 0) == own.sum()
    for i, construct in enumerate(tree):
        assert construct.parent < i
        around, seen = construct.parent, {construct.cls}
        while around >= 0:
            assert tree[around].cls not in seen, "no class is inside itself"
            seen.add(tree[around].cls)
            around = tree[around].parent


def test_the_legend_has_the_words_of_the_tables(show: Open, modelled: Path) -> None:
    page = show(modelled)
    legend = texts(page, "#legend li")
    classes = [c.name for c in stats(weft.read_trace(modelled)).classes]
    assert legend == [*classes, "search", "asleep", "overhead", "in a run", "outside of runs", "mark"]
    heads = [head.rstrip(" ▲▼") for head in texts(page, "#panel-workers th")]
    assert [word for word in legend if word in heads] == ["search", "asleep", "overhead"]


def test_keys_act_wherever_the_focus_is(show: Open, modelled: Path) -> None:
    page = show(modelled)
    last = page.run("weft.trace.last")
    x, y = place_of(page, 3, last / 4)
    page.mouse("mouseMoved", x, y)
    page.key("w")
    begin, end = page.run("[weft.state.begin, weft.state.end]")
    assert (last / 4 - begin) / (end - begin) == pytest.approx(0.25, abs=0.01), "the point under the pointer stays"
    page.key("d")
    assert page.run("weft.state.begin") > begin
    page.key("a")
    page.key("s")
    assert page.run("[weft.state.begin, weft.state.end]") == pytest.approx([0, last], abs=last / 50)
    page.run("document.getElementById('search-text').focus()")
    page.key("w")
    assert page.run("weft.state.end - weft.state.begin") == pytest.approx(last, rel=0.05), "what is typed is no command"
    page.run("document.activeElement.blur()")
    page.key("?")
    assert page.run("document.getElementById('help').open")
    page.key("w")
    assert page.run("weft.state.end - weft.state.begin") == pytest.approx(last, rel=0.05)


def test_what_is_saved_for_perfetto(show: Open, write: Write) -> None:
    page = show(write(nested()))
    events = page.run("weft.chromeEvents(weft.trace, 0, 160)")
    slices = [(e["tid"], e["name"], e["ts"], e["dur"]) for e in events if e["ph"] == "X"]
    assert slices == [
        (0, "outer", 0.01, 0.02), (0, "inner", 0.03, 0.02), (0, "inner", 0.05, 0.06), (0, "inner", 0.11, 0.04),
        (0, "outer", 0.15, 0.05), (1, "run 1", 0.0, 0.2), (2, "run 2", 0.1, 0.2),
    ]  # fmt: skip
    names = {e["tid"]: e["args"]["name"] for e in events if e["ph"] == "M" and e["name"] == "thread_name"}
    assert names == {0: "worker 0", 1: "caller 0", 2: "caller 1"}


# ---- how it looks


PARTS = [
    ".title", "#figures > div", ".tools > button", "#search", "#legend li", "#activity-legend li", "#overview",
    "#constructs", "#timeline", "#splitter", "#tabs button", ".sheet:not([hidden])",
]  # fmt: skip
TEXTS = ["h1", "#facts", "#figures dt", "#figures dd", ".legend li", "button", "#constructs .share", "#help th"]


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize(("width", "height"), [(1280, 720), (1920, 1080)])
def test_nothing_overlaps_or_overflows(
    show: Open, modelled: Path, threaded: Path, width: int, height: int, theme: str
) -> None:
    for trace in (modelled, threaded):
        page = show(trace, MACHINE if trace == modelled else None)
        page.size(width, height)
        try:
            page.run(
                f"document.documentElement.dataset.theme === '{theme}' || document.getElementById('theme').click()"
            )
            drawn(page)
            page.run("weft.state.choose(1)")
            for tab in ("tab-task", "tab-classes", "tab-workers", "tab-steals"):
                page.run(f"document.getElementById('{tab}').click()")
                drawn(page)
                assert page.run(looks.outside(PARTS)) == [], (width, theme, tab)
                assert page.run(looks.overlaps(PARTS)) == [], (width, theme, tab)
            page.run("document.getElementById('help').showModal()")
            assert page.run(looks.outside(["#help", "#help td"])) == []
            assert page.run(looks.faint(TEXTS)) == [], f"texts that are hard to read, {theme}"
        finally:
            page.size(1400, 900)


def test_bad_looks_are_seen(browser: Browser, tmp_path: Path) -> None:
    page = tmp_path / "bad.html"
    page.write_text(
        "<body style='margin: 0; background: white'><p id=a style='margin: 0; height: 20px'>a</p>"
        "<p id=b style='margin: -10px 0 0; color: #bbb'>b</p><p id=c style='width: 2000px'>c</p>"
        "<p id=d style='margin-top: 3000px'>d</p></body>"
    )
    browser.open(page)
    browser.wait_for("document.getElementById('d')")
    assert browser.run(looks.overlaps(["p"])) == ["a / b"]
    assert browser.run(looks.faint(["p"])) == ["b"]
    assert browser.run(looks.outside(["p"])) == ["c", "d", "the page scrolls across", "the page scrolls down"]
    assert browser.run(looks.outside(["p"], down=False)) == ["c", "the page scrolls across"]


# ---- hostile, empty and damaged


HOSTILE = [
    "</script><img src=x onerror=window.hit=1>",
    "<!--<script>",
    "{{columns}}{{script}}",
    "\u2028'\"&amp;\\",
    "__proto__",
    "x" * 3000,
    "\u202eright to left",
]


def test_names_are_no_markup(show: Open, write: Write) -> None:
    bad = HOSTILE[0]
    machine = {"name": HOSTILE[1], "description": bad}
    trace = TraceFile(workers=1, policy=bad, command=[bad, "</title>"], machine=machine)
    trace.names(**{f"n{i + 1}": name for i, name in enumerate(HOSTILE)})
    for i in range(len(HOSTILE)):
        trace.stream(0, (10 * i, "spawn", i + 1, 0, i + 1, ROOT), (10 * i, "begin", i + 1), (10 * i + 9, "end", i + 1))
    page = show(write(trace.end()))
    assert page.run("window.hit") is None and page.run("document.querySelectorAll('img').length") == 0
    assert sorted(r[0] for r in rows(page, "panel-classes")) == sorted(HOSTILE)
    page.run("weft.state.choose(0)")
    page.wait_for("document.querySelector('.graph')")
    assert texts(page, "#panel-task h2") == [f"{HOSTILE[0]} #1"] and page.run("window.hit") is None
    page.mouse("mouseMoved", *place_of(page, 0, 5))
    assert texts(page, "#tip strong") == [f"{HOSTILE[0]} #1"] and page.run("window.hit") is None
    assert page.log == []
    # And if a name became markup, the page's policy would not let it run.
    page.run("document.body.append(Object.assign(document.createElement('script'), {text: 'window.hit = 1'}))")
    page.run("fetch('http://127.0.0.1:9/').catch(() => 0)")
    assert page.run("window.hit") is None
    assert len(page.log) >= 2 and all("Content Security Policy" in line for line in page.log)


def test_a_trace_with_nothing_in_it(show: Open, write: Write) -> None:
    for made in (TraceFile().end(), TraceFile(), TraceFile(workers=1).stream(0, (7, "spawn", 1, 0, 0, ROOT)).end()):
        page = show(write(made))
        assert len(texts(page, "#notes li")) + len(texts(page, "#figures dd")) >= 9
        page.key("+")
        page.run("weft.state.zoom(1 / 4); weft.state.choose(-1, [0, 1])")
        drawn(page)
        page.wait_for("document.getElementById('draw-range')")
        assert page.log == []


def test_workers_by_the_hundred(show: Open, write: Write) -> None:
    trace = TraceFile(workers=300)
    for w in range(300):
        stolen = (400, "steal", w + 1, double(1.0), (w + 7) % 300)
        trace.stream(w, (w, "spawn", w + 1, 0, 0, ROOT), (w, "begin", w + 1), stolen, (500, "end", w + 1))
    page = show(write(trace.end()))
    assert texts(page, "#panel-steals figcaption") == ["By worker: thief down, victim across"]
    before = pixels(page, "timeline")
    left, top, _, _ = where(page, "#timeline")
    page.mouse("mouseWheel", left + 20, top + 150, deltaX=0, deltaY=900)
    page.wait_for("weft.timeline.scroll > 0")
    drawn(page)
    assert pixels(page, "timeline") != before
    page.run("weft.state.choose(weft.trace.rowOf(251))")
    drawn(page)
    assert page.run("weft.timeline.isVisible(250)"), "a chosen task is in view"
    page.run("document.getElementById('fit-lanes').click()")
    drawn(page)
    first, last = page.run("weft.timeline.visibleWorkers()")
    assert last - first > 100


events = st.lists(
    st.tuples(
        st.integers(0, 60),
        st.integers(1, len(layout.KINDS) - 1),
        st.integers(0, 6) | st.integers(0, 2**64 - 1),
        st.integers(0, 6) | st.integers(0, 2**64 - 1),
        st.integers(0, 3) | st.integers(0, 2**32 - 1),
        st.integers(0, 255),
    ),
    min_size=1,
    max_size=30,
)


@given(events, events)
def test_records_without_sense_become_a_page(
    tmp_path_factory: pytest.TempPathFactory, first: list[Any], second: list[Any]
) -> None:
    path = tmp_path_factory.mktemp("made")
    (path / "made.weft").write_bytes(TraceFile().stream(0, *first).stream(1, *second).end().bytes())
    trace = weft.read_trace(path / "made.weft")
    view(trace, path / "page.html")
    head = json.loads(re.search(r'id="head">(.*?)</script>', (path / "page.html").read_text())[1])  # type: ignore[index]
    assert head["columns"]["taskNumber"]["length"] == len(trace.tasks)


@settings(max_examples=15)
@given(first=events, second=events)
def test_pages_of_records_without_sense_open(
    browser: Browser, tmp_path_factory: pytest.TempPathFactory, first: list[Any], second: list[Any]
) -> None:
    path = tmp_path_factory.mktemp("made")
    (path / "made.weft").write_bytes(TraceFile().stream(0, *first).stream(1, *second).end().bytes())
    try:
        view(weft.read_trace(path / "made.weft"), path / "page.html")
    except weft.Error as error:
        assert "times too far apart" in str(error)
        return
    browser.open(path / "page.html")
    browser.wait_for("window.weft?.ready")
    browser.run("weft.state.choose(weft.trace.tasks - 1, weft.trace.tasks ? null : [0, 1])")
    browser.wait_for("document.querySelector('#panel-task h2')")
    drawn(browser)
    assert browser.log == []


# ---- columns, the script and the command


@given(st.lists(st.integers(-LARGEST, LARGEST), max_size=40), st.booleans())
def test_columns_keep_their_numbers(values: list[int], delta: bool) -> None:
    if max(values, default=0) - min(values, default=0) > LARGEST // 2:
        values = [v // 4 for v in values]
    column = encode(np.array(values, np.int64), delta)
    planes = np.frombuffer(zlib.decompress(base64.b64decode(column.text)), np.uint8).reshape(column.width, -1)
    out = [column.least + sum(int(plane[i]) << 8 * k for k, plane in enumerate(planes)) for i in range(column.length)]
    assert (np.cumsum(out).tolist() if delta else out) == values


def test_columns_that_a_browser_cannot_hold() -> None:
    with pytest.raises(OverflowError):
        encode(np.array([0, LARGEST + 1]))


def test_the_browser_reads_columns(browser: Browser, show: Open, write: Write) -> None:
    """Every width, with and without differences, below 0 too."""
    late = 3 * 10**15
    trace = TraceFile(workers=1)
    for task, at in ((1, 0), (70000, 300), (3, 70_000), (2**31, 5 * 10**9), (5, late)):
        trace.stream(0, (at, "spawn", task, 0, 0, ROOT), (at, "begin", task), (at + 1, "end", task))
    page = show(write(trace.end()))
    assert page.run("[...weft.trace.taskNumber]") == [1, 70000, 3, 2**31, 5]
    assert page.run("[...weft.trace.taskBegan]") == [0, 300, 70_000, 5 * 10**9, late]


def test_an_older_browser(browser: Browser, show: Open, threaded: Path) -> None:
    """A browser without the newest function that reads base64."""
    script = browser.send("Page.addScriptToEvaluateOnNewDocument", source="delete Uint8Array.fromBase64")
    try:
        page = show(threaded)
        assert page.run("Uint8Array.fromBase64") is None
        assert numbers(page, "taskNumber") == [weft.read_trace(threaded).tasks["task"].to_list()]
    finally:
        browser.send("Page.removeScriptToEvaluateOnNewDocument", identifier=script["identifier"])


def test_very_many_classes(show: Open, write: Write) -> None:
    """Tables show the first of them; no number is cut."""
    many = 70_000
    trace = TraceFile(workers=1).names(**{f"n{i}": f"class {i}" for i in range(1, many + 1)})
    records = np.zeros(3 * many, layout.RECORD)
    for k, kind in enumerate(("spawn", "begin", "end")):
        records["kind"][k::3] = layout.KIND[kind]
        records["a"][k::3] = np.arange(1, many + 1)
        records["at"][k::3] = 10 * np.arange(1, many + 1) + 3 * (k > 1)
    records["n"][0::3] = np.arange(1, many + 1)
    records["at"][-1] += 5  # the last one is the longest
    page = show(write(trace.block(layout.RECORDS, 0, records.tobytes()).end()))
    shown = rows(page, "panel-classes")
    assert len(shown) == 500 and shown[0][0] == f"class {many}"
    assert texts(page, "#panel-classes p") == ["The first 500 of 70,000."]
    assert page.run(f"weft.trace.className({many - 1})") == f"class {many}"
    assert "other classes" in texts(page, "#legend li")
    assert len(texts(page, "#constructs [role=treeitem]")) == 500
    assert texts(page, "#constructs .quiet") == ["The first 500 lines; 70,000 constructs."]


def test_times_too_far_apart(write: Write, tmp_path: Path) -> None:
    trace = TraceFile(workers=1).stream(0, (0, "spawn", 1, 0, 0, ROOT), (0, "begin", 1), (1 << 60, "end", 1)).end()
    with pytest.raises(weft.Error, match="times too far apart; given: 1152921504606846976 ns"):
        view(weft.read_trace(write(trace)), tmp_path / "page.html")


def test_modules_share_one_scope() -> None:
    text = bundle("main.js")
    assert not re.search(r"^(import|export)\b", text, re.MULTILINE)
    assert text.index("// ---- trace.js") < text.index("// ---- timeline.js") < text.index("// ---- main.js")


def test_joins_of_graphs_and_groups(show: Open, write: Write) -> None:
    """A task is joined by the first wait behind its end: of its group, or of the task that runs its graph."""
    trace = TraceFile(workers=1).stream(
        0,
        (0, "spawn", 1, 0, 0, ROOT), (0, "begin", 1),
        (1, "spawn", 2, 7, 0, CHILD), (1, "begin", 2, 0, 0, BELOW), (5, "end", 2), (6, "waited", 1, 7),
        (7, "spawn", 3, 7, 0, CHILD), (7, "begin", 3, 0, 0, BELOW), (8, "end", 3), (9, "waited", 1, 7),
        (10, "spawn", 4, 4, 0, GRAPH), (11, "edge", 4, 5), (11, "spawn", 5, 4, 0, GRAPH),
        (12, "begin", 4, 0, 0, BELOW), (13, "end", 4), (14, "begin", 5, 0, 0, BELOW), (15, "end", 5),
        (16, "waited", 1, 99), (20, "end", 1),
    )  # fmt: skip
    page = show(write(trace.end()))
    joins = page.run("[...weft.trace.taskJoin].map((j) => j && weft.trace.joinAt[j - 1])")
    assert joins == [0, 6, 9, 16, 16]


def command(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    status = run(["trace", "view", *map(str, arguments)])
    return (status, *capsys.readouterr())


def test_the_command(
    capsys: pytest.CaptureFixture[str], modelled: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = tmp_path / "page.html"
    assert command(capsys, modelled, "-o", page) == (0, f"{page}\n", "")
    once = page.read_bytes()
    status, out, _ = command(capsys, modelled, "-o", page, "--machine", MACHINE, "--json")
    described: dict[str, Any] = json.loads(out)
    assert status == 0 and described["bytes"] == page.stat().st_size
    assert described["tasks"] == len(weft.read_trace(modelled).tasks)
    assert command(capsys, modelled, "-o", page)[0] == 0 and page.read_bytes() == once, "the same trace, another page"
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", lambda address: not opened.append(address))
    assert command(capsys, modelled, "-o", page, "--open")[0] == 0 and opened == [page.as_uri()]
    monkeypatch.setattr("webbrowser.open", lambda address: False)
    status, _, err = command(capsys, modelled, "-o", page, "--open")
    assert status == 1 and "no browser could be started" in err


@pytest.mark.parametrize(
    ("arguments", "status", "says"),
    [
        (["{cut}", "-o", "{out}"], 1, "byte 16: the header's checksum is wrong"),
        (["{none}", "-o", "{out}"], 1, "cannot be read: No such file"),
        (["{run}", "-o", "page.pdf"], 2, "unknown format of the page; given: page.pdf; allowed: *.html"),
        (["{out}"], 2, "the page would overwrite the trace"),
        (["{run}", "-o", "/nowhere/page.html"], 1, "/nowhere/page.html: No such file"),
        (
            ["{run}", "-o", "{out}", "--machine", "pack:2 core:8 pu:1"],
            1,
            "another machine than the trace's; given: pack:2",
        ),
        (["{run}", "-o", "{out}", "--machine", "none.toml"], 1, "none.toml"),
    ],
)
def test_mistakes(
    capsys: pytest.CaptureFixture[str], modelled: Path, tmp_path: Path, arguments: list[str], status: int, says: str
) -> None:
    cut = bytearray(modelled.read_bytes())
    cut[40] ^= 1
    (tmp_path / "cut.weft").write_bytes(cut)
    files = {name: tmp_path / f"{name}.weft" for name in ("none", "cut")}
    files |= {"run": modelled, "out": tmp_path / "out.html"}
    code, out, err = command(capsys, *(a.format(**files) for a in arguments))
    assert (code, out) == (status, "") and says in err and err.count("\n") == 1
    assert not (tmp_path / "out.html").exists()
