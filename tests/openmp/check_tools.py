#!/usr/bin/env python3
"""Runs programs of gcc and of clang with a tool (OMPT) on Weft's OpenMP library, and checks what the tool was told.

    check_tools.py --weft BUILD/openmp     exit status 1 and one line a difference; 77 if <omp-tools.h> is not installed
    check_tools.py --self-test             that a wrong report is noticed

The tool (tools/pairing_tool.cpp) checks the order of events itself. Here their numbers are compared with those of tools/seen.cpp.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

TOOLS = Path(__file__).resolve().parent / "tools"
SECONDS = 60
SKIPPED = 77
PRINTED = "21 344 5\n"
# What seen.cpp has, by either compiler: 3 regions of 3 threads and 4 of 2.
BOTH = {
    "parallel_begin": 7,
    "implicit_task_begin": 3 * 3 + 4 * 2,
    "initial_task_begin": 2,
    "task_create": 66 + 3 * 2 + 5 + 1 + 1,
    "task_complete": 66 + 3 * 2 + 5 + 1 + 1,
    "sync5_begin": 33,  # taskwait
    "sync6_begin": 1,  # taskgroup
    "sync9_begin": 3 * 3 + 4 * 2,  # the end of a region
    "dependences": 5,
    "mutex_acquire": 20,
    "mutex_acquired": 20,
    "mutex_released": 20,
    "work3_begin": 1,  # single, by the one that runs it
    "work4_begin": 2,  # and the others
    "work2_begin": 3,  # sections
    "work1_begin": 3 + 3,  # loops
}
CLANG = {"masked_begin": 1}
SETTINGS: list[dict[str, str]] = [
    {"WEFT_POLICY": "steal", "WEFT_WORKERS": "1"},
    {"WEFT_POLICY": "steal", "WEFT_WORKERS": "3"},
    {"WEFT_POLICY": "share", "WEFT_WORKERS": "2"},
    {"WEFT_POLICY": "steal", "WEFT_WORKERS": "2", "WEFT_PREEMPT": "klt"},
]


def header_folder() -> Path | None:
    """Where <omp-tools.h> is."""
    found = sorted(Path("/usr/lib").glob("*/lib/clang/*/include/omp-tools.h")) + sorted(Path("/usr/lib/gcc").glob("*/*/include/omp-tools.h"))
    return found[-1].parent if found else None


def clang() -> str | None:
    """A clang++ that links programs with OpenMP."""
    for name in ("clang++", "clang++-19"):
        if path := shutil.which(name):
            probe = subprocess.run([path, "-fopenmp", "-x", "c++", "-", "-o", os.devnull], input="int main() {}", capture_output=True, text=True)
            if probe.returncode == 0:
                return path
    return None


def run(program: Path, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    base = {k: v for k, v in os.environ.items() if not k.startswith(("OMP_", "KMP_"))}
    return subprocess.run([str(program)], env={**base, **environment}, capture_output=True, text=True, timeout=SECONDS)


def judge(status: int, printed: str, report: str, expected: dict[str, int]) -> list[str]:
    """What is wrong with a run that the tool has seen."""
    wrong = []
    if status != 0 or printed != PRINTED:
        wrong.append(f"status {status}, printed {printed!r}; expected 0 and {PRINTED!r}")
    wrong += [line for line in report.splitlines() if line.startswith("wrong:")]
    if report.count("tool: finalized") != 1:
        wrong.append(f"the tool was finalized {report.count('tool: finalized')} times; expected 1")
    counts = {name: int(n) for name, n in re.findall(r"^tool: (\w+) (\d+)$", report, re.MULTILINE)}
    wrong += [f"{name}: {counts.get(name, 0)} events; expected {n}" for name, n in expected.items() if counts.get(name, 0) != n]
    return wrong


def check(weft: Path, include: Path) -> list[str]:
    wrong = []
    with tempfile.TemporaryDirectory(prefix="weft-ompt-") as folder:
        compilers = [("gcc", "g++", BOTH)]
        if (path := clang()) is not None:
            compilers.append(("clang", path, {**BOTH, **CLANG}))
        else:
            print("no clang++ with OpenMP: programs of gcc only")
        tool = Path(folder, "tool.so")
        subprocess.run(["g++", "-std=c++20", "-O1", "-shared", "-fPIC", f"-idirafter{include}", str(TOOLS / "pairing_tool.cpp"), "-o", str(tool)], check=True)
        for name, compiler, expected in compilers:
            program, inside = Path(folder, name), Path(folder, name + "-inside")
            sources = [str(TOOLS / "seen.cpp")]
            build = [compiler, "-std=c++20", "-O1", "-fopenmp", f"-idirafter{include}", "-rdynamic"]
            subprocess.run([*build, *sources, "-o", str(program)], check=True)
            subprocess.run([*build, *sources, str(TOOLS / "pairing_tool.cpp"), "-o", str(inside)], check=True)
            library = {"LD_LIBRARY_PATH": str(weft)}
            seen = [(program, {**library, **s, "OMP_TOOL_LIBRARIES": f"/no/such/tool.so:{tool}"}) for s in SETTINGS]
            seen.append((inside, {**library, "WEFT_WORKERS": "2"}))
            seen.append((program, {"LD_PRELOAD": str(weft / "libweft-openmp.so"), "OMP_TOOL": "enabled", "OMP_TOOL_LIBRARIES": str(tool)}))
            for binary, environment in seen:
                done = run(binary, environment)
                shown = " ".join(f"{k}={v}" for k, v in environment.items() if k.startswith(("WEFT", "LD_PRE")))
                wrong += [f"{binary.name}: {shown}: {w}" for w in judge(done.returncode, done.stdout, done.stderr, expected)]
            # Where there is to be no tool, there is none.
            for environment, says in (
                ({"OMP_TOOL": "disabled", "OMP_TOOL_LIBRARIES": str(tool)}, "OMP_TOOL is disabled"),
                ({"OMP_TOOL_LIBRARIES": str(tool), "OMPT_PAIRING_REFUSE": "1"}, "does not want to run"),
                ({}, "there is no tool"),
            ):
                done = run(program, {**library, **environment, "OMP_TOOL_VERBOSE_INIT": "stderr"})
                if done.returncode != 0 or done.stdout != PRINTED or "tool: " in done.stderr.replace("ompt_start_tool: ", "") or says not in done.stderr:
                    wrong.append(f"{name}: {environment}: status {done.returncode}, printed {done.stdout!r} {done.stderr!r}; expected no event, and '{says}'")
    return wrong


def self_test() -> int:
    report = "tool: work_begin 2\ntool: finalized\n"
    assert judge(0, PRINTED, report, {"work_begin": 2}) == []
    assert "expected 3" in judge(0, PRINTED, report, {"work_begin": 3})[0]
    assert judge(0, PRINTED, report + "wrong: x\n", {}) == ["wrong: x"]
    assert judge(0, PRINTED, "", {}) and judge(1, PRINTED, report, {}) and judge(0, "", report, {})
    return 0


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--weft", type=Path)
    options.add_argument("--self-test", action="store_true")
    given = options.parse_args()
    if given.self_test:
        return self_test()
    if given.weft is None or not (given.weft / "libgomp.so.1").exists():
        options.error("--weft: expected a folder with libgomp.so.1")
    include = header_folder()
    if include is None:
        print("<omp-tools.h> is not installed (libomp-dev, or clang)")
        return SKIPPED
    wrong = check(given.weft.resolve(), include)
    for line in wrong:
        print(line)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
