"""`weft compare`."""

from __future__ import annotations

import csv
import json
import re
import sys
from pathlib import Path
from typing import Annotated, TextIO

import typer

from ..compare import Comparison, Row
from ..compare import compare as compare_policies
from ..compare.plot import FORMATS
from ..compare.plot import plot as plot_comparison
from ..errors import Error, compose
from .bar import bar
from .library import checked_machine
from .programs import Program, Seed, check_policy
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
        typer.Option(
            "--machines", metavar="M1,M2,...", help="Modelled machines (`weft machines`), besides threads here."
        ),
    ] = None,
    here: Annotated[bool, typer.Option("--here/--no-here", help="On real threads, too.")] = True,
    repeat: Annotated[int, typer.Option("--repeat", min=1, metavar="N", help="Number of runs of each.")] = 5,
    workers: Annotated[
        str | None,
        typer.Option("--workers", metavar="N,...", help="Numbers of workers; each policy runs with each of them."),
    ] = None,
    seed: Seed = None,
    timeout: Annotated[
        float | None, typer.Option("--timeout", min=0.001, metavar="SECONDS", help="Time limit of one run.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="OUT", help="A picture: *.svg or *.png")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print a table of values with commas between them.")] = False,
) -> int:
    """Run a program under many policies, here and on modelled machines, and compare.

    Each policy runs N times, in rounds. The table shows medians, and the speed-up over 1 worker of steal. The program
    is run many times, so running it again must do no harm. Its output is discarded.

    Example: weft compare --machines opteron-8380-4x4 -o policies.svg -- ./heat2d --rows 2000
    """
    specs = [m.strip() for m in (machines or "").split(",") if m.strip()]
    for spec in specs:
        checked_machine(spec)
    if not here and not specs:
        raise typer.BadParameter(compose("nowhere to run", "--no-here", "--machines with it") + ".")
    names = None if policies is None else split_policies(policies)
    if names is not None and not names:
        raise typer.BadParameter(compose("no policy", repr(policies), "names with commas between them") + ".")
    for name in names or ():
        check_policy(name)
    counts = None if workers is None else split_counts(workers)
    if as_json and as_csv:
        raise typer.BadParameter(compose("two forms of output", "--json --csv", "one of them") + ".")
    if output and output.suffix not in FORMATS:
        raise typer.BadParameter(compose("unknown format of the picture", output, "*.svg, *.png") + ".")
    with bar() as step:
        found = compare_policies(
            program,
            policies=names,
            machines=specs,
            here=here,
            repeat=repeat,
            workers=counts,
            seed=seed,
            timeout=timeout,
            step=step,
        )
    if output:
        plot_comparison(found, output)
    if as_json:
        print(json.dumps(found.to_json(), indent=2))
    elif as_csv:
        write_csv(found, sys.stdout)
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


def split_counts(text: str) -> list[int]:
    """Numbers of workers with commas between them. Raises a usage error."""
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isdecimal() and int(part) > 0 for part in parts):
        raise typer.BadParameter(
            compose("not numbers of workers", repr(text), "numbers from 1 with commas between them") + "."
        )
    return list(dict.fromkeys(int(part) for part in parts))


def write_csv(c: Comparison, to: TextIO) -> None:
    """One line a row of the comparison, times in seconds; what is not known is empty."""
    columns = ("count", "median", "q1", "q3", "min", "max")
    names = [f"seconds_{column}" for column in columns]
    out = csv.writer(to, lineterminator="\n")
    out.writerow(["place", "modelled", "policy", "workers", *names, "speedup", "busy", "balance", "steals", "refused"])
    for row in c.rows:
        seconds = [getattr(row.seconds, column, None) for column in columns]
        figures = (*seconds, row.speedup, row.busy, row.balance, row.steals)
        out.writerow([row.place.name, int(row.place.virtual), row.policy, row.workers, *figures, row.refused])


def _print(c: Comparison) -> None:
    console = make_console()
    for i, place in enumerate(c.places):
        if i:
            console.print()
        baseline, *rows = c.at(place)
        counts = {row.workers for row in rows if row.workers}
        console.print(
            f"{place.name}{' (modelled, virtual times)' if place.virtual else ''}"
            + (f", {counts.pop()} workers" if len(counts) == 1 else "")
            + f", {_runs(baseline, rows)}"
        )
        shown = table("policy", "median", "quartiles", "range", "speed-up", "busy", "steals")
        for row in [baseline, *rows]:
            if row.seconds:
                shown.add_row(row.label, *_figures(row))
        console.print(shown)
        for row in [baseline, *rows]:
            if row.refused:
                console.print(f"{row.label}: did not run: {row.refused}", soft_wrap=True)


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
