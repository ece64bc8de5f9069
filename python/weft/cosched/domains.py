"""The domains of this machine: cores that share a last-level cache."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..errors import Error, compose

_CPUS = Path("/sys/devices/system/cpu")
_MOST_CPU = 1 << 20
KINDS = ("caches", "cores")


@dataclass(frozen=True)
class Domains:
    """Disjoint sets of processors (numbers of the operating system), each in ascending order."""

    sets: tuple[tuple[int, ...], ...]
    by: str
    """Where they come from: `caches`, `cores`, or `given`."""

    @property
    def counts(self) -> list[int]:
        """The number of processors of each domain, as the decision takes it."""
        return [len(domain) for domain in self.sets]

    @property
    def flat(self) -> tuple[int, ...]:
        """The processor of each core of the decision, which numbers cores from domain 0 on."""
        return tuple(cpu for domain in self.sets for cpu in domain)

    def __str__(self) -> str:
        return " / ".join(cpu_list(domain) for domain in self.sets)


def find_domains(spec: str = "caches", *, allowed: Iterable[int] | None = None, cpus: Path = _CPUS) -> Domains:
    """The domains among the processors `allowed` (default: those of this process).

    `caches`: one for each last-level cache. `cores`: one for each core, with the hardware threads of a core together.
    Else a list, such as `0-7/8-15`. Raises `Error` for any other text, and for processors that may not be used.
    """
    usable = sorted(os.sched_getaffinity(0) if allowed is None else allowed)
    if spec == "caches":
        return Domains(_grouped(usable, lambda cpu: _last_cache(cpus, cpu)), spec)
    if spec == "cores":
        return Domains(_grouped(usable, lambda cpu: _read(cpus / f"cpu{cpu}/topology/thread_siblings_list")), spec)
    sets = tuple(tuple(sorted(cpus_of(part))) for part in spec.split("/"))
    flat = [cpu for domain in sets for cpu in domain]
    if not flat or not all(sets) or len(set(flat)) < len(flat):
        raise Error(compose("no domains", repr(spec), "caches, cores, or disjoint lists such as 0-7/8-15"))
    if not set(flat) <= set(usable):
        raise Error(compose("these processors may not be used", cpu_list(set(flat) - set(usable)), cpu_list(usable)))
    return Domains(sets, "given")


def _grouped(usable: Sequence[int], name: object) -> tuple[tuple[int, ...], ...]:
    groups: dict[str, list[int]] = {}
    for cpu in usable:
        # A machine that says nothing about a processor's cache: all of these are one domain.
        groups.setdefault(name(cpu), []).append(cpu)  # type: ignore[operator]
    return tuple(sorted(tuple(group) for group in groups.values()))


def _last_cache(cpus: Path, cpu: int) -> str:
    best, shared = 0, ""
    for index in sorted((cpus / f"cpu{cpu}/cache").glob("index*")):
        level = _read(index / "level")
        if _read(index / "type") != "Instruction" and level.isdecimal() and int(level) > best:
            best, shared = int(level), _read(index / "shared_cpu_list")
    return shared


def _read(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""


def cpus_of(text: str) -> set[int]:
    """The processors of a list such as `0-3,8`. Raises `Error`."""
    found: set[int] = set()
    for part in text.strip().split(","):
        first, dash, last = part.strip().partition("-")
        last = last if dash else first
        if not (first.isdecimal() and last.isdecimal() and int(first) <= int(last) < _MOST_CPU):
            raise Error(compose("no list of processors", repr(text), "numbers and ranges, such as 0-3,8"))
        found.update(range(int(first), int(last) + 1))
    return found


def cpu_list(cpus: Iterable[int]) -> str:
    """Processors as the kernel writes them: `0-3,8`."""
    runs: list[list[int]] = []
    for cpu in sorted(set(cpus)):
        if runs and runs[-1][1] == cpu - 1:
            runs[-1][1] = cpu
        else:
            runs.append([cpu, cpu])
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in runs)
