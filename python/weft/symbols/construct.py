"""The name of the program's construct in the name of a function.

The functions by which the library calls closures are templates: their names contain the closure's type, which contains
the name of the function around it. So `weft::impl::join_frame<main::{lambda()#2}>::run_closure(weft::impl::frame*)` is
the second lambda expression without parameters in `main`. A loop has more around it, but its body is still in there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from .. import _core

_LONGEST_ARGUMENTS = 24
"""Template arguments with more characters are left out of names."""
_MOST_NESTED = 64
"""Names that are nested more deeply are not taken apart."""


def construct_of(symbol: str) -> str:
    """The shortest name that tells a person which construct of the program the function belongs to.

    `symbol`: as in a symbol table, mangled or not. The parameters of functions are left out, and so are long template
    arguments. If nothing of the program is in the name, the result is the library's own public function.
    """
    text = _core.demangle(symbol)
    if text is None:
        return _of_mangled(symbol) or symbol if symbol.startswith("_Z") else symbol
    name = _parsed(text)
    if name is None:
        return symbol
    found = next(_closures(name), None) or next(_of_program(name), None) or _public(name) or name
    return str(found)


@dataclass(frozen=True)
class _Part:
    """`text<arguments>(parameters)`: what stands between two `::`."""

    text: str
    arguments: tuple[_Name, ...] = ()
    raw_arguments: str = ""
    is_function: bool = False

    def __str__(self) -> str:
        if not self.raw_arguments:
            return self.text
        return self.text + (self.raw_arguments if len(self.raw_arguments) <= _LONGEST_ARGUMENTS else "<...>")


@dataclass(frozen=True)
class _Name:
    parts: tuple[_Part, ...]
    clone: str = ""

    def __str__(self) -> str:
        shown = [str(p) for p in self.parts if p.text != "operator()"]
        return "::".join(shown or [str(p) for p in self.parts]) + self.clone

    @property
    def root(self) -> str:
        return self.parts[0].text

    @property
    def is_closure(self) -> bool:
        return self.parts[-1].text.startswith(("{lambda", "'lambda", "$_"))

    @property
    def is_library(self) -> bool:
        return self.root == "weft"

    @property
    def is_standard(self) -> bool:
        return self.root in ("std", "__gnu_cxx", "__cxxabiv1")


_BUILTIN = re.compile(
    r"^(?:(?:unsigned|signed|long|short|int|char|bool|void|float|double|auto|__int128|wchar_t|char8_t|char16_t|char32_t"
    r"|true|false|const|volatile)\b\s*|[-\d.]+[a-z]*|[&*\s])+$"
)


def _inside(name: _Name) -> Iterator[_Name]:
    """The template arguments, those of the innermost part first."""
    for part in reversed(name.parts):
        yield from part.arguments


def _closures(name: _Name) -> Iterator[_Name]:
    """The lambda expressions of the program in the name."""
    if name.is_closure and not name.is_library and not name.is_standard:
        yield name
        return
    for argument in _inside(name):
        yield from _closures(argument)


def _of_program(name: _Name) -> Iterator[_Name]:
    """The program's functions and types in the name, but for those in types of the standard library."""
    if name.is_standard:
        return
    if not name.is_library:
        yield name
        return
    for argument in _inside(name):
        yield from _of_program(argument)


def _public(name: _Name) -> _Name | None:
    """The function of the library that a program calls: of those in the name, the innermost."""
    for argument in _inside(name):
        if found := _public(argument):
            return found
    if not name.is_library:
        return None
    for end, part in enumerate(name.parts, 1):
        if part.text == "impl":
            break
        if part.is_function:
            return _Name((*name.parts[: end - 1], _Part(part.text)))
    return None


# ---- taking a name apart

_OPEN, _CLOSE = "<({[", ">)}]"
_OPERATOR = re.compile(r"operator\s*(?:\(\)|\[\]|->\*?|<=>|<<=?|>>=?|<=?|>=?|[^\w\s(<]+)")


def _skip(text: str, at: int) -> int:
    """Behind the bracket that closes the one at `at`."""
    depth = 0
    while at < len(text):
        operator = _OPERATOR.match(text, at)
        if operator and not (at and (text[at - 1].isalnum() or text[at - 1] == "_")):
            at = operator.end()
            continue
        if text[at] in _OPEN:
            depth += 1
        elif text[at] in _CLOSE and not (text[at] == ">" and text[at - 1] == "-"):
            depth -= 1
            if depth == 0:
                return at + 1
        at += 1
    return len(text)


def _pieces(text: str, separator: str) -> list[str]:
    """`text` cut at the separators that are in no bracket."""
    pieces, begin, at = [], 0, 0
    while at < len(text):
        operator = _OPERATOR.match(text, at)
        if operator and not (at and (text[at - 1].isalnum() or text[at - 1] == "_")):
            at = operator.end()
        elif text[at] in _OPEN:
            at = _skip(text, at)
        elif text.startswith(separator, at):
            pieces.append(text[begin:at])
            at = begin = at + len(separator)
        else:
            at += 1
    return [*pieces, text[begin:]]


_CLONE = re.compile(r"\s*\[clone ([^\]]+)\]")
_TAIL = re.compile(r"(?:\s*(?:\bconst|\bvolatile|&&?|\*|\bnoexcept))+$")


def _parsed(text: str, depth: int = 0) -> _Name | None:
    """None: no name, but a built-in type or a number, or something that is nested too deeply."""
    if depth > _MOST_NESTED:
        return None
    clones = "".join(c for c in _CLONE.findall(text) if c != ".cold")
    text = _TAIL.sub("", _CLONE.sub("", text).strip())
    if not text or _BUILTIN.match(text):
        return None
    pieces = [_TAIL.sub("", piece) for piece in _pieces(text, "::")]
    # In front of the name of a function template stands its return type, which may have colons as well.
    first = max((i for i, piece in enumerate(pieces) if len(_pieces(piece, " ")) > 1), default=0)
    pieces = [_pieces(pieces[first], " ")[-1].lstrip("*&"), *pieces[first + 1 :]]
    parts = [_part(piece, depth) for piece in pieces]
    return _Name(tuple(parts), clones) if parts[0].text else None


def _part(piece: str, depth: int) -> _Part:
    operator = _OPERATOR.match(piece)
    at = operator.end() if operator else 0
    if piece.startswith(("{", "'", "(anonymous")):  # a lambda expression, a namespace without a name
        return _Part(piece)
    while at < len(piece) and piece[at] not in "<(":
        at += 1
    text, arguments, raw = piece[:at], "", ""
    if at < len(piece) and piece[at] == "<":
        end = _skip(piece, at)
        raw = piece[at:end]
        arguments = raw[1:-1]
        at = end
    inside = tuple(n for a in _pieces(arguments, ",") if (n := _parsed(a, depth + 1))) if arguments else ()
    return _Part(text, inside, raw, at < len(piece))


# ---- names that the demangler does not know

_CLOSURE = re.compile(r"\$_(\d+)")
_INSIDE = re.compile(r"clE\w*?EUl(\w*?)E(\d*)_")


def _of_mangled(symbol: str) -> str | None:
    """Compilers mangle constraints of templates in ways that older demanglers do not know. Clang's lambda expressions
    in functions still stand there as `Z4mainE3$_0`: the function around, and a number. Else the result is the innermost
    function of the library, as above."""
    for closure in _CLOSURE.finditer(symbol):
        head = symbol[: closure.start()]
        for z in reversed([m.start() for m in re.finditer("Z", head)]):
            names = _identifiers(head, z + 1)
            if names and names[0] != "weft":
                found = "::".join([*names, f"$_{closure.group(1)}"])
                at = closure.end()
                while inside := _INSIDE.match(symbol, at):  # a lambda expression in it
                    number = int(inside.group(2)) + 2 if inside.group(2) else 1
                    found += f"::{{lambda#{number}}}"
                    at = inside.end()
                return found
    calls = (_identifiers(symbol, m.start()) for m in re.finditer(r"NK?\d", symbol))
    public = [names for names in calls if names[:1] == ["weft"] and len(names) > 1 and "impl" not in names]
    return "::".join(public[-1]) if public else None


def _identifiers(text: str, at: int) -> list[str]:
    """Those of the nested or plain name at `at`; empty: there is none."""
    is_nested = text.startswith("N", at)
    at += is_nested
    at += is_nested and text.startswith("K", at)
    names = []
    while digits := re.match(r"\d+", text[at:]):
        begin = at + digits.end()
        at = begin + int(digits.group())
        if at > len(text):
            return []
        names.append("(anonymous namespace)" if text[begin:at].startswith("_GLOBAL__N") else text[begin:at])
        if not is_nested:
            break
    return names
