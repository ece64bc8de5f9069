"""The command `weft`. Exit status: 0 done, 1 it failed, 2 usage."""

from __future__ import annotations

import os
import sys
from typing import Any

import typer

from .. import __version__
from ..errors import Error, LibraryError
from . import programs
from .advise import advise
from .analyze import analyze
from .compare import compare
from .cosched import cosched
from .library import machines, policies, topo
from .omp import omp
from .profile import profile
from .reproduce import reproduce
from .share import share
from .trace import trace
from .why import why

app = typer.Typer(
    name="weft",
    help="Programs, traces, machines and policies of the task-parallel runtime Weft.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.add_typer(trace, name="trace")
app.add_typer(cosched, name="cosched")
app.add_typer(share, name="share")
app.command()(analyze)
app.command()(topo)
app.command(name="machines")(machines)
app.command(name="policies")(policies)
app.command()(reproduce)
app.command(context_settings=programs.OPTIONS_END_AT_THE_PROGRAM)(programs.run)
app.command(context_settings=programs.OPTIONS_END_AT_THE_PROGRAM)(programs.sim)
app.command(context_settings=programs.OPTIONS_END_AT_THE_PROGRAM)(omp)
app.command(context_settings=programs.OPTIONS_END_AT_THE_PROGRAM)(compare)
app.command(context_settings=programs.OPTIONS_END_AT_THE_PROGRAM)(profile)
app.command(context_settings=programs.OPTIONS_END_AT_THE_PROGRAM)(why)
app.command(context_settings=programs.OPTIONS_END_AT_THE_PROGRAM)(advise)

# Typer's own copy of click, or click: whichever this Typer is built on.
_UsageError: Any = next(c for c in typer.BadParameter.__mro__ if c.__name__ == "UsageError")

# The status that newer versions of Typer return after a KeyboardInterrupt; commands return 0, 1 or 2.
_INTERRUPTED = 130


@app.callback(invoke_without_command=True)
def _options(version: bool = typer.Option(False, "--version", help="Show the library's version and exit.")) -> None:
    if version:
        print(__version__)
        raise typer.Exit


def main() -> None:
    """Runs the command of sys.argv and ends the process. A mistake of the user is one line on standard error."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    """Runs one command; returns its exit status."""
    try:
        status = app(arguments, standalone_mode=False, prog_name="weft")
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
