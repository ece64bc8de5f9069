"""The line about a running program, on terminals."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

from rich.console import Console
from rich.text import Text

from ..progress import Progress, read_progress
from .table import count, duration

_SQUARES = 32
"""With more workers than these, they are not drawn one by one."""
_LEAST_HEIGHT = 4

# Escape codes of the terminal (ECMA-48, and DEC's scrolling region).
_SAVE, _RESTORE = "\x1b7", "\x1b8"
_ERASE_LINE = "\x1b[2K"
_DOWN, _UP = "\x1bD", "\x1b[1A"
"""Both keep the column; down scrolls at the last line."""


class StatusLine:
    """The last line of the terminal behind standard error. The output of the program scrolls above it: both share the
    terminal, and the program does not know of the line."""

    def __init__(self) -> None:
        self._console = Console(file=sys.stderr, highlight=False, markup=False)
        self._began = time.monotonic()
        self._height = 0

    @staticmethod
    def is_possible() -> bool:
        """Whether standard error is a terminal that has some height and knows escape codes."""
        return sys.stderr.isatty() and not Console(stderr=True).is_dumb_terminal and _height() >= _LEAST_HEIGHT

    def __call__(self, files: list[Path]) -> None:
        """The observer for launch()."""
        height = _height()
        if height < _LEAST_HEIGHT:
            return
        seen = [p for path in files if (p := read_progress(path))]
        text = describe(time.monotonic() - self._began, seen)
        text.truncate(max(self._console.width - 1, 1), overflow="ellipsis")
        with self._console.capture() as drawn:
            self._console.print(text, end="", soft_wrap=True)
        keep_free = "" if height == self._height else f"{_DOWN}{_UP}{_SAVE}\x1b[1;{height - 1}r{_RESTORE}"
        self._height = height
        self._write(f"{keep_free}{_SAVE}\x1b[{height};1H{_ERASE_LINE}{drawn.get()}{_RESTORE}")

    def clear(self) -> None:
        """Removes the line, and leaves the terminal as it was."""
        if self._height:
            self._write(f"{_SAVE}\x1b[r\x1b[{self._height};1H{_ERASE_LINE}{_RESTORE}")
            self._height = 0

    @staticmethod
    def _write(text: str) -> None:
        """Writes all at once, so that no output of the program comes in between."""
        os.write(sys.stderr.fileno(), text.encode())


def _height() -> int:
    try:
        return os.get_terminal_size(sys.stderr.fileno()).lines
    except OSError:
        return 0


def describe(seconds: float, runtimes: list[Progress]) -> Text:
    """The text about the runtimes that are running, else about the last one."""
    line = Text(clock(seconds), style="bold")
    for p in [p for p in runtimes if not p.over] or runtimes[-1:]:
        line.append("  ", style="not bold")
        if len(p.workers) <= _SQUARES:
            for w in p.workers:
                line.append("■" if w.state == "busy" else "□", style="not bold green" if w.state == "busy" else "dim")
            line.append(" ")
        line.append(f"{p.busy} of {len(p.workers)} busy, ", style="not bold")
        line.append(f"{count(p.tasks)} tasks, {count(p.steals)} steals", style="not bold")
        if p.virtual:
            line.append(f", {duration(p.time)} of virtual time", style="not bold")
    return line


def clock(seconds: float) -> str:
    """Minutes and seconds, with hours if there are any."""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
