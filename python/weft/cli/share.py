"""`weft share`."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import shutil
import sys
import time
from typing import Annotated, Any

import typer
from rich.live import Live
from rich.table import Table

from ..cosched import lending
from ..cosched.domains import cpu_list
from ..cosched.programs_file import read_programs
from ..cosched.runner import run_programs
from ..errors import Error, compose
from .cosched_options import AnyProgram, AsJson, File, interrupted_by_signals
from .programs import OPTIONS_END_AT_THE_PROGRAM
from .runs_table import print_runs, watched
from .table import console as make_console
from .table import plain, text_table

share = typer.Typer(
    help="Let programs linked with Weft lend cores to each other while they have nothing to do (docs/share.md).",
    no_args_is_help=True,
    rich_markup_mode=None,
)

Directory = Annotated[
    str | None,
    typer.Option("--directory", metavar="DIR", help="Where the programs meet; default: one of this user in /dev/shm."),
]
Reach = Annotated[
    str | None,
    typer.Option(
        "--reach",
        metavar="domain|machine",
        help="Which cores a program may borrow: those that share a last-level cache with its own (default), or all.",
    ),
]
Tick = Annotated[
    str | None,
    typer.Option("--tick", metavar="TIME", help="How often a program that works looks at the others; default: 1ms."),
]


@share.command()
def run(
    file: File,
    cores: Annotated[
        str | None,
        typer.Option(
            "--cores",
            metavar="LIST",
            help="Own cores of each program, as 0-5/6-7, or one list to divide; default: all.",
        ),
    ] = None,
    lends: Annotated[
        bool, typer.Option("--lend/--no-lend", help="Without lending, each program keeps to its own cores.")
    ] = True,
    reach: Reach = None,
    tick: Tick = None,
    directory: Directory = None,
    as_json: AsJson = False,
) -> int:
    """Run the programs of a file beside each other, each on its own cores, and show how long each took.

    The file is that of `weft cosched run`. The exit status is 1 if a program fails.

    Example: weft share run programs.toml --cores 0-5/6-7
    """
    given = read_programs(file)
    shares = lending.own_cores(cores, len(given.programs))
    setting = {lending.VARIABLE: lending.value(directory, reach, tick) if lends else "off"}
    programs = [dataclasses.replace(p, environment=dict(p.environment) | setting) for p in given.programs]
    with interrupted_by_signals():
        done = watched(lambda see: run_programs(programs, cpus_of=shares, observer=see))
    if as_json:
        shown = [d.to_json() | {"cores": c} for d, c in zip(done, shares, strict=True)]
        print(json.dumps({"version": 1, "lends": lends, "programs": shown}, indent=2))
    else:
        print_runs(done)
    return 0 if all(not d.failures and d.runs for d in done) else 1


@share.command(context_settings=OPTIONS_END_AT_THE_PROGRAM)
def start(
    program: AnyProgram,
    cores: Annotated[
        str | None, typer.Option("--cores", metavar="LIST", help="Its own cores; default: those of this process.")
    ] = None,
    reach: Reach = None,
    tick: Tick = None,
    directory: Directory = None,
) -> int:
    """Start a program that lends its cores, and borrows those of others.

    The command becomes the program: terminal, signals and exit status are the program's own.

    Example: weft share start --cores 0-3 -- ./solver input.dat
    """
    if not program or shutil.which(program[0]) is None:
        raise Error(
            compose(
                "the program cannot be started",
                program[0] if program else "nothing",
                "a path (./name), or a name that PATH finds",
            )
        )
    os.environ[lending.VARIABLE] = lending.value(directory, reach, tick)
    os.sched_setaffinity(0, lending.own_cores(cores, 1)[0])
    sys.stdout.flush()
    os.execvp(program[0], program)


@share.command()
def status(
    watch: Annotated[bool, typer.Option("--watch", "-w", help="Show it again and again.")] = False,
    period: Annotated[float, typer.Option("--every", min=0.01, metavar="SECONDS", help="With --watch.")] = 1.0,
    directory: Directory = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object; with --watch one in each line.")
    ] = False,
) -> int:
    """Show which program has which cores of its own, which of them it lends, and which it borrows.

    Example: weft share status --watch
    """
    seen = lending.status(directory)
    console = make_console()
    if not watch:
        if as_json:
            print(json.dumps(seen, indent=2))
        elif console.is_terminal:
            console.print(_view(seen))
        else:
            print(plain(_view(seen)), end="")
        return 0
    with contextlib.suppress(KeyboardInterrupt):
        if as_json or not console.is_terminal:
            while True:
                print(json.dumps(seen) if as_json else plain(_view(seen)), flush=True)
                time.sleep(period)
                seen = lending.status(directory)
        with Live(_view(seen), console=console, auto_refresh=False, screen=False) as live:
            while True:
                time.sleep(period)
                live.update(_view(lending.status(directory)), refresh=True)
    return 0


def _view(seen: dict[str, Any]) -> Table:
    shown = text_table("program", "pid", "own cores", "lent", "borrowed")
    for p in seen["programs"]:
        borrowed: dict[int, list[int]] = {}
        for claim in p["borrowed"]:
            borrowed.setdefault(claim["lender"], []).append(claim["cpu"])
        shown.add_row(
            p["name"],
            str(p["pid"]),
            cpu_list(w["cpu"] for w in p["own"]) or "-",
            cpu_list(w["cpu"] for w in p["own"] if w["lent"]) or "-",
            ", ".join(f"{cpu_list(cpus)} of {lender}" for lender, cpus in sorted(borrowed.items())) or "-",
        )
    return shown
