"""`weft sim --replay`."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ..simulation import Program, Simulation, simulate
from ..summary import summarise_runtime
from ..trace import Trace, read_trace
from .runtime import print_runtime
from .table import console as make_console
from .table import duration


@dataclass(frozen=True)
class WhatIf:
    """What is run again, and where. Empty settings are taken from the environment."""

    trace: Path
    machine: str
    policy: str
    seed: int | None
    resources: Path | None
    scenario: Path | None
    costs: str | None


def run_again(w: WhatIf, workers: int | None, trace: Path | None, speedup: bool, as_json: bool) -> int:
    """Runs it, and shows what its workers did. `speedup`: with 1 worker, too."""
    console = make_console(stderr=True)
    with console.status(f"reading {w.trace}") as status:
        recorded = read_trace(w.trace)
        program = Program(recorded, times=w.costs or "auto")  # type: ignore[arg-type]
        status.update(f"running {program.tasks} tasks again")
        with _interruptible():
            result = _simulate(w, program, workers, trace)
            alone = _simulate(w, program, 1, None) if speedup else None
    gained = alone.seconds / result.seconds if alone and result.seconds > 0 else None
    if as_json:
        print(json.dumps(_as_json(recorded, result, gained), indent=2))
    else:
        _print(recorded, result, gained)
    return 0


def _simulate(w: WhatIf, program: Program, workers: int | None, trace: Path | None) -> Simulation:
    return simulate(
        program,
        machine=w.machine,
        policy=w.policy,
        workers=workers,
        seed=w.seed,
        resources=w.resources or "",
        scenario=w.scenario or "",
        trace=trace or "",
    )


@contextmanager
def _interruptible() -> Iterator[None]:
    """SIGINT ends the process at once. The interpreter's own handler would run after the simulation only."""
    before = signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _as_json(recorded: Trace, result: Simulation, gained: float | None) -> dict[str, Any]:
    header = recorded.header
    return {
        "recorded": {
            "path": str(recorded.path),
            "engine": header.engine,
            "policy": header.policy,
            "machine": header.machine,
            "workers": header.workers,
            "seconds": result.recorded_seconds,
            "work": recorded.work * 1e-9,
            "span": recorded.span * 1e-9,
            "lost": recorded.lost,
            "complete": recorded.complete,
        },
        "times": result.program.times,
        "tasks": result.program.tasks,
        "seconds": result.seconds,
        "speedup": gained,
        "runs": [{"seconds": r.seconds, "recorded_seconds": r.recorded_seconds} for r in result.runs],
        "runtime": asdict(summarise_runtime(result.report)),
    }


def _print(recorded: Trace, result: Simulation, gained: float | None) -> None:
    header = recorded.header
    console = make_console(stderr=True)
    print_runtime(console, summarise_runtime(result.report))
    if gained is not None:
        console.print(f"speed-up     {gained:.3g} over 1 worker")
    virtual = " (virtual)" if header.time == "virtual" else ""
    console.print(
        f"recorded     {duration(result.recorded_seconds * 1e9)}{virtual}: {header.policy} on {header.machine}, ",
        end="",
    )
    console.print(f"engine {header.engine}, {header.workers} workers")
    if result.recorded_seconds > 0:
        console.print(f"ratio        {result.seconds / result.recorded_seconds:.3g} of the recorded time")
    console.print(f"times        {result.program.times}, of {result.program.tasks} tasks")
    if recorded.lost:
        console.print(f"note: {recorded.lost} events were lost: what they describe was not run again")
    if not recorded.complete:
        console.print("note: the file ends before the process did: what came later was not run again")
