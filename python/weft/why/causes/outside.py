"""Causes outside of the runs: what the calling thread does between them."""

from __future__ import annotations

from ..evidence import Evidence
from ..finding import Finding
from ..stacks import Stack
from .common import (
    BLOCKING,
    CALLS,
    LOCKS,
    calls,
    duration,
    further_places,
    grouped,
    hottest_place,
    path_to_it,
    said_also,
    sampling_error,
    watched_part,
    watched_work,
)


def serial(e: Evidence) -> list[Finding]:
    """Code that the calling thread runs while there is no run."""
    code = [s for s in e.stacks if s.is_serial and s.state == "on_core" and s.owner != "runtime"]
    if not code:
        return _serial_without_places(e)
    seconds, uncertain = _serial_time(e, code)
    parallel = 1 - 1 / e.workers
    return [
        Finding(
            cause="serial",
            title="serial code outside of the runs",
            place=hottest_place(code),
            path=path_to_it(code),
            evidence=(
                f"{duration(seconds)} of processor time in which no worker had anything to do: "
                f"{seconds / e.seconds:.0%} of the program's time",
                *said_also(code),
            ),
            gain=seconds * parallel,
            uncertain=uncertain * parallel,
            basis="estimated",
            advice=f"make this part parallel too ({e.language.loop}), or let it run beside a "
            f"loop ({e.language.beside}); if it makes the data, make it in the loop that uses them",
            also=further_places(code),
        )
    ]


def _serial_time(e: Evidence, code: list[Stack]) -> tuple[float, float]:
    """Time of serial code, and by how much it may be wrong. The samples say where all of it is, but there are few of
    them. The runtime knows exactly how long it is from the first run to the last."""
    sampled = watched_work(e, sum(s.seconds for s in code))
    waits = sum(s.seconds for s in e.stacks if s.is_serial and s.state in BLOCKING + LOCKS)
    between = max(e.median(lambda t: t.outside) - waits, 0.0)
    seconds = max(sampled, between)
    of_samples = (seconds - between) / seconds if seconds else 0.0
    return seconds, 0.1 * seconds + e.variation(lambda t: t.outside) + of_samples * sampling_error(code)


def _serial_without_places(e: Evidence) -> list[Finding]:
    if e.stacks:
        return []
    outside = e.median(lambda t: t.outside)
    return [
        Finding(
            cause="serial",
            title="time between the runs",
            place=None,
            evidence=(f"{duration(outside)} between the runs, {outside / e.seconds:.0%} of the program's time",),
            gain=outside * (1 - 1 / e.workers),
            uncertain=e.variation(lambda t: t.outside),
            basis="estimated",
            advice="make this part parallel too",
        )
    ]


def waiting_outside(e: Evidence) -> list[Finding]:
    """The calling thread is blocked while there is no run."""
    waits = [s for s in e.stacks if s.is_serial and s.state in BLOCKING + LOCKS and s.place]
    found = []
    for call, group in grouped(waits, lambda s: s.state).items():
        seconds = watched_part(e, sum(s.seconds for s in group))
        found.append(
            Finding(
                cause="waiting_outside",
                title=f"the program is blocked outside of its runs: {CALLS.get(call, 'a lock')}",
                place=hottest_place(group),
                path=path_to_it(group),
                evidence=(
                    f"{duration(seconds)} in {calls(group)}, the longest {duration(max(s.longest for s in group))}",
                ),
                gain=min(seconds, e.seconds - seconds),  # waiting needs no core, only other work beside it
                uncertain=0.1 * seconds,
                basis="estimated",
                advice=f"do the waiting beside work: in a task of its own ({e.language.task}), "
                f"{'' if e.openmp else 'with weft::this_task::sleep_for, '}or with asynchronous input and output",
            )
        )
    return found
