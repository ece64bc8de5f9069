"""Numbers and tables as text."""

from __future__ import annotations

from rich.console import Console, RenderableType
from rich.table import Table

_NARROWEST = 8
_IN_FILES, _ANY = 160, 10_000
"""Columns."""


def duration(ns: float) -> str:
    """A duration with three digits and a unit that fits."""
    unit, size = _unit(ns)
    return f"{_digits(ns / size)} {unit}"


def interval(from_ns: float, to_ns: float) -> str:
    """Two durations, in the unit of the longer one."""
    unit, size = _unit(to_ns)
    return f"{_digits(from_ns / size)} - {_digits(to_ns / size)} {unit}"


def _unit(ns: float) -> tuple[str, float]:
    return next(((u, size) for u, size in (("s", 1e9), ("ms", 1e6), ("us", 1e3)) if abs(ns) >= size), ("ns", 1.0))


def _digits(x: float) -> str:
    return f"{x:.3g}" if x < 999.5 else f"{x:.0f}"


def count(n: int) -> str:
    """A number with three digits and k, M or G behind."""
    for unit, size in (("G", 10**9), ("M", 10**6), ("k", 10**3)):
        if n >= 10 * size:
            return f"{_digits(n / size)} {unit}"
    return str(n)


def share(part: float | None, whole: float) -> str:
    """A part in percent; `-` if it is unknown."""
    return "-" if part is None or whole <= 0 else f"{part / whole:.1%}"


def table(*columns: str) -> Table:
    """A table whose first column is text and whose other columns are numbers."""
    made = Table(box=None, pad_edge=False)
    for i, column in enumerate(columns):
        first = i == 0
        made.add_column(
            column,
            justify="left" if first else "right",
            no_wrap=not first,
            overflow="fold" if first else "ellipsis",
            min_width=len(column) if not first else _NARROWEST,
        )
    return made


def text_table(*columns: str) -> Table:
    """A table of text."""
    made = Table(box=None, pad_edge=False)
    for column in columns:
        made.add_column(column, overflow="fold")
    return made


def plain(view: RenderableType) -> str:
    """The text of tables and lines for files and pipes: no line is folded, and none ends in blanks."""
    made = Console(highlight=False, markup=False, width=_ANY)
    with made.capture() as text:
        made.print(view)
    return "\n".join(line.rstrip() for line in text.get().rstrip().splitlines()) + "\n"


def console(stderr: bool = False) -> Console:
    """Prints in the width of the terminal; in files and pipes in one for tables with long texts."""
    made = Console(stderr=stderr, highlight=False, markup=False)
    if not made.is_terminal:
        made.width = _IN_FILES
    return made
