#!/usr/bin/env python3
"""The order of policies on unequal cores: on real threads whose speeds are emulated, and in the model with the same speeds.

    bench/speeds/orders.py                                   # after: cmake --build --preset release
    bench/speeds/orders.py --only "batch-*" --rounds 5
    bench/speeds/orders.py --speeds 1,1,0.5,0.5,0.25,0.25 --json
    bench/speeds/orders.py --real orders.json --machine m.toml   # the threads' times of an earlier --json, against another machine

A pair is a program and the speeds of its workers (WEFT_SPEEDS). Every round has a seed of its own, of the program's input and of
the scheduler. It runs each pair under each of its policies on real threads, one after the other, and in the model with the same
speeds and seed, on --machine. With one input for all rounds the model, which is exact, would repeat one case of good or bad luck,
such as who draws the largest task. The speeds of a pair that is marked with * are the same for all workers: there the policies
are to be equal.

The ratio of two policies is the geometric mean over the rounds. Their order is right if threads and model say that the same one is
faster, or if the two ratios differ by no more than --tie, or by no more than twice the standard error of the difference (unsure).
It is reversed if both see a difference of more than --tie, and not the same one. A pair has the same order if all of its policies
are in the right order.

Exit status: 0 at least nine tenths of the pairs have the same order; 1 not so.
"""

import argparse
import concurrent.futures
import fnmatch
import itertools
import json
import math
import os
import statistics
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
BATCH = ("steal:zone=reported", "snatch:zone=reported", "aats", "aats:np=on")
GRAPH = ("steal", "snatch", "xitao", "cats", "heft", "dheft")
PIPELINE = ("steal", "snatch", "aats:mode=pipeline")
HALF, QUARTER, EQUAL = "1,1,0.32,0.32", "1,0.32,0.32,0.32,0.32,0.32", "0.5,0.5,0.5,0.5"
# name: program, arguments, speeds, policies. Of some tenths of a second to three seconds each, with tasks of several milliseconds:
# an emulated core stops for a part of each millisecond, and a task that is shorter than that sees a core of full speed.
PAIRS = {
    "batch-bwt": ("batch", "--kind bwt --tasks 48 --batches 8 --cycles 6e8", HALF, BATCH),
    "batch-lzw": ("batch", "--kind lzw --tasks 48 --batches 8 --cycles 6e8", HALF, BATCH),
    "batch-dmc": ("batch", "--kind dmc --tasks 48 --batches 8 --cycles 6e8", QUARTER, BATCH),
    "batch-ga": ("batch", "--kind ga --tasks 48 --alpha 4 --batches 8 --cycles 3e8", HALF, BATCH),
    "batch-ga-1+5": ("batch", "--kind ga --tasks 48 --alpha 8 --batches 8 --cycles 3e8", QUARTER, BATCH),
    "batch-md5": ("batch", "--kind md5 --tasks 48 --batches 8 --cycles 6e8", QUARTER, BATCH),
    "batch-sha1": ("batch", "--kind sha1 --tasks 48 --batches 8 --cycles 6e8", HALF, BATCH),
    "dag-narrow": ("random_dag", "--nodes 150 --parallelism 1.62 --width 1 --plain --copy-words 100000", HALF, GRAPH),
    "dag-middle": ("random_dag", "--nodes 150 --parallelism 3.03 --width 1 --plain --copy-words 100000", HALF, GRAPH),
    "dag-wide": ("random_dag", "--nodes 200 --parallelism 8.06 --width 1 --plain --copy-words 100000", QUARTER, GRAPH),
    "cholesky": ("tiled_cholesky", "--n 4096 --tile 512", HALF, GRAPH),
    "sparse_lu": ("sparse_lu", "", QUARTER, GRAPH),
    "dedup": ("dedup", "--mbytes 32", HALF, PIPELINE),
    "image_search": ("image_search", "--scenes 40 --queries 20 --width 512 --height 512", HALF, PIPELINE),
    "batch-lzw*": ("batch", "--kind lzw --tasks 48 --batches 8 --cycles 6e8", EQUAL, BATCH),
    "cholesky*": ("tiled_cholesky", "--n 4096 --tile 512", EQUAL, GRAPH),
}


COSTS_ONLY = ("batch", "random_dag")  # in the model these need not compute


def seconds(build, program, arguments, policy, seed, extra):
    environment = {k: v for k, v in os.environ.items() if not k.startswith("WEFT_")}
    environment |= {"WEFT_POLICY": policy} | extra
    command = [str(build / "examples" / program), *arguments.split(), "--seed", str(seed), "--json"]
    if "WEFT_ENGINE" in extra and program in COSTS_ONLY:
        command.append("--costs-only")
    elif program == "batch":
        command.append("--no-check")  # it takes longer than the rest
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"orders.py: {' '.join(command)} under {policy} failed:\n{done.stderr}")
    return json.loads(done.stdout)["seconds"]


def ratios(a, b):
    """The mean of the logarithms of a/b over the rounds, and its standard error."""
    logs = [math.log(x / y) for x, y in zip(a, b, strict=True)]
    return statistics.mean(logs), statistics.stdev(logs) / math.sqrt(len(logs))


def orders_of(name, policies, real, model, tie):
    """How threads and model order each two policies of a pair."""
    found = []
    for a, b in itertools.combinations(policies, 2):
        threads, error = ratios(real[name, a], real[name, b])
        modelled, of_model = ratios(model[name, a], model[name, b])
        unsure = 2 * math.hypot(error, of_model)
        right = threads * modelled > 0 or abs(threads - modelled) <= max(math.log1p(tie), unsure)
        apart = min(abs(threads), abs(modelled)) > math.log1p(tie)
        found.append({"pair": name, "policies": [a, b], "real": math.exp(threads), "model": math.exp(modelled),
                      "unsure": math.expm1(unsure), "right": right, "reversed": not right and apart})
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=ROOT / "build/release", help="build folder")
    parser.add_argument("--machine", default="this", help="machine of the model, whose cores get the speeds (default: this one)")
    parser.add_argument("--rounds", type=int, default=6, help="real runs of each pair and policy (default: 6)")
    parser.add_argument("--only", default="*", metavar="NAMES", help="names of pairs; * stands for anything (default: all)")
    parser.add_argument("--speeds", help="speeds of the workers, for all pairs (default: those of each pair)")
    parser.add_argument("--policies", help="policies, with ; between them, for all pairs (default: those of each pair)")
    parser.add_argument("--real", type=Path, metavar="FILE", help="what an earlier --json has printed: its times on threads count")
    parser.add_argument("--tie", type=float, default=0.05, help="differences that are none (default: 0.05)")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--list", action="store_true", help="print the pairs, and run nothing")
    options = parser.parse_args()
    names = [n for n in PAIRS if any(fnmatch.fnmatchcase(n, p) for p in options.only.split(","))]
    if not names:
        parser.error(f"no pair is called {options.only}; there are {', '.join(PAIRS)}")
    earlier = {}
    if options.real:
        printed = json.loads(options.real.read_text())
        earlier = {(row["pair"], row["policy"]): row["real_seconds"] for row in printed["rows"]}
        names = [n for n in names if any(pair == n for pair, _ in earlier)]
        options.rounds = printed["rounds"]
    if options.rounds < 2:
        parser.error("--rounds: two or more")
    if options.list:
        for name in names:
            program, arguments, speeds, policies = PAIRS[name]
            print(f"{name:<14}{options.speeds or speeds:<30}{program} {arguments}; {' '.join(policies)}")
        return 0
    for name in names:
        if not (options.build / "examples" / PAIRS[name][0]).is_file():
            parser.error(f"{PAIRS[name][0]} is not built in {options.build}; cmake --build --preset release")

    def policies_of(name):
        return tuple(options.policies.split(";")) if options.policies else PAIRS[name][3]

    runs = [(name, policy) for name in names for policy in policies_of(name)]
    speeds_of = {name: options.speeds or PAIRS[name][2] for name in names}
    def time_of(run, r, extra):
        program, arguments = PAIRS[run[0]][:2]
        return seconds(options.build, program, arguments, run[1], r + 1, {"WEFT_SPEEDS": speeds_of[run[0]]} | extra)

    def say(text):
        if sys.stderr.isatty():
            print(f"\r{text:<40}", end="", file=sys.stderr, flush=True)

    real, model = earlier or {run: [] for run in runs}, {}
    for r in range(0 if earlier else options.rounds):
        for i, run in enumerate(runs):
            say(f"round {r + 1} of {options.rounds}: {i + 1} of {len(runs)}")
            real[run].append(time_of(run, r, {}))
    on_model = {"WEFT_ENGINE": "model", "WEFT_MACHINE": options.machine}
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:  # virtual times do not depend on the load
        for i, run in enumerate(runs):
            say(f"in the model: {i + 1} of {len(runs)}")
            model[run] = list(pool.map(lambda r, run=run: time_of(run, r, on_model), range(options.rounds)))
    if sys.stderr.isatty():
        print("\r" + " " * 40 + "\r", end="", file=sys.stderr)
    orders = [o for name in names for o in orders_of(name, policies_of(name), real, model, options.tie)]
    same = [name for name in names if all(o["right"] for o in orders if o["pair"] == name)]
    well = len(same) >= 0.9 * len(names)
    if options.json:
        rows = [{"pair": name, "speeds": speeds_of[name], "policy": policy, "real_seconds": real[name, policy],
                 "model_seconds": model[name, policy]} for name, policy in runs]
        print(json.dumps({"machine": options.machine, "rounds": options.rounds, "tie": options.tie, "pairs": len(names),
                          "same_order": same, "orders_right": sum(o["right"] for o in orders), "orders": orders, "rows": rows}))
        return 0 if well else 1
    print(f"{'pair':<14}{'policy':<22}{'real s':>9}{'/ first':>9}{'model s':>10}{'/ first':>9}")
    for name, policy in runs:
        threads, modelled, first = real[name, policy], model[name, policy], policies_of(name)[0]
        print(f"{name:<14}{policy:<22}{statistics.median(threads):>9.4f}{math.exp(ratios(threads, real[name, first])[0]):>9.3f}"
              f"{statistics.median(modelled):>10.4f}{math.exp(ratios(modelled, model[name, first])[0]):>9.3f}")
    for order in orders:
        if not order["right"]:
            a, b = order["policies"]
            print(f"{order['pair']}: {a} takes {order['real']:.3f} of the time of {b}, in the model {order['model']:.3f} "
                  f"(unsure by {order['unsure']:.1%})")
    print(f"same order in {len(same)} of {len(names)} pairs; {sum(o['right'] for o in orders)} of {len(orders)} orders of two "
          f"policies right, {sum(o['reversed'] for o in orders)} reversed")
    return 0 if well else 1


if __name__ == "__main__":
    sys.exit(main())
