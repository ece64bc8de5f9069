"""Functions of a file without symbols: where each begins, by the table that is there to unwind the stack."""

from __future__ import annotations

import bisect
import functools
import re
from pathlib import Path

import numpy as np
from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

# Encodings of pointers in .eh_frame_hdr (Linux Standard Base, Core 5.0, 10.6.2): the only ones that linkers write.
_COUNT_OF_4_BYTES = 0x03
_RELATIVE_TO_THE_TABLE = 0x3B


def is_offset(name: str) -> bool:
    """Whether it is a name that `Functions.name` has made."""
    return re.search(r"\+0x[0-9a-f]+$", name) is not None


class Functions:
    """The functions of one file. Addresses are those of symbol tables."""

    def __init__(self, begins: list[int], names: dict[int, str], stripped: bool, module: str) -> None:
        self._begins, self._names = begins, names
        self.stripped = stripped
        """The file has no names but for what it exports."""
        self._module = module

    def name(self, address: int) -> str:
        """The exported name of the function at an address, or that of the file with the function's offset:
        `solver+0x1a2b`."""
        i = bisect.bisect_right(self._begins, address) - 1
        begin = self._begins[i] if i >= 0 else address
        return self._names.get(begin) or f"{Path(self._module).name}+{begin:#x}"


@functools.cache
def functions_of(path: str) -> Functions:
    """Reads a file. If it cannot be read, each address is a function of its own."""
    try:
        with open(path, "rb") as file:
            elf = ELFFile(file)
            stripped = elf.get_section_by_name(".symtab") is None
            table = elf.get_section_by_name(".eh_frame_hdr")
            begins = _begins(table.data(), table["sh_addr"]) if table else []
            exported = elf.get_section_by_name(".dynsym")
            names = _names(exported) if isinstance(exported, SymbolTableSection) else {}
            return Functions(begins, names, stripped, path)
    except (OSError, ELFError):
        return Functions([], {}, True, path)


def _begins(table: bytes, address: int) -> list[int]:
    """Ascending."""
    if len(table) < 12 or table[2] != _COUNT_OF_4_BYTES or table[3] != _RELATIVE_TO_THE_TABLE:
        return []
    count = min(int.from_bytes(table[8:12], "little"), (len(table) - 12) // 8)
    offsets = np.frombuffer(table, "<i4", 2 * count, 12)[::2].astype(np.int64)
    return [int(begin) for begin in np.sort(offsets + address)]


def _names(symbols: SymbolTableSection) -> dict[int, str]:
    return {
        s["st_value"]: s.name
        for s in symbols.iter_symbols()
        if s["st_info"]["type"] in ("STT_FUNC", "STT_GNU_IFUNC") and s["st_shndx"] != "SHN_UNDEF"
    }
