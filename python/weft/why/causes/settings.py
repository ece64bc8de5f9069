"""Causes around the program: its settings, and what else the machine does."""

from __future__ import annotations

import statistics

from ..evidence import Evidence
from ..finding import Finding
from ..limits import DEFAULT_POLICY
from .common import duration, hottest_place, idle_in, idle_uncertain, runs_in_words, spread_of, waits_for_locks

BINDING = ("static",)
"""Policies under which a piece of a loop belongs to one worker."""


def policy(e: Evidence) -> list[Finding]:
    """Another policy is faster."""
    given = e.plain[0].policy
    if not e.default_policy:
        return [] if e.has_default_policy else _untested(e, given)
    gain = e.seconds - e.default_policy.seconds
    return [
        Finding(
            cause="policy",
            title=f"the policy {given} does not suit the program",
            place=None,
            evidence=(
                f"{duration(e.seconds)} under {given}, {duration(e.default_policy.seconds)} under {DEFAULT_POLICY}",
                f"workers were idle for {e.median(lambda t: t.idle) / (e.workers * e.seconds):.0%} of their time",
            ),
            gain=gain,
            uncertain=e.spread + spread_of(e.default_policy),
            basis="tested",
            advice=f"WEFT_POLICY={DEFAULT_POLICY}, or leave it out",
        )
    ]


def _untested(e: Evidence, given: str) -> list[Finding]:
    """The program sets its policy itself, so that no other one was tested, and under that policy workers have nothing
    to do although there is enough parallel work: a piece of a loop waits for its worker, or children of a task run
    where no other worker can take them."""
    runs = [r for r in e.idle.runs if r.kind not in ("short_runs", "waiting")] if e.idle else []
    if given.split(":")[0] in BINDING:
        runs = [r for r in runs if r.tasks > 1]
        why = f"under {given} none takes over a piece of a loop that waits for another worker"
    elif runs := [r for r in runs if r.parallelism]:
        why = (
            f"they had work of {duration(sum(r.work for r in runs))}, enough for "
            f"{min(r.parallelism for r in runs):.0f} workers or more, which {given} did not give to the idle ones"
        )
    if not runs:
        return []
    gain = idle_in(e, runs) / e.workers
    return [
        Finding(
            cause="policy",
            title=f"the policy {given} does not suit the program",
            place=None,
            evidence=(
                f"in {runs_in_words(runs)} of several tasks workers were idle for {gain / e.seconds:.0%} of their "
                f"time; {why}",
                "no other policy was tested, since the program sets its own (runtime_options::policy)",
            ),
            gain=gain,
            uncertain=idle_uncertain(e) + e.disturbance,
            basis="estimated",
            advice=f"runtime_options::policy = {DEFAULT_POLICY}, or leave it out",
        )
    ]


def oversubscription(e: Evidence) -> list[Finding]:
    """More workers than cores."""
    if not e.as_many_as_cores:
        return []
    gain = e.seconds - e.as_many_as_cores.seconds
    return [
        Finding(
            cause="oversubscription",
            title="more workers than cores",
            place=None,
            evidence=(
                f"{e.workers} workers on {e.cores} cores: {duration(e.seconds)}; {e.cores} workers: "
                f"{duration(e.as_many_as_cores.seconds)}",
            ),
            gain=gain,
            uncertain=e.spread + spread_of(e.as_many_as_cores),
            basis="tested",
            advice=f"WEFT_WORKERS={e.cores}, or leave it out",
        )
    ]


def other_threads(e: Evidence) -> list[Finding]:
    """Threads of the program that are no workers have the cores: most often those of a library that a task calls."""
    if e.openmp or not e.has_other_threads:
        return []
    other, trial = e.median(lambda t: t.other_cpu), e.calling_thread
    had = f"threads that are no workers had {duration(other)} of processor time while there were runs"
    if trial and trial.timings and statistics.median(t.other_cpu for t in trial.timings) < 0.5 * other:
        return [
            Finding(
                cause="other_threads",
                title="threads of a library compete with the workers for the cores",
                place=hottest_place([s for s in e.stacks if s.in_run and s.state == "on_core"]),
                evidence=(
                    f"{had}; loaded: {', '.join(e.libraries)}",
                    f"{duration(e.seconds)} as it is, {duration(trial.seconds)} with {trial.change}",
                ),
                gain=e.seconds - trial.seconds,
                uncertain=e.spread + spread_of(trial),
                basis="tested",
                advice="let libraries compute in the thread that calls them: set these variables, or call "
                "omp_set_num_threads(1) or openblas_set_num_threads(1) in each thread before it uses the library",
            )
        ]
    return [
        Finding(
            cause="other_threads",
            title="threads that are no workers compete with the workers for the cores",
            place=None,
            evidence=(
                had,
                f"workers were ready to run for {duration(e.median(lambda t: t.waiting))} and had no core",
            ),
            gain=e.median(lambda t: min(t.waiting, t.other_cpu)) / e.workers,
            uncertain=e.variation(lambda t: min(t.waiting, t.other_cpu)) / e.workers,
            basis="estimated",
            advice="make tasks of what these threads do, or use fewer workers (WEFT_WORKERS)",
        )
    ]


def one_worker(e: Evidence) -> list[Finding]:
    """A single worker where there are more cores."""
    if e.workers > 1 or e.cores == 1:
        return []
    inside = e.median(lambda t: t.in_runs)
    return [
        Finding(
            cause="one_worker",
            title="only one worker",
            place=None,
            evidence=(f"1 worker on {e.cores} cores",),
            gain=inside * (1 - 1 / e.cores),
            uncertain=0.25 * inside,
            basis="estimated",
            advice="leave out WEFT_WORKERS and runtime_options::workers: there is one worker for each core then",
        )
    ]


def other_programs(e: Evidence) -> list[Finding]:
    """Other programs have the cores. Where a lock is handed from worker to worker, they wait for cores in any case."""
    if e.workers > e.cores or waits_for_locks(e):
        return []
    # The thread that calls a region of OpenMP is a member of its team and no worker: it takes no core from them.
    seconds = e.median(lambda t: t.waiting) if e.openmp else max(e.median(lambda t: t.waiting - t.other_cpu), 0.0)
    return [
        Finding(
            cause="other_programs",
            title="other programs use the cores",
            place=None,
            evidence=(
                f"workers were ready to run for {duration(seconds)} and had no core: "
                f"{seconds / (e.workers * e.seconds):.0%} of their time",
            ),
            gain=seconds / e.workers,
            uncertain=(e.variation(lambda t: t.waiting) + e.median(lambda t: t.uncertain)) / e.workers,
            basis="estimated",
            advice="measure on an idle machine; the other findings are less sure here",
        )
    ]
