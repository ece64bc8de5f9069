#!/usr/bin/env python3
"""Runs `weft why` on programs with planted faults, and counts how often it is right.

    score.py --build DIR [--set NAME] [--only NAME] [--json FILE]

DIR has the compiled programs: NAME, and NAME.mended without the faults; NAME.mended.N without the Nth, if there are several
(cmake --build --preset dev --target why_programs puts them into build/dev/why). Sets: `learned` (the rules were written on these), `held_out` (they were not), `healthy` (without a fault),
and the same with `openmp/` in front: each of these is run as each compiler made it, from DIR/openmp/gcc and DIR/openmp/clang.

A fault is a comment in the source, `FAULT cause`, on its line. `AT cause` marks a further line of the same fault, such as the body of a
loop whose call is the fault. A finding is right if it has that cause, and if its place, its path or a
further place is in that file and at most six lines away. Settings of the whole program (a policy, the number of workers) have no
place, and need none.

What mending a fault saves is measured: the program and its twin run in turns, and the median of what the twin saves, as a part of
the time, is compared with the gain that was told, as a part of the time.

It measures, so it needs an idle machine and decides no test.

Example: tests/why/score.py --build build/dev/why --set held_out
"""

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from weft.openmp import library_for, needs_openmp

HERE = Path(__file__).resolve().parent
SETS = ("learned", "held_out", "healthy")
NEAR = 6  # lines
LEAST_SAVED = 0.001  # a part of the time
REPEATS = 7  # of a program and its twins, in turns
WITHOUT_PLACE = {"policy", "oversubscription", "one_worker"}
NOT_THE_PROGRAM = {"other_programs"}  # what the machine does beside: no finding about the program, whatever its rank


@dataclass
class Fault:
    cause: str
    file: str
    lines: list


@dataclass
class Score:
    program: str
    faults: list
    found: list
    ranks: list  # by fault: place of its finding, from 1; None: not found
    seconds: float
    told: list  # by fault: the gain that was told, as a part of the time; None: not found
    saved: list  # by fault: what its twin saves, as a part of the time
    varies: list  # by fault: half the distance between the quartiles of that
    all_saved: float | None  # by the twin without any fault
    took: float

    @property
    def errors(self):
        """Of the gains that were told, as parts of what mending saves. Where it saves nothing, any gain is wrong."""
        return [abs(t - s) / max(s, LEAST_SAVED) for t, s in zip(self.told, self.saved, strict=True) if t is not None]


def folders_of(name, build):
    """Where the programs of a set are."""
    if not name.startswith("openmp/"):
        return [build]
    found = sorted(p for p in build.glob("openmp/*") if p.is_dir())
    if not found:
        sys.exit(f"score.py: no programs of OpenMP in {build}/openmp; cmake --build --preset dev --target why_programs makes them")
    return found


def faults_of(source):
    found = []
    for number, line in enumerate(source.read_text().splitlines(), 1):
        if mark := re.search(r"// FAULT (\w+)", line):
            found.append(Fault(mark[1], source.name, [number]))
    for number, line in enumerate(source.read_text().splitlines(), 1):
        for mark in re.finditer(r"// AT (\w+)", line):
            next(f for f in found if f.cause == mark[1]).lines.append(number)
    return found


def is_right(finding, fault):
    if finding["cause"] != fault.cause:
        return False
    if finding["place"] is None and fault.cause in WITHOUT_PLACE:
        return True
    places = [finding["place"], *finding["path"], *finding["also"]]
    return any(
        p and p["file"] and Path(p["file"]).name == fault.file and any(abs((p["line"] or 0) - line) <= NEAR for line in fault.lines)
        for p in places
    )


def seconds_of(program, environment):
    began = time.perf_counter()
    subprocess.run([program], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True, env=environment)
    return time.perf_counter() - began


def savings(program, twins):
    """By twin: which part of the program's time it saves, and half the distance between the quartiles of that. Times are
    taken as `weft why` takes them: OpenMP programs run on Weft's workers."""
    command = [str(program)]
    environment = {**os.environ, "LD_PRELOAD": str(library_for(command))} if needs_openmp(command) else dict(os.environ)
    saved = [[] for _ in twins]
    for _ in range(REPEATS):
        seconds = seconds_of(program, environment)
        for of_twin, twin in zip(saved, twins, strict=True):
            of_twin.append(1 - seconds_of(twin, environment) / seconds)
    quartiles = [statistics.quantiles(of_twin, n=4) for of_twin in saved]
    return [(middle, (upper - lower) / 2) for lower, middle, upper in quartiles]


def score(source, build):
    program = build / source.stem
    began = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", "weft", "why", "--json", "--", str(program)], capture_output=True, text=True, check=False
    )
    took = time.perf_counter() - began
    if done.returncode != 0:
        sys.exit(f"{program}: weft why ended with status {done.returncode}\n{done.stderr}")
    answer = json.loads(done.stdout)
    findings = [f for f in answer["findings"] if f["cause"] not in NOT_THE_PROGRAM]
    faults = faults_of(source)
    ranks = [next((i for i, f in enumerate(findings, 1) if is_right(f, fault)), None) for fault in faults]
    told = [findings[r - 1]["gain"] / answer["seconds"] if r else None for r in ranks]
    numbers = range(1, len(faults) + 1) if len(faults) > 1 else ()
    twins = [build / f"{source.stem}.mended", *(build / f"{source.stem}.mended.{n}" for n in numbers)] if faults else []
    measured = savings(program, twins)
    by_fault = measured[1:] or measured
    found = [f"{f['cause']} {f['place_text']} {f['gain'] / answer['seconds']:.0%}" for f in findings]
    return Score(
        program=source.stem,
        faults=[asdict(f) for f in faults],
        found=found,
        ranks=ranks,
        seconds=answer["seconds"],
        told=told,
        saved=[s for s, _ in by_fault],
        varies=[v for _, v in by_fault],
        all_saved=measured[0][0] if measured else None,
        took=took,
    )


def summary(scores):
    faulty = [s for s in scores if s.faults]
    healthy = [s for s in scores if not s.faults]
    lines = []
    if faulty:
        first = sum(1 in s.ranks for s in faulty)
        within = sum(all(r and r <= 3 for r in s.ranks) for s in faulty)
        errors = [e for s in faulty for e in s.errors]
        lines.append(f"first cause right     {first} of {len(faulty)}")
        lines.append(f"all within the first 3  {within} of {len(faulty)}")
        if errors:
            close = sum(e <= 0.25 for e in errors)
            lines.append(f"gain within 25 %      {close} of {len(errors)}, median error {statistics.median(errors):.0%}")
    if healthy:
        quiet = sum(not s.found for s in healthy)
        lines.append(f"healthy, none named   {quiet} of {len(healthy)}")
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__.strip(), formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, required=True, metavar="DIR")
    parser.add_argument("--set", choices=[*SETS, *(f"openmp/{s}" for s in SETS)], action="append", dest="sets")
    parser.add_argument("--only", metavar="NAME", help="programs whose name contains NAME")
    parser.add_argument("--json", type=Path, metavar="FILE")
    given = parser.parse_args()
    results = {}
    for name, build in [(name, build) for name in given.sets or SETS for build in folders_of(name, given.build)]:
        label = name if build == given.build else f"{name}, {build.name}"
        scores = []
        for source in sorted((HERE / name).glob("*.c*")):
            if given.only and given.only not in source.stem:
                continue
            s = score(source, build)
            scores.append(s)
            verdict = "ranks " + ", ".join(str(r or "-") for r in s.ranks) if s.ranks else "healthy"
            print(f"{label}/{s.program}: {verdict}; {s.seconds:.3f} s in {s.took:.1f} s", flush=True)
            for fault, saved, varies in zip(s.faults, s.saved, s.varies, strict=True):
                print(f"    planted {fault['cause']} {fault['file']}:{fault['lines'][0]} {saved:.0%} +- {varies:.0%}")
            for found in s.found:
                print(f"    said    {found}")
        print(f"-- {label}")
        print("\n".join(summary(scores)))
        results[label] = [asdict(s) | {"errors": s.errors} for s in scores]
    if given.json:
        given.json.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
