"""`weft cosched compare`."""

from __future__ import annotations

import contextlib
import csv
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from .. import _core
from ..cosched.compare import DEFAULT, Comparison, Measurement, Step
from ..cosched.compare import combinations as combinations_of
from ..cosched.metrics import Estimate
from ..cosched.plot import FORMATS as PICTURES
from ..cosched.plot import plot as plot_comparison
from ..cosched.programs_file import read_programs
from ..cosched.supervisor import is_running
from ..errors import Error, compose
from .cosched_options import AsJson, DomainsBy, File, Period, interrupted_by_signals, settings_of
from .status import StatusLine
from .table import console as make_console
from .table import table


def compare(
    file: File,
    schedulers: Annotated[
        str,
        typer.Option("--schedulers", metavar="A,B,...", help="best-static and worst-static measure all placements."),
    ] = ",".join(DEFAULT),
    repeat: Annotated[int, typer.Option("--repeat", min=1, metavar="N", help="Runs of each program, at least.")] = 9,
    pairs: Annotated[
        bool, typer.Option("--pairs", help="Every pair of programs on one domain against two, instead of schedulers.")
    ] = False,
    size: Annotated[
        int | None,
        typer.Option("--of", min=1, metavar="K", help="Combinations of K programs; default: all programs at once."),
    ] = None,
    combinations: Annotated[
        int, typer.Option("--combinations", min=1, metavar="N", help="With --of: how many, drawn at random.")
    ] = 32,
    seed: Annotated[int, typer.Option("--seed", min=0, metavar="N", help="Of the random combinations.")] = 1,
    domains: DomainsBy = None,
    period: Period = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="OUT", help="A picture: *.svg or *.png")
    ] = None,
    as_json: AsJson = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print a table of values with commas between them.")] = False,
) -> int:
    """Run programs beside each other under several schedulers, and compare.

    ANTT is the mean of each program's time over its time alone (1 at best), STP the sum of the inverse (the number of
    programs at best), both with 95 % confidence intervals. All programs run all the time: each goes on until all have
    done their runs. The programs are run many times, so running them again must do no harm.

    Example: weft cosched compare programs.toml --repeat 9 -o schedulers.svg

    Example: weft cosched compare programs.toml --pairs --domains cores
    """
    given = read_programs(file)
    names = [n.strip() for n in schedulers.split(",") if n.strip()]
    if wrong := [n for n in names if n not in _core.share_schedulers] or ([] if names else ["none"]):
        raise typer.BadParameter(compose("unknown scheduler", wrong[0], ", ".join(_core.share_schedulers)) + ".")
    if as_json and as_csv:
        raise typer.BadParameter(compose("two forms of output", "--json --csv", "one of them") + ".")
    if output and output.suffix not in PICTURES:
        raise typer.BadParameter(compose("unknown format of the picture", output, "*.svg, *.png") + ".")
    if pairs and len(given.programs) < 2:
        raise Error(compose("no pairs", f"{len(given.programs)} program", "two or more"))
    made = settings_of(None, None, domains or given.domains, period or given.period)
    if is_running(made.directory):
        raise Error(compose("a daemon is running", made.directory, "none while schedulers are compared"))
    with interrupted_by_signals(), _bar() as step:
        measurement = Measurement(made, repeat=repeat, step=step)
        if pairs:
            found = measurement.pairs(given.programs)
        else:
            groups = combinations_of(given.programs, size or len(given.programs), combinations, seed)
            found = measurement.compare(groups, names)
    if output:
        plot_comparison(found, output)
    if as_json:
        print(json.dumps(found.to_json(), indent=2))
    elif as_csv:
        _write_csv(found)
    else:
        _print_comparison(found)
    reasons = [r.refused for r in found.rows] + [p.refused for p in found.pairs]
    return 1 if any(reasons) else 0


def _write_csv(found: Comparison) -> None:
    out = csv.writer(sys.stdout, lineterminator="\n")
    if found.pairs:
        out.writerow(["program", "beside", "slowdown", "low", "high", "refused"])
        for p in found.pairs:
            for i, (name, other) in enumerate(((p.first, p.second), (p.second, p.first))):
                e = p.slowdowns[i] if p.slowdowns else None
                out.writerow([name, other, *((e.value, e.low, e.high) if e else ("", "", "")), p.refused])
        return
    out.writerow(["scheduler", "programs", "antt", "antt_low", "antt_high", "stp", "stp_low", "stp_high", "refused"])
    for r in found.rows:
        figures = [x for e in (r.antt, r.stp) for x in ((e.value, e.low, e.high) if e else ("", "", ""))]
        out.writerow([r.scheduler, " ".join(r.programs), *figures, r.refused])


def _print_comparison(found: Comparison) -> None:
    console = make_console()
    sets = found.domains.sets
    console.print(f"{len(sets)} domains by {found.domains.by}: {found.domains}", soft_wrap=True)
    if found.pairs:
        shown = table("program", "beside", "one domain over two")
        for p in found.pairs:
            for i, (name, other) in enumerate(((p.first, p.second), (p.second, p.first))):
                shown.add_row(name, other, _figure(p.slowdowns[i]) if p.slowdowns else "-")
        console.print(shown)
    for programs in dict.fromkeys(r.programs for r in found.rows):
        rows = [r for r in found.rows if r.programs == programs]
        least = min((min(r.runs) for r in rows if r.runs), default=0)
        console.print(f"{', '.join(programs)}; runs of each: {least} or more", soft_wrap=True)
        shown = table("scheduler", "ANTT", "STP", *programs)
        for r in rows:
            if r.antt and r.stp:
                shown.add_row(r.scheduler, _figure(r.antt), _figure(r.stp), *(f"{s.value:.2f}" for s in r.slowdowns))
        console.print(shown)
    for r in found.rows:
        if r.placement:
            console.print(f"{r.scheduler}: domains {' '.join(map(str, r.placement))}", soft_wrap=True)
        if r.restarts:
            console.print(f"{r.scheduler}: the daemon died {r.restarts} times", soft_wrap=True)
        if r.refused:
            console.print(f"{r.scheduler}: did not run: {r.refused}", soft_wrap=True)
    for p in found.pairs:
        if p.refused:
            console.print(f"{p.first} and {p.second}: did not run: {p.refused}", soft_wrap=True)


def _figure(e: Estimate) -> str:
    return f"{e.value:.2f}" if e.low is None or e.high is None else f"{e.value:.2f} ({e.low:.2f} - {e.high:.2f})"


@contextlib.contextmanager
def _bar() -> Iterator[Step | None]:
    """Shows on terminals how far the comparison is and how long it will take."""
    if not StatusLine.is_possible():
        yield None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn(), TextColumn("left"))
    with Progress(*columns, TimeRemainingColumn(), console=make_console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=1.0)
        yield lambda what, part: bar.update(task, description=what, completed=part)
