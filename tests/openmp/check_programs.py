#!/usr/bin/env python3
"""Runs the programs beside this script on gcc's OpenMP library and on Weft's, and compares what they print.

    check_programs.py --weft BUILD/openmp [--all]     exit status 1 and one line a difference
    check_programs.py --self-test                     that a difference is noticed

Each program is compiled once, without knowing of Weft. It runs with Weft's libgomp.so.1 on the library path under several policies,
numbers of workers and types of preemption, and once with the form for LD_PRELOAD. --all: every policy of a longer list.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

PROGRAMS = Path(__file__).resolve().parent / "programs"
COMPILERS = {".c": "gcc", ".cpp": "g++", ".f90": "gfortran"}
SECONDS = 60
SETTINGS: list[dict[str, str]] = [
    {"WEFT_POLICY": "steal", "WEFT_WORKERS": "1"},
    {"WEFT_POLICY": "steal", "WEFT_WORKERS": "3", "OMP_WAIT_POLICY": "passive"},
    {"WEFT_POLICY": "share", "WEFT_WORKERS": "2"},
    {"WEFT_POLICY": "adws", "WEFT_WORKERS": "2"},
    {"WEFT_POLICY": "steal", "WEFT_WORKERS": "2", "WEFT_PREEMPT": "klt"},
    {"WEFT_POLICY": "steal", "WEFT_WORKERS": "2", "WEFT_OPENMP_THREADS": "kernel"},
]
MORE = [
    {"WEFT_POLICY": policy, "WEFT_WORKERS": workers}
    for policy in ("steal", "steal-parent-first", "near", "slaw", "mts", "pdf", "cab", "hws", "sb", "ml-adws", "serial", "chaos:of=steal")
    for workers in ("1", "2", "5")
]
ENVIRONMENT = {"cancellation": {"OMP_CANCELLATION": "true"}}
# Threads that wait in loops of their own: more of them than workers. They must be preempted, by Weft or by the system.
NEEDS_PREEMPTION = {"spin_barriers"}


def run(program: Path, environment: dict[str, str]) -> str:
    """What the program prints, or how it failed."""
    try:
        done = subprocess.run([str(program)], env={**os.environ, **ENVIRONMENT.get(program.name, {}), **environment},
                              capture_output=True, text=True, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        return f"(longer than {SECONDS} s)"
    return done.stdout + done.stderr if done.returncode == 0 else f"(status {done.returncode}) {done.stdout}{done.stderr}"


def difference(expected: str, printed: str) -> str:
    """The first line that differs; empty if none does."""
    if expected == printed:
        return ""
    lines = printed.splitlines()
    for i, line in enumerate(expected.splitlines()):
        if i >= len(lines):
            return f"expected '{line}' in line {i + 1}; printed: nothing"
        if lines[i] != line:
            return f"expected '{line}' in line {i + 1}; printed: '{lines[i]}'"
    return f"printed after the last line: '{lines[len(expected.splitlines())] if lines else ''}'"


def check(weft: Path, settings: list[dict[str, str]]) -> list[str]:
    wrong = []
    with tempfile.TemporaryDirectory(prefix="weft-openmp-") as folder:
        for source in sorted(PROGRAMS.iterdir()):
            program = Path(folder, source.stem)
            subprocess.run([COMPILERS[source.suffix], "-O2", "-fopenmp", "-w", str(source), "-o", str(program)], check=True,
                           cwd=folder)  # where gfortran writes modules
            expected = run(program, {})
            if expected.startswith("("):
                wrong.append(f"{source.name}: with gcc's own library: {expected}")
                continue
            forms = [{**s, "LD_LIBRARY_PATH": str(weft)} for s in settings]
            forms.append({"WEFT_WORKERS": "2", "LD_PRELOAD": str(weft / "libweft-openmp.so")})
            for form in forms:
                if source.stem in NEEDS_PREEMPTION and not {"WEFT_PREEMPT", "WEFT_OPENMP_THREADS"} & form.keys():
                    continue
                if why := difference(expected, run(program, form)):
                    shown = " ".join(f"{k}={v}" for k, v in form.items())
                    wrong.append(f"{source.name}: {shown}: {why}")
    return wrong


def check_note(weft: Path) -> list[str]:
    """Threads that wait for each other in loops, more of them than workers: Weft says that they do, and the program does not end."""
    with tempfile.TemporaryDirectory(prefix="weft-openmp-") as folder:
        program = Path(folder, "spin_barriers")
        subprocess.run(["gcc", "-O2", "-fopenmp", "-w", str(PROGRAMS / "spin_barriers.c"), "-o", str(program)], check=True)
        with subprocess.Popen([program], env={**os.environ, "LD_LIBRARY_PATH": str(weft), "WEFT_WORKERS": "1"}, stderr=subprocess.PIPE,
                              stdout=subprocess.DEVNULL, text=True) as running:
            limit = threading.Timer(SECONDS, running.kill)
            limit.start()
            said = next((line for line in running.stderr if "wait for each other" in line), "")
            limit.cancel()
            running.kill()
    return [] if said else ["spin_barriers.c without preemption: no note that its threads wait for each other"]


def self_test() -> int:
    assert not difference("a\nb\n", "a\nb\n")
    assert "line 2" in difference("a\nb\n", "a\nc\n")
    assert "nothing" in difference("a\nb\n", "a\n")
    assert "after" in difference("a\n", "a\nb\n")
    return 0


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--weft", type=Path)
    options.add_argument("--all", action="store_true")
    options.add_argument("--self-test", action="store_true")
    given = options.parse_args()
    if given.self_test:
        return self_test()
    if given.weft is None or not (given.weft / "libgomp.so.1").exists():
        options.error("--weft: expected a folder with libgomp.so.1")
    wrong = check(given.weft.resolve(), SETTINGS + (MORE if given.all else [])) + check_note(given.weft.resolve())
    for line in wrong:
        print(line)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
