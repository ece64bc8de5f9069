"""`weft trace`."""

from __future__ import annotations

import json
import webbrowser
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from ..errors import Error, compose
from ..trace.convert import convert as convert_trace
from ..trace.plot import FORMATS as PICTURES
from ..trace.plot import plot as plot_trace
from ..trace.read import read_trace
from ..trace.stats import Stats
from ..trace.stats import stats as stats_of
from ..trace.view import view as view_trace
from .runtime import print_balance, print_bound
from .table import console as make_console
from .table import duration, share, table

trace = typer.Typer(
    help="Figures, pictures and conversions of the files that WEFT_TRACE names.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
File = Annotated[Path, typer.Argument(metavar="FILE", help="A trace, as WEFT_TRACE names it.", show_default=False)]


class Format(StrEnum):
    """Formats for `weft trace convert --to`."""

    chrome = "chrome"
    perfetto = "perfetto"


class Colours(StrEnum):
    """Colours for `weft trace plot --by`."""

    activity = "activity"
    cls = "class"


@trace.command()
def stats(file: File, as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False) -> None:
    """Show time, workers, steals, classes of tasks, work and span.

    Example: weft trace stats run.weft
    """
    figures = stats_of(read_trace(file))
    if as_json:
        print(json.dumps(figures.to_json(), indent=2))
    else:
        _print(figures)


@trace.command()
def convert(
    file: File,
    to: Annotated[Format, typer.Option("--to", help="For Chrome's tracing page, or for Perfetto.", show_default=False)],
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="OUT", help="The file to write.", show_default=False)
    ],
) -> None:
    """Write the trace for another viewer: slices by worker, flows of spawns and steals, busy workers.

    Example: weft trace convert run.weft --to perfetto -o run.pftrace
    """
    convert_trace(read_trace(file), to.value, output)


@trace.command()
def plot(
    file: File,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="OUT", help="*.svg or *.png", show_default=False)],
    from_us: Annotated[float | None, typer.Option("--from-us", help="Begin of the picture.")] = None,
    to_us: Annotated[float | None, typer.Option("--to-us", help="End of the picture.")] = None,
    width: Annotated[float, typer.Option(min=2, max=100, help="Inches.")] = 12,
    by: Annotated[
        Colours | None, typer.Option("--by", help="Colours; default: by activity if the trace has it.")
    ] = None,
) -> None:
    """Draw what the workers did, one line a worker.

    Example: weft trace plot run.weft -o run.svg --from-us 100 --to-us 250
    """
    if output.suffix not in PICTURES:
        raise typer.BadParameter(compose("unknown format of the picture", output, "*.svg, *.png") + ".")
    if from_us is not None and to_us is not None and not from_us < to_us:
        raise typer.BadParameter(
            compose("an empty stretch of time", f"{from_us:g} to {to_us:g}", "--from-us below --to-us") + "."
        )
    plot_trace(
        read_trace(file),
        output,
        begin=None if from_us is None else from_us * 1e3,
        end=None if to_us is None else to_us * 1e3,
        width=width,
        by=by.value if by else None,
    )


@trace.command()
def view(
    file: File,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="OUT", help="*.html; default: beside FILE.", show_default=False),
    ] = None,
    machine: Annotated[
        str | None,
        typer.Option(
            "--machine",
            metavar="MACHINE",
            help="The machine of the trace, for its caches and packages: as WEFT_MACHINE; "
            "default: this machine, if the trace is of it.",
            show_default=False,
        ),
    ] = None,
    open_it: Annotated[bool, typer.Option("--open", help="Open the page in the browser.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Write a page for any browser: which worker ran what when, classes, steals, the graph of tasks.

    It is one file and needs no network.

    Example: weft trace view run.weft -o run.html --open
    """
    output = file.with_suffix(".html") if output is None else output
    if output.suffix not in (".html", ".htm"):
        raise typer.BadParameter(compose("unknown format of the page", output, "*.html") + ".")
    if output.resolve() == file.resolve():
        raise typer.BadParameter(compose("the page would overwrite the trace", output, "another file") + ".")
    with make_console(stderr=True).status(f"reading {file}") as status:
        read = read_trace(file)
        status.update(f"writing {output}")
        view_trace(read, output, machine)
    if as_json:
        described = {"output": str(output), "bytes": output.stat().st_size, "events": len(read.records)}
        print(json.dumps(described | {"tasks": len(read.tasks)}, indent=2))
    else:
        print(output)
    if open_it and not webbrowser.open(output.resolve().as_uri()):
        raise Error(compose("no browser could be started", output, "a browser that BROWSER names"))


# ---- tables


def _print(s: Stats) -> None:
    console = make_console()
    at_least = "at least " if s.lost or not s.complete else ""
    console.print(f"{s.path}: {s.policy} on {s.machine}, engine {s.engine}, {len(s.workers)} workers")
    console.print(f"time         {duration(s.elapsed)}{' (virtual)' if s.time_kind == 'virtual' else ''}")
    console.print(f"tasks        {s.tasks} in {s.events} events")
    print_bound(console, s.work, s.span, s.parallelism, s.bound, at_least)
    print_balance(console, s.balance, s.notes)

    console.print()
    shown = table("worker", "core", "busy", "search", "asleep", "overhead", "tasks", "steals")
    for w in s.workers:
        shares = (share(part, s.elapsed) for part in (w.busy, w.searching, w.asleep, w.overhead))
        shown.add_row(str(w.worker), str(w.core), *shares, str(w.tasks), str(w.steals))
    console.print(shown)

    if s.steals:
        console.print()
        shown = table("distance", "steals")
        for distance, count in sorted(s.steals.items()):
            shown.add_row(f"{distance:g}", str(count))
        console.print(shown)
    if s.classes:
        console.print()
        shown = table("class", "count", "total", "min", "median", "Q3", "max", "of Tinf")
        for c in s.classes:
            times = (duration(t) for t in (c.total, c.min, c.median, c.q3, c.max))
            shown.add_row(c.name, str(c.count), *times, share(c.critical, s.span))
        console.print(shown)
