"""Random kills, stops, forks, slow starts, corrupted slots and rude clients, under a daemon that is killed, or
stopped so that its clock jumps.

Some hundred actions; for WEFT_TEST_SOAK seconds if that is set. A failure prints the seed.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from coscheduled import ALL, ENTER, daemon, directory, eventually, masks, pids, status
from weft.cosched import processes
from weft.cosched.settings import socket_path
from weft.cosched.supervisor import Supervisor

SECONDS = float(os.environ.get("WEFT_TEST_SOAK", "0"))
ACTIONS = 120
MOST = 10
# Each ends with a status that shows whether its own work came out right.
PROGRAMS = {
    "count": "i=0; while [ $i -lt 3000 ]; do i=$((i+1)); done; [ $i -eq 3000 ] && exit 42",
    "fork": "for k in 1 2 3; do (i=0; while [ $i -lt 800 ]; do i=$((i+1)); done; exit $k) & done; wait; exit 42",
    "slow": "sleep 0.2; exit 42",
    "long": "sleep 1000",
    "orphan": "(sleep 1000 &) ; exit 42",
}
PUBLISHER = """
import os, sys, time
from weft import _core
try:
    slot = _core.ShareSlot(os.environ["WEFT_SHARE"])
except _core.LibraryError:
    sys.exit(42)  # its slot was damaged before it came
for i in range(100):
    slot.publish(processor=i, tasks=i, bytes=i * 1000)
    time.sleep(0.005)
sys.exit(42)
"""


class Soak:
    def __init__(self, where: str, supervisor: Supervisor, draw: random.Random) -> None:
        self.where = where
        self.supervisor = supervisor
        self.draw = draw
        self.children: list[subprocess.Popen[bytes]] = []
        self.expected: dict[int, int | None] = {}
        """The status with which a program is to end; None: it was killed or stopped by us, or runs until it is."""
        self.ended = 0

    def act(self) -> None:
        actions = [self.start] * 6 + [self.kill] * 3 + [self.corrupt] * 2
        actions += [self.stop, self.go_on, self.be_rude, self.jump]
        self.draw.choice(actions)()
        if self.draw.random() < 0.08:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.supervisor.pid, signal.SIGKILL)
        if self.draw.random() < 0.5:
            time.sleep(self.draw.random() * 0.05)
        self.supervisor._starts.clear()  # so many deaths are no reason to give up here
        assert self.supervisor.check()
        self.collect()

    def start(self) -> None:
        if len(self.children) >= MOST:
            return self.kill()
        name = self.draw.choice([*PROGRAMS, "publisher"])
        program = [sys.executable, "-c", PUBLISHER] if name == "publisher" else ["sh", "-c", PROGRAMS[name]]
        child = subprocess.Popen([sys.executable, "-c", ENTER, self.where, *program], start_new_session=True)
        self.children.append(child)
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
        """For the daemon no time passes, and then all of it at once: as when its clock jumps."""
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

    def finish(self) -> None:
        """All that are not to run for ever come to their right end."""
        self.go_on()
        for child in self.children:
            if self.expected[child.pid] is None:
                child.kill()
        eventually(lambda: self.collect() is None and not self.children, "all programs end")


def files_of(pid: int) -> int:
    return len(os.listdir(f"/proc/{pid}/fd"))


def memory_of(pid: int) -> int:
    """KiB."""
    text = Path(f"/proc/{pid}/status").read_text()
    return next(int(line.split()[1]) for line in text.splitlines() if line.startswith("VmRSS:"))


def orphans() -> list[int]:
    text = b"sleep\x001000\x00"
    return [p for p in processes.processes() if processes.read_bytes(f"/proc/{p}/cmdline") == text]


def test_soak(no_settings: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COSCHED_PROFILES", str(tmp_path))
    seed = int(os.environ.get("WEFT_TEST_SEED", "1"))
    print("WEFT_TEST_SEED:", seed)
    others = set(orphans())
    with directory() as where:
        with daemon(where, period=5_000_000, scheduler="lira-adaptive") as supervisor:
            soak = Soak(where, supervisor, random.Random(seed))
            until = time.monotonic() + SECONDS
            done = 0
            while time.monotonic() < until if SECONDS else done < ACTIONS:
                soak.act()
                done += 1
            soak.finish()
            eventually(lambda: supervisor.check() and pids(where) == [], "the daemon knows of no program")
            assert status(where)["programs"] == []
            assert sorted(p.name for p in Path(where).glob("slot*")) == []
            print(f"{done} actions, {soak.ended} programs, {supervisor.restarts} deaths of the daemon")
        left = set(orphans()) - others
        assert all(masks(pid) <= {ALL} for pid in left)  # what outlived its program is where it likes
        for pid in left:
            os.kill(pid, signal.SIGKILL)


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
        assert memory_of(supervisor.pid) < memory + 4096
