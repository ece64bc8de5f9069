"""The machines and policies that the library knows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from . import _core


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
    """A built-in policy."""

    name: str
    summary: str
    source: str
    """Paper or book, with section."""
    wants: str
    """What the program should declare for it; empty: nothing."""
    helps: str
    """The machines and programs for which it is meant."""
    knobs: tuple[Knob, ...]


def policies() -> list[PolicyInfo]:
    """The built-in policies, in the order in which the library lists them."""
    return [
        PolicyInfo(p["name"], p["summary"], p["source"], p["wants"], p["helps"], tuple(Knob(**k) for k in p["knobs"]))
        for p in _core.policies()
    ]


def machine(spec: str = "") -> dict[str, Any]:
    """A machine as the library reads it.

    `spec` is as for `WEFT_MACHINE`: a .toml file, an .xml file of hwloc, an hwloc synthetic string, or empty for the
    machine that this process runs on. In the result, ranges of ranks are half-open pairs, sizes are in bytes, times in
    nanoseconds, bandwidths in GB/s; `text` is a description for people. Raises `LibraryError` if the machine cannot be
    read.
    """
    return _core.machine(spec)
