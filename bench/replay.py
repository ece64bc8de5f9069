#!/usr/bin/env python3
"""Runs recorded on two real workers, and again in the model of this machine: how far off is the model?

    build/venv/bin/python bench/replay.py                    # after: cmake --build --preset release
    build/venv/bin/python bench/replay.py --build build/dev --rounds 15 --json

Every round records each program once and runs the trace again; the table shows the median of the rounds' ratios, modelled
over recorded time of the same run, and their quartiles. The exit status is 0 if every median is within 10 % of 1.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PROGRAMS = {
    "heat2d": ["--rows", "1024", "--cols", "1024", "--sweeps", "100"],
    "matmul": ["--n", "1024"],
    "merge_sort": ["--n", "4000000"],
    "kd_tree": ["--n", "200000"],
    "sparse_lu": ["--blocks", "20", "--side", "64"],
    "wavefront": ["--n", "4000"],
}
ALLOWED = 0.10


def record(build, name, workers, policy, trace):
    environment = {k: v for k, v in os.environ.items() if not k.startswith("WEFT_")}
    environment |= {"WEFT_WORKERS": str(workers), "WEFT_POLICY": policy, "WEFT_TRACE": str(trace)}
    command = [str(build / "examples" / name), *PROGRAMS[name]]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"replay.py: {' '.join(command)} failed:\n{done.stderr}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=ROOT / "build/release", help="build folder")
    parser.add_argument("--machine", default=str(ROOT / "machines/epyc-zen4-2.toml"), help="description of this machine")
    parser.add_argument("--policy", default="steal")
    parser.add_argument("--rounds", type=int, default=9, help="of each program (default: 9)")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args()
    for name in PROGRAMS:
        if not (options.build / "examples" / name).is_file():
            parser.error(f"{name} is not built in {options.build}; cmake --build --preset release")
    sys.path.insert(0, str(next((b / "python" for b in (options.build, ROOT / "build/dev") if (b / "python/weft").is_dir()), "")))
    import weft

    ratios, seconds = {name: [] for name in PROGRAMS}, {name: [] for name in PROGRAMS}
    with tempfile.TemporaryDirectory() as folder:
        for r in range(options.rounds):
            for name in PROGRAMS:
                if sys.stderr.isatty():
                    print(f"\rround {r + 1} of {options.rounds}, {name:<12}", end="", file=sys.stderr, flush=True)
                trace = Path(folder, "run.weft")
                record(options.build, name, 2, options.policy, trace)
                again = weft.simulate(trace, machine=options.machine, policy=options.policy, workers=2)
                # Of several runs the last one: the first ones make a program's data, and get its memory.
                run = again.runs[-1]
                ratios[name].append(run.seconds / run.recorded_seconds)
                seconds[name].append(run.recorded_seconds)
    if sys.stderr.isatty():
        print("\r" + " " * 40 + "\r", end="", file=sys.stderr)

    rows, right = [], True
    for name in PROGRAMS:
        low, middle, high = statistics.quantiles(ratios[name], n=4) if options.rounds > 1 else ratios[name] * 3
        right = right and abs(middle - 1) <= ALLOWED
        rows.append({"program": name, "recorded_seconds": statistics.median(seconds[name]), "ratio": middle, "quartiles": [low, high]})
    if options.json:
        print(json.dumps({"machine": options.machine, "policy": options.policy, "rounds": options.rounds,
                          "within_10_percent": right, "rows": rows}))
    else:
        print(f"{'program':<12}{'recorded':>12}{'modelled / recorded':>22}{'quartiles':>16}")
        for r in rows:
            print(f"{r['program']:<12}{r['recorded_seconds']:>10.4f} s{r['ratio']:>22.3f}"
                  f"{r['quartiles'][0]:>10.3f}..{r['quartiles'][1]:.3f}")
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
