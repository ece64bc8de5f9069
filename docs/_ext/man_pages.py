"""Writes docs/man/*.1: a manual page of `weft` and of each of its commands, from what the program itself knows.

They are kept in the tree, so that an installation needs no Python.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer.main
from command_page import described, parameters
from weft.cli import application

EXIT_STATUS = "0 done, 1 it failed, 2 usage; a mistake is one line on standard error."


def pages() -> dict[str, str]:
    """The pages as they should be, by their names, such as `weft-trace-stats.1`."""
    commands = dict(walk("weft", typer.main.get_command(application())))
    return {f"{name.replace(' ', '-')}.1": page(name, command, commands) for name, command in commands.items()}


def walk(name: str, command: Any) -> Iterator[tuple[str, Any]]:
    yield name, command
    for word, below in getattr(command, "commands", {}).items():
        if not below.hidden:
            yield from walk(f"{name} {word}", below)


def page(name: str, command: Any, commands: dict[str, Any]) -> str:
    """The source of one page in the macros of man(7)."""
    paragraphs = inspect.cleandoc((command.help or "").replace("\b", "")).split("\n\n")
    examples = [p.removeprefix("Example: ") for p in paragraphs if p.startswith("Example: ")]
    texts = [" ".join(p.split()) for p in paragraphs if not p.startswith("Example: ")]
    shown = list(parameters(command))
    arguments = [described(p, hint) for p, hint in shown if p.param_type_name == "argument"]
    options = [described(p, hint) for p, hint in shown if p.param_type_name != "argument"]
    below = [other for other in commands if other.rpartition(" ")[0] == name]

    words = [name, *(["[OPTION]..."] if options else []), *(given for given, _ in arguments)]
    if below:
        words.append("COMMAND [ARGUMENT]...")
    lines = [
        ".\\\" Written by scripts/docs --commands from the command's own help; do not edit.",
        f'.TH "{name.replace(" ", "-").upper()}" 1 "" "Weft" "User Commands"',
        ".SH NAME",
        f"{roff(name.replace(' ', '-'))} \\- {roff(brief(command))}",
        ".SH SYNOPSIS",
        f".B {roff(' '.join(words))}",
        ".SH DESCRIPTION",
        "\n.PP\n".join(roff(text) for text in texts),
    ]
    for title, entries in (("ARGUMENTS", arguments), ("OPTIONS", options)):
        if entries:
            lines.append(f".SH {title}")
            for given, text in entries:
                lines += [".TP", f".B {roff(given)}", roff(text)]
    if below:
        lines.append(".SH COMMANDS")
        for other in below:
            lines += [".TP", f".BR {roff(other.replace(' ', '-'))} (1)", roff(brief(commands[other]))]
    if examples:
        lines += [".SH EXAMPLES", *(f".nf\n{roff(example)}\n.fi" for example in examples)]
    lines += [".SH EXIT STATUS", roff(EXIT_STATUS)]
    if name != "weft":
        lines += [".SH SEE ALSO", f".BR {roff(name.rpartition(' ')[0].replace(' ', '-'))} (1)"]
    return "\n".join(lines) + "\n"


def brief(command: Any) -> str:
    """The first sentence of the help."""
    first = " ".join(inspect.cleandoc((command.help or "").replace("\b", "")).split("\n\n")[0].split())
    return first.partition(". ")[0].rstrip(".")


def roff(text: str) -> str:
    """Text in which nothing is a request or an escape; hyphens are those of options."""
    lines = text.replace("\\", "\\e").replace("-", "\\-").split("\n")
    return "\n".join("\\&" + line if line.startswith((".", "'")) else line for line in lines)


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*.1"):
        old.unlink()
    for name, text in pages().items():
        (folder / name).write_text(text, encoding="utf-8")
