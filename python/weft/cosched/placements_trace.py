"""A trace of placements, in the format of Chrome's tracing page, which Perfetto opens too: one row a program, one slice
for as long as it is at one place, with rates and loads as counters.

The format's array needs no end, so that the file of a daemon that was killed can be opened.
"""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

_HEAD, _COMMA = "[\n", b",\n"
_SECOND = 1_000_000_000
_DECISIONS = 1_000_000
"""The row of the decisions."""


class PlacementTrace:
    """Times in ns of CLOCK_MONOTONIC; the file has us."""

    def __init__(self, path: str | Path, *, continues: bool = False) -> None:
        """continues: goes on with the file of a daemon that has died, if it is there; else the file is made anew.
        Raises OSError."""
        kept = _whole_events(Path(path)) if continues else 0
        self._file = open(path, "r+" if kept else "w", encoding="utf-8")  # noqa: SIM115 (closed by close())
        if kept:
            self._file.truncate(kept)
            self._file.seek(kept)
        self.failure = ""
        """Why nothing more is written; empty if all is well."""
        self._shown: dict[int, int] = {}
        self._open: dict[int, tuple[int, str, dict[str, Any]]] = {}
        if not kept:
            self._file.write(_HEAD)
            self._write(name="process_name", ph="M", pid=1, args={"name": "weft cosched"})
            self._write(name="thread_name", ph="M", pid=1, tid=_DECISIONS, args={"name": "decisions"})
        self.flush()

    def begin(self, now: int, program: int, name: str, pid: int, place: str, **why: Any) -> None:
        """The program is at a place from now on; where it was before is over."""
        if program in self._open and self._open[program][1] == place:
            return
        if program not in self._open:
            self._write(name="thread_name", ph="M", pid=1, tid=program, args={"name": f"{program}: {name} ({pid})"})
        self.end(now, program)
        self._open[program] = (now, place, why)

    def end(self, now: int, program: int) -> None:
        if (last := self._open.pop(program, None)) is not None:
            began, place, why = last
            self._write(
                name=place, ph="X", ts=began / 1000, dur=max(now - began, 1) / 1000, pid=1, tid=program, args=why
            )

    def decision(self, now: int, text: str, **values: Any) -> None:
        self._write(name=text, ph="i", s="p", ts=now / 1000, pid=1, tid=_DECISIONS, args=values)

    def figures(self, now: int, program: int, name: str, rate: int, load: int) -> None:
        """Shown as counters, once in a second at most. load: thousandths."""
        if now - self._shown.get(program, -_SECOND) < _SECOND:
            return
        self._shown[program] = now
        self._write(name=f"{program}: {name}, rate", ph="C", ts=now / 1000, pid=1, args={"rate": rate})
        self._write(name=f"{program}: {name}, load", ph="C", ts=now / 1000, pid=1, args={"load": load / 1000})

    def flush(self) -> None:
        """What is written so far is in the file."""
        if not self.failure:
            try:
                self._file.flush()
            except OSError as failure:
                self._fail(failure)

    def close(self, now: int) -> None:
        for program in list(self._open):
            self.end(now, program)
        self._write_last()
        self.flush()
        with contextlib.suppress(OSError):
            self._file.close()

    def _write(self, **event: Any) -> None:
        if self.failure:
            return
        try:
            self._file.write(json.dumps(event) + ",\n")
        except OSError as failure:
            self._fail(failure)

    def _write_last(self) -> None:
        """The only event without a comma behind it: with it the file is correct JSON."""
        if not self.failure:
            with contextlib.suppress(OSError):
                self._file.write(
                    json.dumps({"name": "process_labels", "ph": "M", "pid": 1, "args": {"labels": "whole"}})
                )
                self._file.write("\n]\n")

    def _fail(self, failure: OSError) -> None:
        """A full disk ends the trace, and not the daemon."""
        self.failure = f"the trace has ended early: {failure.strerror}"


def _whole_events(path: Path) -> int:
    """How many bytes of a trace have whole events, each with its comma: its writer may have been killed at any byte.
    0 if it is none of these traces."""
    try:
        text = path.read_bytes()
    except FileNotFoundError:
        return 0
    return text.rfind(_COMMA) + len(_COMMA) if text.startswith(_HEAD.encode()) and _COMMA in text else 0
