#!/usr/bin/env python3
"""Runs the programs beside this script under ThreadSanitizer, on Weft, with Archer, LLVM's tool that tells the sanitizer what OpenMP orders.

    check_races.py --weft BUILD/openmp [--rounds 1] [--only NAME] [--jobs 1]    exit status 1 if a race is reported, or the one that exists is not
    check_races.py --weft BUILD/openmp --rounds 100                             some thousand runs

Each program is compiled by clang with -fsanitize=thread; Weft's library is not. Exit status 77 without clang or Archer. The seed of a run under the policy
chaos is printed if it fails.
"""

import argparse
import concurrent.futures
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

PROGRAMS = Path(__file__).resolve().parent / "programs"
COMPILERS = {".c": "clang-19", ".cpp": "clang++-19"}
ARCHER = Path("/usr/lib/llvm-19/lib/libarcher.so")
NOT_INSTALLED = 77
SECONDS = 120
POLICIES = ["steal", "share", "chaos:of=steal", "chaos:of=steal-parent-first"]
# spin_barriers needs preemption, and the callers start processes.
LEFT_OUT = {"spin_barriers", "callers", "thread_data_callers"}
RACE = """#include <stdio.h>
int main(void) {
    int x = 0;
#pragma omp parallel num_threads(3)
    for (int i = 0; i < 1000; ++i) x += 1;
    printf("%d\\n", x > 0);
    return 0;
}
"""


def launcher() -> list[str]:
    """Some kernels place libraries where the sanitizer cannot have them."""
    words = ["setarch", "-R"]
    usable = shutil.which(words[0]) and subprocess.run([*words, "true"], capture_output=True).returncode == 0
    return words if usable else []


def compile_program(source: Path, program: Path) -> None:
    subprocess.run([COMPILERS[source.suffix], "-O1", "-g", "-fsanitize=thread", "-fopenmp=libomp", "-w", str(source), "-o", str(program)], check=True)


def run(program: Path, weft: Path, policy: str, seed: int, before: list[str]) -> tuple[bool, str]:
    """Whether a race is reported, and what was wrong besides."""
    settings = {"LD_LIBRARY_PATH": str(weft), "WEFT_WORKERS": "3", "WEFT_POLICY": policy, "WEFT_SEED": str(seed), "OMP_CANCELLATION": "true",
                "OMP_TOOL_LIBRARIES": str(ARCHER), "TSAN_OPTIONS": "ignore_noninstrumented_modules=1:exitcode=66"}
    try:
        done = subprocess.run([*before, str(program)], env={**os.environ, **settings}, capture_output=True, text=True, errors="replace",
                              timeout=SECONDS)
    except subprocess.TimeoutExpired:
        return False, f"longer than {SECONDS} s"
    said = done.stdout + done.stderr
    if "WARNING: ThreadSanitizer" in said:
        return True, re.sub(r"(?s).*?(WARNING: ThreadSanitizer)", r"\1", said, count=1)[:3000]
    return False, "" if done.returncode == 0 else f"status {done.returncode}: {said[-500:]}"


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--weft", type=Path, required=True, help="the folder with Weft's libomp.so.5")
    options.add_argument("--rounds", type=int, default=1)
    options.add_argument("--only", default="", metavar="NAME")
    options.add_argument("--jobs", type=int, default=1)
    options.add_argument("--seed", type=int, default=random.SystemRandom().randrange(2**31))
    given = options.parse_args()
    if absent := [w for w in COMPILERS.values() if not shutil.which(w)] + ([] if ARCHER.exists() else [str(ARCHER)]):
        print(f"not installed: {', '.join(absent)}")
        return NOT_INSTALLED
    weft, before = given.weft.resolve(), launcher()
    draw = random.Random(given.seed)
    wrong = 0
    with tempfile.TemporaryDirectory(prefix="weft-openmp-") as name:
        folder = Path(name)
        sources = [s for s in sorted(PROGRAMS.iterdir())
                   if s.suffix in COMPILERS and s.stem not in LEFT_OUT and given.only in s.stem]
        for source in sources:
            compile_program(source, folder / source.stem)
        (folder / "race.c").write_text(RACE)
        compile_program(folder / "race.c", folder / "race")
        if not run(folder / "race", weft, "steal", 1, before)[0]:
            print("the race of a program that has one is not reported")
            wrong += 1
        work = [(source.stem, policy, draw.randrange(2**31)) for _ in range(given.rounds) for source in sources for policy in POLICIES]
        with concurrent.futures.ThreadPoolExecutor(given.jobs) as pool:
            found = pool.map(lambda w: run(folder / w[0], weft, w[1], w[2], before), work)
            for (program, policy, seed), (_, why) in zip(work, found):
                if why:
                    print(f"{program}: WEFT_POLICY={policy} WEFT_SEED={seed}: {why}", flush=True)
                    wrong += 1
    print(f"{len(work)} runs, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
