"""The summary of a run of a program: its reports, with the figures of its traces if there are any."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from .launcher import Run
from .report import Report, RunReport, WorkerReport

if TYPE_CHECKING:
    from .trace.stats import Stats


@dataclass(frozen=True)
class RuntimeSummary:
    """The figures of one runtime, over all its runs. Times are in seconds, virtual ones in the model."""

    process: int | None
    engine: str
    policy: str
    machine: str
    seed: int | None
    runs: int
    """Number of runs that have ended."""
    runs_told: int
    """Number of runs that are in the figures: in the model at most 1000."""
    seconds: float
    """Time from the beginning of each run to its end, summed up."""
    workers: tuple[WorkerReport, ...]
    """Sums over all runs. If a trace shows the overhead, `busy` does not contain it."""
    balance: float | None
    """Busy time of the average worker over that of the busiest one; 1: all were equally busy."""
    work: float | None
    """T1, the sum of the tasks' own times. This and the next four are None without a trace."""
    span: float | None
    """Tinf, the longest path."""
    parallelism: float | None
    """T1 / Tinf."""
    bound: float | None
    """max(T1 / p, Tinf): no schedule of this run's tasks takes less, if a task costs the same everywhere."""
    speedup_by_work: float | None
    """T1 / Tp: the number of workers that were of use, if a task costs the same with one worker."""
    notes: tuple[str, ...]
    span_seconds: float | None = None
    """Time from the beginning of the first run to the end of the last one. This and the next three are None in the
    model."""
    outside: float | None = None
    """The part of it in which there was no run."""
    outside_cpu: float | None = None
    """Processor time that the program's threads had in that part."""
    divided: str | None = None
    """Whether the busy time of the workers is divided into on_core, waiting and blocked; if it is not, why."""
    choices: Mapping[str, Any] | None = None
    """`choices` of the report: what a policy of policies has chosen for each place. None under other policies."""

    @property
    def virtual(self) -> bool:
        return self.engine == "model"


@dataclass(frozen=True)
class Summary:
    """The figures of one program."""

    command: tuple[str, ...]
    status: int
    outcome: str
    """How the program failed; empty if it did not fail."""
    seconds: float
    """Real time of the whole program, in seconds."""
    cpu_seconds: float
    runtimes: tuple[RuntimeSummary, ...]
    """One for each runtime that ran something. Empty if the program is not linked with Weft or was killed."""
    speedup: float | None = None
    """Time of the runs with 1 worker over that of the runs; None if that was not asked for."""

    @property
    def run_seconds(self) -> float:
        """Time of all runs."""
        return sum(r.seconds for r in self.runtimes)

    def to_json(self) -> dict[str, Any]:
        return asdict(self) | {"run_seconds": self.run_seconds}


def summarise(run: Run, baseline: Run | None = None) -> Summary:
    """The figures of a program that has ended. `baseline` is a run of the same program with 1 worker.

    Runtimes that never ran anything are left out. Raises `TraceError` for a trace that is damaged.
    """
    figures = _figures(run) if run.traces else {}
    runtimes = []
    for report in run.reports:
        its = figures.get(report.process)
        traced = its.pop(0) if its else None  # in the order of the runtimes of a process, like its reports
        if report.runs:
            runtimes.append(summarise_runtime(report, traced))
    summary = Summary(run.command, run.status, run.outcome, run.seconds, run.cpu_seconds, tuple(runtimes))
    if baseline is None or summary.run_seconds <= 0:
        return summary
    alone = sum(report.seconds for report in baseline.reports)
    return replace(summary, speedup=alone / summary.run_seconds)


def _figures(run: Run) -> dict[int | None, list[Stats]]:
    """Those of the traces, by process."""
    from .trace import read_trace  # a program without a trace needs no libraries for tables
    from .trace.stats import stats

    traces = [read_trace(path) for path in run.traces]
    of = {report.process for report in run.reports}
    return {process: [stats(t) for t in traces if t.header.process == process] for process in of}


def summarise_runtime(report: Report, traced: Stats | None = None) -> RuntimeSummary:
    """The figures of one runtime that ran something, with those of its trace."""
    first, total = report.runs[0], report.total
    workers = list(total.workers) if total else [_of_worker(report.runs, w) for w in range(len(first.workers))]
    notes = list(total.notes) if total else []
    if not report.complete and not total:
        notes.append(f"only {len(report.runs)} of {report.runs_ended} runs are in these figures")
    notes += _defaults(first)
    if traced:
        workers = [_with_overhead(w, t.overhead * 1e-9) for w, t in zip(workers, traced.workers, strict=True)]
        notes += traced.notes
    most = max(w.busy for w in workers)
    known = traced if traced and traced.work else None
    return RuntimeSummary(
        process=report.process,
        engine=first.engine,
        policy=first.policy,
        machine=first.machine,
        seed=first.seed,
        runs=report.runs_ended,
        runs_told=report.runs_ended if total else len(report.runs),
        seconds=report.seconds,
        workers=tuple(workers),
        balance=sum(w.busy for w in workers) / len(workers) / most if most > 0 else None,
        work=known.work * 1e-9 if known else None,
        span=known.span * 1e-9 if known else None,
        parallelism=known.parallelism if known else None,
        bound=known.bound * 1e-9 if known else None,
        speedup_by_work=known.work * 1e-9 / report.seconds if known and report.seconds > 0 else None,
        notes=tuple(notes),
        span_seconds=total.seconds if total else None,
        outside=total.outside if total else None,
        outside_cpu=total.outside_cpu if total else None,
        divided=total.divided if total else None,
        choices=(total.fields if total else report.runs[-1].fields).get("choices"),
    )


def _defaults(run: RunReport) -> list[str]:
    """What a model charged that the machine's description does not say."""
    figures: list[dict[str, Any]] = run.fields.get("figures", [])
    notes = []
    measured = [f for f in figures if f["source"] == "calibrated"]
    if measured:
        notes.append(f"{len(measured)} figures of the machine were measured here on {run.fields['calibrated_on']}")
    typical = [f for f in figures if f["source"] == "typical"]
    words = []
    for f in typical:
        table, _, key = f["figure"].partition(".")
        of_table = [t for t in typical if t["figure"].startswith(f"{table}.")]
        if len(of_table) < 3:
            words.append(f"{table}.{key}")
        elif f is of_table[0]:
            words.append(f"{table} ({len(of_table)})")
    if words:
        notes.append(f"typical figures, not of this machine: {', '.join(words)}")
    return notes


def _of_worker(runs: tuple[RunReport, ...], rank: int) -> WorkerReport:
    parts = [run.workers[rank] for run in runs]
    overheads = [w.overhead for w in parts if w.overhead is not None]
    return WorkerReport(
        busy=sum(w.busy for w in parts),
        search=sum(w.search for w in parts),
        asleep=sum(w.asleep for w in parts),
        overhead=sum(overheads) if overheads else None,
        tasks=sum(w.tasks for w in parts),
        steals=sum(w.steals for w in parts),
        exposures=sum(w.exposures for w in parts),
    )


def _with_overhead(w: WorkerReport, overhead: float) -> WorkerReport:
    """Splits a real worker's busy time by its trace. A modelled worker's report has the parts already."""
    if w.overhead is not None:
        return w
    overhead = min(overhead, w.busy)
    busy = w.busy - overhead
    if w.on_core is None:
        return replace(w, busy=busy, overhead=overhead)
    # What the runtime needs it needs on a core; if it needs more than the worker had, it waited or was blocked.
    on_core = max(w.on_core - overhead, 0.0)
    off_core = max(busy - on_core, 0.0)
    blocked = off_core if w.waiting is None else min(w.blocked or 0.0, off_core)
    waiting = None if w.waiting is None else off_core - blocked
    return replace(w, busy=busy, overhead=overhead, on_core=busy - off_core, blocked=blocked, waiting=waiting)
