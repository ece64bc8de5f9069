"""The causes of a program's lost time, ranked."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from ..profile import CORES, machine_of
from .causes import CAUSES
from .evidence import Evidence
from .finding import Finding

MOST = 7
"""Findings that are told."""
MOST_STEPS = 10
"""Parts of the longest path that are told."""
WORTH = 0.05
"""A gain below this part of the program's time is not told."""
WORTH_SECONDS = 0.002
"""Nor one below this, in seconds: starting the program varies by as much."""
SURE = 0.75
"""Nor one that may be wrong by more than this part of itself."""


@dataclass(frozen=True)
class Step:
    """The part of a path that lies in the tasks of one construct. Times are in seconds."""

    place: str
    seconds: float
    pieces: int
    longest: float
    """The longest piece: without a fork, a spawn or a wait."""


@dataclass(frozen=True)
class Diagnosis:
    """What makes a program slow. Times are in seconds."""

    command: tuple[str, ...]
    seconds: float
    """Median time of the program as it is."""
    spread: float
    """Half the distance between its shortest and longest time."""
    runs: int
    workers: int
    cores: int
    policy: str
    speedup: float | None
    """Time with one worker over that with all; None: not known."""
    findings: tuple[Finding, ...]
    """The one with the largest gain first."""
    unsure: tuple[Finding, ...]
    """What may be a cause, but could not be told from chance."""
    longest_path: tuple[Step, ...]
    """What the longest path of the program consists of, the longest part first. Empty: not asked for, or not known."""
    scaling: tuple[tuple[int, float, float], ...]
    """Numbers of cores with the speed-up over one: at least, as an estimate, and at most. Likewise."""
    notes: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        return asdict(self) | {
            "findings": [f.to_json() for f in self.findings],
            "unsure": [f.to_json() for f in self.unsure],
        }


def diagnose(e: Evidence) -> Diagnosis:
    """Applies every cause of the table, and ranks what they find."""
    found = _without_explained([f for cause in CAUSES for f in cause(e)], e.seconds)
    worth = [f for f in found if f.gain >= max(WORTH * e.seconds, WORTH_SECONDS)]
    sure = sorted((f for f in worth if f.uncertain <= SURE * f.gain), key=lambda f: -f.gain)
    unsure = sorted((f for f in worth if f.uncertain > SURE * f.gain), key=lambda f: -f.gain)
    return Diagnosis(
        command=e.command,
        seconds=e.seconds,
        spread=e.spread,
        runs=len(e.plain),
        workers=e.workers,
        cores=e.cores,
        policy=e.plain[0].policy,
        speedup=e.alone.seconds / e.seconds if e.alone else None,
        findings=tuple(sure[:MOST]),
        unsure=tuple(unsure[:MOST]),
        longest_path=_longest_path(e),
        scaling=_scaling(e),
        notes=e.notes,
    )


def _without_explained(found: list[Finding], seconds: float) -> list[Finding]:
    """Without estimates below a tested gain that are more than the program takes once its cause is mended: that cause
    has made what they tell of. A larger estimate stays, since the tested cause cannot have made all of it."""
    tested = max((f.gain - f.uncertain for f in found if f.basis == "tested"), default=0.0)
    return [f for f in found if f.basis == "tested" or f.gain >= tested or f.gain <= seconds - tested]


def _longest_path(e: Evidence) -> tuple[Step, ...]:
    on_path = [c for c in e.profile.constructs if c.on_path > 0] if e.profile else []
    return tuple(Step(c.name, c.on_path * 1e-9, c.pieces, c.longest_on_path * 1e-9) for c in on_path[:MOST_STEPS])


def _scaling(e: Evidence) -> tuple[tuple[int, float, float], ...]:
    if e.profile is None:
        return ()
    _, _, burden = machine_of("")
    return tuple((cores, *e.profile.speedup(cores, burden)) for cores in CORES)
