"""The programs that a daemon knows, and the file in which the next daemon finds them."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from .. import _core
from ..files import read_text

_MOST_TEXT = 4096
_MOST_CPUS = 1 << 16


@dataclass(frozen=True)
class Entry:
    """A program as it has come."""

    slot: int
    pid: int
    start: int
    uid: int
    name: str
    command: str
    mask: tuple[int, ...]
    """The processors that it was allowed when it came."""
    bare: bool = False
    """Its first process only starts others and waits for them."""


def write_entries(path: Path, entries: Iterable[Entry]) -> None:
    """Replaces the file as a whole: a reader never sees half of it, whenever the writer is killed."""
    new = path.with_name(path.name + ".new")
    with contextlib.suppress(FileNotFoundError):
        new.unlink()
    file = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    with open(file, "w", encoding="utf-8") as out:
        json.dump({"version": 1, "boot": boot(), "programs": [asdict(e) for e in entries]}, out)
    new.replace(path)


def read_entries(path: Path) -> list[Entry]:
    """The programs of the file; none if it is not there, is damaged, or is of an earlier boot."""
    try:
        found = json.loads(read_text(path))
        if found["version"] != 1 or found["boot"] != boot():
            return []
        entries = [_entry(given) for given in found["programs"]]
    except Exception:  # whatever is in it, it is no more than a help
        return []
    unique = {e.slot: e for e in entries if e is not None}
    return [unique[slot] for slot in sorted(unique)]


def _entry(given: object) -> Entry | None:
    if not isinstance(given, dict) or set(given) != {f.name for f in fields(Entry)}:
        return None
    numbers = [given[k] for k in ("slot", "pid", "start", "uid")]
    if any(type(n) is not int or n < 0 for n in numbers) or given["slot"] >= _core.share_most_programs:
        return None
    texts, mask = [given["name"], given["command"]], given["mask"]
    if not all(isinstance(t, str) and len(t) <= _MOST_TEXT for t in texts) or type(given["bare"]) is not bool:
        return None
    if not isinstance(mask, list) or not mask or any(type(c) is not int or not 0 <= c < _MOST_CPUS for c in mask):
        return None
    return Entry(**given | {"mask": tuple(mask)})


def boot() -> str:
    """A name of this boot of the machine: processes are named by ticks since then."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return ""
