#!/usr/bin/env python3
"""Do runs lie between the bounds that `weft profile` names? Programs in the model, for 2 to 64 cores.

Each program is profiled once, with one worker, and then runs on modelled machines with equal cores and no memory costs. The speed-up over one
worker is compared with both bounds of the profile, for the burden of that machine.

example:
  PYTHONPATH=build/dev/python build/venv/bin/python bench/profile_bounds.py --build build/dev --json bounds.json
  bench/profile_bounds.py --from bench/results/amd-epyc-2-cores-2026-11-28-profile-bounds.json
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import machine as this_machine

ROOT = Path(__file__).resolve().parent.parent
# Short enough for the model, with as much parallelism as 64 cores need and with less.
PROGRAMS = {
    "nqueens": "nqueens --n 8",
    "uts": "uts",
    "integrate": "integrate",
    "knapsack": "knapsack",
    "quicksort": "quicksort --n 100000",
    "merge sort": "merge_sort --n 100000",
    "fft": "fft --log-n 14",
    "heat2d": "heat2d --costs-only --rows 1024 --cols 512 --sweeps 6 --leaf-rows 32",
    "repeated map": "repeated_map --costs-only --n 524288",
    "sor": "sor --costs-only --rows 1024 --cols 512 --sweeps 4 --leaf-rows 32",
    "stencil": "stencil --costs-only --x 512 --y 64 --z 32 --sweeps 5",
    "mandelbrot": "mandelbrot",
    "dag 3.03": "random_dag --costs-only --nodes 150 --parallelism 3.03",
    "dag 20": "random_dag --costs-only --nodes 600 --parallelism 20",
    "tiled cholesky": "tiled_cholesky --n 512 --tile 64",
    "sparse lu": "sparse_lu --blocks 12 --side 16",
    "batch ga": "batch --costs-only --batches 5 --kind ga",
}
CORES = (2, 4, 8, 16, 32, 64)
POLICIES = ("steal", "adws", "share")
SLACK = 1.01  # steals of another seed
LIMIT_S = 120


def machine_of(cores):
    return f"numa:1 core:{cores} pu:1"


def seconds_of(build, program, cores, workers, policy):
    """The virtual time within runs of Weft; a message if there is none."""
    from weft.advise.rules import Candidate
    from weft.advise.trials import Where, run_once

    name, *arguments = PROGRAMS[program].split()
    where = Where((str(build / "examples" / name), *arguments), machine_of(cores), workers, 1, LIMIT_S)
    return run_once(where, Candidate(policy, None), 0)


def profile_of(build, program):
    from weft.profile import read_profile

    name, *arguments = PROGRAMS[program].split()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "profile.json")
        subprocess.run([build / "examples" / name, *arguments], check=True, stdout=subprocess.DEVNULL, timeout=LIMIT_S,
                       env={"WEFT_ENGINE": "model", "WEFT_MACHINE": machine_of(max(CORES)), "WEFT_PROFILE": str(file),
                            "WEFT_POLICY": "steal"})
        return read_profile(file)


def measure(build, program, policies):
    """The rows of a program; a message in place of them if it does not run."""
    from weft.profile import machine_of as figures_of

    found = profile_of(build, program)
    rows = []
    for policy in policies:
        for cores in CORES:
            one = seconds_of(build, program, cores, 1, policy)
            many = seconds_of(build, program, cores, cores, policy)
            if isinstance(one, str) or isinstance(many, str):
                return str(one if isinstance(one, str) else many)
            burden = figures_of(machine_of(cores))[2]
            least, most = found.speedup(cores, burden)
            rows.append({"policy": policy, "cores": cores, "one_s": one, "many_s": many, "speedup": one / many,
                         "at_least": least, "at_most": most, "burden_ns": burden})
    return {"work_ns": found.work, "span_ns": found.span, "tasks": found.tasks, "rows": rows}


def verdict(row):
    if row["speedup"] > row["at_most"] * SLACK:
        return "above"
    return "below" if row["speedup"] * SLACK < row["at_least"] else "between"


def summary(results, policy):
    """Markdown: a row for each program, a column for each number of cores; then how many lie between the bounds."""
    lines = ["| program | parallelism | " + " | ".join(map(str, CORES)) + " |", "|---|--:|" + "--:|" * len(CORES)]
    counts = dict.fromkeys(("between", "below", "above"), 0)
    worst = 1.0
    for program, found in results.items():
        if isinstance(found, str):
            lines.append(f"| {program} | {found} |" + " |" * len(CORES))
            continue
        cells = []
        for row in (r for r in found["rows"] if r["policy"] == policy):
            counts[verdict(row)] += 1
            worst = min(worst, row["speedup"] / row["at_least"])
            mark = {"between": "", "below": " (below)", "above": " (above)"}[verdict(row)]
            cells.append(f"{row['at_least']:.3g} {row['speedup']:.3g} {row['at_most']:.3g}{mark}")
        lines.append(f"| {program} | {found['work_ns'] / max(found['span_ns'], 1):.3g} | " + " | ".join(cells) + " |")
    total = sum(counts.values())
    lines.append(f"\n{policy}: {counts['between']} of {total} runs between the bounds, {counts['below']} below, {counts['above']} "
                 f"above; at worst {worst:.2f} of the lower bound")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=ROOT / "build/dev")
    parser.add_argument("--json", type=Path, help="read if it is there, and written after each program")
    parser.add_argument("--from", dest="results", type=Path, help="print these results again")
    parser.add_argument("--policies", default=",".join(POLICIES))
    parser.add_argument("--only", help="programs whose name contains this")
    given = parser.parse_args()
    if given.results:
        results = json.loads(given.results.read_text())["results"]
    else:
        known = json.loads(given.json.read_text())["results"] if given.json and given.json.exists() else {}
        results = known
        for program in PROGRAMS:
            if program in results or (given.only and given.only not in program):
                continue
            print(program, file=sys.stderr)
            results[program] = measure(given.build.resolve(), program, given.policies.split(","))
            if given.json:
                given.json.write_text(json.dumps({"machine": this_machine.describe("", "bench/profile_bounds.py"), "results": results}, indent=1) + "\n")
    policies = {row["policy"] for found in results.values() if not isinstance(found, str) for row in found["rows"]}
    for policy in sorted(policies, key=given.policies.split(",").index):
        print(summary(results, policy), end="\n\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
