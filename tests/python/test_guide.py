"""Runs the guide as a reader would: every command of its pages, in order, in one shell, in a fresh home.

docs/_ext/reader.py says how a page is read.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from conftest import SOURCE
from markdown_it import MarkdownIt

sys.path.insert(0, str(SOURCE / "docs/_ext"))
from reader import Page, follow, read

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
def ran(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[str, int]]:
    """Output and status of each command that ended."""
    files = {path.parent / file for path, page in GUIDE.items() for file in page.files}
    return follow(COMMANDS, files, tmp_path_factory.mktemp("home"), BUILD, timeout=400)


@pytest.mark.parametrize("number", range(len(COMMANDS)), ids=[c.where for c in COMMANDS])
def test_command(ran: list[tuple[str, int]], number: int) -> None:
    command = COMMANDS[number]
    assert number < len(ran), f"{command.where}: not reached; $ {COMMANDS[len(ran)].text} did not end in time"
    difference = command.differs(*ran[number])
    assert difference is None, f"{command.where}: $ {command.text}\n{difference}"


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
