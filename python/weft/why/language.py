"""What programs of each kind call the constructs that an advice recommends."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Language:
    loop: str
    private: str
    """A part of the data for each worker, added up at the end."""
    beside: str
    """Code that runs beside other code."""
    task: str
    more_workers: str
    """The setting that gives more of them than there are cores."""


WEFT = Language(
    loop="weft::parallel_for, weft::parallel_reduce",
    private="weft::per_worker, weft::parallel_reduce",
    beside="weft::join",
    task="weft::join, weft::task_group",
    more_workers="WEFT_WORKERS",
)

OPENMP = Language(
    loop="omp parallel for",
    private="the clause reduction",
    beside="omp sections, omp task",
    task="omp task",
    more_workers="OMP_NUM_THREADS and WEFT_WORKERS",
)
