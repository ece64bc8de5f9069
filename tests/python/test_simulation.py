"""Recorded programs, run again on modelled machines."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl
import pytest
import weft
from conftest import COPY_COMPUTE, EXAMPLES, MACHINE, run_example
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from weft.cli import run as cli
from weft.trace import layout
from writing import BELOW, CHILD, FORK, FRESH, GRAPH, INSIDE, ROOT, TraceFile

PROGRAMS = {
    "fib": "--n 12",
    "wavefront": "--n 200 --block 16",
    "sparse_lu": "--blocks 8 --side 8",
    "heat2d": "--rows 200 --cols 100 --sweeps 6 --leaf-rows 8",
    "merge_sort": "--n 20000 --leaf 256",
    "kd_tree": "--n 2000",
    "n_body": "--n 300 --block 32 --accesses commutative",
    "tiled_cholesky": "--n 256 --tile 32",
}
POLICIES = ("steal", "steal:zone=reported", "steal-parent-first", "share", "near")


def seconds_of(program: str, arguments: str, policy: str, folder: Path) -> list[float]:
    """Of each run of the program itself in the model."""
    report = folder / "report.json"
    environment = {k: v for k, v in os.environ.items() if not k.startswith("WEFT_")}
    environment |= {
        "WEFT_ENGINE": "model",
        "WEFT_MACHINE": str(MACHINE),
        "WEFT_POLICY": policy,
        "WEFT_SEED": "1",
        "WEFT_REPORT": str(report),
    }
    command = [EXAMPLES / program, *arguments.split()]
    subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL, timeout=50)
    return [run["seconds"] for run in json.loads(report.read_text())["runs"]]


@pytest.mark.parametrize("program", [p for p in PROGRAMS if p != "fib"])  # which declares no costs
def test_a_modelled_run_again_takes_what_it_took(program: str, tmp_path: Path) -> None:
    """The trace holds all that the model needs: recorded under one policy and simulated under any other, the program
    takes to the nanosecond the time that it takes there itself."""
    path = tmp_path / "run.weft"
    run_example(program, PROGRAMS[program], path, "steal", "model")
    again = weft.Program(path)
    assert again.times == "declared"
    for policy in POLICIES:
        result = weft.simulate(again, machine=MACHINE, policy=policy)
        assert [run.seconds for run in result.runs] == seconds_of(program, PROGRAMS[program], policy, tmp_path), policy
        if policy == "steal":
            assert result.seconds == pytest.approx(result.recorded_seconds, rel=1e-9)
    assert result.machine == "opteron-8380-4x4" and result.workers == 16 and result.policy == "near"
    assert all(len(run.report.workers) == 16 for run in result.runs)


@pytest.mark.usefixtures("no_patience")
@pytest.mark.parametrize("program", PROGRAMS)
def test_a_run_on_threads_is_a_program_too(program: str, tmp_path: Path) -> None:
    path = tmp_path / "run.weft"
    run_example(program, PROGRAMS[program], path, "steal", "threads")
    again = weft.Program(path)
    assert again.times == "measured" and again.lost == 0
    # What the forks of a graph take is the runtime's, and not carried over: usually next to nothing.
    work = weft.read_trace(path).tasks.filter(pl.col("origin") != "runtime")["own"].sum() * 1e-9
    for policy in POLICIES:
        result = weft.simulate(again, machine=GREEDY.write(tmp_path, 8), policy=policy)
        assert work / 8 * 0.99 <= result.seconds <= work * 1.01
        assert sum(run.recorded_seconds for run in result.runs) == pytest.approx(result.recorded_seconds)


class GREEDY:
    """A machine whose runtime costs nothing, of cores of 1 GHz: a nanosecond is a cycle."""

    @staticmethod
    def write(folder: Path, cores: int) -> Path:
        path = folder / f"greedy{cores}.toml"
        charges = ["fork", "spawn", "start", "suspend", "wait", "look", "look_away", "lock", "wake", "woken"]
        charges += ["exposure", "signal"]
        path.write_text(
            f"""
name = "greedy"
[[core_class]]
name = "core"
frequency_mhz = 1000
[regular]
cores_per_domain = {cores}
[charges]
"""
            + "".join(f"{c}_ns = 0\n" for c in charges)
        )
        return path


@pytest.fixture
def no_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker without work sleeps at once, which makes the machine greedy."""
    monkeypatch.setenv("WEFT_SPIN", "0")


@pytest.fixture
def greedy(tmp_path: Path, no_patience: None) -> Callable[[int], Path]:
    return lambda cores: GREEDY.write(tmp_path, cores)


# ---- made-up programs, as one worker would have run them


@dataclass
class Serial:
    """Writes the trace of a program that one worker runs."""

    events: list[tuple[int, ...]] = field(default_factory=list)
    now: int = 0
    tasks: Iterator[int] = field(default_factory=lambda: itertools.count(1))
    groups: Iterator[int] = field(default_factory=lambda: itertools.count(0x1000, 16))

    def say(self, kind: str, *rest: int) -> None:
        self.events.append((self.now, kind, *rest))  # type: ignore[arg-type]

    def root(self, body: Callable[[Serial], None]) -> Serial:
        self.task(ROOT, FRESH, 0, body)
        return self

    def task(self, origin: int, start: int, group: int, body: Callable[[Serial], None]) -> int:
        number = next(self.tasks)
        self.say("spawn", number, group, 0, origin)
        self.run(number, start, body)
        return number

    def run(self, number: int, start: int, body: Callable[[Serial], None]) -> None:
        self.say("begin", number, 0, 0, start)
        body(self)
        self.say("end", number)

    def compute(self, ns: int) -> None:
        self.now += ns

    def join(self, first: Callable[[Serial], None], second: Callable[[Serial], None]) -> None:
        number = next(self.tasks)
        self.say("spawn", number, 0, 0, FORK)
        first(self)
        self.run(number, INSIDE, second)

    def group(self, *bodies: Callable[[Serial], None]) -> None:
        group = next(self.groups)
        for body in bodies:
            self.task(CHILD, BELOW, group, body)
        self.say("wait", 0, group)
        self.say("waited", 0, group)

    def graph(self, costs: list[int], edges: list[tuple[int, int]]) -> None:
        first = next(self.tasks)
        for _ in costs[1:]:
            next(self.tasks)
        self.say("graph", first, len(costs), 1)
        for i in range(len(costs)):
            self.say("spawn", first + i, first, 0, GRAPH)
        for before, after in edges:
            self.say("edge", first + before, first + after)
        for i, cost in enumerate(costs):
            self.run(first + i, INSIDE, lambda s, cost=cost: s.compute(cost))
        self.say("wait", 0, 0xABC)
        self.say("waited", 0, 0xABC)

    def file(self) -> TraceFile:
        return TraceFile(workers=1).stream(0, *self.events).end()


Write = Callable[[TraceFile], Path]


def leaf(ns: int) -> Callable[[Serial], None]:
    return lambda s: s.compute(ns)


@pytest.mark.parametrize(
    ("cores", "body", "ns"),
    [
        (1, lambda s: s.join(leaf(100), leaf(50)), 150),
        (2, lambda s: s.join(leaf(100), leaf(50)), 100),
        (2, lambda s: (s.compute(10), s.join(leaf(100), leaf(50)), s.compute(5)), 115),
        (3, lambda s: s.join(leaf(100), lambda t: t.join(leaf(90), leaf(80))), 100),
        (2, lambda s: (s.join(leaf(10), leaf(20)), s.join(leaf(20), leaf(10))), 40),
        (1, lambda s: s.group(leaf(5), leaf(7)), 12),
        (4, lambda s: s.group(*[leaf(25)] * 4), 25),
        (2, lambda s: (s.group(leaf(30), leaf(30)), s.group(leaf(10), leaf(20))), 50),
        (2, lambda s: s.group(leaf(30), lambda t: t.group(leaf(5), leaf(5))), 30),
        (4, lambda s: s.graph([10, 20, 30, 40], [(0, 1), (0, 2), (1, 3), (2, 3)]), 80),
        (1, lambda s: s.graph([10, 20, 30, 40], [(0, 1), (0, 2), (1, 3), (2, 3)]), 100),
        (4, lambda s: (s.graph([10, 10], []), s.graph([10, 10], [(0, 1)])), 30),
    ],
)
def test_times_of_made_up_programs(
    cores: int, body: Callable[[Serial], None], ns: int, write: Write, greedy: Callable[[int], Path]
) -> None:
    path = write(Serial().root(body).file())
    result = weft.simulate(path, machine=greedy(cores), policy="steal")
    assert result.seconds * 1e9 == pytest.approx(ns, abs=1.01)


Body = Callable[[Serial], None]
bodies = st.deferred(
    lambda: st.one_of(
        st.integers(0, 500).map(leaf),
        st.tuples(bodies, bodies).map(lambda two: lambda s: s.join(*two)),
        st.lists(bodies, max_size=4).map(lambda many: lambda s: s.group(*many)),
        st.lists(bodies, max_size=3).map(lambda many: lambda s: [b(s) for b in many]),
        st.lists(st.integers(0, 300), min_size=1, max_size=5).map(
            lambda costs: lambda s: s.graph(costs, [(i, i + 2) for i in range(len(costs) - 2)])
        ),
    )
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(body=bodies, cores=st.integers(1, 5), policy=st.sampled_from(POLICIES))
def test_any_made_up_program(body: Body, cores: int, policy: str, tmp_path: Path, no_patience: None) -> None:
    """Greedy bounds: T1/p and Tinf below, T1/p + Tinf above."""
    folder = tmp_path
    serial = Serial().root(body)
    path = folder / "made.weft"
    path.write_bytes(serial.file().bytes())
    trace = weft.read_trace(path)
    assert trace.work == serial.now
    ns = weft.simulate(path, machine=GREEDY.write(folder, cores), policy=policy).seconds * 1e9
    assert max(trace.work / cores, trace.span) - 1.01 <= ns <= trace.work / cores + trace.span + 1.01
    if cores == 1:
        assert ns == pytest.approx(trace.work, abs=1.01)


def test_a_task_waits_for_the_task_that_unblocks_it(write: Write, greedy: Callable[[int], Path]) -> None:
    """Two children; the second one waits for what the first one gives after 100 ns, and computes for 50 then."""
    unblocked, group = 5, 0x1000
    trace = TraceFile(workers=2)
    trace.stream(
        0,
        (0, "spawn", 1, 0, 0, ROOT),
        (0, "begin", 1),
        (0, "spawn", 2, group, 0, CHILD),
        (0, "spawn", 3, group, 0, CHILD),
        (0, "wait", 1, group),
        (0, "suspend", 1, 0, 0, 3),
        (1, "begin", 2),
        (101, "ready", 3, 0, 0, unblocked),
        (101, "end", 2),
        (160, "resume", 1),
        (160, "waited", 1, group),
        (160, "end", 1),
    )
    trace.stream(
        1,
        (1, "begin", 3),
        (11, "suspend", 3, 0, 0, unblocked),
        (105, "resume", 3),
        (155, "end", 3),
    )
    path = write(trace.end())
    assert weft.simulate(path, machine=greedy(2)).seconds * 1e9 == pytest.approx(150, abs=1.01)
    assert weft.simulate(path, machine=greedy(1)).seconds * 1e9 == pytest.approx(160, abs=1.01)


def test_a_task_sleeps_as_long_as_it_was_left_alone(write: Write, greedy: Callable[[int], Path]) -> None:
    unblocked = 5
    trace = TraceFile(workers=1).stream(
        0,
        (0, "spawn", 1, 0, 0, ROOT),
        (0, "begin", 1),
        (10, "suspend", 1, 0, 0, unblocked),
        (210, "ready", 1, 0, 0, unblocked),
        (220, "resume", 1),
        (250, "end", 1),
    )
    assert weft.simulate(write(trace.end()), machine=greedy(1)).seconds * 1e9 == pytest.approx(240, abs=1.01)


def test_the_task_that_unblocks_it_may_be_missing(write: Write, greedy: Callable[[int], Path]) -> None:
    """The task that gives the signal was spawned by no task in the trace."""
    unblocked = 5
    trace = TraceFile(workers=2)
    trace.stream(0, (0, "spawn", 1, 0, 0, ROOT), (0, "begin", 1), (10, "suspend", 1, 0, 0, unblocked))
    trace.stream(1, (0, "begin", 77), (100, "ready", 1, 0, 0, unblocked), (120, "end", 77))
    trace.stream(0, (130, "resume", 1), (140, "end", 1))
    assert weft.simulate(write(trace.end()), machine=greedy(2)).seconds * 1e9 == pytest.approx(20, abs=1.01)


def test_tasks_that_wait_for_each_other_are_an_error(write: Write, greedy: Callable[[int], Path]) -> None:
    """Each of two children is resumed before the other one unblocks it: no run can have left such a trace."""
    unblocked, group = 5, 0x1000
    trace = TraceFile(workers=2)
    trace.stream(
        0,
        (0, "spawn", 1, 0, 0, ROOT),
        (0, "begin", 1),
        (0, "spawn", 2, group, 0, CHILD),
        (0, "spawn", 3, group, 0, CHILD),
        (0, "wait", 1, group),
        (0, "suspend", 1, 0, 0, 3),
        (1, "begin", 2),
        (11, "suspend", 2, 0, 0, unblocked),
        (90, "resume", 2),
        (110, "ready", 3, 0, 0, unblocked),
        (120, "end", 2),
        (160, "resume", 1),
        (160, "waited", 1, group),
        (160, "end", 1),
    )
    trace.stream(
        1,
        (1, "begin", 3),
        (11, "suspend", 3, 0, 0, unblocked),
        (90, "resume", 3),
        (100, "ready", 2, 0, 0, unblocked),
        (120, "end", 3),
    )
    circle = write(trace.end())
    for _ in range(2):
        with pytest.raises(weft.Error, match=r"wait for each other for ever; given: .* waits since 0\.000000 s"):
            weft.simulate(circle, machine=greedy(2))
    stuck = weft.Program(circle)  # before the next one is written over it
    # What was left behind disturbs no later run.
    sound = write(Serial().root(leaf(10)).file())
    assert weft.simulate(sound, machine=greedy(2)).seconds * 1e9 == pytest.approx(10, abs=1.01)
    # Beside a program that could go on for ever, too.
    pair = [weft.Program(sound), stuck]
    with pytest.raises(weft.Error, match=r"a trace is damaged: its tasks wait for each other for ever; given: "):
        weft.simulate_together(pair, machine=greedy(2))
    assert weft.simulate_together(pair[:1], machine=greedy(2)).programs[0].seconds


def test_runs_follow_each_other_unless_they_overlapped(write: Write, greedy: Callable[[int], Path]) -> None:
    trace = TraceFile(workers=2)
    trace.stream(layout.OUTSIDE, (0, "spawn", 1), (100, "spawn", 2), (120, "spawn", 3))
    trace.stream(0, (0, "begin", 1), (50, "end", 1), (100, "begin", 2), (150, "end", 2))
    trace.stream(1, (120, "begin", 3), (190, "end", 3))
    result = weft.simulate(write(trace.end()), machine=greedy(2))
    assert [round(run.recorded_seconds * 1e9) for run in result.runs] == [50, 90]
    assert [run.seconds * 1e9 for run in result.runs] == [pytest.approx(50, abs=1.01), pytest.approx(90, abs=1.01)]


def test_resources_are_those_of_the_recorded_run(tmp_path: Path) -> None:
    limits = tmp_path / "limits.toml"
    limits.write_text('[[resource]]\nname = "bandwidth"\namount = 1\n')
    path, again = tmp_path / "run.weft", tmp_path / "again.weft"
    run_example("copy_compute", COPY_COMPUTE, path, "steal", "model", WEFT_RESOURCES=str(limits))
    recorded = weft.read_trace(path)
    assert recorded.header.resources == limits.read_text()
    result = weft.simulate(path, machine=MACHINE, policy="steal", trace=again)
    assert result.seconds == pytest.approx(result.recorded_seconds, rel=1e-6)
    assert weft.read_trace(again).header.resources == limits.read_text()
    limits.write_text('[[resource]]\nname = "something_else"\namount = 1\n')
    with pytest.raises(weft.LibraryError, match="bandwidth"):
        weft.simulate(path, machine=MACHINE, resources=limits)


def test_what_is_refused(write: Write, greedy: Callable[[int], Path]) -> None:
    path = write(Serial().root(leaf(10)).file())
    with pytest.raises(weft.Error, match="never calls weft::cost"):
        weft.Program(path, times="declared")
    with pytest.raises(weft.Error, match="unknown times"):
        weft.Program(path, times="guessed")  # type: ignore[arg-type]
    with pytest.raises(weft.LibraryError, match="allowed"):
        weft.simulate(path, machine=greedy(1), policy="nonsense")
    with pytest.raises(weft.LibraryError, match="allowed: 1 to 2"):
        weft.simulate(path, machine=greedy(2), workers=3)
    with pytest.raises(weft.Error, match="there is nothing to run"):
        weft.Program(write(TraceFile().end()))


@pytest.mark.parametrize("policy", ["share", "steal", "steal-parent-first", "steal:zone=reported"])
def test_little_room_for_stacks_does_not_end_python(policy: str, tmp_path: Path) -> None:
    """Under `share` thousands of joins would wait at once, each with a stack of 16 MiB."""
    path = tmp_path / "run.weft"
    run_example("fib", "--n 16", path, "steal", "model")
    code = f"""
import resource, weft
program = weft.Program({str(path)!r})
mapped = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (mapped + (1000 << 20),) * 2)
print(weft.simulate(program, machine={str(MACHINE)!r}, policy={policy!r}).seconds)
"""
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert said.returncode == 0, said.stderr
    assert float(said.stdout) > 0


def test_the_command(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path, again = tmp_path / "run.weft", tmp_path / "again.weft"
    run_example("merge_sort", "--n 20000 --leaf 256", path, "steal", "model")
    replay = ["sim", "--replay", str(path), "--machine", str(MACHINE)]
    assert cli([*replay, "--policy", "near", "--speedup", "--trace", str(again)]) == 0
    out, err = capsys.readouterr()
    assert out == "" and "\x1b" not in err
    for words in ("near on opteron-8380-4x4, engine model, 16 workers", "speed-up", "recorded", "ratio", "times"):
        assert words in err
    assert weft.read_trace(again).header.policy == "near"
    assert cli([*replay, "--workers", "4", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["recorded"]["workers"] == 16 and len(said["runtime"]["workers"]) == 4 and said["speedup"] is None
    assert said["seconds"] == pytest.approx(sum(run["seconds"] for run in said["runs"]))
    for arguments, status, says in (
        (["sim", "--machine", str(MACHINE)], 2, "neither"),
        ([*replay, "--", "/bin/true"], 2, "both"),
        ([*replay, "--policy", "nonsense"], 2, "nonsense"),
        (["sim", "--replay", "/nowhere.weft", "--machine", str(MACHINE)], 1, "/nowhere.weft"),
        ([*replay, "--costs", "guessed"], 2, "guessed"),
    ):
        assert cli(arguments) == status
        out, err = capsys.readouterr()
        assert out == "" and says in err and err.count("\n") == 1


def test_programs_beside_each_other_share_the_machine(tmp_path: Path) -> None:
    path = tmp_path / "run.weft"
    run_example("heat2d", PROGRAMS["heat2d"], path, "steal", "model")
    program = weft.Program(path)
    both = weft.simulate_together([program, program], machine=MACHINE, repeats=2, seed=3)
    assert [len(p.seconds) >= 2 for p in both.programs] == [True, True]
    assert both.programs[0].domain == -1
    again = weft.simulate_together([program, program], machine=MACHINE, repeats=2, seed=3)
    assert again == both
    apart = weft.simulate_together([program, program], machine=MACHINE, scheduler="lira-static", domains=[0, 1])
    assert [p.domain for p in apart.programs] == [0, 1]
    with pytest.raises(weft.LibraryError, match="scheduler"):
        weft.simulate_together([program], machine=MACHINE, scheduler="best")
    with pytest.raises(weft.LibraryError, match=r"lira-static .* rates"):
        weft.simulate_together([program, program], machine=MACHINE, scheduler="lira-static")
    rated = weft.simulate_together(
        [program, program], machine=MACHINE, scheduler="lira-static", rates=[2e9, 1e9], lends=True, hysteresis=0.001
    )
    assert sorted(p.domain for p in rated.programs) == [0, 1]
    with pytest.raises(weft.Error, match="policies"):
        weft.simulate_together([program], machine=MACHINE, policies=["steal", "near"])
