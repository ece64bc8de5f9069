"""`python -m weft` is the command `weft`."""

from __future__ import annotations

import sys

from . import __version__


def main() -> None:
    """Runs the command of sys.argv and ends the process."""
    if sys.argv[1:] == ["--version"]:  # without loading what the other commands need
        print(__version__)
        return
    from .cli import main as run_command

    run_command()


if __name__ == "__main__":
    main()
