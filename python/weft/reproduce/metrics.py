"""The metrics of a run: figures of a report of the model (docs/modelled-machines.md)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

Fields = Mapping[str, Any]


def _misses(level: int) -> Callable[[Fields], float]:
    def of(run: Fields) -> float:
        return float(sum(c["misses"] for c in run["caches"] if c["level"] == level))

    return of


def _bytes(which: str) -> Callable[[Fields], float]:
    return lambda run: float(sum(node[which] for node in run["memory_nodes"]))


def _parts(*which: str) -> Callable[[Fields], float]:
    return lambda run: float(sum(run["worker_seconds"][part] for part in which))


METRICS: Mapping[str, Callable[[Fields], float]] = {
    "time": lambda run: float(run["seconds"]),
    "l1_misses": _misses(1),
    "l2_misses": _misses(2),
    "l3_misses": _misses(3),
    "local_bytes": _bytes("local_bytes"),
    "remote_bytes": _bytes("remote_bytes"),
    "forwarded_bytes": _bytes("forwarded_bytes"),
    # The figure of the node whose own cores get the least from it.
    "least_local_bytes": lambda run: float(min((n["local_bytes"] for n in run["memory_nodes"]), default=0)),
    "steals": lambda run: float(sum(w["steals"] for w in run["workers"])),
    "idle": _parts("search", "asleep"),
    "busy": _parts("compute", "private_stall", "shared_stall"),
    "overhead": _parts("overhead"),
    "events": lambda run: float(run["events"]),
}
