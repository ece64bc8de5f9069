#!/usr/bin/env python3
"""The order of policies on unequal cores: on real threads whose speeds are emulated, and in the model with the same speeds.

    bench/speeds/orders.py                                   # after: cmake --build --preset release
    bench/speeds/orders.py --only "batch-*" --rounds 5
    bench/speeds/orders.py --speeds 1,1,0.5,0.5,0.25,0.25 --json

A pair is a program and the speeds of its workers (WEFT_SPEEDS). Every round runs each pair under each of its policies on real
threads, one after the other, with a seed of its own. The model runs the program with the same speeds and seeds, on --machine.
The medians of both count: with few tasks a policy that draws at random has good and bad seeds, and one seed in the model
against the best of several on threads would compare luck. The speeds of a pair that is marked with * are the same for all
workers: there the policies are to be equal.

The order of two policies is right if threads and model say that the same one is faster, or if neither finds a difference of
more than --tie. A real difference that is no larger than the one between the medians of two halves of the rounds (unsure)
shows nothing, so that any order is right. A pair has the same order if all of its policies are in the right order.

Exit status: 0 at least nine tenths of the pairs have the same order; 1 not so.
"""

import argparse
import fnmatch
import itertools
import json
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
# name: program, arguments, speeds, policies. Of some tenths of a second to two seconds each, with tasks of milliseconds: an
# emulated core stops for a part of each millisecond. Few batches would measure whether a policy's first, ignorant ones had luck.
PAIRS = {
    "batch-bwt": ("batch", "--kind bwt --tasks 48 --batches 20 --cycles 1e8", HALF, BATCH),
    "batch-lzw": ("batch", "--kind lzw --tasks 48 --batches 20 --cycles 1e8", HALF, BATCH),
    "batch-dmc": ("batch", "--kind dmc --tasks 48 --batches 20 --cycles 1e8", QUARTER, BATCH),
    "batch-ga": ("batch", "--kind ga --tasks 48 --alpha 4 --batches 20 --cycles 5e7", HALF, BATCH),
    "batch-ga-1+5": ("batch", "--kind ga --tasks 48 --alpha 8 --batches 20 --cycles 5e7", QUARTER, BATCH),
    "batch-md5": ("batch", "--kind md5 --tasks 48 --batches 20 --cycles 1e8", QUARTER, BATCH),
    "batch-sha1": ("batch", "--kind sha1 --tasks 48 --batches 20 --cycles 1e8", HALF, BATCH),
    "dag-narrow": ("random_dag", "--nodes 150 --parallelism 1.62 --width 1 --plain --copy-words 100000", HALF, GRAPH),
    "dag-middle": ("random_dag", "--nodes 150 --parallelism 3.03 --width 1 --plain --copy-words 100000", HALF, GRAPH),
    "dag-wide": ("random_dag", "--nodes 200 --parallelism 8.06 --width 1 --plain --copy-words 100000", QUARTER, GRAPH),
    "cholesky": ("tiled_cholesky", "--n 4096 --tile 512", HALF, GRAPH),
    "sparse_lu": ("sparse_lu", "", QUARTER, GRAPH),
    "dedup": ("dedup", "--mbytes 32", HALF, PIPELINE),
    "image_search": ("image_search", "--scenes 40 --queries 20 --width 512 --height 512", HALF, PIPELINE),
    "batch-lzw*": ("batch", "--kind lzw --tasks 48 --batches 20 --cycles 1e8", EQUAL, BATCH),
    "cholesky*": ("tiled_cholesky", "--n 4096 --tile 512", EQUAL, GRAPH),
}


def seconds(build, program, arguments, policy, seed, extra):
    environment = {k: v for k, v in os.environ.items() if not k.startswith("WEFT_")}
    environment |= {"WEFT_POLICY": policy, "WEFT_SEED": str(seed)} | extra
    command = [str(build / "examples" / program), *arguments.split(), "--json"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"orders.py: {' '.join(command)} under {policy} failed:\n{done.stderr}")
    return json.loads(done.stdout)["seconds"]


def faster(a, b, least):
    """-1, 0 or 1: which of two times is shorter by more than `least`."""
    return 0 if abs(a / b - 1) <= least else -1 if a < b else 1


def orders_of(name, policies, row, tie):
    """How threads and model order each two policies of a pair."""
    found = []
    for a, b in itertools.combinations(policies, 2):
        one, other = row[name, a], row[name, b]
        least = max(tie, one["unsure"], other["unsure"])
        real = faster(one["real_seconds"], other["real_seconds"], least)
        model = faster(one["model_seconds"], other["model_seconds"], tie)
        right = real == model or (real == 0 and least > tie)
        found.append({"pair": name, "policies": [a, b], "real": real, "model": model, "right": right,
                      "reversed": real * model < 0})
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=ROOT / "build/release", help="build folder")
    parser.add_argument("--machine", default="this", help="machine of the model, whose cores get the speeds (default: this one)")
    parser.add_argument("--rounds", type=int, default=6, help="real runs of each pair and policy (default: 6)")
    parser.add_argument("--only", default="*", metavar="NAMES", help="names of pairs; * stands for anything (default: all)")
    parser.add_argument("--speeds", help="speeds of the workers, for all pairs (default: those of each pair)")
    parser.add_argument("--policies", help="policies, with ; between them, for all pairs (default: those of each pair)")
    parser.add_argument("--tie", type=float, default=0.05, help="differences that are none (default: 0.05)")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--list", action="store_true", help="print the pairs, and run nothing")
    options = parser.parse_args()
    names = [n for n in PAIRS if any(fnmatch.fnmatchcase(n, p) for p in options.only.split(","))]
    if not names:
        parser.error(f"no pair is called {options.only}; there are {', '.join(PAIRS)}")
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
    real = {run: [] for run in runs}
    for r in range(options.rounds):
        for i, (name, policy) in enumerate(runs):
            if sys.stderr.isatty():
                print(f"\rround {r + 1} of {options.rounds}: {i + 1} of {len(runs)}  ", end="", file=sys.stderr, flush=True)
            program, arguments = PAIRS[name][:2]
            real[name, policy].append(seconds(options.build, program, arguments, policy, r + 1, {"WEFT_SPEEDS": speeds_of[name]}))
    if sys.stderr.isatty():
        print("\r" + " " * 40 + "\r", end="", file=sys.stderr)
    row = {}
    for name, policy in runs:
        program, arguments = PAIRS[name][:2]
        extra = {"WEFT_ENGINE": "model", "WEFT_MACHINE": options.machine, "WEFT_SPEEDS": speeds_of[name]}
        modelled = [seconds(options.build, program, arguments, policy, r + 1, extra) for r in range(options.rounds)]
        times = real[name, policy]
        half = len(times) // 2
        # How far the median of one half of the rounds is from that of the other.
        unsure = abs(statistics.median(times[:half]) / statistics.median(times[half:]) - 1)
        row[name, policy] = {"pair": name, "speeds": speeds_of[name], "policy": policy, "real_seconds": statistics.median(times),
                             "unsure": unsure, "model_seconds": statistics.median(modelled)}
    orders = [order for name in names for order in orders_of(name, policies_of(name), row, options.tie)]
    same = [name for name in names if all(o["right"] for o in orders if o["pair"] == name)]
    well = len(same) >= 0.9 * len(names)
    if options.json:
        print(json.dumps({"machine": options.machine, "rounds": options.rounds, "tie": options.tie, "pairs": len(names),
                          "same_order": same, "orders_right": sum(o["right"] for o in orders), "orders": orders,
                          "rows": list(row.values())}))
        return 0 if well else 1
    print(f"{'pair':<14}{'policy':<22}{'real s':>9}{'/ first':>9}{'unsure':>8}{'model s':>10}{'/ first':>9}")
    for name in names:
        first = row[name, policies_of(name)[0]]
        for policy in policies_of(name):
            of = row[name, policy]
            print(f"{name:<14}{policy:<22}{of['real_seconds']:>9.4f}{of['real_seconds'] / first['real_seconds']:>9.3f}"
                  f"{of['unsure']:>8.1%}{of['model_seconds']:>10.4f}{of['model_seconds'] / first['model_seconds']:>9.3f}")
    said = {-1: "faster than", 0: "as fast as", 1: "slower than"}
    for order in orders:
        if not order["right"]:
            a, b = order["policies"]
            print(f"{order['pair']}: {a} is {said[order['real']]} {b}, in the model {said[order['model']]} it")
    print(f"same order in {len(same)} of {len(names)} pairs; {sum(o['right'] for o in orders)} of {len(orders)} orders of two "
          f"policies right, {sum(o['reversed'] for o in orders)} reversed")
    return 0 if well else 1


if __name__ == "__main__":
    sys.exit(main())
