"""The table of symbols of a program or a shared library, read as a whole: one symbol at a time takes long in Python."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

_UNDEFINED = 0
FUNCTION, INDIRECT_FUNCTION = 2, 10
"""The types STT_FUNC and STT_GNU_IFUNC."""


@dataclass(frozen=True, slots=True)
class Symbol:
    name: str
    address: int
    size: int


def defined(elf: ELFFile, table: SymbolTableSection, types: tuple[int, ...]) -> Iterator[Symbol]:
    """The symbols of these types that the file defines, in the order of the table. Raises ValueError or struct.error if
    the table is damaged."""
    order = "<" if elf.little_endian else ">"
    entry = struct.Struct(order + ("IBBHQQ" if elf.elfclass == 64 else "IIIBBH"))
    for section in (table, table.stringtable):
        if section["sh_offset"] + section["sh_size"] > elf.stream_len:
            raise ValueError("a section that goes beyond the end of the file")
    if table["sh_entsize"] != entry.size:
        raise ValueError("symbols of an unknown size")
    names = table.stringtable.data()
    for fields in entry.iter_unpack(table.data()):
        if elf.elfclass == 64:
            name, info, _, section_index, address, size = fields
        else:
            name, address, size, info, _, section_index = fields
        if info & 15 in types and section_index != _UNDEFINED:
            yield Symbol(names[name : max(names.find(b"\0", name), name)].decode("utf-8", "replace"), address, size)
