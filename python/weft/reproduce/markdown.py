"""The tables of a paper's README."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ..errors import Error, compose
from .reproduce import Count, Result

BEGIN, END = "<!-- claims: begin -->", "<!-- claims: end -->"
PICTURE = "claims.svg"


def tables(results: Sequence[Result]) -> str:
    """The tables as Markdown, the misses first. A note of several claims stands once, below the tables."""
    parts = (
        ("Not as in the paper", [r for r in results if not r.not_counted and not r.is_reproduced]),
        ("As in the paper", [r for r in results if not r.not_counted and r.is_reproduced]),
        ("Not counted", [r for r in results if r.not_counted]),
    )
    lines = [f"{Count.of(results)}."]
    numbers: dict[str, int] = {}
    for title, rows in parts:
        if rows:
            lines += ["", f"## {title}", "", "| claim | where | paper | ours | |", "|---|---|---|---|---|"]
            lines += [_row(r, numbers) for r in rows]
    if numbers:
        lines += ["", *(f"{number}. {note}" for note, number in numbers.items())]
    return "\n".join(lines)


def _row(r: Result, numbers: dict[str, int]) -> str:
    paper, ours, verdict = r.shown
    if r.not_counted:
        verdict += f"; {r.not_counted}"
    for note in _notes(r):
        verdict += f" [{numbers.setdefault(note, len(numbers) + 1)}]"
    return f"| {' | '.join(_cell(text) for text in (r.claim.what, r.claim.source, paper, ours, verdict))} |"


def _notes(r: Result) -> list[str]:
    size = f"Not the paper's size: {r.claim.scaled}" if r.claim.scaled else ""
    why = r.claim.explanation if r.verdict and not r.verdict.within else ""
    return [_sentence(part) for part in (size, why) if part]


def _sentence(text: str) -> str:
    return text if text.endswith(".") else f"{text}."


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def write(readme: Path, results: Sequence[Result]) -> None:
    """Puts the tables between the two marks. Raises `Error` if they are missing."""
    text = readme.read_text(encoding="utf-8")
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise Error(compose("no place for the tables", readme, f"a file with {BEGIN} and, below, {END}"))
    readme.write_text(f"{before}{BEGIN}\n{tables(results)}\n{END}{after}", encoding="utf-8")
