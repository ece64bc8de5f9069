"""Random kills, stops, forks, slow starts, corrupted slots and rude clients, under a daemon that is killed, or stopped,
and whose clock jumps.

No program that is not killed itself may be disturbed: each ends with the status that shows that its work came out
right. Again and again all programs must be where the daemon says, and what ended ones have left behind must be free. At
the end those that live on must be where they were before they came, and no file or control group be left.

Some hundred actions; for WEFT_TEST_SOAK seconds if that is set. A failure prints the seed.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import EXAMPLES
from coscheduled import ALL, ENTER, Clock, daemon, directory, eventually, masks, pids, status
from weft.cosched import processes
from weft.cosched.cpuset import Cpusets
from weft.cosched.messages import NoDaemonError
from weft.cosched.settings import socket_path
from weft.cosched.supervisor import Supervisor

SECONDS = float(os.environ.get("WEFT_TEST_SOAK", "0"))
ACTIONS = 120
SETTLES = 40
"""Actions after which all programs are looked at."""
MOST = 10
MOST_GROWTH = 4096
"""KiB."""
# Each ends with a status that shows whether its own work came out right.
PROGRAMS = {
    "count": "i=0; while [ $i -lt 3000 ]; do i=$((i+1)); done; [ $i -eq 3000 ] && exit 42",
    "fork": "for k in 1 2 3; do (i=0; while [ $i -lt 800 ]; do i=$((i+1)); done; [ $i -eq 800 ] && exit $k) & p[k]=$!;"
    " done; for k in 1 2 3; do wait ${p[k]}; [ $? -eq $k ] || exit 1; done; exit 42",
    "pipe": "[ $(seq 2000 | sort -rn | head -n 1000 | tail -n 1) -eq 1001 ] && exit 42",
    "slow": "sleep 0.2; exit 42",
    "long": "sleep 1000",
    "orphan": "(sleep 1000 &) ; exit 42",
    # Its runtime follows the table, and tells of itself in the slot.
    "weft": '"$0" --n 22 >/dev/null && exit 42',
}
# Under the daemon long before it is the program.
LATE = ENTER.replace("os.execvp", "import time; time.sleep(0.3); os.execvp")
PUBLISHER = """
import os, sys, threading, time
from weft import _core
try:
    slot = _core.ShareSlot(os.environ["WEFT_SHARE"])
except _core.LibraryError:
    slot = None  # it was damaged before it came
sums = []
threads = [threading.Thread(target=lambda: sums.append(sum(range(100_000)))) for _ in range(3)]
for t in threads:
    t.start()
for i in range(100):
    if slot:
        slot.publish(processor=i, tasks=i, bytes=i * 1000)
    time.sleep(0.005)
for t in threads:
    t.join()
sys.exit(42 if sums == [4_999_950_000] * 3 else 1)
"""


class Soak:
    def __init__(
        self,
        where: str,
        supervisor: Supervisor,
        clock: Clock,
        draw: random.Random,
        started: set[int],
        *,
        kills_daemon: bool,
    ) -> None:
        self.where = where
        self.supervisor = supervisor
        self.clock = clock
        self.draw = draw
        self.kills_daemon = kills_daemon
        self.children: list[subprocess.Popen[bytes]] = []
        self.started = started
        """All programs that may still have processes."""
        self.expected: dict[int, int | None] = {}
        """The status with which a program is to end; None: it was killed or stopped by us, or runs until it is."""
        self.ended = 0

    def act(self) -> None:
        actions = [self.start] * 6 + [self.kill] * 3 + [self.corrupt] * 2
        actions += [self.stop, self.go_on, self.be_rude, self.pause, self.jump]
        self.draw.choice(actions)()
        if self.kills_daemon and self.draw.random() < 0.08:
            self.kill_daemon()
        if self.draw.random() < 0.5:
            time.sleep(self.draw.random() * 0.05)
        self.check()

    def check(self) -> None:
        self.supervisor._starts.clear()  # so many deaths are no reason to give up here
        assert self.supervisor.check()
        self.collect()

    def kill_daemon(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.supervisor.pid, signal.SIGKILL)

    def start(self) -> None:
        if len(self.children) >= MOST:
            return self.kill()
        name = self.draw.choice([*PROGRAMS, "publisher"])
        program = [sys.executable, "-c", PUBLISHER]
        if name != "publisher":
            program = ["bash", "-c", PROGRAMS[name], str(EXAMPLES / "fib")]
        enter = LATE if self.draw.random() < 0.1 else ENTER
        child = subprocess.Popen([sys.executable, "-c", enter, self.where, *program], start_new_session=True)
        self.children.append(child)
        self.started.add(child.pid)
        self.expected[child.pid] = None if name == "long" else 42

    def kill(self) -> None:
        if self.children:
            child = self.draw.choice(self.children)
            self.expected[child.pid] = None
            child.kill()

    def stop(self) -> None:
        if self.children:
            self.draw.choice(self.children).send_signal(signal.SIGSTOP)

    def go_on(self) -> None:
        for child in self.children:
            child.send_signal(signal.SIGCONT)

    def jump(self) -> None:
        """By a microsecond to a day, to and fro."""
        self.clock.show(self.draw.choice([-1, 1]) * int(10 ** self.draw.uniform(3, 14)))

    def pause(self) -> None:
        """For the daemon no time passes, and then all of it at once."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.supervisor.pid, signal.SIGSTOP)
            time.sleep(self.draw.random() * 0.1)
            os.kill(self.supervisor.pid, signal.SIGCONT)

    def corrupt(self) -> None:
        slots = [p for p in Path(self.where).glob("slot-*") if p.name.removeprefix("slot-").isdecimal()]
        if not slots:
            return
        slot = self.draw.choice(slots)
        with contextlib.suppress(OSError):
            size = slot.stat().st_size
            match self.draw.randrange(4):
                case 0:
                    slot.write_bytes(self.draw.randbytes(size))
                case 1:
                    os.truncate(slot, self.draw.randrange(size + 1))
                case 2:
                    with slot.open("r+b") as file:
                        file.seek(self.draw.randrange(size))
                        file.write(self.draw.randbytes(8))
                case 3:
                    slot.unlink()

    def be_rude(self) -> None:
        with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as s:
            s.settimeout(0.1)
            s.connect(str(socket_path(self.where)))
            s.sendall(self.draw.randbytes(self.draw.randrange(1, 200)))

    def collect(self) -> None:
        for child in [c for c in self.children if c.poll() is not None]:
            self.children.remove(child)
            self.ended += 1
            expected = self.expected.pop(child.pid)
            assert expected is None or child.returncode == expected, child.args

    def settle(self) -> None:
        """All that live are known to the daemon, and are where it says."""
        self.go_on()
        astray = ""

        def is_settled() -> bool:
            nonlocal astray
            self.check()
            astray = self.astray()
            return not astray

        try:
            eventually(is_settled, "every program is where the daemon says")
        except AssertionError as failure:
            raise AssertionError(f"{failure}, but: {astray}") from None
        self.started &= kill_sessions(self.started, sparing={c.pid for c in self.children})

    def astray(self) -> str:
        """What is not as it should be; empty: nothing."""
        try:
            told = status(self.where)
        except NoDaemonError:
            return f"no daemon answers; that of the supervisor: {processes.stat_of(self.supervisor.pid)}"
        known = {p["pid"]: frozenset(p["cpus"]) for p in told["programs"]}
        living = {c.pid for c in self.children if c.poll() is None}
        if unknown := living - known.keys():
            return f"{unknown} are not among {told}"
        for leader, members in sessions(self.started).items():
            for member in members:
                if leader in living and not all(mask <= known[leader] for mask in masks(member)):
                    return f"{member} of {leader} has {masks(member)} in place of {known[leader]}; {told}"
                if leader not in living and not is_as_it_came(member):
                    groups = processes.read_bytes(f"/proc/{member}/cgroup")
                    return f"{member} is left of {leader}, and has {masks(member)} and {groups!r}; {told}"
        return ""

    def survivors(self) -> list[subprocess.Popen[bytes]]:
        """Programs of two processes each that the daemon has placed, and that outlive it."""
        program = [sys.executable, "-c", ENTER, self.where, "bash", "-c", "sleep 1000 & sleep 1000; true"]
        stay = [subprocess.Popen(program, start_new_session=True) for _ in range(3)]
        self.children += stay
        self.started |= {c.pid for c in stay}
        self.expected |= {c.pid: None for c in stay}
        eventually(lambda: self.check() is None and {c.pid for c in stay} <= {*pids(self.where)}, "they are there")
        self.settle()
        for c in stay:
            self.children.remove(c)
        return stay

    def finish(self) -> None:
        """All that are not to run for ever come to their right end."""
        self.go_on()
        for child in self.children:
            if self.expected[child.pid] is None:
                child.kill()
        eventually(lambda: self.collect() is None and not self.children, "all programs end")


def sessions(leaders: set[int]) -> dict[int, list[int]]:
    """The processes of the sessions that these have led."""
    found: dict[int, list[int]] = {}
    for pid in processes.processes():
        if (s := processes.stat_of(pid)) and s.session in leaders and s.is_running:
            found.setdefault(s.session, []).append(pid)
    return found


def kill_sessions(leaders: set[int], sparing: set[int]) -> set[int]:
    """Kills what these have left. Returns those that may still have processes: an empty session gets no new ones."""
    left = sessions(leaders - sparing)
    for leader, members in left.items():
        for member in sorted(members, key=lambda m: m != leader):  # shells before what they would tell the end of
            with contextlib.suppress(ProcessLookupError):
                os.kill(member, signal.SIGKILL)
    return sparing | left.keys()


def files_of(pid: int) -> int:
    return len(os.listdir(f"/proc/{pid}/fd"))


def files_for_programs(where: str) -> int:
    """How many files a daemon needs for the programs that it knows: the end of each, that of each process, the times of
    each thread, and its two counters if there are any."""
    told = status(where)
    a_thread = 1 if "counters" in told["missing"] else 3
    return sum(1 + p["processes"] + a_thread * p["threads"] for p in told["programs"])


def memory_of(pid: int) -> int:
    """KiB."""
    text = Path(f"/proc/{pid}/status").read_text()
    return next(int(line.split()[1]) for line in text.splitlines() if line.startswith("VmRSS:"))


def is_as_it_came(pid: int) -> bool:
    groups = processes.read_bytes(f"/proc/{pid}/cgroup") == processes.read_bytes("/proc/self/cgroup")
    try:
        return masks(pid) == {ALL} and os.sched_getscheduler(pid) == os.SCHED_OTHER and groups
    except ProcessLookupError:
        return True


@pytest.fixture
def started() -> Iterator[set[int]]:
    """Programs of which nothing is left after the test, also if it fails."""
    pids: set[int] = set()
    yield pids
    kill_sessions(pids, sparing=set())


# A daemon that is never killed has to keep its memory flat.
@pytest.mark.parametrize(("way", "kills_daemon"), [("affinity", True), ("cpuset", True), ("affinity", False)])
def test_soak(
    no_settings: None,
    started: set[int],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    way: str,
    kills_daemon: bool,
) -> None:
    monkeypatch.setenv("COSCHED_PROFILES", str(tmp_path))
    clock = Clock(tmp_path, monkeypatch)
    seed = int(os.environ.get("WEFT_TEST_SEED", "1"))
    print("WEFT_TEST_SEED:", seed)
    draw = random.Random(seed)
    trace = tmp_path / "trace.json"
    with directory() as where:
        with daemon(where, period=5_000_000, scheduler="lira-adaptive", way=way, trace=str(trace)) as supervisor:
            soak = Soak(where, supervisor, clock, draw, started, kills_daemon=kills_daemon)
            until = time.monotonic() + SECONDS / 3
            assert files_for_programs(where) == 0
            files = files_of(supervisor.pid)
            done = memory = 0
            while time.monotonic() < until if SECONDS else done < ACTIONS:
                soak.act()
                done += 1
                if done % SETTLES == 0:
                    soak.settle()
                if done == SETTLES:
                    memory = memory_of(supervisor.pid)
            stay = soak.survivors()
            soak.finish()
            eventually(lambda: soak.check() is None and {*pids(where)} == {c.pid for c in stay}, "only these are known")
            if not kills_daemon:
                assert supervisor.restarts == 0
                eventually(
                    lambda: files_of(supervisor.pid) <= files + files_for_programs(where), "no file is left open"
                )
                assert memory_of(supervisor.pid) < memory + MOST_GROWTH
                print(f"memory: {memory} KiB, at the end {memory_of(supervisor.pid)} KiB")
            print(f"{done} actions, {soak.ended} programs, {supervisor.restarts} deaths of the daemon")
            if kills_daemon and draw.random() < 0.5:
                soak.kill_daemon()  # its supervisor cleans up in its place
        assert not Cpusets(where)._top.exists()
    assert all(c.poll() is None for c in stay)
    left = [p for members in sessions(started).values() for p in members]
    assert len(left) >= 3 * len(stay)
    assert all(is_as_it_came(pid) for pid in left)
    kill_sessions(started, sparing=set())
    for c in stay:
        c.wait()
    lines = trace.read_text().splitlines()
    assert all(json.loads(line.rstrip(",")) for line in lines if line not in ("[", "]"))


def test_the_daemon_does_not_grow(no_settings: None) -> None:
    """Programs come and go: files are as many as before, and memory settles."""
    with directory() as where, daemon(where, period=5_000_000) as supervisor:

        def turn() -> None:
            command = [sys.executable, "-c", ENTER, where, "sh", "-c", "sleep 0.05 & wait"]
            children = [subprocess.Popen(command) for _ in range(8)]
            for c in children:
                assert c.wait() == 0
            eventually(lambda: pids(where) == [], "all are gone")

        turn()
        files, memory = files_of(supervisor.pid), memory_of(supervisor.pid)
        until, rounds = time.monotonic() + SECONDS / 4, 0
        while rounds < 3 or time.monotonic() < until:
            turn()
            rounds += 1
        eventually(lambda: files_of(supervisor.pid) <= files, "no file is left open")
        assert memory_of(supervisor.pid) < memory + MOST_GROWTH
