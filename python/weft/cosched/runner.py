"""Runs programs beside each other, each as often as it is to run, under a daemon or without one."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..errors import Error
from . import processes
from .programs_file import Program
from .supervisor import Supervisor, die_with_parent

_CHECK = 0.2
"""Seconds between two looks at the daemon."""
_END_LIMIT = 10.0


@dataclass(frozen=True)
class OneRun:
    """One run of one program."""

    began: int
    """ns of CLOCK_MONOTONIC."""
    seconds: float
    """From its start to its end, with all that it loads."""
    status: int
    """Negative: the signal that killed it."""
    timed_out: bool
    processor: float
    """Seconds of processor time, its children's included."""
    involuntary: int


@dataclass
class Done:
    """All runs of one program, in order."""

    program: Program
    runs: list[OneRun] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def good(self) -> list[OneRun]:
        return [run for run in self.runs if run.status == 0]

    @property
    def failures(self) -> list[OneRun]:
        return [run for run in self.runs if run.status != 0]

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.program.name,
            "command": list(self.program.command),
            "runs": [vars(run) for run in self.runs],
            "notes": self.notes,
        }


def together(done: Sequence[Done]) -> list[list[OneRun]]:
    """Of each program, the runs that have begun when all others had: all of them ran beside all others."""
    if not all(d.runs for d in done):
        return [[] for _ in done]
    since = max(d.runs[0].began for d in done)
    return [[run for run in d.runs if run.began >= since] for d in done]


@dataclass
class _Going:
    done: Done
    process: subprocess.Popen[bytes]
    pipe: int
    rest: bytes = b""


def run_programs(
    programs: Sequence[Program],
    *,
    directory: str = "",
    supervisor: Supervisor | None = None,
    keeps_running: bool = False,
    cpus: Sequence[int] = (),
    cpus_of: Sequence[Sequence[int]] = (),
    fails_early: bool = False,
    observer: Callable[[list[Done]], None] | None = None,
    timeout: float | None = None,
    check: float = _CHECK,
) -> list[Done]:
    """Runs all programs at the same time, each `repeats` times, and returns when all are done.

    directory: that of the daemon which places them; empty: none. supervisor: of the daemon, if it is ours.
    keeps_running: each program goes on until all have done their repeats beside all others (`together`). fails_early:
    ends when a run fails. cpus: the processors that they may use. cpus_of: those of each, in place of these.
    observer: is called every `check` seconds at least. timeout: seconds after which all are ended.

    A program that fails or hangs takes no other one down, nor does a daemon that is given up: `notes` tells of it.
    Whatever happens, nothing of the programs is left.
    """
    going: list[_Going] = []
    poll = select.poll()
    try:
        for i, program in enumerate(programs):
            one = _start(program, directory, keeps_running, cpus_of[i] if cpus_of else cpus)
            going.append(one)
            poll.register(one.pipe, select.POLLIN)
        until = None if timeout is None else time.monotonic() + timeout
        open_pipes = {one.pipe: one for one in going}
        while open_pipes:
            for file, _ in poll.poll(check * 1000):
                if not _read(open_pipes[file]):
                    poll.unregister(file)
                    del open_pipes[file]
            if supervisor:
                try:
                    supervisor.check()
                except Error as failure:  # the programs go on where the kernel puts them
                    supervisor = None
                    for one in going:
                        one.done.notes.append(str(failure))
            if observer:
                observer([one.done for one in going])
            if keeps_running and _is_enough(going):
                break
            if fails_early and any(one.done.failures for one in going):
                break
            if until is not None and time.monotonic() > until:
                for one in open_pipes.values():
                    one.done.notes.append(f"ended after {timeout:g} s")
                break
    finally:
        for one in going:
            _end(one)
    return [one.done for one in going]


def _is_enough(going: Sequence[_Going]) -> bool:
    """One whose starter has been killed is not waited for."""
    alive = [one.done for one in going if one.process.poll() is None]
    runs = together(alive)
    return all(len(its) >= done.program.repeats for its, done in zip(runs, alive, strict=True))


def _start(program: Program, directory: str, keeps_running: bool, cpus: Sequence[int]) -> _Going:
    reads, writes = os.pipe()
    job = {
        "name": program.name,
        "command": list(program.command),
        "directory": directory,
        "stdin": program.input,
        "stdout": program.output,
        "folder": program.folder,
        "environment": dict(program.environment),
        "repeats": 0 if keeps_running else program.repeats,
        "timeout": program.timeout or 0,
        "cpus": list(cpus),
        "to": writes,
    }
    environment = {k: v for k, v in os.environ.items() if k not in ("WEFT_SHARE", "COSCHED_SLOT")}
    try:
        process = subprocess.Popen(
            # -P: what lies in the working directory is not imported.
            [sys.executable, "-P", "-m", "weft.cosched.repeat"],
            env=environment,
            stdin=subprocess.PIPE,
            pass_fds=[writes],
            start_new_session=True,
            preexec_fn=_with_parent,
        )
    except OSError as failure:
        os.close(reads)
        raise Error(f"{program.name} cannot be started: {failure.strerror}") from None
    finally:
        os.close(writes)
    assert process.stdin
    # Not as an argument, which other users see: the environment may have secrets.
    with contextlib.suppress(BrokenPipeError), process.stdin as to_it:
        to_it.write(json.dumps(job).encode())
    return _Going(Done(program), process, reads)


def _with_parent() -> None:
    die_with_parent(signal.SIGTERM)


def _read(one: _Going) -> bool:
    """False: the repeater has ended."""
    part = os.read(one.pipe, 1 << 16)
    *lines, one.rest = (one.rest + part).split(b"\n")
    for line in lines:
        said = json.loads(line)
        if said["event"] == "run":
            one.done.runs.append(
                OneRun(
                    began=said["began"],
                    seconds=(said["ended"] - said["began"]) / 1e9,
                    status=said["status"],
                    timed_out=said["timed_out"],
                    processor=said["processor"],
                    involuntary=said["involuntary"],
                )
            )
        elif said["event"] == "unplaced":
            one.done.notes.append(f"runs without a place: {said['why']}")
    return bool(part)


def _end(one: _Going) -> None:
    """Ends a repeater with its program, and with what that has left in its session."""
    with contextlib.suppress(ProcessLookupError):
        one.process.terminate()
    try:
        one.process.wait(timeout=_END_LIMIT)
    except subprocess.TimeoutExpired:
        one.process.kill()
        one.process.wait()
    for pid in processes.processes():
        left = processes.stat_of(pid)
        if left and left.session == one.process.pid and left.is_running:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
    while _read(one):  # its last words
        pass
    os.close(one.pipe)
    status = one.process.returncode
    if status not in (0, -signal.SIGTERM) and not one.done.notes:
        one.done.notes.append(f"its starter ended with status {status}")
