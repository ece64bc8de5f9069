#!/usr/bin/env python3
"""Runs the benchmarks in turn and prints one table of figures, each beside its target.

All programs are sampled round by round, so that every figure sees the same machine. A sample with two workers
counts only if it had two cores to itself; the others are discarded and taken again, up to a bound.
The exit status is 0 when everything ran and every answer was right, whatever the figures are.
"""

import argparse
import json
import os
import shlex
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path

import figures
import machine

HERE = Path(__file__).resolve().parent
TIME_LIMIT_S = 60  # of one sample
DISCARDS_A_ROUND = 2
PATIENCE_S = 150  # after that, what was discarded is not taken again
FEW = 5  # a figure of fewer samples says so
# The programs say themselves what they want of the runtime.
ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith("WEFT_")}


class Failure(Exception):
    """A wrong answer, or a program that did not run."""


class Sampler:
    def __init__(self, program, folder, rounds):
        self.program, self.rounds = program, rounds
        self.samples, self.doubtful = [], []
        self.discarded = self.failed_probes = 0
        self.absent = ""
        executable = folder / program.executable
        self.command = [*program.launcher, str(executable), *program.arguments]
        launcher_is_there = not program.launcher or shutil.which(program.launcher[0])
        if program.optional and not (executable.exists() and launcher_is_there):
            self.absent = program.optional

    def wants_more(self, seconds):
        tries = self.rounds * (1 if seconds > PATIENCE_S else 1 + DISCARDS_A_ROUND)
        tried_enough = len(self.samples) + self.discarded >= tries
        return not self.absent and len(self.samples) < self.rounds and not tried_enough

    def take(self):
        try:
            done = subprocess.run(self.command, capture_output=True, text=True, timeout=TIME_LIMIT_S,
                                  env=ENVIRONMENT)
        except subprocess.TimeoutExpired:
            raise Failure(f"no answer within {TIME_LIMIT_S} s")
        except OSError as error:
            raise Failure(str(error))
        if done.returncode != 0:
            raise Failure((done.stderr or done.stdout or f"exit status {done.returncode}").strip()[-500:])
        sample = json.loads(done.stdout.strip().splitlines()[-1])
        if self.program.after:
            self.program.after(sample, done.stderr)
        self.failed_probes += sample.get("failed_probes", 0)
        if sample.get("cores") == 1:
            self.absent = "needs two cores"
        elif sample.get("both_cores", True):
            self.samples.append(sample)
        else:
            self.discarded += 1
            self.doubtful.append(sample)


class Progress:
    """One line that is written over, on a terminal only."""

    def __init__(self, total):
        self.total, self.done, self.began = total, 0, time.monotonic()

    def seconds(self):
        return time.monotonic() - self.began

    def show(self, what):
        self.done += 1
        if sys.stderr.isatty():
            line = f"[{self.done}/{self.total}] {self.seconds():.0f} s  {what}"
            print(f"\r\033[K{line}", end="", file=sys.stderr,
                  flush=True)

    def clear(self):
        if sys.stderr.isatty():
            print("\r\033[K", end="", file=sys.stderr, flush=True)


def measure(samplers):
    """Round by round over all programs; returns the failures by program."""
    failures = {}
    progress = Progress(sum(s.rounds for s in samplers if not s.absent))
    while pending := [s for s in samplers
                      if s.wants_more(progress.seconds()) and s.program.name not in failures]:
        for s in pending:
            progress.show(s.program.name)
            try:
                s.take()
            except Failure as failure:
                failures[s.program.name] = str(failure)
    progress.clear()
    return failures


def quartiles(values):
    if len(values) == 1:
        return values[0], values[0]
    q = statistics.quantiles(values, n=4, method="inclusive")
    return q[0], q[2]


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
    value = max(values) if row.of == "maximum" else median
    if row.of == "maximum":
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
    parser.add_argument("--list", action="store_true", help="print the names of the programs and stop")
    parser.add_argument("--quick", action="store_true", help="two rounds, nothing stored")
    parser.add_argument("--fib", type=int, default=35, choices=range(20, 41), metavar="N",
                        help="which Fibonacci number the forks compute, 20 to 40 (default: 35)")
    parser.add_argument("--compiler", default="", help="what built the programs, for the record")
    parser.add_argument("--results", type=Path, default=HERE / "results", help="folder for the JSON file")
    parser.add_argument("--show", type=Path, metavar="FILE", help="print the table of stored results; run nothing")
    parser.add_argument("--markdown", action="store_true", help="print the table as Markdown")
    # The variable is how `make bench BENCH=...` comes through the build tool.
    arguments = sys.argv[1:] + shlex.split(os.environ.get("RUN_BENCH", ""))
    return parser, parser.parse_args(arguments), arguments


def main():
    parser, given, arguments = parse_arguments()
    chosen = [p for p in figures.programs(given.fib)
              if not given.only or any(p.name.startswith(only) for only in given.only)]
    if given.list:
        print("\n".join(p.name for p in chosen))
        return 0
    if not chosen:
        parser.error(f"--only {' '.join(given.only)}: no such program; --list names them")
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

    print_table(about, evaluated, given.markdown)
    taken = sum(len(s.samples) for s in samplers.values())
    discarded = sum(s.discarded for s in samplers.values())
    probes = sum(s.failed_probes for s in samplers.values())
    seconds = time.monotonic() - began
    print(f"\n{taken} samples in {seconds:.0f} s; {discarded} discarded because a core was away "
          f"or busy with others ({probes} failed probes).\n"
          "A figure is the median of its n values unless it says maximum.")
    if not given.quick and not given.only and not failures:
        stored = store(given.results, about, evaluated, taken, discarded, probes)
        inside = stored.is_relative_to(HERE.parent)
        print(f"stored in {stored.relative_to(HERE.parent) if inside else stored}")
    for name, failure in failures.items():
        print(f"bench/run.py: {name}: {failure}", file=sys.stderr)
    return 1 if failures else 0


def print_table(about, evaluated, markdown):
    plus = "+" if about["commit"].endswith("+") else ""
    print(f"{about['cpu']}, {about['cores']} cores, Linux {about['kernel']}, "
          f"{about['compiler'] or 'compiler not told'}, commit {about['commit'][:12] or 'unknown'}{plus}, "
          f"load {about['load_before']:.2f} before\n")
    print(table_text(evaluated, markdown))


def show(path, markdown):
    try:
        stored = json.loads(path.read_text())
        print_table(stored["machine"], stored["figures"], markdown)
    except (OSError, ValueError, KeyError) as problem:
        print(f"bench/run.py: {path}: no stored results: {problem!r}", file=sys.stderr)
        return 2
    return 0


def store(folder, about, evaluated, taken, discarded, probes):
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{machine.kind(about)}-{about['date'][:10]}.json"
    run = {"machine": about, "samples": taken, "discarded": discarded, "failed_probes": probes}
    head = json.dumps(run, indent=1)
    lines = ",\n".join("  " + json.dumps(f) for f in evaluated)
    path.write_text(head[:-2] + ',\n "figures": [\n' + lines + "\n ]\n}\n")
    return path


if __name__ == "__main__":
    sys.exit(main())
