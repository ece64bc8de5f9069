"""How far programs that run beside each other are, and how long each took."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable

from rich.live import Live
from rich.text import Text

from ..cosched.runner import Done
from .status import StatusLine, clock
from .table import console as make_console
from .table import duration, interval, table


def watched(runs: Callable[[Callable[[list[Done]], None] | None], list[Done]]) -> list[Done]:
    """Runs, and shows on terminals how far the programs are."""
    if not StatusLine.is_possible():
        return runs(None)
    console = make_console(stderr=True)
    began = time.monotonic()
    with Live(console=console, transient=True, auto_refresh=False) as live:

        def see(done: list[Done]) -> None:
            parts = [f"{d.program.name} {len(d.runs)}/{d.program.repeats}" for d in done]
            live.update(Text(f"{clock(time.monotonic() - began)}  {', '.join(parts)}"), refresh=True)

        return runs(see)


def print_runs(done: list[Done]) -> None:
    console = make_console()
    shown = table("program", "runs", "median", "range", "processor time", "failed")
    for d in done:
        seconds = sorted(r.seconds for r in d.good)
        middle = seconds[len(seconds) // 2] if seconds else None
        shown.add_row(
            d.program.name,
            str(len(d.good)),
            "-" if middle is None else duration(middle * 1e9),
            "-" if len(seconds) < 2 else interval(seconds[0] * 1e9, seconds[-1] * 1e9),
            "-" if not seconds else duration(1e9 * sum(r.processor for r in d.good) / len(d.good)),
            str(len(d.failures)),
        )
    console.print(shown)
    for d in done:
        for r in d.failures[:1]:
            console.print(f"{d.program.name}: {_outcome(r.status, r.timed_out)}", soft_wrap=True)
        for note in d.notes:
            console.print(f"{d.program.name}: {note}", soft_wrap=True)


def _outcome(status: int, timed_out: bool) -> str:
    if timed_out:
        return "was killed at its time limit"
    if status >= 0:
        return f"ended with status {status}"
    try:
        return f"was killed by {signal.Signals(-status).name}"
    except ValueError:
        return f"was killed by signal {-status}"
