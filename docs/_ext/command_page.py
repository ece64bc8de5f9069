"""Prints docs/reference/commands.md: the command `weft` with all its commands, from what the program itself knows."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from types import NoneType
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import typer.main
from weft.cli import application

HEAD = """\
<!-- Written by scripts/docs --commands from the command's own help; do not edit. -->
# The command `weft`

It comes with the [Python package](../../python/README.md). Every command has `--help`. Exit status: 0 done,
1 it failed, 2 usage; a mistake is one line on standard error.
"""

TYPES = {Path: "FILE", str: "TEXT", float: "NUMBER", int: "NUMBER"}


def page() -> str:
    """The page as it should be."""
    return HEAD + "".join(sections("weft", typer.main.get_command(application())))


def sections(name: str, command: Any) -> Iterator[str]:
    """One section a command, a group before its commands."""
    if name != "weft":
        yield f"\n{'#' * (name.count(' ') + 1)} `{name}`\n"
    yield "\n" + prose(command.help or "") + "\n"
    rows = [row(p, hint) for p, hint in parameters(command)]
    if rows:
        yield "\n| | |\n|---|---|\n" + "\n".join(rows) + "\n"
    for word, below in getattr(command, "commands", {}).items():
        if not below.hidden:
            yield from sections(f"{name} {word}", below)


def parameters(command: Any) -> Iterator[tuple[Any, Any]]:
    """The arguments and options that are shown, each with its type."""
    hints = get_type_hints(command.callback, include_extras=True) if command.callback else {}
    for p in command.params:
        if not getattr(p, "hidden", False):
            yield p, hints.get(p.name)


def prose(text: str) -> str:
    """Paragraphs of a help text; an example becomes a block of code."""
    paragraphs = inspect.cleandoc(text.replace("\b", "")).split("\n\n")
    return "\n\n".join(
        f"```text\n{p.removeprefix('Example: ')}\n```" if p.startswith("Example: ") else plain(p) for p in paragraphs
    )


def plain(text: str) -> str:
    """Text in which nothing is a mark of Markdown but the backticks."""
    return text.replace("*", "\\*").replace("<", "&lt;").replace("|", "\\|")


def row(parameter: Any, hint: Any) -> str:
    """An argument or an option; `hint` is its type."""
    given, text = described(parameter, hint)
    given = given.replace("|", "\\|")
    return f"| `{given}` | {plain(text)} |"


def described(parameter: Any, hint: Any) -> tuple[str, str]:
    """What the user gives for an argument or an option, and what it means."""
    text = " ".join((parameter.help or "").split())
    if parameter.param_type_name == "argument":
        given = parameter.metavar or parameter.name.upper()
        if not parameter.required and not given.startswith("["):
            given = f"[{given}]"
    else:
        given = ", ".join([*parameter.opts, *parameter.secondary_opts])
        if not parameter.is_flag:
            given += " " + (parameter.metavar or value(hint))
        text += default(parameter)
        if parameter.required:
            text += " (required)"
    return given, text.strip()


def default(parameter: Any) -> str:
    """What holds where an option is not given."""
    shown = parameter.show_default
    if not isinstance(shown, str):
        unsaid = parameter.is_flag or shown is False or parameter.default in (None, "", (), [])
        shown = "" if unsaid else str(getattr(parameter.default, "value", parameter.default))
    return f" Default: {shown}." if shown else ""


def value(hint: Any) -> str:
    """What an option takes: the words of an enumeration, a range, else the name of its type."""
    if get_origin(hint) is Annotated:
        hint, *declared = get_args(hint)
        bounds = [(d.min, d.max) for d in declared if getattr(d, "min", None) is not None]
        if bounds and bounds[0][1] is not None:
            return "{}..{}".format(*bounds[0])
    hint = next((t for t in get_args(hint) if t is not NoneType), hint)
    if isinstance(hint, type) and issubclass(hint, Enum):
        return "|".join(str(word.value) for word in hint)
    return TYPES.get(hint, "VALUE")


if __name__ == "__main__":
    print(page(), end="")
