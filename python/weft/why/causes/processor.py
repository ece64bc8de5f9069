"""Causes of processor time: why workers are busy for longer than the work needs."""

from __future__ import annotations

import math

from ..evidence import Evidence
from ..finding import Finding
from ..limits import INFLATED
from ..stacks import Stack
from .common import (
    LOCKED,
    duration,
    further_places,
    has_short_regions,
    hottest_place,
    is_for_pieces,
    path_to_it,
    sampling_error,
    shared_work,
    spends_on_tasks,
    waits_for_locks,
    watched_work,
)

LONGEST_FAULT = 10e-6
"""Processor time of the system for a new page of 4 KiB, in seconds: above this it did something else."""


def runtime(e: Evidence) -> list[Finding]:
    """Processor time in the runtime instead of the program, while workers are busy. Not where a lock is handed from
    worker to worker, which takes time in the kernel."""
    on_core = [s for s in e.stacks if s.state == "on_core" and s.in_run and s.path]
    own = [s for s in on_core if s.owner == "program"]
    mine = [s for s in on_core if s.owner == "runtime"]
    starts_regions = has_short_regions(e)
    if starts_regions:  # which is a cause of its own
        mine = [s for s in mine if is_for_pieces(s)]
    if not mine or not e.watched or waits_for_locks(e):
        return []
    busy = _busy(e)
    seconds = sum(s.seconds for s in mine) if starts_regions else max(busy - sum(s.seconds for s in own), 0.0)
    return [
        Finding(
            cause="overhead",
            title="too little work in each task or iteration",
            place=hottest_place(mine),
            path=path_to_it(mine),
            evidence=(
                f"{duration(seconds)} of {duration(busy)} of processor time of busy workers was in the runtime: "
                f"{seconds / busy:.0%}",
            ),
            gain=shared_work(e, watched_work(e, seconds)),
            uncertain=shared_work(e, sampling_error(own) + sampling_error(mine)),
            basis="estimated",
            advice="do more in each task: a larger grain, a serial version for small parts, one task for several",
            also=further_places(mine),
        )
    ]


def _busy(e: Evidence) -> float:
    """Processor time of busy workers in the watched run."""
    assert e.watched
    if not e.shares:
        return e.watched.on_core
    # The threads that call OpenMP's regions are no workers, so the report lacks their time. Where threads do little but
    # make tasks, the others take one after another, and look for them in between.
    every = spends_on_tasks(e)
    return sum(s.seconds for s in e.stacks if s.state == "on_core" and s.in_run and (s.path or every))


def page_faults(e: Evidence) -> list[Finding]:
    """Tasks take new memory from the system, which gives it page by page and clears each page. The kernel counts pages
    exactly, and its own time by ticks."""
    code = _code_with_new_pages(e)
    if not code:
        return []
    pages, seconds = sum(s.faults for s in code), _time_of_pages(code)
    return [
        Finding(
            cause="page_faults",
            title="tasks take new memory from the system",
            place=hottest_place(code),
            path=path_to_it(code),
            evidence=(
                f"{pages} pages were new to the program in its runs, and the system took {duration(seconds)} of "
                f"processor time meanwhile: {duration(seconds / pages)} for each",
            ),
            gain=shared_work(e, seconds),
            uncertain=sampling_error(code) * seconds / sum(s.seconds for s in code) / e.workers
            + 0.1 * seconds / e.workers,
            basis="estimated",
            advice="keep large buffers from task to task (one for each worker), and memory that was used once: the C "
            "library gives blocks above its threshold back at once (mallopt: M_MMAP_THRESHOLD, M_TRIM_THRESHOLD)",
            also=further_places(code),
        )
    ]


def _code_with_new_pages(e: Evidence) -> list[Stack]:
    code = [s for s in e.stacks if s.state == "on_core" and s.in_run and s.path and s.owner == "program"]
    return code if _time_of_pages(code) > 0 else []


def _time_of_pages(code: list[Stack]) -> float:
    """Processor time of the system, as far as so many new pages can take it."""
    return min(sum(s.system for s in code), LONGEST_FAULT * sum(s.faults for s in code))


def _is_new_memory(e: Evidence) -> bool:
    """Whether new pages explain processor time that grows with the workers, which wait for the map of the program's
    memory."""
    return _time_of_pages(_code_with_new_pages(e)) > LOCKED * e.own if e.own else False


def inflated(e: Evidence) -> list[Finding]:
    """The same work takes more processor time with more workers."""
    factor, own, alone = e.inflation, e.own, e.own_alone
    if factor is None or own is None or alone is None or factor <= INFLATED:
        return []
    if waits_for_locks(e) or _is_new_memory(e):
        return []
    code = [s for s in e.stacks if s.state == "on_core" and s.in_run and s.owner == "program"]
    code_alone = [s for s in e.alone_stacks if s.state == "on_core" and s.owner == "program"]
    # Two sampled times are compared. One of twenty differences is larger than this by chance.
    errors = 2 * math.hypot(sampling_error(code), sampling_error(code_alone))
    uncertain = math.hypot(e.variation(lambda t: t.cpu), errors)
    said = f"its code takes {factor:.2f} times the processor time with {e.workers} workers that they take with one"
    shared_memory = e.copies is not None and (e.copies - 1) >= 0.5 * (factor - 1)
    if e.copies is None:
        cause, title = "inflation", "the work grows with the workers"
        told: tuple[str, ...] = ("whether they share data or memory bandwidth was not tested",)
        advice = "look for data that several workers write, and for loops that wait for memory"
    elif shared_memory:
        cause, title = "memory", "the memory is the limit"
        told = (
            f"{e.workers} copies of the program with one worker each, which share no data, slow each other down "
            f"{e.copies:.2f} times: bandwidth or a shared cache",
        )
        advice = (
            "use each datum several times while it is in a cache (blocking, fusing loops); smaller types; fewer "
            "workers for this part"
        )
    else:
        cause, title = "shared_data", "workers write the same data"
        told = (
            f"{e.workers} copies of the program with one worker each do not slow each other down ({e.copies:.2f} "
            "times): it is data that workers share, not bandwidth",
            "whether they write the same variable or only the same cache line (false sharing) cannot be known without "
            "the processor's counters",
        )
        advice = (
            "give each worker a variable of its own in a cache line of its own "
            f"({e.language.private}), and add up at the end; an atomic that all workers "
            "change is slow in the same way"
        )
    return [
        Finding(
            cause=cause,
            title=title,
            place=hottest_place(code),
            path=path_to_it(code),
            evidence=(said, *told),
            gain=shared_work(e, own - alone),
            uncertain=shared_work(e, uncertain),
            basis="tested" if e.copies is not None else "estimated",
            advice=advice,
            also=further_places(code),
        )
    ]
