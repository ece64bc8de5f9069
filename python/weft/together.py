"""Recorded programs beside each other on one modelled machine."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

from . import _core
from .errors import Error, compose
from .simulation import Program


@dataclass(frozen=True)
class Beside:
    """One of the programs of `simulate_together`."""

    seconds: tuple[float, ...]
    """Virtual, of each run that ended while all programs ran."""
    rate: float
    """Loads, lines of 64 bytes that its tasks touched, in a second."""
    domain: int
    """The last-level cache where it was at the end; -1: all of them."""


@dataclass(frozen=True)
class Together:
    """The result of `simulate_together`."""

    programs: tuple[Beside, ...]
    moves: int
    """Of programs from one last-level cache to another one."""


def simulate_together(
    programs: Sequence[Program],
    *,
    machine: str | os.PathLike[str] = "",
    policies: Sequence[str] = (),
    scheduler: str = "os",
    repeats: int = 1,
    workers: int | None = None,
    seed: int | None = None,
    period: float = 0.1,
    counter_period: float = 0.227,
    rate_weight: int = 500,
    idle_below: int = 500,
    rates: Sequence[float] = (),
    domains: Sequence[int] = (),
    lends: bool = False,
    hysteresis: float = 0.010,
    stack_bytes: int = 1 << 20,
) -> Together:
    """Runs recorded programs at the same time on one modelled machine; all begin at time 0.

    Each runs again and again until every one has run `repeats` times. `machine`, `workers` and `seed` are as for
    `simulate`; `policies`: of each program, default `steal`. `scheduler`: `os`, `callisto`, `lira-static`,
    `lira-adaptive`, `best-static`, `worst-static`, as for `weft cosched`. `period`, `counter_period`: in seconds, in
    which lira-adaptive decides, and in which it counts loads and leaves a placement. `rates`: of each program, measured
    before, which lira-static needs; without them they are counted. `domains`: the last-level cache of each program,
    where it stays. `lends`: programs have workers of low priority on the cores of the others, which run while the
    core's own worker is asleep; `hysteresis`, in seconds: for so long before, and it is ready for so long before it has
    its core again. Raises `LibraryError` if the library refuses an argument, and `Error` for a damaged trace whose
    tasks wait for each other. The same arguments give the same result, bit for bit.
    """
    if policies and len(policies) != len(programs):
        raise Error(compose("policies of another number of programs", len(policies), f"{len(programs)}, or none"))
    pairs = [(p._core, policy) for p, policy in zip(programs, policies or ["steal"] * len(programs), strict=True)]
    try:
        d = _core.simulate_together(
            pairs,
            machine=os.fspath(machine),
            workers=workers,
            seed=seed,
            stack_bytes=stack_bytes,
            scheduler=scheduler,
            repeats=repeats,
            period=period,
            counter_period=counter_period,
            rate_weight=rate_weight,
            idle_below=idle_below,
            rates=list(rates),
            domains=list(domains),
            lends=lends,
            hysteresis=hysteresis,
        )
    except _core.EndlessWait as waiting:
        raise Error(str(waiting)) from None
    each = zip(d["seconds"], d["rates"], d["domains"], strict=True)
    return Together(tuple(Beside(tuple(s), r, at) for s, r, at in each), d["moves"])
