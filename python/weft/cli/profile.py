"""`weft profile`."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from ..profile import CORES, Construct, Profile, machine_of, profile_program, read_profile
from . import programs
from .library import checked_machine
from .table import console as make_console
from .table import count, duration, share, table

_MOST_CONSTRUCTS = 20


def profile(
    program: programs.MaybeProgram = None,
    read: Annotated[
        Path | None, typer.Option("--read", metavar="FILE", help="Show this profile, which WEFT_PROFILE has named.")
    ] = None,
    machine: Annotated[
        str | None,
        typer.Option(
            "--machine", metavar="MACHINE", help="Whose costs and cores the speed-up is for; default: this one's."
        ),
    ] = None,
    policy: programs.Policy = None,
    timeout: Annotated[
        float | None, typer.Option("--timeout", min=0.001, metavar="SECONDS", help="The longest that the run may take.")
    ] = None,
    as_json: programs.AsJson = False,
) -> int:
    """Show work and span of a program by construct, its longest path, and how much faster more cores could make it.

    The program runs once, with one worker, and writes no trace: memory and file stay small, however many tasks it has.
    The exit status is 1 if it fails or runs nothing in parallel.

    Example: weft profile -- ./solver input.dat

    Example: weft profile --machine opteron-8380-4x4 -- ./heat2d --rows 2000
    """
    if (read is None) == (not program):
        raise typer.BadParameter("Either --read FILE or a program is needed.")
    if policy:
        programs.check_policy(policy)
    if machine:
        checked_machine(machine)
    output = sys.stderr.fileno() if as_json else None
    settings: dict[str, Any] = {"policy": policy, "timeout": timeout, "stdout": output}
    found = read_profile(read) if read else profile_program(program or [], **settings)
    name, cores, burden = machine_of(machine or "")
    counts = sorted({*CORES, cores} - {1}) if machine else list(CORES)
    if as_json:
        print(json.dumps(_to_json(found, name, burden, counts), indent=2))
    else:
        _print(make_console(stderr=read is None), found, name, burden, counts)
    return 0


def _to_json(p: Profile, machine: str, burden: float, counts: list[int]) -> dict[str, Any]:
    speedups = [(n, *p.speedup(n, burden)) for n in counts]
    return {
        "command": p.command,
        "complete": p.complete,
        "tasks": p.tasks,
        "work_ns": p.work,
        "span_ns": p.span,
        "outside_ns": p.outside,
        "estimated_ns": p.estimated,
        "parallelism": p.parallelism,
        "constructs": [asdict(c) for c in p.constructs],
        "machine": {"name": machine, "burden_ns": burden, "burdened_span_ns": p.span_under(burden)},
        "speedup": [{"cores": n, "at_least": least, "at_most": most} for n, least, most in speedups],
        "notes": p.notes,
    }


def _print(console: Console, p: Profile, machine: str, burden: float, counts: list[int]) -> None:
    work, span = duration(p.work), duration(p.span)
    console.print(f"work         {work} in {count(p.tasks)} tasks, of which {duration(p.outside)} outside of runs")
    console.print(f"span         {span}: {p.parallelism:.3g} cores have work on average")
    console.print(
        f"with burden  {duration(p.span_under(burden))}, if it takes {duration(burden)} to bring a task "
        f"to another core ({machine})",
        soft_wrap=True,
    )
    console.print("\nThe longest path:", style="bold")
    console.print(_path_table([c for c in p.constructs if c.on_path > 0][:_MOST_CONSTRUCTS], p))
    console.print("\nAll constructs:", style="bold")
    console.print(_construct_table(sorted(p.constructs, key=lambda c: -c.own)[:_MOST_CONSTRUCTS], p))
    console.print("\nSpeed-up over one core, if memory is no limit:", style="bold")
    rows = table("cores", "at least", "at most")
    for n in counts:
        least, most = p.speedup(n, burden)
        rows.add_row(str(n), f"{least:.3g}", f"{most:.3g}")
    console.print(rows)
    if p.work and p.estimated > 0.01 * p.work:
        console.print(
            f"note: {share(p.estimated, p.work)} of the work is in forks of a few microseconds and less. Their time is "
            "measured; tasks, constructs and the path inside of them are estimated from those that were followed",
            soft_wrap=True,
        )
    if not p.complete:
        console.print("note: a run had not ended, or memory was short: these figures lack a part of it")
    for note in p.notes:
        console.print(f"note: {note}", soft_wrap=True)


def _path_table(constructs: list[Construct], p: Profile) -> Any:
    rows = table("place", "time", "of path", "pieces", "longest piece")
    for c in constructs:
        rows.add_row(
            c.name, duration(c.on_path), share(c.on_path, p.span), count(c.pieces), duration(c.longest_on_path)
        )
    return rows


def _construct_table(constructs: list[Construct], p: Profile) -> Any:
    rows = table("place", "tasks", "own time", "of work", "a task", "with inner", "span", "parallelism")
    for c in constructs:
        each = duration(c.own / c.tasks) if c.tasks else "-"
        parallelism = f"{c.work / c.span:.3g}" if c.span else "-"
        rows.add_row(
            c.name,
            count(c.tasks),
            duration(c.own),
            share(c.own, p.work),
            each,
            duration(c.work),
            duration(c.span),
            parallelism,
        )
    return rows
