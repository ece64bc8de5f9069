#!/usr/bin/env python3
"""Counts the instructions of a fork, a spawn, an iteration and a graph task, by callgrind.

    bench/instructions.py TREE            of a source tree whose preset release is built
    bench/instructions.py BEFORE AFTER    of two, side by side

Each figure is the difference of two runs, of 2 n and of n operations by one worker, divided by n: what a program takes to
start and to end is not in it. Time and load do not move it.

Example: git worktree add /tmp/before main~20 && cmake --preset release -S /tmp/before && ... && bench/instructions.py /tmp/before .
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
CASES = [  # what, policy, n
    ("fork", "steal", 20000),
    ("fork", "steal-parent-first", 5000),
    ("spawn", "steal", 20000),
    ("spawn", "steal:zone=reported", 5000),
    ("spawn", "share", 5000),
    ("spawn", "adws", 5000),
    ("loop", "steal", 200000),
    ("loop", "share", 200000),
    ("graph", "steal", 10000),
    ("graph", "share", 5000),
]
LIBRARIES = ["-lboost_context", "-lhwloc", "-lfmt", "-lz", "-lmetis", "-lhwy", "-pthread", "-ldl"]


def build(tree, folder):
    library = Path(tree) / "build/release/libweft.a"
    if not library.is_file():
        sys.exit(f"instructions.py: no {library}; given: {tree}; allowed: a source tree whose preset release is built")
    program = Path(folder) / "program"
    subprocess.run(["c++", "-std=c++20", "-O3", "-DNDEBUG", f"-I{tree}/include", str(HERE / "instructions/program.cpp"),
                    str(library), *LIBRARIES, "-o", str(program)], check=True)
    return program


def count(program, what, policy, n):
    environment = {k: v for k, v in os.environ.items() if not k.startswith("WEFT_")}
    run = subprocess.run(["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", str(program), what, policy, str(n)],
                         env=environment, capture_output=True, text=True)
    found = re.search(r"Collected : (\d+)", run.stderr)
    if run.returncode or not found:
        sys.exit(f"instructions.py: {what} under {policy} failed:\n{run.stderr}")
    return int(found[1])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tree", nargs="+", metavar="TREE")
    trees = parser.parse_args().tree
    if len(trees) > 2:
        parser.error("one tree or two")
    with tempfile.TemporaryDirectory() as folder:
        programs = []
        for number, tree in enumerate(trees):
            place = Path(folder, str(number))
            place.mkdir()
            programs.append(build(tree, place))
        print("| operation | policy | " + " | ".join(["before", "after", "change"] if len(trees) == 2 else ["instructions"]) + " |")
        print("|---|---|" + "---:|" * (3 if len(trees) == 2 else 1))
        for what, policy, n in CASES:
            each = [(count(p, what, policy, 2 * n) - count(p, what, policy, n)) / n for p in programs]
            cells = [f"{e:.1f}" for e in each]
            if len(each) == 2:
                cells.append(f"{(each[1] / each[0] - 1) * 100:+.1f} %")
            print(f"| {what} | {policy} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
