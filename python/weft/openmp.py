"""Which library runs an OpenMP program on Weft."""

from __future__ import annotations

import os
import shutil
import stat
import struct
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

from . import _core
from .errors import Error, compose

LIBRARY = "libgomp.so.1"

_MAGIC = b"\x7fELF"
# How the names of the runtimes begin, and what takes the place of each.
_RUNTIMES = {"libgomp.so": LIBRARY, "libomp.so": "libomp.so.5", "libiomp5.so": "libiomp5.so"}
# Has no versions: it answers to all of them at once.
_FOR_ALL = "libweft-openmp.so"


def library_folder() -> Path:
    """The folder of Weft's libgomp.so.1: WEFT_OPENMP, or that of this package, its build, or the installed library.

    Raises `Error` if there is none."""
    here = Path(_core.__file__).resolve().parent
    given = os.environ.get("WEFT_OPENMP")
    places = [Path(given)] if given else [here / "openmp", here.parents[1] / "openmp"]
    if not given:
        places += [Path(p, "weft/openmp") for p in ("/usr/local/lib", "/usr/lib", "/usr/lib/x86_64-linux-gnu")]
    for place in places:
        if (place / LIBRARY).is_file():
            return place
    raise Error(
        compose(
            "Weft's library for OpenMP programs is not installed",
            ", ".join(map(str, places)),
            f"a folder with {LIBRARY}, named by WEFT_OPENMP (cmake -DWEFT_BUILD_OPENMP=ON)",
        )
    )


def library_for(command: Sequence[str]) -> Path:
    """The library to load into the program in front of all others: the one with the name of the runtime that the
    program needs. A script, and a program that needs no runtime or several, get the one that has the entry points of
    all.

    Raises `Error` for programs that would not use it."""
    if not command:
        raise Error(compose("no program", "nothing", "a program and its arguments"))
    found = shutil.which(command[0])
    if found is None:
        raise Error(
            compose(
                "the program cannot be started",
                command[0],
                "a file that can be executed: a path (./name), or a name that PATH finds",
            )
        )
    program = Path(found).resolve()  # ./solver, without the ./, would be a name to look up
    if program.stat().st_mode & (stat.S_ISUID | stat.S_ISGID):
        raise Error(
            compose(
                "the loader ignores LD_PRELOAD for this program",
                f"{program} (setuid or setgid)",
                "a program without these bits",
            )
        )
    with program.open("rb") as file:
        is_script = file.read(4) != _MAGIC
    runtimes = set() if is_script else _runtimes_of(program)
    return library_folder() / (runtimes.pop() if len(runtimes) == 1 else _FOR_ALL)


def needs_openmp(command: Sequence[str]) -> bool:
    """Whether the program is a dynamically linked one that needs an OpenMP runtime and is not linked with Weft: where
    a program on Weft calls a library that was compiled with -fopenmp, that one keeps its own runtime."""
    found = shutil.which(command[0]) if command else None
    if found is None:
        return False
    program = Path(found).resolve()
    if not _is_dynamic(program):
        return False
    needed = _needed_by(program)
    if not any(_is_runtime(name) for name in needed):
        return False
    return not any(_has_weft(file) for name, file in needed.items() if not _is_runtime(name)) and not _has_weft(program)


def _runtimes_of(program: Path) -> set[str]:
    """Weft's libraries for the runtimes that it needs. As ldd does: the loader lists them, and runs nothing of the
    program."""
    if not _is_dynamic(program):
        raise Error(
            compose(
                "the program cannot get another OpenMP library",
                f"{program} (statically linked, or not for this machine)",
                "a dynamically linked program",
            )
        )
    return {ours for name in _needed_by(program) for theirs, ours in _RUNTIMES.items() if name.startswith(theirs)}


def _is_runtime(name: str) -> bool:
    return name.startswith(tuple(_RUNTIMES))


def _needed_by(program: Path) -> dict[str, Path]:
    """The libraries that the loader would load, by the names that the files ask for."""
    listing = subprocess.run(
        [str(program)], env={**os.environ, "LD_TRACE_LOADED_OBJECTS": "1"}, capture_output=True, text=True, check=False
    )
    lines = [line.split() for line in listing.stdout.splitlines() if line.split()]
    return {words[0]: Path(words[2] if words[1:2] == ["=>"] and len(words) > 2 else words[0]) for words in lines}


def _is_dynamic(program: Path) -> bool:
    """Whether the file names an interpreter, the loader."""
    return any(kind == _INTERPRETER for kind, _ in _segments(program))


def _has_weft(file: Path) -> bool:
    """Whether Weft was linked into the file: src/api/runtime.cpp."""
    return any(kind == _NOTE and _NOTE_OF_WEFT in content for kind, content in _segments(file))


_INTERPRETER, _NOTE = 3, 4  # PT_INTERP, PT_NOTE
_NOTE_OF_WEFT = struct.pack("<III8s", 5, 4, 1, b"Weft")


def _segments(file: Path) -> Iterator[tuple[int, bytes]]:
    """The kinds of segments of a file with 64 bits, little-endian, with what is in small ones. Nothing for others."""
    most = 1 << 16
    try:
        with file.open("rb") as opened:
            header = opened.read(64)
            if len(header) < 64 or header[:6] != _MAGIC + b"\x02\x01":
                return
            (begin,) = struct.unpack_from("<Q", header, 32)
            size, count = struct.unpack_from("<HH", header, 54)
            opened.seek(begin)
            table = opened.read(size * count)
            for at in range(0, len(table) - size + 1, size):
                kind, _, offset, _, _, length = struct.unpack_from("<IIQQQQ", table, at)
                opened.seek(offset)
                yield kind, opened.read(length) if length <= most else b""
    except OSError:
        return
