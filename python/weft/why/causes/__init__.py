"""The causes of lost time: a table of functions from evidence to findings. They run nothing and know no clock."""

from __future__ import annotations

from collections.abc import Callable

from ..evidence import Evidence
from ..finding import Finding
from .blocked import blocking, lock
from .idleness import long_piece, no_parallelism, short_regions, short_runs, uneven, uneven_threads, weft_wait
from .outside import serial, waiting_outside
from .placement import numa_placement
from .processor import inflated, page_faults, runtime
from .settings import one_worker, other_programs, other_threads, oversubscription, policy

__all__ = ["CAUSES", "Cause"]

Cause = Callable[[Evidence], list[Finding]]

CAUSES: tuple[Cause, ...] = (
    serial,
    waiting_outside,
    lock,
    blocking,
    policy,  # before what it explains, which may have the same gain
    weft_wait,
    long_piece,
    no_parallelism,
    short_runs,
    short_regions,
    uneven,
    uneven_threads,
    runtime,
    page_faults,
    numa_placement,
    inflated,
    oversubscription,
    one_worker,
    other_threads,
    other_programs,
)
"""Every cause that is known."""
