"""Puts the threads of a program onto the cores of its placement: by affinity, and by SCHED_IDLE for those that are to
run only where the core's first one leaves it unused.
"""

from __future__ import annotations

import os
import resource
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from .processes import read_bytes
from .rates import Thread

_SYS_NICE = 23
_RESTS = 10
"""Periods after which a thread without work gives its core to another one of its program."""


@dataclass(frozen=True)
class Place:
    """Where one thread may run, and whether only on what others leave."""

    cpus: frozenset[int]
    is_low: bool = False


@dataclass(frozen=True)
class Placement:
    """What the decision says of a program, in processors of the operating system."""

    domain: int
    """-1: anywhere."""
    cpus: tuple[int, ...]
    high: tuple[int, ...]
    """Those on which its worker is the one of high priority; none: the kernel places all threads."""
    active: int


def why_no_priorities() -> str:
    """Why this process cannot give threads a low priority and take it back; empty if it can."""
    status = read_bytes("/proc/self/status") or b""
    for line in status.splitlines():
        if line.startswith(b"CapEff:") and int(line.split()[1], 16) >> _SYS_NICE & 1:
            return ""
    if resource.getrlimit(resource.RLIMIT_NICE)[0] in range(20):
        return "SCHED_IDLE cannot be taken back without CAP_SYS_NICE or a limit RLIMIT_NICE of 20"
    return ""


@dataclass
class Seats:
    """Which thread of a program has which core. A thread keeps its core while it works and the placement stands."""

    placement: Placement | None = None
    of_core: dict[int, int] = field(default_factory=dict)

    def plan(
        self, placement: Placement, threads: Sequence[Thread], mask: frozenset[int], *, on_weft: bool, priorities: bool
    ) -> dict[int, Place]:
        """The place of each thread, by its number. `mask`: what the program was allowed when it came; no thread gets
        more. `on_weft`: its runtime keeps to the number of active workers by itself."""
        if placement != self.placement:
            self.placement, self.of_core = placement, {}
        allowed = frozenset(placement.cpus) & mask
        high = [cpu for cpu in placement.high if cpu in mask]
        if not allowed or (placement.domain < 0 and not placement.high):
            return {t.tid: Place(mask) for t in threads}
        if set(high) == allowed or not high:
            return {t.tid: Place(allowed) for t in threads}
        if on_weft or not priorities:
            return {t.tid: Place(frozenset(high)) for t in threads}
        return self._seated(high, [cpu for cpu in placement.cpus if cpu in mask and cpu not in high], allowed, threads)

    def _seated(
        self, high: list[int], low: list[int], allowed: frozenset[int], threads: Sequence[Thread]
    ) -> dict[int, Place]:
        working = [t.tid for t in threads if t.rested < _RESTS]
        self.of_core = {cpu: tid for cpu, tid in self.of_core.items() if tid in working}
        seated = {tid: cpu for cpu, tid in self.of_core.items()}
        free = [cpu for cpu in (*high, *low) if cpu not in self.of_core]
        for tid in working:
            if tid not in seated and free:
                seated[tid] = free.pop(0)
                self.of_core[seated[tid]] = tid
        places = {}
        for t in threads:
            if t.tid in seated:
                places[t.tid] = Place(frozenset([seated[t.tid]]), seated[t.tid] not in high)
            else:
                # One that rests is of normal priority, or it would never show that it has work.
                places[t.tid] = Place(allowed, t.tid in working)
        return places


def apply(places: dict[int, Place]) -> str:
    """Moves threads to their places. Returns why one could not be moved; empty if all were, or have ended."""
    refused = ""
    for tid, place in places.items():
        try:
            if os.sched_getaffinity(tid) != place.cpus:
                os.sched_setaffinity(tid, place.cpus)
            _set_priority(tid, place.is_low)
        except ProcessLookupError:
            continue
        except OSError as failure:
            refused = f"thread {tid} cannot be placed: {failure.strerror}"
    return refused


def release(tids: Iterable[int], mask: frozenset[int]) -> None:
    """Gives threads the affinity and the priority that they came with. What has ended, or is refused, is left."""
    apply({tid: Place(mask) for tid in tids})


def _set_priority(tid: int, is_low: bool) -> None:
    policy = os.sched_getscheduler(tid) & ~os.SCHED_RESET_ON_FORK
    if is_low and policy == os.SCHED_OTHER:
        os.sched_setscheduler(tid, os.SCHED_IDLE, os.sched_param(0))
    elif not is_low and policy == os.SCHED_IDLE:
        os.sched_setscheduler(tid, os.SCHED_OTHER, os.sched_param(0))
