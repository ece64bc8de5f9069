"""The causes of lost time: a table of functions from evidence to findings. They run nothing and know no clock."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import TypeVar

from .collect import DEFAULT_POLICY, INFLATED
from .evidence import Evidence, Timing
from .finding import Finding, Place
from .idle import IdleRun
from .stacks import Stack

LOCKS = ("mutex", "rwlock")
LOCKED = 0.1
"""A part of the workers' time in locks above this explains processor time that grows with the workers."""
BLOCKING = ("sleep", "transfer", "poll", "condition", "semaphore", "barrier", "join", "futex")
_CALLS = {
    "sleep": "sleep in the kernel",
    "transfer": "wait for input or output",
    "poll": "wait for files or connections",
    "condition": "wait for a condition variable",
    "semaphore": "wait for a semaphore",
    "barrier": "wait at a barrier of the system",
    "join": "wait for the end of a thread or process",
    "futex": "wait for an atomic variable",
}

Cause = Callable[[Evidence], list[Finding]]

T = TypeVar("T")
K = TypeVar("K")


# ---- outside of runs


def serial(e: Evidence) -> list[Finding]:
    """Code that the calling thread runs while there is no run."""
    code = [s for s in e.stacks if s.is_serial and s.state == "on_core" and s.owner != "runtime"]
    if not code:
        return _serial_without_places(e)
    seconds = sum(s.seconds for s in code)
    return [
        Finding(
            cause="serial",
            title="serial code outside of the runs",
            place=_place(code),
            path=_path(code),
            evidence=(
                f"{_time(seconds)} of processor time in which no worker had anything to do: "
                f"{seconds / e.seconds:.0%} of the program's time",
                *_where(code),
            ),
            gain=seconds * (1 - 1 / e.workers),
            uncertain=0.1 * seconds + _sampling_error(code),
            basis="estimated",
            advice="make this part parallel too (weft::parallel_for, weft::parallel_reduce), or let it run beside a "
            "loop (weft::join); if it makes the data, make it in the loop that uses them",
            also=_others(code),
        )
    ]


def _serial_without_places(e: Evidence) -> list[Finding]:
    if e.stacks:
        return []
    outside = e.median(lambda t: t.outside)
    return [
        Finding(
            cause="serial",
            title="time between the runs",
            place=None,
            evidence=(f"{_time(outside)} between the runs, {outside / e.seconds:.0%} of the program's time",),
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
    for call, group in _by(waits, lambda s: s.state).items():
        seconds = sum(s.seconds for s in group)
        found.append(
            Finding(
                cause="waiting_outside",
                title=f"the program is blocked outside of its runs: {_CALLS.get(call, 'a lock')}",
                place=_place(group),
                path=_path(group),
                evidence=(f"{_time(seconds)} in {_times(group)}, the longest {_time(max(s.longest for s in group))}",),
                gain=seconds * (1 - 1 / e.workers),
                uncertain=0.1 * seconds,
                basis="estimated",
                advice="do the waiting beside work: in a task of its own (weft::join, weft::task_group), with "
                "weft::this_task::sleep_for, or with asynchronous input and output",
            )
        )
    return found


# ---- workers that cannot go on


def lock(e: Evidence) -> list[Finding]:
    """Tasks wait for a lock in the kernel: std::mutex and kin."""
    waits = [s for s in e.stacks if s.state in LOCKS and s.in_run and s.owner == "program"]
    found = []
    for place, group in _by(waits, lambda s: s.place).items():
        seconds, times = sum(s.seconds for s in group), sum(s.times for s in group)
        holders = {s.holder for s in group if s.holder}
        who = f"the holder had taken it at {', '.join(map(str, sorted(holders, key=str)))}" if holders else ""
        found.append(
            Finding(
                cause="lock",
                title="tasks wait for a lock",
                place=place,
                path=_path(group),
                evidence=(
                    f"workers waited {_time(seconds)} for it, {times} times: "
                    f"{seconds / (e.seconds * e.workers):.0%} of the workers' time",
                    *((who,) if who else ()),
                ),
                gain=_shared(e, seconds),
                uncertain=0.25 * seconds / e.workers,
                basis="estimated",
                advice="hold it for less: compute first and lock for the result only; give each worker a part of its "
                "own (weft::per_worker, weft::parallel_reduce); or use several locks for parts of the data",
                also=tuple(h for h in holders if h != place),
            )
        )
    return found


def blocking(e: Evidence) -> list[Finding]:
    """Tasks call what blocks their worker in the kernel."""
    waits = [s for s in e.stacks if s.state in BLOCKING and s.in_run and s.owner == "program"]
    found = []
    for place, group in _by(waits, lambda s: s.place).items():
        seconds, longest = sum(s.seconds for s in group), max(s.longest for s in group)
        call = max(group, key=lambda s: s.seconds).state
        found.append(
            Finding(
                cause="blocking",
                title=f"tasks block their workers: {_CALLS[call]}",
                place=place,
                path=_path(group),
                evidence=(
                    f"workers were blocked for {_time(seconds)} in {_times(group)}, the longest {_time(longest)}: "
                    f"{seconds / (e.seconds * e.workers):.0%} of the workers' time",
                ),
                gain=max(_shared(e, seconds) - longest, 0.0),
                uncertain=0.1 * seconds / e.workers + longest,
                basis="estimated",
                advice=_instead(call),
            )
        )
    return found


def _instead(call: str) -> str:
    if call == "sleep":
        return "weft::this_task::sleep_for gives the worker to other tasks while the task waits"
    if call in ("condition", "semaphore", "barrier", "futex"):
        return "weft::condition_variable, weft::semaphore, weft::latch and weft::barrier give the worker to other tasks"
    return (
        "more workers than cores hide the waiting (WEFT_WORKERS), or do it in one task beside the loop and hand the "
        "data over (weft::pipeline)"
    )


def weft_wait(e: Evidence) -> list[Finding]:
    """Tasks wait for a lock of Weft (or of OpenMP), a future or a time while workers have nothing else to do."""
    return _of_idle(
        e,
        "waiting",
        cause="weft_wait",
        title="tasks wait for each other or for a time, and nothing else is there to run",
        says=lambda runs: (
            f"in {len(runs)} runs tasks waited in Weft (weft::mutex, critical, a future, a timer) "
            f"while workers were idle for {_time(sum(r.idle for r in runs))}"
        ),
        advice="let tasks hold the lock for less, or use several; give the workers other tasks while these wait",
    )


# ---- too little to do


def long_piece(e: Evidence) -> list[Finding]:
    """One task takes most of its run."""
    return _of_idle(
        e,
        "long_piece",
        cause="long_piece",
        title="one long piece",
        says=lambda runs: (
            f"in {len(runs)} runs one task ran for {_time(max(r.longest for r in runs))} of "
            f"{_time(max(r.length for r in runs))}, while the other workers had nothing left to do"
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
            f"{len(runs)} runs of {_time(sum(r.length for r in runs))} had work of "
            f"{_time(sum(r.work for r in runs))}, in {_tasks(runs)}: about one worker had something to do"
        ),
        advice="cut the work into more independent pieces: a smaller grain, fewer dependences, a loop or a divide and "
        "conquer in place of one task after another",
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
            f"{len(runs)} runs took {_time(sum(r.length for r in runs) / len(runs))} each: about as long "
            "as it takes to wake a worker and hand it work"
        ),
        advice="put several of these loops into one run, or into one loop; or leave such small loops serial",
    )


def uneven(e: Evidence) -> list[Finding]:
    """Idleness in runs that have enough parallelism: the scheduler, or a grain that leaves few pieces."""
    return _of_idle(
        e,
        "uneven",
        cause="uneven",
        title="workers idle although there was parallel work",
        says=lambda runs: (
            f"in {len(runs)} runs workers were idle for {_time(sum(r.idle for r in runs))}, with work of "
            f"{_time(sum(r.work for r in runs))} in {_tasks(runs)}"
        ),
        advice="a smaller grain gives pieces that even out; or another policy (weft policies)",
    )


def _of_idle(
    e: Evidence,
    kind: str,
    *,
    cause: str,
    title: str,
    says: Callable[[list[IdleRun]], str],
    advice: str,
    at_least: Callable[[Evidence, list[IdleRun]], float] = lambda _, __: 0.0,
) -> list[Finding]:
    """Findings by construct from runs with idle workers. The traced run says how the idleness is divided; how much
    there is, the plain runs say. `at_least`: what mending saves besides."""
    if not e.idle or e.idle.total <= 0:
        return []
    total = min(e.median(lambda t: t.idle), e.workers * e.seconds)
    found = []
    runs = [r for r in e.idle.runs if r.kind == kind]
    for construct, group in _by(runs, lambda r: r.construct).items():
        idle = sum(r.idle for r in group) / e.idle.total * total
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
                gain=max(idle / e.workers, at_least(e, group)),
                uncertain=e.variation(lambda t: t.idle) / e.workers + e.disturbance,
                basis="estimated",
                advice=advice,
                also=(inner,) if inner and inner != place else (),
            )
        )
    return found


def _without_runs(e: Evidence, runs: list[IdleRun]) -> float:
    """The time of these runs beyond that of their work, if it were in one run."""
    assert e.idle
    length, work = sum(r.length for r in runs), sum(r.work for r in e.idle.runs)
    if e.own is None or not e.idle.elapsed or not work:
        return 0.0
    code = [s for s in e.stacks if s.state == "on_core" and s.owner == "program"]
    in_runs = sum(s.seconds for s in code if s.in_run) / (sum(s.seconds for s in code) or 1.0)
    own = e.own * in_runs * sum(r.work for r in runs) / work
    return e.median(lambda t: t.in_runs) * length / e.idle.elapsed - own / e.workers


def _hottest(e: Evidence, runs: list[IdleRun]) -> Stack | None:
    """What ran while the workers were idle: the task that they waited for longest."""
    return e.hottest([(r.begin, r.end) for r in runs]) if e.hottest else None


def uneven_threads(e: Evidence) -> list[Finding]:
    """OpenMP: a thread of a team does more than the others, which wait for it."""
    found = []
    for region, shares in e.shares.items():
        most, all_time = max(shares), sum(shares)
        code = [s for s in e.stacks if s.state == "on_core" and s.in_run and s.path and _region(s) == region]
        held = sum(s.seconds for s in e.stacks if s.state in LOCKS and s.path and _region(s) == region)
        gain = most - all_time / e.workers
        if held > 0.5 * gain * e.workers:
            continue  # the threads waited for a lock
        alone = most > 0.95 * all_time
        found.append(
            Finding(
                cause="no_parallelism" if alone else "uneven_threads",
                title="no parallelism in a region" if alone else "threads have unequal shares of a loop",
                place=_place(code),
                path=_path(code),
                evidence=(
                    f"of {_time(all_time)} of processor time in the region, one thread had {_time(most)}; an equal "
                    f"share of {e.workers} threads is {_time(all_time / e.workers)}",
                ),
                gain=gain,
                uncertain=_sampling_error(code) + e.disturbance,
                basis="estimated",
                advice="give the region's work to all threads (for, taskloop, task)"
                if alone
                else "schedule(dynamic) or schedule(guided), or smaller chunks",
                also=_others(code),
            )
        )
    return found


def _region(s: Stack) -> Place:
    return Place(s.path[-1].function, s.path[-1].file)


# ---- more processor time than needed


def runtime(e: Evidence) -> list[Finding]:
    """Processor time in the runtime instead of the program, while workers are busy."""
    on_core = [s for s in e.stacks if s.state == "on_core" and s.in_run and s.path]
    own = [s for s in on_core if s.owner == "program"]
    mine = [s for s in on_core if s.owner == "runtime"]
    if not mine or not e.watched:
        return []
    # The threads that call OpenMP's regions are no workers, so the report lacks their time.
    busy = sum(s.seconds for s in own + mine) if e.shares else e.watched.on_core
    seconds = max(busy - sum(s.seconds for s in own), 0.0)
    return [
        Finding(
            cause="overhead",
            title="too little work in each task or iteration",
            place=_place(mine),
            path=_path(mine),
            evidence=(
                f"{_time(seconds)} of {_time(busy)} of processor time of busy workers was in the runtime: "
                f"{seconds / busy:.0%}",
            ),
            gain=_shared(e, seconds),
            uncertain=(_sampling_error(own) + _sampling_error(mine)) / e.workers,
            basis="estimated",
            advice="do more in each task: a larger grain, a serial version for small parts, one task for several",
            also=_others(mine),
        )
    ]


def inflated(e: Evidence) -> list[Finding]:
    """The same work takes more processor time with more workers."""
    factor, own, alone = e.inflation, e.own, e.own_alone
    if factor is None or own is None or alone is None or factor <= INFLATED or _waits_for_locks(e):
        return []
    code = [s for s in e.stacks if s.state == "on_core" and s.in_run and s.owner == "program"]
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
            "give each worker a variable of its own in a cache line of its own (weft::per_worker), and add up at the "
            "end; an atomic that all workers change is slow in the same way"
        )
    return [
        Finding(
            cause=cause,
            title=title,
            place=_place(code),
            path=_path(code),
            evidence=(said, *told),
            gain=(own - alone) / e.workers,
            uncertain=(e.variation(lambda t: t.on_core) + _sampling_error(code)) / e.workers,
            basis="tested" if e.copies is not None else "estimated",
            advice=advice,
            also=_others(code),
        )
    ]


def _waits_for_locks(e: Evidence) -> bool:
    """Handing a lock from worker to worker takes processor time in the kernel: that is the lock's cost."""
    seconds = sum(s.seconds for s in e.stacks if s.state in LOCKS and s.in_run)
    return seconds > LOCKED * e.seconds * e.workers


# ---- settings, and what is around the program


def policy(e: Evidence) -> list[Finding]:
    """Another policy is faster."""
    if not e.default_policy:
        return []
    given = e.plain[0].policy
    gain = e.seconds - e.default_policy.seconds
    return [
        Finding(
            cause="policy",
            title=f"the policy {given} does not suit the program",
            place=None,
            evidence=(
                f"{_time(e.seconds)} under {given}, {_time(e.default_policy.seconds)} under {DEFAULT_POLICY}",
                f"workers were idle for {e.median(lambda t: t.idle) / (e.workers * e.seconds):.0%} of their time",
            ),
            gain=gain,
            uncertain=e.spread + _spread(e.default_policy.timings),
            basis="tested",
            advice=f"WEFT_POLICY={DEFAULT_POLICY}, or leave it out",
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
                f"{e.workers} workers on {e.cores} cores: {_time(e.seconds)}; {e.cores} workers: "
                f"{_time(e.as_many_as_cores.seconds)}",
            ),
            gain=gain,
            uncertain=e.spread + _spread(e.as_many_as_cores.timings),
            basis="tested",
            advice=f"WEFT_WORKERS={e.cores}, or leave it out",
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
    if e.workers > e.cores or _waits_for_locks(e):
        return []
    seconds = e.median(lambda t: t.waiting)
    return [
        Finding(
            cause="other_programs",
            title="other programs use the cores",
            place=None,
            evidence=(
                f"workers were ready to run for {_time(seconds)} and had no core: "
                f"{seconds / (e.workers * e.seconds):.0%} of their time",
            ),
            gain=seconds / e.workers,
            uncertain=(e.variation(lambda t: t.waiting) + e.median(lambda t: t.uncertain)) / e.workers,
            basis="estimated",
            advice="measure on an idle machine; the other findings are less sure here",
        )
    ]


CAUSES: tuple[Cause, ...] = (
    serial,
    waiting_outside,
    lock,
    blocking,
    weft_wait,
    long_piece,
    no_parallelism,
    short_runs,
    uneven,
    uneven_threads,
    runtime,
    inflated,
    policy,
    oversubscription,
    one_worker,
    other_programs,
)
"""Every cause that is known."""


# ---- what they share


def _shared(e: Evidence, seconds: float) -> float:
    """Time of the program that worker time stands for, if all workers share in it."""
    return min(seconds / e.workers, e.seconds)


def _by(items: Iterable[T], key: Callable[[T], K]) -> dict[K, list[T]]:
    groups: dict[K, list[T]] = defaultdict(list)
    for item in items:
        groups[key(item)].append(item)
    return dict(groups)


def _place(stacks: list[Stack]) -> Place | None:
    """The place with the most time."""
    sums: dict[Place, float] = defaultdict(float)
    for s in stacks:
        if s.place:
            sums[s.place] += s.seconds
    return max(sums, key=lambda p: sums[p]) if sums else None


def _path(stacks: list[Stack]) -> tuple[Place, ...]:
    """The longest path to that place."""
    place = _place(stacks)
    here = [s for s in stacks if s.place == place]
    return max(here, key=lambda s: s.seconds).path if here else ()


def _others(stacks: list[Stack]) -> tuple[Place, ...]:
    """Further places that have at least a tenth of the time."""
    total = sum(s.seconds for s in stacks)
    groups = {p: sum(s.seconds for s in g) for p, g in _by(stacks, lambda s: s.place).items() if p}
    ranked = sorted(groups, key=lambda p: -groups[p])
    return tuple(p for p in ranked[1:4] if groups[p] >= 0.1 * total)


def _where(stacks: list[Stack]) -> tuple[str, ...]:
    others = _others(stacks)
    return (f"also at {', '.join(map(str, others))}",) if others else ()


def _sampling_error(stacks: list[Stack]) -> float:
    """Each stack was seen at single moments: an error of one sample for the square root of their number."""
    times = sum(s.times for s in stacks)
    return sum(s.seconds for s in stacks) / times**0.5 if times else 0.0


def _times(stacks: list[Stack]) -> str:
    n = sum(s.times for s in stacks)
    return "1 call" if n == 1 else f"{n} calls"


def _tasks(runs: list[IdleRun]) -> str:
    n = round(sum(r.tasks for r in runs) / len(runs))
    return "1 task" if n == 1 else f"{n} tasks"


def _time(seconds: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def _spread(timings: tuple[Timing, ...]) -> float:
    times = [t.seconds for t in timings]
    return (max(times) - min(times)) / 2
