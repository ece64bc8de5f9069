"""The table of a paper's README."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ..errors import Error, compose
from .reproduce import Result, summary

BEGIN, END = "<!-- claims: begin -->", "<!-- claims: end -->"


def table(results: Sequence[Result]) -> str:
    """The table as Markdown. A note of several claims stands once, below the table."""
    rows = ["| claim | where | paper | ours | |", "|---|---|---|---|---|"]
    numbers: dict[str, int] = {}
    for r in results:
        paper, ours, verdict = r.shown
        if not (r.verdict and r.verdict.within):
            verdict = f"**{verdict}**"
        for note in _notes(r):
            verdict += f" [{numbers.setdefault(note, len(numbers) + 1)}]"
        rows.append(f"| {' | '.join(_cell(text) for text in (r.claim.what, r.claim.source, paper, ours, verdict))} |")
    notes = [f"{number}. {note}" for note, number in numbers.items()]
    return "\n".join([f"{summary(results)}.", "", *rows, *([""] if notes else []), *notes])


def _notes(r: Result) -> list[str]:
    size = f"Not the paper's size: {r.claim.scaled}" if r.claim.scaled else ""
    why = r.claim.explanation if r.verdict and not r.verdict.within else ""
    return [_sentence(part) for part in (size, why) if part]


def _sentence(text: str) -> str:
    return text if text.endswith(".") else f"{text}."


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def write(readme: Path, results: Sequence[Result]) -> None:
    """Puts the table between the two marks. Raises `Error` if they are missing."""
    text = readme.read_text(encoding="utf-8")
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise Error(compose("no place for the table", readme, f"a file with {BEGIN} and, below, {END}"))
    readme.write_text(f"{before}{BEGIN}\n{table(results)}\n{END}{after}", encoding="utf-8")
