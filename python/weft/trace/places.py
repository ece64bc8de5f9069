"""Which constructs of a program's source the tasks of a trace belong to."""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import PurePath
from typing import TYPE_CHECKING

from ..symbols import Module, construct_of

if TYPE_CHECKING:
    from .trace import Trace


@dataclass(frozen=True)
class CodeAddress:
    """An address of code as a trace has it."""

    module: str
    """The file of the program or of the shared library; empty: the address lies in none."""
    build_id: str
    """Of that file, hexadecimal; empty: it has none."""
    offset: int
    """From where the module was loaded, as its symbols count."""


@dataclass(frozen=True)
class Place:
    """A construct of a program: a loop, a join, a task of a group or of a graph, a run."""

    name: str
    """As tables show it: `heat.cpp:41`; without debug information `main::{lambda(int)#2}`; without symbols
    `program+0x1a2b`."""
    file: str | None
    """The source file, as the debug information names it; None: it is not known."""
    line: int | None
    """From 1; None: it is not known."""
    module: str
    """The file of the program or of the shared library; empty: the code lies in none."""
    offset: int
    """Address of the code in the module, as its symbol table counts."""
    symbol: str | None
    """The construct's name in the program; None: the symbols are not known."""


def places(trace: Trace) -> dict[str, Place]:
    """The place of each class of tasks that has one, by the name of the class as `stats` and the analyses give it.

    A class with a name that the program has given has the place of the first task of that name.
    """
    found = {trace.names.get(number, place.name): place for number, place in reversed(trace.places.items())}
    return dict(sorted(found.items()))


def resolve(codes: Mapping[int, CodeAddress], began: float) -> tuple[dict[int, Place], list[str]]:
    """The places of the codes, by number, and what is to be said of modules whose symbols are not known.

    `began`: seconds since 1970; a module without a build id that is newer has changed since.
    """
    modules: dict[tuple[str, str], Module] = {}
    found: dict[int, Place] = {}
    for number, code in codes.items():
        if not code.module:
            found[number] = Place(f"{code.offset:#x}", None, None, "", code.offset, None)
            continue
        key = code.module, code.build_id
        if key not in modules:
            modules[key] = _known_module(*key, *_identity(code.module, began))
        module = modules[key]
        found[number] = _place(code, module)
    notes = sorted({m.trouble for m in modules.values() if m.trouble})
    return _with_short_names(found), [f"{n}: what is in it has no names" for n in notes]


@lru_cache(maxsize=8)
def _known_module(path: str, build_id: str, identity: tuple[int, ...], is_newer: bool) -> Module:
    """The same file, read once for all traces. `identity`: another one if the file has changed meanwhile. `is_newer`:
    than the run."""
    return Module(path, build_id, -math.inf if is_newer else math.inf)


def _identity(path: str, began: float) -> tuple[tuple[int, ...], bool]:
    """Of the file, and whether it is newer than a run that began then."""
    try:
        status = os.stat(path)
    except (OSError, ValueError):  # a damaged trace may name what is no path
        return (), False
    return (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns), status.st_mtime > began


def _place(code: CodeAddress, module: Module) -> Place:
    symbol = module.symbol(code.offset)
    line = module.line(code.offset)
    construct = construct_of(symbol) if symbol else None
    name = construct or f"{PurePath(code.module).name}+{code.offset:#x}"
    if line is None:
        return Place(name, None, None, code.module, code.offset, construct)
    return Place(f"{line.file}:{line.line}", line.file, line.line, code.module, code.offset, construct)


def _with_short_names(found: Mapping[int, Place]) -> dict[int, Place]:
    """Lines get as much of their files' paths as tells these apart."""
    files = _shortest({p.file for p in found.values() if p.file is not None})
    return {
        number: replace(p, name=f"{files[p.file]}:{p.line}") if p.file is not None else p for number, p in found.items()
    }


def _shortest(files: Iterable[str]) -> dict[str, str]:
    parts = {file: PurePath(file).parts for file in files}
    short = {file: 1 for file in parts}
    while True:
        shown = {file: str(PurePath(*parts[file][-n:])) for file, n in short.items()}
        count = Counter(shown.values())
        same = [file for file, text in shown.items() if count[text] > 1 and short[file] < len(parts[file])]
        if not same:
            return shown
        for file in same:
            short[file] += 1
