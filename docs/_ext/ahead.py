"""The compiler of a reader, whose programs the build has compiled ahead.

    ahead.py OBJECTS INSTALLED LOG COMPILER ARGUMENT...

Runs COMPILER with the arguments. If they compile one program of which the folder OBJECTS has the object
(tests/user_objects.cmake), it takes the object in place of the source: it links it, or copies it if only an object is
wanted. It does so only if the object is what the compiler would make: of the same source, by the same compiler and
options. INSTALLED/include must have the headers of the source tree (reader.py compares them). LOG gets the name of the
program. In any other case COMPILER does everything itself.
"""

from __future__ import annotations

import os
import shutil
import sys
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
WITH_PATH = ("-I", "-isystem")


@dataclass
class Call:
    """A call of a compiler: what it compiles, and the options that decide what comes out."""

    sources: list[str] = field(default_factory=list)
    options: list[str] = field(default_factory=list)
    output: str | None = None
    notes: dict[str, str] = field(default_factory=dict)
    """What follows -MF, and -MT: the file of dependencies, and for which file they are."""
    links: bool = True


def understand(arguments: list[str], headers: Path) -> Call:
    """`headers` is a folder that stands for the headers of the source tree."""
    call = Call()
    rest = iter(arguments)
    for word in rest:
        if word == "-o":
            call.output = next(rest, None)
        elif word in ("-MF", "-MT"):
            call.notes[word] = next(rest, "")
        elif word == "-c":
            call.links = False
        elif word.endswith(".cpp"):
            call.sources.append(word)
        elif word.startswith(WITH_PATH):
            kind = next(k for k in WITH_PATH if word.startswith(k))
            folder = os.path.realpath(word.removeprefix(kind) or next(rest, ""))
            call.options.append(kind + (str(ROOT / "include") if folder == os.path.realpath(headers) else folder))
        elif word == "-MD" or word.startswith(("-l", "-L", "-Wl,")) or (word == "-pthread" and word in call.options):
            pass  # -pthread: pkg-config gives it to compile, and to link
        else:
            call.options.append(word)
    return call


def ahead(call: Call, compiler: str, objects: Path) -> Path | None:
    """The object that the build has made of just this call."""
    if len(call.sources) != 1 or call.output is None:
        return None
    made = objects / Path(call.sources[0]).with_suffix(".o").name
    try:
        by, *options = made.with_suffix(".command").read_text(encoding="utf-8").splitlines()
        same_source = made.with_suffix(".cpp").read_bytes() == Path(call.sources[0]).read_bytes()
    except OSError:
        return None
    same_compiler = os.path.realpath(by) == os.path.realpath(compiler)
    # In any order, in which versions of CMake differ: an object has one -O, one -std and one folder of headers.
    same_options = sorted(understand(options, ROOT / "include").options) == sorted(call.options)
    return made if same_source and same_compiler and same_options and made.exists() else None


def main(objects: str, installed: str, log: str, compiler: str, *arguments: str) -> None:
    call = understand(list(arguments), Path(installed) / "include")
    made = ahead(call, compiler, Path(objects))
    if made is None or call.output is None:
        os.execv(compiler, [compiler, *arguments])
    with open(log, "a", encoding="utf-8") as file:
        file.write(f"{made.stem}\n")
    if call.links:
        os.execv(compiler, [compiler, *(str(made) if word == call.sources[0] else word for word in arguments)])
    shutil.copyfile(made, call.output)
    if "-MF" in call.notes:
        depends = f"{call.notes.get('-MT', call.output)}: {call.sources[0]}\n"
        Path(call.notes["-MF"]).write_text(depends, encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
