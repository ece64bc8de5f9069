"""`weft analyze`."""

from __future__ import annotations

import json
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from ..analyze.analysis import Analysis, Kind
from ..analyze.analysis import analyze as analyze_trace
from ..analyze.apply import Applied
from ..analyze.apply import apply as apply_limits
from ..analyze.speeds import Speeds, said
from ..errors import compose
from ..trace.read import read_trace
from .table import console as make_console
from .table import duration, share, table
from .trace import File

MOST_STATES_SHOWN = 12


def analyze(
    file: File,
    program: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[-- PROGRAM ARGS]", help="Program for --apply; default: the trace's.", show_default=False
        ),
    ] = None,
    more: Annotated[
        list[Path] | None,
        typer.Option("--more", metavar="FILE", help="A further trace of the program, for speeds; may be repeated."),
    ] = None,
    serial: Annotated[
        Path | None, typer.Option("--serial", metavar="FILE", help="A trace of one worker, for the fastest times.")
    ] = None,
    limit: Annotated[
        list[str] | None,
        typer.Option(
            "--limit", metavar="CLASS[,CLASS...]", help="Classes to limit; a+b: together. Default: the sensitive ones."
        ),
    ] = None,
    interacting: Annotated[
        bool | None,
        typer.Option(
            "--interacting/--independent", help="Do limited classes slow each other down?", show_default="by the fit"
        ),
    ] = None,
    skip: Annotated[int, typer.Option("--skip", min=0, metavar="N", help="Leave out the first N runs of graphs.")] = 0,
    top: Annotated[int, typer.Option("--top", min=1, metavar="N", help="Number of allocations to show.")] = 8,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="OUT", help="Write the best limits as a resources file.")
    ] = None,
    apply: Annotated[bool, typer.Option("--apply", help="Run the program again under the best limits.")] = False,
    machine: Annotated[
        str | None,
        typer.Option(
            "--machine", metavar="MACHINE", help="Machine for --apply, as WEFT_MACHINE; default: the environment's."
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Find which classes of tasks slow each other down, and what limiting them would gain.

    Example: weft analyze run.weft --serial serial.weft -o limits.toml --apply -- ./copy_compute --copies 20
    """
    if program and not apply:
        raise typer.BadParameter(compose("a program that is not run", " ".join(program), "--apply before it") + ".")
    kind: Kind | None = None if interacting is None else "interacting" if interacting else "independent"
    status = make_console(stderr=True)
    with status.status("reading"):
        trace = read_trace(file)
        others = [read_trace(path) for path in more or ()]
        alone = read_trace(serial) if serial else None
    with status.status("analysing"):
        result = analyze_trace(trace, more=others, serial=alone, limit=_groups(limit), kind=kind, skip=skip)
    if not as_json:
        _print(result, top)
    applied = None
    if output or apply:
        comment = f"weft analyze {file}"
        if result.best:
            comment += f": {_limits(result.best.limits)}, predicted {duration(result.best.time)}"
            comment += f" against {duration(result.elapsed)}"
        text = result.resources(comment)
        with tempfile.TemporaryDirectory(prefix="weft-") as folder:
            path = output or Path(folder, "limits.toml")
            path.write_text(text, encoding="utf-8")
            if output and not as_json:
                print(f"\n{output} has these limits: WEFT_RESOURCES={output}")
            if apply:
                with status.status("running the program again"):
                    applied = apply_limits(
                        result, trace.header, path, command=program or (), machine=machine, skip=skip
                    )
    if as_json:
        print(json.dumps(result.to_json() | {"applied": asdict(applied) if applied else None}, indent=2))
    elif applied:
        _print_applied(applied)


def _groups(limit: list[str] | None) -> list[list[str]] | None:
    """a,b+c: a by itself, b and c together."""
    if not limit:
        return None
    groups = [group.split("+") for word in limit for group in word.split(",")]
    if not all(name for group in groups for name in group):
        raise typer.BadParameter(
            compose("a class without a name", ",".join(limit), "CLASS, CLASS,CLASS, CLASS+CLASS") + "."
        )
    return groups


def _print(a: Analysis, top: int) -> None:
    console = make_console()
    phases = f" in {a.phases} runs of graphs" if a.phases > 1 else ""
    console.print(
        f"{a.path}: {a.tasks} tasks{phases}, {a.workers} workers, {duration(a.elapsed)}, busy {a.busy:.1%}",
        soft_wrap=True,
    )
    console.print()
    classes = table("class", "tasks", "total", "fastest", "Q3", "slowest", "sensitivity", "at a time", "of Tinf")
    for c in a.classes:
        fastest = duration(c.min) + (" (serial)" if c.serial else "")
        sigma = "-" if c.sigma is None else f"{c.sigma:.2f}"
        classes.add_row(
            c.name,
            str(c.count),
            duration(c.total),
            fastest,
            duration(c.q3),
            duration(c.max),
            sigma,
            f"{a.concurrency.get(c.name, 0):.2f}",
            share(a.critical.get(c.name, 0), a.span),
        )
    console.print(classes)
    console.print()
    console.print(f"The longest path takes {duration(a.span)}: no number of workers makes the run shorter than that.")
    console.print(
        f"Were each task as fast as the fastest of its class, there would be {a.reduction.of_thread_time:.1%} less "
        f"work, and {a.reduction.of_elapsed:.1%} less time if no worker ever waited.",
        soft_wrap=True,
    )
    for s in a.speeds:
        if any(s.name in axis.classes for axis in a.limits) or (a.kind == "interacting" and len(s.axes) > 1):
            console.print()
            _print_speeds(console, s)
    if a.predictions:
        console.print()
        _print_predictions(console, a, top)
    console.print()
    console.print(_advice(a), soft_wrap=True, style="bold")
    for note in a.notes:
        console.print(f"note: {note}", soft_wrap=True)


def _print_speeds(console: Console, s: Speeds) -> None:
    rows = list(s.table.values())
    if len(s.axes) > 1:
        rows = sorted((r for r in rows if r.seen > 0), key=lambda r: -r.seen)[:MOST_STATES_SHOWN]
    shown = table(f"{s.name}, while there run", "time a task", "of its time", "+-", "known from")
    for r in rows:
        error = "-" if r.error is None else f"{r.error:.1%}"
        source = "the tasks' times" if r.source == "solved" else r.source
        shown.add_row(said(s, r.state), duration(r.time), f"{r.seen:.1%}", error, source)
    console.print(shown)


def _print_predictions(console: Console, a: Analysis, top: int) -> None:
    shown = table("at most at a time", "predicted", "against measured", "workers idle", "not measured")
    for p in a.predictions[:top]:
        shown.add_row(
            _limits(p.limits),
            duration(p.time),
            f"{p.time / a.elapsed - 1:+.1%}",
            f"{p.idle:.1%}",
            f"{p.extrapolated:.1%}",
        )
    shown.add_row("measured, as it is", duration(a.elapsed), "", f"{1 - a.busy:.1%}", "")
    if a.best_case is not None and a.worst_case is not None:
        shown.add_row("best case", duration(a.best_case), f"{a.best_case / a.elapsed - 1:+.1%}", "", "")
        shown.add_row("worst case", duration(a.worst_case), f"{a.worst_case / a.elapsed - 1:+.1%}", "", "")
    console.print(shown)
    if len(a.predictions) > top:
        console.print(f"{len(a.predictions) - top} more: --top")
    if a.kind == "interacting":
        console.print("Classes slow each other down: one speed for each state of what runs at once.")


def _advice(a: Analysis) -> str:
    if not a.best:
        return "Nothing to limit: no class of tasks of graphs is known to suffer from how many of it run at once."
    if not a.worthwhile:
        return f"Leave it as it is: the best limits, {_limits(a.best.limits)}, would gain {max(a.gain, 0):.1%}."
    return (
        f"Let no more than {_limits(a.best.limits)} run at a time: {duration(a.best.time)} instead of "
        f"{duration(a.elapsed)}, {a.gain:.0%} less."
    )


def _print_applied(applied: Applied) -> None:
    limits, took, predicted = _limits(applied.limits), duration(applied.elapsed), duration(applied.predicted)
    print(f"\nRun again under {limits}: {took}, {applied.gain:.1%} less.")
    print(f"Predicted were {predicted}, off by {applied.error:+.1%}.")


def _limits(limits: dict[str, float]) -> str:
    return ", ".join(f"{p:g} {name}" for name, p in limits.items())
