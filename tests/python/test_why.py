"""`weft why`: findings from made-up evidence, idleness of made-up traces, stacks, and real programs."""

from __future__ import annotations

import json
import os
import re
import struct
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import SOURCE, command
from weft import _core, read_trace
from weft.errors import Error
from weft.launcher import launch
from weft.why.causes import CAUSES
from weft.why.collect import Collector, shares_of
from weft.why.diagnosis import MOST, diagnose
from weft.why.evidence import Evidence, Shares, Timing, Trial
from weft.why.finding import Finding, Place
from weft.why.idle import Idle, IdleRun, idle_of
from weft.why.pages import Pages, bytes_by_node, memory_nodes
from weft.why.stacks import Stack, owners_of, short_name, stacks_of
from weft.why.symbols import Frame
from weft.why.threading_libraries import libraries_with_threads
from weft.why.watch import Mapping, environment, read_watch, read_watches
from writing import FORK, FRESH, ROOT, TraceFile

pytestmark = pytest.mark.usefixtures("no_settings")

PROGRAMS = Path(os.environ.get("WEFT_TEST_BUILD", SOURCE / "build/dev")) / "why"
HERE = Place("step", "/home/x/solver.cpp", 12)


def timing(seconds: float = 1.0, **changed: Any) -> Timing:
    """Two workers that are on a core all the time."""
    known: dict[str, Any] = {"cpu": 2 * seconds, "workers": 2, "policy": "steal", "from_first_to_last": seconds}
    known |= {"in_runs": seconds, "outside": 0.0, "runs": 1, "divided": True}
    known |= {"on_core": 2 * seconds, "waiting": 0.0, "blocked": 0.0, "search": 0.0, "asleep": 0.0}
    return Timing(seconds=seconds, **(known | {"uncertain": 0.0, "tasks": 9, "steals": 1} | changed))


def stack(state: str, seconds: float, place: Place | None = HERE, **changed: Any) -> Stack:
    known: dict[str, Any] = {"times": 100, "longest": seconds / 100, "object": 0, "holder": None, "owner": "program"}
    known |= {"path": (place,) if place else (), "in_run": True, "is_serial": False}
    return Stack(state=state, seconds=seconds, **(known | changed))


def evidence(*stacks: Stack, **changed: Any) -> Evidence:
    plain = changed.pop("plain", (timing(),) * 3)
    work = stack("on_core", 1.8, times=10_000)
    return replace(Evidence(("./solver",), 2, plain, stacks=(work, *stacks), watched=plain[0]), **changed)


def only(e: Evidence) -> Finding:
    (finding,) = diagnose(e).findings
    return finding


def test_a_program_without_a_fault_has_no_finding() -> None:
    d = diagnose(evidence(alone=Trial("1 worker", (timing(1.9, workers=1, on_core=1.9),))))
    assert d.findings == () and d.unsure == () and d.speedup == pytest.approx(1.9)


def test_serial_code() -> None:
    f = only(evidence(stack("on_core", 0.4, in_run=False, is_serial=True)))
    assert (f.cause, f.place, f.basis) == ("serial", HERE, "estimated")
    assert f.gain == pytest.approx(0.2) and "40%" in f.evidence[0]


def test_serial_code_between_runs_is_known_better_than_its_samples_are() -> None:
    code = stack("on_core", 0.4, in_run=False, is_serial=True, times=1)
    assert diagnose(evidence(code)).findings == ()  # one sample, before the first run
    f = only(evidence(code, plain=(timing(outside=0.5),) * 3))
    assert (f.cause, f.place) == ("serial", HERE)
    assert f.gain == pytest.approx(0.25) and f.uncertain == pytest.approx(0.025)
    wait = stack("sleep", 0.3, in_run=False, is_serial=True)
    found = diagnose(evidence(replace(code, times=100), wait, plain=(timing(outside=0.5),) * 3)).findings
    assert {f.cause: round(f.gain, 3) for f in found} == {"serial": 0.2, "waiting_outside": 0.3}


def test_a_lock_has_the_place_of_its_holder() -> None:
    f = only(evidence(stack("mutex", 0.6, holder=Place("put", "/home/x/table.cpp", 3))))
    assert (f.cause, f.place) == ("lock", HERE) and f.gain == pytest.approx(0.3)
    assert "table.cpp:3" in f.evidence[1] and f.also == (Place("put", "/home/x/table.cpp", 3),)


@pytest.mark.parametrize(
    ("state", "advice"), [("sleep", "sleep_for"), ("transfer", "WEFT_WORKERS"), ("futex", "latch")]
)
def test_blocking_calls(state: str, advice: str) -> None:
    f = only(evidence(stack(state, 0.6)))
    assert f.cause == "blocking" and advice in f.advice
    assert f.gain == pytest.approx(0.3 - 0.003) and f.uncertain == pytest.approx(0.03 + 0.003)


def test_one_blocking_call_cannot_be_hidden_behind_others() -> None:
    d = diagnose(evidence(stack("transfer", 0.6, times=1, longest=0.6)))
    assert d.findings == () and d.unsure == ()


def test_the_sleep_of_a_worker_is_no_blocking_call() -> None:
    assert diagnose(evidence(stack("futex", 0.9, None, owner="runtime"))).findings == ()


def test_the_caller_is_blocked_outside() -> None:
    """Waiting can be hidden behind all other work of the program, and behind nothing else."""
    f = only(evidence(stack("transfer", 0.3, in_run=False, is_serial=True)))
    assert f.cause == "waiting_outside" and "input" in f.title and f.gain == pytest.approx(0.3)
    assert only(evidence(stack("transfer", 0.8, in_run=False, is_serial=True))).gain == pytest.approx(0.2)


def test_waits_of_a_watched_run_that_took_longer() -> None:
    """Other programs made the watched run take twice the time: the lock has the same part of it."""
    e = replace(evidence(stack("mutex", 1.2)), watched=timing(2.0))
    assert only(e).gain == pytest.approx(0.3)
    e = replace(evidence(stack("sleep", 1.2)), watched=timing(2.0))
    assert only(e).gain == pytest.approx(0.3 - 0.003)


@pytest.mark.parametrize(
    ("kind", "cause"),
    [
        ("long_piece", "long_piece"),
        ("no_parallelism", "no_parallelism"),
        ("waiting", "weft_wait"),
        ("uneven", "uneven"),
        ("short_runs", "short_runs"),
    ],
)
def test_idle_workers(kind: Any, cause: str) -> None:
    """The traced run says of what kind the idleness is, the plain runs how much there is."""
    run = IdleRun(kind, "(fork)", idle=0.1, length=0.2, work=0.3, longest=0.2, begin=0.0, end=0.2, tasks=5)
    plain = (timing(on_core=1.4, asleep=0.6),) * 3
    e = evidence(plain=plain, idle=Idle((run,), 0.1, 0.2), constructs={"(fork)": HERE})
    f = only(e)
    assert (f.cause, f.place) == (cause, HERE) and f.gain == pytest.approx(0.3)


def idle_evidence(kind: Any, *plain: Timing, tasks: int = 5, parallelism: float = 0.0, **changed: Any) -> Evidence:
    run = IdleRun(kind, "(fork)", idle=0.1, length=0.2, work=0.3, longest=0.2, begin=0.0, end=0.2, tasks=tasks)
    run = replace(run, parallelism=parallelism)
    return evidence(plain=plain, idle=Idle((run,), 0.1, 0.2), constructs={"(fork)": HERE}, **changed)


def test_a_worker_that_has_no_core_is_not_idle() -> None:
    """It is to look for work, but other programs have its core: 0.5 of the 0.6 s in which it seems to sleep."""
    plain = timing(on_core=1.4, asleep=0.6, queued=0.5)
    assert diagnose(idle_evidence("no_parallelism", plain, plain)).findings == ()
    busy = timing(on_core=0.9, waiting=0.5, asleep=0.6, queued=0.5)  # here it was the one that works
    found = diagnose(idle_evidence("no_parallelism", busy, busy)).findings
    assert {f.cause: round(f.gain, 3) for f in found} == {"no_parallelism": 0.3, "other_programs": 0.25}


def test_idleness_of_runs_that_other_programs_prolong() -> None:
    """Workers are idle for 30 % of each of three runs, of which one took three times as long."""
    plain = (timing(1.0, asleep=0.6), timing(3.0, asleep=1.8), timing(1.0, asleep=0.6))
    f = only(idle_evidence("no_parallelism", *plain))
    assert f.gain == pytest.approx(0.3) and f.uncertain == pytest.approx(0)


def test_idleness_that_other_programs_may_have_made() -> None:
    """While a worker has no core, the others wait for its last piece."""
    plain = timing(on_core=0.9, waiting=0.5, asleep=0.6, queued=0.5)
    d = diagnose(idle_evidence("uneven", plain, plain))
    assert [f.cause for f in d.findings] == ["other_programs"] and [f.cause for f in d.unsure] == ["uneven"]


def test_a_policy_that_the_program_sets_itself() -> None:
    """No other one could be tested."""
    plain = timing(on_core=1.4, asleep=0.6, policy="static:pieces=1")
    d = diagnose(idle_evidence("long_piece", plain, plain))
    assert [f.cause for f in d.findings] == ["policy", "long_piece"]
    assert d.findings[0].basis == "estimated" and d.findings[0].gain == pytest.approx(0.3)
    near = timing(on_core=1.4, asleep=0.6, policy="near")
    assert [f.cause for f in diagnose(idle_evidence("long_piece", near, near)).findings] == ["long_piece"]
    assert [f.cause for f in diagnose(idle_evidence("no_parallelism", plain, plain, tasks=1)).findings] == [
        "no_parallelism"
    ]


def test_a_policy_that_leaves_parallel_work_to_one_worker() -> None:
    """Children that the policy does not see run on the worker of their parent."""
    plain = timing(on_core=1.0, asleep=1.0, policy="hws")
    many = idle_evidence("uneven", plain, plain, parallelism=35.0)
    (f,) = diagnose(many).findings
    assert f.cause == "policy" and f.gain == pytest.approx(0.5) and "enough for 35 workers" in f.evidence[0]
    assert only(replace(many, plain=(timing(on_core=1.0, asleep=1.0),) * 3)).cause == "uneven"
    tested = replace(many, default_policy=Trial("policy steal", (timing(0.6),) * 3))
    assert [f.cause for f in diagnose(tested).findings] == ["uneven", "policy"]


def grown(copies: float | None) -> Evidence:
    """With two workers the code takes 1.8 s of processor time, with one 1.2 s."""
    alone = Trial("1 worker", (timing(1.2, workers=1, on_core=1.2, cpu=1.2),))
    return evidence(
        plain=(timing(cpu=1.8),) * 3, alone=alone, alone_stacks=(stack("on_core", 1.2, times=10_000),), copies=copies
    )


@pytest.mark.parametrize(("copies", "cause"), [(1.4, "memory"), (1.02, "shared_data"), (None, "inflation")])
def test_work_that_grows_with_the_workers(copies: float | None, cause: str) -> None:
    f = only(grown(copies))
    assert f.cause == cause and f.gain == pytest.approx(0.3) and "1.50 times" in f.evidence[0]
    assert f.basis == ("estimated" if copies is None else "tested")
    assert cause != "shared_data" or "cannot be known" in f.evidence[2]


def test_the_cost_of_a_lock_is_not_told_as_shared_data() -> None:
    e = grown(1.0)
    assert [f.cause for f in diagnose(replace(e, stacks=(*e.stacks, stack("mutex", 0.6)))).findings] == ["lock"]


def test_processor_time_of_few_samples() -> None:
    """It seems to grow from 1.2 s to 1.8 s, by 20 samples each."""
    alone = Trial("1 worker", (timing(1.2, workers=1, on_core=1.2, cpu=1.2),))
    seen = (stack("on_core", 1.8, times=20),)
    e = replace(evidence(plain=(timing(cpu=1.8),) * 3, alone=alone, copies=1.0), stacks=seen)
    d = diagnose(replace(e, alone_stacks=(stack("on_core", 1.2, times=20),)))
    assert d.findings == () and [f.cause for f in d.unsure] == ["shared_data"]


def test_workers_that_seldom_meet_on_their_cores() -> None:
    """Of three runs, one had its workers on cores one after another, so that the shared data cost nothing in it."""
    e = grown(1.0)
    f = only(replace(e, plain=(timing(cpu=1.2), timing(cpu=1.8), timing(cpu=1.8))))
    assert f.cause == "shared_data" and f.gain == pytest.approx(0.3)


def test_new_memory() -> None:
    inside = stack("on_core", 0.8, times=10_000, faults=100_000, system=0.5)
    f = only(evidence(inside))
    assert (f.cause, f.place, f.basis) == ("page_faults", HERE, "estimated") and f.gain == pytest.approx(0.25)
    assert "100000 pages" in f.evidence[0] and "5 us" in f.evidence[0]
    few = replace(inside, faults=1000)  # the system did something else in that time
    assert diagnose(evidence(few)).findings == ()
    outside = replace(inside, in_run=False)  # told as serial code, if the caller runs it
    assert diagnose(evidence(outside)).findings == ()


def test_waiting_for_new_memory_is_not_told_as_shared_data() -> None:
    e = grown(1.0)
    inside = stack("on_core", 0.8, times=10_000, faults=100_000, system=0.5)
    assert [f.cause for f in diagnose(replace(e, stacks=(inside,))).findings] == ["page_faults"]


def test_processor_time_that_is_saved_is_not_waited_for() -> None:
    """Half of the processor time is in the runtime, and workers have a core for half of the time that they want one."""
    own, inside = stack("on_core", 0.5, times=10_000), stack("on_core", 0.5, owner="runtime", times=10_000)
    plain = (timing(on_core=1.0, waiting=1.0, queued=1.0),) * 3
    found = diagnose(replace(evidence(plain=plain), stacks=(own, inside), watched=plain[0])).findings
    assert {f.cause: round(f.gain, 3) for f in found} == {"overhead": 0.5, "other_programs": 0.5}


@pytest.mark.parametrize(
    ("entry", "cause", "gain"),
    [
        ("GOMP_task", "overhead", 0.8),
        ("weft::openmp::kmpc::allocate_task(weft::openmp::region&, int)", "overhead", 0.8),
        ("GOMP_parallel", "short_runs", 0.89),
    ],
)
def test_tiny_tasks_of_openmp_are_not_told_as_short_regions(entry: str, cause: str, gain: float) -> None:
    own = stack("on_core", 0.2, times=10_000)
    called = stack("on_core", 0.8, times=10_000, owner="runtime", entry=entry)
    search = stack("on_core", 0.8, None, times=10_000, owner="runtime")
    e = evidence(
        plain=(timing(runs=10_000),) * 3, openmp=True, shares={Place("step", HERE.file): Shares((0.1, 0.1), 0.2, 0.1)}
    )
    f = diagnose(replace(e, stacks=(own, called, search))).findings[0]
    assert f.cause == cause and f.gain == pytest.approx(gain, rel=0.05)


def test_idle_threads_beside_large_tasks_are_no_overhead() -> None:
    own = stack("on_core", 1.2, times=10_000)
    called = stack("on_core", 0.02, times=10_000, owner="runtime", entry="GOMP_task")
    search = stack("on_core", 0.6, None, times=10_000, owner="runtime")
    e = evidence(openmp=True, shares={Place("step", HERE.file): Shares((0.6, 0.6), 1.2, 0.6)})
    assert diagnose(replace(e, stacks=(own, called, search))).findings == ()


def test_locks_of_the_runtime_do_not_hide_its_cost() -> None:
    own, inside = stack("on_core", 1.0, times=10_000), stack("on_core", 1.0, owner="runtime", times=10_000)
    lock = stack("mutex", 0.6, owner="runtime")
    assert only(replace(evidence(), stacks=(own, inside, lock))).cause == "overhead"


def test_time_in_the_runtime() -> None:
    own, inside = stack("on_core", 1.0, times=10_000), stack("on_core", 1.0, owner="runtime", times=10_000)
    f = only(replace(evidence(), stacks=(own, inside)))
    assert f.cause == "overhead" and f.gain == pytest.approx(0.5)


def test_tested_settings() -> None:
    slow = (timing(policy="static"),) * 3
    f = only(evidence(plain=slow, default_policy=Trial("policy steal", (timing(0.6),) * 3)))
    assert (f.cause, f.basis) == ("policy", "tested") and f.gain == pytest.approx(0.4)
    many = (timing(workers=8),) * 3
    f = only(evidence(plain=many, as_many_as_cores=Trial("2 workers", (timing(0.7),) * 3)))
    assert (f.cause, f.basis) == ("oversubscription", "tested") and f.gain == pytest.approx(0.3)


def placed(pages: dict[int, int], seconds: float | None) -> Evidence:
    """The caller has touched most pages in `fill`, before the run."""
    fill = Place("fill", "/home/x/solver.cpp", 5)
    touching = stack("on_core", 0.01, fill, in_run=False, is_serial=True, faults=90_000)
    trial = Trial("memory on all nodes", (timing(seconds),) * 3) if seconds else None
    return evidence(touching, stack("on_core", 0.5, faults=100), nodes=2, pages=pages, interleaved=trial)


def test_memory_that_lies_on_one_node() -> None:
    e = placed({0: 30 << 20, 1: 10 << 20}, 0.7)
    f = only(e)
    assert (f.cause, f.basis) == ("numa_placement", "tested") and str(f.place) == "solver.cpp:5 (fill)"
    assert f.gain == pytest.approx(0.3) and "75% of 40 MiB lay on node 0, of 2 nodes" in f.evidence[0]
    assert only(replace(e, stacks=())).place is None
    assert diagnose(placed({0: 30 << 20, 1: 10 << 20}, 0.99)).findings == ()


def test_spreading_memory_is_tried_where_most_of_it_lies_on_few_nodes() -> None:
    assert placed({0: 30 << 20, 1: 10 << 20}, None).lies_on_few_nodes
    assert not placed({0: 29 << 20, 1: 11 << 20}, None).lies_on_few_nodes
    assert not placed({0: 31 << 20}, None).lies_on_few_nodes  # it is small
    assert not placed({}, None).lies_on_few_nodes
    assert not replace(placed({0: 40 << 20}, None), nodes=1).lies_on_few_nodes


def test_pages_of_a_process() -> None:
    text = """\
55d0 default file=/home/x/solver mapped=4 N0=4 kernelpagesize_kB=4
55d8 default heap anon=7 dirty=7 N0=3 N1=4 kernelpagesize_kB=4
7f00 interleave:0-1 anon=2 dirty=2 N1=2 kernelpagesize_kB=2048
7f10 default file=/dev/zero\\040(deleted) dirty=1 N0=1 kernelpagesize_kB=4
7ffd default stack
"""
    assert bytes_by_node(text) == {0: 4 << 12, 1: (4 << 12) + (2 << 21)}


def test_one_worker_and_other_programs() -> None:
    assert only(evidence(plain=(timing(workers=1, on_core=1.0),) * 3)).cause == "one_worker"
    f = only(evidence(plain=(timing(on_core=1.5, waiting=0.5),) * 3))
    assert f.cause == "other_programs" and f.gain == pytest.approx(0.25)


def test_threads_of_the_program_that_are_no_workers() -> None:
    """They are not other programs. What a library's threads cost is tried."""
    plain = (timing(cpu=2.0, on_core=1.0, waiting=1.0, other_cpu=0.9),) * 3
    f = only(evidence(plain=plain))
    assert (f.cause, f.basis) == ("other_threads", "estimated") and f.gain == pytest.approx(0.45)
    serial = stack("on_core", 1.0, in_run=False, is_serial=True)  # would save 0.5 s: more than the program takes then
    tried = Trial("OMP_NUM_THREADS=1", (timing(0.3),) * 3)
    f = only(evidence(serial, plain=plain, libraries=("libgomp.so.1",), calling_thread=tried))
    assert (f.cause, f.basis, f.place) == ("other_threads", "tested", HERE) and f.gain == pytest.approx(0.7)
    assert "libgomp.so.1" in f.evidence[0] and "OMP_NUM_THREADS=1" in f.evidence[1]
    kept = Trial("OMP_NUM_THREADS=1", (timing(0.99, other_cpu=0.9),) * 3)  # they are the program's own
    f = only(evidence(plain=plain, libraries=("libgomp.so.1",), calling_thread=kept))
    assert f.basis == "estimated" and f.gain == pytest.approx(0.45)
    assert diagnose(evidence(plain=(timing(other_cpu=0.1),) * 3)).findings == ()


def test_an_estimate_above_a_tested_gain_stays() -> None:
    """A little is saved by fewer workers, and nearly all by mending the serial part."""
    serial = stack("on_core", 0.98, in_run=False, is_serial=True)
    tried = Trial("2 workers", (timing(0.9),) * 3)
    d = diagnose(evidence(serial, plain=(timing(workers=64),) * 3, as_many_as_cores=tried))
    assert [f.cause for f in d.findings] == ["serial", "oversubscription"] and d.findings[0].gain > 0.9


def test_the_calling_thread_of_openmp_is_no_other_thread() -> None:
    plain = (timing(on_core=1.5, waiting=0.5, other_cpu=0.9),) * 3
    assert only(evidence(plain=plain, openmp=True)).cause == "other_programs"


def test_libraries_with_threads_of_their_own() -> None:
    files = ("/usr/lib/libgomp.so.1.0.0", "/usr/lib/libgomp.so.1.0.0", "/opt/libopenblasp-r0.3.21.so", "/lib/libc.so")
    maps = [Mapping(0, 1, 0, file) for file in files]
    assert libraries_with_threads(maps) == ("libgomp.so.1.0.0", "libopenblasp-r0.3.21.so")


def test_threads_with_unequal_shares() -> None:
    region = Place("step", HERE.file)
    f = only(evidence(shares={region: Shares((1.5, 0.5), 2.0, 1.5)}))
    assert f.cause == "uneven_threads" and f.gain == pytest.approx(0.5)
    assert only(evidence(shares={region: Shares((2.0,), 2.0, 2.0)})).cause == "no_parallelism"


def test_another_thread_of_each_region_has_all_its_work() -> None:
    f = only(evidence(shares={Place("step", HERE.file): Shares((1.2, 0.8), 2.0, 2.0)}))
    assert f.cause == "no_parallelism" and f.gain == pytest.approx(1.0)
    # Four threads on two cores: no more than two compute at a time, whatever their shares are.
    plain = (timing(workers=4),) * 3
    assert (
        diagnose(evidence(plain=plain, shares={Place("step", HERE.file): Shares((0.5,) * 4, 2.0, 1.0)})).findings == ()
    )


def test_shares_of_samples() -> None:
    ms = 1_000_000
    rows = [(9 * ms, 4 * ms, 1, 0), (4 * ms, 4 * ms, 0, 0), (8 * ms, 2 * ms, 0, 0), (20 * ms, 4 * ms, 0, 0)]
    samples = np.array(rows, [("end", "<u8"), ("ns", "<u8"), ("thread", "<u4"), ("place", "<u4")])
    s = shares_of(samples, np.array([True, True, True, False]))  # the last one is blocked
    assert s.threads == pytest.approx((6e-3, 4e-3))
    assert s.there == pytest.approx(14e-3) and s.any_there == pytest.approx(12e-3)


def test_a_thread_without_a_core_leaves_its_share_to_the_others() -> None:
    plain = (timing(queued=0.8),) * 3
    d = diagnose(evidence(plain=plain, shares={Place("step", HERE.file): Shares((1.5, 0.5), 2.0, 1.5)}))
    assert d.findings == () and [f.cause for f in d.unsure] == ["uneven_threads"]


def test_short_regions() -> None:
    plain = (timing(runs=10_000, cpu=0.4),) * 3
    f = only(evidence(plain=plain, shares={Place("step", HERE.file): Shares((0.2, 0.2), 0.4, 0.2)}))
    assert f.cause == "short_runs" and f.gain == pytest.approx(0.8) and "10000 regions" in f.evidence[0]


@pytest.mark.parametrize(
    ("state", "serial", "cause", "names"),
    [
        ("mutex", False, "lock", "reduction"),
        ("sleep", False, "blocking", "OMP_NUM_THREADS"),
        ("futex", False, "blocking", "omp task"),
        ("sleep", True, "waiting_outside", "omp task"),
    ],
)
def test_an_openmp_program_is_told_of_openmp(state: str, serial: bool, cause: str, names: str) -> None:
    f = only(evidence(stack(state, 0.6, in_run=not serial, is_serial=serial), openmp=True))
    assert f.cause == cause and names in f.advice and "weft::" not in f.advice


def test_serial_code_of_an_openmp_program() -> None:
    e = evidence(stack("on_core", 0.5, in_run=False, is_serial=True), openmp=True)
    advice = {f.cause: f.advice for f in diagnose(e).findings}["serial"]
    assert "omp parallel for" in advice and "weft::" not in advice


def test_ranks_by_gain_and_leaves_out_what_is_small_or_unsure() -> None:
    places = [Place(f"f{i}", "/x.cpp", i) for i in range(12)]
    d = diagnose(evidence(*(stack("mutex", 0.12 + 0.02 * i, places[i]) for i in range(12))))
    gains = [f.gain for f in d.findings]
    assert len(gains) == MOST and gains == sorted(gains, reverse=True) and d.findings[0].place == places[-1]
    assert diagnose(evidence(stack("mutex", 0.08))).findings == ()
    varying = evidence(plain=(timing(asleep=0.0), timing(asleep=0.4), timing(asleep=1.9)))
    run = IdleRun("long_piece", "(fork)", 0.1, 0.2, 0.3, 0.2, 0.0, 0.2, 5)
    d = diagnose(replace(varying, idle=Idle((run,), 0.1, 0.2)))
    assert d.findings == () and [f.cause for f in d.unsure] == ["long_piece"]


def test_every_finding_can_be_written_as_json() -> None:
    d = diagnose(grown(1.0))
    (finding,) = json.loads(json.dumps(d.to_json()))["findings"]
    assert finding["place_text"] == "solver.cpp:12 (step)"
    assert len({cause.__name__ for cause in CAUSES}) == len(CAUSES)


# ---- traces


def idle_runs(tmp_path: Path, trace: TraceFile) -> list[IdleRun]:
    path = tmp_path / "run.weft"
    path.write_bytes(trace.end().bytes())
    return list(idle_of(read_trace(path)).runs)


def loop(long_ns: int, other_ns: int, *, wait: bool = False) -> TraceFile:
    """A root on worker 0 with a fork of `long_ns`; worker 1 runs one of `other_ns` and has nothing to do then."""
    trace = TraceFile().names(n1="element")
    trace.stream(65535, (0, "spawn", 1, 0, 0, ROOT))
    end = 1000 + long_ns
    waits: list[tuple[Any, ...]] = []
    if wait:
        waits = [(1100 + other_ns, "suspend", 3, 0, 0, 5), (end - 100, "resume", 3)]
    trace.stream(
        0,
        (0, "begin", 1, 0, 0, FRESH),
        (500, "spawn", 2, 1, 1, FORK),
        (600, "spawn", 3, 1, 1, FORK),
        (1000, "begin", 2, 0, 0, 1),
        (end, "end", 2),
        (end + 100, "end", 1),
    )
    trace.stream(
        1,
        (0, "search", 0),
        (1000, "found", 0),
        (1000, "begin", 3, 0, 0, FRESH),
        *waits[:1],
        *([] if wait else [(1000 + other_ns, "end", 3)]),
        (1200 + other_ns, "search", 0),
        (end - 200, "found", 0),
        *waits[1:],
        *([(end, "end", 3)] if wait else []),
    )
    return trace


def test_one_long_piece(tmp_path: Path) -> None:
    (run,) = idle_runs(tmp_path, loop(26_000_000, 6_000_000))
    assert (run.kind, run.construct) == ("long_piece", "element")
    assert run.longest == pytest.approx(0.026) and run.idle == pytest.approx(0.020, rel=0.01)
    assert run.end - run.begin == pytest.approx(0.026, rel=0.01)


@pytest.mark.parametrize(("children", "kind"), [(1, "no_parallelism"), (40, "uneven")])
def test_children_that_run_below_their_parent_while_a_worker_is_idle(tmp_path: Path, children: int, kind: str) -> None:
    trace = TraceFile().names(n1="part")
    trace.stream(65535, (0, "spawn", 1, 0, 0, ROOT))
    each = 20_000_000 // children
    events: list[tuple[Any, ...]] = [(0, "begin", 1, 0, 0, FRESH)]
    for i in range(children):
        at = 1000 + i * each
        events += [(at, "spawn", 2 + i, 1, 1, FORK), (at, "begin", 2 + i, 0, 0, 1), (at + each, "end", 2 + i)]
    trace.stream(0, *events, (20_001_000, "end", 1))
    trace.stream(1, (0, "search", 0), (20_001_000, "found", 0))
    (run,) = idle_runs(tmp_path, trace)
    assert run.kind == kind and run.parallelism == pytest.approx(40 if children > 1 else 0, rel=0.1)


def test_no_parallelism(tmp_path: Path) -> None:
    (run,) = idle_runs(tmp_path, loop(26_000_000, 100_000))
    assert (run.kind, run.construct) == ("no_parallelism", "element")


def test_short_runs(tmp_path: Path) -> None:
    (run,) = idle_runs(tmp_path, loop(60_000, 20_000))
    assert run.kind == "short_runs" and run.work == pytest.approx(81e-6, rel=0.05)


def test_tasks_that_wait(tmp_path: Path) -> None:
    (run,) = idle_runs(tmp_path, loop(26_000_000, 6_000_000, wait=True))
    assert run.kind == "waiting"


# ---- stacks


def frame(function: str, file: str | None = None, module: str = "/home/x/solver") -> Frame:
    return Frame(function, file, 3 if file else None, module)


def test_whose_code_it_is() -> None:
    body = frame("void weft::impl::loop_over<int, main::{lambda(int)#1}>(int)", "/home/x/solver.cpp")
    loop_code = frame("weft::impl::loop_over<int>(int)", "/usr/include/weft/parallel.hpp")
    assert owners_of((body, loop_code)) == ["program", "runtime"]
    assert owners_of((frame("", "/usr/include/c++/12/bits/std_mutex.h"), body)) == ["system", "program"]
    assert owners_of(
        (frame("weft::policies::(anonymous namespace)::random_stealing::next(int)", "/src/steal.cpp"),)
    ) == ["runtime"]
    assert owners_of((frame("cos", None, "/lib/x86_64-linux-gnu/libm.so.6"),)) == ["system"]
    assert owners_of((frame("GOMP_parallel", None, "/opt/weft/openmp/libgomp.so.1"),)) == ["runtime"]
    assert owners_of((frame("GOMP_parallel", None, "/usr/lib/x86_64-linux-gnu/libgomp.so.1"),)) == ["program"]
    policy = frame("queues_child", "/x/weft/build/../src/policy/steal.cpp")  # of a namespace without a name
    assert owners_of((policy,)) == ["program"] and owners_of((policy,), ("/x/weft/build/../src/",)) == ["runtime"]
    # Without debug information.
    assert owners_of((frame("void weft::impl::fork<main::{lambda()#1}>(main::{lambda()#1}&)"),)) == ["program"]
    assert owners_of((frame("weft::impl::run_isolated(weft::body)"),)) == ["runtime"]
    assert owners_of((frame("solve(int, int)"),)) == ["program"] and owners_of((frame(""),)) == ["system"]


@pytest.mark.parametrize(
    ("name", "short"),
    [
        ("solve(int, int)", "solve"),
        ("(anonymous namespace)::grid::step()", "grid::step"),
        ("double sum<int>(int)", "sum<int>"),
        ("main::{lambda(int)#1}::operator()(int) const", "main::{lambda(int)#1}"),
        ("operator()(int) const", ""),
        ("main._omp_fn.0", "main"),
    ],
)
def test_short_names(name: str, short: str) -> None:
    assert short_name(name) == short


def test_damaged_notes(tmp_path: Path) -> None:
    path = tmp_path / "notes.1"
    path.write_bytes(struct.pack("<8sI", b"wefttrc\n", 1) + bytes(52))
    with pytest.raises(Error, match="no notes"):
        read_watch(path)


# ---- real programs. What is tested does not depend on how busy the machine is.


@pytest.fixture(scope="module")
def programs() -> Iterator[Path]:
    if not (PROGRAMS / "sleep_in_loop").exists():
        pytest.skip("the programs are built where libweft-watch.so is")
    yield PROGRAMS


def fault(name: str) -> tuple[str, int]:
    source = SOURCE / f"tests/why/learned/{name}.cpp"
    for number, line in enumerate(source.read_text().splitlines(), 1):
        if mark := re.search(r"// FAULT (\w+)", line):
            return mark[1], number
    raise AssertionError(f"{source} has no fault")


@pytest.mark.parametrize(
    ("name", "state", "serial"), [("sleep_in_loop", "sleep", False), ("serial_between_loops", "on_core", True)]
)
def test_where_a_program_runs_and_waits(name: str, state: str, serial: bool, programs: Path, tmp_path: Path) -> None:
    """The stacks of the fault are seen, with its line, and the evidence that they are makes it the cause."""
    file = tmp_path / "watch"
    launch([programs / name], workers=2, environment=environment(file), stdout=subprocess.DEVNULL).check()
    (watch,) = read_watches(file)
    stacks = stacks_of(watch)
    cause, line = fault(name)
    here = [s for s in stacks if s.state == state and any(p.line == line for p in s.path)]
    assert here and all(s.is_serial == serial and s.in_run != serial for s in here)
    assert watch.lost == 0 and sum(s.seconds for s in here) > 0.05
    d = diagnose(replace(evidence(plain=(timing(0.05),) * 3), stacks=tuple(here)))
    assert [f.cause for f in d.findings + d.unsure] == [cause]


def test_a_tick_that_meets_another_signal(programs: Path, tmp_path: Path) -> None:
    """Its time belongs to the code below the other signal's handler, which has not begun."""
    file = tmp_path / "watch"
    environ = {name: value for name, value in environment(file).items() if value is not None}
    subprocess.run([programs / "two_signals"], env=os.environ | environ, stdout=subprocess.DEVNULL, check=True)
    (watch,) = read_watches(file)
    stacks = [s for s in stacks_of(watch) if s.state == "on_core"]
    functions = {p.function for s in stacks for p in s.path}
    assert "let_in" in functions and "handler" not in functions
    assert sum(s.seconds for s in stacks) > 0.1


def test_the_number_of_active_workers_is_tried_where_the_program_sets_up_its_workers(programs: Path) -> None:
    program = [str(programs / "sleep_in_loop")]
    trial = Collector(program, {"workers": 3}, repeats=2)._with_active(2)
    assert trial and len(trial.timings) == 2 and all(t.workers == 3 for t in trial.timings)
    assert Collector(program, {"workers": 3, "policy": "adws"}, repeats=2)._with_active(2) is None


@pytest.mark.skipif(not Path("/proc/self/numa_maps").exists(), reason="the kernel knows no memory nodes")
def test_pages_are_counted_while_a_program_runs() -> None:
    pages = Pages()
    with subprocess.Popen(["sleep", "60"]) as process:
        pages([Path(f"progress.{process.pid}"), Path(f"progress.{process.pid}.2"), Path("progress.999999999")])
        process.kill()
    assert set(pages.most) <= set(range(memory_nodes())) and sum(pages.most.values()) >= 1 << 12
    most = pages.most
    pages([Path(f"progress.{process.pid}")])  # it has ended
    assert pages.most == most


def test_a_trial_with_memory_on_all_nodes(programs: Path, tmp_path: Path) -> None:
    """The program inherits the setting, and the next one does not."""
    script = tmp_path / "program"
    script.write_text(f"#!/bin/sh\ncat /proc/self/numa_maps > {tmp_path}/maps\nexec {programs}/sleep_in_loop\n")
    script.chmod(0o755)
    collector = Collector([str(script)], {"workers": 2}, repeats=1)
    trial = collector._interleaved()
    try:
        with _core.InterleavedMemory():
            pass
    except _core.LibraryError as refused:  # as in some containers
        assert trial is None and collector.notes == [f"not tested with memory on all nodes: {refused}"]
        return
    assert trial and len(trial.timings) == 1 and collector.notes == []
    assert all(" interleave:" in line for line in Path(tmp_path, "maps").read_text().splitlines() if " N0=" in line)
    collector._timing()
    assert " interleave:" not in Path(tmp_path, "maps").read_text()


def test_the_command(programs: Path) -> None:
    done = command("why", "--json", "--repeats", "2", "--", str(programs / "sleep_in_loop"))
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert answer["runs"] == 2 and answer["seconds"] > 0 and answer["speedup"] > 0
    assert "one run takes" in done.stderr
    text = command("why", "--repeats", "2", "--", str(programs / "sleep_in_loop")).stdout
    assert "sleep_in_loop: " in text and ("saves" in text or "Nothing to gain here" in text)


def test_programs_that_cannot_be_diagnosed() -> None:
    done = command("why", "--", "true")
    assert done.returncode == 1 and "nothing ran in parallel" in done.stderr
    done = command("why", "--", "false")
    assert done.returncode == 1 and "ended with status 1" in done.stderr
    done = command("why")
    assert done.returncode == 2
