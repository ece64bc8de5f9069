"""Programs on a pseudo terminal."""

from __future__ import annotations

import fcntl
import os
import pty
import struct
import sys
import termios
from collections.abc import Callable


def on_a_terminal(
    command: list[str],
    *,
    then: Callable[[int, bytes], None] | None = None,
    stdout: int | None = None,
    rows: int = 24,
    environment: dict[str, str] | None = None,
) -> tuple[int, bytes]:
    """Runs it with a controlling terminal of `rows` times 80; returns its exit status and what the terminal got.

    `then(terminal, so_far)` is called after each piece of output. `stdout`: a descriptor that it has instead.
    """
    child, terminal = pty.fork()
    if child == 0:
        try:
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", rows, 80, 0, 0))
            if stdout is not None:
                os.dup2(stdout, 1)
            variables = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "TERM": "xterm", **(environment or {})}
            os.execvpe(command[0], command, variables)
        finally:
            os._exit(126)
    got = b""
    while True:
        try:
            piece = os.read(terminal, 65536)
        except OSError:  # the last one has closed it
            break
        if not piece:
            break
        got += piece
        if then:
            then(terminal, got)
    os.close(terminal)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), got
