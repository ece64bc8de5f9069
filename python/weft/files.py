"""Files that a user names: they are opened without waiting, and only files have an end."""

from __future__ import annotations

import os
import stat
from typing import BinaryIO

from .errors import Error, compose

MOST_TEXT = 64 << 20
"""In bytes: what a text that is read at once may have, as in the library."""


def open_file(path: str | os.PathLike[str]) -> BinaryIO:
    """Opens a regular file for reading.

    Raises `Error` for a pipe, a folder or a device such as /dev/zero, and OSError for a file that cannot be opened.
    """
    # O_NONBLOCK: a pipe without a writer opens, too.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    mode = os.fstat(descriptor).st_mode
    if not stat.S_ISREG(mode):
        os.close(descriptor)
        what = "a folder" if stat.S_ISDIR(mode) else "a device" if stat.S_ISCHR(mode) else "a pipe or a socket"
        raise Error(f"{os.fspath(path)} cannot be read: " + compose("no file", what, "a file"))
    return open(descriptor, "rb")


def read_text(path: str | os.PathLike[str]) -> str:
    """The text of a file. Raises `Error` also for one that is too large; otherwise like open_file()."""
    with open_file(path) as file:
        text = file.read(MOST_TEXT + 1)
    if len(text) > MOST_TEXT:
        given = f"more than {MOST_TEXT >> 20} MiB"
        raise Error(f"{os.fspath(path)} cannot be read: " + compose("too large", given, "less"))
    return text.decode("utf-8")
