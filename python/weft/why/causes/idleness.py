"""Causes of idleness: why workers have nothing to do while there is a run."""

from __future__ import annotations

from collections.abc import Callable

from ..evidence import Evidence
from ..finding import Finding, Place
from ..idle import SHORT_NS, IdleRun
from ..stacks import Stack
from .common import (
    LOCKS,
    duration,
    further_places,
    grouped,
    has_short_regions,
    hottest_place,
    idle_in,
    idle_uncertain,
    path_to_it,
    region_length,
    runs_in_words,
    sampling_error,
    shared_work,
    tasks_each,
)


def weft_wait(e: Evidence) -> list[Finding]:
    """Tasks wait for a lock of Weft (or of OpenMP), a future or a time while workers have nothing else to do."""
    return _of_idle(
        e,
        "waiting",
        cause="weft_wait",
        title="tasks wait for each other or for a time, and nothing else is there to run",
        says=lambda runs: (
            f"in {runs_in_words(runs)} tasks waited in Weft (weft::mutex, critical, a future, a timer) "
            f"while workers were idle for {duration(sum(r.idle for r in runs))}"
        ),
        advice="let tasks hold the lock for less, or use several; give the workers other tasks while these wait",
    )


def long_piece(e: Evidence) -> list[Finding]:
    """One task takes most of its run."""
    return _of_idle(
        e,
        "long_piece",
        cause="long_piece",
        title="one long piece",
        says=lambda runs: (
            f"in {runs_in_words(runs)} one task ran for {duration(max(r.longest for r in runs))} of "
            f"{duration(max(r.length for r in runs))}, while the other workers had nothing left to do"
        ),
        advice="cut this piece into parallel parts, or start it first; a smaller grain helps if it is many iterations, "
        "and does not if it is one",
    )


def no_parallelism(e: Evidence) -> list[Finding]:
    """Runs in which about one task runs at a time."""
    return _of_idle(
        e,
        "no_parallelism",
        cause="no_parallelism",
        title="no parallelism in a construct",
        says=lambda runs: (
            f"{runs_in_words(runs)} of {duration(sum(r.length for r in runs))} had work of "
            f"{duration(sum(r.work for r in runs))}, in {tasks_each(runs)}: about one worker had something to do"
        ),
        advice="cut the work into more independent pieces: a smaller grain, fewer dependences, a loop or a divide and "
        "conquer in place of one task after another",
        disturbed=False,
    )


def short_runs(e: Evidence) -> list[Finding]:
    """Runs so short that workers have not woken up when they end."""
    return _of_idle(
        e,
        "short_runs",
        at_least=_without_runs,
        cause="short_runs",
        title="too little work in each run",
        says=lambda runs: (
            f"{runs_in_words(runs)} took {duration(sum(r.length for r in runs) / len(runs))} each: about as long "
            "as it takes to wake a worker and hand it work"
        ),
        advice="put several of these loops into one run, or into one loop; or leave such small loops serial",
    )


def short_regions(e: Evidence) -> list[Finding]:
    """OpenMP: regions so short that starting them takes most of the time. One region would take what its threads
    compute, divided among them."""
    if not has_short_regions(e) or e.own is None:
        return []
    calls = [s for s in e.stacks if s.state == "on_core" and s.in_run and s.path]
    code = [s for s in e.stacks if s.state == "on_core" and s.owner == "program"]
    own = e.own * sum(s.seconds for s in code if s.in_run) / (sum(s.seconds for s in code) or 1.0)
    return [
        Finding(
            cause="short_runs",
            title="too little work in each region",
            place=hottest_place(calls),
            path=path_to_it(calls),
            evidence=(
                f"{e.median(lambda t: t.runs):.0f} regions came every {duration(region_length(e))}; the program's own "
                f"code had {duration(own)} of processor time in {duration(e.median(lambda t: t.in_runs))} of regions",
            ),
            gain=max(e.median(lambda t: t.in_runs) - shared_work(e, own), 0.0),
            uncertain=e.spread + shared_work(e, sampling_error([s for s in code if s.in_run])),
            basis="estimated",
            advice="put the loop over the steps into one region, or several loops into one; or leave such small loops "
            "serial (if clause)",
            also=further_places(calls),
        )
    ]


def uneven(e: Evidence) -> list[Finding]:
    """Idleness in runs that have enough parallelism: the scheduler, or a grain that leaves few pieces."""
    return _of_idle(
        e,
        "uneven",
        cause="uneven",
        title="workers idle although there was parallel work",
        says=lambda runs: (
            f"in {runs_in_words(runs)} workers were idle for {duration(sum(r.idle for r in runs))}, with work of "
            f"{duration(sum(r.work for r in runs))} in {tasks_each(runs)}{_enough(runs)}"
        ),
        advice="a smaller grain gives pieces that even out; or another policy (weft policies)",
        # Under another policy that the program has set, that is the cause.
        unless=lambda r: bool(r.parallelism) and not e.default_policy and not e.has_default_policy,
    )


def _enough(runs: list[IdleRun]) -> str:
    parallelism = min(r.parallelism for r in runs)
    return f", enough for {parallelism:.0f} workers or more" if parallelism else ""


def _of_idle(
    e: Evidence,
    kind: str,
    *,
    cause: str,
    title: str,
    says: Callable[[list[IdleRun]], str],
    advice: str,
    at_least: Callable[[Evidence, list[IdleRun]], float] = lambda _, __: 0.0,
    disturbed: bool = True,
    unless: Callable[[IdleRun], bool] = lambda _: False,
) -> list[Finding]:
    """Findings by construct from runs with idle workers. `at_least`: what mending saves besides. `disturbed`: a worker
    that has no core may make the others idle. `unless`: runs that another cause tells of."""
    if not e.idle or e.idle.total <= 0:
        return []
    uncertain = idle_uncertain(e) + (e.disturbance if disturbed else 0.0)
    found = []
    runs = [r for r in e.idle.runs if r.kind == kind and not unless(r)]
    for construct, group in grouped(runs, lambda r: r.construct).items():
        ran = _hottest(e, group)
        inner = ran.place if ran else None
        place = e.constructs.get(construct) or inner or Place(construct)
        found.append(
            Finding(
                cause=cause,
                title=title,
                place=place,
                path=ran.path if ran else (),
                evidence=(says(group), *((f"it ran at {inner}",) if inner and inner != place else ())),
                gain=max(idle_in(e, group) / e.workers, at_least(e, group)),
                uncertain=uncertain,
                basis="estimated",
                advice=advice,
                also=(inner,) if inner and inner != place else (),
            )
        )
    return found


def _without_runs(e: Evidence, runs: list[IdleRun]) -> float:
    """The time of these runs beyond that of their work, if it were in one run."""
    assert e.idle
    length, of_these = sum(r.length for r in runs), sum(r.work for r in runs)
    # A task that is blocked seems to work, but not in runs as short as these.
    work = max(sum(r.work for r in e.idle.runs) - e.median(lambda t: t.blocked), of_these)
    if e.own is None or not e.idle.elapsed or not work:
        return 0.0
    code = [s for s in e.stacks if s.state == "on_core" and s.owner == "program"]
    in_runs = sum(s.seconds for s in code if s.in_run) / (sum(s.seconds for s in code) or 1.0)
    own = e.own * in_runs * of_these / work
    return e.median(lambda t: t.in_runs) * length / e.idle.elapsed - own / e.workers


def _hottest(e: Evidence, runs: list[IdleRun]) -> Stack | None:
    """What ran while the workers were idle: the task that they waited for longest."""
    return e.hottest([(r.begin, r.end) for r in runs]) if e.hottest else None


def uneven_threads(e: Evidence) -> list[Finding]:
    """OpenMP: a thread of a team does more than the others, which wait for it. In very short regions it may have done
    so because the others had not come."""
    if region_length(e) < SHORT_NS * 1e-9:
        return []
    found = []
    for region, shares in e.shares.items():
        most, all_time = max(shares.threads), sum(shares.threads)
        code = [s for s in e.stacks if s.state == "on_core" and s.in_run and s.path and _region(s) == region]
        held = sum(s.seconds for s in e.stacks if s.state in LOCKS and s.path and _region(s) == region)
        # The thread that has most may be another one in each region: then one of them is there for longer than any is.
        gain = max(most - all_time / e.workers, shares.any_there - shares.there / min(e.workers, e.cores))
        if held > 0.5 * gain * e.workers:
            continue  # the threads waited for a lock
        alone = most > 0.95 * all_time or shares.any_there > 0.95 * shares.there
        found.append(
            Finding(
                cause="no_parallelism" if alone else "uneven_threads",
                title="no parallelism in a region" if alone else "threads have unequal shares of a loop",
                place=hottest_place(code),
                path=path_to_it(code),
                evidence=(
                    f"of {duration(all_time)} of processor time in the region, one thread had {duration(most)}; an "
                    f"equal share of {e.workers} threads is {duration(all_time / e.workers)}; at least one thread "
                    f"was in it for {duration(shares.any_there)}",
                ),
                gain=gain,
                # A thread that has no core leaves its iterations to the others, if it has come to the region at all.
                uncertain=sampling_error(code) + e.median(lambda t: max(t.queued, t.waiting)) / e.workers,
                basis="estimated",
                advice="give the region's work to all threads (for, taskloop, task)"
                if alone
                else "schedule(dynamic) or schedule(guided), or smaller chunks",
                also=further_places(code),
            )
        )
    return found


def _region(s: Stack) -> Place:
    return Place(s.path[-1].function, s.path[-1].file)
