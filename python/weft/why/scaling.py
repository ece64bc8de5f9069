"""How a program would scale: its recorded tasks on models of more cores."""

from __future__ import annotations

import time
from collections.abc import Iterator

from ..errors import Error
from ..simulation import Program, simulate
from ..trace import Trace

CORES = (1, 2, 4, 8, 16, 32, 64, 128, 256)
LONGEST = 2.0
"""If the simulation of a size takes longer, in seconds, no larger one is simulated."""


def scaling(trace: Trace, outside: float, policy: str) -> tuple[tuple[int, float], ...]:
    """Numbers of cores, each with the speed-up over one core. `outside`: seconds outside of runs, which stay.

    The cores share one cache, memory is no limit, and the runtime costs what it costs in models. Empty if the trace
    cannot be run again.
    """
    try:
        seconds = dict(_simulated(Program(trace), policy))
    except Error:
        return ()
    alone = outside + seconds[1]
    return tuple((cores, alone / (outside + s)) for cores, s in seconds.items() if cores > 1)


def _simulated(program: Program, policy: str) -> Iterator[tuple[int, float]]:
    for cores in CORES:
        began = time.monotonic()
        yield cores, simulate(program, machine=f"pack:1 l3:1 core:{cores} pu:1", policy=policy, workers=cores).seconds
        if time.monotonic() - began > LONGEST:
            return
