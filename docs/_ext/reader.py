"""Follows a page as a reader would: runs its commands in order, in one shell, in a fresh home with an installed Weft.

A block ```console has commands after `$ `, more lines of them after `> `, and below each what it prints: all of it,
with `...` for what may be anything; nothing shown: anything. `[1]` as the last line is an exit status that is not 0.
Programs are files that a page shows by literalinclude; they are in the folder. What is run elsewhere instead says so in
a comment before its block, `<!-- run by PATH, PATH -->`.
"""

from __future__ import annotations

import doctest
import fcntl
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from markdown_it import MarkdownIt

ROOT = Path(__file__).parents[2]
AHEAD = Path(__file__).with_name("ahead.py")
COMPILERS = ("g++", "c++")
MARK = "-- end of a command of the page:"
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
    """The commands of a page, the files that it includes, the files that run something of it elsewhere."""

    commands: list[Command] = field(default_factory=list)
    files: list[str] = field(default_factory=list)
    elsewhere: list[str] = field(default_factory=list)


def read(text: str, name: str) -> Page:
    page = Page()
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
    """The commands of a block of the page `name`, which begins at `line`."""
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


@contextmanager
def home_with_objects(build: Path, page: str) -> Iterator[tuple[Path, Path]]:
    """An empty home, always the same one, and the folder of the objects that `build` has made for programs of `page`
    which run there (tests/reader/CMakeLists.txt). A second process that wants this home waits."""
    folder = build / "reader" / page
    home = folder / "home"
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        shutil.rmtree(home, ignore_errors=True)
        home.mkdir()
        yield home, folder / "objects"


def taken(home: Path) -> list[str]:
    """The programs of which the commands that ran in `home` have taken objects."""
    log = home / "taken"
    return log.read_text(encoding="utf-8").split() if log.exists() else []


def headers(folder: Path) -> dict[str, bytes]:
    """The public headers of a source tree or of an installation, without those for policies, which are generated."""
    include = folder / "include"
    files = [*include.glob("weft/*.hpp"), *include.glob("weft/impl/*.hpp")]
    return {str(file.relative_to(include)): file.read_bytes() for file in files}


def follow(
    todo: Iterable[Command], files: Iterable[Path], home: Path, build: Path, timeout: float, objects: Path | None = None
) -> list[tuple[str, int]]:
    """Output and status of each command that ended within `timeout` seconds.

    `home` is an empty folder; the commands run in its folder `work`, where `files` are. `build` is a build of Weft,
    which is installed into `$HOME/weft`. Its compilers take the programs of which `objects` has the objects (ahead.py).
    Raises CalledProcessError if Weft cannot be installed.
    """
    folder, programs = home / "work", home / "bin"
    for path in (folder, programs, home / "src"):
        path.mkdir()
    (home / "src/weft").symlink_to(ROOT)
    install: list[str | Path] = ["cmake", "--install", build, "--prefix", home / "weft"]
    subprocess.run(install, check=True, stdout=subprocess.DEVNULL, timeout=60)
    for file in files:
        shutil.copy(file, folder)
    for name, arguments in (("python3", ""), ("weft", " -m weft")):
        (programs / name).write_text(f'#!/bin/sh\nexec "{sys.executable}"{arguments} "$@"\n')
        (programs / name).chmod(0o755)
    if objects is not None:
        assert headers(ROOT) == headers(home / "weft"), "the installed headers are not those of the source"
        for name in COMPILERS:
            if compiler := shutil.which(name):
                words = [sys.executable, "-I", "-S", AHEAD, objects, home / "weft", home / "taken", compiler]
                (programs / name).write_text(f'#!/bin/sh\nexec {shlex.join(map(str, words))} "$@"\n')
                (programs / name).chmod(0o755)

    script = "exec 2>&1 </dev/null\n" + "".join(f"{c.text}\nprintf '\\n%s %d\\n' '{MARK}' $?\n" for c in todo)
    environment = {k: v for k, v in os.environ.items() if not k.startswith("WEFT_") and k != "PKG_CONFIG_PATH"}
    environment |= {
        "HOME": str(home),
        "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": os.pathsep.join(str(Path(p).absolute()) for p in sys.path if p),
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
        output, _ = shell.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        os.killpg(shell.pid, 9)
        output, _ = shell.communicate()
    parts = re.split(rf"\n{MARK} (\d+)\n", output)
    return [(text, int(status)) for text, status in zip(parts[0::2], parts[1::2], strict=False)]
