"""A cause of lost time, as it is told."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from pathlib import PurePath
from typing import Any, Literal

Basis = Literal["tested", "estimated"]


@dataclass(frozen=True)
class Place:
    """A place in the program."""

    function: str
    """Function, or name of a construct; may be empty."""
    file: str | None = None
    line: int | None = None

    def __str__(self) -> str:
        where = "" if not self.file else PurePath(self.file).name + (f":{self.line}" if self.line else "")
        if where and where == self.function:
            return where
        return f"{where} ({self.function})" if where and self.function else where or self.function or "unknown"


@dataclass(frozen=True)
class Finding:
    """A cause of lost time. Times are in seconds of the program's time."""

    cause: str
    """A name of the table in docs/why.md."""
    title: str
    """The cause in a few words."""
    place: Place | None
    """None: the program as a whole."""
    evidence: tuple[str, ...]
    """What was measured, as sentences."""
    gain: float
    """Time that mending it alone would save."""
    uncertain: float
    """By how much the gain may be wrong."""
    basis: Basis
    """Whether the gain was measured by a run without the cause, or follows from the figures."""
    advice: str
    """What to try."""
    path: tuple[Place, ...] = field(default=())
    """The place with what it calls and what has called it, innermost first."""
    also: tuple[Place, ...] = field(default=())
    """Further places of the same cause."""

    def to_json(self) -> dict[str, Any]:
        return asdict(self) | {"place_text": str(self.place) if self.place else None}
