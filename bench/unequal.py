#!/usr/bin/env python3
"""Compares the policies for unequal cores in the model: every program of the family on every machine file of it.

A figure is the virtual time of a policy over that of the best one, and over that of `steal`; a mean is a geometric one. Programs run in
parallel, one for each core of this machine, which changes no virtual time.

example:
  bench/unequal.py --build build/dev --json unequal.json
  bench/unequal.py --build build/dev --machines hikey960 --programs dag --policies steal cats hybrid
  bench/unequal.py --from unequal.json --picture docs/_static/unequal-cores.svg
"""

import argparse
import json
import math
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import machine

ROOT = Path(__file__).resolve().parent.parent
PROGRAMS = {
    **{f"batch {kind}": f"batch --costs-only --batches 10 --kind {kind}"
       for kind in ("bwt", "dmc", "ga", "lzw", "md5", "sha1")},
    **{f"dag {p}": f"random_dag --costs-only --nodes 900 --parallelism {p}" for p in (1.62, 3.03, 8.06)},
    "dag 3.03 plain": "random_dag --costs-only --nodes 900 --parallelism 3.03 --plain",
    **{f"chains {kernel}": f"random_dag --costs-only --nodes 240 --chains 6 --kernel {kernel}"
       for kernel in ("matmul", "sort", "copy")},
    "tiled cholesky": "tiled_cholesky --n 2048 --tile 128",
    "dedup": "dedup --mbytes 4",
    "image search": "image_search --queries 100",
    "merge sort": "merge_sort --n 1000000",
    "quicksort": "quicksort --n 1000000",
    "fft": "fft --log-n 18",
    "matmul": "matmul --n 512",
}
UNEQUAL = ([f"opteron-8380-a-{x}" for x in ("2-2-2-10", "4-4-4-4", "2-0-0-14", "4-0-0-12", "8-0-0-8", "12-0-0-4")]
           + [f"xeon-x7560-i-{x}" for x in ("8-0-0-24", "8-8-8-8", "16-0-0-16", "24-0-0-8")] + ["hikey960"])
EQUAL = ["opteron-8380-4x4", "xeon-x7560-4x8"]
POLICIES = ["steal", "snatch", "aats", "aats:mode=pipeline", "xitao", "cats", "heft", "dheft", "ljfcf", "hybrid"]
TIME_LIMIT_S = 300


def seconds_of(build, program, machine, policy, seed):
    """The virtual time of one run; a message if there is none."""
    name, *arguments = PROGRAMS[program].split()
    if name == "batch" and machine.startswith("xeon"):
        arguments += ["--tasks", "256"]
    env = {k: v for k, v in os.environ.items() if not k.startswith("WEFT_")}
    env |= {"WEFT_ENGINE": "model", "WEFT_MACHINE": machine, "WEFT_MACHINES": str(ROOT / "machines"),
            "WEFT_POLICY": policy}
    command = [str(build / "examples" / name), *arguments, "--seed", str(seed), "--json"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIME_LIMIT_S, env=env)
    except subprocess.TimeoutExpired:
        return f"no answer within {TIME_LIMIT_S} s"
    if done.returncode != 0:
        return (done.stderr or done.stdout).strip()[-300:]
    return json.loads(done.stdout)["seconds"]


def measure(options):
    """Seconds by machine, program and policy: the mean over the seeds. None, with a message, if a run has failed."""
    runs = [(m, p, q, s) for m in options.machines for p in options.programs for q in options.policies
            for s in range(1, options.seeds + 1)]
    times, failed = {}, 0
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        results = pool.map(lambda r: seconds_of(options.build, r[1], r[0], r[2], r[3]), runs)
        for done, (run, seconds) in enumerate(zip(runs, results), 1):
            if isinstance(seconds, str):
                failed += 1
                print(f"{' '.join(map(str, run))}: {seconds}", file=sys.stderr)
            times.setdefault(run[:3], []).append(seconds)
            if sys.stderr.isatty() and not options.quiet:
                print(f"\r\033[K[{done}/{len(runs)}] {run[0]} {run[1]} {run[2]}", end="", file=sys.stderr)
    if sys.stderr.isatty() and not options.quiet:
        print("\r\033[K", end="", file=sys.stderr)
    table = {m: {p: {} for p in options.programs} for m in options.machines}
    for (m, p, q), seconds in times.items():
        table[m][p][q] = None if any(isinstance(s, str) for s in seconds) else sum(seconds) / len(seconds)
    return table, failed


def mean(values):
    return math.exp(sum(map(math.log, values)) / len(values)) if values else float("nan")


def rows_of(table):
    """(machine, program, time of hybrid over the best other policy, that policy, time over steal), where all three are known."""
    for machine, programs in table.items():
        for program, times in programs.items():
            others = {q: t for q, t in times.items() if q != "hybrid" and t}
            if times.get("hybrid") and times.get("steal"):
                best = min(others, key=others.get)
                yield machine, program, times["hybrid"] / others[best], best, times["hybrid"] / times["steal"]


def is_equal(machine):
    return machine in EQUAL


def mean_over_steal(table, machine, policy):
    """The geometric mean over the programs that both policies have run; nan if there is none."""
    return mean([t[policy] / t["steal"] for t in table[machine].values() if t.get(policy) and t.get("steal")])


def policies_of(table):
    return [q for q in POLICIES if any(q in t for p in table.values() for t in p.values())]


def means_of(table):
    """The means that the picture shows, as a table of Markdown."""
    policies = policies_of(table)
    lines = ["| machine | " + " | ".join(f"`{q}`" for q in policies) + " |", "|---|" + "---:|" * len(policies)]
    lines += [f"| {short(m)} | " + " | ".join(f"{mean_over_steal(table, m, q):.2f}" for q in policies) + " |" for m in table]
    for what, chosen in (("unequal", [m for m in table if not is_equal(m)]), ("equal", [m for m in table if is_equal(m)])):
        if len(chosen) > 1:
            cells = [mean([mean_over_steal(table, m, q) for m in chosen]) for q in policies]
            lines.append(f"| mean, {what} cores | " + " | ".join(f"{c:.2f}" for c in cells) + " |")
    return "\n".join([*lines, "", "A cell: time over that of steal, the geometric mean over the programs."])


def text_of(table):
    rows = list(rows_of(table))
    lines = ["| program | " + " | ".join(short(m) for m in table) + " |", "|---|" + "---:|" * len(table)]
    by = {(m, p): (r, best, s) for m, p, r, best, s in rows}
    for program in next(iter(table.values())):
        cells = [f"{by[m, program][2]:.2f} ({by[m, program][0]:.2f})" if (m, program) in by else "-" for m in table]
        lines.append(f"| {program} | " + " | ".join(cells) + " |")
    cells = [f"{mean([s for m2, _, _, _, s in rows if m2 == m]):.2f} ({mean([r for m2, _, r, _, _ in rows if m2 == m]):.2f})"
             for m in table]
    lines.append("| mean | " + " | ".join(cells) + " |")
    lines += ["", "A cell: time of hybrid over that of steal, in brackets over that of the best other policy."]
    for what, chosen in (("unequal", [r for r in rows if not is_equal(r[0])]), ("equal", [r for r in rows if is_equal(r[0])])):
        if not chosen:
            continue
        far = [r for r in chosen if r[2] > 1.05]
        slower = [r for r in chosen if r[4] > 1.02]
        lines.append(f"{what} cores: hybrid is {mean([1 / r[4] for r in chosen]):.3f} times as fast as steal; within 5 % of the best or better in "
                     f"{len(chosen) - len(far)} of {len(chosen)} rows; slower than steal by more than 2 % in {len(slower)}")
        lines += [f"  {short(m)} {p}: {r:.3f} of {best}, {s:.3f} of steal" for m, p, r, best, s in chosen
                  if r > 1.05 or s > 1.02]
    return "\n".join(lines)


def short(machine):
    return machine.replace("opteron-8380-", "").replace("xeon-x7560-", "").upper() if "-a-" in machine or "-i-" in machine else machine


def draw(table, path):
    try:
        import matplotlib
        matplotlib.use("svg")
        matplotlib.rcParams["svg.hashsalt"] = "weft"  # the same file for the same results
        from matplotlib import pyplot
    except ImportError:
        sys.exit("no picture: matplotlib is not installed (python3-matplotlib)")
    machines, policies = list(table), policies_of(table)
    figure, axis = pyplot.subplots(figsize=(10, 4.6))
    for marker, policy in zip("+osv^<>Dx*", policies):
        heights = [mean_over_steal(table, m, policy) for m in machines]
        strong = policy == "hybrid"
        axis.plot(range(len(machines)), heights, marker=marker, linewidth=2 if strong else 0.7,
                  color="black" if strong else None, alpha=1 if strong else 0.7, label=policy)
    axis.set_xticks(range(len(machines)), [short(m) for m in machines], rotation=40, ha="right")
    axis.set_ylabel("time over steal, geometric mean")
    axis.set_yscale("log")
    axis.set_yticks([0.5, 0.7, 1, 1.5, 2, 3], ["0.5", "0.7", "1", "1.5", "2", "3"])
    axis.minorticks_off()
    axis.grid(axis="y", alpha=0.3)
    axis.legend(loc="upper left", bbox_to_anchor=(1, 1), frameon=False)
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})


def parsed():
    about, _, example = __doc__.partition("\n\n")
    parser = argparse.ArgumentParser(description=about, epilog=example, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=ROOT / "build/release", help="folder of a build with examples (default: %(default)s)")
    parser.add_argument("--machines", nargs="+", default=[*UNEQUAL, *EQUAL], metavar="FILE", help="default: all of the family")
    parser.add_argument("--programs", nargs="+", default=[""], metavar="PART", help="those whose names contain one of these")
    parser.add_argument("--policies", nargs="+", default=POLICIES, metavar="POLICY", help=f"default: {' '.join(POLICIES)}")
    parser.add_argument("--seeds", type=int, default=1, metavar="N", help="runs of each, of which the mean counts (default: 1)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="where the times are stored")
    parser.add_argument("--from", dest="stored", type=Path, metavar="FILE", help="measure nothing; the times of that file")
    parser.add_argument("--picture", type=Path, metavar="FILE", help="draw the means, as SVG")
    parser.add_argument("--quiet", action="store_true", help="no progress")
    options = parser.parse_args()
    options.programs = [p for p in PROGRAMS if any(part in p for part in options.programs)]
    if not options.programs:
        parser.error(f"--programs: no name contains that; the names are {', '.join(PROGRAMS)}")
    if options.seeds < 1:
        parser.error("--seeds: at least 1")
    missing = sorted({name for p in options.programs if not (options.build / "examples" / (name := PROGRAMS[p].split()[0])).is_file()})
    if missing and not options.stored:
        parser.error(f"{', '.join(missing)}: not built in {options.build}; build there with -DWEFT_BUILD_EXAMPLES=ON, or name another --build")
    return options


def main():
    options = parsed()
    failed, about = 0, machine.describe("none: an existing build", " ".join(sys.argv))
    if options.stored:
        try:
            kept = json.loads(options.stored.read_text())
            table, about, options.seeds = kept["seconds"], kept.get("machine"), kept["seeds"]
        except (OSError, ValueError, KeyError) as problem:
            sys.exit(f"{options.stored}: {problem}; expected is a file that --json has written")
    else:
        table, failed = measure(options)
    if options.json:
        options.json.write_text(json.dumps({"machine": about, "seeds": options.seeds, "seconds": table}, indent=1) + "\n")
    print(text_of(table), means_of(table), sep="\n\n")
    if options.picture:
        draw(table, options.picture)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
