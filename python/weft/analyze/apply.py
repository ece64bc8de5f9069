"""Runs a program under the limits that an analysis suggests."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ..errors import Error, compose
from ..launcher import LaunchError, launch
from ..trace.read import read_trace
from ..trace.trace import Header
from .analysis import Analysis
from .contention import time_above
from .workload import workload

CLOCKS = 0.01
"""For this part of the time more tasks than allowed may seem to run, since workers' clocks differ a little."""


@dataclass(frozen=True)
class Applied:
    """Predicted against real time, in nanoseconds, over all phases."""

    command: tuple[str, ...]
    limits: dict[str, float]
    before: int
    """Time of the run that was analysed."""
    predicted: float
    elapsed: int
    error: float
    """predicted / elapsed - 1."""
    gain: float
    """1 - elapsed / before."""


def apply(
    analysis: Analysis,
    header: Header,
    resources: Path,
    *,
    command: Sequence[str] = (),
    machine: str | None = None,
    skip: int = 0,
) -> Applied:
    """Runs the program again under the best limits, which the file `resources` holds.

    Engine, policy, workers and seed are those of `header`, which belongs to the analysed trace. So is the program if
    no `command` is given. `machine`: as for WEFT_MACHINE, which the trace does not have; None: from the environment.
    Raises `Error` if nothing was limited, if the program fails, or if it did not run as before except for the limits.
    """
    best = analysis.best
    if best is None:
        raise Error(
            compose("there is nothing to apply", analysis.path, "a trace with a class that suffers, or --limit")
        )
    words = tuple(command) or header.command
    with tempfile.TemporaryDirectory(prefix="weft-") as folder:
        run = launch(
            words,
            engine=header.engine,
            policy=header.policy,
            workers=header.workers,
            machine=machine,
            seed=header.seed,
            resources=os.path.abspath(resources),
            trace=Path(folder, "applied.weft"),
            stdout=subprocess.DEVNULL,
        )
        if run.outcome:
            raise LaunchError(f"{run.outcome}: {' '.join(words)}")
        if not run.traces:
            raise LaunchError(compose("the program has left no trace", words[0], "a program linked with Weft"))
        trace = read_trace(run.traces[0])
        again = workload(trace, skip)
    for what, was, now in (
        ("machine", header.machine, trace.header.machine),
        ("tasks", analysis.tasks, len(again.task_class)),
    ):
        if was != now:
            raise Error(compose(f"the program did not run as before: {what}", now, f"{was}, as in {analysis.path}"))
    for axis in analysis.limits:
        above = time_above(again, axis, best.limits[axis.name]) / again.elapsed
        if above > CLOCKS:
            given = f"more than {best.limits[axis.name]:g} at a time for {above:.0%} of the time"
            allowed = "none; does the program choose a resources file of its own?"
            raise Error(compose(f"the run has not kept to the limit of {axis.name}", given, allowed))
    return Applied(
        command=words,
        limits=best.limits,
        before=analysis.elapsed,
        predicted=best.time,
        elapsed=again.elapsed,
        error=best.time / again.elapsed - 1,
        gain=1 - again.elapsed / analysis.elapsed,
    )
