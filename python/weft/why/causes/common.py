"""What several causes need."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import TypeVar

from ..evidence import Evidence, Timing, Trial
from ..finding import Place
from ..idle import IdleRun
from ..stacks import Stack

LOCKS = ("mutex", "rwlock")
LOCKED = 0.1
"""A part of the workers' time in locks above this explains processor time that grows with the workers."""
BLOCKING = ("sleep", "transfer", "poll", "condition", "semaphore", "barrier", "join", "futex")
CALLS = {
    "sleep": "sleep in the kernel",
    "transfer": "wait for input or output",
    "poll": "wait for files or connections",
    "condition": "wait for a condition variable",
    "semaphore": "wait for a semaphore",
    "barrier": "wait at a barrier of the system",
    "join": "wait for the end of a thread or process",
    "futex": "wait for an atomic variable",
}

SHORT_REGION = 300e-6
"""OpenMP's regions are short if they come at shorter intervals than this, in seconds."""

_DIVIDES_LOOPS = re.compile(r"GOMP_(loop|doacross|sections)_\w+|__kmpc_dispatch_\w+$")
# A call at the end of an exported function leaves only the called one in the stack.
_MAKES_TASKS = re.compile(r"GOMP_task(loop\w*)?$|__kmpc_(omp_task\w*|taskloop\w*)$|weft::openmp::\w+::\w*task\w*\(")

T = TypeVar("T")
K = TypeVar("K")


def waits_for_locks(e: Evidence) -> bool:
    """Handing a lock from worker to worker takes processor time in the kernel: that is the lock's cost."""
    seconds = sum(s.seconds for s in e.stacks if s.state in LOCKS and s.in_run and s.owner == "program")
    return seconds > LOCKED * e.seconds * e.workers


def spends_on_tasks(e: Evidence) -> bool:
    """OpenMP: whether the processor time that the program's calls take in the runtime is mostly for making tasks, and
    not little beside that of its own code."""
    running = [s for s in e.stacks if s.state == "on_core" and s.in_run]
    calls = [s for s in running if s.owner == "runtime" and s.entry]
    tasks = sum(s.seconds for s in calls if _MAKES_TASKS.match(s.entry))
    own = sum(s.seconds for s in running if s.owner == "program")
    return e.openmp and tasks > 0.5 * sum(s.seconds for s in calls) and tasks > 0.5 * own


def region_length(e: Evidence) -> float:
    """OpenMP: the mean time from the beginning of a region to that of the next one."""
    return e.median(lambda t: t.from_first_to_last) / max(e.median(lambda t: t.runs), 1)


def has_short_regions(e: Evidence) -> bool:
    """OpenMP: whether regions are so short that starting them takes most of the time."""
    return bool(e.shares) and region_length(e) < SHORT_REGION and not spends_on_tasks(e)


def is_for_pieces(s: Stack) -> bool:
    """OpenMP: whether the program's call is for one task, or for one part of a loop."""
    return bool(_MAKES_TASKS.match(s.entry) or _DIVIDES_LOOPS.match(s.entry))


def shared_by_workers(e: Evidence, seconds: float) -> float:
    """Time of the program that worker time stands for, if all workers share in it."""
    return min(seconds / e.workers, e.seconds)


def shared_work(e: Evidence, processor_seconds: float) -> float:
    """The same for processor time, with the time that the workers wait for cores meanwhile."""
    return shared_by_workers(e, processor_seconds * e.stretch)


def idle_in(e: Evidence, runs: list[IdleRun]) -> float:
    """Idle time of the workers in these runs of the traced program, as it is in a plain run: the traced run says which
    part of the idleness they have, the plain runs which part of their time the workers are idle. That part changes less
    with the load of the machine than the time does."""
    if not e.idle or e.idle.total <= 0:
        return 0.0
    part = sum(r.idle for r in runs) / e.idle.total
    return part * min(e.median(idle_part), e.workers) * e.seconds


def idle_uncertain(e: Evidence) -> float:
    """By how much the program's time for all the idleness may be wrong, without what other programs do."""
    return e.variation(idle_part) * e.seconds / e.workers


def idle_part(t: Timing) -> float:
    return t.idle / t.seconds


def watched_part(e: Evidence, seconds: float) -> float:
    """A time of the watched run, as it is in a plain run: other programs may have made the watched run longer."""
    return seconds * e.seconds / e.watched.seconds if e.watched else seconds


def watched_work(e: Evidence, seconds: float) -> float:
    """Processor time of the watched run, as it is in a plain run: watching takes some, where a program calls often."""
    return seconds * min(e.median(lambda t: t.cpu) / e.watched.cpu, 1.0) if e.watched and e.watched.cpu else seconds


def spread_of(t: Trial) -> float:
    """By how much the time of a trial varies."""
    times = [one.seconds for one in t.timings]
    return (max(times) - min(times)) / 2


def grouped(items: Iterable[T], key: Callable[[T], K]) -> dict[K, list[T]]:
    groups: dict[K, list[T]] = defaultdict(list)
    for item in items:
        groups[key(item)].append(item)
    return dict(groups)


def hottest_place(stacks: list[Stack]) -> Place | None:
    """The place with the most time."""
    sums: dict[Place, float] = defaultdict(float)
    for s in stacks:
        if s.place:
            sums[s.place] += s.seconds
    return max(sums, key=lambda p: sums[p]) if sums else None


def path_to_it(stacks: list[Stack]) -> tuple[Place, ...]:
    """The longest path to that place."""
    place = hottest_place(stacks)
    here = [s for s in stacks if s.place == place]
    return max(here, key=lambda s: s.seconds).path if here else ()


def further_places(stacks: list[Stack]) -> tuple[Place, ...]:
    """Further places that have at least a tenth of the time."""
    total = sum(s.seconds for s in stacks)
    groups = {p: sum(s.seconds for s in g) for p, g in grouped(stacks, lambda s: s.place).items() if p}
    ranked = sorted(groups, key=lambda p: -groups[p])
    return tuple(p for p in ranked[1:4] if groups[p] >= 0.1 * total)


def said_also(stacks: list[Stack]) -> tuple[str, ...]:
    others = further_places(stacks)
    return (f"also at {', '.join(map(str, others))}",) if others else ()


def sampling_error(stacks: list[Stack]) -> float:
    """Each stack was seen at single moments: an error of one sample for the square root of their number."""
    times = sum(s.times for s in stacks)
    return sum(s.seconds for s in stacks) / times**0.5 if times else 0.0


def calls(stacks: list[Stack]) -> str:
    n = sum(s.times for s in stacks)
    return "1 call" if n == 1 else f"{n} calls"


def runs_in_words(runs: list[IdleRun]) -> str:
    return "1 run" if len(runs) == 1 else f"{len(runs)} runs"


def tasks_each(runs: list[IdleRun]) -> str:
    n = round(sum(r.tasks for r in runs) / len(runs))
    return "1 task" if n == 1 else f"{n} tasks"


def duration(seconds: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"
