#!/usr/bin/env python3
"""Runs the benchmarks in turn and prints one table of figures, each beside its target.

All programs are sampled round by round, Weft's and those of its peers; sampling.py says how.
The exit status is 0 when everything ran and every answer was right, whatever the figures are.
"""

import argparse
import json
import os
import shlex
import statistics
import subprocess
import sys
import time
from pathlib import Path

import figures
import machine
import matrix
import matrix_text
from sampling import Sampler, measure, quartiles

HERE = Path(__file__).resolve().parent
FEW = 5  # a figure of fewer samples says so


def evaluate(row, sampler, failures):
    """The figure as a dictionary, for the table and for the file."""
    figure = {"figure": row.what, "unit": row.unit, "digits": row.digits, "target": row.target_text(), "note": ""}
    if row.program in failures:
        return figure | {"note": "failed"}
    if sampler.absent:
        return figure | {"note": sampler.absent}
    samples, notes = sampler.samples, []
    if not samples:
        samples = sampler.doubtful
        notes.append("DOUBTFUL: two whole cores in no sample")
    elif len(samples) < min(FEW, sampler.rounds):
        notes.append(f"only {len(samples)} samples")
    values = [v for s in samples for v in row.values(s)]
    low, high = quartiles(values)
    median = statistics.median(values)
    ordered = sorted(values)
    value = {"maximum": ordered[-1], "99th percentile": ordered[len(ordered) * 99 // 100]}.get(row.of, median)
    if row.of != "median":
        notes.append(f"median {median:.{row.digits}f}")
        if row.target and value > row.target:
            notes.append(f"{sum(v > row.target for v in values)} over")
    if disturbed := sum(s.get("disturbed", 0) for s in samples):
        notes.append(f"{disturbed:g} disturbed")
    if sampler.discarded:
        notes.append(f"{sampler.discarded} discarded")
    figure["note"] = ", ".join(notes)
    short = {"value": value, "median": median, "low": low, "high": high}
    short = {name: float(f"{number:.5g}") for name, number in short.items()}
    return figure | short | {"n": len(values), "reached": row.reached(value) if sampler.samples else None,
                             "values": [float(f"{v:.4g}") for v in values]}


def table_text(evaluated, markdown=False):
    lines = [("figure", "target", "measured", "quartiles", "n", "reached", "")]
    for f in evaluated:
        if "value" not in f:
            lines.append((f["figure"], f["target"], "-", "-", "-", "-", f["note"]))
            continue
        d = f["digits"]
        reached = {True: "yes", False: "NO", None: "-" if f["target"] == "-" else "?"}[f["reached"]]
        lines.append((f["figure"], f["target"], f"{f['value']:.{d}f} {f['unit']}".strip(),
                      f"{f['low']:.{d}f} .. {f['high']:.{d}f}", str(f["n"]), reached, f["note"]))
    if markdown:
        lines.insert(1, ("---", "---", "---:", "---", "---:", "---", "---"))
        return "\n".join("| " + " | ".join(cell.replace("  ", "&emsp;", 1) for cell in line) + " |"
                         for line in lines)
    widths = [max(len(line[i]) for line in lines) for i in range(7)]
    right = {2, 4}
    return "\n".join("  ".join(cell.rjust(w) if i in right else cell.ljust(w)
                               for i, (cell, w) in enumerate(zip(line, widths))).rstrip() for line in lines)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter,
                                     epilog="example: bench/run.py --quick --only fork --only latency")
    parser.add_argument("--programs", type=Path, default=HERE.parent / "build" / "release" / "bench",
                        help="folder of the built programs (default: %(default)s)")
    parser.add_argument("--only", action="append", metavar="NAME", default=[],
                        help="only programs whose name begins so; may be given several times")
    parser.add_argument("--without", action="append", metavar="NAME", default=[],
                        help="not the programs whose name begins so")
    parser.add_argument("--list", action="store_true", help="print the names of the programs and stop")
    parser.add_argument("--quick", action="store_true", help="two rounds, nothing stored")
    parser.add_argument("--fib", type=int, default=35, choices=range(20, 41), metavar="N",
                        help="which Fibonacci number the forks compute, 20 to 40 (default: 35)")
    parser.add_argument("--compiler", default="", help="what built the programs, for the record")
    parser.add_argument("--results", type=Path, metavar="FOLDER",
                        help="store there, also a part (default: bench/results, whole runs that are not --quick)")
    parser.add_argument("--show", type=Path, metavar="FILE", help="print the table of stored results; run nothing")
    parser.add_argument("--markdown", action="store_true", help="print the table as Markdown")
    # The variable is how `make bench BENCH=...` comes through the build tool.
    arguments = sys.argv[1:] + shlex.split(os.environ.get("RUN_BENCH", ""))
    return parser, parser.parse_args(arguments), arguments


def main():
    parser, given, arguments = parse_arguments()
    chosen = [p for p in figures.programs(given.fib) + matrix.programs()
              if (not given.only or p.name.startswith(tuple(given.only)))
              and not (given.without and p.name.startswith(tuple(given.without)))]
    if given.list:
        print("\n".join(p.name for p in chosen))
        return 0
    if not chosen:
        parser.error("no such program; --list names them")
    if given.show:
        return show(given.show, given.markdown)
    command = shlex.join(["bench/run.py", *(a.replace(str(HERE.parent) + os.sep, "") for a in arguments)])
    about = machine.describe(given.compiler, command)
    rounds = 2 if given.quick else sys.maxsize
    samplers = {p.name: Sampler(p, given.programs, min(p.rounds, rounds)) for p in chosen}
    began = time.monotonic()
    failures = measure(list(samplers.values()))
    rows = [r for r in figures.rows() if r.program in samplers]
    evaluated = [evaluate(r, samplers[r.program], failures) for r in rows]
    beside = matrix.evaluate(samplers, failures)

    print_tables(about, evaluated, beside, given.markdown)
    taken = sum(len(s.samples) for s in samplers.values())
    discarded = sum(s.discarded for s in samplers.values())
    probes = sum(s.failed_probes for s in samplers.values())
    seconds = time.monotonic() - began
    print(f"\n{taken} samples in {seconds:.0f} s; {discarded} discarded because a core was away "
          f"or busy with others ({probes} failed probes).\n"
          "A figure is the median of its values unless it says maximum.")
    part = bool(given.only or given.without)
    if not failures and (given.results or not (given.quick or part)):
        name = f"{machine.kind(about)}-{about['date'][:10]}{'-part' * part}.json"
        stored = store((given.results or HERE / "results") / name, about, evaluated, beside, taken, discarded, probes)
        inside = stored.is_relative_to(HERE.parent)
        print(f"stored in {stored.relative_to(HERE.parent) if inside else stored}; {draw(stored)}")
    for name, failure in failures.items():
        print(f"bench/run.py: {name}: {failure}", file=sys.stderr)
    return 1 if failures else 0


def print_tables(about, evaluated, beside, markdown):
    plus = "+" if about["commit"].endswith("+") else ""
    print(f"{about['cpu']}, {about['cores']} cores, Linux {about['kernel']}, "
          f"{about['compiler'] or 'compiler not told'}, commit {about['commit'][:12] or 'unknown'}{plus}, "
          f"load {about['load_before']:.2f} before\n")
    if evaluated:
        print(table_text(evaluated, markdown))
    if beside:
        print("\n" * bool(evaluated) + matrix_text.table(beside, markdown))


def show(path, markdown):
    try:
        stored = json.loads(path.read_text())
        print_tables(stored["machine"], stored["figures"], stored.get("peers", []), markdown)
    except (OSError, ValueError, KeyError) as problem:
        print(f"bench/run.py: {path}: no stored results: {problem!r}", file=sys.stderr)
        return 2
    return 0


def store(path, about, evaluated, beside, taken, discarded, probes):
    path = path.resolve()
    path.parent.mkdir(parents=True, exist_ok=True)
    run = {"machine": about, "samples": taken, "discarded": discarded, "failed_probes": probes}
    lists = [f' "{name}": [\n' + ",\n".join("  " + json.dumps(line) for line in lines) + "\n ]"
             for name, lines in (("figures", evaluated), ("peers", beside))]
    path.write_text(json.dumps(run, indent=1)[:-2] + ",\n" + ",\n".join(lists) + "\n}\n")
    return path


def draw(results):
    """Draws with this Python, or with the one that has Debian's packages; says what came of it."""
    said = ""
    for python in (sys.executable, "/usr/bin/python3"):
        try:
            done = subprocess.run([python, HERE / "picture.py", results], capture_output=True, text=True, timeout=60)
        except (OSError, subprocess.TimeoutExpired) as problem:
            said = str(problem)
            continue
        said = (done.stdout or done.stderr).strip().split("\n")[-1]
        if done.returncode == 0:
            break
    return said


if __name__ == "__main__":
    sys.exit(main())
