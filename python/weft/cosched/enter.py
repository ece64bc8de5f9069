"""How a program comes under a daemon: the process registers itself, then becomes the program by exec. So the daemon
knows the pid from the kernel, and the program's parent, terminal and exit status are what they were.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from . import profiles
from .messages import ask

_PATIENCE = 5.0
"""Seconds in which a daemon that was killed may come back."""


def enter(
    directory: str,
    command: Sequence[str],
    *,
    name: str = "",
    bare: bool = False,
    stdin: str | None = None,
    wait: float = _PATIENCE,
) -> dict[str, str]:
    """Puts this process under the daemon; returns what the program's environment needs besides.

    `bare`: this process only starts others. Raises `NoDaemonError` if there is none, `Error` if it refuses.
    """
    profile = profiles.find(command, stdin)
    request: dict[str, Any] = {
        "do": "register",
        "name": name or Path(command[0]).name,
        "command": " ".join(command)[:4096],
        "bare": bare,
        "profile": profile.shares if profile else {},
    }
    environment: dict[str, str] = ask(directory, request, wait=wait)["environment"]
    return environment
