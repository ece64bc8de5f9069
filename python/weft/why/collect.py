"""Runs a program as often as its diagnosis needs."""

from __future__ import annotations

import contextlib
import importlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import _core
from ..errors import Error, compose
from ..launcher import LaunchError, Run, launch
from ..profile import Profile, profile_program
from ..trace import MOST_BYTES, read_trace
from .evidence import Evidence, Intervals, Shares, Timing, Trial, timing_alone, timing_of
from .finding import Place
from .idle import idle_of
from .limits import DEFAULT_POLICY, INFLATED
from .pages import Pages, memory_nodes
from .stacks import Stack, stacks_of
from .symbols import TOOL, Symbols
from .threading_libraries import THREADS_OF_LIBRARIES, libraries_with_threads
from .watch import Watch, environment, read_watches

REPEATS = 3
MOST_RUNS = 18
"""With all trials."""

Say = Callable[[str], None]
"""Tells the user what runs now."""


class Collector:
    """Runs one program, always with the same input and settings but for those that a trial changes."""

    def __init__(
        self,
        command: Sequence[str],
        settings: dict[str, Any],
        *,
        repeats: int = REPEATS,
        say: Say = lambda _: None,
        timeout: float | None = None,
        given: Path | None = None,
        openmp: bool = False,
        scaling: bool = False,
    ) -> None:
        """`given`: a file that each run reads as its standard input. None: an empty one. `openmp`: an OpenMP program,
        whose calling thread is a member of its teams. `scaling`: a run with
        one worker says how fast it could be on more cores."""
        self.command = tuple(command)
        self.settings = settings
        self.repeats = repeats
        self.say = say
        self.timeout = timeout
        self.notes: list[str] = []
        self.given = given
        self.openmp = openmp
        self.scaling = scaling

    def evidence(self) -> Evidence:
        """Runs the program as often as needed. Raises `LaunchError` if it fails."""
        self.say(f"about {self.repeats + 4} runs follow, {MOST_RUNS} at most; the first one shows how long one takes")
        first = self._timing()
        left = (self.repeats + 3) * first.seconds
        trace = "" if self.openmp else "reading a large trace takes up to ten more; "
        self.say(f"one run takes {first.seconds:.3g} s; {trace}the others will take about {left:.3g} s")
        plain = (first, *(self._timing() for _ in range(self.repeats - 1)))
        e = Evidence(self.command, cores_available(), plain, openmp=self.openmp, nodes=memory_nodes())
        self.say("watching where its threads run and wait")
        e = replace(e, **self._watched(nodes=e.nodes))
        if not self.openmp:  # whose traces lack the calling thread
            e = self._traced(e)
        if self.scaling and not self.openmp and e.profile is None:
            e = replace(e, profile=self._profiled())
        if e.workers > 1:
            self.say("with one worker")
            e = replace(e, alone=self._noted("1 worker", self._trial("1 worker", 1, workers=1)))
            if e.alone:
                seen = self._watched(workers=1)
                e = replace(e, alone_stacks=seen.get("stacks", ()), alone_watched=seen.get("watched"))
        if e.workers > 1 and not e.has_default_policy:
            self.say(f"under the policy {DEFAULT_POLICY}")
            change = f"policy {DEFAULT_POLICY}"
            e = replace(e, default_policy=self._noted(change, self._trial(change, self.repeats, policy=DEFAULT_POLICY)))
        if e.workers > e.cores:
            self.say(f"with {e.cores} workers")
            change = f"{e.cores} workers"
            trial = self._trial(change, self.repeats, workers=e.cores) or self._with_active(e.cores)
            e = replace(e, as_many_as_cores=self._noted(change, trial))
        if e.has_other_threads and not self.openmp and e.workers > 1 and e.libraries:
            e = replace(e, calling_thread=self._in_calling_thread())
        if e.lies_on_few_nodes:
            e = replace(e, interleaved=self._interleaved())
        if (e.inflation or 1.0) > INFLATED:
            e = replace(e, copies=self._copies(e))
        return replace(e, notes=tuple(self.notes))

    # ---- single runs

    def _timing(self) -> Timing:
        timing = timing_of(self._launch())
        if timing is None:
            allowed = "a program on Weft, or compiled with -fopenmp, that runs something in parallel"
            raise Error(compose("nothing ran in parallel", self.command[0], allowed))
        return timing

    def _trial(self, change: str, times: int, **settings: Any) -> Trial | None:
        """None if the program sets itself what the trial would change."""
        told = timing_alone if settings.get("workers") == 1 else timing_of
        timings = [t for t in (told(self._launch(**settings)) for _ in range(times)) if t]
        workers, policy = settings.get("workers"), settings.get("policy")
        if not timings or (workers and timings[0].workers != workers) or (policy and timings[0].policy != policy):
            return None
        return Trial(change, tuple(timings))

    def _noted(self, change: str, trial: Trial | None) -> Trial | None:
        """Adds a note if there is no trial."""
        if trial is None:
            self.notes.append(f"not tested with {change}: the program sets this itself (runtime_options)")
        return trial

    def _with_active(self, workers: int) -> Trial | None:
        """With only so many of the workers that the program has set up itself. None if its policy needs all of them."""
        try:
            timings = [timing_of(self._launch({"WEFT_ACTIVE": str(workers)})) for _ in range(self.repeats)]
        except LaunchError:
            return None
        return Trial(f"{workers} active workers", tuple(t for t in timings if t))

    def _in_calling_thread(self) -> Trial | None:
        """With libraries that start no threads of their own."""
        change = " ".join(f"{name}=1" for name in THREADS_OF_LIBRARIES)
        self.say("with one thread in each library")
        try:
            timings = [timing_of(self._launch({n: "1" for n in THREADS_OF_LIBRARIES})) for _ in range(self.repeats)]
        except LaunchError as failure:
            if str(failure) == "interrupted":
                raise
            self._note(f"not tested with {change}: the program fails")
            return None
        return Trial(change, tuple(t for t in timings if t))

    def _interleaved(self) -> Trial | None:
        """With its memory spread over all nodes. None, with a note, if the system does not allow it."""
        change = "memory on all nodes"
        self.say(f"with {change}")
        try:
            with _core.InterleavedMemory():
                return self._trial(change, self.repeats)
        except _core.LibraryError as failure:
            self._note(f"not tested with {change}: {failure}")
            return None

    def _launch(
        self,
        environment: dict[str, Any] | None = None,
        trace: Path | None = None,
        observer: Callable[[list[Path]], None] | None = None,
        **settings: Any,
    ) -> Run:
        """Raises `LaunchError` if the program fails."""
        given = self.settings | settings
        variables = {**given.pop("environment", {}), **(environment or {})}
        if trace is None:
            variables["WEFT_TRACE"] = None
        if "LD_PRELOAD" in variables and (before := self.settings.get("environment", {}).get("LD_PRELOAD")):
            variables["LD_PRELOAD"] = f"{variables['LD_PRELOAD']}:{before}"
        with tempfile.TemporaryFile() as errors, open(self.given or os.devnull, "rb") as stdin:
            run = launch(
                self.command,
                environment=variables,
                trace=trace,
                observer=_Limit(trace) if trace else observer,
                timeout=self.timeout,
                stdin=stdin,
                stdout=subprocess.DEVNULL,
                stderr=errors,
                **given,
            )
            if run.interrupted:
                raise LaunchError("interrupted")
            if run.outcome:
                errors.seek(0)
                shutil.copyfileobj(errors, sys.stderr.buffer)
                raise LaunchError(f"{run.outcome}: {' '.join(self.command)}")
            return run

    def _note(self, text: str) -> None:
        if text not in self.notes:
            self.notes.append(text)

    # ---- what is seen from inside

    def _watched(self, nodes: int = 1, **settings: Any) -> dict[str, Any]:
        """`stacks`, `watched` and, on several memory nodes, `pages` of evidence; empty, with a note, if they cannot be
        had."""
        pages = Pages()
        if not Symbols.is_possible():
            self._note(f"places are addresses: {TOOL} is not installed (it is part of the GNU binutils)")
        with tempfile.TemporaryDirectory(prefix="weft-why-") as folder:
            file = Path(folder, "watch")
            run = self._launch(environment=environment(file), observer=pages if nodes > 1 else None, **settings)
            timing = timing_alone(run) if settings.get("workers") == 1 else timing_of(run)
            watch = _largest(read_watches(file))
        if watch is None:
            self._note(
                "where threads ran and waited is not known: the program loads no libraries (it is statically linked), "
                "so libweft-watch.so was not in it"
            )
            return {"pages": pages.most}
        if watch.lost:
            self.notes.append(f"{watch.lost} times that threads waited or ran found no room")
        stacks = stacks_of(watch)
        if any(s.is_without_symbols for s in stacks):
            self._note(
                "program+0x1a2b is the function at that place in the file program, which has no symbols: "
                "compile it with -g to see names and lines"
            )
        shares = _shares(watch, stacks) if self.openmp else {}
        return {
            "stacks": tuple(stacks),
            "watched": timing,
            "shares": shares,
            "pages": pages.most,
            "libraries": libraries_with_threads(watch.maps),
        }

    def _traced(self, e: Evidence) -> Evidence:
        self.say("tracing its tasks")
        with tempfile.TemporaryDirectory(prefix="weft-why-") as folder:
            trace_file, file = Path(folder, "run.weft"), Path(folder, "watch")
            try:
                run = self._launch(environment=environment(file), trace=trace_file)
                traces = list(run.traces)
            except _TooLarge:
                self.notes.append(
                    f"the trace grew to {MOST_BYTES >> 20} MB: what its tasks did later is not in these figures"
                )
                traces = [trace_file]
                e = replace(e, profile=self._profiled())
            if not traces:
                return e
            trace = read_trace(max(traces, key=lambda p: p.stat().st_size))
            if trace.lost:
                self.notes.append(f"{trace.lost} events of the trace were lost: what workers waited for is less sure")
            watch = _largest(read_watches(file))
            hottest = Hottest(watch).stack if watch else None
            return replace(e, idle=idle_of(trace), constructs=_constructs(trace), hottest=hottest)

    def _profiled(self) -> Profile | None:
        """None, with a note, if the program sets its number of workers itself."""
        self.say("measuring work and span")
        given = {k: v for k, v in self.settings.items() if k != "workers"}
        with tempfile.TemporaryFile() as errors, open(self.given or os.devnull, "rb") as stdin:
            try:
                return profile_program(
                    self.command,
                    timeout=self.timeout,
                    stdin=stdin,
                    stdout=subprocess.DEVNULL,
                    stderr=errors,
                    **given,
                )
            except LaunchError as failure:
                if str(failure) == "interrupted":
                    raise
                self._note("work and span are not known: the program does not run with WEFT_PROFILE and one worker")
                return None

    def _copies(self, e: Evidence) -> float | None:
        """As many copies of the program as it has workers, each with one worker, at the same time."""
        self.say(f"{e.workers} copies with one worker each, side by side")
        with tempfile.TemporaryDirectory(prefix="weft-why-") as folder, ThreadPoolExecutor(e.workers) as pool:
            files = [Path(folder, f"watch-{i}") for i in range(e.workers)]
            list(pool.map(lambda f: self._launch(environment=environment(f), workers=1), files))
            watches = [_largest(read_watches(f)) for f in files]
        own = [_own_time(w) for w in watches if w]
        alone = sum(s.seconds for s in e.alone_stacks if s.state == "on_core" and s.owner == "program")
        return min(own) / alone if len(own) == e.workers and alone > 0 else None


def _shares(watch: Watch, stacks: list[Stack]) -> dict[Place, Shares]:
    """By the place that the runtime has called."""
    rows: dict[Place, list[int]] = {}
    on_core = np.array([s.state == "on_core" for s in stacks])
    for i, place in enumerate(watch.samples["place"]):
        stack = stacks[int(place)]
        if stack.in_run and stack.owner == "program" and stack.place:
            rows.setdefault(Place(stack.path[-1].function, stack.path[-1].file), []).append(i)
    found = {region: shares_of(s := watch.samples[of], on_core[s["place"]]) for region, of in rows.items()}
    return {region: s for region, s in found.items() if s.threads}


def shares_of(samples: npt.NDArray[np.void], on_core: npt.NDArray[np.bool_]) -> Shares:
    """Of samples of one region, each of which is at the end of the time that it stands for."""
    thread, end, ns = samples["thread"], samples["end"].astype(np.int64), samples["ns"].astype(np.int64)
    order = np.argsort(end - ns, kind="stable")
    begin, end_of = (end - ns)[order], np.maximum.accumulate(end[order])
    covered = np.append(begin[:1], end_of[:-1])  # until then, by those that begin before
    any_there = np.maximum(end_of - np.maximum(begin, covered), 0).sum()
    threads = (ns[on_core & (thread == t)].sum() for t in np.unique(thread[on_core]))
    return Shares(tuple(float(t) * 1e-9 for t in threads), float(ns.sum()) * 1e-9, float(any_there) * 1e-9)


def _own_time(watch: Watch) -> float:
    return sum(s.seconds for s in stacks_of(watch) if s.state == "on_core" and s.owner == "program")


class Hottest:
    """What threads ran at which time."""

    def __init__(self, watch: Watch) -> None:
        self._samples = watch.samples
        self._stacks: list[Stack] = stacks_of(watch)

    def stack(self, times: Intervals) -> Stack | None:
        """The stack of the program with the most processor time in these times."""
        s = self._samples
        at = s["end"].astype(np.float64) * 1e-9
        begins, ends = (np.array([t[i] for t in times]) for i in (0, 1))
        interval = np.searchsorted(begins, at, side="right") - 1
        inside = (interval >= 0) & (at <= ends[np.maximum(interval, 0)])
        by_place: dict[Place, float] = {}
        example: dict[Place, Stack] = {}
        for row in s[inside]:
            stack = self._stacks[int(row["place"])]
            if stack.state == "on_core" and stack.owner != "runtime" and stack.place:
                by_place[stack.place] = by_place.get(stack.place, 0.0) + float(row["ns"])
                example.setdefault(stack.place, stack)
        return example[max(by_place, key=lambda p: by_place[p])] if by_place else None


def cores_available() -> int:
    """Cores that this process, and so the program, may use: its set of cores, and the quota of its control group."""
    cores = len(os.sched_getaffinity(0))
    with contextlib.suppress(OSError, ValueError):
        quota, period = Path("/sys/fs/cgroup/cpu.max").read_text().split()
        cores = min(cores, max(1, round(int(quota) / int(period))))
    return cores


class _TooLarge(Exception):
    """The trace has grown beyond what is read."""


class _Limit:
    """An observer of launch() that ends a run whose trace grows too large."""

    def __init__(self, trace: Path) -> None:
        self._trace = trace

    def __call__(self, _: list[Path]) -> None:
        if self._trace.exists() and self._trace.stat().st_size > MOST_BYTES:
            raise _TooLarge


def _largest(watches: list[Watch]) -> Watch | None:
    """The process that did most: the program may be a script that starts it."""
    return max(watches, key=lambda w: sum(s.seconds for s in w.seen if s.state == "on_core"), default=None)


def _constructs(trace: Any) -> dict[str, Place]:
    """Places of classes of tasks, where the trace has them."""
    try:
        places = importlib.import_module("weft.trace.places").places
    except ModuleNotFoundError:
        return {}
    return {name: Place(p.symbol or p.name, p.file, p.line) for name, p in places(trace).items()}
