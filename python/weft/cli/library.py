"""`weft topo`, `weft machines` and `weft policies`."""

from __future__ import annotations

import csv
import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from .. import library
from ..errors import LibraryError, compose
from ..machine_checks import check_file, read_checks, run_checks
from ..topology import FORMATS, draw
from .examples import examples_folder
from .table import console as make_console
from .table import text_table

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON value.")]


def topo(
    spec: Annotated[
        str,
        typer.Argument(
            metavar="[MACHINE]",
            help="A name (`weft machines`), a .toml or .xml file, or an hwloc synthetic string.",
            show_default=False,
        ),
    ] = "",
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="OUT", help="A picture: *.svg or *.png")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Describe a machine as the library reads it; without MACHINE, this one.

    Example: weft topo opteron-8380-4x4 -o opteron.svg
    """
    if output and output.suffix not in FORMATS:
        raise typer.BadParameter(compose("unknown format of the picture", output, "*.svg, *.png") + ".")
    machine = library.machine(spec)
    if output:
        draw(machine, output)
    if as_json:
        print(json.dumps(machine, indent=2))
    else:
        print(machine["text"], end="")


def machines(
    name: Annotated[
        str, typer.Argument(metavar="[MACHINE]", help="Only this one: a name, or as WEFT_MACHINE.", show_default=False)
    ] = "",
    as_toml: Annotated[
        bool, typer.Option("--toml", help="Print MACHINE as a machine file, with all that a model of it charges.")
    ] = False,
    measure: Annotated[
        bool,
        typer.Option("--measure", help="Measure this machine (about three seconds), and keep that for its models."),
    ] = False,
    check: Annotated[
        bool, typer.Option("--check", help="Compare MACHINE with what is published of it, by runs of the examples.")
    ] = False,
    examples: Annotated[
        Path | None,
        typer.Option(
            "--examples", metavar="DIR", help="Their programs; default: build/release/examples, or build/dev."
        ),
    ] = None,
    as_json: AsJson = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print a table of values with commas between them.")] = False,
) -> int:
    """List the machines that have a name, or show one with the figures that a model of it charges.

    Names are looked for in the directories of WEFT_MACHINES (with colons between them), in the installed ones, and in
    the source tree. Each figure has its source: the machine's file; calibrated, which is measured on this machine;
    typical, a default; none, if such a cost is not charged. With --check, the exit status is 1 if a figure differs by
    more than 1.25 times from the published one, without an explanation.

    Example: weft machines opteron-8380-4x4

    Example: weft machines opteron-8380-4x4 --check

    Example: weft machines this --toml > my.toml
    """
    if sum((as_toml, as_json, as_csv)) > 1:
        raise typer.BadParameter(compose("several forms of output", "two of --toml, --json, --csv", "one") + ".")
    if (as_toml or measure) and not name:
        raise typer.BadParameter(compose("no machine", "--toml or --measure alone", "MACHINE with it") + ".")
    if measure and name != "this":
        raise typer.BadParameter(compose("only this machine can be measured", name, "this") + ".")
    if check:
        if not name or measure or as_toml or as_csv:
            raise typer.BadParameter(
                compose(
                    "--check needs MACHINE, and at most --json beside it",
                    name or "no MACHINE",
                    "weft machines MACHINE --check",
                )
                + "."
            )
        return _check(name, examples_folder(examples), as_json)
    if examples:
        raise typer.BadParameter(compose("--examples without --check", str(examples), "both") + ".")
    if not name:
        _print_machines(as_json, as_csv)
        return 0
    machine = checked_machine(name, measure=measure)
    if as_toml:
        print(library.machine_toml(name), end="")
    elif as_json:
        print(json.dumps(machine, indent=2))
    elif as_csv:
        out = csv.writer(sys.stdout, lineterminator="\n")
        out.writerow(["figure", "value", "source"])
        out.writerows([f["figure"], f["value"], f["source"]] for f in machine["figures"])
    else:
        _print_machine(machine)
    return 0


def _check(name: str, examples: Path, as_json: bool) -> int:
    machine_file = Path(library.machine_path(name))
    results = run_checks(machine_file, read_checks(check_file(machine_file)), examples)
    if as_json:
        print(json.dumps([r.to_json() for r in results], indent=2))
    else:
        console = make_console()
        shown = text_table("check", "what", "published", "ours", "")
        for r in results:
            ours = "-" if r.ours is None else f"{r.ours:.3g}"
            shown.add_row(r.check.id, r.check.what, f"{r.check.figure:.3g}", ours, r.verdict)
        console.print(shown)
        for r in results:
            if not r.agrees and r.note:
                console.print(f"{r.check.id}: {r.note}", soft_wrap=True)
    return 0 if all(r.is_well for r in results) else 1


def checked_machine(spec: str, *, measure: bool = False) -> dict[str, Any]:
    """The machine; a usage error if the library refuses it."""
    try:
        return library.machine(spec, measure=measure)
    except LibraryError as failure:
        raise typer.BadParameter(f"{failure}.") from None


def _print_machines(as_json: bool, as_csv: bool) -> None:
    found = library.machines()
    if as_json:
        print(json.dumps([asdict(m) for m in found], indent=2))
        return
    if as_csv:
        out = csv.writer(sys.stdout, lineterminator="\n")
        sources = ("file", "calibrated", "typical", "none")
        out.writerow(["name", "cores", "sockets", "nodes", *sources, "calibrated_on", "path", "error"])
        for m in found:
            counts = (m.figures.get(source, 0) for source in sources)
            out.writerow([m.name, m.cores, m.sockets, m.nodes, *counts, m.calibrated_on, m.path, m.error])
        return
    table = Table(box=None, pad_edge=False, show_edge=False)
    table.add_column("machine", no_wrap=True, style="bold")
    for column in ("cores", "sockets", "nodes"):
        table.add_column(column, justify="right")
    table.add_column("figures")
    table.add_column("where", overflow="fold")
    for m in found:
        if m.error:
            table.add_row(m.name, "-", "-", "-", m.error, m.path)
            continue
        figures = ", ".join(f"{source} {count}" for source, count in m.figures.items())
        figures += f" (on {m.calibrated_on})" if m.calibrated_on else ""
        table.add_row(m.name, str(m.cores), str(m.sockets), str(m.nodes), figures, m.path or "the machine itself")
    Console(highlight=False, markup=False).print(table)


def _print_machine(machine: dict[str, Any]) -> None:
    print(machine["text"], end="")
    table = Table(box=None, pad_edge=False, show_edge=False)
    table.add_column("figure", no_wrap=True, style="bold")
    table.add_column("value", justify="right")
    table.add_column("source")
    for f in machine["figures"]:
        day = f" on {machine['calibrated_on']}" if f["source"] == "calibrated" else ""
        table.add_row(f["figure"], "-" if f["value"] is None else f"{f['value']:g}", f["source"] + day)
    print()
    Console(highlight=False, markup=False).print(table)


def policies(
    name: Annotated[
        str,
        typer.Argument(
            help="Only this policy; or MODULE.so, the policies of a shared object; or MODULE.so:NAME.",
            show_default=False,
        ),
    ] = "",
    as_json: AsJson = False,
) -> None:
    """List the policies: what they do, their knobs, the papers they follow.

    Example: weft policies near

    Example: weft policies ./mine.so
    """
    module = module_of(name)
    try:
        all_of_them = library.policies(module)
    except LibraryError as failure:
        raise typer.BadParameter(f"{failure}.") from None
    name = name[len(module) :].removeprefix(":")
    names = [p.name for p in all_of_them]
    if name and name not in names:
        raise typer.BadParameter(f"unknown policy; given: {name}; allowed: {', '.join(names)}.")
    chosen = [p for p in all_of_them if name in ("", p.name)]
    if as_json:
        print(json.dumps([asdict(p) for p in chosen], indent=2))
        return
    table = Table(box=None, pad_edge=False, show_edge=False)
    table.add_column("policy", no_wrap=True, style="bold")
    table.add_column("what it does; source", overflow="fold")
    table.add_column("knobs: values (default)", overflow="fold")
    for p in chosen:
        knobs = [f"{k.key}: {k.allowed} ({k.default or 'must be given'}): {k.help}" for k in p.knobs]
        table.add_row(
            p.name,
            "\n".join(filter(None, (p.summary, f"for: {p.helps}", p.wants and f"wants: {p.wants}", p.source))),
            "\n".join(knobs) or "-",
            end_section=True,
        )
    Console(highlight=False, markup=False).print(table)


def module_of(spec: str) -> str:
    """The path of the shared object that a policy comes from; empty for a policy of the library."""
    first = spec.partition(":")[0]
    return first if "/" in first or first.endswith(".so") else ""
