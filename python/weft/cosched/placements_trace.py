"""A trace of placements, in the format of Chrome's tracing page, which Perfetto opens too: one row a program, one slice
for as long as it is at one place, with rates and loads as counters.

The format's array needs no end, so that the file of a daemon that was killed can be opened.
"""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

_SECOND = 1_000_000_000
_DECISIONS = 1_000_000
"""The row of the decisions."""


class PlacementTrace:
    """Times in ns of CLOCK_MONOTONIC; the file has us."""

    def __init__(self, path: str | Path) -> None:
        """Goes on with the file if it is one: a daemon that takes the place of another continues its trace. Raises
        OSError."""
        self._file = open(path, "a", encoding="utf-8")  # noqa: SIM115 (closed by close())
        self.failure = ""
        """Why nothing more is written; empty if all is well."""
        self._shown: dict[int, int] = {}
        self._open: dict[int, tuple[int, str, dict[str, Any]]] = {}
        if self._file.tell() == 0:
            self._file.write("[\n")
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

    def _fail(self, failure: OSError) -> None:
        """A full disk ends the trace, and not the daemon."""
        self.failure = f"the trace has ended early: {failure.strerror}"
