"""`weft cosched`."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sys
import time
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from .. import _core
from ..cosched import profiles
from ..cosched.daemon import clean
from ..cosched.domains import cpu_list
from ..cosched.enter import enter
from ..cosched.measure import measure
from ..cosched.messages import NoDaemonError, ask
from ..cosched.programs_file import Program, Programs, read_programs
from ..cosched.rates import unit_of
from ..cosched.runner import Done, run_programs
from ..cosched.settings import Settings, default_directory
from ..cosched.supervisor import Supervisor, is_running
from ..errors import Error, LibraryError, compose
from .cosched_compare import compare
from .cosched_options import (
    AnyProgram,
    AsJson,
    Directory,
    DomainsBy,
    File,
    Period,
    Scheduler,
    Trace,
    Way,
    interrupted_by_signals,
    settings_of,
)
from .programs import OPTIONS_END_AT_THE_PROGRAM
from .runs_table import print_runs, watched
from .table import console as make_console
from .table import count, duration, plain, text_table

cosched = typer.Typer(
    help="Place several programs on one machine, so that they hurt each other little (docs/cosched.md).",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@cosched.command()
def daemon(
    scheduler: Scheduler = None,
    domains: DomainsBy = None,
    period: Period = None,
    counter_period: Annotated[
        float | None,
        typer.Option(
            "--keep",
            min=0.001,
            max=60,
            metavar="SECONDS",
            help="For how long a placement stays at least; default: a period.",
        ),
    ] = None,
    weight: Annotated[
        float, typer.Option("--weight", min=0, max=1, metavar="W", help="Weight of a new rate in the average, 0 to 1.")
    ] = 0.5,
    band: Annotated[
        float,
        typer.Option(
            "--band",
            min=0,
            max=1,
            metavar="B",
            help="Part of the largest rate; a smaller change of a rate counts as none.",
        ),
    ] = 0.05,
    idle: Annotated[
        float, typer.Option("--idle", min=0, max=1, metavar="LOAD", help="Load below which a program counts as idle.")
    ] = 0.5,
    rate: Annotated[
        str,
        typer.Option("--rate", metavar="second|instruction", help="Loads in a second, or in a million instructions."),
    ] = "second",
    way: Way = "affinity",
    trace: Trace = None,
    directory: Directory = None,
) -> int:
    """Run the daemon that places programs, until it is stopped. Programs come by `weft cosched start`.

    It places only what comes by `start` or `run`. It is started anew if it is killed. When it ends, by `weft cosched
    stop` or a signal, the programs go on where the kernel puts them. As root it places the programs of all users.

    Example: weft cosched daemon --scheduler lira-adaptive &
    """
    if rate not in ("second", "instruction"):
        raise typer.BadParameter(compose("unknown kind of rate", rate, "second, instruction") + ".")
    made = settings_of(directory, scheduler, domains, period, way, trace)
    fields = {f: getattr(made, f) for f in made.__dataclass_fields__}
    fields |= {
        "weight": round(weight * 1000),
        "band": round(band * 1000),
        "idle_below": round(idle * 1000),
        "by_instruction": rate == "instruction",
    }
    fields["counter_period"] = made.period if counter_period is None else round(counter_period * 1e9)
    supervisor = Supervisor(Settings(**fields))

    with contextlib.suppress(KeyboardInterrupt), interrupted_by_signals(), supervisor:
        print(f"weft: the daemon is at {made.directory}", file=sys.stderr)
        supervisor.wait(lambda why: print(f"weft: the daemon has died ({why}); it is started anew", file=sys.stderr))
    return 0


@cosched.command(context_settings=OPTIONS_END_AT_THE_PROGRAM)
def start(
    program: AnyProgram,
    name: Annotated[str, typer.Option("--name", metavar="NAME", help="For the status; default: the program's.")] = "",
    directory: Directory = None,
) -> int:
    """Start a program under the running daemon.

    The command becomes the program: terminal, signals and exit status are the program's own. If no daemon runs, or
    there is no such program, nothing is run, and the exit status is 1.

    Example: weft cosched start -- ./solver input.dat
    """
    if not program or shutil.which(program[0]) is None:
        raise Error(
            compose(
                "the program cannot be started",
                program[0] if program else "nothing",
                "a path (./name), or a name that PATH finds",
            )
        )
    where = os.path.abspath(directory or default_directory())
    os.environ.update(enter(where, program, name=name, wait=5.0 if os.path.isdir(where) else 0.0))
    sys.stdout.flush()
    os.execvp(program[0], program)


@cosched.command()
def run(
    file: File,
    scheduler: Scheduler = None,
    domains: DomainsBy = None,
    period: Period = None,
    keep: Annotated[
        bool, typer.Option("--keep-running", help="Repeat each program until all have done their repeats.")
    ] = False,
    way: Way = "affinity",
    trace: Trace = None,
    directory: Directory = None,
    as_json: AsJson = False,
) -> int:
    """Run the programs of a file beside each other, and show how long each took.

    If a daemon runs it places them, else one is started for the time. The exit status is 1 if a program fails.

    Example: weft cosched run programs.toml --domains cores
    """
    given = read_programs(file)
    made = settings_of(
        directory, scheduler or given.scheduler, domains or given.domains, period or given.period, way, trace
    )
    with interrupted_by_signals():
        done = _run(given, made, keep, [scheduler, domains, period, trace])
    if as_json:
        print(json.dumps({"version": 1, "programs": [d.to_json() for d in done]}, indent=2))
    else:
        print_runs(done)
    return 0 if all(not d.failures and d.runs for d in done) else 1


def _run(given: Programs, made: Settings, keep: bool, options: list[object]) -> list[Done]:
    """Under the daemon that runs, which has settings of its own, or under one for the time."""
    if is_running(made.directory):
        names = ("--scheduler", "--domains", "--period", "--trace")
        if asked := [name for name, value in zip(names, options, strict=True) if value is not None]:
            raise Error(compose("a daemon is running, with settings of its own", ", ".join(asked), "none of these"))
        return watched(
            lambda see: run_programs(given.programs, directory=made.directory, keeps_running=keep, observer=see)
        )
    with Supervisor(made) as supervisor:
        _say_what_is_missing(made.directory)
        return watched(
            lambda see: run_programs(
                given.programs, directory=made.directory, supervisor=supervisor, keeps_running=keep, observer=see
            )
        )


def _say_what_is_missing(directory: str) -> None:
    for what, why in ask(directory, {"do": "status"})["missing"].items():
        print(f"weft: {_WITHOUT[what]}: {why}", file=sys.stderr)


_WITHOUT = {
    "counters": "without hardware counters",
    "priorities": "without priorities: cores that a program leaves unused are not lent to others",
    "cpuset": "without control groups: by affinity alone",
    "store": "without a list of programs",
    "trace": "without a trace",
    "domains": "programs are not placed",
    "rates": "without rates",
}


@cosched.command()
def status(
    watch: Annotated[
        bool, typer.Option("--watch", "-w", help="Show it again and again, until the daemon ends.")
    ] = False,
    period: Annotated[float, typer.Option("--every", min=0.1, metavar="SECONDS", help="With --watch.")] = 1.0,
    directory: Directory = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object; with --watch one in each line.")
    ] = False,
) -> int:
    """Show which program is where, its rate and load, and why.

    The exit status is 1 if no daemon runs.

    Example: weft cosched status --watch
    """
    where = os.path.abspath(directory or default_directory())
    seen = _status_of(where)
    if not watch:
        if as_json:
            print(json.dumps(seen, indent=2))
        elif make_console().is_terminal:
            make_console().print(_view(seen))
        else:
            print(plain(_view(seen)), end="")
        return 0
    try:
        if as_json or not make_console().is_terminal:
            while True:
                print(json.dumps(seen) if as_json else plain(_view(seen)), flush=True)
                time.sleep(period)
                seen = ask(where, {"do": "status"}, wait=2.0)
        with Live(_view(seen), console=make_console(), auto_refresh=False, screen=False) as live:
            while True:
                time.sleep(period)
                live.update(_view(ask(where, {"do": "status"}, wait=2.0)), refresh=True)
    except (NoDaemonError, KeyboardInterrupt):
        return 0


def _status_of(where: str) -> dict[str, Any]:
    try:
        return ask(where, {"do": "status"}, wait=1.0 if os.path.isdir(where) else 0.0)
    except NoDaemonError as failure:
        try:
            left = _core.ShareTable.open(where).read()
        except LibraryError:
            raise failure from None
        programs = len(left.get("programs", ()))
        raise NoDaemonError(
            compose(
                f"the daemon has died, and left {programs} programs where they were",
                where,
                "`weft cosched stop`, which frees them, or a new `weft cosched daemon`, which goes on with them",
            )
        ) from None


def _view(seen: dict[str, Any]) -> Group:
    d, sets = seen["daemon"], seen["domains"]["cpus"]
    domains = "1 domain" if len(sets) == 1 else f"{len(sets)} domains"
    lines = [
        f"{seen['scheduler']}, {domains} by {seen['domains']['by']}: {' / '.join(map(cpu_list, sets))}",
        f"placement {seen['generation']}: {seen['decision']['text']}",
        f"daemon {d['pid']}, {d['processor_share']:.2%} of a core"
        + ("" if seen["pressure"] is None else f"; threads waited for a core in {seen['pressure']:.0f} % of the time"),
    ]
    lines += [f"{_WITHOUT[what]}: {why}" for what, why in seen["missing"].items()]
    return Group(*map(Text, lines), _programs_table(seen), Text(""))


def _programs_table(seen: dict[str, Any]) -> Table:
    shown = text_table("program", "pid", "domain", "processors", "first on", "rate", "load", "waits", "threads", "why")
    for p in seen["programs"]:
        rate = "-" if p["source"] == "none" else f"{count(p['rate'])} {p['unit']} ({p['source']})"
        shown.add_row(
            p["name"],
            str(p["pid"]),
            "-" if p["domain"] < 0 else str(p["domain"]),
            cpu_list(p["cpus"]) or "-",
            cpu_list(p["high"]) or "-",
            rate,
            f"{p['load'] / 1000:.0%}" + (", idle" if p["idle"] else ""),
            f"{p['waiting'] / 1000:.2f}",
            f"{p['threads']} in {p['processes']}",
            p["refused"] or p["why"],
        )
    return shown


@cosched.command()
def stop(directory: Directory = None) -> int:
    """Stop the daemon; programs go on where the kernel puts them. If the daemon was killed, clean up what it left.

    The exit status is 1 if there is neither a daemon nor anything left by one.

    Example: weft cosched stop
    """
    where = os.path.abspath(directory or default_directory())
    try:
        ask(where, {"do": "stop"}, wait=1.0 if os.path.isdir(where) else 0.0)
    except NoDaemonError:
        if not os.path.isdir(where):
            raise
        freed = clean(where)
        print(f"weft: the daemon was gone; {freed} programs were freed", file=sys.stderr)
        return 0
    until = time.monotonic() + 10
    while os.path.isdir(where):
        if time.monotonic() > until:
            raise Error(compose("the daemon does not end", where, "its end within 10 s"))
        time.sleep(0.02)
    return 0


@cosched.command(context_settings=OPTIONS_END_AT_THE_PROGRAM)
def profile(
    program: AnyProgram,
    repeat: Annotated[int, typer.Option("--repeat", min=1, metavar="N", help="Number of runs.")] = 1,
    domain: Annotated[int, typer.Option("--domain", min=0, metavar="N", help="Where it runs, alone.")] = 0,
    domains: DomainsBy = None,
    period: Period = None,
    stdin: Annotated[Path | None, typer.Option("--input", metavar="FILE", help="Its standard input.")] = None,
    as_json: AsJson = False,
) -> int:
    """Run a program alone on a domain, measure its rates, and store them.

    `lira-static` places programs by such profiles; the others while they know nothing else. A profile holds for this
    kind of machine, the program's bytes, its arguments, and the files that these name.

    Example: weft cosched profile --repeat 3 -- ./solver input.dat
    """
    made = settings_of(None, "lira-static", domains, period)
    one = Program(
        name=Path(program[0]).name,
        command=tuple(program),
        folder=os.getcwd(),
        input=None if stdin is None else str(stdin.resolve()),
        output=os.devnull,
        repeats=repeat,
    )
    profiles.key_of(one.command, one.input)
    found = measure(one, made, domain=domain)
    path = profiles.store(found)
    if as_json:
        print(json.dumps({"path": str(path)} | vars(found), indent=2))
        return 0
    console = make_console()
    for source, rate in found.rates.items():
        console.print(f"{source}: {count(rate)} {unit_of(source)}", soft_wrap=True)
    console.print(f"{found.readings} readings, {duration(found.seconds * 1e9)} a run; stored in {path}", soft_wrap=True)
    return 0


cosched.command()(compare)
