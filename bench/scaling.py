#!/usr/bin/env python3
"""How far each workload of bench/peers scales: Weft and its peers with 1, 2, 4, ... workers, over the serial program.

    bench/scaling.py                                       # after: cmake --build --preset release
    bench/scaling.py --only "fib,spawns_*" --rounds 5
    bench/scaling.py --runtimes weft,tbb --workers 1,8,16 --results bench/results
    bench/scaling.py --show bench/results/amd-epyc-2-cores-2026-11-26-scaling.json

All programs run in turn, round by round, so that a disturbance affects all of them. The table shows the speed-up over the
serial program built by GCC: its median time divided by the median time of the runtime. Unlike bench/run.py, no sample is
discarded, so the machine should do nothing else. The picture has one small diagram a workload.

Exit status: 0 every program ran and every answer was right, whatever the times are; 1 one did not; 2 wrong arguments.
"""

import argparse
import fnmatch
import json
import os
import shlex
import statistics
import sys
import time
from pathlib import Path

import machine
import sampling
from figures import Program
from matrix import RUNTIMES, TIMED

HERE = Path(__file__).resolve().parent
MARKERS = "oD^vsP*"
# Loops of spawns in other grains, and forms of one workload that differ in the interface alone, are for those who ask.
USUAL = ("fib", "uts", "nqueens", "matmul", "merge_sort", "uneven_loop", "skynet", "spawns_1us", "spawns_20us", "spawns_nested")
SERIAL = RUNTIMES[0].name
PEERS = {r.name: r for r in RUNTIMES if not r.is_serial}
USUAL_PEERS = ("weft", "tbb", "libgomp", "libomp", "rayon")
TITLES = {name: what for name, what, other in TIMED if name != "short_loops"}


def powers_of_two(cores):
    counts = [1]
    while counts[-1] * 2 <= cores:
        counts.append(counts[-1] * 2)
    return counts if counts[-1] == cores else [*counts, cores]


def chosen(patterns, names, usual, what, parser):
    if not patterns:
        return [n for n in names if n in usual]
    given = patterns.split(",")
    for p in given:
        if not fnmatch.filter(names, p):
            parser.error(f"no {what} is called {p}; there are {', '.join(names)}")
    return [n for n in names if any(fnmatch.fnmatchcase(n, p) for p in given)]


def counts_of(text, parser):
    try:
        counts = [int(part) for part in text.split(",")]
    except ValueError:
        counts = []
    if not counts or min(counts) < 1 or max(counts) > 4096:
        parser.error(f"--workers: numbers from 1 to 4096 with commas between them, not {text}")
    return counts


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", type=Path, default=HERE.parent / "build" / "release" / "bench",
                        help="folder of the built programs (default: %(default)s)")
    parser.add_argument("--only", metavar="NAMES", help=f"workloads; * stands for anything (default: {','.join(USUAL)})")
    parser.add_argument("--runtimes", metavar="NAMES", help=f"runtimes (default: {','.join(USUAL_PEERS)})")
    parser.add_argument("--workers", metavar="COUNTS", help="numbers of workers (default: powers of two, and all cores)")
    parser.add_argument("--rounds", type=int, default=3, help="samples of each (default: 3)")
    parser.add_argument("--limit", type=float, default=10, metavar="SECONDS",
                        help="a program that takes longer is stopped, and not run again (default: 10)")
    parser.add_argument("--results", type=Path, metavar="FOLDER", help="store the values and the picture there")
    parser.add_argument("--show", type=Path, metavar="FILE", help="print the table of stored results; run nothing")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of the table")
    options = parser.parse_args()
    if options.rounds < 1:
        parser.error("--rounds: one or more")
    options.only = chosen(options.only, list(TITLES), USUAL, "workload", parser)
    options.runtimes = chosen(options.runtimes, list(PEERS), USUAL_PEERS, "runtime", parser)
    cores = len(os.sched_getaffinity(0))
    options.workers = counts_of(options.workers, parser) if options.workers else powers_of_two(cores)
    return options


def program(workload, runtime, workers):
    return Program(f"{workload}.{workers}.{runtime.name}", runtime.executable,
                   (*runtime.arguments, f"workload={workload}", f"workers={workers}"), optional=runtime.missing)


def sample(options):
    """The stored form: machine, and for each workload the serial seconds and each runtime's seconds by workers."""
    sampling.TIME_LIMIT_S = options.limit
    samplers = {}
    for workload in options.only:
        samplers[workload, SERIAL, 1] = sampling.Sampler(program(workload, RUNTIMES[0], 1), options.programs, options.rounds)
        for name in options.runtimes:
            for workers in options.workers:
                samplers[workload, name, workers] = sampling.Sampler(program(workload, PEERS[name], workers),
                                                                     options.programs, options.rounds)
    command = shlex.join(["bench/scaling.py", *sys.argv[1:]])
    about = machine.describe("", command)
    failures = sampling.measure(list(samplers.values()))
    workloads = []
    for workload in options.only:
        entry = {"workload": workload, "what": TITLES[workload], "serial_seconds": [], "runtimes": {}}
        for (of, name, workers), sampler in samplers.items():
            if of != workload:
                continue
            seconds = [float(f"{s['seconds']:.4g}") for s in sampler.samples]
            if name == SERIAL:
                entry["serial_seconds"] = seconds
                continue
            note = failures.get(sampler.program.name) or sampler.absent
            entry["runtimes"].setdefault(name, []).append({"workers": workers, "seconds": seconds, "note": note})
        workloads.append(entry)
    late = f"no answer within {options.limit} s"
    wrong = {name: why for name, why in failures.items() if why != late}
    return {"machine": about, "rounds": options.rounds, "workloads": workloads}, wrong


def speed_up(entry, point):
    if not entry["serial_seconds"] or not point["seconds"]:
        return None
    return statistics.median(entry["serial_seconds"]) / statistics.median(point["seconds"])


def table_text(stored):
    counts = sorted({p["workers"] for e in stored["workloads"] for points in e["runtimes"].values() for p in points})
    about = stored["machine"]
    lines = [f"{about['cpu']}, {about['cores']} cores, Linux {about['kernel']}, commit {about['commit'][:12] or 'unknown'}; "
             "speed-up over the serial program", "",
             f"{'workload':<42}{'runtime':<10}" + "".join(f"{c:>9}" for c in counts) + "   workers"]
    for entry in stored["workloads"]:
        best = {c: max((s for points in entry["runtimes"].values() for p in points
                        if p["workers"] == c and (s := speed_up(entry, p))), default=None) for c in counts}
        for name, points in entry["runtimes"].items():
            of = {p["workers"]: speed_up(entry, p) for p in points}
            cells = [f"{of[c]:.2f}{'*' if of[c] == best[c] else ' '}" if of.get(c) else "- " for c in counts]
            note = next((p["note"] for p in points if p["note"]), "")
            lines.append(f"{entry['what']:<42}{PEERS[name].title:<10}" + "".join(f"{c:>9}" for c in cells)
                         + (f"   {note.splitlines()[0][:60]}" if note else ""))
    return "\n".join([*lines, "", "* the best at this number of workers"])


def draw(stored, path):
    try:
        import matplotlib
        matplotlib.use("svg")
        matplotlib.rcParams["svg.hashsalt"] = "weft"  # the same file for the same results
        from matplotlib import pyplot
    except ImportError:
        return "no picture: matplotlib is not installed (python3-matplotlib)"
    entries = stored["workloads"]
    columns = min(5, len(entries))
    lines = -(-len(entries) // columns)
    figure, axes = pyplot.subplots(lines, columns, figsize=(2.6 * columns, 2.6 * lines + 0.6), squeeze=False)
    for axis in axes.flat[len(entries):]:
        axis.axis("off")
    for axis, entry in zip(axes.flat, entries):
        for marker, name in zip(MARKERS, entry["runtimes"]):
            points = [(p["workers"], s) for p in entry["runtimes"][name] if (s := speed_up(entry, p))]
            axis.plot([w for w, _ in points], [s for _, s in points], marker=marker, markersize=4, linewidth=1,
                      label=PEERS[name].title)
        counts = sorted({p["workers"] for points in entry["runtimes"].values() for p in points})
        axis.plot(counts, counts, color="grey", linewidth=0.8, linestyle=":")
        axis.set_xscale("log", base=2)
        axis.set_yscale("log", base=2)
        axis.set_xticks(counts, [str(c) for c in counts])
        axis.set_title(entry["what"], fontsize=8)
        axis.tick_params(labelsize=7)
        axis.grid(alpha=0.2)
    handles, labels = axes.flat[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="lower center", ncols=len(labels), frameon=False, fontsize=8)
    about = stored["machine"]
    figure.suptitle(f"Speed-up over the serial program by workers, {about['cpu']}, {about['cores']} cores, "
                    f"{about['date'][:10]}", fontsize=9)
    figure.tight_layout(rect=(0, 0.05, 1, 1))
    figure.savefig(path, metadata={"Date": None})
    return f"drawn in {path.name}"


def main():
    options = parse_arguments()
    if options.show:
        try:
            print(table_text(json.loads(options.show.read_text())))
        except (OSError, ValueError, KeyError) as problem:
            print(f"bench/scaling.py: {options.show}: no stored results: {problem!r}", file=sys.stderr)
            return 2
        return 0
    began = time.monotonic()
    stored, wrong = sample(options)
    print(json.dumps(stored) if options.json else table_text(stored))
    print(f"{time.monotonic() - began:.0f} s", file=sys.stderr)
    if options.results:
        options.results.mkdir(parents=True, exist_ok=True)
        about = stored["machine"]
        path = options.results / f"{machine.kind(about)}-{about['date'][:10]}-scaling.json"
        path.write_text(json.dumps(stored, indent=1) + "\n")
        print(f"stored in {path}; {draw(stored, path.with_suffix('.svg'))}", file=sys.stderr)
    for name, why in wrong.items():
        print(f"bench/scaling.py: {name}: {why}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
