"""What the commands of `weft cosched` have in common."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Annotated

import typer

from .. import _core
from ..cosched.domains import find_domains
from ..cosched.settings import PERIOD, Settings, default_directory
from ..errors import Error

Directory = Annotated[
    str | None,
    typer.Option(
        "--directory",
        metavar="DIR",
        help="The daemon's directory; default: COSCHED_DIRECTORY, or one of this user in /dev/shm.",
    ),
]
Scheduler = Annotated[
    str | None,
    typer.Option("--scheduler", metavar="NAME", help=f"{', '.join(_core.share_schedulers)}; default: lira-adaptive."),
]
DomainsBy = Annotated[
    str | None,
    typer.Option(
        "--domains",
        metavar="caches|cores|LIST",
        help="What programs are placed on: last-level caches, cores, or a list as 0-7/8-15; default: caches.",
    ),
]
Period = Annotated[
    float | None,
    typer.Option(
        "--period",
        min=0.001,
        max=60,
        metavar="SECONDS",
        help=f"Time between two readings of rates and loads; default: {PERIOD / 1e9:g}.",
    ),
]
Way = Annotated[
    str,
    typer.Option(
        "--by",
        metavar="affinity|cpuset",
        help="How programs are confined to processors; cpuset: by control groups too.",
    ),
]
Trace = Annotated[
    Path | None, typer.Option("--trace", metavar="FILE", help="Write a trace of placements, for Perfetto.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
File = Annotated[
    Path, typer.Argument(metavar="FILE", help="The programs, in TOML (docs/cosched.md).", show_default=False)
]
AnyProgram = Annotated[list[str], typer.Argument(metavar="-- PROGRAM [ARGS]", help="Any program.", show_default=False)]


def settings_of(
    directory: str | None,
    scheduler: str | None,
    domains: str | None,
    period: float | None,
    way: str = "affinity",
    trace: Path | None = None,
) -> Settings:
    """What is None has its default."""
    made = Settings(
        directory=os.path.abspath(directory or default_directory()),
        scheduler=scheduler or "lira-adaptive",
        domains=domains or "caches",
        period=PERIOD if period is None else round(period * 1e9),
        way=way,
        trace="" if trace is None else str(trace.resolve()),
    )
    try:
        made.checked()
        find_domains(made.domains)
    except Error as failure:
        raise typer.BadParameter(f"{failure}.") from None
    return made


@contextlib.contextmanager
def interrupted_by_signals() -> Iterator[None]:
    """Signals that would end this process leave it the time to end what it has started."""

    def leave(_: int, __: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = {number: signal.signal(number, leave) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
