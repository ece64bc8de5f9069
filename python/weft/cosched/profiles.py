"""Stored profiles: the rates of a program that had a domain of this machine to itself.

A profile is found by the machine, the program's bytes, its arguments and the bytes of the files that these name. It
says nothing about another input.
"""

from __future__ import annotations

import contextlib
import datetime
import hashlib
import json
import os
import re
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from .. import _core
from ..errors import Error, compose
from ..files import read_text
from .rates import MEASURED

_CHUNK = 1 << 20
_MOST_INPUT = 1 << 30
"""Bytes of one file that are hashed; a longer one counts by these and its size."""


@dataclass(frozen=True)
class Profile:
    """One measurement."""

    program: str
    arguments: tuple[str, ...]
    key: str
    """Hash of machine, program, arguments and input."""
    machine: str
    date: str
    seconds: float
    readings: int
    rates: Mapping[str, int]
    """By source: counters in loads/s a thread, published in bytes/s, kernel in thousandths of a core."""

    @property
    def shares(self) -> dict[str, int]:
        """What is said to the daemon."""
        return {f"profile:{source}": rate for source, rate in self.rates.items()}


def folder() -> Path:
    """COSCHED_PROFILES, or a folder of this user by the rules of XDG."""
    if given := os.environ.get("COSCHED_PROFILES"):
        return Path(given)
    return Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local/share") / "weft" / "profiles"


def machine_name() -> str:
    """The processor's model and number of processors: machines alike share profiles."""
    model = ""
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith(("model name", "Model", "cpu\t")) and ":" in line:
                model = line.partition(":")[2].strip()
                break
    return f"{model or os.uname().machine} x {os.cpu_count()}"


def key_of(command: Sequence[str], stdin: str | None = None) -> str:
    """Names a program with its input on this machine. Raises `Error` if there is no such program."""
    found = shutil.which(command[0])
    if found is None:
        raise Error(compose("the program cannot be started", command[0], "a path (./name), or a name that PATH finds"))
    parts = [machine_name(), _digest(Path(found)), *command[1:]]
    parts += [_digest(Path(word)) for word in (*command[1:], *([stdin] if stdin else ())) if _is_file(word)]
    return hashlib.sha256("\0".join(parts).encode(errors="surrogateescape")).hexdigest()


def store(profile: Profile) -> Path:
    """Replaces the profile of the same key. Raises OSError."""
    path = _path(profile.program, profile.key)
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, new = tempfile.mkstemp(dir=path.parent, suffix=".new")
    with open(descriptor, "w", encoding="utf-8") as out:
        json.dump({"version": 1} | asdict(profile), out, indent=2)
        out.write("\n")
    os.replace(new, path)
    return path


def find(command: Sequence[str], stdin: str | None = None) -> Profile | None:
    """The profile of this program with this input on this machine; None if there is none that can be read."""
    try:
        key = key_of(command, stdin)
        return parse(read_text(_path(command[0], key)), key)
    except (Error, OSError, ValueError):
        return None


def parse(text: str, key: str | None = None) -> Profile:
    """Raises `Error` for what is no profile, or is one of another key."""
    try:
        given = json.loads(text)
        rates = given["rates"]
        if (
            given.pop("version") != 1
            or set(given) != {f.name for f in fields(Profile)}
            or not all(isinstance(given[k], str) for k in ("program", "key", "machine", "date"))
            or not all(isinstance(a, str) for a in given["arguments"])
            or not set(rates) <= set(MEASURED)
            or any(type(r) is not int or not 0 <= r <= _core.share_most_rate for r in rates.values())
            or (key is not None and given["key"] != key)
        ):
            raise ValueError("not as it should be")
        return Profile(**given | {"arguments": tuple(given["arguments"]), "seconds": float(given["seconds"])})
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise Error(compose("no profile of a program", repr(text[:60]), "what `weft cosched profile` stores")) from None


def today() -> str:
    return datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def _path(program: str, key: str) -> Path:
    name = re.sub(r"[^A-Za-z0-9._-]", "_", Path(program).name)[:64]
    return folder() / f"{name}-{key[:16]}.json"


def _is_file(word: str) -> bool:
    try:
        return Path(word).is_file()
    except (OSError, ValueError):
        return False


def _digest(path: Path) -> str:
    hashed = hashlib.sha256()
    with path.open("rb") as file:
        hashed.update(str(os.fstat(file.fileno()).st_size).encode())
        read = 0
        while read < _MOST_INPUT and (part := file.read(_CHUNK)):
            hashed.update(part)
            read += len(part)
    return hashed.hexdigest()
