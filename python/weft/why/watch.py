"""What libweft-watch.so has noted of a program: where its threads ran and where they waited.

The library is loaded in front of all others (LD_PRELOAD) and needs no privilege. compat/watch/record.hpp has the
format.
"""

from __future__ import annotations

import os
import re
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import _core
from ..errors import Error, compose

LIBRARY = "libweft-watch.so"
VARIABLE = "LIBWEFT_WATCH"

STATES = (
    "on_core",
    "mutex",
    "rwlock",
    "condition",
    "semaphore",
    "barrier",
    "sleep",
    "transfer",
    "poll",
    "join",
    "futex",
)
"""By their numbers in the file: on a core, or blocked in a call of this kind."""

_MAGIC = b"weftwch\n"
_VERSION = 2
_HEADER = struct.Struct("<8sIIIIQQQQII")
_NO_PLACE = 0xFFFFFFFF
_MADE = 2
_PLACE = np.dtype(
    [
        ("phase", "<u4"),
        ("state", "<u4"),
        ("depth", "<u4"),
        ("holder", "<u4"),
        ("times", "<u8"),
        ("ns", "<u8"),
        ("longest", "<u8"),
        ("object", "<u8"),
        ("faults", "<u8"),
        ("system_ns", "<u8"),
        ("frames", "<u8", 25),
    ]
)
_SAMPLE = np.dtype([("end", "<u8"), ("ns", "<u8"), ("thread", "<u4"), ("place", "<u4")])
_MAP = re.compile(r"([0-9a-f]+)-([0-9a-f]+) (\S+) ([0-9a-f]+) \S+ \d+\s+(/.*)")


@dataclass(frozen=True)
class Mapping:
    """A part of a file in the program's memory."""

    begin: int
    end: int
    offset: int
    """Of `begin` in the file, in bytes."""
    path: str


@dataclass(frozen=True)
class Seen:
    """A stack in one state, with sums over all the times that a thread was seen there."""

    state: str
    """One of STATES."""
    frames: tuple[int, ...]
    """Addresses, innermost first: return addresses; on a core the first one is where the thread was."""
    times: int
    seconds: float
    """On a core: processor time; else the time that the threads were blocked."""
    longest: float
    """The longest one, in seconds."""
    object: int
    """Address of the lock or the like; 0: none."""
    holder: int | None
    """A mutex: index of the place at which its holder had waited for it. None: not known."""
    faults: int
    """On a core: pages of memory that the system gave the thread meanwhile."""
    system: float
    """On a core: the part of `seconds` in the kernel."""


@dataclass(frozen=True)
class Watch:
    """The notes of one process."""

    process: int
    seen: tuple[Seen, ...]
    samples: npt.NDArray[np.void]
    """One row a time: `end` (ns since 1970), `ns`, `thread`, `place` (index in `seen`)."""
    maps: tuple[Mapping, ...]
    lost: int
    """Number of times that found no room."""
    short_seconds: float
    """Sum of waits that were too short for a place."""
    unsampled: int
    """Threads for which the kernel gave no timer."""


def library() -> Path:
    """The path of libweft-watch.so: in this package, its build, or the installed library. Raises `Error` if there is
    none."""
    here = Path(_core.__file__).resolve().parent
    places = [here / "watch", here.parents[1] / "watch"]
    places += [Path(p, "weft/watch") for p in ("/usr/local/lib", "/usr/lib", "/usr/lib/x86_64-linux-gnu")]
    for place in places:
        if (place / LIBRARY).is_file():
            return place / LIBRARY
    raise Error(
        compose(
            "the library that watches a program is not installed",
            ", ".join(map(str, places)),
            f"a folder with {LIBRARY} (Linux on x86-64, with the GNU C library)",
        )
    )


def environment(file: Path) -> dict[str, str | None]:
    """The variables under which a program notes in `file`.PROCESS, for each of its processes."""
    before = os.environ.get("LD_PRELOAD", "")
    return {VARIABLE: str(file), "LD_PRELOAD": f"{library()}:{before}" if before else str(library())}


def read_watches(file: Path) -> list[Watch]:
    """The notes of all processes that were given `file`, in the order of their numbers."""
    found = [p for p in file.parent.glob(f"{file.name}.*") if p.suffix[1:].isdigit()]
    return [read_watch(path) for path in sorted(found, key=lambda p: int(p.suffix[1:]))]


def read_watch(path: Path) -> Watch:
    """Reads the notes of one process. Raises `Error` for a file that has none."""
    data = path.read_bytes()
    fields: tuple[Any, ...] = _HEADER.unpack_from(data) if len(data) >= _HEADER.size else (b"",) * 11
    magic, version, process, place_count, sample_count, samples, lost, _, short_ns, _, unsampled = fields
    if magic != _MAGIC or version != _VERSION:
        raise Error(f"{path}: " + compose("no notes", f"{magic!r}, version {version}", f"{_MAGIC!r}, {_VERSION}"))
    places = np.frombuffer(data, _PLACE, place_count, _HEADER.size)
    kept = np.frombuffer(data, _SAMPLE, min(samples, sample_count), _HEADER.size + place_count * _PLACE.itemsize)
    made = np.flatnonzero((places["phase"] == _MADE) & (places["times"] > 0))
    index = np.full(place_count, -1, np.int64)
    index[made] = np.arange(len(made))
    rows = kept[(kept["place"] < place_count) & (kept["ns"] > 0)]
    rows = rows[index[rows["place"]] >= 0].copy()
    rows["place"] = index[rows["place"]]
    return Watch(
        process=process,
        seen=tuple(_seen(p, index) for p in places[made]),
        samples=rows,
        maps=_maps(path.with_name(path.name + ".maps")),
        lost=lost,
        short_seconds=short_ns * 1e-9,
        unsampled=unsampled,
    )


def _seen(p: Any, index: npt.NDArray[np.int64]) -> Seen:
    holder = int(p["holder"])
    known = holder != _NO_PLACE and index[holder] >= 0
    return Seen(
        state=STATES[int(p["state"])],
        frames=tuple(int(f) for f in p["frames"][: int(p["depth"])]),
        times=int(p["times"]),
        seconds=int(p["ns"]) * 1e-9,
        longest=int(p["longest"]) * 1e-9,
        object=int(p["object"]),
        holder=int(index[holder]) if known else None,
        faults=int(p["faults"]),
        system=int(p["system_ns"]) * 1e-9,
    )


def _maps(path: Path) -> tuple[Mapping, ...]:
    lines = path.read_text(errors="replace").splitlines() if path.exists() else []
    found = [m for line in lines if (m := _MAP.match(line))]
    return tuple(Mapping(int(m[1], 16), int(m[2], 16), int(m[4], 16), m[5]) for m in found)
