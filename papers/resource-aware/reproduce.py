#!/usr/bin/env python3
"""Runs the claims of "Resource-aware task scheduling" in virtual time and prints them beside the paper's figures.

    papers/resource-aware/reproduce.py                      examples of build/release
    papers/resource-aware/reproduce.py --build build/dev    of another build
    papers/resource-aware/reproduce.py --json               one JSON object
    papers/resource-aware/reproduce.py --policy steal       another scheduler than OmpSs's default

It needs the package weft: pip install . at the root of the repository.

Verdicts are those of `weft reproduce` (papers/README.md). Exit status: 0 every claim has the sign that the paper says, or
is as its words say, 1 one is not, or a run failed.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

try:
    import polars as pl
    import weft
    from weft.analyze import analyze
    from weft.analyze.workload import workload
    from weft.reproduce.claims import Figure
    from weft.reproduce.verdict import compare
except ImportError as missing:
    sys.exit(f"{missing}: pip install . at the root of the repository")

ROOT = Path(__file__).resolve().parents[2]
KINDS = ("compute", "mutex", "read")
SEEDS = (1, 2, 3)


class Runs:
    def __init__(self, build, policy):
        self.build, self.policy = build, policy

    def result(self, machine, example, *options, workers=None, **variables):
        """What the example reports of its run."""
        env = {k: v for k, v in os.environ.items() if not k.startswith("WEFT_")}
        env.update(WEFT_ENGINE="model", WEFT_MACHINE=str(ROOT / "machines" / machine), WEFT_POLICY=self.policy)
        env.update(variables)
        if workers:
            env["WEFT_WORKERS"] = str(workers)
        command = [str(self.build / "examples" / example), "--json", *options]
        done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=600)
        if done.returncode != 0:
            sys.exit(f"{' '.join(command)} failed:\n{done.stderr}{done.stdout}")
        return json.loads(done.stdout.splitlines()[-1])

    def trace(self, *what, **where):
        """What happened in such a run."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "trace.weft"
            self.result(*what, **where, WEFT_TRACE=str(path))
            return weft.read_trace(path)

    def seconds(self, *what, **where):
        return self.result(*what, **where)["seconds"]


def mean(trace, name):
    """Nanoseconds that a task of a class takes."""
    return trace.tasks.filter(pl.col("name") == name)["own"].mean()


def row(claim, paper, ours, verdict):
    return {"claim": claim, "paper": paper, "ours": ours, "verdict": verdict.text, "same_sign": verdict.same_sign,
            "within": verdict.within}


def changed(claim, paper, ours):
    """A change, 0.1 for 10 %, of the paper and of ours."""
    return row(claim, f"{paper:+.1%}", f"{ours:+.1%}", compare(Figure(100 * paper, 100 * paper), 100 * ours))


def times(claim, paper, ours):
    """A ratio of the paper and ours."""
    return row(claim, f"{paper:.2f}", f"{ours:.2f}", compare(Figure(paper, paper), ours, measure="ratio"))


def signed(claim, says, sign, each):
    """A change about which the paper has only words, for each seed."""
    ours = sum(each) / len(each)
    return row(claim, says, f"{ours:+.1%}", compare(Figure(0, 0, sign), 100 * ours, [100 * one for one in each]))


def said(claim, says, ours, agrees):
    return {"claim": claim, "paper": says, "ours": ours, "verdict": "agrees" if agrees else "does not agree",
            "same_sign": agrees, "within": agrees}


def without_figure(claim, ours):
    """A figure of ours about which the paper says nothing."""
    return {"claim": claim, "paper": "not given", "ours": ours, "verdict": "not counted", "same_sign": None, "within": None}


def foretold(what, found, limits, real, skip, paper):
    """How far a prediction for these limits is from the trace of a run under them, beside the paper's distance."""
    (predicted,) = (p.time for p in found.predictions if tuple(p.limits.values()) == limits)
    off = predicted / workload(real, skip).elapsed - 1
    if paper is None:
        return without_figure(what, f"{off:+.1%}")
    between = (1 + off) / (1 + paper) - 1
    return row(what, f"{paper:+.1%}", f"{off:+.1%}", compare(Figure(0, 0, "same"), 100 * between))


def copy_and_compute(runs):
    """Section 5.1, figure 10: copies of 100 MB first, and computations enough to occupy the other three workers meanwhile."""
    machine, folder = "core-i7-2600k.toml", ROOT / "examples" / "copy_compute"
    work = ["--copies", "20", "--mbytes", "100", "--computations", "48", "--steps", "6000000", "--copies-first"]

    def run(resources, workers):
        return runs.trace(machine, "copy_compute", *work, "--resources", str(folder / resources), workers=workers)

    traces = run("many_copies.toml", 1), run("many_copies.toml", 4), run("resources.toml", 4)
    # The first run of the graph gets the memory; the second counts.
    serial, free, limited = (workload(trace, 1).elapsed for trace in traces)
    found = analyze(traces[1], serial=traces[0], skip=1)
    copies, computations = (next(s for s in found.speeds if s.name == name) for name in ("copy", "compute"))
    # Equation (10) with one of four workers for copies: t_worst / t_best where both classes take equally long.
    most = sum(part * s.time([4]) / s.time([1]) for part, s in ((1 / 4, copies), (3 / 4, computations))) - 1
    return [
        changed("copy + compute, one copy at a time against four: time", -0.30, limited / free - 1),
        times("speed-up over serial, four copies at a time", 2.3, serial / free),
        times("speed-up over serial, one copy at a time", 3.7, serial / limited),
        changed("rough estimate of the reduction, -R", -0.28, -found.reduction.of_thread_time),
        changed("the most that limits can gain, equation (10): speed-up", 0.47, most),
        foretold("predicted time, one copy at a time, against real (figure 7)", found, (1,), traces[2], 1, 0.028),
    ]


def jpeg(runs):
    """Section 5.1, figure 11: images are read, compressed and written; one file at a time against as many as there are workers.

    Under `socket`, since the trace of the paper shows reads among compressions: `locality` does not know priorities, so it
    would read all images first. A pixel costs what it does to libjpeg without vector instructions.
    """
    folder = ROOT / "examples" / "jpeg"
    work = ["--images", "100", "--unequal", "--disk", "disk", "--compress-cycles", "44"]

    def run(resources, workers=4):
        return runs.trace("core-i7-2600k.toml", "jpeg", *work, "--resources", str(folder / resources),
                          workers=workers, WEFT_POLICY="socket")

    free, limited, serial = run("many_files.toml"), run("resources.toml"), run("many_files.toml", workers=1)

    def against(name):
        return mean(limited, name) / mean(free, name) - 1

    alone, both = analyze(free), analyze(free, serial=serial)
    return [
        changed("JPEG, one file at a time against four: a read", -0.30, against("read")),
        changed("JPEG, the same: a write", -0.40, against("write")),
        changed("JPEG, the same: time", -0.06, workload(limited).elapsed / workload(free).elapsed - 1),
        foretold("JPEG, the same: predicted time against real", alone, (1,), limited, 0, 0.004),
        foretold("JPEG, the same, with a trace of one worker too", both, (1,), limited, 0, None),
    ]


def three_types(runs):
    """Section 4.3, figure 8 and table I: compute, mutex, unstructured reads, and how many of each at a time is best."""
    machine = "core-i7-2600k.toml"

    def run(*limits):
        if not limits:
            return runs.trace(machine, "interference")
        with tempfile.NamedTemporaryFile("w", suffix=".toml") as file:
            for name, amount in zip(KINDS, limits, strict=True):
                file.write(f"[[resource]]\nname = '{name}'\namount = {amount}\n"
                           f"[[needs]]\ntasks = '{name}'\nresource = '{name}'\n")
            file.flush()
            return runs.trace(machine, "interference", "--resources", file.name)

    free = run()
    found = analyze(free, limit=[[kind] for kind in KINDS])
    sigma = [next(c.sigma for c in found.classes if c.name == kind) for kind in KINDS]
    best, second = (tuple(int(p) for p in one.limits.values()) for one in found.predictions[:2])
    real = {limits: run(*limits) for limits in ((1, 1, 2), (2, 1, 1))}
    gain = workload(real[1, 1, 2]).elapsed / workload(free).elapsed - 1
    return [
        # A task beside three others of its class takes 1 + sigma times as long.
        *(times(f"three types: 1 + sensitivity of {kind}", 1 + paper, 1 + ours)
          for kind, paper, ours in zip(KINDS, (0.02, 19.8, 0.15), sigma, strict=True)),
        changed("three types: rough estimate of the reduction, -R", -0.63, -found.reduction.of_thread_time),
        said("three types: best and second best allocation", "(1, 1, 2), (2, 1, 1)", f"{best}, {second}",
             (best, second) == ((1, 1, 2), (2, 1, 1))),
        *(foretold(f"three types: predicted time under {limits} against real", found, limits, real[limits], 0, paper)
          for limits, paper in (((1, 1, 2), 0.28), ((2, 1, 1), 0.009))),
        without_figure("three types: time under (1, 1, 2) against no limits", f"{gain:+.1%}"),
    ]


def n_body(runs):
    """Section 5.3: 8192 particles in blocks of 512, four steps, on two Xeon 5520."""
    by_turns, in_order = (runs.seconds("xeon-5520-2x4.toml", "n_body", "--accesses", a)
                          for a in ("commutative", "readwrite"))
    return [changed("n-body, commutative against inout: speed-up", 0.13, in_order / by_turns - 1)]


def finite_elements(runs):
    """Section 5.3, figure 16: gather, process, scatter of elements with 5 x 5 x 5 points into one vector."""
    by_turns, in_order, atomic = (runs.seconds("xeon-5520-2x4.toml", "finite_elements", "--one-datum", "--accesses", a)
                                  for a in ("commutative", "readwrite", "concurrent"))
    return [
        changed("finite elements, commutative against atomic updates: time", -0.40, by_turns / atomic - 1),
        changed("finite elements, commutative against inout: time", -0.10, by_turns / in_order - 1),
    ]


def cholesky(runs):
    """Section 5.2, figures 13 and 14: 10000 x 10000, 5 x 5 blocks of 4 x 4 blocks; the paper has words for what came out."""

    def run(*teams):
        return [runs.result("xeon-5520-2x4.toml", "tiled_cholesky", "--n", "10000", "--tile", "500", "--block", "4", *teams,
                            WEFT_SEED=str(seed)) for seed in SEEDS]

    free, teams = run(), run("--team", "4")
    open_ends, socket = run("--team", "4", "--open-ends", "4"), run("--team", "4", "--within", "package")
    # Each of the 35 tasks of blocks is new to each of its four workers once; the examples print six digits.
    least = 35 * 4 / teams[0]["small tasks"] + 1e-6
    mixed, in_teams = (max(one["mixed"] for one in those) for those in (free, teams))

    def against(a, b):
        return [one["seconds"] / other["seconds"] - 1 for one, other in zip(a, b, strict=True)]

    return [
        said("Cholesky, no teams: subtasks that come upon another parent's", "completely mixed", f"{mixed:.0%}",
             min(one["mixed"] for one in free) > 3 * least),
        said("Cholesky, teams of 4: the same", "not mixed", f"{in_teams:.0%}, the least there can be",
             in_teams <= least),
        signed("Cholesky, teams of 4 against none: time", "too little parallelism at the end", "more",
               against(teams, free)),
        signed("Cholesky, no teams at both ends against teams: time", "relaxing the ends may matter", "less",
               against(open_ends, teams)),
        signed("Cholesky, teams of one socket against teams: time", "no significant difference", "same",
               against(socket, teams)),
    ]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=ROOT / "build" / "release")
    parser.add_argument("--policy", default="locality", help="default: locality, which is OmpSs's")
    parser.add_argument("--json", action="store_true")
    chosen = parser.parse_args()
    if not (chosen.build / "examples" / "copy_compute").exists():
        sys.exit(f"{chosen.build}/examples/copy_compute is not there: build it, or name another build with --build")
    runs = Runs(chosen.build, chosen.policy)
    parts = (copy_and_compute, jpeg, three_types, n_body, finite_elements, cholesky)
    rows = [found for part in parts for found in part(runs)]
    counted = [r for r in rows if r["within"] is not None]
    if chosen.json:
        print(json.dumps({"policy": chosen.policy, "claims": rows}))
    else:
        print(f"Policy {chosen.policy}: of {len(counted)} claims {sum(r['within'] for r in counted)} as in the paper, "
              f"{sum(r['same_sign'] for r in counted)} with its sign.\n")
        print("| claim | paper | ours | |\n|---|---|---|---|")
        for r in sorted(rows, key=lambda r: (r["within"] is None, r["within"])):
            print(f"| {r['claim']} | {r['paper']} | {r['ours']} | {r['verdict']} |")
    return 0 if all(r["same_sign"] for r in counted) else 1


if __name__ == "__main__":
    sys.exit(main())
