"""Runs of a program under the candidates, in rounds."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ..launcher import LaunchError, failure_of, launch
from ..summary import summarise
from .rules import Candidate

Step = Callable[[str, float], None]
"""Called before each run with what is run and the part of all runs that is done, 0 to 1."""


@dataclass(frozen=True)
class Where:
    """How a program is run. `machine`: a modelled one, as for WEFT_MACHINE; None: real threads here."""

    command: tuple[str, ...]
    machine: str | None
    workers: int | None
    seed: int
    """Of the first round; each round has the next one."""
    timeout: float | None

    def environment(self, candidate: Candidate, number: int) -> dict[str, str | None]:
        """The variables of a run in the round of this number. Other settings of this process stay, if they are not
        what is advised about."""
        workers = candidate.workers or self.workers
        of_place: dict[str, str | None] = (
            {"WEFT_ENGINE": "threads", "WEFT_MACHINE": None, "WEFT_SCENARIO": None, "WEFT_COSTS": None}
            if self.machine is None
            else {"WEFT_ENGINE": "model", "WEFT_MACHINE": self.machine, "WEFT_PIN": None}
        )
        return of_place | {
            "WEFT_SETTINGS": None,
            "WEFT_POLICY": candidate.policy,
            "WEFT_WORKERS": None if workers is None else str(workers),
            "WEFT_SEED": str(self.seed + number),
            "WEFT_TRACE": None,
        }


@dataclass
class Times:
    """The times of one candidate."""

    of: Candidate
    seconds: list[float] = field(default_factory=list)
    """Seconds within runs of Weft, virtual ones in the model: one for each round, from the first one on."""
    refused: str = ""
    """Why it did not run; empty if it ran."""


def run_once(where: Where, candidate: Candidate, number: int) -> float | str:
    """Seconds within runs of Weft; the reason if there are none. Raises `LaunchError` if a signal to end came."""
    with tempfile.TemporaryFile() as errors:
        run = launch(
            where.command,
            environment=where.environment(candidate, number),
            timeout=where.timeout,
            stdout=subprocess.DEVNULL,
            stderr=errors,
        )
        if why := failure_of(run, errors.fileno()):
            return why
    summary = summarise(run)
    return summary.run_seconds if summary.run_seconds > 0 else "nothing ran in parallel"


def run_rounds(
    where: Where, candidates: Sequence[Candidate], rounds: range, times: dict[Candidate, Times], step: Step
) -> None:
    """Runs each candidate once a round, and adds to `times`. The order changes from round to round, so that other load
    of the machine affects all alike. A candidate that is refused once is not run again."""
    for number in rounds:
        for i in range(len(candidates)):
            candidate = candidates[(i + number) % len(candidates)]
            its = times.setdefault(candidate, Times(candidate))
            step(candidate.label, (number - rounds.start + i / len(candidates)) / len(rounds))
            if its.refused:
                continue
            seconds = run_once(where, candidate, number)
            if isinstance(seconds, str):
                its.refused = seconds
            else:
                its.seconds.append(seconds)


@dataclass(frozen=True)
class Recorded:
    """A recorded run."""

    trace: Path
    seconds: float
    """Real seconds that the program took, with the trace."""
    cut: bool
    """The program was ended because the trace had become as large as allowed."""


class _Full(Exception):
    """The trace has become as large as allowed."""


def record(where: Where, candidate: Candidate, trace: Path, most_bytes: int) -> Recorded:
    """Runs the program with a trace. If the trace grows over `most_bytes`, the program is ended, and the trace has its
    first part. Raises `LaunchError` if the program fails, or makes no trace."""
    import time

    def watch(_: list[Path]) -> None:
        if trace.exists() and trace.stat().st_size > most_bytes:
            raise _Full

    began = time.perf_counter()
    with tempfile.TemporaryFile() as errors:
        try:
            run = launch(
                where.command,
                environment=where.environment(candidate, 0) | {"WEFT_TRACE": str(trace)},
                observer=watch,
                timeout=where.timeout,
                stdout=subprocess.DEVNULL,
                stderr=errors,
            )
        except _Full:
            return Recorded(trace, time.perf_counter() - began, cut=True)
        if why := failure_of(run, errors.fileno()):
            raise LaunchError(f"under {candidate.label}: {why}")
    return Recorded(max(run.traces, key=lambda path: path.stat().st_size), run.seconds, cut=False)
