"""A daemon and programs under it, for tests."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from weft.cosched import processes
from weft.cosched.domains import cpu_list
from weft.cosched.messages import NoDaemonError, ask
from weft.cosched.settings import Settings
from weft.cosched.supervisor import Supervisor

PERIOD = 20_000_000
ALL = frozenset(os.sched_getaffinity(0))
# Two domains on every machine that has two processors.
_half = (len(ALL) + 1) // 2
SETS = [frozenset(part) for part in (sorted(ALL)[:_half], sorted(ALL)[_half:]) if part]
DOMAINS = "/".join(map(cpu_list, SETS))
SLEEP = ("sleep", "1000")
# Becomes a program as `weft cosched start` does, without the time that the whole command takes to load. Waits for a
# daemon as long as eventually() does: on a busy machine one that is killed again and again takes long to come.
ENTER = """
import os, sys
from weft.cosched.enter import enter
os.environ.update(enter(sys.argv[1], sys.argv[2:], wait=60))
os.execvp(sys.argv[2], sys.argv[2:])
"""

# Loaded by every interpreter under `Clock`; changes only that of a daemon.
_CLOCK = """
import os, sys, time
if "weft.cosched" in sys.orig_argv:
    offset, real = os.open(os.environ["WEFT_TEST_CLOCK"], os.O_RDONLY | os.O_CLOEXEC), time.monotonic_ns
    time.monotonic_ns = lambda: real() + int.from_bytes(os.pread(offset, 8, 0), "little", signed=True)
    time.monotonic = lambda: time.monotonic_ns() / 1e9
"""


class Clock:
    """Daemons that are started while this is there have a clock that can be made to jump, to and fro."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self._file = folder / "offset"
        self._file.write_bytes(bytes(8))
        (folder / "sitecustomize.py").write_text(_CLOCK)
        monkeypatch.setenv("WEFT_TEST_CLOCK", str(self._file))
        monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, [str(folder), os.environ.get("PYTHONPATH")])))

    def show(self, offset: int) -> None:
        """From now on the clock shows so many ns more than that of this process; less, if it is negative, but not a
        time before the machine was booted."""
        offset = max(offset, 1_000_000_000 - time.monotonic_ns())
        file = os.open(self._file, os.O_WRONLY)
        os.pwrite(file, offset.to_bytes(8, "little", signed=True), 0)
        os.close(file)


def eventually(holds: Callable[[], bool], what: str) -> None:
    until = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < until, what
        time.sleep(0.01)


@contextmanager
def directory() -> Iterator[str]:
    """A path for a table. Fails if something is left there."""
    folder = tempfile.mkdtemp(prefix="weft-test-", dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None)
    try:
        yield f"{folder}/table"
        left = sorted(str(p) for p in Path(folder).rglob("*"))
        assert left == []
    finally:
        shutil.rmtree(folder)


@contextmanager
def daemon(where: str, **settings: Any) -> Iterator[Supervisor]:
    with Supervisor(Settings(where, **{"domains": DOMAINS, "period": PERIOD} | settings)) as supervisor:
        yield supervisor


def status(where: str) -> dict[str, Any]:
    return ask(where, {"do": "status"}, wait=20)


def start(where: str, *program: str, **options: Any) -> subprocess.Popen[bytes]:
    """Starts a program under the daemon; returns when it has been taken up, or has ended."""
    child = subprocess.Popen([sys.executable, "-c", ENTER, where, *program], **options)
    eventually(lambda: child.poll() is not None or child.pid in pids(where), f"{program} is under the daemon")
    return child


def crowd(where: str) -> list[subprocess.Popen[bytes]]:
    """As many sleeping programs as there are domains; returns when each has one."""
    children = [start(where, *SLEEP) for _ in SETS]
    eventually(lambda: {m for c in children for m in masks(c.pid)} == {*SETS}, "each has a domain")
    return children


def pids(where: str) -> list[int]:
    try:
        return [p["pid"] for p in status(where)["programs"]]
    except NoDaemonError:
        return []


def masks(pid: int) -> set[frozenset[int]]:
    """The affinities of a process's threads."""
    found = set()
    for tid in processes.threads_of(pid):
        try:
            found.add(frozenset(os.sched_getaffinity(tid)))
        except ProcessLookupError:
            continue
    return found


def end(*children: subprocess.Popen[bytes]) -> None:
    for child in children:
        child.kill()
        child.wait()
