"""The parts of weft cosched that need no daemon: domains, processes, rates, seats, files."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from coscheduled import eventually
from hypothesis import given
from hypothesis import strategies as st
from weft import Error
from weft.cosched import counters, processes, profiles
from weft.cosched.affinity import Place, Placement, Seats, apply, release
from weft.cosched.cpuset import Cpusets
from weft.cosched.domains import cpu_list, cpus_of, find_domains
from weft.cosched.placements_trace import PlacementTrace
from weft.cosched.processes import Families, Times, parse_stat
from weft.cosched.programs_file import read_programs
from weft.cosched.rates import Meter, Published, Thread, common_source, in_a_second, rate_by, source_for, steady
from weft.cosched.registry import Entry, read_entries, write_entries
from weft.cosched.settings import Settings, from_json

MASK = frozenset(range(8))


# ---- domains


@pytest.fixture
def cpus(tmp_path: Path) -> Path:
    """Two sockets with a last-level cache, two cores a socket, two hardware threads a core: 0,4 is the first core."""
    for cpu in range(8):
        socket, sibling = ("0-1,4-5", "2-3,6-7")[cpu % 4 // 2], f"{cpu % 4},{cpu % 4 + 4}"
        for index, level, kind, shared in [
            (0, 1, "Data", sibling),
            (1, 1, "Instruction", "0-7"),
            (2, 3, "Unified", socket),
        ]:
            folder = tmp_path / f"cpu{cpu}/cache/index{index}"
            folder.mkdir(parents=True)
            for name, text in [("level", str(level)), ("type", kind), ("shared_cpu_list", shared)]:
                (folder / name).write_text(text + "\n")
        topology = tmp_path / f"cpu{cpu}/topology"
        topology.mkdir()
        (topology / "thread_siblings_list").write_text(sibling + "\n")
    return tmp_path


def test_domains_are_the_last_level_caches(cpus: Path) -> None:
    found = find_domains("caches", allowed=range(8), cpus=cpus)
    assert found.sets == ((0, 1, 4, 5), (2, 3, 6, 7)) and found.counts == [4, 4]
    assert found.flat == (0, 1, 4, 5, 2, 3, 6, 7)
    assert str(found) == "0-1,4-5 / 2-3,6-7"


def test_only_processors_that_may_be_used(cpus: Path) -> None:
    assert find_domains("caches", allowed=[1, 2, 6], cpus=cpus).sets == ((1,), (2, 6))


def test_domains_by_cores_keep_hardware_threads_together(cpus: Path) -> None:
    assert find_domains("cores", allowed=range(8), cpus=cpus).sets == ((0, 4), (1, 5), (2, 6), (3, 7))


def test_a_machine_that_tells_nothing_is_one_domain(tmp_path: Path) -> None:
    assert find_domains("caches", allowed=[0, 1, 2], cpus=tmp_path).sets == ((0, 1, 2),)


def test_given_domains() -> None:
    found = find_domains("3,1/0", allowed=range(4))
    assert found.sets == ((1, 3), (0,)) and found.by == "given"


@pytest.mark.parametrize("spec", ["", "sockets", "0/0", "0-1/1", "1-0", "/", "0/", "99999999999", "0,,1"])
def test_domains_that_are_none(spec: str) -> None:
    with pytest.raises(Error, match="allowed: "):
        find_domains(spec, allowed=range(4))


def test_domains_of_processors_that_may_not_be_used() -> None:
    with pytest.raises(Error, match="may not be used; given: 7; allowed: 0-3"):
        find_domains("0/7", allowed=range(4))


@given(st.sets(st.integers(0, 300), min_size=1))
def test_lists_of_processors(cpus: set[int]) -> None:
    assert cpus_of(cpu_list(cpus)) == cpus


# ---- processes


def test_a_name_may_have_anything_in_it() -> None:
    line = b"17 (a) b (c) R 4 17 9 0 -1 4194304 1 0 0 0 0 0 0 0 20 0 3 0 12345 1 1"
    found = parse_stat(line)
    assert found and (found.pid, found.state, found.parent, found.session, found.start, found.threads) == (
        17, "R", 4, 9, 12345, 3,
    )  # fmt: skip


@given(st.binary(max_size=80))
def test_any_bytes_are_a_stat_or_none(text: bytes) -> None:
    parse_stat(text)


def test_a_zombie_does_not_run() -> None:
    child = subprocess.Popen(["true"])
    try:
        eventually(lambda: processes.start_of(child.pid) is None, "the child ends")
        assert processes.stat_of(child.pid) is not None  # but it is there
    finally:
        child.wait()
    assert processes.stat_of(child.pid) is None


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    child = subprocess.Popen(["sleep", "100"], start_new_session=True)
    eventually(lambda: (processes.read_bytes(f"/proc/{child.pid}/comm") or b"") == b"sleep\n", "it is sleep by now")
    yield child
    child.kill()
    child.wait()


def test_another_process_of_the_same_number_is_not_alive(sleeper: subprocess.Popen[bytes]) -> None:
    start = processes.start_of(sleeper.pid)
    assert start is not None and processes.is_alive(sleeper.pid, start)
    assert not processes.is_alive(sleeper.pid, start + 1)


def test_a_family_has_descendants_and_orphans() -> None:
    script = "sh -c 'sleep 100 & sleep 100 & :' ; sleep 100 & wait"
    root = subprocess.Popen(["sh", "-c", script], start_new_session=True)
    try:
        family = Families()
        assert family.add(3, root.pid)

        def complete() -> bool:
            family.scan()
            return len(family.of(3)) == 4

        eventually(complete, "the program, its child, and two orphans of its session")
        assert family.of(3)[0] == root.pid
        # Orphans of another session stay members, since they were seen before.
        gone = family.of(3)[1]
        os.kill(gone, signal.SIGKILL)

        def without() -> bool:
            family.scan()
            return gone not in family.of(3)

        eventually(without, "who has ended is no member")
        family.drop(3)
        assert family.of(3) == []
    finally:
        os.killpg(root.pid, signal.SIGKILL)
        root.wait()


def test_processes_are_listed_when_one_may_have_come(
    sleeper: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    made: int | None = 100
    lists: list[list[int]] = []

    def listed() -> list[int]:
        return lists.pop(0)  # fails for a list too many

    monkeypatch.setattr(processes, "last_made", lambda: made)
    monkeypatch.setattr(processes, "processes", listed)
    family = Families()
    assert family.add(3, sleeper.pid)
    child = subprocess.Popen(["sleep", "100"])
    try:
        monkeypatch.setattr(family, "_program_of", lambda s: 3 if s.pid == child.pid else None)
        # It has its number before the first scan, and is in the list at the second one.
        lists += [[sleeper.pid], [sleeper.pid, child.pid]]
        family.scan()
        assert family.of(3) == [sleeper.pid]
        for _ in range(3):
            family.scan()
        assert family.of(3) == [sleeper.pid, child.pid] and not lists
        made = 101
        lists += [[sleeper.pid, child.pid]] * 2
        for _ in range(3):
            family.scan()
        assert not lists
        made = None  # the kernel does not say
        lists += [[sleeper.pid, child.pid]] * 3
        for _ in range(3):
            family.scan()
        assert not lists
    finally:
        child.kill()
        child.wait()


def test_the_number_of_the_last_thread_is_told() -> None:
    before = processes.last_made()
    child = subprocess.Popen(["true"])
    child.wait()
    assert before is not None and processes.last_made() not in (before, None)


def test_a_program_that_is_gone_is_not_added() -> None:
    child = subprocess.Popen(["true"])
    child.wait()
    assert not Families().add(0, child.pid)


# ---- rates


def test_counts_are_scaled_for_the_time_without_the_hardware() -> None:
    assert counters.scaled(1000, 400, 100) == 4000
    assert counters.scaled(1000, 400, 0) == 0


@pytest.mark.parametrize(
    "number, says",
    [(errno.ENOENT, "no hardware"), (errno.EACCES, "paranoid"), (errno.ENOSYS, "no perf"), (errno.EIO, "fails")],
)
def test_why_there_are_no_counters(number: int, says: str) -> None:
    assert says in counters.explain(OSError(number, os.strerror(number)))


def test_counters_of_this_thread_or_the_reason() -> None:
    if why := counters.why_none():
        with pytest.raises(OSError):
            counters.Counters(0)
        assert why
    else:
        mine = counters.Counters(0)
        first = mine.read()
        sum(range(1000))
        then = mine.read()
        mine.close()
        assert first and then and then.loads >= first.loads and then.instructions >= first.instructions


def test_only_rates_of_one_source_are_compared() -> None:
    assert common_source([{"counters": 1, "kernel": 2}, {"kernel": 3}], ["counters", "kernel"]) == "kernel"
    assert common_source([{"counters": 1}, {"kernel": 3}], ["counters", "kernel"]) == "none"
    assert common_source([], ["kernel"]) == "none"


def test_a_program_that_has_just_come_does_not_decide_the_source() -> None:
    old: tuple[dict[str, int], int] = ({"counters": 5, "kernel": 9}, 1000)
    assert source_for("lira-adaptive", [old, ({}, 1000)], 500) == "counters"
    assert source_for("lira-adaptive", [old, ({"profile:kernel": 4}, 1000)], 500) == "counters"
    assert rate_by({"profile:counters": 4}, "counters") == 4 and rate_by({}, "counters") == 0


def test_idle_programs_do_not_decide_the_source() -> None:
    busy: tuple[dict[str, int], int] = ({"published": 5, "kernel": 9}, 900)
    assert source_for("lira-adaptive", [busy, ({"kernel": 1}, 100)], 500) == "published"
    assert source_for("lira-adaptive", [busy, ({"kernel": 1}, 600)], 500) == "kernel"


def test_static_schedulers_go_by_profiles_that_all_have() -> None:
    both = [({"profile:kernel": 5, "counters": 1}, 1000), ({"profile:kernel": 7, "counters": 2}, 1000)]
    assert source_for("lira-static", both, 500) == "profile:kernel"
    assert source_for("lira-adaptive", both, 500) == "counters"
    assert source_for("lira-static", [both[0], ({"counters": 2}, 1000)], 500) == "counters"


def test_noise_is_no_change_of_a_rate() -> None:
    assert steady(-1, 900, 1000, 50) == 900
    assert steady(900, 950, 1000, 50) == 900  # not more than the band
    assert steady(900, 951, 1000, 50) == 951
    assert steady(900, 901, 1000, 0) == 901
    assert steady(0, 0, 0, 50) == 0


def test_slow_changes_are_seen_in_the_end() -> None:
    last = 500
    for rate in range(500, 1001):
        last = steady(last, rate, 1000, 50)
        assert rate - last <= 50
    assert last >= 950


@given(st.integers(-(2**70), 2**70), st.integers(1, 2**62))
def test_a_rate_is_always_one_that_the_decision_takes(amount: int, elapsed: int) -> None:
    assert 0 <= in_a_second(amount, elapsed) <= 10**15


def slot(published: int, **figures: int) -> dict[str, object]:
    fields = {"pid": 5, "tasks": 0, "bytes": 0, "processor": 0, "misses": -1} | figures
    return {"state": "fresh", "published": published} | fields


def test_published_bytes_and_misses() -> None:
    seen = Published()
    seen.read(slot(1_000, bytes=100), [5])
    assert seen.rate is None
    seen.read(slot(1_000_001_000, bytes=300), [5])
    assert seen.rate == 200
    seen.read(slot(1_000_001_000, bytes=300), [5])
    assert seen.rate == 200  # nothing new since
    seen.read(slot(1_500_001_000, bytes=300, misses=0), [5])
    seen.read(slot(2_000_001_000, bytes=300, misses=10), [5])
    assert seen.rate == 10 * 64 * 2


def test_a_new_runtime_begins_anew() -> None:
    seen = Published()
    seen.read(slot(1_000, bytes=100, tasks=9), [5])
    seen.read(slot(1_000_001_000, bytes=900, tasks=10), [5])
    assert seen.rate == 800
    seen.read(slot(2_000_001_000, bytes=50, tasks=1), [5])
    assert seen.rate is None


@pytest.mark.parametrize("state", ["stale", "over", "empty", "none", "torn", "damaged"])
def test_what_is_not_fresh_counts_for_nothing(state: str) -> None:
    seen = Published()
    seen.read(slot(1_000, bytes=100), [5])
    seen.read(slot(1_000_001_000, bytes=300), [5])
    seen.read({"state": state}, [5])
    assert seen.rate is None and seen.state == state


def test_a_process_that_is_not_the_program_s_is_not_believed() -> None:
    seen = Published()
    seen.read(slot(1_000, bytes=100), [6])
    assert seen.state == "foreign" and seen.last is None


def test_a_program_that_declares_no_data_has_no_published_rate() -> None:
    seen = Published()
    seen.read(slot(1_000), [5])
    seen.read(slot(1_000_001_000, tasks=100), [5])
    assert seen.rate is None


class Clock:
    """Stands for a thread's schedstat."""

    def __init__(self) -> None:
        self.times: Times | None = Times(0, 0)

    def read(self) -> Times | None:
        return self.times

    def close(self) -> None:
        pass


def thread(tid: int, clock: Clock | None = None, rested: int = 0) -> Thread:
    return Thread(1, tid, clock or Clock(), None, rested=rested)  # type: ignore[arg-type]


def test_what_the_kernel_tells_is_how_many_cores_a_program_wants() -> None:
    clocks = [Clock(), Clock(), Clock()]
    threads = [thread(i, c) for i, c in enumerate(clocks)]
    meter = Meter(weight=1000)
    meter.measure(1_000_000, threads, 2)
    assert meter.rates == {} and meter.load == 1000
    clocks[0].times, clocks[1].times = Times(600_000, 400_000), Times(200_000, 0)
    meter.measure(2_000_000, threads, 2)
    assert meter.rates == {"kernel": 1200}  # runnable for all of the time and for a fifth
    assert meter.load == 600  # of the two that would have cores
    assert meter.waiting == 400
    assert [t.rested for t in threads] == [0, 0, 1]


def test_rates_are_averages() -> None:
    clock = Clock()
    one, meter = thread(0, clock), Meter()
    meter.measure(0, [one], 1)
    for period, expected in [(1, 1000), (2, 750), (3, 542)]:
        clock.times = Times(1000, 0)
        meter.measure(period * 1000, [one], 1)
        assert meter.rates["kernel"] == expected


def test_a_meter_forgets_what_it_has_read_by_a_clock_that_has_gone_back() -> None:
    clock = Clock()
    one, meter = thread(0, clock), Meter(weight=1000)
    for now, ran in ((5_000_000, 100_000), (6_000_000, 200_000), (1_000_000, 300_000)):
        clock.times = Times(ran, 0)
        meter.measure(now, [one], 1)
        assert meter.rates in ({}, {"kernel": 100})
    clock.times = Times(500_000, 0)
    meter.measure(2_000_000, [one], 1)
    assert meter.rates == {"kernel": 200} and meter.load == 200


def test_a_meter_sees_new_threads_and_those_that_take_the_place_of_others() -> None:
    meter, me, ends = Meter(), os.getpid(), [threading.Event(), threading.Event()]

    def seen() -> set[int]:
        return {t.tid for t in meter.follow([me])}

    before = seen()
    assert threading.get_native_id() in before
    first, second = (threading.Thread(target=e.wait) for e in ends)
    first.start()
    assert first.native_id in seen()
    ends[0].set()
    first.join()
    second.start()  # as many as before
    now = time.monotonic_ns()

    def replaced() -> bool:
        meter.measure(now, meter.follow([me]), 0)
        return second.native_id in seen() and first.native_id not in seen()

    eventually(replaced, "the second is seen, the first is not")
    ends[1].set()
    second.join()
    meter.close()


def test_a_meter_follows_threads_as_they_come_and_go(sleeper: subprocess.Popen[bytes]) -> None:
    meter = Meter()
    assert [t.tid for t in meter.follow([sleeper.pid])] == [sleeper.pid]
    assert meter.follow([]) == [] and meter.threads == {}
    meter.close()


# ---- places


def plan(placement: Placement, threads: list[Thread], **how: bool) -> dict[int, Place]:
    given = {"on_weft": False, "priorities": True} | how
    return Seats().plan(placement, threads, MASK, **given)


def test_the_kernel_places_what_has_no_place() -> None:
    assert plan(Placement(-1, tuple(range(8)), (), 8), [thread(1)]) == {1: Place(MASK)}


def test_a_program_alone_on_a_domain_may_use_all_of_it() -> None:
    placement = Placement(1, (4, 5), (4, 5), 2)
    assert plan(placement, [thread(1), thread(2)]) == {t: Place(frozenset([4, 5])) for t in (1, 2)}


def test_a_program_that_shares_a_domain_has_a_core_for_each_thread() -> None:
    placement = Placement(0, (0, 1, 2, 3), (2, 3), 2)
    places = plan(placement, [thread(t) for t in (10, 11, 12, 13, 14)])
    assert places == {
        10: Place(frozenset([2])),
        11: Place(frozenset([3])),
        12: Place(frozenset([0]), is_low=True),
        13: Place(frozenset([1]), is_low=True),
        14: Place(frozenset([0, 1, 2, 3]), is_low=True),
    }


def test_without_priorities_programs_keep_to_their_own_cores() -> None:
    placement = Placement(0, (0, 1, 2, 3), (2, 3), 2)
    assert plan(placement, [thread(1), thread(2)], priorities=False) == {t: Place(frozenset([2, 3])) for t in (1, 2)}
    assert plan(placement, [thread(1)], on_weft=True) == {1: Place(frozenset([2, 3]))}


def test_threads_that_rest_give_their_core_away() -> None:
    placement, seats = Placement(0, (0, 1), (0,), 1), Seats()
    first, second = thread(1), thread(2)
    places = seats.plan(placement, [first, second], MASK, on_weft=False, priorities=True)
    assert places == {1: Place(frozenset([0])), 2: Place(frozenset([1]), True)}
    first.rested = 10
    places = seats.plan(placement, [first, second, thread(3)], MASK, on_weft=False, priorities=True)
    assert places[1] == Place(frozenset([0, 1]))
    assert places[2] == Place(frozenset([1]), True)  # it stays
    assert places[3] == Place(frozenset([0]))


def test_nothing_gets_more_than_the_program_was_allowed() -> None:
    mask = frozenset([1, 2])
    seats = Seats()
    threads = [thread(t) for t in range(5)]
    for placement in (
        Placement(0, (0, 1, 2, 3), (0, 1), 2),
        Placement(1, (3, 4), (3, 4), 2),
        Placement(-1, (0, 5), (), 2),
    ):
        for place in seats.plan(placement, threads, mask, on_weft=False, priorities=True).values():
            assert place.cpus and place.cpus <= mask


def test_a_process_is_moved_and_released(sleeper: subprocess.Popen[bytes]) -> None:
    before = os.sched_getaffinity(sleeper.pid)
    one = frozenset([min(before)])
    assert apply({sleeper.pid: Place(one)}) == ""
    assert os.sched_getaffinity(sleeper.pid) == one
    release([sleeper.pid], frozenset(before))
    assert os.sched_getaffinity(sleeper.pid) == before
    sleeper.kill()
    sleeper.wait()
    assert apply({sleeper.pid: Place(one)}) == ""  # what has ended is no failure


def test_a_cpuset_needs_a_hierarchy(tmp_path: Path, sleeper: subprocess.Popen[bytes]) -> None:
    sets = Cpusets("/dev/shm/none", tmp_path)
    assert sets.why_none
    assert "cannot be set" in sets.place(0, [sleeper.pid], frozenset([0]))
    sets.remove()
    assert list(tmp_path.iterdir()) == []


# ---- files


ENTRY = Entry(3, 77, 123, 0, "solver", "./solver x", (0, 1), True)


def test_entries_come_back(tmp_path: Path) -> None:
    path = tmp_path / "programs.json"
    write_entries(path, [ENTRY])
    assert read_entries(path) == [ENTRY]
    assert [p.name for p in tmp_path.iterdir()] == ["programs.json"]
    assert path.stat().st_mode & 0o777 == 0o600


def test_entries_of_another_boot_are_none(tmp_path: Path) -> None:
    path = tmp_path / "programs.json"
    write_entries(path, [ENTRY])
    path.write_text(path.read_text().replace(read_boot(path), "another"))
    assert read_entries(path) == []


def read_boot(path: Path) -> str:
    boot: str = json.loads(path.read_text())["boot"]
    return boot


def test_damaged_entries_do_no_harm(tmp_path: Path) -> None:
    path = tmp_path / "programs.json"
    write_entries(path, [ENTRY, Entry(4, 78, 124, 0, "b", "b", (1,))])
    good = path.read_bytes()
    draw = random.Random(1)
    for _ in range(300):
        text = bytearray(good)
        for _ in range(draw.randint(1, 5)):
            text[draw.randrange(len(text))] = draw.randrange(256)
        path.write_bytes(text[: draw.choice([len(text), draw.randrange(len(text))])])
        for entry in read_entries(path):
            assert 0 <= entry.slot < 64 and entry.pid >= 0 and entry.mask


def test_settings_come_back() -> None:
    made = Settings("/dev/shm/x", costs=(((0, 1), 1.5),), by_instruction=True)
    assert from_json(made.to_json()) == made


@pytest.mark.parametrize(
    "wrong",
    ["", "[]", "{}", '{"directory": 1}', '{"directory": "/x", "period": 0}', '{"directory": "x"}',
     '{"directory": "/a:b"}', '{"directory": "/x", "scheduler": "best"}', '{"directory": "/x", "way": "force"}',
     '{"directory": "/x", "costs": [1]}'],
)  # fmt: skip
def test_settings_that_are_none(wrong: str) -> None:
    with pytest.raises(Error, match="allowed: "):
        from_json(wrong)


def profile(**other: object) -> str:
    fields = {
        "version": 1, "program": "./a", "arguments": ["x"], "key": "k", "machine": "m", "date": "d", "seconds": 1.5,
        "readings": 4, "rates": {"kernel": 900},
    }  # fmt: skip
    return json.dumps(fields | other)


def test_a_profile_is_read() -> None:
    assert profiles.parse(profile(), "k").shares == {"profile:kernel": 900}


@pytest.mark.parametrize(
    "wrong", ["", "[]", "{}", "null", profile(version=2), profile(rates={"kernel": -1}), profile(rates={"heat": 1}),
              profile(rates={"kernel": True}), profile(rates=[]), profile(program=1), profile(more=1),
              profile(key="other"), profile(seconds="x"), "[" * 5000]
)  # fmt: skip
def test_what_is_no_profile(wrong: str) -> None:
    with pytest.raises(Error, match="no profile"):
        profiles.parse(wrong, "k")


def test_a_profile_belongs_to_program_and_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COSCHED_PROFILES", str(tmp_path / "store"))
    program, data = tmp_path / "program", tmp_path / "data"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    data.write_text("1")
    command = [str(program), str(data)]
    assert profiles.find(command) is None
    key = profiles.key_of(command)
    profiles.store(profiles.Profile(command[0], (command[1],), key, "m", "d", 1.0, 3, {"kernel": 5}))
    found = profiles.find(command)
    assert found and found.rates == {"kernel": 5}
    assert profiles.find([command[0]]) is None
    data.write_text("2")
    assert profiles.find(command) is None  # another input
    data.write_text("1")
    program.write_text("#!/bin/sh\n:\n")
    assert profiles.find(command) is None  # another program
    with pytest.raises(Error, match="cannot be started"):
        profiles.key_of(["./no-such-program"])


def programs(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "programs.toml"
    path.write_text(text)
    return path


def test_a_file_of_programs(tmp_path: Path) -> None:
    (tmp_path / "in").write_text("x")
    text = """
        scheduler = "callisto"
        period = 0.5
        [[program]]
        command = "./solver 'a b'"
        input = "in"
        repeats = 3
        environment = {OMP_NUM_THREADS = 4}
        [[program]]
        name = "other"
        command = ["sleep", "1"]
        timeout = 2
    """
    found = read_programs(programs(tmp_path, text))
    first, second = found.programs
    assert (found.scheduler, found.domains, found.period) == ("callisto", None, 0.5)
    assert first.command == (str(tmp_path / "solver"), "a b") and first.name == "solver"
    assert first.input == str(tmp_path / "in") and first.environment == {"OMP_NUM_THREADS": "4"}
    assert (second.command, second.repeats, second.timeout) == (("sleep", "1"), 1, 2.0)


@pytest.mark.parametrize(
    "text, says",
    [
        ("x", "no TOML"),
        ("", "no programs"),
        ("program = 3", "wrong type"),
        ("program = [1]", "no programs"),
        ('scheduler = "fair"\n[[program]]\ncommand = "a"', "unknown scheduler"),
        ('period = 100\n[[program]]\ncommand = "a"', "period is out of range"),
        ("[[program]]", "no command"),
        ('[[program]]\ncommand = ""', "no command"),
        ('[[program]]\ncommand = "a \'b"', "cannot be split"),
        ('[[program]]\ncommand = ["a", 1]', "no command"),
        ('[[program]]\ncommand = "a"\nrepeats = 0', "repeats is out of range"),
        ('[[program]]\ncommand = "a"\nrepeats = true', "repeats is of the wrong type"),
        ('[[program]]\ncommand = "a"\ntimeout = -1', "timeout is out of range"),
        ('[[program]]\ncommand = "a"\ntimeout = inf', "timeout is out of range"),
        ('[[program]]\ncommand = "a"\nspeed = 1', "unknown key"),
        ('[[program]]\ncommand = "a"\nfolder = "none"', "no such folder"),
        ('[[program]]\ncommand = "a"\ninput = "none"', "no such input"),
        ('[[program]]\ncommand = "a"\nenvironment = {A = 1.5}', "environment"),
        ('[[program]]\ncommand = "a"\n[[program]]\ncommand = "x/a"', "two programs have one name"),
    ],
)
def test_what_a_file_of_programs_may_not_say(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(Error, match=says) as failure:
        read_programs(programs(tmp_path, text))
    assert str(failure.value).startswith(str(tmp_path))


def test_a_trace_of_placements_can_be_read_at_any_time(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    trace = PlacementTrace(path)
    trace.begin(1000, 0, "a", 77, "domain 0", why="first")
    trace.begin(2000, 0, "a", 77, "domain 0", why="stays")
    trace.decision(3000, "better", generation=2)
    trace.begin(3000, 0, "a", 77, "domain 1", why="better")
    trace.figures(3000, 0, "a", 5, 250)
    trace.flush()
    # The daemon is killed here, in the middle of a line; the next one goes on.
    with path.open("a") as file:
        file.write('{"name": "doma')
    again = PlacementTrace(path, continues=True)
    again.begin(4000, 0, "a", 77, "domain 1", why="stays")
    again.close(9000)
    events = json.loads(path.read_text())
    slices = [e for e in events if e["ph"] == "X"]
    assert [(e["name"], e["ts"], e["dur"]) for e in slices] == [("domain 0", 1.0, 2.0), ("domain 1", 4.0, 5.0)]
    assert [e["args"] for e in events if e["ph"] == "C"] == [{"rate": 5}, {"load": 0.25}]
    assert [e["name"] for e in events if e["ph"] == "i"] == ["better"]
    # One that has come to its end is gone on with too; another run makes the file anew.
    PlacementTrace(path, continues=True).close(9500)
    assert [e for e in json.loads(path.read_text()) if e["ph"] == "X"] == slices
    PlacementTrace(path).close(1)
    assert [e for e in json.loads(path.read_text()) if e["ph"] == "X"] == []


def test_the_daemon_loads_little() -> None:
    """Tables and pictures cost memory that a daemon has no use for."""
    large = ("polars", "matplotlib", "numpy", "typer")
    code = f"import sys, weft.cosched.daemon; print([m for m in {large} if m in sys.modules])"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert said.stdout.strip() == "[]"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_ends_the_trace_alone() -> None:
    trace = PlacementTrace("/dev/full")
    trace.decision(1, "a")
    trace.flush()
    assert "ended early" in trace.failure
    trace.decision(2, "b")
    trace.close(3)


def mutated(draw: random.Random, good: bytes) -> bytes:
    text = bytearray(good)
    for _ in range(draw.randint(1, 6)):
        at = draw.randrange(len(text))
        match draw.randrange(3):
            case 0:
                text[at] = draw.randrange(256)
            case 1:
                del text[at : at + draw.randint(1, 8)]
            case 2:
                text[at:at] = draw.choice(
                    [b"-1", b"[", b'"', b"{", b"1e999", b"null", b"\xff", b"99999999999999999999"]
                )
        if not text:
            break
    return bytes(text)


def test_whatever_is_in_a_file_it_is_read_or_refused(tmp_path: Path) -> None:
    """Files of programs, profiles and settings: an Error with its reason, or what may be."""
    draw = random.Random(int(os.environ.get("WEFT_TEST_SEED", "1")))
    path = tmp_path / "programs.toml"
    file = b'period = 0.5\ndomains = "cores"\n[[program]]\ncommand = ["a", "b"]\nrepeats = 3\ntimeout = 2.5\n'
    settings = Settings("/dev/shm/x", costs=(((0, 1), 1.5),)).to_json().encode()
    for _ in range(400):
        path.write_bytes(mutated(draw, file))
        with contextlib.suppress(Error):
            assert read_programs(path).programs
        with contextlib.suppress(Error):
            assert profiles.parse(mutated(draw, profile().encode()).decode(errors="replace")).rates.keys() <= {"kernel"}
        with contextlib.suppress(Error):
            from_json(mutated(draw, settings).decode(errors="replace")).checked()
