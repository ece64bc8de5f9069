"""The exceptions of the package."""

from __future__ import annotations

from ._core import LibraryError

__all__ = ["Error", "LibraryError", "TraceError", "compose"]


def compose(what: str, given: object, allowed: str) -> str:
    """The form of every message: what was wrong, what was given, what is allowed."""
    return f"{what}; given: {given}; allowed: {allowed}"


class Error(Exception):
    """A mistake of the user, or a file that is wrong. The message is one line."""


class TraceError(Error):
    """A file that is not a trace, or is damaged. `path` is the file, `at` the byte at which it is wrong."""

    def __init__(self, path: object, at: int, what: str, given: object, allowed: str) -> None:
        super().__init__(f"{path}, byte {at}: " + compose(what, given, allowed))
        self.path = str(path)
        self.at = at
