"""`weft advise`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from ..advise import Advice, Tried
from ..advise import advise as find_advice
from ..advise.advice import BASE, ERROR, LEAST_REPEAT, REPEAT, Plan, most_runs
from ..advise.ratio import Ratio
from ..advise.rules import BASELINE, MOST
from ..errors import compose
from ..settings_file import check_replaceable, write_settings
from .bar import bar
from .library import checked_machine
from .programs import Program, Seed
from .table import console as make_console
from .table import duration, table


def advise(
    program: Program,
    machine: Annotated[
        str | None,
        typer.Option(
            "--machine", metavar="MACHINE", help="A modelled machine (`weft machines`); default: real threads here."
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="FILE", help="The settings file.", show_default="PROGRAM.settings.toml, here"
        ),
    ] = None,
    workers: Annotated[
        int | None, typer.Option("--workers", min=1, metavar="N", help="Number of workers; it is a setting, too.")
    ] = None,
    candidates: Annotated[
        int, typer.Option("--candidates", min=1, metavar="N", help=f"Most policies to try besides {BASELINE}.")
    ] = MOST,
    repeat: Annotated[
        int, typer.Option("--repeat", min=LEAST_REPEAT, metavar="N", help="Number of runs of each finalist.")
    ] = REPEAT,
    limit: Annotated[
        float | None,
        typer.Option("--limit", min=0.001, metavar="SECONDS", help="Try less if the runs would take longer."),
    ] = None,
    seed: Seed = None,
    timeout: Annotated[
        float | None, typer.Option("--timeout", min=0.001, metavar="SECONDS", help="Time limit of one run.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> int:
    """Find the policy for a program on a machine, and write it into a settings file.

    One run is recorded. By what it shows of the program and by the machine, the rules of a guide choose policies, which
    are tried: here, or in virtual time on a modelled machine. The default policy, steal, is always among them, and is
    advised unless another one is clearly better. The program is run many times, so running it again must do no harm.
    Its output is discarded. docs/advise.md has more.

    Example: weft advise -- ./heat2d --rows 2000

    Example: weft advise --machine opteron-8380-4x4 -o opteron.toml -- ./heat2d --rows 2000

    Example: weft run --settings opteron.toml -- ./heat2d --rows 2000
    """
    if machine is not None:
        checked_machine(machine)
    to = output or Path(f"{Path(program[0]).name}.settings.toml")
    if to.suffix != ".toml":
        raise typer.BadParameter(compose("unknown format of the settings file", to, "*.toml") + ".")
    check_replaceable(to)
    console = make_console(stderr=True)
    console.print(f"{program[0]}: one run to record, then at most {most_runs(candidates, repeat)} others")
    with bar() as step:
        found = find_advice(
            program,
            machine=machine,
            workers=workers,
            most=candidates,
            repeat=repeat,
            seed=1 if seed is None else seed,
            limit=limit,
            timeout=timeout,
            announce=lambda plan: _announce(console, plan),
            step=step,
        )
    write_settings(to, found.settings(), found.about())
    if as_json:
        print(json.dumps(found.to_json() | {"file": str(to)}, indent=2))
    else:
        _print(found, to)
    return 0


def _announce(console: Console, plan: Plan) -> None:
    if plan.runs:
        how = "at least" if plan.at_least else "about"
        console.print(f"{plan.runs} runs of {how} {duration(plan.seconds * 1e9)}: {duration(plan.total * 1e9)}")
    else:
        console.print("no further runs: no policy can gain anything")


def _print(a: Advice, to: Path) -> None:
    console = make_console()
    where = f"{a.machine.name}{' (modelled, virtual times)' if a.virtual else ''}, {a.machine.workers} workers"
    console.print(f"program      {_program(a)}", soft_wrap=True)
    console.print(f"machine      {where}")
    for t in a.tried:
        if t.reason:
            console.print(f"tried        {t.candidate.label}: {t.reason} [{t.source}]", soft_wrap=True)
    if a.tried:
        shown = table("policy", "median", "runs", f"over {BASELINE}", "interval")
        for t in a.tried:
            if t.median is not None:
                shown.add_row(t.candidate.label, *_figures(t, a))
        console.print(shown)
    for t in a.tried:
        if t.refused:
            console.print(f"{t.candidate.label}: did not run: {t.refused}", soft_wrap=True)
    if not a.program.complete:
        console.print("note: the recorded run is incomplete: the features are those of its first part")
    console.print(f"advice       {a.advised.label}: {_why(a)}", soft_wrap=True)
    if a.tried:
        console.print(f"regret       {_regret(a)}", soft_wrap=True)
    console.print(
        f"written to   {to}: weft run --settings {to} -- {a.command[0]}, or WEFT_SETTINGS={to}", soft_wrap=True
    )


def _program(a: Advice) -> str:
    p = a.program
    parts = [
        f"work {duration(p.work * 1e9)}, span {duration(p.span * 1e9)}, parallelism {p.parallelism:.3g}",
        f"{p.tasks} tasks of {duration(p.grain * 1e9)}, the longest {duration(p.longest * 1e9)}",
        {"graph": "a graph", "tree": f"a tree of {p.depth} levels", "flat": "flat"}[p.shape],
    ]
    parts += [f"{p.iterations} iterations"] * (p.iterations > 1)
    if p.footprint:
        parts.append(f"{p.footprint / 1e6:.3g} MB of data, touched {p.reuse:.3g} times")
    if p.memory is not None:
        parts.append(f"{p.memory:.0%} of its time waits for memory")
    return "; ".join(parts)


def _figures(t: Tried, a: Advice) -> list[str]:
    base = a.tried[0].median
    over, r = "-", t.over_baseline
    if t.median is not None and base and t.candidate != BASE:
        over = f"{r.mid if r else t.median / base:.3f}"
    return [duration((t.median or 0.0) * 1e9), str(len(t.seconds)), over, _interval(r) if r else "-"]


def _interval(r: Ratio) -> str:
    return f"{r.low:.3f} - {r.high:.3f}"


def _why(a: Advice) -> str:
    if not a.tried:
        return "there is too little parallelism for any other policy to gain"
    if a.gain is None:
        return "nothing that was tried is clearly better"
    return f"takes {_interval(a.gain)} of the time of {BASELINE}"


def _regret(a: Advice) -> str:
    return (
        f"between {a.regret_least:.1%} and {a.regret_most:.1%} slower than the best that ran {a.repeat} times "
        f"(each end of the intervals holds with {1 - ERROR:.0%})"
    )
