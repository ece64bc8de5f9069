"""Policies written in Python."""

from __future__ import annotations

import collections
import threading
from pathlib import Path
from typing import Any, ClassVar

import pytest
import weft
from conftest import MACHINE, run_example


class WorkSharing(weft.Policy):
    """The policy `share`."""

    def attach(self, machine: dict[str, Any], context: weft.Context) -> None:
        assert machine["name"] == "opteron-8380-4x4" and context.workers == machine["ranks"]
        self.pool: collections.deque[weft.Task] = collections.deque()
        self.place = context.workers
        self.context = context

    def ready(self, worker: int, task: weft.Task, reason: str) -> int:
        if reason == "granted":
            self.pool.appendleft(task)
        else:
            self.pool.append(task)
        return self.place

    def next(self, worker: int, last_look: bool) -> weft.Task | weft.Looked | weft.Ask | None:
        return self.pool.popleft() if self.pool else weft.Looked(self.place)


class RandomStealing(weft.Policy):
    """The policy `steal:zone=reported` in outline: child first, the own youngest, else a victim's oldest."""

    needs = frozenset({"demotable"})

    def attach(self, machine: dict[str, Any], context: weft.Context) -> None:
        self.context = context
        self.deques = [collections.deque[weft.Task]() for _ in range(context.workers)]

    def spawn(self, worker: int, parent: weft.Task, child: weft.Task) -> str:
        return "child_first"

    def ready(self, worker: int, task: weft.Task, reason: str) -> None:
        self.deques[worker].append(task)

    def next(self, worker: int, last_look: bool) -> weft.Task | weft.Looked | None:
        if self.deques[worker]:
            return self.deques[worker].pop()
        others = [w for w in range(len(self.deques)) if w != worker]
        look_at = others if last_look else [others[self.context.random(worker, len(others))]]
        for victim in look_at:
            if self.deques[victim]:
                return self.deques[victim].popleft()
        return weft.Looked(look_at[-1])


@pytest.fixture(scope="module", params=["merge_sort", "sparse_lu"])
def program(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> weft.Program:
    path = tmp_path_factory.mktemp("policy") / "run.weft"
    arguments = {"merge_sort": "--n 8000 --leaf 256", "sparse_lu": "--blocks 6 --side 8"}[request.param]
    run_example(request.param, arguments, path, "steal", "model")
    return weft.Program(path)


def simulate_again(policy: Any) -> None:
    weft.simulate(policy.trace, machine=MACHINE, policy="share")


def in_another_thread(f: Any) -> None:
    raised: list[BaseException] = []

    def call() -> None:
        try:
            f()
        except RuntimeError as e:
            raised.append(e)

    thread = threading.Thread(target=call)
    thread.start()
    thread.join()
    raise raised[0]


def test_work_sharing_is_that_of_the_library(program: weft.Program) -> None:
    results = [weft.simulate(program, machine=MACHINE, policy=p) for p in ("share", WorkSharing)]
    assert results[0].seconds == results[1].seconds
    assert [r.report.workers for r in results[0].runs] == [r.report.workers for r in results[1].runs]
    assert results[1].policy == "WorkSharing"


def test_stealing(program: weft.Program) -> None:
    first, again = (weft.simulate(program, machine=MACHINE, policy=RandomStealing) for _ in range(2))
    assert first.seconds == again.seconds, "the same seed"
    assert sum(run.report.steals for run in first.runs) > 0


def test_what_a_policy_sees(program: weft.Program) -> None:
    seen: list[tuple[str, weft.Task]] = []
    levels: set[int] = set()

    class Watching(WorkSharing):
        needs = frozenset({"usage"})

        def started(self, worker: int, task: weft.Task) -> None:
            task.began_at = self.context.now()
            levels.add(task.level)

        def finished(self, worker: int, task: weft.Task, usage: dict[str, Any]) -> None:
            assert usage["self_ns"] <= usage["wall_ns"] <= self.context.now() - task.began_at
            seen.append((task.name, task))

    result = weft.simulate(program, machine=MACHINE, policy=Watching)
    assert len(seen) == sum(run.report.tasks for run in result.runs) + 1  # the cleaning up is a root, too
    assert levels > {0}
    with pytest.raises(RuntimeError, match="has ended"):
        _ = seen[0][1].level


def test_ticks_and_snapshots(program: weft.Program) -> None:
    ticks: list[int] = []
    busy: set[bool] = set()

    class Ticking(WorkSharing):
        needs = frozenset({"snapshots"})
        tick_ns = 1000

        def tick(self, now: int) -> None:
            ticks.append(now)
            for worker in range(self.context.workers):
                seen = self.context.running(worker)
                assert seen["since_ns"] <= now
                busy.add(seen["busy"])

    weft.simulate(program, machine=MACHINE, policy=Ticking)
    assert ticks == sorted(set(ticks)) and all(t % 1000 == 0 for t in ticks)
    assert busy == {False, True}


class Pairs(WorkSharing):
    """Each moldable task runs on two neighbours."""

    needs = frozenset({"graph_tasks"})
    most_width = 2
    molded: ClassVar[list[tuple[int, int]]] = []
    shares_run: ClassVar[list[tuple[int, int, int]]] = []

    def attach(self, machine: dict[str, Any], context: weft.Context) -> None:
        super().attach(machine, context)
        self.shares: list[collections.deque[weft.Task]] = [collections.deque() for _ in range(context.workers)]

    def mold(self, worker: int, task: weft.Task) -> weft.Place:
        assert task.molds and not task.is_share
        self.molded.append((worker, task.width))
        return weft.Place(worker // 2 * 2, 2)

    def assemble(self, worker: int, shares: list[weft.Task], place: tuple[int, int]) -> None:
        assert place == (worker // 2 * 2, 2)
        assert [(s.rank, s.width, s.is_share, s.molds) for s in shares] == [(0, 2, True, False), (1, 2, True, False)]
        for rank, share in enumerate(shares):
            self.shares[place[0] + rank].append(share)

    def next(self, worker: int, last_look: bool) -> weft.Task | weft.Looked | weft.Ask | None:
        return self.shares[worker].popleft() if self.shares[worker] else super().next(worker, last_look)

    def started(self, worker: int, task: weft.Task) -> None:
        if task.is_share:
            self.shares_run.append((worker, task.rank, task.width))


@pytest.fixture(scope="module")
def small_trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("small") / "run.weft"
    run_example("merge_sort", "--n 600 --leaf 150", path, "steal:zone=reported", "model")
    return path


@pytest.fixture(scope="module")
def moldable(tmp_path_factory: pytest.TempPathFactory) -> weft.Program:
    path = tmp_path_factory.mktemp("moldable") / "run.weft"
    run_example("random_dag", "--costs-only --nodes 40 --chains 4 --kernel matmul", path, "steal", "model")
    return weft.Program(path)


def test_moldable_tasks_get_the_place_that_the_policy_chooses(moldable: weft.Program) -> None:
    Pairs.molded.clear()
    Pairs.shares_run.clear()
    weft.simulate(moldable, machine=MACHINE, policy=Pairs)
    assert len(Pairs.molded) >= 40 and len(Pairs.shares_run) == 2 * len(Pairs.molded)
    assert all(worker % 2 == rank and width == 2 for worker, rank, width in Pairs.shares_run)


@pytest.mark.parametrize(
    ("hook", "replacement", "error", "says"),
    [
        ("mold", lambda self, w, t: (w, 3), ValueError, r"no such place .*a width of 3; allowed: a width of 1 to 2"),
        ("mold", lambda self, w, t: (w, 0), ValueError, "a width of 0"),
        ("mold", lambda self, w, t: weft.Place(-1), ValueError, "given: worker -1"),
        ("mold", lambda self, w, t: (15, 2), ValueError, "given: worker 15 and a width of 2"),
        ("mold", lambda self, w, t: 3, TypeError, r"mold\(\) returned .*given: 3 \(int\); allowed: weft\.Place"),
        ("mold", lambda self, w, t: ("a", 1), TypeError, r"mold\(\) returned"),
        ("mold", lambda self, w, t: 1 / 0, ZeroDivisionError, "zero"),
        ("assemble", lambda self, w, shares, at: 1 / 0, ZeroDivisionError, "zero"),
        ("assemble", weft.Policy.assemble, NotImplementedError, r"has assemble\(\)"),
        (
            "assemble",
            lambda self, w, shares, at: [self.shares[(at[0] + 2) % 16].append(s) for s in shares],
            ValueError,
            "share of a moldable task that another worker runs",
        ),
        ("most_width", 65, weft.LibraryError, "most_width has a wrong value; given: 65"),
        ("most_width", "wide", weft.LibraryError, "most_width has a wrong value"),
    ],
)
def test_what_goes_wrong_with_moldable_tasks_is_said(
    hook: str, replacement: Any, error: type[Exception], says: str, moldable: weft.Program
) -> None:
    broken = type("Broken", (Pairs,), {hook: replacement})
    with pytest.raises(error, match=says):
        weft.simulate(moldable, machine=MACHINE, policy=broken)


@pytest.mark.parametrize(
    ("hook", "replacement", "error", "says"),
    [
        ("ready", lambda self, w, t, reason: [][0], IndexError, "index"),
        ("next", lambda self, w, last: 1 / 0, ZeroDivisionError, "zero"),
        ("next", lambda self, w, last: None, RuntimeError, "gives none to any worker"),
        ("next", lambda self, w, last: self.pool[0] if self.pool else None, ValueError, "not ready"),
        ("next", lambda self, w, last: weft.Ask(99), ValueError, "no such worker"),
        ("ready", lambda self, w, t, reason: weft.Placed(0, (3, 99)), ValueError, "no such workers"),
        ("spawn", lambda self, w, p, c: "sometimes", ValueError, "allowed: child_first, parent_first, call, lazy"),
        ("group_wait", lambda self, w, t, g: "leave", ValueError, "allowed: stay, requeue"),
        ("attach", lambda self, m, c: {}["x"], weft.LibraryError, "attach"),
        # wrong places and workers
        ("ready", lambda self, w, t, reason: -1, ValueError, "no such place; given: -1"),
        ("ready", lambda self, w, t, reason: weft.Placed(0, None, 99), ValueError, "no such worker to wake; given: 99"),
        ("ready", lambda self, w, t, reason: weft.Placed(0, None, -2), ValueError, "given: -2"),
        ("ready", lambda self, w, t, reason: weft.Placed(-7), ValueError, "no such place; given: -7"),
        ("next", lambda self, w, last: weft.Looked(-5), ValueError, "no such place; given: -5"),
        ("next", lambda self, w, last: weft.Ask(-1), ValueError, "no such worker"),
        ("next", lambda self, w, last: self.context.wake(-3, 10**6), ValueError, "no such workers"),
        ("next", lambda self, w, last: self.context.core_of(-1), ValueError, "no such worker; given: -1"),
        ("next", lambda self, w, last: self.context.random(10**6, 3), ValueError, "no such worker; given: 1000000"),
        # wrong types
        ("ready", lambda self, w, t, reason: "here", TypeError, r"ready\(\) returned .*given: 'here' \(str\)"),
        ("ready", lambda self, w, t, reason: 1.5, TypeError, r"given: 1\.5 \(float\)"),
        ("ready", lambda self, w, t, reason: 1 << 40, TypeError, "given: 1099511627776"),
        ("ready", lambda self, w, t, reason: weft.Placed("x"), TypeError, r"Placed\.place .*given: 'x'"),
        ("ready", lambda self, w, t, reason: weft.Placed(0, 3), TypeError, r"Placed\.who .*given: 3"),
        ("ready", lambda self, w, t, reason: weft.Placed(0, (1, 2, 3)), TypeError, r"Placed\.who"),
        ("ready", lambda self, w, t, reason: weft.Placed(0, None, None), TypeError, r"Placed\.near .*given: None"),
        ("next", lambda self, w, last: 3, TypeError, r"next\(\) returned .*given: 3 \(int\); allowed: a weft\.Task"),
        ("next", lambda self, w, last: weft.Looked("x"), TypeError, r"Looked\.place"),
        ("next", lambda self, w, last: weft.Ask({}), TypeError, r"Ask\.worker"),
        ("next", lambda self, w, last: weft.Task.__new__(weft.Task), TypeError, r"next\(\) returned"),
        ("next", lambda self, w, last: weft.Task, TypeError, r"next\(\) returned"),
        ("spawn", lambda self, w, p, c: None, TypeError, r"spawn\(\) returned .*given: None .*child_first"),
        ("spawn", lambda self, w, p, c: b"call", TypeError, r"spawn\(\) returned"),
        ("spawn", lambda self, w, p, c: "\ud800", TypeError, r"spawn\(\) returned"),
        ("group_wait", lambda self, w, t, g: 0, TypeError, r"group_wait\(\) returned .*allowed: stay, requeue"),
        ("needs", 7, weft.LibraryError, "needs has a wrong value; given: 7"),
        ("needs", frozenset({"usages"}), weft.LibraryError, "given: 'usages'"),
        ("needs", "usage", weft.LibraryError, "needs has a wrong value"),
        ("tick_ns", -1, weft.LibraryError, "tick_ns has a wrong value; given: -1"),
        ("next", lambda self, w, last: self.context.running(0), RuntimeError, "no snapshots are kept"),
        # the simulator inside a hook
        ("next", lambda self, w, last: simulate_again(self), RuntimeError, "weft.simulate.* inside a hook"),
        ("ready", lambda self, w, t, reason: simulate_again(self), RuntimeError, "weft.simulate.* inside a hook"),
        ("attach", lambda self, m, c: simulate_again(self), weft.LibraryError, "inside a hook"),
        ("next", lambda self, w, last: weft.machine("this", measure=True), RuntimeError, "inside a hook"),
        ("next", lambda self, w, last: in_another_thread(self.context.now), RuntimeError, "call from another thread"),
    ],
)
def test_what_goes_wrong_is_said(
    hook: str, replacement: Any, error: type[Exception], says: str, small_trace: Path
) -> None:
    broken = type("Broken", (WorkSharing,), {hook: replacement, "trace": small_trace})
    with pytest.raises(error, match=says):
        weft.simulate(small_trace, machine=MACHINE, workers=3, policy=broken)
    # and nothing of it stays
    assert weft.simulate(small_trace, machine=MACHINE, workers=3, policy=WorkSharing).seconds > 0


def test_what_is_no_policy(program: weft.Program) -> None:
    with pytest.raises(TypeError, match=r"weft\.Policy"):
        weft.simulate(program, machine=MACHINE, policy=object)
