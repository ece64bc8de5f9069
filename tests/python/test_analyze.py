"""The analysis of contention: the paper's own numbers, made-up runs whose speeds are known, and laws.

M. Tillenius, E. Larsson, R. M. Badia, X. Martorell: Resource-aware task scheduling. ACM TECS 2015, section 4.
"""

from __future__ import annotations

import json
import math
import random
import tempfile
import tomllib
from collections.abc import Callable, Mapping
from fractions import Fraction
from pathlib import Path

import contended
import numpy as np
import pytest
import weft
from hypothesis import given
from hypothesis import strategies as st
from weft.analyze import analyze
from weft.analyze.allocation import allocations, count
from weft.analyze.analysis import diagnose
from weft.analyze.contention import MOST_STATES, Axis, Equations, concurrency, equations, time_above
from weft.analyze.prediction import Model, best_case, conditional, predict, worst_case
from weft.analyze.resources_file import resources_file
from weft.analyze.sensitivity import reduction, sensitivities
from weft.analyze.speeds import Speed, Speeds, solve, states_of
from weft.analyze.workload import Need, Workload, workload
from weft.trace import layout
from writing import TraceFile

Write = Callable[[TraceFile], Path]
COPY, CALC = Axis.of("copy"), Axis.of("calc")


def table(name: str, times: Mapping[int, float] | list[float], own: Axis | None = None) -> Speeds:
    """Speeds by the number of the class's own kind."""
    levels = dict(enumerate(times, start=1)) if isinstance(times, list) else times
    rows = {(r,): Speed((r,), t, "solved", 1 / len(levels), None) for r, t in levels.items()}
    return Speeds(name, (own or Axis.of(name),), 0, rows, 0.0, 100)


def mixed(seed: int, **classes: int) -> list[str]:
    order = [name for name, n in classes.items() for _ in range(n)]
    random.Random(seed).shuffle(order)
    return order


# ---- section 4.1


def test_sensitivity_and_reduction() -> None:
    """Four tasks of 10, 10, 20, 30 and two of 5: by hand."""
    ran = contended.Ran(2)
    at = 0.0
    for name, took in (("a", 10), ("a", 10), ("a", 20), ("a", 30), ("b", 5), ("b", 5)):
        ran.tasks.append((name, 0, at, at + took))
        at += took
    run = ran.workload()
    a, b = sensitivities([run])
    assert (a.name, a.count, a.total, a.min, a.q3, a.max) == ("a", 4, 70, 10, 22.5, 30)
    assert a.sigma == 1.25 and b.sigma == 0
    r = reduction(run, [a, b])
    assert r.of_thread_time == (80 - 50) / 80
    assert r.of_elapsed == (2 * 80 - 50) / 160


def test_fastest_times_of_a_serial_run() -> None:
    parallel, serial = contended.Ran(2), contended.Ran(1)
    parallel.tasks = [("a", 0, 0, 30), ("a", 1, 0, 40)]
    serial.tasks = [("a", 0, 0, 20), ("a", 0, 20, 41)]
    (a,) = sensitivities([parallel.workload()], serial.workload())
    assert a.serial and a.min == 20 and a.sigma == pytest.approx((37.5 - 20) / 20)
    assert a.count == 2, "tasks of the serial run are not among those that are diagnosed"


# ---- section 4.2.1


def test_the_equation_of_figure_5() -> None:
    """A task of 100 that runs 45 alone, 35 with one more of its kind and 20 with two: 45 c1 + 35 c2 + 20 c3 = 1."""
    ran = contended.Ran(4)
    ran.tasks = [
        ("red", 0, 0, 100),
        ("red", 1, 20, 75),  # 20 alone, then two until 45, three until 65
        ("red", 2, 45, 65),
        ("black", 3, 0, 100),
    ]
    e = equations(ran.workload(), [Axis.of("red")], ["red"])["red"]
    assert e.states.tolist() == [[1], [2], [3]]
    assert e.time[0].tolist() == [45, 35, 20]
    assert concurrency(ran.workload(), Axis.of("red")) == (45 + 2 * 35 + 3 * 20) / 100
    assert [time_above(ran.workload(), Axis.of("red"), n) for n in (0, 1, 2, 3)] == [100, 55, 20, 0]


def test_a_task_that_is_put_aside_competes_only_while_it_runs(write: Write) -> None:
    trace = TraceFile(2).names(n1="a")
    trace.stream(0, (0, "spawn", 100, 100, 1, 3), (0, "spawn", 101, 100, 1, 3), (10, "begin", 100))
    trace.stream(0, (20, "suspend", 100), (50, "resume", 100), (70, "end", 100))
    trace.stream(1, (10, "begin", 101), (60, "end", 101))
    run = workload(weft.read_trace(write(trace.end())))
    e = equations(run, [Axis.of("a")], ["a"])["a"]
    assert e.states.tolist() == [[1], [2]] and e.time.tolist() == [[10, 20], [30, 20]]
    assert run.suspended == {"a": 1}


BANDWIDTH = [1.0, 0.6, 0.4, 0.3]
"""Speed of a copy by how many there are."""


def bandwidth(name: str, running: Mapping[str, int]) -> float:
    return (BANDWIDTH[running["copy"] - 1] if name == "copy" else 0.8) / 1e6


def test_known_speeds_are_recovered() -> None:
    ran = contended.run(4, mixed(1, copy=120, calc=120), bandwidth)
    for name, axis in (("copy", COPY), ("calc", CALC)):
        s = solve(name, [axis], 0, 4, equations(ran.workload(), [axis], [name])[name])
        assert s and s.residual < 0.001
        for (level,), speed in s.table.items():
            assert speed.source == "solved" and speed.firm
            assert speed.time == pytest.approx(1 / bandwidth(name, {name: level}), rel=0.05)


def line(name: str, running: Mapping[str, int]) -> float:
    return (1.2 - 0.2 * running[name]) / 1e6


@pytest.mark.parametrize("seen", [{1, 2}, {1, 3}, {2, 3}, {3, 4}, {1, 4}, {1, 2, 4}, {2, 4}])
def test_levels_that_never_occur_lie_on_the_line(seen: set[int]) -> None:
    ran, at = contended.Ran(4), 0.0
    for level in sorted(seen):
        took = 1 / line("a", {"a": level})
        for _ in range(5):
            ran.tasks += [("a", worker, at, at + took) for worker in range(level)]
            at += took
    s = solve("a", [Axis.of("a")], 0, 4, equations(ran.workload(), [Axis.of("a")], ["a"])["a"])
    assert s
    for (level,), speed in s.table.items():
        between = min(seen) < level < max(seen)
        assert speed.source == ("solved" if level in seen else "interpolated" if between else "extrapolated")
        assert speed.time == pytest.approx(1 / line("a", {"a": level}), rel=0.05)
        assert speed.firm == (level in seen)


def test_small_columns_come_after_the_large_ones() -> None:
    """A level of a thousandth of the time is solved from the few rows that have it, and disturbs no other."""
    rows = [[100.0, 0.0]] * 200 + [[50.0, 12.5]] * 2
    s = solve("a", [Axis.of("a")], 0, 2, Equations(np.array([[1], [2]]), np.array(rows)))
    assert s and s.table[(1,)].time == pytest.approx(100) and s.table[(2,)].time == pytest.approx(25)


def test_what_comes_out_negative_is_no_speed() -> None:
    """Rows that contradict each other: with two at a time a task would have to run backwards."""
    rows = [[100.0, 0.0], [102.0, 0.0], [120.0, 40.0], [120.0, 42.0]]
    s = solve("a", [Axis.of("a")], 0, 3, Equations(np.array([[1], [2]]), np.array(rows)))
    assert s and s.table[(1,)].source == "solved" and s.table[(2,)].source == "extrapolated"
    assert all(speed.time > 0 for speed in s.table.values())


def test_an_extrapolation_never_ends_below_nothing() -> None:
    """1 and 0.5 would give 0 and -0.5: then the throughput stays as it was."""
    rows = [[100.0, 0.0]] * 5 + [[0.0, 200.0]] * 5
    s = solve("a", [Axis.of("a")], 0, 4, Equations(np.array([[1], [2]]), np.array(rows)))
    assert s and [round(x.time) for x in s.table.values()] == [100, 200, 300, 400]


def test_tasks_of_several_sizes_count_as_what_they_are_together() -> None:
    """Sizes 0.5 to 1.5 at one speed: least squares alone would say 1.08 of the average."""
    sizes = np.linspace(50, 150, 101)[:, None]
    s = solve("a", [Axis.of("a")], 0, 1, Equations(np.array([[1]]), sizes))
    assert s and s.table[(1,)].time == pytest.approx(100) and s.residual == pytest.approx(0.29, abs=0.01)


def test_traces_are_put_together() -> None:
    one = Equations(np.array([[1], [3]]), np.array([[1.0, 2.0]]))
    two = Equations(np.array([[1], [2]]), np.array([[3.0, 4.0], [5.0, 6.0]]))
    both = one + two
    assert both.states.tolist() == [[1], [2], [3]]
    assert both.time.tolist() == [[1, 0, 2], [3, 4, 0], [5, 6, 0]]


# ---- section 4.2.2


def test_allocations() -> None:
    assert count(4, 2) == 6
    assert list(allocations(4, 2)) == [(1, 1), (1, 2), (1, 3), (2, 1), (2, 2), (3, 1)]
    # Halves of four workers, one of three resources exclusive: binom((4 - 1) * 2, 3 - 1).
    halves = list(allocations(4, 3, parts=2, exclusive=1))
    assert len(halves) == count(4, 3, parts=2, exclusive=1) == 15
    assert (1, Fraction(1, 2), Fraction(5, 2)) in halves
    for workers, limits, parts in ((6, 3, 1), (3, 2, 4), (5, 5, 1), (2, 3, 1)):
        every = list(allocations(workers, limits, parts=parts))
        assert len(every) == len(set(every)) == math.comb(workers * parts, limits)
        assert all(min(p) > 0 and sum(p) <= workers for p in every)
    for wrong in ((0, 1), (4, 0)):
        with pytest.raises(weft.Error, match="allowed: numbers from 1"):
            count(*wrong)


def test_states() -> None:
    """k = 2 beside others: binom(p + 2, 2); three that share all workers: those of binom(p + 2, 2) with one's own."""
    p = 4
    everything = {tuple(s) for own in range(3) for s in states_of(p, 3, own).tolist()} | {(0, 0, 0)}
    assert len(everything) == math.comb(p + 3, 3) == 35
    assert sum(sum(s) == p for s in everything) == math.comb(p + 2, 2) == 15
    two = {tuple(s) for own in range(2) for s in states_of(p, 2, own).tolist()} | {(0, 0)}
    assert len(two) == math.comb(p + 2, 2)
    assert all(s[1] >= 1 for s in states_of(p, 3, 1).tolist())


def model(workers: int, *tables: Speeds, exclusive: frozenset[str] = frozenset()) -> Model:
    least = {t.name: min(s.time for s in t.table.values()) for t in tables}
    return Model(workers, tuple(t.axes[t.own] for t in tables), {t.name: t for t in tables}, least, exclusive)


def test_conditional_allocation() -> None:
    """Figure 6: (2, 2, 1) on eight workers, with others and without."""
    m = model(8, *(table(n, [1.0] * 8) for n in "abcde"))
    limits = {"a": 2, "b": 2, "c": 1}
    assert conditional(m, "abcde", limits, False) == {"a": 2, "b": 2, "c": 1, "d": 1.5, "e": 1.5}
    assert conditional(m, "abd", limits, False) == {"a": 2, "b": 2, "d": 4}
    assert conditional(m, "abc", limits, False) == {"a": 2, "b": 2, "c": 1}
    assert conditional(m, "abc", limits, True) == {"a": 3.2, "b": 3.2, "c": 1.6}
    assert conditional(m, "bc", limits, True) == pytest.approx({"b": 16 / 3, "c": 8 / 3})
    fixed = model(8, *(table(n, [1.0] * 8) for n in "abc"), exclusive=frozenset("c"))
    assert conditional(fixed, "abc", limits, True) == {"a": 3.5, "b": 3.5, "c": 1}
    assert conditional(fixed, "c", limits, True) == {"c": 1}


def test_time_between_whole_numbers() -> None:
    s = table("a", [10, 14, 20, 32])
    assert [s.time([q]) for q in (0, 0.5, 1, 1.5, 2.25, 4)] == [10, 10, 10, 12, 15.5, 32]


# ---- section 4.2.3


def test_greedy_prediction_by_hand() -> None:
    """Ten copies of 10 one at a time beside 40 computations of 10 on three workers: 100, then ten of them on four."""
    m = model(4, table("copy", [10, 14, 20, 32]), table("calc", [10] * 4))
    p = predict(m, np.array([[10, 40]]), ["copy", "calc"], {"copy": 1})
    assert p.time == pytest.approx(100 + 10 * 10 / 4) and p.idle == pytest.approx(0)
    assert [(s.time, s.q) for s in p.stretches] == [(100, {"copy": 1, "calc": 3}), (25, {"calc": 4})]
    # Too few computations: three workers idle, or all copy.
    p = predict(m, np.array([[10, 6]]), ["copy", "calc"], {"copy": 1})
    assert p.time == pytest.approx(100) and p.idle == pytest.approx(1 - 160 / 400)
    p = predict(m, np.array([[10, 6]]), ["copy", "calc"], {"copy": 1}, steal=True)
    assert p.time == pytest.approx(20 + 8 * 32 / 4)
    # Phases one after the other.
    p = predict(m, np.array([[10, 40], [0, 40], [10, 40]]), ["copy", "calc"], {"copy": 1})
    assert p.time == pytest.approx(125 + 100 + 125)


def test_a_prediction_says_what_it_rests_on() -> None:
    rows = {(r,): Speed((r,), 10.0, "solved" if r == 1 else "extrapolated", 0.5, None) for r in (1, 2)}
    m = model(2, Speeds("copy", (COPY,), 0, rows, 0.0, 10), table("calc", [10, 10]))
    counts = np.array([[10, 10]])
    assert predict(m, counts, ["copy", "calc"], {"copy": 1}).extrapolated == 0
    assert predict(m, counts, ["copy", "calc"], {"copy": 2}).extrapolated == pytest.approx(0.5)


def test_prediction_is_exact_where_its_assumptions_hold() -> None:
    """Speeds by the own kind, every limit reached, so many tasks that the last ones do not matter."""
    run = contended.run(4, mixed(3, copy=300, calc=800), bandwidth).workload()
    a = analysis(run)
    assert [axis.name for axis in a.limits] == ["copy"] and a.kind == "independent" and a.busy > 0.99
    assert len(a.predictions) == 4 and a.best and a.best.time == min(p.time for p in a.predictions)
    for p in a.predictions:
        first = ["copy"] * 300 + ["calc"] * 800
        real = contended.run(4, first, bandwidth, {"copy": int(p.limits["copy"])}).elapsed
        assert p.time == pytest.approx(real, rel=0.01)


def test_best_and_worst_case() -> None:
    """n m / p alike for all: t_worst / t_best = sum (p_i / p) t_i(p) / m_i, equation (10)."""
    m = model(4, table("copy", [10, 14, 20, 32]), table("calc", [10, 10, 10, 12]))
    counts = np.array([[10, 30]])
    best, worst = best_case(m, counts, ["copy", "calc"]), worst_case(m, counts, ["copy", "calc"])
    assert best == 100 and worst == 10 * 32 / 4 + 30 * 12 / 4
    assert worst / best == pytest.approx(1 / 4 * 32 / 10 + 3 / 4 * 12 / 10)
    assert predict(m, counts, ["copy", "calc"], {"copy": 1}).time == pytest.approx(best)


# ---- section 4.3


def crossed(name: str, running: Mapping[str, int]) -> float:
    """Readers suffer from copies more than from each other."""
    copies, reads = running.get("copy", 0), running.get("read", 0)
    slower = {"copy": 1 + 0.4 * (copies - 1) + 0.1 * reads, "read": 1 + 0.9 * copies + 0.2 * (reads - 1), "calc": 1.0}
    return 1 / slower[name] / 1e6


def test_interacting_classes_are_seen() -> None:
    order = mixed(5, copy=150, read=150, calc=300)
    a = analysis(contended.run(4, order, crossed).workload(), limit=[["copy"], ["read"]])
    assert a.kind == "interacting" and a.evidence and a.evidence > 100
    for s in a.speeds:
        for state, speed in s.table.items():
            if s.name != "calc" and speed.source == "solved" and speed.seen > 0.02:
                running = {axis.name: n for axis, n in zip(s.axes, state, strict=True)}
                assert speed.time == pytest.approx(1 / crossed(s.name, running), rel=0.05)
    best = a.best
    assert best
    real = contended.run(4, order, crossed, {k: int(v) for k, v in best.limits.items()}).elapsed
    assert best.time == pytest.approx(real, rel=0.05)
    plain = analysis(contended.run(4, order, bandwidth_of_two).workload(), limit=[["copy"], ["read"]])
    assert plain.kind == "independent"


def bandwidth_of_two(name: str, running: Mapping[str, int]) -> float:
    return line(name, running) if name != "calc" else 1e-6


# ---- what is limited


def analysis(
    run: Workload,
    limit: list[list[str]] | None = None,
    more: list[Workload] | None = None,
    alone: Workload | None = None,
) -> weft.analyze.Analysis:
    return diagnose(run, more or [], alone, limit)


def test_nothing_to_limit() -> None:
    a = analysis(contended.run(4, mixed(1, copy=50, calc=50), lambda *_: 1e-6).workload())
    assert a.limits == () and a.predictions == () and a.best is None and not a.worthwhile
    with pytest.raises(weft.Error, match="nothing to limit"):
        a.resources()
    json.dumps(a.to_json())


def test_tasks_of_several_sizes_are_not_contention() -> None:
    sizes = random.Random(2)
    run = contended.run(4, ["a"] * 400, lambda *_: 1e-6, work=lambda _: sizes.choice([1.0, 2.0, 4.0])).workload()
    a = analysis(run)
    sigma = a.classes[0].sigma
    assert sigma and sigma > 0.5 and a.limits == ()
    a = analysis(contended.run(4, mixed(2, a=200, b=200), lambda *_: 1e-6, work=lambda i: 1 + i % 3).workload())
    assert a.limits == () and any("its tasks differ" in note for note in a.notes)


def test_a_machine_that_others_use_is_suspected(write: Write) -> None:
    """Every class takes from one to four times its time, whatever runs beside it."""
    sizes = random.Random(7)
    order, slow = mixed(7, a=100, b=100), lambda _: sizes.choice([1.0, 2.0, 4.0])
    trace = contended.run(2, order, lambda *_: 1e-6, work=slow).trace()
    assert any("other programs" in note for note in analyze(weft.read_trace(write(trace))).notes)
    trace = contended.run(4, mixed(1, copy=60, calc=120), bandwidth).trace()
    assert not any("other programs" in note for note in analyze(weft.read_trace(write(trace))).notes)


def test_a_serial_trace_tells_what_a_contended_one_cannot() -> None:
    order = ["copy"] * 40 + ["calc"] * 120
    run = contended.run(4, order, bandwidth).workload()
    blind = analysis(run)
    assert blind.limits == () and any("--serial" in note for note in blind.notes)
    a = analysis(run, alone=contended.run(1, order, bandwidth).workload())
    assert [axis.name for axis in a.limits] == ["copy"] and a.best and a.best.limits == {"copy": 1}
    real = contended.run(4, order, bandwidth, {"copy": 1}).elapsed
    assert a.best.time == pytest.approx(real, rel=0.05)


def test_classes_of_one_resource_go_together() -> None:
    def disk(name: str, running: Mapping[str, int]) -> float:
        users = running.get("read", 0) + running.get("write", 0)
        return 1e-6 / (users if name != "calc" else 1)

    file = {name: (Need("file", 1, 1, 100),) for name in ("read", "write")}
    run = contended.run(4, mixed(4, read=100, write=100, calc=800), disk)
    a = analysis(run.workload(needs=file))
    assert [axis.classes for axis in a.limits] == [("read", "write")] and len(a.predictions) == 4
    assert tomllib.loads(a.resources()) == {"resource": [{"name": "file", "amount": 1}]}


def test_limits_that_cannot_be() -> None:
    run = contended.run(4, mixed(1, copy=30, calc=30), bandwidth).workload()
    for limit, says in (
        ([["copi"]], "no class that can be limited; given: copi; allowed: calc, copy"),
        ([["copy"], ["copy"]], "a class is limited twice; given: copy"),
        ([["copy"], ["calc"]] * 3, "limited twice"),
    ):
        with pytest.raises(weft.Error, match=says):
            analysis(run, limit=limit)


def test_resources_file() -> None:
    axes = [Axis.of("copy"), Axis.of("in", "out"), Axis.of("plain")]
    needs = {
        "copy": (Need("bandwidth", 2, 2, 10),),
        "in": (Need("disk", 1, 1, 5),),
        "out": (Need("disk", 1, 3, 5),),
        "other": (Need("memory", 10, 30, 4),),
    }
    text = resources_file({"copy": 3, "in+out": 1, "plain": 2}, axes, needs, "written\nby a test")
    assert text.startswith("# written\n# by a test\n")
    file = tomllib.loads(text)
    amounts = {r["name"]: r["amount"] for r in file["resource"]}
    assert amounts == {"bandwidth": 6, "in+out": 1, "plain": 2, "disk": 5 + 15, "memory": 120}
    given = [(n["tasks"], n["resource"]) for n in file["needs"]]
    assert given == [("in", "in+out"), ("out", "in+out"), ("plain", "plain")]
    name = 'a "quoted" \\ name\n'
    quoted = tomllib.loads(resources_file({name: 1}, [Axis.of(name)], {}))
    assert quoted == {"resource": [{"name": name, "amount": 1}], "needs": [{"tasks": name, "resource": name}]}
    with pytest.raises(weft.Error, match="whole number"):
        resources_file({"copy": 0.5}, axes, {})


# ---- from files


def test_a_trace_from_its_file(write: Write) -> None:
    ran = contended.run(4, mixed(1, copy=60, calc=120), bandwidth)
    a = analyze(weft.read_trace(write(ran.trace())))
    assert a.tasks == 180 and a.phases == 1 and a.workers == 4
    assert a.elapsed == pytest.approx(ran.elapsed, abs=2)
    assert [axis.name for axis in a.limits] == ["copy"] and a.best and a.best.limits == {"copy": 1}
    assert not any("refused" in note or "lost" in note for note in a.notes)
    said = json.loads(json.dumps(a.to_json()))
    assert tomllib.loads(said["resources"])["needs"] == [{"tasks": "copy", "resource": "copy"}]
    with pytest.raises(weft.Error, match="the first 1 phases left out; allowed: fewer than its 1 phases"):
        analyze(weft.read_trace(write(ran.trace())), skip=1)
    with pytest.raises(weft.Error, match="no serial trace; given: 4 workers; allowed: 1 worker"):
        analyze(weft.read_trace(write(ran.trace())), serial=weft.read_trace(write(ran.trace())))


def test_phases_are_runs_of_graphs(write: Write) -> None:
    trace = TraceFile(2).names(n1="a")
    trace.stream(layout.OUTSIDE, (0, "spawn", 1), (0, "spawn", 90, 0, 0, 5))
    trace.stream(0, (0, "begin", 1), (5, "spawn", 100, 100, 1, 3), (5, "spawn", 101, 100, 1, 3))
    trace.stream(0, (500, "spawn", 200, 200, 1, 3), (510, "suspend", 1), (510, "begin", 200), (540, "end", 200))
    trace.stream(
        1,
        (10, "begin", 100),
        (20, "end", 100),
        (30, "begin", 101),
        (50, "end", 101),
        (55, "begin", 90),
        (60, "end", 90),
    )
    run = workload(weft.read_trace(write(trace.end())))
    assert run.phases.tolist() == [[10, 50], [510, 540]] and run.elapsed == 70
    assert run.classes == ("a",) and run.counts().tolist() == [[2], [1]], "neither the root nor the runtime's own"
    late = workload(weft.read_trace(write(trace)), skip=1)
    assert late.counts().tolist() == [[1]] and late.own.tolist() == [30]


def test_needs_of_the_program(threaded: Path, write: Write) -> None:
    assert workload(weft.read_trace(threaded)).needs == {}
    trace = TraceFile(1).names(n1="read", n2="file", n3="write", n4="cores")
    trace.stream(
        0, (0, "spawn", 100, 100, 1, 3), (0, "need", 1, 0, 2), (0, "need", 4, 0, 4), (0, "spawn", 101, 100, 3, 3)
    )
    trace.stream(0, (0, "need", 2, 0, 2), (0, "begin", 100), (5, "end", 100), (5, "begin", 101), (9, "end", 101))
    run = workload(weft.read_trace(write(trace.end())))
    assert run.needs == {"read": (Need("file", 1, 1, 1),), "write": (Need("file", 2, 2, 1),)}


def test_a_trace_in_which_nothing_ran(write: Write) -> None:
    with pytest.raises(weft.Error, match="no task is left to analyse; given: the first 0 phases"):
        analyze(weft.read_trace(write(TraceFile(2).stream(0, (0, "spawn", 100, 100, 1, 3)).end())))


def test_tasks_that_take_no_time(write: Write) -> None:
    trace = TraceFile(2).names(n1="a").stream(0, (0, "spawn", 100, 100, 1, 3), (5, "begin", 100), (5, "end", 100))
    a = analyze(weft.read_trace(write(trace.end())))
    assert a.elapsed == 0 and a.predictions == () and a.classes[0].sigma is None
    json.dumps(a.to_json(), allow_nan=False)


def test_what_the_traces_cannot_tell_is_said(write: Write) -> None:
    trace = TraceFile(2).names(n1="a")
    trace.stream(0, (0, "spawn", 100, 100, 1, 3), (0, "begin", 100), (5, "lost", 3), (9, "end", 100))
    trace.stream(1, (0, "spawn", 101, 100, 1, 3), (1, "refused", 101), (2, "begin", 101))
    notes = " ".join(analyze(weft.read_trace(write(trace))).notes)
    for words in ("3 events were lost", "ends before the process did", "1 times a task had to wait for a resource"):
        assert words in notes


def test_real_programs(modelled: Path, threaded: Path) -> None:
    forks = analyze(weft.read_trace(modelled))
    assert forks.limits == () and forks.phases == 1
    lu = analyze(weft.read_trace(threaded), limit=[["bmod"], ["bdiv"]])
    assert len(lu.predictions) == 1 and lu.best and lu.best_case and lu.best.time >= lu.best_case


# ---- laws

times = st.lists(st.floats(1, 100), min_size=4, max_size=4)


@given(times, times, times, st.lists(st.integers(0, 50), min_size=3, max_size=3), st.booleans())
def test_no_prediction_is_below_the_best_case(
    a: list[float], b: list[float], c: list[float], n: list[int], steal: bool
) -> None:
    m, names, counts = model(4, table("a", a), table("b", b), table("c", c)), ["a", "b", "c"], np.array([n])
    for p in allocations(4, 2):
        one = predict(m, counts, names, dict(zip("ab", p, strict=True)), steal=steal)
        assert one.time >= best_case(m, counts, names) * (1 - 1e-9)
        assert 0 <= one.idle <= 1 and 0 <= one.extrapolated <= 1
        # In another order of classes and axes.
        turned = Model(m.workers, m.axes[::-1], m.speeds, m.min)
        again = predict(turned, counts[:, ::-1], names[::-1], dict(zip("ba", p[::-1], strict=True)), steal=steal)
        assert again.time == pytest.approx(one.time)


@given(
    st.integers(1, 4),
    st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 1000), st.integers(0, 300)), min_size=1, max_size=60),
    st.sampled_from([None, [["a"]], [["a", "b"]], [["a"], ["b"]]]),
)
def test_any_trace_can_be_analysed(
    workers: int, tasks: list[tuple[str, int, int]], limit: list[list[str]] | None
) -> None:
    """Whatever ran when: times are positive and nothing fails but what cannot be limited."""
    ran, free = contended.Ran(workers), [0] * workers
    for name, worker, took in tasks:
        w = worker % workers
        begin = free[w] + worker % 7
        free[w] = begin + took
        ran.tasks.append((name, w, begin, free[w]))
    if all(begin == end for *_, begin, end in ran.tasks):
        return
    try:
        a = analysis(ran.workload(), limit)
    except weft.Error as failure:
        assert "no class that can be limited" in str(failure) or "more limits than workers" in str(failure)
        return
    json.dumps(a.to_json(), allow_nan=False)
    for s in a.speeds:
        assert all(speed.time > 0 and math.isfinite(speed.time) for speed in s.table.values())
    for p in a.predictions:
        assert a.best_case is not None and math.isfinite(p.time) and p.time >= a.best_case * (1 - 1e-9)


@given(st.lists(st.integers(0, 60), min_size=12, max_size=60), st.integers(0, 2**32 - 1))
def test_records_without_sense_do_no_harm(at: list[int], seed: int) -> None:
    """Any records in any order in a file: an analysis, or an error of one line."""
    draw = random.Random(seed)
    file = TraceFile(2).names(n1="a", n2="b")
    for stream in (0, 1, layout.OUTSIDE):
        kinds = ("spawn", "begin", "end", "suspend", "resume", "need", "refused", "lost", "graph", "edge")
        rows = []
        for time in sorted(draw.sample(at, len(at) // 2)):
            task, group = draw.randint(1, 5), draw.choice([0, 1, 7])
            rows.append((time, draw.choice(kinds), task, group, draw.randint(0, 3), draw.randint(0, 5)))
        file.stream(stream, *rows)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "made.weft")
        path.write_bytes((file.end() if draw.random() < 0.5 else file).bytes())
        try:
            a = analyze(weft.read_trace(path), limit=draw.choice([None, [["a"]], [["a"], ["b"]]]))
        except weft.Error as failure:
            assert "\n" not in str(failure)
        else:
            json.dumps(a.to_json(), allow_nan=False)


@given(st.integers(0, 2**32 - 1))
def test_names_do_not_matter(seed: int) -> None:
    """The same run under other names, which are sorted another way round."""
    random_ = random.Random(seed)
    order = mixed(seed, copy=random_.randint(10, 40), calc=random_.randint(10, 40))
    ran = contended.run(4, order, bandwidth)
    renamed = contended.Ran(4, [({"copy": "b", "calc": "z"}[name], *rest) for name, *rest in ran.tasks])
    one, other = analysis(ran.workload(), [["copy"]]), analysis(renamed.workload(), [["b"]])
    assert [p.time for p in one.predictions] == pytest.approx([p.time for p in other.predictions])
    assert one.reduction == other.reduction


def test_the_sweep_is_not_quadratic() -> None:
    """No clock: the work of the sweep is arrays of the size of the trace. 40,000 tasks on 16 workers pass."""
    rng = np.random.default_rng(1)
    n, workers = 40_000, 16
    ran = contended.Ran(workers)
    took = rng.integers(50, 150, n)
    at = np.zeros(workers, np.int64)
    for i in range(n):
        w = i % workers
        ran.tasks.append(("ab"[i % 3 == 0], w, float(at[w]), float(at[w] + took[i])))
        at[w] += took[i]
    e = equations(ran.workload(), [Axis.of("a"), Axis.of("b")], ["a", "b"])
    assert e["a"].time.sum() + e["b"].time.sum() == took.sum()
    assert len(e["a"].states) <= MOST_STATES


def test_too_many_states_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("weft.analyze.contention.MOST_STATES", 2)
    run = contended.run(4, mixed(1, copy=30, calc=30), bandwidth).workload()
    with pytest.raises(weft.Error, match="too many states"):
        equations(run, [COPY], ["copy"])
