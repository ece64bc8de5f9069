"""weft cosched with real programs: placed, moved, killed; the daemon killed and started anew; nothing left behind."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from coscheduled import (
    ALL,
    DOMAINS,
    PERIOD,
    SETS,
    SLEEP,
    Clock,
    crowd,
    daemon,
    directory,
    end,
    eventually,
    masks,
    pids,
    start,
    status,
)
from weft import Error, LibraryError, _core, cli
from weft.cosched import processes
from weft.cosched.daemon import clean
from weft.cosched.messages import MOST_BYTES, NoDaemonError, ask
from weft.cosched.settings import Settings, socket_path
from weft.cosched.supervisor import Supervisor

SPIN = ("sh", "-c", "while :; do :; done")


@pytest.fixture(autouse=True)
def settings(no_settings: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COSCHED_PROFILES", str(tmp_path / "profiles"))


@pytest.fixture
def where() -> Iterator[str]:
    with directory() as path:
        yield path


def test_programs_are_placed_and_freed(where: str) -> None:
    with daemon(where):
        children = [*crowd(where), start(where, *SLEEP)]
        eventually(lambda: masks(children[-1].pid) <= {*SETS}, "the last one is on a domain, too")
        seen = status(where)
        assert [p["pid"] for p in seen["programs"]] == [c.pid for c in children]
        for p in seen["programs"]:
            assert masks(p["pid"]) == {SETS[p["domain"]]}
            assert p["name"] == "sleep" and p["threads"] == p["processes"] == 1 and p["why"]
        assert {p["domain"] for p in seen["programs"]} == set(range(len(SETS)))
        assert seen["decision"]["text"] and seen["generation"] > 0
    assert all(masks(c.pid) == {ALL} for c in children)
    assert all(c.poll() is None for c in children)
    end(*children)


def test_a_program_moves_to_a_domain_that_has_become_free(where: str) -> None:
    if len(SETS) < 2:
        pytest.skip("needs two processors")
    with daemon(where):
        children = [*crowd(where), start(where, *SLEEP)]

        def alone() -> list[int]:
            placed = [p["domain"] for p in status(where)["programs"]]
            return [p["pid"] for p in status(where)["programs"] if placed.count(p["domain"]) == 1]

        eventually(lambda: len(alone()) == 1, "two are on one domain")
        before = status(where)
        (gone,) = [c for c in children if c.pid in alone()]
        end(gone)
        stay = [c for c in children if c is not gone]
        eventually(
            lambda: [masks(c.pid) for c in stay] in ([{SETS[0]}, {SETS[1]}], [{SETS[1]}, {SETS[0]}]), "one moves"
        )
        after = status(where)
        assert after["generation"] > before["generation"] and after["moves"] > before["moves"]
        assert after["decisions"][-1]["generation"] == after["generation"]
        end(*stay)


def test_a_static_scheduler_goes_by_profiles(where: str) -> None:
    with daemon(where, scheduler="lira-static"):
        ask(where, {"do": "register", "name": "a", "command": "a", "profile": {"profile:kernel": 7}})
        eventually(lambda: "kernel" in status(where)["programs"][0]["rates"], "it is measured, too")
        (seen,) = status(where)["programs"]
        assert (seen["rate"], seen["source"], seen["rates"]["profile:kernel"]) == (7, "profile:kernel", 7)
    os.sched_setaffinity(0, ALL)


def test_the_kernel_s_own_placement(where: str) -> None:
    with daemon(where, scheduler="os"):
        child = start(where, *SLEEP)
        eventually(lambda: status(where)["decision"]["code"] == "unplaced", "it has decided")
        assert masks(child.pid) == {ALL}
    end(child)


def test_low_priorities_are_taken_back(where: str) -> None:
    with daemon(where, scheduler="callisto") as supervisor:
        if "priorities" in status(where)["missing"]:
            pytest.skip("needs CAP_SYS_NICE")
        if len(ALL) < 2:
            pytest.skip("needs two processors")
        two = "(while :; do :; done) & while :; do :; done"
        children = [start(where, "sh", "-c", two, start_new_session=True) for _ in range(2)]

        def policies() -> set[int]:
            family = [p for c in children for p in group(c.pid)]
            return {os.sched_getscheduler(p) for p in family}

        eventually(lambda: os.SCHED_IDLE in policies(), "some thread has another one's core")
        assert supervisor.pid
    eventually(lambda: policies() == {os.SCHED_OTHER}, "all have what they came with")
    for c in children:
        os.killpg(c.pid, signal.SIGKILL)
        c.wait()


def group(pid: int) -> list[int]:
    said = subprocess.run(["ps", "-o", "pid=", "-g", str(pid)], capture_output=True, text=True, check=False).stdout
    return [int(p) for p in said.split() if Path(f"/proc/{p}").exists()]


def test_a_killed_program_is_forgotten(where: str) -> None:
    with daemon(where):
        first, second = start(where, *SLEEP), start(where, *SLEEP)
        assert len(list(Path(where).glob("slot-*"))) >= 2
        end(first)
        eventually(lambda: pids(where) == [second.pid], "the first is gone")
        assert not list(Path(where).glob("slot-0*"))
        third = start(where, *SLEEP)
        assert sorted(pids(where)) == sorted([second.pid, third.pid])
        end(second)
        end(third)
        eventually(lambda: pids(where) == [], "all are gone")


def test_a_killed_daemon_is_started_anew(where: str) -> None:
    with daemon(where) as supervisor:
        children = crowd(where)
        before = status(where)
        os.kill(supervisor.pid, signal.SIGKILL)
        eventually(lambda: supervisor.check() and supervisor.restarts == 1, "the death is seen")
        eventually(lambda: pids(where) == [c.pid for c in children], "the programs are found again")
        after = status(where)
        assert after["daemon"]["pid"] != before["daemon"]["pid"] and after["daemon"]["adopted"]
        assert after["generation"] >= before["generation"]
        assert [p["domain"] for p in after["programs"]] == [p["domain"] for p in before["programs"]]
        assert all(c.poll() is None for c in children)
    assert all(masks(c.pid) == {ALL} for c in children)  # the mask that they came with is not forgotten either
    end(*children)


def test_programs_that_end_while_there_is_no_daemon(where: str) -> None:
    with daemon(where) as supervisor:
        gone, stays = start(where, *SLEEP), start(where, *SLEEP)
        os.kill(supervisor.pid, signal.SIGKILL)
        end(gone)
        eventually(lambda: supervisor.check() and supervisor.restarts == 1, "the death is seen")
        eventually(lambda: pids(where) == [stays.pid], "only who lives is found")
        end(stays)


def test_a_daemon_without_a_supervisor_is_cleaned_up(where: str) -> None:
    made = Settings(where, domains=DOMAINS, period=PERIOD)
    lone = subprocess.Popen([sys.executable, "-m", "weft.cosched", made.to_json()])
    children = crowd(where)
    with pytest.raises(LibraryError, match="another daemon"):
        clean(where)
    end(lone)
    assert cli.run(["cosched", "status", "--directory", where]) == 1
    assert cli.run(["cosched", "stop", "--directory", where]) == 0
    assert all(masks(c.pid) == {ALL} for c in children) and not Path(where).exists()
    end(*children)


def test_a_killed_supervisor_takes_the_daemon_with_it(where: str, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "weft", "cosched", "daemon", "--domains", "cores", "--directory", where]
    supervisor = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    child = start(where, *SLEEP)
    end(supervisor)
    eventually(lambda: not Path(where).exists(), "the daemon ends")
    assert masks(child.pid) == {ALL}
    end(child)


def test_a_clock_that_jumps_stops_nothing(where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock, day = Clock(tmp_path, monkeypatch), 86_400_000_000_000
    with daemon(where):
        children = crowd(where)
        child = children[0]
        (before,) = masks(child.pid)
        for offset in (day, 0, -day, 0):
            clock.show(offset)
            os.sched_setaffinity(child.pid, ALL)
            eventually(lambda: masks(child.pid) == {before}, f"it is placed again, {offset} ns later")
            eventually(lambda: status(where)["programs"][0]["load"] < 500, "what sleeps does not seem to work")
        end(*children)


def test_there_is_one_daemon(where: str) -> None:
    made = Settings(where, domains=DOMAINS, period=PERIOD)
    with daemon(where), pytest.raises(Error, match="another daemon has the table"), Supervisor(made):
        pass


def test_a_daemon_that_cannot_start_says_why(where: str) -> None:
    with pytest.raises(Error, match="no list of processors"):
        Supervisor(Settings(where, domains="sockets")).start()


def test_rates_of_the_kernel(where: str) -> None:
    with daemon(where):
        busy, idle = start(where, *SPIN), start(where, *SLEEP)

        def measured() -> bool:
            first, second = status(where)["programs"]
            return first["source"] == "kernel" and first["rate"] > second["rate"] and second["idle"]

        eventually(measured, "one wants a core, the other wants none")
        end(busy)
        end(idle)


def test_rates_that_a_program_publishes(where: str) -> None:
    """What a runtime does, by the same code of the library."""
    code = """
import os, time
from weft import _core
slot, moved = _core.ShareSlot(os.environ["WEFT_SHARE"]), 0
while True:
    moved += 1_000_000
    slot.publish(processor=moved, tasks=moved, bytes=moved)
    time.sleep(0.002)
"""
    with daemon(where):
        child = start(where, sys.executable, "-c", code)

        def published() -> bool:
            (seen,) = status(where)["programs"]
            return seen["slot_state"] == "fresh" and seen["rates"].get("published", 0) > 0

        eventually(published, "its rate is known")
        end(child)


def test_a_slot_of_nonsense_harms_only_its_program(where: str) -> None:
    with daemon(where):
        child, other = start(where, *SLEEP), start(where, *SLEEP)
        (file,) = [p for p in Path(where).iterdir() if p.name == "slot-0"]
        file.write_bytes(os.urandom(file.stat().st_size))
        eventually(lambda: status(where)["programs"][0]["slot_state"] in ("damaged", "torn"), "it is seen")
        file.write_bytes(b"")
        eventually(lambda: status(where)["programs"][0]["slot_state"] == "damaged", "a cut one, too")
        file.unlink()
        eventually(lambda: status(where)["programs"][0]["slot_state"] == "none", "a missing one, too")
        assert status(where)["programs"][1]["slot_state"] == "empty"
        end(child)
        end(other)


def test_what_is_no_request(where: str) -> None:
    def say(text: bytes, shuts: bool = True) -> bytes:
        with socket.socket(socket.AF_UNIX) as s:
            s.settimeout(20)
            s.connect(str(socket_path(where)))
            try:
                s.sendall(text)
                if shuts:
                    s.shutdown(socket.SHUT_WR)
                    return s.recv(1 << 20)
            except (BrokenPipeError, ConnectionResetError):
                pass
            return b""

    with daemon(where):
        for text in (b"", b"x", b"[]", b"null", b'{"do": 3}', b"\xff\xfe", b"[" * 10000):
            assert b"error" in say(text)
        say(b"x" * (MOST_BYTES + 10))
        say(b'{"do": "st', shuts=False)
        with pytest.raises(Error, match="no profile"):
            ask(where, {"do": "register", "profile": {"profile:kernel": -1}})
        with pytest.raises(Error, match="no such request"):
            ask(where, {"do": "reboot"})
        slow = [socket.socket(socket.AF_UNIX) for _ in range(100)]
        for s in slow:
            s.setblocking(False)
            s.connect_ex(str(socket_path(where)))
        for s in slow:
            s.close()
        assert status(where)["programs"] == []


def test_a_process_registers_once(where: str) -> None:
    with daemon(where, period=1_000_000_000):
        me = {"do": "register", "name": "a", "command": "a"}
        assert ask(where, me)["slot"] == 0
        assert ask(where, me)["slot"] == 0  # the same process again
        assert [p["pid"] for p in status(where)["programs"]] == [os.getpid()]
        affinity = os.sched_getaffinity(0)
    os.sched_setaffinity(0, ALL)
    assert affinity


def test_a_cpuset_where_it_may_be_made(where: str) -> None:
    with daemon(where, way="cpuset"):
        seen = status(where)
        children = crowd(where)
        for c in children if "cpuset" not in seen["missing"] else ():
            assert "weft" in Path(f"/proc/{c.pid}/cgroup").read_text()
    for c in children:
        assert masks(c.pid) == {ALL}
        assert "weft" not in Path(f"/proc/{c.pid}/cgroup").read_text()
    end(*children)


def test_what_a_program_leaves_while_there_is_no_daemon_goes_back(where: str) -> None:
    with daemon(where, way="cpuset") as supervisor:
        child = start(where, "bash", "-c", "sleep 1000 & sleep 1000; true", start_new_session=True)
        left = set[int]()

        def has_forked() -> bool:
            left.update(p for p in processes.processes() if (s := processes.stat_of(p)) and s.session == child.pid)
            return len(left) == 3

        eventually(has_forked, "the program and both sleepers")
        left.remove(child.pid)
        with_groups = "cpuset" not in status(where)["missing"]
        if with_groups:
            eventually(lambda: all("weft" in groups_of(p) for p in left), "they have the program's group")
        os.kill(supervisor.pid, signal.SIGKILL)
        end(child)
        eventually(lambda: supervisor.check() and supervisor.restarts == 1, "the death is seen")
        eventually(lambda: pids(where) == [] and adopted(where), "the next daemon has come")
        other = start(where, *SLEEP)  # it gets the slot
        eventually(lambda: not any("weft" in groups_of(p) for p in left), "they are where they came from")
        eventually(lambda: all(masks(p) == {ALL} for p in left), "they have all cores")
        end(other)
        for p in left:
            os.kill(p, signal.SIGKILL)


def groups_of(pid: int) -> str:
    return Path(f"/proc/{pid}/cgroup").read_text()


def adopted(where: str) -> bool:
    return bool(status(where)["daemon"]["adopted"])


def test_no_daemon_is_not_waited_for(where: str) -> None:
    began = time.monotonic()
    with pytest.raises(NoDaemonError):
        ask(where, {"do": "status"})
    assert time.monotonic() - began < 30


def test_the_table_says_what_the_daemon_says(where: str) -> None:
    with daemon(where):
        child = start(where, *SLEEP)
        eventually(lambda: len(_core.ShareTable.open(where).read().get("programs", ())) == 1, "it is published")
        (published,) = _core.ShareTable.open(where).read()["programs"]
        (seen,) = status(where)["programs"]
        assert (published["pid"], published["domain"], published["name"]) == (child.pid, seen["domain"], "sleep")
        end(child)
