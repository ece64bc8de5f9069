#!/usr/bin/env python3
"""The overheads of OpenMP's constructs on Weft and on other libraries, in one interleaved run.

    overheads.py --weft BUILD/openmp [--threads N] [--rounds N] [--seconds S]

Compiles overheads.c with gcc, and with clang-19 if there is libomp. In each round every library runs once, one after the other; the
figure is the median over the rounds, in nanoseconds, and the ratio is Weft's over the smaller of the others. Below 1 Weft is faster.
"""

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

SOURCE = Path(__file__).resolve().parent / "overheads.c"


def run(program: Path, threads: int, seconds: float, environment: dict[str, str]) -> dict[str, float]:
    done = subprocess.run([str(program), str(threads), str(seconds)], env={**os.environ, **environment}, check=True,
                          capture_output=True, text=True, timeout=600)
    return {line.split()[0]: float(line.split()[1]) for line in done.stdout.splitlines()}


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--weft", type=Path, required=True)
    options.add_argument("--threads", type=int, default=os.cpu_count())
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--seconds", type=float, default=0.05, help="of a measurement")
    given = options.parse_args()
    with tempfile.TemporaryDirectory(prefix="weft-openmp-") as folder:
        gcc = Path(folder, "gcc")
        subprocess.run(["gcc", "-O2", "-fopenmp", str(SOURCE), "-o", str(gcc)], check=True)
        libraries: dict[str, tuple[Path, dict[str, str]]] = {
            "weft": (gcc, {"LD_LIBRARY_PATH": str(given.weft.resolve()), "WEFT_WORKERS": str(given.threads)}),
            "libgomp": (gcc, {}),
        }
        clang = Path(folder, "clang")
        if shutil.which("clang-19") and subprocess.run(
                ["clang-19", "-O2", "-fopenmp", str(SOURCE), "-o", str(clang)], capture_output=True).returncode == 0:
            libraries["libomp"] = (clang, {})
        figures: dict[str, dict[str, list[float]]] = {name: {} for name in libraries}
        for _ in range(given.rounds):
            for name, (program, environment) in libraries.items():
                for construct, ns in run(program, given.threads, given.seconds, environment).items():
                    figures[name].setdefault(construct, []).append(ns)
    print(f"{given.threads} threads, {given.rounds} rounds, nanoseconds")
    print(f"{'':20}" + "".join(f"{name:>12}" for name in libraries) + f"{'ratio':>10}")
    for construct, weft in figures["weft"].items():
        medians = {name: statistics.median(figures[name][construct]) for name in libraries}
        best = min(value for name, value in medians.items() if name != "weft")
        print(f"{construct:20}" + "".join(f"{medians[name]:12.1f}" for name in libraries) +
              f"{statistics.median(weft) / best:10.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
