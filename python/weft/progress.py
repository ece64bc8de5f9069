"""How far a running program is: the file that WEFT_PROGRESS names. docs/progress-format.md describes it."""

from __future__ import annotations

import os
import struct
from dataclasses import dataclass
from pathlib import Path

from .errors import Error, compose
from .files import open_file

_MAGIC = b"weftprg\n"
_VERSION = 1
_HEAD = struct.Struct("<8sIIII")
_SEQUENCE = struct.Struct("<Q")
_STATE = struct.Struct("<5Q")
_WORKER = struct.Struct("<6Q")
_TRIES = 100
"""Tries to read a consistent copy. The writer needs microseconds for one, ten times a second."""


@dataclass(frozen=True)
class WorkerProgress:
    """What a worker has done since the runtime was made. Times are in nanoseconds of the runtime's clock."""

    state: str
    """`busy`, `searching` or `asleep`."""
    tasks: int
    steals: int
    exposures: int
    idle: int
    """Time in which it looked for work or slept."""
    asleep: int


@dataclass(frozen=True)
class Progress:
    """The state of one runtime at one moment."""

    process: int
    virtual: bool
    """The runtime's time is virtual: that of a modelled machine."""
    over: bool
    """This is the last copy: the runtime is gone, or its process has ended by exit."""
    real: int
    """Real nanoseconds since the runtime was made."""
    time: int
    """The same by the runtime's own clock."""
    roots: int
    """Roots that were handed in from outside."""
    workers: tuple[WorkerProgress, ...]

    @property
    def tasks(self) -> int:
        return sum(w.tasks for w in self.workers)

    @property
    def steals(self) -> int:
        return sum(w.steals for w in self.workers)

    @property
    def busy(self) -> int:
        """Number of workers that run tasks."""
        return sum(w.state == "busy" for w in self.workers)


def read_progress(path: str | os.PathLike[str]) -> Progress | None:
    """Reads the file once. Returns None if there is nothing to read: no file, or its runtime is still being made.

    Raises `Error` for a file that is not a file of progress.
    """
    try:
        with open_file(path) as file:
            return _look(Path(path), file.fileno())
    except FileNotFoundError:
        return None


def _look(path: Path, file: int) -> Progress | None:
    head = os.pread(file, _HEAD.size, 0)
    if len(head) < _HEAD.size or not any(head):
        return None  # being made
    magic, version, count, process, virtual = _HEAD.unpack(head)
    if magic != _MAGIC or version != _VERSION:
        given = f"{magic!r}, version {version}"
        raise Error(f"{path}: " + compose("no progress", given, f"{_MAGIC!r}, version {_VERSION}"))
    size = _STATE.size + count * _WORKER.size
    for _ in range(_TRIES):
        before = os.pread(file, _SEQUENCE.size, _HEAD.size)
        body = os.pread(file, size, _HEAD.size)
        after = os.pread(file, _SEQUENCE.size, _HEAD.size)
        if before == after and len(body) == size and _SEQUENCE.unpack(after)[0] % 2 == 0:
            return _of(body, count, process, bool(virtual))
    return None


def _of(body: bytes, count: int, process: int, virtual: bool) -> Progress | None:
    _, state, real, time, roots = _STATE.unpack_from(body)
    if state == 0:
        return None
    states = ("busy", "searching", "asleep")
    workers = tuple(
        WorkerProgress(states[min(fields[0], 2)], *fields[1:])
        for fields in (_WORKER.unpack_from(body, _STATE.size + i * _WORKER.size) for i in range(count))
    )
    return Progress(process, virtual, state == 2, real, time, roots, workers)
