"""The file of `weft cosched run` and `compare`: which programs run beside each other."""

from __future__ import annotations

import os
import shlex
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

from .. import _core
from ..errors import Error, compose
from ..files import read_text

_TOP = {"scheduler": str, "domains": str, "period": (int, float), "program": list}
_PROGRAM = {
    "name": str,
    "command": (str, list),
    "input": str,
    "output": str,
    "folder": str,
    "repeats": int,
    "timeout": (int, float),
    "environment": dict,
}
_MOST_REPEATS = 1_000_000
_MOST_SECONDS = 10_000_000


@dataclass(frozen=True)
class Program:
    """One program. Paths are absolute, or names that PATH finds."""

    name: str
    command: tuple[str, ...]
    folder: str
    input: str | None = None
    output: str | None = None
    repeats: int = 1
    timeout: float | None = None
    """Seconds for one run."""
    environment: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Programs:
    """A whole file. What is None is left to the command."""

    path: Path
    programs: tuple[Program, ...]
    scheduler: str | None = None
    domains: str | None = None
    period: float | None = None
    """Seconds."""


def read_programs(path: str | os.PathLike[str]) -> Programs:
    """Raises `Error`, which names the file and the place, for anything that is not as docs/cosched.md says."""
    try:
        given = tomllib.loads(read_text(path))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as failure:
        raise Error(f"{os.fspath(path)}: no TOML: {failure}") from None
    return _File(Path(path)).read(given)


class _File:
    def __init__(self, path: Path) -> None:
        self.path = path
        self.where = ""

    def read(self, given: dict[str, Any]) -> Programs:
        self._only_known(given, _TOP)
        scheduler = given.get("scheduler")
        if scheduler is not None and scheduler not in _core.share_schedulers:
            self._fail("unknown scheduler", scheduler, ", ".join(_core.share_schedulers))
        period = given.get("period")
        if period is not None and not 0.001 <= period <= 60:
            self._fail("the period is out of range", period, "0.001 to 60 seconds")
        tables = given.get("program", [])
        most = _core.share_most_programs
        if not 1 <= len(tables) <= most or not all(isinstance(t, dict) for t in tables):
            self._fail("no programs", len(tables), f"1 to {most} tables [[program]]")
        programs: list[Program] = []
        for i, table in enumerate(tables):
            self.where = f"program {i + 1}"
            programs.append(self._program(table))
        self.where = ""
        names = [p.name for p in programs]
        if twice := sorted({n for n in names if names.count(n) > 1}):
            self._fail("two programs have one name", ", ".join(twice), "a name for each")
        return Programs(self.path, tuple(programs), scheduler, given.get("domains"), period)

    def _program(self, given: dict[str, Any]) -> Program:
        self._only_known(given, _PROGRAM)
        command = given.get("command")
        if isinstance(command, str):
            try:
                command = shlex.split(command)
            except ValueError as failure:
                self._fail(f"the command cannot be split ({failure})", given["command"], "words as a shell takes them")
        if not command or not all(isinstance(word, str) and "\0" not in word for word in command) or not command[0]:
            self._fail("no command", command, "the program and its arguments")
        here = self.path.resolve().parent
        folder = here / given.get("folder", ".")
        if not folder.is_dir():
            self._fail("there is no such folder", folder, "a folder")
        if "/" in command[0]:
            command = [str(folder / command[0]), *command[1:]]
        repeats, timeout = given.get("repeats", 1), given.get("timeout")
        if not 1 <= repeats <= _MOST_REPEATS:
            self._fail("repeats is out of range", repeats, f"1 to {_MOST_REPEATS}")
        if timeout is not None and not 0 < timeout <= _MOST_SECONDS:
            self._fail("timeout is out of range", timeout, f"seconds above 0, to {_MOST_SECONDS}")
        environment = given.get("environment", {})
        if not all(isinstance(v, (str, int)) for v in environment.values()):
            self._fail("the environment is none", environment, "names with texts or whole numbers")
        source = given.get("input")
        if source is not None and not (folder / source).exists():
            self._fail("there is no such input", folder / source, "a file that the program reads as standard input")
        return Program(
            name=given.get("name", Path(command[0]).name),
            command=tuple(command),
            folder=str(folder.resolve()),
            input=None if source is None else str(folder / source),
            output=None if "output" not in given else str(folder / given["output"]),
            repeats=repeats,
            timeout=None if timeout is None else float(timeout),
            environment={str(k): str(v) for k, v in environment.items()},
        )

    def _only_known(self, given: dict[str, Any], known: Mapping[str, Any]) -> None:
        for key, value in given.items():
            if key not in known:
                self._fail("unknown key", key, ", ".join(known))
            kinds = known[key]
            if not isinstance(value, kinds) or isinstance(value, bool):
                names = " or ".join(k.__name__ for k in (kinds if isinstance(kinds, tuple) else (kinds,)))
                self._fail(f"{key} is of the wrong type", repr(value), names)

    def _fail(self, what: str, given: object, allowed: str) -> NoReturn:
        where = f", {self.where}" if self.where else ""
        raise Error(f"{self.path}{where}: {compose(what, given, allowed)}")
