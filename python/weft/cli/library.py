"""`weft topo` and `weft policies`."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from .. import library
from ..errors import compose
from ..topology import FORMATS, draw

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON value.")]


def topo(
    spec: Annotated[
        str,
        typer.Argument(
            metavar="[MACHINE]", help="A .toml or .xml file, or an hwloc synthetic string.", show_default=False
        ),
    ] = "",
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="OUT", help="A picture: *.svg or *.png")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Describe a machine as the library reads it; without MACHINE, this one.

    Example: weft topo machines/opteron-8380-4x4.toml -o opteron.svg
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


def policies(
    name: Annotated[str, typer.Argument(help="Only this policy.", show_default=False)] = "", as_json: AsJson = False
) -> None:
    """List the policies: what they do, their knobs, the papers they follow.

    Example: weft policies near
    """
    all_of_them = library.policies()
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
