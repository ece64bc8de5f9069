"""What is known about a program before its causes are named."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from ..launcher import Run
from ..profile import Profile
from ..report import WorkerReport
from .finding import Place
from .idle import Idle
from .language import OPENMP, WEFT, Language
from .limits import DEFAULT_POLICY, FEW_NODES, LEAST_MEMORY, OTHER_THREADS
from .stacks import Stack

Intervals = Sequence[tuple[float, float]]
"""Beginnings and ends, in seconds since 1970, ascending."""


@dataclass(frozen=True)
class Timing:
    """One run of the program with a report, in seconds. Times of workers are sums over all of them and all runs."""

    seconds: float
    """Real time from the program's start to its end, without that of making reports."""
    cpu: float
    workers: int
    policy: str
    from_first_to_last: float
    """Time from the beginning of the first run to the end of the last one."""
    in_runs: float
    outside: float
    runs: int
    divided: bool
    """Whether the next three are known."""
    on_core: float
    waiting: float
    blocked: float
    search: float
    asleep: float
    uncertain: float
    tasks: int
    steals: int
    queued: float = 0.0
    """Time that the workers were ready to run and had no core, busy or idle."""
    other_cpu: float = 0.0
    """Processor time that threads of the program that are no workers had in runs."""

    @property
    def busy(self) -> float:
        return self.on_core + self.waiting + self.blocked

    @property
    def idle(self) -> float:
        """Time without work, but for the part in which a worker was to look for it and had no core."""
        return max(self.search + self.asleep - max(self.queued - self.waiting, 0.0), 0.0)


@dataclass(frozen=True)
class Shares:
    """What the threads of a region did in the program's code, in seconds."""

    threads: tuple[float, ...]
    """Processor time of each."""
    there: float
    """Time in which they were there, on a core or blocked: a sum over the threads."""
    any_there: float
    """Time in which at least one of them was."""


@dataclass(frozen=True)
class Trial:
    """A run of the program under a changed setting."""

    change: str
    timings: tuple[Timing, ...]

    @property
    def seconds(self) -> float:
        return statistics.median(t.seconds for t in self.timings)


@dataclass(frozen=True)
class Evidence:
    """All that was measured. Times are in seconds."""

    command: tuple[str, ...]
    cores: int
    """That the program may use."""
    plain: tuple[Timing, ...]
    """The program as it is, several times."""
    openmp: bool = False
    """Whether it is an OpenMP program, whose source knows nothing of Weft."""
    alone: Trial | None = None
    """With one worker. None: not run."""
    stacks: tuple[Stack, ...] = ()
    """Where its threads ran and waited. Empty: not known, and `notes` says why."""
    watched: Timing | None = None
    """The run in which that was seen."""
    alone_stacks: tuple[Stack, ...] = ()
    """The same with one worker."""
    alone_watched: Timing | None = None
    shares: dict[Place, Shares] = field(default_factory=dict)
    """OpenMP: the program's own code, by parallel region."""
    idle: Idle | None = None
    """What idle workers waited for. None: not known."""
    constructs: dict[str, Place] = field(default_factory=dict)
    """By name of a class of tasks: where it is in the program."""
    hottest: Callable[[Intervals], Stack | None] | None = None
    """What threads ran most in these times."""
    default_policy: Trial | None = None
    """Under the default policy, if the program runs under another one."""
    as_many_as_cores: Trial | None = None
    """With one worker for each core, if there are more."""
    copies: float | None = None
    """How much longer the processor time of a copy with one worker is beside as many copies as there are workers, as a
    factor. None: not run."""
    profile: Profile | None = None
    """Work and span with one worker. None: not asked for and not needed, or not known."""
    nodes: int = 1
    """Memory nodes that the program may use."""
    pages: dict[int, int] = field(default_factory=dict)
    """Bytes of the program by memory node, when it had most. Empty: not known, or there is one node."""
    libraries: tuple[str, ...] = ()
    """That it has loaded, and that start threads of their own for what a task calls."""
    calling_thread: Trial | None = None
    """With these libraries computing in the thread that calls them, if threads that are no workers take much time."""
    interleaved: Trial | None = None
    """With its memory spread over all nodes, if most of it lies on few of them."""
    notes: tuple[str, ...] = ()

    @property
    def seconds(self) -> float:
        """Median time of the program."""
        return statistics.median(t.seconds for t in self.plain)

    @property
    def spread(self) -> float:
        """By how much the time varies: half the distance between the shortest and the longest."""
        times = [t.seconds for t in self.plain]
        return (max(times) - min(times)) / 2

    @property
    def workers(self) -> int:
        return self.plain[0].workers

    @property
    def has_default_policy(self) -> bool:
        return self.plain[0].policy.split(":")[0] == DEFAULT_POLICY

    @property
    def language(self) -> Language:
        return OPENMP if self.openmp else WEFT

    def median(self, of: Callable[[Timing], float]) -> float:
        """The median of a figure over the plain runs."""
        return statistics.median(of(t) for t in self.plain)

    def variation(self, of: Callable[[Timing], float]) -> float:
        """Half the distance between its smallest and largest value."""
        values = [of(t) for t in self.plain]
        return (max(values) - min(values)) / 2

    @property
    def inflation(self) -> float | None:
        """By which factor the processor time of the program's own code grows from one worker to all. None: unknown."""
        alone, all_workers = self.own_alone, self.own
        return all_workers / alone if alone and all_workers else None

    @property
    def own(self) -> float | None:
        """Processor time of the program's own code, in runs and outside."""
        return _own(self.stacks, self.plain)

    @property
    def own_alone(self) -> float | None:
        """The same with one worker."""
        timings = self.alone.timings if self.alone else ()
        return _own(self.alone_stacks, (*timings, *((self.alone_watched,) if self.alone_watched else ())))

    @property
    def has_other_threads(self) -> bool:
        """Whether threads that are no workers compute much while there is a run."""
        return self.median(lambda t: t.other_cpu) >= OTHER_THREADS * self.median(lambda t: t.cpu)

    @property
    def lies_on_few_nodes(self) -> bool:
        """Whether most of the program's memory is on few of the nodes."""
        total = sum(self.pages.values())
        return total >= LEAST_MEMORY and max(self.pages.values()) * self.nodes >= FEW_NODES * total

    @property
    def stretch(self) -> float:
        """By which factor processor time of workers takes longer, since they wait for cores. Where work is saved, the
        waiting for a core in which to do it is saved, too."""
        return self.median(lambda t: (t.on_core + t.waiting) / t.on_core if t.on_core > 0 else 1.0)

    @property
    def disturbance(self) -> float:
        """Time that workers were ready to run and had no core, divided by the number of workers: how much of the
        program's time other programs may have taken."""
        return self.median(lambda t: t.waiting) / self.workers


def _own(stacks: Sequence[Stack], timings: Sequence[Timing]) -> float | None:
    """The part of the processor time that was in the program's own code: the median over the runs. Other programs make
    it longer by what they take from the caches, and shorter where workers change the same data, by keeping them
    apart."""
    seen = [s for s in stacks if s.state == "on_core" and s.path]
    total = sum(s.seconds for s in stacks if s.state == "on_core")
    if not total or not timings:
        return None
    return statistics.median(t.cpu for t in timings) * sum(s.seconds for s in seen if s.owner == "program") / total


def timing_alone(run: Run) -> Timing:
    """The figures of a run with one worker. An OpenMP program makes no runtime then."""
    return timing_of(run) or Timing(
        seconds=run.seconds,
        cpu=run.cpu_seconds,
        workers=1,
        policy="",
        from_first_to_last=0.0,
        in_runs=0.0,
        outside=run.seconds,
        runs=0,
        divided=False,
        on_core=0.0,
        waiting=0.0,
        blocked=0.0,
        search=0.0,
        asleep=0.0,
        uncertain=0.0,
        tasks=0,
        steals=0,
    )


def timing_of(run: Run) -> Timing | None:
    """The figures of a run. None: nothing ran in parallel in it."""
    reports = [r for r in run.reports if r.runs and r.total]
    if not reports:
        return None
    report = max(reports, key=lambda r: r.seconds)  # of several runtimes, the one that ran longest
    total = report.total
    assert total
    known = total.divided in ("yes", "without waiting")

    def all_workers(of: Callable[[WorkerReport], float | None]) -> float:
        return sum(of(w) or 0.0 for w in total.workers)

    return Timing(
        seconds=run.seconds - total.recording,
        cpu=run.cpu_seconds,
        workers=len(total.workers),
        policy=report.runs[0].policy,
        from_first_to_last=total.seconds - total.recording,
        in_runs=total.in_runs,
        outside=total.outside,
        runs=report.runs_ended,
        divided=known,
        on_core=all_workers(lambda w: w.on_core) if known else all_workers(lambda w: w.busy),
        waiting=all_workers(lambda w: w.waiting),
        blocked=all_workers(lambda w: w.blocked),
        search=all_workers(lambda w: w.search),
        asleep=all_workers(lambda w: w.asleep),
        uncertain=all_workers(lambda w: w.uncertain),
        tasks=sum(w.tasks for w in total.workers),
        steals=sum(w.steals for w in total.workers),
        queued=(total.fields.get("worker_threads") or {}).get("queued") or 0.0,
        other_cpu=(total.fields.get("other_threads") or {}).get("cpu") or 0.0,
    )
