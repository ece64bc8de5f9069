#!/usr/bin/env python3
"""Programs of users with a sanitizer, linked against the library as it is installed, which has none.

    check_sanitized.py COMPILER SANITIZER PKG_CONFIG_FILE STATIC_LIBRARY SHARED_LIBRARY FOLDER SCOPE

A program without a mistake must get no report under any of the policies, nor if its tasks are preempted; each of the
programs with one mistake must get one. A program that does not end unless its tasks are preempted must end. SANITIZER:
thread or address. FOLDER: for the executables. SCOPE: `few` takes a policy of each order of spawning, and the shared
library with AddressSanitizer alone, and links the objects that the build has put into FOLDER (CMakeLists.txt beside this
file); `all` takes all policies and optimisations, and compiles.
"""

from __future__ import annotations

import functools
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
POLICIES = ["steal", "steal:zone=reported", "steal-parent-first", "share", "near", "locality", "static", "chaos:of=steal"]
POLICIES_OF_FEW = ["steal", "steal-parent-first", "chaos:of=steal"]
MISTAKES = {
    "thread": [
        "join",
        "nested_join",
        "context_join",
        "group",
        "child_and_parent",
        "future",
        "loop",
        "graph",
        "mutex",
        "latch",
        "thread",
    ],
    "address": ["use_after_free", "beyond_array", "child"],
}
# A program, with how many workers, and how it is preempted: seldom, since it is slow. race_free throws exceptions and has
# thread-local variables, so it may not yield.
PREEMPTED = [
    ("race_free", "3", "klt:interval=10ms"),
    *(("preempted", n, f"{t}:interval=10ms") for n in ("1", "3") for t in ("yield", "klt")),
]
REPORT = {"thread": "WARNING: ThreadSanitizer", "address": "ERROR: AddressSanitizer"}
SKIPPED = 77  # the exit status, see CMakeLists.txt
LIMIT = 120  # seconds a program


def libraries(pkg_config_file: Path) -> list[str]:
    """What the library's pkg-config file says to link, without the library itself."""
    lines = re.findall(r"^Libs(?:\.private)?:(.*)$", pkg_config_file.read_text(), re.MULTILINE)
    words = " ".join(lines).split()
    return [w for w in words if w.startswith(("-l", "-pthread")) and w not in ("-lweft", "-l:libweft.a")]


def launcher() -> list[str]:
    """Kernels with 32 bits of mmap randomness place libraries at addresses that the runtime of GCC 12 refuses."""
    words = ["setarch", "-R"]
    usable = shutil.which(words[0]) and subprocess.run([*words, "true"], capture_output=True).returncode == 0
    return words if usable else []


def missing(compiler: str, sanitizer: str, build: Path) -> str | None:
    """What is not installed, if anything."""
    if not shutil.which(compiler):
        return f"no {compiler}"
    (build / "empty.cpp").write_text("int main() {}\n")
    words = [compiler, f"-fsanitize={sanitizer}", str(build / "empty.cpp"), "-o", str(build / "empty")]
    done = subprocess.run(words, capture_output=True, text=True)
    return None if done.returncode == 0 else f"{compiler} has no -fsanitize={sanitizer}: {done.stderr[-300:]}"


def main(compiler: str, sanitizer: str, pkg_config_file: str, static: str, shared: str, folder: str, scope: str) -> int:
    build = Path(folder)
    build.mkdir(parents=True, exist_ok=True)
    before = launcher()
    if reason := missing(compiler, sanitizer, build):
        print(f"skipped: {reason}")
        return SKIPPED
    failures: list[str] = []

    @functools.cache
    def made(source: str, optimisation: str, library: str) -> Path | None:
        program = build / f"{source}{optimisation}{'-shared' if library == shared else ''}"
        words = [compiler, "-std=c++20", optimisation, "-g1", f"-fsanitize={sanitizer}", f"-I{ROOT}/include"]
        words += [f"{program}.o" if scope == "few" else str(HERE / f"{source}.cpp"), "-o", str(program), library]
        if library == shared:
            words += ["-DWEFT_SHARED", f"-Wl,-rpath,{Path(shared).parent}"]
        else:
            words += libraries(Path(pkg_config_file))
        done = subprocess.run(words, capture_output=True, text=True)
        if done.returncode != 0:
            failures.append(f"{source} {optimisation} is not built:\n{done.stderr[-4000:]}")
            return None
        return program

    def run(program: Path, *arguments: str, **environment: str) -> tuple[int, str]:
        variables = {name: value for name, value in os.environ.items() if not name.startswith("WEFT_")}
        variables |= {"TSAN_OPTIONS": "exitcode=66", **environment}
        try:
            done = subprocess.run(
                [*before, str(program), *arguments], env=variables, capture_output=True, text=True, timeout=LIMIT
            )
        except subprocess.TimeoutExpired as late:
            return -1, f"no end within {late.timeout} s\n{late.stdout!r}\n{late.stderr!r}"
        return done.returncode, done.stdout + done.stderr

    runs = [("-O2", static, POLICIES_OF_FEW)]
    if sanitizer == "address":
        runs.append(("-O0", shared, POLICIES[:1]))
    if scope == "all":
        runs = [("-O0", static, POLICIES[:2]), ("-O2", static, POLICIES), ("-O2", shared, POLICIES[:2])]
    for optimisation, library, policies in runs:
        if (program := made("race_free", optimisation, library)) is None:
            continue
        for policy in policies:
            status, text = run(program, "1", WEFT_WORKERS="3", WEFT_POLICY=policy)
            if status != 0 or "race_free: ok" not in text or "Sanitizer" in text:
                failures.append(f"{program.name} under {policy}: status {status}\n{text[:6000]}")
    programs = {source: made(source, "-O2", static) for source in ("race_free", "preempted")}
    for source, workers, preempt in PREEMPTED:
        if (program := programs[source]) is None:
            continue
        status, text = run(program, "1", WEFT_WORKERS=workers, WEFT_PREEMPT=preempt)
        if status != 0 or f"{source}: ok" not in text or "Sanitizer" in text:
            failures.append(f"{program.name}, {workers} workers, {preempt}: status {status}\n{text[:6000]}")
    if (program := made("mistakes", "-O1", static)) is not None:
        for mistake in MISTAKES[sanitizer]:
            status, text = run(program, mistake, WEFT_WORKERS="2")
            if status == 0 or REPORT[sanitizer] not in text:
                failures.append(f"mistakes {mistake}: no report, status {status}\n{text[:3000]}")
    for failure in failures:
        print(failure, "\n" + "-" * 80)
    print(f"{len(failures)} failures with {compiler} -fsanitize={sanitizer}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
