"""A program or a shared library, as a file with symbols."""

from __future__ import annotations

import bisect
import os
import re
import stat
from functools import cached_property, lru_cache
from pathlib import Path

from elftools.elf.elffile import ELFFile
from elftools.elf.sections import NoteSection, SymbolTableSection

from .construct import construct_of
from .lines import DebugLines, SourceLine
from .table import FUNCTION, defined

_DEBUG_FILES = Path("/usr/lib/debug/.build-id")
"""Where distributions put the debug information of their packages."""


_WORDS = re.compile(r"[A-Za-z_]\w*")
_NO_WORDS = re.compile(r"\{.*?\}|\(.*?\)|<.*|'.*?'|#\d+")
"""Parts of a construct's name that are written in another way in a mangled one."""
_MAY_CALL = re.compile(r"4weft|Ul.*cl|\$_\d+cl")
"""Symbols of functions that call closures, or are call operators of lambda expressions."""


class Module:
    """The symbols and lines of one file. What is damaged in it is as if it were missing: `trouble` says what it is."""

    path: str
    trouble: str
    """Why symbols are missing; empty: they are not."""

    def __init__(self, path: str, build_id: str, ran: float) -> None:
        """`build_id`: hexadecimal, of the file that ran; empty: it had none. `ran`: seconds since 1970. If the file is
        another one by now, or is newer than that and has no build id, its symbols are not used."""
        self.path, self.trouble = path, ""
        self._found: dict[int, SourceLine | None] = {}
        self._elf: ELFFile | None = None
        try:
            self._elf = self._opened(Path(path), build_id, ran)
        except (OSError, ValueError) as failure:
            reason = failure.strerror if isinstance(failure, OSError) and failure.strerror else str(failure)
            self.trouble = f"{path} cannot be read: {reason}"
        except Exception as damage:  # whatever the reader of such files finds in a damaged one
            self.trouble = f"{path} is damaged: {type(damage).__name__}"

    def _opened(self, path: Path, build_id: str, ran: float) -> ELFFile | None:
        status = os.stat(path)
        if not stat.S_ISREG(status.st_mode):
            raise ValueError("not a regular file")
        elf = _elf(path)
        if elf is None:
            raise ValueError("not an ELF file")
        if _build_id(elf) != build_id or (not build_id and status.st_mtime > ran):
            self.trouble = f"{path} has changed since it ran"
            return None
        self.build_id = build_id
        return elf

    @cached_property
    def _debug_file(self) -> ELFFile | None:
        """The file with the debug information: the module's own, or one that belongs to it by its build id."""
        if self._elf is None:
            return None
        if self._elf.get_section_by_name(".debug_info") or not self.build_id:
            return self._elf
        apart = _DEBUG_FILES / self.build_id[:2] / f"{self.build_id[2:]}.debug"
        found = _elf(apart) if apart.is_file() else None
        return found if found and _build_id(found) == self.build_id else self._elf

    @cached_property
    def _functions(self) -> tuple[list[int], list[tuple[int, str]]]:
        """Begins, ascending, with the end and the name of each."""
        found: dict[int, tuple[int, str]] = {}
        files = [f for f in (self._debug_file, self._elf) if f is not None]
        tables = [(f, f.get_section_by_name(name)) for name in (".symtab", ".dynsym") for f in files]
        for file, table in tables:
            if not isinstance(table, SymbolTableSection):
                continue
            for symbol in defined(file, table, (FUNCTION,)):
                if symbol.name:
                    found.setdefault(symbol.address, (symbol.address + max(symbol.size, 1), symbol.name))
        begins = sorted(found)
        return begins, [found[b] for b in begins]

    def symbol(self, offset: int) -> str | None:
        """The name of the function at this address, as it stands in the symbol table."""
        try:
            begins, functions = self._functions
        except Exception as damage:  # as above
            self.trouble = self.trouble or f"the symbols of {self.path} are damaged: {type(damage).__name__}"
            return None
        at = bisect.bisect_right(begins, offset) - 1
        return functions[at][1] if at >= 0 and offset < functions[at][0] else None

    def _code_of(self, construct: str) -> list[tuple[int, int]]:
        """The code that belongs to a construct, begin and end of each function; call operators come first, then the
        functions by which the library calls closures."""
        words = [word for word in _WORDS.findall(_NO_WORDS.sub("", construct)) if word not in ("std", "operator")]
        found: list[tuple[int, int, int]] = []
        for begin, (end, name) in zip(*self._functions, strict=True):
            # Names that are mangled have the words as they are, and few have all: only these are taken apart.
            if all(word in name for word in words) and _MAY_CALL.search(name) and _construct_of(name) == construct:
                rank = 0 if "weft" not in name else 1 if "call_cold" in name else 2
                found.append((rank, begin, end))
        return [(b, e) for _, b, e in sorted(found)]

    @cached_property
    def _lines(self) -> DebugLines | None:
        file = self._debug_file
        return DebugLines(file.get_dwarf_info()) if file and file.get_section_by_name(".debug_info") else None

    def line(self, offset: int) -> SourceLine | None:
        """Where the program's source has the construct for which this function was made; None without debug
        information."""
        if offset not in self._found:
            try:
                self._found[offset] = self._line(offset)
            except Exception as damage:  # as above
                self.trouble = (
                    self.trouble or f"the debug information of {self.path} cannot be read: {type(damage).__name__}"
                )
                self._found[offset] = None
        return self._found[offset]

    def _line(self, offset: int) -> SourceLine | None:
        if self._lines is None:
            return None
        if found := self._lines.construct_at(offset):
            return found
        # Without a description of types: the construct's code is there, inlined or not.
        begins, functions = self._functions
        at = bisect.bisect_left(begins, offset)
        if at == len(begins) or begins[at] != offset:
            return None
        end, symbol = functions[at]
        code = [(offset, end), *self._code_of(construct_of(symbol))]
        return next((line for b, e in code if (line := self._lines.first_line_in(b, e))), None)


@lru_cache(maxsize=1024)
def _construct_of(symbol: str) -> str:
    return construct_of(symbol)


def _elf(path: Path) -> ELFFile | None:
    file = open(path, "rb")  # noqa: SIM115 (the ELFFile reads from it as long as it lives)
    if file.read(4) != b"\x7fELF":
        file.close()
        return None
    return ELFFile(file)


def _build_id(elf: ELFFile) -> str:
    for section in elf.iter_sections():
        if isinstance(section, NoteSection):
            for note in section.iter_notes():
                if note["n_type"] == "NT_GNU_BUILD_ID":
                    return str(note["n_desc"])
    return ""
