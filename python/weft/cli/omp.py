"""`weft omp`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from ..openmp import library_for
from . import programs

OpenMPProgram = Annotated[
    list[str],
    typer.Argument(
        metavar="-- PROGRAM [ARGS]",
        help="A program that was compiled with -fopenmp, by gcc or clang.",
        show_default=False,
    ),
]


def omp(
    program: OpenMPProgram,
    policy: programs.Policy = None,
    workers: programs.Workers = None,
    preempt: Annotated[
        str | None,
        typer.Option(
            "--preempt",
            metavar="off|yield|klt[:KEY=VALUE,...]",
            help="Whether threads are preempted (docs/preemption.md).",
        ),
    ] = None,
    report: Annotated[
        bool, typer.Option("--report/--no-report", help="Show what the workers did, when the program has ended.")
    ] = True,
    trace: programs.TraceFile = None,
    progress: programs.ShowProgress = None,
    as_json: programs.AsJson = False,
) -> int:
    """Run an unmodified OpenMP program on Weft's workers.

    Weft's library takes the place of the compiler's in the program. OMP_NUM_THREADS and the other settings of OpenMP
    apply; without it a parallel region has as many threads as there are workers. The exit status is 1 if the program
    fails, or has not used OpenMP.

    Example: weft omp --policy near --workers 4 -- ./solver input.dat

    Example: weft omp --preempt klt -- ./nested
    """
    library = library_for(program)
    before = os.environ.get("LD_PRELOAD", "")
    environment: dict[str, str | None] = {
        "LD_PRELOAD": f"{library}:{before}" if before else str(library),
        "WEFT_OPENMP": None,  # no setting of the runtime, which refuses names that it does not know
    }
    if preempt:
        environment["WEFT_PREEMPT"] = preempt
    settings = {"policy": policy, "workers": workers, "environment": environment}
    return programs.run_with(program, settings, Path(trace) if trace else None, progress, as_json, shows=report)
