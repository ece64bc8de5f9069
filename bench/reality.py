#!/usr/bin/env python3
"""The model of this machine against this machine: what a second worker gains, for three examples.

    bench/reality.py                                         # after: cmake --build --preset release
    bench/reality.py --machine machines/epyc-zen4-2.toml --rounds 15
    bench/reality.py --json

Every round runs each program with one and then with two real workers; the table shows the best times, and those of the
model, which is deterministic. The exit status is 0 if every ratio T1/T2 of the model is within 10 % of the real one.
"""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PROGRAMS = {
    "heat2d": ["--rows", "1024", "--cols", "1024", "--sweeps", "100"],
    "matmul": ["--n", "1024"],
    "merge_sort": ["--n", "4000000"],
}
ALLOWED = 0.10


def seconds(build, name, workers, extra):
    environment = {k: v for k, v in os.environ.items() if not k.startswith("WEFT_")} | extra
    command = [str(build / "examples" / name), *PROGRAMS[name], "--workers", str(workers), "--json"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"reality.py: {' '.join(command)} failed:\n{done.stderr}")
    return json.loads(done.stdout)["seconds"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=ROOT / "build/release", help="build folder")
    parser.add_argument("--machine", default=str(ROOT / "machines/epyc-zen4-2.toml"), help="description of this machine")
    parser.add_argument("--rounds", type=int, default=9, help="real runs of each program (default: 9)")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args()
    for name in PROGRAMS:
        if not (options.build / "examples" / name).is_file():
            parser.error(f"{name} is not built in {options.build}; cmake --build --preset release")

    model = {"WEFT_ENGINE": "model", "WEFT_MACHINE": options.machine}
    real = {name: {1: [], 2: []} for name in PROGRAMS}
    for r in range(options.rounds):
        if sys.stderr.isatty():
            print(f"\rround {r + 1} of {options.rounds}", end="", file=sys.stderr, flush=True)
        for name in PROGRAMS:
            for workers in (1, 2):
                real[name][workers].append(seconds(options.build, name, workers, {}))
    if sys.stderr.isatty():
        print("\r" + " " * 30 + "\r", end="", file=sys.stderr)

    rows, right = [], True
    for name in PROGRAMS:
        # The best of each: what others take of a shared machine only adds to a time.
        measured = {w: min(real[name][w]) for w in (1, 2)}
        modelled = {w: seconds(options.build, name, w, model) for w in (1, 2)}
        gain, foreseen = measured[1] / measured[2], modelled[1] / modelled[2]
        off = foreseen / gain - 1
        right = right and abs(off) <= ALLOWED
        rows.append({"program": name, "real_seconds": [measured[1], measured[2]], "real_gain": gain,
                     "model_seconds": [modelled[1], modelled[2]], "model_gain": foreseen, "off": off})
    if options.json:
        print(json.dumps({"machine": options.machine, "rounds": options.rounds, "within_10_percent": right, "rows": rows}))
    else:
        print(f"{'program':<12}{'real T1':>10}{'T2':>10}{'T1/T2':>8}{'model T1':>12}{'T2':>10}{'T1/T2':>8}{'off':>9}")
        for r in rows:
            print(f"{r['program']:<12}{r['real_seconds'][0]:>10.4f}{r['real_seconds'][1]:>10.4f}{r['real_gain']:>8.2f}"
                  f"{r['model_seconds'][0]:>12.4f}{r['model_seconds'][1]:>10.4f}{r['model_gain']:>8.2f}{r['off']:>+9.1%}")
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
