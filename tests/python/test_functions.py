"""Functions of programs without symbols, by which `weft why` names places."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from weft.why.functions import functions_of
from weft.why.stacks import owners_of, stack_of
from weft.why.symbols import Symbols
from weft.why.watch import Mapping, Seen

SOURCE = """
#include <stdio.h>
__attribute__((noinline)) int seen(int x) { printf("%d", x); return x + 1; }
static __attribute__((noinline)) int hidden(int x) { return seen(x) * 2; }
int main(int count, char** words) { (void)words; return hidden(count); }
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, int]]:
    """A program without symbols, which exports `seen`, and where its functions begin."""
    folder = tmp_path_factory.mktemp("functions")
    whole, stripped = folder / "whole", folder / "solver"
    subprocess.run(["gcc", "-O1", "-rdynamic", "-x", "c", "-", "-o", whole], input=SOURCE, text=True, check=True)
    subprocess.run(["strip", whole, "-o", stripped], check=True)
    listed = subprocess.run(["nm", whole], capture_output=True, text=True, check=True).stdout
    symbols = {words[2]: int(words[0], 16) for words in map(str.split, listed.splitlines()) if len(words) == 3}
    return stripped, symbols


def test_the_beginning_of_the_function_stands_for_each_of_its_addresses(program: tuple[Path, dict[str, int]]) -> None:
    path, at = program
    functions = functions_of(str(path))
    assert functions.stripped
    for offset in (0, 1, 5):
        assert functions.name(at["hidden"] + offset) == f"solver+{at['hidden']:#x}"
        assert functions.name(at["seen"] + offset) == "seen"


def test_code_without_symbols_is_the_programs(program: tuple[Path, dict[str, int]]) -> None:
    path, at = program
    begin = 0x550000000000
    symbols = Symbols([Mapping(begin, begin + path.stat().st_size, 0, str(path))])
    (frame,) = symbols.frames(begin + at["hidden"] + 2)
    assert (frame.function, frame.file) == (f"solver+{at['hidden']:#x}", None)
    assert owners_of([frame]) == ["program"]
    seen = Seen("on_core", (begin + at["hidden"] + 2,), 1, 0.1, 0.1, 0, None, 0, 0.0)
    assert stack_of(seen, symbols).is_without_symbols


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("no program")
    for path in (tmp_path / "text", tmp_path / "none"):
        assert functions_of(str(path)).name(0x123) == f"{path.name}+0x123"
