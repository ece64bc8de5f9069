"""`weft why`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from ..openmp import library_for, needs_openmp
from ..why.collect import REPEATS, Collector
from ..why.diagnosis import Diagnosis, diagnose
from ..why.finding import Finding
from . import programs
from .table import console as make_console
from .table import count, duration

_MOST_PATH = 5

AnyProgram = Annotated[
    list[str],
    typer.Argument(
        metavar="-- PROGRAM [ARGS]",
        help="A program linked with Weft, or compiled with -fopenmp.",
        show_default=False,
    ),
]


def why(
    program: AnyProgram,
    policy: programs.Policy = None,
    workers: programs.Workers = None,
    given: Annotated[
        Path | None,
        typer.Option("--input", metavar="FILE", help="Each run reads this as its standard input; default: nothing."),
    ] = None,
    repeats: Annotated[
        int, typer.Option("--repeats", min=2, metavar="N", help="Runs of the program as it is; more: less uncertain.")
    ] = REPEATS,
    timeout: Annotated[
        float | None, typer.Option("--timeout", min=0.001, metavar="SECONDS", help="The longest that one run may take.")
    ] = None,
    scaling: Annotated[
        bool, typer.Option("--scaling", help="Show also its longest path, and how fast it could be on 2 to 256 cores.")
    ] = False,
    unsure: Annotated[bool, typer.Option("--unsure", help="Show also what could not be told from chance.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> int:
    """Say what makes a program slow, where, and what mending it would save.

    The program runs several times, without output: as it is, watched, traced, with one worker, and under the settings
    whose effect is tested. What comes first takes the most time. Programs compiled with -fopenmp run on Weft's workers,
    as under `weft omp`. The exit status is 0 if the program could be diagnosed, also if there is nothing to gain, and 1
    if it fails or runs nothing in parallel.

    Example: weft why -- ./solver input.dat

    Example: weft why --json --workers 4 -- ./heat2d --rows 2000
    """
    if policy:
        programs.check_policy(policy)
    environment: dict[str, Any] = {}
    openmp = needs_openmp(program)
    if openmp:
        environment = {"LD_PRELOAD": str(library_for(program)), "WEFT_OPENMP": None}
    settings = {"policy": policy, "workers": workers, "environment": environment}
    status = make_console(stderr=True)

    def say(text: str) -> None:
        if status.is_terminal or text.endswith(("takes", " s")) or "follow" in text:
            status.print(f"weft why: {text}", style="dim", soft_wrap=True)

    collector = Collector(
        program, settings, repeats=repeats, say=say, timeout=timeout, given=given, openmp=openmp, scaling=scaling
    )
    result = diagnose(collector.evidence())
    if as_json:
        print(json.dumps(result.to_json(), indent=2))
    else:
        _print(make_console(), result, unsure)
    return 0


def _print(console: Console, d: Diagnosis, with_unsure: bool) -> None:
    faster = "" if d.speedup is None else f", {d.speedup:.2f} times as fast as with one worker"
    console.print(
        f"{' '.join(d.command)}: {_time(d.seconds)} +- {_time(d.spread)}, {d.workers} workers on {d.cores} cores, "
        f"policy {d.policy}{faster}",
        soft_wrap=True,
    )
    if not d.findings:
        console.print("\nNothing to gain here: no cause is known that would save 5 % of the time.", style="bold")
    for i, finding in enumerate(d.findings, 1):
        _print_finding(console, i, finding, d.seconds)
    if d.unsure and with_unsure:
        console.print("\nNot told from chance:", style="bold")
        for finding in d.unsure:
            where = f", {finding.place}" if finding.place else ""
            console.print(f"   {finding.title}{where}: {_gain(finding, d.seconds)}", soft_wrap=True)
    elif d.unsure:
        n = len(d.unsure)
        console.print(f"\n{n} more could not be told from chance: --unsure shows them, --repeats makes them surer")
    if d.longest_path:
        console.print("\nThe longest path, which more cores do not shorten:", style="bold")
        for step in d.longest_path:
            many = step.pieces > 1
            longest = f"in {count(step.pieces)} pieces, the longest {_time(step.longest)}" if many else "in one piece"
            console.print(f"   {step.place}: {_time(step.seconds)} {longest}", soft_wrap=True)
    if d.scaling:
        console.print("\nSpeed-up over one core, if memory is no limit:", style="bold")
        parts = (f"{least:.1f} to {most:.1f} on {cores}" for cores, least, most in d.scaling)
        console.print("   " + ", ".join(parts), soft_wrap=True)
    for note in d.notes:
        console.print(f"note: {note}", soft_wrap=True)


def _print_finding(console: Console, number: int, f: Finding, seconds: float) -> None:
    console.print(f"\n{number}. {f.title}" + (f": {f.place}" if f.place else ""), style="bold", soft_wrap=True)
    console.print(f"   saves {_gain(f, seconds)}", soft_wrap=True)
    if len(f.path) > 1:
        console.print(f"   path: {' < '.join(map(str, f.path[:_MOST_PATH]))}", soft_wrap=True)
    for line in f.evidence:
        console.print(f"   {line}", soft_wrap=True)
    console.print(f"   try: {f.advice}", soft_wrap=True)


def _gain(f: Finding, seconds: float) -> str:
    share = min(f.gain / seconds, 1.0) if seconds > 0 else 0.0
    return f"{_time(f.gain)} +- {_time(f.uncertain)}, {share:.0%} of the time ({f.basis})"


def _time(seconds: float) -> str:
    return duration(seconds * 1e9)
