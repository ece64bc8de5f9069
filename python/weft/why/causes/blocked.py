"""Causes in the kernel: what blocks a worker while it runs a task."""

from __future__ import annotations

from ..evidence import Evidence
from ..finding import Finding
from .common import BLOCKING, CALLS, LOCKS, calls, duration, grouped, path_to_it, shared_by_workers, watched_part


def lock(e: Evidence) -> list[Finding]:
    """Tasks wait for a lock in the kernel: std::mutex and kin."""
    waits = [s for s in e.stacks if s.state in LOCKS and s.in_run and s.owner == "program"]
    found = []
    for place, group in grouped(waits, lambda s: s.place).items():
        seconds, times = watched_part(e, sum(s.seconds for s in group)), sum(s.times for s in group)
        holders = {s.holder for s in group if s.holder}
        who = f"the holder had taken it at {', '.join(map(str, sorted(holders, key=str)))}" if holders else ""
        found.append(
            Finding(
                cause="lock",
                title="tasks wait for a lock",
                place=place,
                path=path_to_it(group),
                evidence=(
                    f"workers waited {duration(seconds)} for it, {times} times: "
                    f"{seconds / (e.seconds * e.workers):.0%} of the workers' time",
                    *((who,) if who else ()),
                ),
                gain=shared_by_workers(e, seconds),
                uncertain=0.25 * seconds / e.workers,
                basis="estimated",
                advice="hold it for less: compute first and lock for the result only; give each worker a part of its "
                f"own ({e.language.private}); or use several locks for parts of the data",
                also=tuple(h for h in holders if h != place),
            )
        )
    return found


def blocking(e: Evidence) -> list[Finding]:
    """Tasks call what blocks their worker in the kernel."""
    waits = [s for s in e.stacks if s.state in BLOCKING and s.in_run and s.owner == "program"]
    found = []
    for place, group in grouped(waits, lambda s: s.place).items():
        seconds = watched_part(e, sum(s.seconds for s in group))
        longest = watched_part(e, max(s.longest for s in group))
        call = max(group, key=lambda s: s.seconds).state
        found.append(
            Finding(
                cause="blocking",
                title=f"tasks block their workers: {CALLS[call]}",
                place=place,
                path=path_to_it(group),
                evidence=(
                    f"workers were blocked for {duration(seconds)} in {calls(group)}, the longest {duration(longest)}: "
                    f"{seconds / (e.seconds * e.workers):.0%} of the workers' time",
                ),
                # One call, at most, is left when the others are hidden: at the beginning, or at the end.
                gain=max(shared_by_workers(e, seconds) - 0.5 * longest, 0.0),
                uncertain=0.1 * seconds / e.workers + 0.5 * longest,
                basis="estimated",
                advice=_instead(call, e),
            )
        )
    return found


def _instead(call: str, e: Evidence) -> str:
    if call == "sleep" and not e.openmp:
        return "weft::this_task::sleep_for gives the worker to other tasks while the task waits"
    if call in ("condition", "semaphore", "barrier", "futex") and not e.openmp:
        return "weft::condition_variable, weft::semaphore, weft::latch and weft::barrier give the worker to other tasks"
    beside = (
        "an omp task beside the loop"
        if e.openmp
        else "one task beside the loop and hand the data over (weft::pipeline)"
    )
    return f"more workers than cores hide the waiting ({e.language.more_workers}), or do it in {beside}"
