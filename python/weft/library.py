"""What the library knows of machines and policies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from . import _core


@dataclass(frozen=True)
class Knob:
    """A setting of a policy, as it stands behind the colon of `WEFT_POLICY`."""

    key: str
    standard: str
    """The value where none is given; empty: one must be given."""
    allowed: str
    help: str


@dataclass(frozen=True)
class PolicyInfo:
    """A built-in policy."""

    name: str
    summary: str
    source: str
    """Paper or book, with section."""
    wants: str
    """What the program should tell it; empty: nothing."""
    helps: str
    """On which machines and programs it is meant to."""
    knobs: tuple[Knob, ...]


def policies() -> list[PolicyInfo]:
    """The built-in policies, in the order in which the library lists them."""
    return [
        PolicyInfo(p["name"], p["summary"], p["source"], p["wants"], p["helps"], tuple(Knob(**k) for k in p["knobs"]))
        for p in _core.policies()
    ]


def machine(spec: str = "") -> dict[str, Any]:
    """A machine as the library reads it.

    `spec` is what `WEFT_MACHINE` takes: a .toml file, an .xml file of hwloc, an hwloc synthetic string; empty: the
    machine that this process runs on. Ranges of ranks are half-open pairs, sizes are in bytes, times in nanoseconds,
    bandwidths in GB/s; `text` is the description for people. Raises `LibraryError` where that cannot be done.
    """
    return _core.machine(spec)
