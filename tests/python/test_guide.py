"""Runs the guide as a reader would: every command of its pages, in order, in one shell, in a fresh home.

docs/_ext/reader.py says how a page is read.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import SOURCE
from markdown_it import MarkdownIt

sys.path.insert(0, str(SOURCE / "docs/_ext"))
import ahead
from reader import Page, follow, home_with_objects, read, taken

BUILD = Path(os.environ.get("WEFT_TEST_BUILD", SOURCE / "build/dev"))
PARTS = (":caption: Guide\n", ":caption: Moving to Weft\n")


def guide() -> dict[Path, Page]:
    """The pages of PARTS, in the order of the site's table of contents."""
    index = SOURCE / "docs/index.md"
    parts = [
        [line for line in token.content.splitlines() if line and not line.startswith(":")]
        for token in MarkdownIt().parse(index.read_text(encoding="utf-8"))
        if token.type == "fence" and any(part in token.content for part in PARTS)
    ]
    assert len(parts) == len(PARTS)
    paths = [index.parent / f"{name}.md" for names in parts for name in names]
    return {path: read(path.read_text(encoding="utf-8"), path.name) for path in paths}


GUIDE = guide()
COMMANDS = [command for page in GUIDE.values() for command in page.commands]


@pytest.fixture(scope="module")
def home() -> Iterator[tuple[Path, list[tuple[str, int]]]]:
    """A home in which the commands ran, and the output and status of each command that ended."""
    files = {path.parent / file for path, page in GUIDE.items() for file in page.files}
    with home_with_objects(BUILD, "guide") as (folder, objects):
        yield folder, follow(COMMANDS, files, folder, BUILD, 400, objects)


@pytest.fixture(scope="module")
def ran(home: tuple[Path, list[tuple[str, int]]]) -> list[tuple[str, int]]:
    return home[1]


@pytest.mark.parametrize("number", range(len(COMMANDS)), ids=[c.where for c in COMMANDS])
def test_command(ran: list[tuple[str, int]], number: int) -> None:
    command = COMMANDS[number]
    assert number < len(ran), f"{command.where}: not reached; $ {COMMANDS[len(ran)].text} did not end in time"
    difference = command.differs(*ran[number])
    assert difference is None, f"{command.where}: $ {command.text}\n{difference}"


def test_programs_are_those_of_the_build(home: tuple[Path, list[tuple[str, int]]]) -> None:
    made = sorted(o.stem for o in (BUILD / "reader/guide/objects").glob("*.o"))
    assert sorted(taken(home[0])) == made, "tests/reader/CMakeLists.txt compiles otherwise than the pages"


def test_what_is_run_elsewhere_is() -> None:
    for path, page in GUIDE.items():
        for by in page.elsewhere:
            assert (SOURCE / by).is_file(), f"{path.name}: run by {by}, which is not there"


def test_programs_are_files_that_pages_include() -> None:
    for path in GUIDE:
        assert "```cpp" not in path.read_text(encoding="utf-8"), f"{path.name}: code that is not compiled"
    shown = {path.parent / file for path, page in GUIDE.items() for file in page.files}
    assert shown == set((SOURCE / "docs/guide/programs").iterdir())


def test_a_difference_is_seen() -> None:
    page = read(
        "```console\n$ a \\\n> b\none ...\ntwo\n$ c\n[2]\n```\n<!-- run by x, y -->\n```console\n$ d\n```\n", "p"
    )
    first, second = page.commands
    assert (first.text, first.output, first.status) == ("a \\\nb", "one ...\ntwo\n", 0)
    assert (second.text, second.output, second.status, second.where) == ("c", "", 2, "p:6")
    assert page.elsewhere == ["x", "y"]
    assert first.differs("one 1\ntwo\n", 0) is None and second.differs("anything", 2) is None
    for output, status in (("one 1\n", 0), ("one 1\ntwo\nthree\n", 0), ("one 1\ntwo\n", 1)):
        assert first.differs(output, status)
    assert second.differs("", 0)


def test_an_object_is_taken_only_for_what_it_was_made_of(tmp_path: Path) -> None:
    objects, headers = tmp_path / "objects", tmp_path / "weft/include"
    objects.mkdir()
    headers.mkdir(parents=True)
    source = tmp_path / "a.cpp"
    source.write_text("int main() {}\n")
    (objects / "a.cpp").write_text("int main() {}\n")
    (objects / "a.o").touch()
    (objects / "a.command").write_text(f"/bin/sh\n-O2\n-I{SOURCE}/include\n-pthread\n")
    linked = ["-O2", str(source), "-o", "a", f"-I{headers}", "-pthread", "-L/lib", "-lm", "-pthread"]
    compiled = [
        "-O2",
        "-I",
        str(headers),
        "-pthread",
        "-MD",
        "-MT",
        "a.o",
        "-MF",
        "a.d",
        "-o",
        "a.o",
        "-c",
        str(source),
    ]

    def found(arguments: list[str], compiler: str = "/bin/sh") -> Path | None:
        return ahead.ahead(ahead.understand(arguments, headers), compiler, objects)

    assert found(linked) == found(compiled) == objects / "a.o"
    assert found(linked, "/bin/cat") is None, "another compiler"
    for more in (["-O3"], ["-DNDEBUG"], ["-I/usr/include"], [str(tmp_path / "b.cpp")]):
        assert found([*linked, *more]) is None
    assert found([word for word in linked if word != "-O2"]) is None
    assert found(["-E", *linked]) is None and found(["--version"]) is None
    source.write_text("int main() { return 1; }\n")
    assert found(linked) is None, "another source"
