#!/usr/bin/env python3
"""How much does `auto` lose against the best of its candidates? Programs in the model, on several machine files.

Each program runs as a sequence of processes under `auto`, with memory between them, and under each candidate alone. The regret of a
stretch of processes is their time over that of the best candidate, less one. Each process has the next seed, for all alike.

example:
  PYTHONPATH=build/dev/python build/venv/bin/python bench/auto.py --build build/dev --json auto.json
  bench/auto.py --from bench/results/amd-epyc-2-cores-2026-11-28-auto.json
"""

import argparse
import json
import statistics
import sys
import tempfile
from pathlib import Path

import machine as this_machine

ROOT = Path(__file__).resolve().parent.parent
PROGRAMS = {
    "heat2d": "heat2d --costs-only --rows 1024 --cols 512 --sweeps 6 --leaf-rows 32",
    "repeated map": "repeated_map --costs-only --n 524288",
    "merge sort": "merge_sort --n 100000",
    "batch ga": "batch --costs-only --batches 5 --kind ga",
    "dag 3.03": "random_dag --costs-only --nodes 150 --parallelism 3.03",
    "sor": "sor --costs-only --rows 1024 --cols 512 --sweeps 4 --leaf-rows 32",
    "stencil": "stencil --costs-only --x 512 --y 64 --z 32 --sweeps 5",
    "fft": "fft --log-n 15",
    "quicksort": "quicksort --n 200000",
    "sparse lu": "sparse_lu --blocks 12 --side 16",
}
MACHINES = {
    "xeon-5520-2x4": ("steal", "adws", "near", "static", "steal-parent-first"),
    "opteron-8380-4x4": ("steal", "adws", "near", "static", "steal-parent-first"),
    "opteron-8380-a-8-0-0-8": ("steal", "hybrid", "adws", "near", "steal-parent-first"),
}
PROCESSES = 24
SEEDS = range(201, 201 + PROCESSES)
SEEDS_OF_CANDIDATES = 6  # of each candidate, the first ones
LIMIT_S = 120


def seconds_of(build, program, machine, policy, seed):
    from weft.advise.rules import Candidate
    from weft.advise.trials import Where, run_once

    name, *arguments = PROGRAMS[program].split()
    found = run_once(Where((str(build / "examples" / name), *arguments), machine, None, seed, LIMIT_S), Candidate(policy, None), 0)
    if isinstance(found, str):
        raise RuntimeError(f"{program} on {machine} under {policy}: {found}")
    return found


def measure(build, program, machine):
    fixed = {policy: [seconds_of(build, program, machine, policy, seed) for seed in SEEDS[:SEEDS_OF_CANDIDATES]]
             for policy in MACHINES[machine]}
    with tempfile.TemporaryDirectory() as folder:
        learned = [seconds_of(build, program, machine, f"auto:memory={folder}", seed) for seed in SEEDS]
    return {"fixed": fixed, "auto": learned}


def regret(found, first, last):
    best = min(statistics.mean(times) for times in found["fixed"].values())
    return statistics.mean(found["auto"][first:last]) / best - 1


def summary(results):
    lines = ["| program | machine | best candidate | over it: steal | first | second | 1 to 12 | 13 to 24 | all |", "|---|---|---|--:|--:|--:|--:|--:|--:|"]
    stretches = ((0, 1), (1, 2), (0, 12), (12, 24), (0, 24))
    columns = [[] for _ in stretches]
    steal = []
    for key, found in results.items():
        program, machine = key.split("/")
        means = {policy: statistics.mean(times) for policy, times in found["fixed"].items()}
        best = min(means, key=means.get)
        steal.append(means["steal"] / means[best] - 1)
        values = [regret(found, *s) for s in stretches]
        for column, value in zip(columns, values, strict=True):
            column.append(value)
        cells = " | ".join(f"{100 * v:.1f}" for v in (steal[-1], *values))
        lines.append(f"| {program} | {machine} | {best} | {cells} |")
    cells = " | ".join(f"{100 * statistics.mean(c):.1f}" for c in (steal, *columns))
    lines.append(f"| mean | | | {cells} |")
    lines.append("\nRegret in percent of the time of the best candidate.")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=ROOT / "build/dev")
    parser.add_argument("--json", type=Path, help="read if it is there, and written after each pair")
    parser.add_argument("--from", dest="results", type=Path, help="print these results again")
    parser.add_argument("--only", default="", help="pairs PROGRAM/MACHINE that contain this")
    given = parser.parse_args()
    if given.results:
        results = json.loads(given.results.read_text())["results"]
    else:
        results = json.loads(given.json.read_text())["results"] if given.json and given.json.exists() else {}
        for machine in MACHINES:
            for program in PROGRAMS:
                key = f"{program}/{machine}"
                if key in results or given.only not in key:
                    continue
                print(key, file=sys.stderr)
                results[key] = measure(given.build.resolve(), program, machine)
                if given.json:
                    given.json.write_text(json.dumps({"machine": this_machine.describe("", "bench/auto.py"), "results": results}, indent=1) + "\n")
    print(summary(results))
    return 0


if __name__ == "__main__":
    sys.exit(main())
