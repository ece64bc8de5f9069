"""Recorded programs on modelled machines."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from . import _core
from .errors import Error, compose
from .policy import Policy
from .report import Report, RunReport
from .trace import Trace, layout, read_trace

Times = Literal["auto", "measured", "declared"]


class Program:
    """A recorded program that can be run again: its tasks with what they did and declared, forks and joins, groups,
    graphs, and which task waited for which. `simulate` runs it.

    `times` says how long the tasks take. "measured": as long as they ran (in a trace of the model: computed).
    "declared": what they declared with weft::cost, and their waits for the data and disks that they declared. "auto":
    declared if the trace is of a modelled machine and the program calls weft::cost, else measured. Raises `Error` if
    declared times are asked for and there are none, or if the trace has no task.
    """

    def __init__(self, trace: Trace | str | os.PathLike[str], *, times: Times = "auto") -> None:
        if times not in ("auto", "measured", "declared"):
            raise Error(compose("unknown times of tasks", times, "auto, measured, declared"))
        self.trace = trace if isinstance(trace, Trace) else read_trace(trace)
        records = self.trace.records
        is_virtual = self.trace.header.time == "virtual"
        declares = bool((records["kind"] == layout.KIND["cost"]).any())
        self.times: str = ("declared" if is_virtual and declares else "measured") if times == "auto" else times
        if self.times == "declared" and not declares:
            raise Error(
                compose(
                    "the times of the tasks are to be those that they declare",
                    f"{self.trace.path}, of a program that never calls weft::cost",
                    "measured times",
                )
            )
        raw = np.ascontiguousarray(records).view(np.uint8).reshape(len(records), layout.RECORD.itemsize)
        header = self.trace.header
        declared = self.times == "declared"
        try:
            # A place is no name: policies are told what they were told in the run.
            names = dict.fromkeys(self.trace.codes, "") | self.trace.names
            self._core = _core.program(raw, header.workers, self.trace.complete, is_virtual, names, declared)
        except ValueError as damage:
            raise Error(f"{self.trace.path}: {damage}") from None
        if self.tasks == 0:
            raise Error(compose("there is nothing to run", f"{self.trace.path}, without a task", "a trace of a run"))

    @property
    def tasks(self) -> int:
        """Number of tasks, forks included."""
        return self._core.tasks

    @property
    def lost(self) -> int:
        """Number of events that the trace lacks. If it is not 0, a part of the program is not run again."""
        return self._core.lost


@dataclass(frozen=True)
class SimulatedRun:
    """One of the runs that the recorded program consisted of: a call of weft::runtime::run, or several at once."""

    seconds: float
    """Virtual."""
    recorded_seconds: float
    """The same in the trace."""
    report: RunReport = field(repr=False)
    """The report of what workers, caches and memory did."""


@dataclass(frozen=True)
class Simulation:
    """The result of `simulate`."""

    machine: str
    policy: str
    workers: int
    seconds: float
    """Virtual seconds of all runs together."""
    recorded_seconds: float
    """The same in the trace."""
    runs: tuple[SimulatedRun, ...]
    program: Program

    @property
    def report(self) -> Report:
        """One report of all runs, like that of a program."""
        return Report(tuple(r.report for r in self.runs), len(self.runs))


def simulate(
    program: Program | Trace | str | os.PathLike[str],
    *,
    machine: str | os.PathLike[str] = "",
    policy: str | Callable[[], Policy] = "",
    workers: int | None = None,
    seed: int | None = None,
    resources: str | os.PathLike[str] = "",
    scenario: str | os.PathLike[str] = "",
    trace: str | os.PathLike[str] = "",
    stack_bytes: int = 16 << 20,
) -> Simulation:
    """Runs a recorded program on a modelled machine under a policy.

    `program`: a `Program`, or a trace or its file. `machine`, `policy`, `workers`, `seed`, `resources`, `scenario` and
    `trace` are as for the environment's variables of these names (WEFT_MACHINE and so on). An empty one has the value
    of that variable; without the variable it is this machine, the default policy, as many workers as the machine has,
    the resources of the recorded run, and nothing for the others. `policy` may also be a class derived from `Policy`,
    or another callable that makes one (CPython up to 3.13). `stack_bytes`: size of each task's stack. Raises
    `LibraryError` if the library refuses an argument, and `Error` if the program cannot be run again or its tasks wait
    for each other, as those of a damaged trace may.
    """
    if not isinstance(program, Program):
        program = Program(program)
    if not isinstance(policy, str) and sys.version_info >= (3, 14):
        # Tasks have stacks of their own. From 3.14 on the interpreter refuses to run on any stack but the thread's.
        raise Error(compose("a policy in Python needs an older interpreter", sys.version.split()[0], "3.11 to 3.13"))
    with _resources_file(resources, program.trace.header.resources) as file:
        try:
            d = _core.simulate(
                program._core,
                machine=os.fspath(machine),
                policy=policy,
                workers=workers,
                seed=seed,
                resources=file,
                scenario=os.fspath(scenario),
                trace=os.fspath(trace),
                stack_bytes=stack_bytes,
            )
        except _core.EndlessWait as waiting:
            raise Error(str(waiting)) from None
    runs = tuple(
        SimulatedRun(r["seconds"], r["recorded_seconds"], RunReport.of(json.loads(r["report"]))) for r in d["runs"]
    )
    name = policy or "steal" if isinstance(policy, str) else getattr(policy, "__name__", repr(policy))
    return Simulation(d["machine"], name, d["workers"], d["seconds"], d["recorded_seconds"], runs, program)


@contextlib.contextmanager
def _resources_file(given: str | os.PathLike[str], recorded: str) -> Iterator[str]:
    if given or not recorded:
        yield os.fspath(given)
        return
    with tempfile.NamedTemporaryFile("w", encoding="utf-8", prefix="recorded-", suffix=".toml") as file:
        file.write(recorded)
        file.flush()
        yield file.name
