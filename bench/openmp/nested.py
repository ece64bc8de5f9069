#!/usr/bin/env python3
"""Nested OpenMP programs on Weft and on other libraries, in one interleaved run.

    nested.py --weft BUILD/openmp [--threads 4] [--rounds N]

Compiles nested.c by gcc, with OpenBLAS built with OpenMP. The same program runs on libgomp, on Weft, and on libomp, which has gcc's entry points, too, if it is
installed. The figure is the median over the rounds, in seconds; the last column is Weft's over the smaller of the others. Below 1 Weft is faster.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

SOURCE = Path(__file__).resolve().parent / "nested.c"
PROGRAMS = ["regions", "uneven", "cholesky"]
BLAS = "/usr/lib/x86_64-linux-gnu/openblas-openmp"
LIBOMP = Path("/usr/lib/llvm-19/lib/libomp.so.5")


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--weft", type=Path, required=True, help="the folder with Weft's libgomp.so.1")
    options.add_argument("--threads", type=int, default=4, help="of the outer and of each inner region")
    options.add_argument("--workers", type=int, default=os.cpu_count())
    options.add_argument("--rounds", type=int, default=7)
    given = options.parse_args()
    if not Path(BLAS).is_dir():
        options.error(f"no OpenBLAS with OpenMP; given: {BLAS}; allowed: the package libopenblas-openmp-dev installed")
    libraries = {"weft": {"LD_LIBRARY_PATH": str(given.weft.resolve()), "WEFT_WORKERS": str(given.workers)}, "libgomp": {}}
    if LIBOMP.exists():
        libraries["libomp"] = {"LD_PRELOAD": str(LIBOMP)}
    print(f"{given.threads} times {given.threads} threads, {given.workers} workers, {given.rounds} rounds, seconds")
    print(f"{'':12}" + "".join(f"{name:>12}" for name in libraries) + f"{'ratio':>10}")
    ratios = []
    with tempfile.TemporaryDirectory(prefix="weft-openmp-") as folder:
        program = Path(folder, "nested")
        subprocess.run(["gcc", "-O2", "-fopenmp", str(SOURCE), "-o", str(program), f"-L{BLAS}", f"-Wl,-rpath,{BLAS}", "-lopenblas", "-lm"],
                       check=True)
        for name in PROGRAMS:
            seconds: dict[str, list[float]] = {library: [] for library in libraries}
            results = set()
            for _ in range(given.rounds):
                for library, settings in libraries.items():
                    done = subprocess.run([str(program), name, str(given.threads)], check=True, capture_output=True, text=True, timeout=300,
                                          env={**os.environ, "OMP_NUM_THREADS": str(given.threads), **settings})
                    time, result = done.stdout.split()
                    seconds[library].append(float(time))
                    results.add(result)
            if len(results) != 1:
                print(f"{name}: the results differ: {', '.join(sorted(results))}", file=sys.stderr)
                return 1
            medians = {library: statistics.median(times) for library, times in seconds.items()}
            ratios.append(medians["weft"] / min(m for library, m in medians.items() if library != "weft"))
            print(f"{name:12}" + "".join(f"{medians[library]:12.4f}" for library in libraries) + f"{ratios[-1]:10.2f}", flush=True)
    print(f"geometric mean of the ratios: {statistics.geometric_mean(ratios):.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
