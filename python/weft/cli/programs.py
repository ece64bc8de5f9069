"""`weft run` and `weft sim`."""

from __future__ import annotations

import difflib
import json
import os
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from .. import library
from ..errors import Error, compose
from ..launcher import LaunchError, Run, launch
from ..summary import Summary, summarise
from .replay import WhatIf, run_again
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
Policy = Annotated[str | None, typer.Option("--policy", metavar="NAME[:KEY=VALUE,...]", help="See `weft policies`.")]
Workers = Annotated[int | None, typer.Option("--workers", min=1, metavar="N", help="Number of workers.")]
Seed = Annotated[int | None, typer.Option("--seed", min=0, metavar="N", help="Seed of the runtime's random choices.")]
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
    """Raises a usage error if the library has no policy of this name, before any program starts."""
    names = [p.name for p in library.policies()]
    name = spec.partition(":")[0]
    if name in names:
        return
    near = difflib.get_close_matches(name, names, 1)
    meant = f"; did you mean '{near[0]}'?" if near else ""
    raise typer.BadParameter(compose("unknown policy", name, ", ".join(names)) + meant)


def run(
    program: Program,
    policy: Policy = None,
    workers: Workers = None,
    machine: Annotated[
        str | None,
        typer.Option("--machine", metavar="SPEC", help="The machine that the policy sees; default: this one."),
    ] = None,
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
    """
    settings = {
        "policy": policy,
        "workers": workers,
        "machine": machine,
        "seed": seed,
        "resources": resources,
    }
    return _run(program, settings, trace, speedup, progress, as_json)


def sim(
    program: MaybeProgram = None,
    replay: Annotated[
        Path | None, typer.Option("--replay", metavar="TRACE", help="Run this recorded trace again, without a program.")
    ] = None,
    machine: Annotated[
        str | None,
        typer.Option("--machine", metavar="FILE", help="The machine, with the speeds of its cores."),
    ] = None,
    policy: Policy = None,
    workers: Workers = None,
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

    Example: weft sim --machine machines/opteron-8380-4x4.toml --policy near -- ./heat2d --rows 2000

    Example: weft sim --machine machines/opteron-8380-4x4.toml --policy near --replay run.weft
    """
    if costs not in (None, "declared", "measured"):
        raise typer.BadParameter(compose("unknown source of costs", costs, "declared, measured") + ".")
    if (replay is None) == (not program):
        given = "both" if program else "neither"
        raise typer.BadParameter(compose("expected one thing to run", given, "-- PROGRAM, or --replay TRACE") + ".")
    check_machine(machine if machine is not None else os.environ.get("WEFT_MACHINE", ""))
    if replay is not None:
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
        "environment": {
            name: str(value) for name, value in (("WEFT_SCENARIO", scenario), ("WEFT_COSTS", costs)) if value
        },
    }
    return _run(program, settings, trace, speedup, progress, as_json)


def check_machine(spec: str) -> None:
    """Raises a usage error if the machine cannot be modelled."""
    machine = library.machine(spec)
    if not any(c["frequency_mhz"] for c in machine["core_classes"]):
        raise typer.BadParameter(
            compose(
                "the model needs a machine whose speeds are known",
                spec or f"this machine, {machine['name']}",
                "--machine FILE, a TOML file with frequency_mhz in its core classes",
            )
            + "."
        )


def _run(
    program: list[str],
    settings: dict[str, Any],
    trace: Path | None,
    speedup: bool,
    progress: bool | None,
    as_json: bool,
) -> int:
    if policy := settings.get("policy"):
        check_policy(policy)
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
    else:
        _print(summary)
    done.check()
    if not summary.runtimes:
        raise Error(compose("nothing ran in parallel", program[0], "a program that uses the runtime that it makes"))
    return 0


def _alone(program: list[str], settings: dict[str, Any], output: int | None) -> Run:
    try:
        # The trace of this run would not be the requested one.
        environment = {**settings.get("environment", {}), "WEFT_TRACE": None}
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
