"""Programs that lend cores to each other (docs/share.md): the cores that each has of its own, and the status."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from .. import _core
from ..errors import Error, compose
from .domains import cpu_list, cpus_of

VARIABLE = "WEFT_LEND"


def divide(cores: Sequence[int], programs: int) -> list[list[int]]:
    """Equal shares of neighbours: they differ by one core at most, and the first programs have more. Raises `Error` for
    more programs than cores."""
    if not 1 <= programs <= len(cores):
        raise Error(
            compose(
                "each program needs a core of its own", f"{programs} programs", f"1..{len(cores)} on {len(cores)} cores"
            )
        )
    size, larger = divmod(len(cores), programs)
    shares, at = [], 0
    for i in range(programs):
        end = at + size + (i < larger)
        shares.append(list(cores[at:end]))
        at = end
    return shares


def own_cores(spec: str | None, programs: int) -> list[list[int]]:
    """The cores of each program. spec: a list for each, as `0-5/6-7`, or one to divide; None: those of this process.

    Lists may have cores in common: these are borrowed while no program works there. Raises `Error`.
    """
    usable = sorted(os.sched_getaffinity(0))
    if spec is None:
        return divide(usable, programs)
    lists = [sorted(cpus_of(part)) for part in spec.split("/")]
    if wrong := {cpu for one in lists for cpu in one} - set(usable):
        raise Error(compose("these processors may not be used", cpu_list(wrong), cpu_list(usable)))
    if len(lists) == 1:
        return divide(lists[0], programs)
    if len(lists) != programs:
        raise Error(compose("there is no list of cores for each program", spec, f"one list, or {programs} of them"))
    return lists


def value(directory: str | None, reach: str | None, tick: str | None) -> str:
    """What WEFT_LEND is. The library refuses what is wrong."""
    options = [
        f"{key}={text}"
        for key, text in (("directory", directory and os.path.abspath(directory)), ("reach", reach), ("tick", tick))
        if text
    ]
    return "on" + (":" + ",".join(options) if options else "")


def status(directory: str | None) -> dict[str, Any]:
    """What each program has and borrows, for machines. Raises `LibraryError` for a directory of others."""
    where = os.path.abspath(directory or _core.lending_directory())
    programs = _core.read_lending(where) if os.path.isdir(where) else []
    return {"version": 1, "directory": where, "programs": sorted(programs, key=lambda p: (p["start"], p["pid"]))}
