"""The machines and policies that the library knows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from . import _core
from .errors import LibraryError


@dataclass(frozen=True)
class Knob:
    """A setting of a policy, as written behind the colon in `WEFT_POLICY`."""

    key: str
    default: str
    """The value if none is given; empty if one must be given."""
    allowed: str
    help: str


@dataclass(frozen=True)
class PolicyInfo:
    """A policy."""

    name: str
    summary: str
    source: str
    """Paper or book, with section."""
    wants: str
    """What the program should declare for it; empty: nothing."""
    helps: str
    """The machines and programs for which it is meant."""
    knobs: tuple[Knob, ...]


@dataclass(frozen=True)
class MachineInfo:
    """A machine that a name stands for."""

    name: str
    """As for `WEFT_MACHINE`."""
    path: str
    """Its file; empty for this machine."""
    description: str
    cores: int
    sockets: int
    """Packages."""
    nodes: int
    """Memory nodes."""
    figures: dict[str, int]
    """How many of the figures that a model charges come from each source: "file", "calibrated" (measured on this
    machine), "typical", "none" (such a cost is not charged)."""
    calibrated_on: str | None
    """The day of the calibration, as 2026-01-31. None if no figure is calibrated."""
    error: str
    """Why the file cannot be read; empty if it can. The counts are 0 then."""


def policies(module: str = "") -> list[PolicyInfo]:
    """The built-in policies, in the order in which the library lists them; or those of a module, a shared object
    (docs/adding-a-policy.md). Raises `LibraryError` if the module cannot be loaded."""
    return [
        PolicyInfo(p["name"], p["summary"], p["source"], p["wants"], p["helps"], tuple(Knob(**k) for k in p["knobs"]))
        for p in _core.policies(module)
    ]


def check_policy(spec: str) -> None:
    """Raises `LibraryError` if the library refuses the policy or one of its knobs. `spec`: as for `WEFT_POLICY`."""
    _core.check_policy(spec)


def machine(spec: str = "", *, measure: bool = False) -> dict[str, Any]:
    """A machine as the library reads it.

    `spec` is as for `WEFT_MACHINE`: the name of a machine file, a path to a .toml file or to an .xml file of hwloc, an
    hwloc synthetic string, or "this" or empty for the machine that this process runs on. In the result, ranges of ranks
    are half-open pairs, sizes are in bytes, times in nanoseconds, bandwidths in GB/s; `text` is a description for
    people; `figures` lists what a model charges, each with its source. `measure`: this machine is measured first, and
    what was measured is kept for later models of it. Raises `LibraryError` if the machine cannot be read.
    """
    return _core.machine(spec, measure)


def machines() -> list[MachineInfo]:
    """This machine, then those that have a file that a name finds, by name."""
    return [_info("this", "")] + [_info(name, path) for name, path in _core.machine_files()]


def machine_toml(spec: str = "") -> str:
    """The machine of a model as a machine file, with all figures that it charges. `spec`: as for `machine`. This
    machine is measured if it never was. Raises `LibraryError` if the machine cannot be read or written."""
    return _core.machine_toml(spec)


def machine_path(spec: str) -> str:
    """The path of the file that a name stands for; what is no name is returned as it is. Raises `LibraryError` for an
    unknown name."""
    return _core.machine_path(spec)


def _info(name: str, path: str) -> MachineInfo:
    try:
        m = _core.machine(path, False)
    except LibraryError as failure:
        return MachineInfo(name, path, "", 0, 0, 0, {}, None, str(failure))
    sources = [f["source"] for f in m["figures"]]
    return MachineInfo(
        name=name,
        path=path,
        description=m["description"],
        cores=m["cores"],
        sockets=len(m["packages"]),
        nodes=len(m["memory_nodes"]),
        figures={s: sources.count(s) for s in ("file", "calibrated", "typical", "none") if s in sources},
        calibrated_on=m["calibrated_on"],
        error="",
    )
