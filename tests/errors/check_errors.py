#!/usr/bin/env python3
"""Checks that wrong calls of the library give short errors that name the user's file first.

    check_errors.py INCLUDE_DIR COMPILER...    exit status 1 and one paragraph a violation; ends with the numbers reached

wrong_calls.txt, beside this file, has the cases:

    ---- what is wrong | Concept
    lines of the body of a function; the wrong one ends with `// right: ` and the line that would be right

For each case and compiler:

- a program with all the right lines compiles, so it is the wrong line alone that fails;
- with the wrong line, the first line of what the compiler prints, and the only error, name the user's file, and the
  error names the wrong line;
- in place of the concept a case of a class template may have a part of a static_assert's text, in quotes; then this text and the
  wrong line must be in what the compiler prints, and nothing else is asked;
- the concept's name is in the text, and there are at most MOST_LINES lines, besides excerpts of the source and the path
  by which the user's file includes the header.

Calls that violate different concepts are compiled together, which spares most of the starts of a compiler. Two that violate
the same one are not: what a compiler has said once it may say shorter the second time. A call that does not pass so is compiled alone,
and so are all of a file in which there are more or fewer errors than wrong calls.
"""

import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
# GCC: "In function", the error, the note. Clang: the error, the note, the number of errors.
MOST_LINES = 3
PRELUDE = """#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>
#include <weft/weft.hpp>
"""
RIGHT = "  // right: "
EXCERPT = re.compile(r"^\s*\d*\s*\||^(In file included|\s+) from ")


def cases():
    text = (HERE / "wrong_calls.txt").read_text()
    for part in re.split(r"^---- ", text, flags=re.MULTILINE)[1:]:
        title, body = part.strip().split("\n", 1)
        what, concept = title.rsplit(" | ", 1)
        lines = body.split("\n")
        marked = [i for i, line in enumerate(lines) if RIGHT in line]
        assert len(marked) == 1, f"{what}: one line has `{RIGHT.strip()}`"
        wrong, right = lines[marked[0]].split(RIGHT)
        yield what, concept, marked[0], [[*lines[: marked[0]], line, *lines[marked[0] + 1 :]] for line in (wrong, right)]


def function(name, lines):
    return [f"void {name}();", f"void {name}() {{", *lines, "}"]


class Compiler:
    """A compiler, with the headers of every case compiled in advance."""

    def __init__(self, command, include, folder):
        self.folder = Path(folder)
        version = subprocess.run([command, "--version"], capture_output=True, text=True, check=True).stdout
        self.family = "clang" if "clang" in version else "gcc"
        self.command = [command, "-std=c++20", "-Wall", f"-I{include}"]
        (self.folder / "prelude.hpp").write_text(PRELUDE)
        subprocess.run([*self.command, "-x", "c++-header", "prelude.hpp", "-o", "prelude.hpp.gch"], cwd=folder, check=True)

    def compile(self, lines):
        headers = ["-include-pch", self.folder / "prelude.hpp.gch"] if self.family == "clang" else ["-include", self.folder / "prelude.hpp"]
        with tempfile.TemporaryDirectory(dir=self.folder) as here:
            (Path(here) / "user.cpp").write_text("\n".join(lines) + "\n")
            return subprocess.run([*self.command, *headers, "-fsyntax-only", "user.cpp"], cwd=here,
                                  env={**os.environ, "LC_ALL": "C"}, capture_output=True, text=True, check=False)

    def check(self, case):
        """The violations, and the numbers of lines that count and of all lines."""
        what, concept, at, (wrong, _) = case
        bad = self.compile(function("user", wrong))
        if bad.returncode:
            return self.judge(what, concept, 3 + at, bad.stderr)
        return [f"{self.family}: {what}: the wrong line compiles"], 0, 0

    def check_together(self, together):
        """The same for several cases."""
        lines, at = [], []
        for i, (_, _, wrong_at, (wrong, _)) in enumerate(together):
            at.append(len(lines) + 3 + wrong_at)
            lines += function(f"user_{i}", wrong)
        said = self.compile(lines).stderr.strip().split("\n")
        by_line = {int(part[0].split(":")[1]): part for part in parts(said) if part[0].startswith("user.cpp:")}
        results = []
        for case, line in zip(together, at, strict=True):
            result = None
            if sum(": error: " in each for each in said) == len(together) == len(by_line) and line in by_line:
                result = self.judge(case[0], case[1], line, "\n".join(by_line[line][1]))
            results.append(self.check(case) if result is None or result[0] else result)
        return results

    def judge(self, what, concept, line, text):
        said = text.strip().split("\n")
        counted = [line for line in said if not EXCERPT.match(line)]
        errors = [line for line in said if ": error: " in line]
        found = []
        if concept.startswith('"'):
            # A class template says what is wrong with its arguments by a static_assert, behind a path of instantiations.
            if concept.strip('"') not in text:
                found.append(f"the text does not say {concept}")
            if f"user.cpp:{line}:" not in text:
                found.append(f"the path does not name line {line}")
            counted = []
        else:
            if not said[0].startswith("user.cpp:"):
                found.append("the first line does not name the user's file")
            if len(errors) != 1 or not errors[0].startswith(f"user.cpp:{line}:"):
                found.append(f"there is not one error, in line {line}")
            if not re.search(rf"\b{concept}\b", text):
                found.append(f"the text does not name {concept}")
            if len(counted) > MOST_LINES:
                found.append(f"{len(counted)} lines, at most {MOST_LINES} are allowed")
        return [f"{self.family}: {what}: {each}" for each in found] + ([text] if found else []), len(counted), len(said)


def parts(said):
    """What a compiler says, one error after the other: the line of the error, and all lines that belong to it. GCC says the function first."""
    found = []
    heads = []
    for line in said:
        if re.match(r"user\.cpp: In function", line):
            heads = [line]
        elif ": error: " in line:
            found.append((line, [*heads, line]))
            heads = []
        elif found and not heads:
            found[-1][1].append(line)
        else:
            heads.append(line)
    return found


def together(all_cases):
    """The cases in lists that are compiled together: no concept is twice in one, and what a static_assert says is alone."""
    lists = []
    for case in all_cases:
        concept = case[1]
        if concept.startswith('"'):
            lists.append([case])
            continue
        for one in lists:
            if all(other[1] != concept and not other[1].startswith('"') for other in one):
                one.append(case)
                break
        else:
            lists.append([case])
    return lists


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    include = Path(sys.argv[1]).resolve()
    all_cases = list(cases())
    right = [line for i, (_, _, _, lines) in enumerate(all_cases) for line in function(f"user_{i}", lines[1])]
    failed = False
    for command in sys.argv[2:]:
        with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(2) as pool:
            compiler = Compiler(command, include, folder)
            good = compiler.compile(right)
            judged = pool.map(lambda some: compiler.check_together(some) if len(some) > 1 else [compiler.check(some[0])], together(all_cases))
            results = [result for some in judged for result in some]
        if good.returncode or good.stderr:
            failed = True
            print(f"{compiler.family}: the right lines do not compile, or not without warnings:\n{good.stderr}")
        for violations, _, _ in results:
            for each in violations:
                failed = True
                print(each)
        print(f"{compiler.family}: {len(results)} wrong calls, at most {max(r[1] for r in results)} lines, "
              f"{max(r[2] for r in results)} with excerpts of the source and paths of includes")
    sys.exit(failed)


if __name__ == "__main__":
    main()
