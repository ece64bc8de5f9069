"""Functions and lines of addresses, by the debug information and the symbols of the files that they lie in."""

from __future__ import annotations

import bisect
import functools
import re
import shutil
import struct
import subprocess
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from .functions import functions_of
from .watch import Mapping

TOOL = "addr2line"
_PT_LOAD = 1
_SOURCES = "/src/"
LIBRARY_NAMES = re.compile(r"weft::(engine|policies|places|queue|trace|share|openmp|api|sort|calibrate|pipelines)::")
"""Names of the runtime's library that no program uses."""


@dataclass(frozen=True)
class Frame:
    """A function in a stack. A function that the compiler has put into another one is a frame, too."""

    function: str
    """Demangled; without symbols `solver+0x1a2b`, by the file and where in it the function begins; empty: unknown."""
    file: str | None
    """As the debug information names it. None: there is none."""
    line: int | None
    module: str
    """Path of the program or library."""


class Symbols:
    """The frames of addresses in one process."""

    def __init__(self, maps: Sequence[Mapping]) -> None:
        self._maps = sorted(maps, key=lambda m: m.begin)
        self._begins = [m.begin for m in self._maps]
        self._known: dict[int, tuple[Frame, ...]] = {}
        self.sources: tuple[str, ...] = ()
        """Where the files of the runtime's library lie, by its debug information. Empty: not known."""

    @staticmethod
    def is_possible() -> bool:
        """Whether the tool that reads debug information is installed."""
        return shutil.which(TOOL) is not None

    def learn(self, addresses: Iterable[int]) -> None:
        """Looks up all of them at once: the tool reads each file once."""
        by_module: dict[str, dict[int, int]] = defaultdict(dict)
        for address in set(addresses) - self._known.keys():
            mapping = self._mapping(address)
            self._known[address] = ()
            if mapping:
                at = _address_in_file(mapping.path, address - mapping.begin + mapping.offset)
                by_module[mapping.path][address] = at
                self._known[address] = (Frame("", None, None, mapping.path),)
        for module, found in by_module.items():
            looked_up = _look_up(module, sorted(set(found.values())))
            for address, at in found.items():
                self._known[address] = _named(looked_up.get(at) or self._known[address], at)
            self.sources = tuple({*self.sources, *_sources_in(looked_up.values())})

    def frames(self, address: int) -> tuple[Frame, ...]:
        """The innermost one first; empty: no file lies there."""
        if address not in self._known:
            self.learn([address])
        return self._known[address]

    def _mapping(self, address: int) -> Mapping | None:
        i = bisect.bisect_right(self._begins, address) - 1
        return self._maps[i] if i >= 0 and address < self._maps[i].end else None


def _named(frames: tuple[Frame, ...], address: int) -> tuple[Frame, ...]:
    """Where there is neither debug information nor a table of symbols, the tool knows no name, or that of an exported
    function that lies before."""
    (*inner, last) = frames
    if last.file or not (last.function == "" or functions_of(last.module).stripped):
        return frames
    return (*inner, replace(last, function=functions_of(last.module).name(address)))


def _sources_in(found: Iterable[tuple[Frame, ...]]) -> set[str]:
    files = {f.file for frames in found for f in frames if f.file and LIBRARY_NAMES.match(f.function)}
    return {file[: file.rindex(_SOURCES) + len(_SOURCES)] for file in files if _SOURCES in file}


def _look_up(module: str, addresses: Sequence[int]) -> dict[int, tuple[Frame, ...]]:
    if not Symbols.is_possible():
        return {}
    command = [TOOL, "-e", module, "-a", "-i", "-f", "-C"]
    text = "\n".join(f"{a:#x}" for a in addresses)
    done = subprocess.run(command, input=text, capture_output=True, text=True, errors="replace", check=False)
    found: dict[int, tuple[Frame, ...]] = {}
    lines = done.stdout.splitlines()
    at, i = None, 0
    while i < len(lines):
        if lines[i].startswith("0x"):
            at = int(lines[i], 16)
            found[at] = ()
            i += 1
        elif at is not None and i + 1 < len(lines):
            found[at] += (_frame(lines[i], lines[i + 1], module),)
            i += 2
        else:
            break
    return {at: _without_wrong_name(frames) for at, frames in found.items()}


def _without_wrong_name(frames: tuple[Frame, ...]) -> tuple[Frame, ...]:
    """If functions were put into another one, the tool names the innermost one by the symbol of the outermost one."""
    if len(frames) < 2:
        return frames
    return (replace(frames[0], function=""), *frames[1:])


def _frame(function: str, where: str, module: str) -> Frame:
    file, _, line = where.split(" (")[0].rpartition(":")
    known = file not in ("", "??")
    number = int(line) if known and line.isdigit() and int(line) > 0 else None
    return Frame("" if function == "??" else function, file if known else None, number, module)


def _address_in_file(path: str, offset: int) -> int:
    """The address, as in symbol tables, of what lies at an offset in a file."""
    for begin, size, address in _segments(path):
        if begin <= offset < begin + size:
            return offset - begin + address
    return offset


@functools.cache
def _segments(path: str) -> tuple[tuple[int, int, int], ...]:
    """Offset, length and address of what the loader maps of a file of 64 bits."""
    try:
        with open(path, "rb") as file:
            header = file.read(64)
            if len(header) < 64 or header[:5] != b"\x7fELF\x02":
                return ()
            (begin,) = struct.unpack_from("<Q", header, 32)
            size, count = struct.unpack_from("<HH", header, 54)
            file.seek(begin)
            table = file.read(size * count)
    except OSError:
        return ()
    found = []
    for i in range(count):
        kind, _, offset, address, _, length = struct.unpack_from("<IIQQQQ", table, i * size)
        if kind == _PT_LOAD:
            found.append((offset, length, address))
    return tuple(found)
