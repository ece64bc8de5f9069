"""Runs the guide as a reader would: every command of its pages, in order, in one shell, in a fresh home.

A block ```console has commands after `$ `, more lines of them after `> `, and below each what it prints: all of it,
with `...` for what may be anything; nothing shown: anything. `[1]` as the last line is an exit status that is not 0.
Programs are files that a page shows by literalinclude; they are in the folder. What is run elsewhere instead says so in
a comment before its block, `<!-- run by PATH, PATH -->`.
"""

from __future__ import annotations

import doctest
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from conftest import SOURCE
from markdown_it import MarkdownIt

BUILD = Path(os.environ.get("WEFT_TEST_BUILD", SOURCE / "build/dev"))
MARK = "-- end of a command of the guide:"
LIKE = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


@dataclass(frozen=True)
class Command:
    """One command of a page, and its expected outcome."""

    where: str
    text: str
    output: str
    status: int

    def differs(self, output: str, status: int) -> str | None:
        """How the outcome differs from what the page shows; None if it does not."""
        if status != self.status:
            return f"exit status {status}, not {self.status}:\n{output}"
        if self.output and not doctest.OutputChecker().check_output(self.output, output, LIKE):
            return f"the page shows:\n{self.output}\nit printed:\n{output}"
        return None


@dataclass
class Page:
    """The commands of a page of the guide."""

    commands: list[Command]
    files: list[str]
    elsewhere: list[str]


def read(text: str, name: str) -> Page:
    page = Page([], [], [])
    by = None
    for token in MarkdownIt().parse(text):
        if token.type == "html_block":
            by = re.fullmatch(r"<!-- run by (.*) -->", token.content.strip())
        elif token.type == "fence":
            if token.info.startswith("{literalinclude} "):
                page.files.append(token.info.split()[1])
            elif token.info == "console" and by:
                page.elsewhere += by[1].split(", ")
            elif token.info == "console":
                assert token.map is not None
                page.commands += commands(token.content, name, token.map[0] + 2)
            by = None
    return page


def commands(block: str, name: str, line: int) -> list[Command]:
    parts: list[tuple[int, list[str], list[str]]] = []
    for at, shown in enumerate(block.splitlines(), start=line):
        if shown.startswith("$ "):
            parts.append((at, [shown[2:]], []))
        elif shown.startswith("> ") and parts and not parts[-1][2]:
            parts[-1][1].append(shown[2:])
        else:
            assert parts, f"{name}:{at}: a block begins with a command"
            parts[-1][2].append(shown)
    result = []
    for at, text, output in parts:
        status = re.fullmatch(r"\[(\d+)\]", output[-1]) if output else None
        shown = "\n".join(output[:-1] if status else output)
        result.append(
            Command(f"{name}:{at}", "\n".join(text), shown + "\n" * bool(shown), int(status[1]) if status else 0)
        )
    return result


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
    home = tmp_path_factory.mktemp("home")
    folder, programs = home / "guide", home / "bin"
    for path in (folder, programs, home / "src"):
        path.mkdir()
    (home / "src/weft").symlink_to(SOURCE)
    install = ["cmake", "--install", BUILD, "--prefix", home / "weft"]
    subprocess.run(install, check=True, stdout=subprocess.DEVNULL, timeout=60)
    for path, page in GUIDE.items():
        for file in page.files:
            shutil.copy(path.parent / file, folder)
    for name, arguments in (("python3", ""), ("weft", " -m weft")):
        (programs / name).write_text(f'#!/bin/sh\nexec "{sys.executable}"{arguments} "$@"\n')
        (programs / name).chmod(0o755)

    script = "exec 2>&1 </dev/null\n" + "".join(f"{c.text}\nprintf '\\n%s %d\\n' '{MARK}' $?\n" for c in COMMANDS)
    environment = {k: v for k, v in os.environ.items() if not k.startswith("WEFT_") and k != "PKG_CONFIG_PATH"}
    environment |= {
        "HOME": str(home),
        "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": os.pathsep.join(p for p in sys.path if p),
        "LD_LIBRARY_PATH": str(home / "weft/lib"),  # of a shared library
        "COLUMNS": "120",
    }
    shell = subprocess.Popen(
        ["bash", "-c", script],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        output, _ = shell.communicate(timeout=240)
    except subprocess.TimeoutExpired:
        os.killpg(shell.pid, 9)
        output, _ = shell.communicate()
    parts = re.split(rf"\n{MARK} (\d+)\n", output)
    return [(text, int(status)) for text, status in zip(parts[0::2], parts[1::2], strict=False)]


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
