"""How far a command is that runs a program many times, and how long it will take."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from .status import StatusLine

Step = Callable[[str, float], None]
"""Takes what is run next, and the part of all that is done, 0 to 1."""


@contextlib.contextmanager
def bar() -> Iterator[Step | None]:
    """Shows it on terminals; elsewhere there is None."""
    if not StatusLine.is_possible():
        yield None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn(), TextColumn("left"))
    console = Console(stderr=True)
    with Progress(*columns, TimeRemainingColumn(), console=console, transient=True) as shown:
        task = shown.add_task("", total=1.0)
        yield lambda what, part: shown.update(task, description=what, completed=part)
