#!/usr/bin/env python3
"""Runs the claims of "Resource-aware task scheduling" in virtual time and prints them beside the paper's figures.

    papers/resource-aware/reproduce.py                      examples of build/release
    papers/resource-aware/reproduce.py --build build/dev    of another build
    papers/resource-aware/reproduce.py --json               one JSON object
    papers/resource-aware/reproduce.py --policy steal       another scheduler than OmpSs's default

Exit status: 0 every claim has the sign that the paper says, or is as its words say, 1 one is not, or a run failed.
"""

import argparse
import json
import os
import statistics
import struct
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

SPAWN, BEGIN, END = 1, 7, 8  # records of a trace
ROOT = Path(__file__).resolve().parents[2]


def seconds_of_tasks(trace):
    """From begin to end, of tasks that wait for nothing, by the name of their class: docs/trace-format.md."""
    names, class_of, began, ended = {0: ""}, {}, {}, {}
    at = 24 + struct.unpack_from("<I", trace, 12)[0]
    while at < len(trace):
        _, block, _, length, _ = struct.unpack_from("<4sHHII", trace, at)
        body = trace[at + 16 : at + 16 + length]
        at += 16 + length
        if block == 2:
            names.update((int(number), name) for number, name in json.loads(body).items())
        if block != 1:
            continue
        for time, task, _, n, kind, _, _ in struct.iter_unpack("<QQQIBBH", body):
            if kind == SPAWN:
                class_of[task] = names[n]
            elif kind == BEGIN:
                began[task] = time
            elif kind == END:
                ended[task] = time
    took = defaultdict(list)
    for task, end in ended.items():
        took[class_of[task]].append((end - began[task]) * 1e-9)
    return took


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

    def seconds_by_class(self, *what, **where):
        """The same, and how long a task of each class takes on average."""
        with tempfile.TemporaryDirectory() as folder:
            trace = Path(folder) / "trace.weft"
            result = self.result(*what, **where, WEFT_TRACE=str(trace))
            took = seconds_of_tasks(trace.read_bytes())
        return result["seconds"], {name: statistics.mean(all_of_it) for name, all_of_it in took.items()}

    def seconds(self, *what, **where):
        return self.result(*what, **where)["seconds"]


def copy_and_compute(runs):
    """Section 5.1, figure 10: copies of 100 MB first, and computations enough to occupy the other three workers meanwhile."""
    machine, folder = "core-i7-2600k.toml", ROOT / "examples" / "copy_compute"
    work = ["--copies", "20", "--mbytes", "100", "--computations", "48", "--steps", "9000000", "--copies-first"]

    def run(resources, workers):
        return runs.seconds(machine, "copy_compute", *work, "--resources", str(folder / resources), workers=workers)

    serial, free, limited = run("many_copies.toml", 1), run("many_copies.toml", 4), run("resources.toml", 4)
    return [
        ("copy + compute, one copy at a time against four: time", -0.30, limited / free - 1),
        ("  speed-up over serial, four copies at a time", 2.3, serial / free),
        ("  speed-up over serial, one copy at a time", 3.7, serial / limited),
    ]


def jpeg(runs):
    """Section 5.1, figure 11: images are read, compressed and written; one file at a time against as many as there are workers.

    Under `socket`, since the trace of the paper shows reads among compressions: `locality` does not know priorities, so it
    would read all images first. A pixel costs what it does to libjpeg without vector instructions.
    """
    folder = ROOT / "examples" / "jpeg"
    work = ["--images", "100", "--unequal", "--disk", "disk", "--compress-cycles", "44"]

    def run(resources):
        return runs.seconds_by_class("core-i7-2600k.toml", "jpeg", *work, "--resources", str(folder / resources),
                                     WEFT_POLICY="socket")

    free, free_tasks = run("many_files.toml")
    limited, limited_tasks = run("resources.toml")
    return [
        ("JPEG, one file at a time against four: a read", -0.30, limited_tasks["read"] / free_tasks["read"] - 1),
        ("JPEG, the same: a write", -0.40, limited_tasks["write"] / free_tasks["write"] - 1),
        ("JPEG, the same: time", -0.06, limited / free - 1),
    ]


def n_body(runs):
    """Section 5.3: 8192 particles in blocks of 512, four steps, on two Xeon 5520."""
    by_turns, in_order = (runs.seconds("xeon-5520-2x4.toml", "n_body", "--accesses", a)
                          for a in ("commutative", "readwrite"))
    return [("n-body, commutative against inout: speed-up", 0.13, in_order / by_turns - 1)]


def finite_elements(runs):
    """Section 5.3, figure 16: gather, process, scatter of elements with 5 x 5 x 5 points into one vector."""
    by_turns, in_order, atomic = (runs.seconds("xeon-5520-2x4.toml", "finite_elements", "--one-datum", "--accesses", a)
                                  for a in ("commutative", "readwrite", "concurrent"))
    return [
        ("finite elements, commutative against atomic updates: time", -0.40, by_turns / atomic - 1),
        ("finite elements, commutative against inout: time", -0.10, by_turns / in_order - 1),
    ]


def cholesky(runs):
    """Section 5.2, figures 13 and 14: 10000 x 10000, 5 x 5 blocks of 4 x 4 blocks; the paper has words for what came out."""

    def run(*teams):
        return runs.result("xeon-5520-2x4.toml", "tiled_cholesky", "--n", "10000", "--tile", "500", "--block", "4", *teams)

    free, teams = run(), run("--team", "4")
    open_ends, socket = run("--team", "4", "--open-ends", "4"), run("--team", "4", "--within", "package")
    # Each of the 35 tasks of blocks is new to each of its four workers once; the examples print six digits.
    least = 35 * 4 / teams["small tasks"] + 1e-6

    def against(a, b):
        return a["seconds"] / b["seconds"] - 1

    def said(text, paper, ours, agrees, how="agrees"):
        return (text, paper, ours, how if agrees else "DOES NOT AGREE")

    return [
        said("Cholesky, no teams: subtasks that come upon another parent's", "completely mixed", f"{free['mixed']:.0%}",
             free["mixed"] > 3 * least, "same direction"),
        said("Cholesky, teams of 4: the same", "not mixed", f"{teams['mixed']:.0%}, the least there can be",
             teams["mixed"] <= least),
        said("Cholesky, teams of 4 against none: time", "too little parallelism at the end",
             f"{against(teams, free):+.1%}", against(teams, free) > 0),
        said("Cholesky, no teams at both ends against teams: time", "relaxing the ends may matter",
             f"{against(open_ends, teams):+.1%}", against(open_ends, teams) < 0),
        said("Cholesky, teams of one socket against teams: time", "no significant difference",
             f"{against(socket, teams):+.1%}", abs(against(socket, teams)) < 0.02),
    ]


def verdict(paper, ours):
    if abs(paper) > 1:
        return "same direction" if ours > 1 else "OTHER DIRECTION"
    if paper * ours <= 0:
        return "OTHER SIGN"
    return "within 1.5x" if 1 / 1.5 <= ours / paper <= 1.5 else "same sign"


def shown(figure, row):
    if isinstance(figure, str):
        return figure
    return f"{figure:+.1%}" if abs(row["paper"]) < 1 else f"{figure:.1f}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=ROOT / "build" / "release")
    parser.add_argument("--policy", default="locality", help="default: locality, which is OmpSs's")
    parser.add_argument("--json", action="store_true")
    chosen = parser.parse_args()
    if not (chosen.build / "examples" / "copy_compute").exists():
        sys.exit(f"{chosen.build}/examples/copy_compute is not there: build it, or name another build with --build")
    runs = Runs(chosen.build, chosen.policy)
    claims = [c for part in (copy_and_compute, jpeg, n_body, finite_elements, cholesky) for c in part(runs)]
    rows = [{"claim": text.strip(), "paper": paper, "ours": ours, "verdict": said[0] if said else verdict(paper, ours)}
            for text, paper, ours, *said in claims]
    if chosen.json:
        print(json.dumps({"policy": chosen.policy, "claims": rows}))
    else:
        print(f"| claim (policy {chosen.policy}) | paper | ours | |\n|---|---|---|---|")
        for row in rows:
            print(f"| {row['claim']} | {shown(row['paper'], row)} | {shown(row['ours'], row)} | {row['verdict']} |")
    return 1 if any(row["verdict"].startswith(("OTHER", "DOES NOT")) for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
