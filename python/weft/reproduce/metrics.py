"""The metrics of a run: figures of a report of the model (docs/modelled-machines.md), or of its output."""

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

OUTPUT = "output:"
"""Before the name of a figure that the program prints itself: a number, or a list of numbers, of its last JSON line."""


def is_metric(name: str) -> bool:
    return name in METRICS or (name.startswith(OUTPUT) and len(name) > len(OUTPUT))


def figures_of(metric: str, run: Fields) -> tuple[float, ...]:
    """One figure of a report; of a program's output maybe several. Raises ValueError if there is none."""
    if not metric.startswith(OUTPUT):
        return (METRICS[metric](run),)
    name = metric.removeprefix(OUTPUT)
    output = run.get("output")
    found = output.get(name) if isinstance(output, dict) else None
    figures = tuple(found) if isinstance(found, list) else (found,)
    if not figures or not all(isinstance(x, (int, float)) and not isinstance(x, bool) for x in figures):
        names = ", ".join(output) if isinstance(output, dict) else "no JSON object in its last line: --json"
        raise ValueError(f"the program prints no number {name}; it prints {names}")
    return tuple(float(x) for x in figures)
