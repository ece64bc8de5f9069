"""Lines of source by debug information (DWARF)."""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from elftools.dwarf.compileunit import CompileUnit
from elftools.dwarf.die import DIE
from elftools.dwarf.dwarfinfo import DWARFInfo
from elftools.dwarf.ranges import BaseAddressEntry

_MOST_NESTED = 64
_LIBRARY_HEADER = re.compile(r"(^|/)weft/(impl/)?\w+\.hpp$")
_TYPES = ("DW_TAG_structure_type", "DW_TAG_class_type", "DW_TAG_union_type")
_LAMBDAS = ("", "<lambda>")
"""What compilers call the type of a lambda expression."""
_AROUND_TYPES = (
    "DW_TAG_pointer_type",
    "DW_TAG_reference_type",
    "DW_TAG_rvalue_reference_type",
    "DW_TAG_const_type",
    "DW_TAG_volatile_type",
    "DW_TAG_typedef",
)


@dataclass(frozen=True)
class SourceLine:
    file: str
    """As the compiler was given it, made absolute by the directory in which it ran."""
    line: int
    """From 1."""


@dataclass(frozen=True)
class _Function:
    begin: int
    end: int
    die: DIE


@dataclass(frozen=True)
class _Row:
    address: int
    file: str
    line: int


class DebugLines:
    """Finds the constructs of a program's source in its debug information."""

    def __init__(self, dwarf: DWARFInfo) -> None:
        self._dwarf = dwarf
        self._index = dwarf.get_aranges()
        self._outer: dict[int, list[_Function]] = {}
        self._functions: dict[int, list[_Function]] = {}
        self._rows: dict[int, list[_Row]] = {}

    def construct_at(self, address: int) -> SourceLine | None:
        """For a function of the library that calls a closure of the program: the line of the closure, if the types are
        described (`-g`, and not `-g1`). For a function of the program: the line of its beginning."""
        unit = self._unit_at(address)
        if unit is None:
            return None
        function = self._function_at(unit, address)
        if function is None:
            return None
        if not self._is_library(function.die):
            return next(self._programs_lines(unit, address, function.end), (address, None))[1]
        found = list(self._closures(function.die, set()))
        called = [type_ for type_, is_called in found if is_called]
        return self._declaration((called or [type_ for type_, _ in found])[0]) if found else None

    def first_line_in(self, begin: int, end: int) -> SourceLine | None:
        """The first place in the program's own source for which there is code between these addresses: the beginning of
        the function that was inlined there, or as close to it as is known."""
        unit = self._unit_at(begin)
        if unit is None:
            return None
        function = self._function_at(unit, begin)
        for address, line in self._programs_lines(unit, begin, end):
            return (self._inlined_at(function.die, address) if function else None) or line
        return None

    # ---- addresses

    def _ranges(self, die: DIE) -> Iterator[tuple[int, int]]:
        low, high, ranges = (die.attributes.get(f"DW_AT_{a}") for a in ("low_pc", "high_pc", "ranges"))
        unit = _unit(die)
        if ranges is not None:
            lists = self._dwarf.range_lists()
            base = low.value if low is not None else self._base(unit)
            for entry in lists.get_range_list_at_offset(ranges.value, unit) if lists else ():
                if isinstance(entry, BaseAddressEntry):
                    base = entry.base_address
                else:
                    offset = 0 if getattr(entry, "is_absolute", False) else base
                    yield entry.begin_offset + offset, entry.end_offset + offset
        elif low is not None and high is not None:
            is_address = high.form == "DW_FORM_addr" or high.form.startswith("DW_FORM_addrx")
            yield low.value, high.value if is_address else low.value + high.value

    @staticmethod
    def _base(unit: CompileUnit) -> int:
        low = unit.get_top_DIE().attributes.get("DW_AT_low_pc")
        return int(low.value) if low is not None else 0

    @cached_property
    def _units(self) -> list[tuple[int, int, CompileUnit]]:
        """What units that the index does not know have of the code: begin, end, unit."""
        known = {entry.info_offset for entry in self._index.entries} if self._index else set()
        units = (unit for unit in self._dwarf.iter_CUs() if unit.cu_offset not in known)
        return [(begin, end, unit) for unit in units for begin, end in self._ranges(unit.get_top_DIE())]

    def _unit_at(self, address: int) -> CompileUnit | None:
        """By the index (.debug_aranges) if the unit is in it: clang writes none, and reading a unit takes long."""
        if self._index:
            at = self._index.cu_offset_at_addr(address)
            if at is None:  # also if another range begins between, as where functions of equal code are one
                within = (e for e in self._index.entries if e.begin_addr <= address < e.begin_addr + e.length)
                at = next((e.info_offset for e in within), None)
            if at is not None:
                return self._dwarf.get_CU_at(at)
        return next((u for begin, end, u in self._units if begin <= address < end), None)

    def _function_at(self, unit: CompileUnit, address: int) -> _Function | None:
        """First among the functions that stand in no other one: a body takes long to read, and most addresses are in
        these. The code of two functions is apart, so it is the same function in either order."""
        for known, functions_of in ((self._outer, _outer_functions), (self._functions, _all_functions)):
            if unit.cu_offset not in known:
                known[unit.cu_offset] = [
                    _Function(begin, end, die)
                    for die in functions_of(unit.get_top_DIE())
                    for begin, end in self._ranges(die)
                ]
            if found := next((f for f in known[unit.cu_offset] if f.begin <= address < f.end), None):
                return found
        return None

    def _inlined_at(self, die: DIE, address: int) -> SourceLine | None:
        """Where the outermost of the program's own functions is declared that have code at this address."""
        for at in die.iter_children():
            if at.tag not in ("DW_TAG_inlined_subroutine", "DW_TAG_lexical_block"):
                continue
            if not any(begin <= address < end for begin, end in self._ranges(at)):
                continue
            if at.tag == "DW_TAG_inlined_subroutine" and "DW_AT_abstract_origin" in at.attributes:
                found = self._declared(at.get_DIE_from_attribute("DW_AT_abstract_origin"))
                if found and self._is_programs(found.file):
                    return found
            if found := self._inlined_at(at, address):
                return found
        return None

    @staticmethod
    def _is_programs(file: str) -> bool:
        """And not one of Weft's headers or of the system."""
        return not file.startswith("/usr/") and not _LIBRARY_HEADER.search(file)

    def _rows_of(self, unit: CompileUnit) -> list[_Row]:
        """The lines of the program's own source among those of the unit's code."""
        if unit.cu_offset not in self._rows:
            program = self._dwarf.line_program_for_CU(unit)
            states = [e.state for e in program.get_entries() if e.state is not None] if program else []
            files = {number: self._file(unit, number) for number in {s.file for s in states}}
            programs = {number: file for number, file in files.items() if file and self._is_programs(file)}
            self._rows[unit.cu_offset] = [
                _Row(s.address, programs[s.file], s.line)
                for s in states
                if s.file in programs and s.line > 0 and not s.end_sequence
            ]
        return self._rows[unit.cu_offset]

    def _programs_lines(self, unit: CompileUnit, begin: int, end: int) -> Iterator[tuple[int, SourceLine]]:
        """The lines of the program's own source between these addresses, in the order of the addresses."""
        for row in self._rows_of(unit):
            if begin <= row.address < end:
                yield row.address, SourceLine(row.file, row.line)

    def _file(self, unit: CompileUnit, number: int) -> str | None:
        program = self._dwarf.line_program_for_CU(unit)
        if program is None:
            return None
        files, folders = program.header["file_entry"], program.header["include_directory"]
        is_old = program.header["version"] < 5
        if not is_old <= number < len(files) + is_old:
            return None
        entry = files[number - is_old]
        top = unit.get_top_DIE().attributes
        work = _text(top["DW_AT_comp_dir"].value) if "DW_AT_comp_dir" in top else ""
        folder = ""
        if is_old and entry.dir_index > 0:
            folder = _text(folders[entry.dir_index - 1])
        elif not is_old:
            folder = _text(folders[entry.dir_index])
        return os.path.normpath(os.path.join(work, folder, _text(entry.name)))

    # ---- declarations

    def _declaration(self, die: DIE) -> SourceLine | None:
        """Of the call operator of a type, else of the type."""
        operator = next((c for c in die.iter_children() if _name(c) == "operator()"), None)
        return (self._declared(operator) if operator else None) or self._declared(die)

    def _declared(self, die: DIE) -> SourceLine | None:
        number, line = (die.attributes.get(f"DW_AT_decl_{what}") for what in ("file", "line"))
        file = self._file(_unit(die), number.value) if number is not None else None
        return SourceLine(file, int(line.value)) if file and line is not None else None

    def _root(self, die: DIE) -> str:
        """The outermost namespace, or what is declared there; empty if that has no name."""
        around = die
        for scope in _scopes(die):
            if scope.tag != "DW_TAG_compile_unit":
                around = scope
        return _name(around)

    def _is_library(self, die: DIE) -> bool:
        if self._root(die) not in ("weft", ""):
            return False
        for scope in _scopes(die):
            file = scope.attributes.get("DW_AT_decl_file")
            if file is not None:
                return bool(_LIBRARY_HEADER.search(self._file(_unit(scope), file.value) or ""))
        return self._root(die) == "weft"

    def _closures(self, die: DIE, seen: set[int]) -> Iterator[tuple[DIE, bool]]:
        """The types of the program in the template arguments of `die` and of what is around it, the innermost first,
        and in its members; and whether each is one that is called."""
        if die.offset in seen:
            return
        seen.add(die.offset)
        # Clang does not always say in which function a lambda expression stands, so what it has captured comes last.
        for type_ in itertools.chain.from_iterable([*map(_arguments, _scopes(die)), _members(die)]):
            if self._root(type_) in ("std", "__gnu_cxx"):
                yield from ((inside, True) for inside, is_called in self._closures(type_, seen) if is_called)
            elif self._is_library(type_):
                yield from self._closures(type_, seen)
            else:
                yield type_, _name(type_) in _LAMBDAS or any(_name(c) == "operator()" for c in type_.iter_children())


def _unit(die: DIE) -> CompileUnit:
    if not isinstance(die.cu, CompileUnit):
        raise TypeError("an entry of a type unit")  # to which no address leads: the caller takes it for damage
    return die.cu


def _text(value: bytes | str) -> str:
    return value.decode("utf-8", "surrogateescape") if isinstance(value, bytes) else value


def _name(die: DIE) -> str:
    name = die.attributes.get("DW_AT_name")
    return _text(name.value) if name is not None else ""


def _outer_functions(die: DIE) -> Iterator[DIE]:
    """Those that stand in a unit or in a namespace. An entry says where the next one begins, so bodies are not read."""
    for child in die.iter_children():
        if child.tag == "DW_TAG_subprogram":
            yield child
        elif child.tag == "DW_TAG_namespace":
            yield from _outer_functions(child)


def _all_functions(top: DIE) -> Iterator[DIE]:
    return (die for die in _unit(top).iter_DIEs() if die.tag == "DW_TAG_subprogram")


def _scopes(die: DIE) -> Iterator[DIE]:
    """The entry, with what it completes, and what is around that, from the inside to the outside."""
    at: DIE | None = die
    for _ in range(_MOST_NESTED):
        if at is None:
            return
        yield at
        for link in ("DW_AT_specification", "DW_AT_abstract_origin"):
            if link in at.attributes:
                at = at.get_DIE_from_attribute(link)
                break
        else:
            at = at.get_parent()


def _arguments(die: DIE) -> Iterator[DIE]:
    """The classes among the template arguments."""
    if not die.has_children or die.tag == "DW_TAG_compile_unit" or die.tag == "DW_TAG_namespace":
        return
    for child in die.iter_children():
        if child.tag == "DW_TAG_template_type_param":
            type_ = _class_of(child)
            if type_ is not None:
                yield type_
        elif child.tag == "DW_TAG_GNU_template_parameter_pack":
            yield from _arguments(child)


def _members(die: DIE) -> Iterator[DIE]:
    """The classes of what a lambda expression has captured, or of what a class in a function consists of."""
    around = die.get_parent()
    if die.tag in _TYPES and (_name(die) in _LAMBDAS or (around is not None and around.tag == "DW_TAG_subprogram")):
        for child in die.iter_children():
            if child.tag == "DW_TAG_member" and (type_ := _class_of(child)) is not None:
                yield type_


def _class_of(die: DIE) -> DIE | None:
    """The class that the type of `die` is, or refers to."""
    at = die
    for _ in range(_MOST_NESTED):
        if "DW_AT_type" not in at.attributes:
            return None
        at = at.get_DIE_from_attribute("DW_AT_type")
        if at.tag in _TYPES:
            return at
        if at.tag not in _AROUND_TYPES:
            return None
    return None
