"""Hardware counters of other threads, by perf_event_open(2): loads and instructions in user mode.

The kernel gives them without privileges for processes of the same user if perf_event_paranoid is 2 or less, and if the
machine has counters at all; virtual machines often have none.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import struct
from dataclasses import dataclass

_HARDWARE, _CACHE = 0, 3
_INSTRUCTIONS = 1
_LOADS_OF_L1D = 0 | (0 << 8) | (0 << 16)
"""PERF_COUNT_HW_CACHE_L1D, OP_READ, RESULT_ACCESS: every load instruction looks there first."""
_TIME_ENABLED, _TIME_RUNNING = 1, 2
_EXCLUDE_KERNEL, _EXCLUDE_HYPERVISOR = 1 << 5, 1 << 6
_CLOSE_ON_EXEC = 8
_ATTRIBUTE_BYTES = 64
"""PERF_ATTR_SIZE_VER0: every kernel knows it."""
_CALLS = {"x86_64": 298, "aarch64": 241, "riscv64": 241, "ppc64le": 319, "s390x": 331}


@dataclass(frozen=True)
class Counts:
    """Since the counters of the thread were opened, scaled for the time in which others had the hardware."""

    loads: int
    instructions: int


def scaled(value: int, enabled: int, running: int) -> int:
    """A count for all the time in which it was wanted, from that in which it ran (ns). In integers: rates have no
    rounding that depends on the machine."""
    return value * enabled // running if running else 0


class Counters:
    """The counters of one thread."""

    def __init__(self, tid: int) -> None:
        """Raises OSError: why the kernel gives none."""
        self._files: list[int] = []
        try:
            self._files.append(_open(_CACHE, _LOADS_OF_L1D, tid))
            self._files.append(_open(_HARDWARE, _INSTRUCTIONS, tid))
        except OSError:
            self.close()
            raise

    def read(self) -> Counts | None:
        try:
            return Counts(*(scaled(*struct.unpack("=QQQ", os.read(f, 24))) for f in self._files))
        except (OSError, struct.error):
            return None

    def close(self) -> None:
        for file in self._files:
            os.close(file)
        self._files.clear()


def why_none() -> str:
    """Why this process gets no counters, as a sentence without an end; empty if it gets them."""
    try:
        Counters(0).close()
    except OSError as failure:
        return explain(failure)
    return ""


def explain(failure: OSError) -> str:
    """What stands between this process and the counters."""
    if failure.errno in (errno.ENOENT, errno.ENODEV, errno.EOPNOTSUPP):
        return "this machine has no hardware counters for loads (virtual machines often have none)"
    if failure.errno in (errno.EACCES, errno.EPERM):
        return "the kernel refuses them: kernel.perf_event_paranoid must be 2 or less, or CAP_PERFMON is needed"
    if failure.errno == errno.ENOSYS:
        return "this kernel has no perf_event_open"
    return f"perf_event_open fails: {failure.strerror}"


def _open(kind: int, config: int, tid: int) -> int:
    call = _CALLS.get(platform.machine())
    if call is None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    attribute = struct.pack(
        "=IIQQQQQII8x",
        kind,
        _ATTRIBUTE_BYTES,
        config,
        0,
        0,
        _TIME_ENABLED | _TIME_RUNNING,
        _EXCLUDE_KERNEL | _EXCLUDE_HYPERVISOR,
        0,
        0,
    )
    assert len(attribute) == _ATTRIBUTE_BYTES
    buffer = ctypes.create_string_buffer(attribute, _ATTRIBUTE_BYTES)
    libc = ctypes.CDLL(None, use_errno=True)
    libc.syscall.restype = ctypes.c_long
    file = libc.syscall(
        ctypes.c_long(call),
        buffer,
        ctypes.c_int(tid),
        ctypes.c_int(-1),
        ctypes.c_int(-1),
        ctypes.c_ulong(_CLOSE_ON_EXEC),
    )
    if file < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return int(file)
