"""`weft compare`."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from ..compare import Comparison, Row
from ..compare import compare as compare_policies
from ..compare.compare import Step
from ..compare.plot import FORMATS
from ..compare.plot import plot as plot_comparison
from ..errors import Error, compose
from .programs import Program, Seed, Workers, check_machine
from .status import StatusLine
from .table import console as make_console
from .table import count, duration, interval, table


def compare(
    program: Program,
    policies: Annotated[
        str | None,
        typer.Option("--policies", metavar="A,B,...", help="Default: all policies that run without settings."),
    ] = None,
    machines: Annotated[
        str | None,
        typer.Option("--machines", metavar="M1,M2,...", help="Modelled machines, besides threads on this one."),
    ] = None,
    here: Annotated[bool, typer.Option("--here/--no-here", help="On real threads, too.")] = True,
    repeat: Annotated[int, typer.Option("--repeat", min=1, metavar="N", help="Number of runs of each.")] = 5,
    workers: Workers = None,
    seed: Seed = None,
    timeout: Annotated[
        float | None, typer.Option("--timeout", min=0.001, metavar="SECONDS", help="Time limit of one run.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="OUT", help="A picture: *.svg or *.png")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> int:
    """Run a program under many policies, here and on modelled machines, and compare.

    Each policy runs N times, in rounds. The table shows medians, and the speed-up over 1 worker of steal. The program
    is run many times, so running it again must do no harm. Its output is discarded.

    Example: weft compare --machines machines/opteron-8380-4x4.toml -o policies.svg -- ./heat2d --rows 2000
    """
    specs = [m.strip() for m in (machines or "").split(",") if m.strip()]
    for spec in specs:
        check_machine(spec)
    if not here and not specs:
        raise typer.BadParameter(compose("nowhere to run", "--no-here", "--machines with it") + ".")
    names = None if policies is None else split_policies(policies)
    if names is not None and not names:
        raise typer.BadParameter(compose("no policy", repr(policies), "names with commas between them") + ".")
    if output and output.suffix not in FORMATS:
        raise typer.BadParameter(compose("unknown format of the picture", output, "*.svg, *.png") + ".")
    with _bar() as step:
        found = compare_policies(
            program,
            policies=names,
            machines=specs,
            here=here,
            repeat=repeat,
            workers=workers,
            seed=seed,
            timeout=timeout,
            step=step,
        )
    if output:
        plot_comparison(found, output)
    if as_json:
        print(json.dumps(found.to_json(), indent=2))
    else:
        _print(found)
    if all(row.refused for place in found.places for row in found.at(place)[1:]):
        raise Error("the program ran under none of the policies")
    return 0


def split_policies(text: str) -> list[str]:
    """Names with commas between them. A comma before `key=` separates knobs of one policy."""
    names: list[str] = []
    for part in text.split(","):
        if names and re.match(r"[a-z_-]+=", part):
            names[-1] += f",{part}"
        elif part.strip():
            names.append(part.strip())
    return names


@contextlib.contextmanager
def _bar() -> Iterator[Step | None]:
    """Shows on terminals how far the comparison is and how long it will take."""
    if not StatusLine.is_possible():
        yield None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn(), TextColumn("left"))
    console = Console(stderr=True)
    with Progress(*columns, TimeRemainingColumn(), console=console, transient=True) as bar:
        task = bar.add_task("", total=1.0)
        yield lambda what, part: bar.update(task, description=what, completed=part)


def _print(c: Comparison) -> None:
    console = make_console()
    for i, place in enumerate(c.places):
        if i:
            console.print()
        baseline, *rows = c.at(place)
        workers = next((row.workers for row in rows if row.workers), None)
        console.print(
            f"{place.name}{' (modelled, virtual times)' if place.virtual else ''}"
            + (f", {workers} workers" if workers else "")
            + f", {_runs(baseline, rows)}"
        )
        shown = table("policy", "median", "quartiles", "range", "speed-up", "busy", "steals")
        for name, row in [(f"{baseline.policy}, 1 worker", baseline), *((row.policy, row) for row in rows)]:
            if row.seconds:
                shown.add_row(name, *_figures(row))
        console.print(shown)
        for row in [baseline, *rows]:
            if row.refused:
                console.print(f"{row.policy}: did not run: {row.refused}", soft_wrap=True)


def _runs(baseline: Row, rows: list[Row]) -> str:
    most = max((row.seconds.count for row in [baseline, *rows] if row.seconds), default=0)
    return "one run of each, since a second one would be the same" if baseline.exact else f"runs of each: {most}"


def _figures(row: Row) -> list[str]:
    s = row.seconds
    assert s
    return [
        duration(s.median * 1e9),
        interval(s.q1 * 1e9, s.q3 * 1e9) if s.count > 1 else "-",
        interval(s.min * 1e9, s.max * 1e9) if s.count > 1 else "-",
        "-" if row.speedup is None else f"{row.speedup:.2f}",
        "-" if row.busy is None else f"{row.busy:.0%}",
        "-" if row.steals is None else count(round(row.steals)),
    ]
