"""The command `weft`. Exit status: 0 done, 1 it failed, 2 usage."""

from __future__ import annotations

import importlib
import os
import sys
from typing import Any

import typer

from .. import __version__
from ..errors import Error, LibraryError

# By command: its module, in the order of the help.
_MODULES = {
    "analyze": "analyze",
    "topo": "library",
    "machines": "library",
    "policies": "library",
    "reproduce": "reproduce",
    "run": "programs",
    "sim": "programs",
    "omp": "omp",
    "compare": "compare",
    "why": "why",
    "profile": "profile",
    "advise": "advise",
    "trace": "trace",
    "cosched": "cosched",
    "share": "share",
}

# Their options end at the program's name: what follows belongs to the program.
_OF_PROGRAMS = {"run", "sim", "omp", "compare", "why", "profile", "advise"}


def application(only: str | None = None) -> typer.Typer:
    """The command with all its commands, or with one of them: the modules of the others take a third of a second to
    load."""
    app = typer.Typer(
        name="weft",
        help="Programs, traces, machines and policies of the task-parallel runtime Weft.",
        no_args_is_help=True,
        context_settings={"help_option_names": ["-h", "--help"]},
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
    )
    app.callback(invoke_without_command=True)(_options)
    for name in [only] if only else _MODULES:
        command = getattr(importlib.import_module(f".{_MODULES[name]}", __name__), name)
        if isinstance(command, typer.Typer):
            app.add_typer(command, name=name)
        else:
            settings = {"allow_interspersed_args": False} if name in _OF_PROGRAMS else None
            app.command(name=name, context_settings=settings)(command)
    return app


# Typer's own copy of click, or click: whichever this Typer is built on.
_UsageError: Any = next(c for c in typer.BadParameter.__mro__ if c.__name__ == "UsageError")

# The status that newer versions of Typer return after a KeyboardInterrupt; commands return 0, 1 or 2.
_INTERRUPTED = 130


def _options(version: bool = typer.Option(False, "--version", help="Show the library's version and exit.")) -> None:
    if version:
        print(__version__)
        raise typer.Exit


def main() -> None:
    """Runs the command of sys.argv and ends the process. A mistake of the user is one line on standard error."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    """Runs one command; returns its exit status."""
    name = next((a for a in arguments if not a.startswith("-")), None)
    try:
        status = application(name if name in _MODULES else None)(arguments, standalone_mode=False, prog_name="weft")
        sys.stdout.flush()
        if status == _INTERRUPTED:
            return _fail("interrupted", 1)
        return status if isinstance(status, int) else 0
    except typer.Exit as leave:
        return leave.exit_code
    except (typer.Abort, KeyboardInterrupt):
        return _fail("interrupted", 1)
    except BrokenPipeError:
        # The reader of the pipe has gone; the interpreter's last flush must not complain.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except (Error, LibraryError) as failure:
        return _fail(str(failure), 1)
    except OSError as failure:
        return _fail(f"{failure.filename or 'the file'}: {failure.strerror or failure}", 1)
    except MemoryError:
        return _fail("not enough memory", 1)
    except _UsageError as failure:
        if type(failure).__name__ == "NoArgsIsHelpError":  # a group alone: its help is the answer
            print(failure.format_message())
            return 2
        return _fail(f"{failure.format_message()} See `weft --help`.", 2)


def _fail(message: str, status: int) -> int:
    print("weft: " + " ".join(message.split()), file=sys.stderr)
    return status
