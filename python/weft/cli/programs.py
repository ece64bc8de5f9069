"""`weft run` and `weft sim`."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from .. import library
from ..errors import Error, LibraryError, compose
from ..launcher import LaunchError, Run, launch
from ..settings_file import read_settings
from ..summary import Summary, summarise
from .library import checked_machine
from .runtime import print_runtime
from .status import StatusLine
from .table import console as make_console
from .table import duration

Program = Annotated[
    list[str],
    typer.Argument(metavar="-- PROGRAM [ARGS]", help="A program linked with Weft.", show_default=False),
]
MaybeProgram = Annotated[
    list[str] | None,
    typer.Argument(metavar="-- PROGRAM [ARGS]", help="A program linked with Weft.", show_default=False),
]
Policy = Annotated[
    str | None,
    typer.Option("--policy", metavar="NAME[:KEY=VALUE,...]", help="See `weft policies`; or MODULE.so:NAME[:...]."),
]
Workers = Annotated[int | None, typer.Option("--workers", min=1, metavar="N", help="Number of workers.")]
Seed = Annotated[int | None, typer.Option("--seed", min=0, metavar="N", help="Seed of the runtime's random choices.")]
Speeds = Annotated[
    str | None,
    typer.Option(
        "--speeds",
        metavar="S,S,...|machine",
        help="A speed for each worker, from 0.01 to 1: unequal cores where there are none (docs/unequal-cores.md).",
    ),
]
Settings = Annotated[
    Path | None,
    typer.Option(
        "--settings", metavar="FILE", help="Settings of `weft advise`; other options and the environment come first."
    ),
]
Resources = Annotated[Path | None, typer.Option("--resources", metavar="FILE", help="Resources for tasks of graphs.")]
TraceFile = Annotated[
    Path | None,
    typer.Option("--trace", metavar="FILE", help="Write a trace; the table then has work, span and overhead, too."),
]
Speedup = Annotated[
    bool, typer.Option("--speedup", help="Run the program with 1 worker first, and show what more workers gain.")
]
ShowProgress = Annotated[
    bool | None,
    typer.Option("--progress/--no-progress", help="Show a line about the program.", show_default="on a terminal"),
]
AsJson = Annotated[
    bool,
    typer.Option("--json", help="Print one JSON object; the program's standard output goes to standard error."),
]

# Options behind the program are the program's, with or without the two dashes.
OPTIONS_END_AT_THE_PROGRAM: dict[str, Any] = {"allow_interspersed_args": False}


def check_policy(spec: str) -> None:
    """Raises a usage error if the library refuses the policy or its knobs, before any program starts."""
    try:
        library.check_policy(spec)
    except LibraryError as failure:
        raise typer.BadParameter(f"{failure}.") from None


def run(
    program: Program,
    policy: Policy = None,
    workers: Workers = None,
    settings_file: Settings = None,
    machine: Annotated[
        str | None,
        typer.Option(
            "--machine",
            metavar="MACHINE",
            help="The machine that the policy sees (`weft machines`); default: this one.",
        ),
    ] = None,
    speeds: Speeds = None,
    seed: Seed = None,
    resources: Resources = None,
    trace: TraceFile = None,
    speedup: Speedup = False,
    progress: ShowProgress = None,
    as_json: AsJson = False,
) -> int:
    """Run a program under a policy, and show what its workers did.

    Settings that are not given are taken from the environment (WEFT_POLICY and so on). Standard input and output are
    the program's; the table goes to standard error. The exit status is 1 if the program fails.

    Example: weft run --policy near --workers 4 -- ./heat2d --rows 2000

    Example: weft run --settings heat2d.settings.toml -- ./heat2d --rows 2000

    Example: weft run --policy aats --speeds 1,1,0.32,0.32 -- ./batches
    """
    settings = {
        "policy": policy,
        "workers": workers,
        "machine": machine,
        "seed": seed,
        "resources": resources,
        "environment": _environment(WEFT_SPEEDS=speeds, WEFT_SETTINGS=settings_file),
    }
    return _run(program, settings, trace, speedup, progress, as_json)


def sim(
    program: MaybeProgram = None,
    replay: Annotated[
        Path | None, typer.Option("--replay", metavar="TRACE", help="Run this recorded trace again, without a program.")
    ] = None,
    machine: Annotated[
        str | None,
        typer.Option(
            "--machine",
            metavar="MACHINE",
            help="A name (`weft machines`), a file, an hwloc synthetic string, or this; default: this one.",
        ),
    ] = None,
    policy: Policy = None,
    workers: Workers = None,
    settings_file: Settings = None,
    speeds: Speeds = None,
    scenario: Annotated[
        Path | None, typer.Option("--scenario", metavar="FILE", help="What happens to the machine during the run.")
    ] = None,
    costs: Annotated[
        str | None,
        typer.Option("--costs", metavar="declared|measured", help="Where the cost of user code comes from."),
    ] = None,
    seed: Seed = None,
    resources: Resources = None,
    trace: TraceFile = None,
    speedup: Speedup = False,
    progress: ShowProgress = None,
    as_json: AsJson = False,
) -> int:
    """Run a program on a modelled machine, in virtual time.

    Otherwise like `weft run`. docs/modelled-machines.md lists what a program should declare. With --replay, a trace
    takes the place of the program: how would its run have been on that machine, under that policy? (docs/replay.md)

    Example: weft sim --machine opteron-8380-4x4 --policy near -- ./heat2d --rows 2000

    Example: weft sim --machine "numa:4 core:8 pu:1" --policy ./mine.so:last-victim -- ./heat2d

    Example: weft sim --machine opteron-8380-4x4 --policy near --replay run.weft
    """
    if costs not in (None, "declared", "measured"):
        raise typer.BadParameter(compose("unknown source of costs", costs, "declared, measured") + ".")
    if (replay is None) == (not program):
        given = "both" if program else "neither"
        raise typer.BadParameter(compose("expected one thing to run", given, "-- PROGRAM, or --replay TRACE") + ".")
    if replay is not None and speeds:
        given = f"--replay {replay} --speeds {speeds}"
        raise typer.BadParameter(
            compose("a replay has the speeds of its machine", given, "a machine file with them") + "."
        )
    if replay is not None and settings_file:
        given = f"--replay {replay} --settings {settings_file}"
        raise typer.BadParameter(compose("settings are for a program", given, "--policy and --workers") + ".")
    if replay is not None:
        from .replay import WhatIf, run_again  # which loads the libraries for tables

        _check(policy, machine)
        what_if = WhatIf(replay, machine or "", policy or "", seed, resources, scenario, costs)
        return run_again(what_if, workers, trace, speedup, as_json)
    assert program is not None
    settings = {
        "engine": "model",
        "policy": policy,
        "workers": workers,
        "machine": machine,
        "seed": seed,
        "resources": resources,
        "environment": _environment(
            WEFT_SCENARIO=scenario, WEFT_COSTS=costs, WEFT_SPEEDS=speeds, WEFT_SETTINGS=settings_file
        ),
    }
    return _run(program, settings, trace, speedup, progress, as_json)


def _environment(**given: object) -> dict[str, str]:
    return {name: str(value) for name, value in given.items() if value}


def _check(policy: str | None, machine: str | None) -> None:
    """What is not given comes from the environment."""
    if spec := policy or os.environ.get("WEFT_POLICY"):
        check_policy(spec)
    if spec := machine or os.environ.get("WEFT_MACHINE"):
        checked_machine(spec)


def run_with(
    program: list[str],
    settings: dict[str, Any],
    trace: Path | None,
    progress: bool | None,
    as_json: bool,
    *,
    shows: bool = True,
) -> int:
    """Runs a program with these settings of `launch`. `shows`: what the workers did is printed."""
    return _run(program, settings, trace, False, progress, as_json, shows)


def _run(
    program: list[str],
    settings: dict[str, Any],
    trace: Path | None,
    speedup: bool,
    progress: bool | None,
    as_json: bool,
    shows: bool = True,
) -> int:
    _check(settings.get("policy"), settings.get("machine"))
    if file := settings.get("environment", {}).get("WEFT_SETTINGS") or os.environ.get("WEFT_SETTINGS"):
        read_settings(file)
    if progress and not StatusLine.is_possible():
        raise typer.BadParameter(compose("no terminal to show progress on", "--progress", "--no-progress") + ".")
    line = StatusLine() if progress is not False and StatusLine.is_possible() else None
    output = sys.stderr.fileno() if as_json else None
    alone = _alone(program, settings, output) if speedup else None
    try:
        done = launch(program, trace=trace, observer=line, stdout=output, **settings)
    finally:
        if line:
            line.clear()
    summary = summarise(done, alone)
    if as_json:
        print(json.dumps(summary.to_json(), indent=2))
    elif shows:
        _print(summary)
    done.check()
    if not summary.runtimes:
        raise Error(compose("nothing ran in parallel", program[0], "a program that uses the runtime that it makes"))
    return 0


def _alone(program: list[str], settings: dict[str, Any], output: int | None) -> Run:
    try:
        # The trace of this run would not be the requested one.
        environment = {**settings.get("environment", {}), "WEFT_TRACE": None, "WEFT_SPEEDS": None}
        run = launch(program, stdout=output, **{**settings, "workers": 1, "environment": environment})
        if run.interrupted:
            raise LaunchError("interrupted")
        return run.check()
    except LaunchError as failure:
        raise LaunchError(f"with 1 worker: {failure}") from None


def _print(s: Summary) -> None:
    if not s.runtimes:
        return
    console = make_console(stderr=True)
    for i, r in enumerate(s.runtimes):
        if len(s.runtimes) > 1:
            console.print(f"runtime {i + 1} of {len(s.runtimes)}, process {r.process}", style="bold")
        print_runtime(console, r)
    console.print(f"program      {duration(s.seconds * 1e9)}, {duration(s.cpu_seconds * 1e9)} of processor time")
    if s.speedup is not None:
        console.print(f"speed-up     {s.speedup:.3g} over 1 worker")
