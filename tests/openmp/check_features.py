#!/usr/bin/env python3
"""Compiles each point of features.toml by gcc and by clang, and runs it with Weft's OpenMP library; with the compiler's, where it fails.

    check_features.py --weft BUILD/openmp                       exit status 1 if Weft fails at a point, or docs/openmp-support.md says something else
    check_features.py --weft BUILD/openmp --write               writes docs/openmp-support.md
    check_features.py --weft BUILD/openmp --only TEXT           the points whose names contain the text, with reasons; the page is not looked at
    check_features.py --self-test                               that a failure is noticed

Exit status 77 without one of the compilers.
"""

import argparse
import concurrent.futures
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
PAGE = HERE.parents[1] / "docs/openmp-support.md"
COMPILERS = {"gcc": ["gcc-12", "-fopenmp"], "clang": ["clang-19", "-fopenmp=libomp"]}
SECONDS = 60
NOT_INSTALLED = 77
WORKERS = "2"

FAILS = "**no**"

FRAME = """#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define expect(x) do {{ if (!(x)) {{ printf("%s is false\\n", #x); return 1; }} }} while (0)
{before}
int main(void) {{
{code}
return 0;
}}
"""

HEAD = """# What is supported, by version of OpenMP

`tests/openmp/check_features.py` compiles a small program for each line by gcc 12 and by clang 19 in C, runs it on Weft, and compares this page with what it finds. [Run your OpenMP program on Weft](openmp.md) says how programs run, and which limits there are; the suites of both compilers, with two thousand tests more, are described there, too.

| sign | meaning |
|---|---|
| yes | the program computes what it should |
| – | the compiler refuses it |
| both fail | it fails with the compiler's own library and with Weft |
| **no** | it runs with the compiler's library, and fails with Weft |
"""


@dataclass
class Point:
    version: str
    about: dict[str, Any]

    def source(self) -> str:
        return FRAME.format(before=self.about.get("before", ""), code=self.about["code"])


def points() -> list[Point]:
    return [Point(version, about) for version, rest in tomllib.loads((HERE / "features.toml").read_text()).items()
            for about in rest["feature"]]


def run(program: Path, point: Point, environment: dict[str, str]) -> str:
    """Why it failed; empty if it did not."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("OMP_", "WEFT_", "KMP_", "GOMP_"))}
    try:
        done = subprocess.run([program], env={**kept, **point.about.get("environment", {}), **environment}, capture_output=True,
                              text=True, errors="replace", timeout=SECONDS)
    except subprocess.TimeoutExpired:
        return f"longer than {SECONDS} s"
    return "" if done.returncode == 0 else f"status {done.returncode}: {(done.stdout + done.stderr).strip()[-200:]}"


def answer(point: Point, compiler: str, weft: Path) -> tuple[str, str]:
    """The sign of the table, and the reason if it is not yes."""
    with tempfile.TemporaryDirectory() as name:
        program = Path(name, "program")
        Path(name, "program.c").write_text(point.source())
        newest = ["-fopenmp-version=52"] if compiler == "clang" and point.version == "5.2" else []
        command = [*COMPILERS[compiler], *newest, "-O1", "-w", "-std=gnu11", f"{program}.c", "-o", str(program)]
        compiled = subprocess.run(command, capture_output=True, text=True)
        if compiled.returncode:
            return "–", next((line for line in compiled.stderr.splitlines() if "error" in line), compiled.stderr.strip())
        with_weft = run(program, point, {"LD_LIBRARY_PATH": str(weft), "WEFT_WORKERS": WORKERS})
        if not with_weft:
            return "yes", ""
        own = run(program, point, {})
    return ("both fail", f"{own}; with Weft: {with_weft}") if own else (FAILS, with_weft)


def page(answers: list[tuple[Point, list[str]]]) -> str:
    text = [HEAD]
    for version in dict.fromkeys(p.version for p, _ in answers):
        text.append(f"## OpenMP {version}{' and before' if version == '3.1' else ''}\n")
        text.append("| | gcc 12 | clang 19 | |\n|---|---|---|---|")
        for point, signs in answers:
            if point.version != version:
                continue
            notes = [point.about["note"]] if "note" in point.about else []
            if point.about.get("needs") == "nothing":
                notes.append("the compiler does it alone")
            text.append(f"| {point.about['name'].replace('|', chr(92) + '|')} | {' | '.join(signs)} | {'; '.join(notes)} |")
        text.append("")
    return "\n".join(text)


def self_test() -> int:
    wrong = Point("0", {"name": "wrong", "code": 'expect(getenv("WEFT_WORKERS") == NULL);'})
    sign, why = answer(wrong, "gcc", Path("/"))
    assert sign == FAILS and "is false" in why, (sign, why)
    assert answer(Point("0", {"name": "refused", "code": "this is no C"}), "gcc", Path("/"))[0] == "–"
    assert answer(Point("0", {"name": "right", "code": "expect(1);"}), "gcc", Path("/"))[0] == "yes"
    return 0


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--weft", type=Path, help="the folder with Weft's libgomp.so.1 and libomp.so.5")
    options.add_argument("--write", action="store_true")
    options.add_argument("--only", metavar="TEXT")
    options.add_argument("--jobs", type=int, default=2)
    options.add_argument("--self-test", action="store_true")
    given = options.parse_args()
    if absent := [words[0] for words in COMPILERS.values() if not shutil.which(words[0])]:
        print(f"not installed: {', '.join(absent)}")
        return NOT_INSTALLED
    if given.self_test:
        return self_test()
    if given.weft is None or not (given.weft / "libomp.so.5").exists():
        options.error(f"no libomp.so.5 of Weft; given: --weft {given.weft}; allowed: the folder openmp of a build")
    chosen = [p for p in points() if (given.only or "") in p.about["name"]]
    work = [(p, c) for p in chosen for c in COMPILERS]
    with concurrent.futures.ThreadPoolExecutor(given.jobs) as pool:
        found = list(pool.map(lambda w: answer(*w, given.weft.resolve()), work))
    failures = [f"{p.version} {p.about['name']} ({c}): {why}" for (p, c), (sign, why) in zip(work, found) if sign == FAILS]
    signs = [sign for sign, _ in found]
    answers = [(p, signs[i * len(COMPILERS):(i + 1) * len(COMPILERS)]) for i, p in enumerate(chosen)]
    for line in failures:
        print(f"Weft fails: {line}")
    if given.only is not None:
        for (p, c), (sign, why) in zip(work, found):
            print(f"{p.version} {p.about['name']} ({c}): {sign}{': ' + why if why else ''}")
    elif given.write:
        PAGE.write_text(page(answers))
    elif not PAGE.exists() or PAGE.read_text() != page(answers):
        print(f"{PAGE.relative_to(HERE.parents[1])} says something else; check_features.py --write writes it")
        return 1
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
