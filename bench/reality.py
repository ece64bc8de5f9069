#!/usr/bin/env python3
"""The model of this machine against this machine: the same programs under the same policies, as real threads and modelled.

    PYTHONPATH=build/dev/python build/venv/bin/python bench/reality.py     # after: cmake --build --preset release
    bench/reality.py --machine machines/epyc-zen4-2.toml --only "heat2d,sor" --rounds 15 --json

The model's machine is this one, measured anew before each round, as `weft machines this --measure` does it; the best of each figure
counts. On a shared machine the caches and the memory that a program gets are not the same on another day. `--machine` takes a
file instead.

Every round runs each program under each policy with all workers, and under `serial`, one after the other. The best times
count: what others take of a shared machine only adds to a time. The model is deterministic.

The programs declare what an element costs on the core and with the compiler of examples/common/cost.hpp. This machine and
this build may differ from them, which is no error of the model. So each program first runs, serially, a problem whose data
stay in a core's own caches, and the model's work takes so many times as long in this program as the problem took longer than
in the model (the column "work"). No other problem, policy or number of workers has a part in that. `--declared` leaves it out.

The table shows how far the modelled time is from the real one. The order of two policies is right if both say that the same
one is faster, or if neither finds a difference of more than 3 %. A real difference that is no larger than the one between
the best times of two halves of the rounds (unsure) shows nothing, so that any order is right.

Exit status: 0 the median error is at most 8 %, nine tenths are below 20 %, and nine tenths of the orders are right; 1 not so.
"""

import argparse
import fnmatch
import itertools
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# Of a tenth of a second or so, so that a round is short and no run is all start-up.
PROGRAMS = {
    "heat2d": "--rows 1024 --cols 1024 --sweeps 100",
    "sor": "--rows 1024 --cols 1024 --sweeps 30",
    "stencil": "--points 25 --x 512 --y 32 --z 32 --sweeps 20",
    "gaussian": "--n 1024",
    "matmul": "--n 1024",
    "merge_sort": "--n 4000000",
    "quicksort": "--n 4000000",
    "fft": "--log-n 20",
    "nqueens": "--n 12",
    "mandelbrot": "--side 1024",
}
# The same programs with data that a core's own caches hold, a thousandth of a second or more.
SMALL = {
    "heat2d": "--rows 16 --cols 1024 --sweeps 1000",
    "sor": "--rows 16 --cols 1024 --sweeps 300",
    "stencil": "--points 25 --x 16 --y 16 --z 32 --sweeps 100",
    "gaussian": "--n 256",
    "matmul": "--n 128",
    "merge_sort": "--n 20000",
    "quicksort": "--n 20000",
    "fft": "--log-n 13",
    "nqueens": "--n 11",
    "mandelbrot": "--side 128",
}
SMALL_RUNS = 5  # in each round: they are short
POLICIES = ("steal", "share", "steal-parent-first")
MEDIAN, WIDE, ORDERS = 0.08, 0.20, 0.9
TIE = 0.03


def seconds(build, name, arguments, policy, workers, extra):
    environment = {k: v for k, v in os.environ.items() if not k.startswith("WEFT_")}
    environment |= {"WEFT_POLICY": policy, "WEFT_WORKERS": str(workers)} | extra
    command = [str(build / "examples" / name), *arguments.split(), "--json"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"reality.py: {' '.join(command)} failed:\n{done.stderr}")
    return json.loads(done.stdout)["seconds"]


def machine_file(cache, *options):
    """The text of a machine file of this machine, with what was measured and is kept in the folder `cache`."""
    done = subprocess.run([sys.executable, "-m", "weft", "machines", "this", "--toml", *options],
                          env=os.environ | {"XDG_CACHE_HOME": cache}, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"reality.py: this machine cannot be measured, and --machine is not given:\n{done.stderr}")
    return done.stdout


def measured():
    """What was measured of this machine: a file of figures, of which nothing else keeps anything."""
    with tempfile.TemporaryDirectory() as cache:
        machine_file(cache, "--measure")
        return next(Path(cache).glob("weft/*.toml")).read_text()


def best_of(measurements):
    """The machine file with the best of each measured figure: the shortest time, the most of anything else but `overlap`."""
    figures = {}
    for text in measurements:
        for name, value in re.findall(r'(?m)^"([\w.]+)" = (\S+)$', text):
            figures.setdefault(name, []).append(value)
    # A core that hides more of its computing is no quieter one.
    best = {name: statistics.median_low(sorted(values, key=float)) if name == "model.overlap"
            else (min if name.endswith("_ns") else max)(values, key=float) for name, values in figures.items()}
    text = re.sub(r'(?m)^"([\w.]+)" = \S+$', lambda m: f'"{m[1]}" = {best.pop(m[1])}', measurements[0])
    text += "".join(f'"{name}" = {value}\n' for name, value in best.items())
    with tempfile.TemporaryDirectory() as cache:
        machine_file(cache, "--measure")  # for the name of the file
        next(Path(cache).glob("weft/*.toml")).write_text(text)
        return machine_file(cache)


def with_work(text, factor):
    """The machine file on which all work takes `factor` times as long."""
    for key in ("work_per_cycle", "vector_work_per_cycle"):
        text = re.sub(rf"(?m)^({key} = )([0-9.]+)", lambda m: f"{m[1]}{float(m[2]) / factor:.6g}", text)
    if not re.search(r"(?m)^work_per_cycle = ", text):
        if not re.search(r"(?m)^\[model\]$", text):
            text += "\n[model]\n"
        text = re.sub(r"(?m)^\[model\]$", f"[model]\nwork_per_cycle = {1 / factor:.6g}", text)
    return text


def faster(a, b, least):
    """-1, 0 or 1: which of two times is shorter by more than `least`."""
    return 0 if abs(a / b - 1) <= least else -1 if a < b else 1


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=ROOT / "build/release", help="build folder")
    parser.add_argument("--machine", type=Path, help="a description of this machine (default: measured now)")
    parser.add_argument("--rounds", type=int, default=10, help="real runs of each pair (default: 10)")
    parser.add_argument("--workers", type=int, default=2, help="workers of the parallel runs (default: 2)")
    parser.add_argument("--only", default="*", help="names of programs; * stands for anything (default: all)")
    parser.add_argument("--declared", action="store_true", help="take the costs that the programs declare as they are")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args()
    names = [n for n in PROGRAMS if any(fnmatch.fnmatchcase(n, p) for p in options.only.split(","))]
    if not names:
        parser.error(f"no program is called {options.only}; there are {', '.join(PROGRAMS)}")
    if options.rounds < 2:
        parser.error("--rounds: two or more")
    for name in names:
        if not (options.build / "examples" / name).is_file():
            parser.error(f"{name} is not built in {options.build}; cmake --build --preset release")

    pairs = [(name, policy) for name in names for policy in ("serial", *POLICIES)]

    def workers(policy):
        return 1 if policy == "serial" else options.workers

    real = {pair: [] for pair in pairs}
    small = {name: [] for name in names}
    measurements = []
    for r in range(options.rounds):
        if options.machine is None:
            measurements.append(measured())
        for name in names * SMALL_RUNS:
            small[name].append(seconds(options.build, name, SMALL[name], "serial", 1, {}))
        for i, (name, policy) in enumerate(pairs):
            if sys.stderr.isatty():
                print(f"\rround {r + 1} of {options.rounds}: {i + 1} of {len(pairs)}  ", end="", file=sys.stderr, flush=True)
            real[name, policy].append(seconds(options.build, name, PROGRAMS[name], policy, workers(policy), {}))
    if sys.stderr.isatty():
        print("\r" + " " * 40 + "\r", end="", file=sys.stderr)
    machine = best_of(measurements) if options.machine is None else options.machine.read_text()
    factors = dict.fromkeys(names, 1.0)
    modelled = {}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "machine.toml")
        model = {"WEFT_ENGINE": "model", "WEFT_MACHINE": str(file), "WEFT_SEED": "1"}
        for name in names:
            if not options.declared:
                file.write_text(machine)
                factors[name] = min(small[name]) / seconds(options.build, name, SMALL[name], "serial", 1, model)
            file.write_text(with_work(machine, factors[name]))
            for policy in ("serial", *POLICIES):
                modelled[name, policy] = seconds(options.build, name, PROGRAMS[name], policy, workers(policy), model)

    rows = []
    for name, policy in pairs:
        times = real[name, policy]
        half = len(times) // 2
        # How far the best of one half of the rounds is from that of the other.
        unsure = abs(min(times[:half]) / min(times[half:]) - 1)
        rows.append({"program": name, "policy": policy, "work": factors[name], "real_seconds": min(times), "unsure": unsure,
                     "model_seconds": modelled[name, policy], "off": modelled[name, policy] / min(times) - 1})
    of = {(row["program"], row["policy"]): row for row in rows}
    orders = []
    for name in names:
        for a, b in itertools.combinations(POLICIES, 2):
            one, other = of[name, a], of[name, b]
            least = max(TIE, one["unsure"], other["unsure"])
            found = faster(one["real_seconds"], other["real_seconds"], least)
            foreseen = faster(one["model_seconds"], other["model_seconds"], TIE)
            orders.append({"program": name, "policies": [a, b], "real": found, "model": foreseen,
                           "right": found == foreseen or (found == 0 and least > TIE)})
    offs = sorted(abs(row["off"]) for row in rows if row["policy"] != "serial")
    median = statistics.median(offs)
    near = sum(off < WIDE for off in offs) / len(offs)
    right = sum(order["right"] for order in orders)
    well = median <= MEDIAN and near >= 0.9 and right >= ORDERS * len(orders)
    if options.json:
        print(json.dumps({"machine": machine, "rounds": options.rounds, "median_error": median,
                          "below_20_percent": near, "orders_right": right, "orders": orders, "rows": rows}))
        return 0 if well else 1
    print(f"{'program':<12}{'policy':<20}{'work':>6}{'real s':>10}{'unsure':>9}{'model s':>10}{'off':>9}")
    for row in rows:
        print(f"{row['program']:<12}{row['policy']:<20}{row['work']:>6.2f}{row['real_seconds']:>10.4f}{row['unsure']:>9.1%}"
              f"{row['model_seconds']:>10.4f}{row['off']:>+9.1%}")
    for order in orders:
        if not order["right"]:
            said = {-1: "faster than", 0: "as fast as", 1: "slower than"}
            a, b = order["policies"]
            print(f"{order['program']}: {a} is {said[order['real']]} {b}, in the model {said[order['model']]} it")
    print(f"median error {median:.1%}, {near:.0%} of {len(offs)} below {WIDE:.0%}, "
          f"order of policies right in {right} of {len(orders)}")
    return 0 if well else 1


if __name__ == "__main__":
    sys.exit(main())
