"""Absolute figures of a modelled machine against figures that are published: machines/checks/NAME.toml.

No policy under judgement has a part in them: they are bandwidths and latencies of memory, times of one worker, and
misses under random stealing. machines/README.md describes the file.
"""

from __future__ import annotations

import math
import os
import shlex
import tomllib
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .errors import Error, compose
from .modelled_run import Setup, run_modelled
from .reproduce.metrics import METRICS

FOLDER = "checks"
"""Beside the machine file."""

BAND = 1.25
"""A figure agrees if it differs by at most this factor."""

Fields = Mapping[str, Any]


def _lines_missed(run: Fields) -> float:
    last = max((c["level"] for c in run["caches"]), default=0)
    return float(sum(c["misses"] for c in run["caches"] if c["level"] == last))


def _from_memory(run: Fields) -> float:
    return float(sum(n["local_bytes"] + n["remote_bytes"] for n in run["memory_nodes"]))


_OWN: Mapping[str, Callable[[Fields], float]] = {
    # GB/s between memory and cores.
    "memory_gbps": lambda run: _from_memory(run) * 1e-9 / run["seconds"],
    # Of a run of one worker that waits for one line after another.
    "ns_a_miss": lambda run: run["seconds"] * 1e9 / _lines_missed(run),
    # Percent of the bytes from memory that cores get from their own node.
    "local_percent": lambda run: 100 * sum(n["local_bytes"] for n in run["memory_nodes"]) / _from_memory(run),
    # The bytes from the node of which its own cores get the fewest, in percent of an even share of all bytes.
    "least_local_percent": lambda run: (
        100 * min(n["local_bytes"] for n in run["memory_nodes"]) * len(run["memory_nodes"]) / _from_memory(run)
    ),
}
CHECK_METRICS: Mapping[str, Callable[[Fields], float]] = {**METRICS, **_OWN}


@dataclass(frozen=True)
class Check:
    """One figure."""

    id: str
    what: str
    source: str
    """The publication, with the place in it."""
    figure: float
    metric: str
    """Of CHECK_METRICS."""
    program: str
    arguments: tuple[str, ...]
    workers: int | None
    """None: all that the machine has."""
    policy: str
    environment: tuple[tuple[str, str], ...]
    explanation: str
    """The reason, with the experiment that shows it, why ours differs."""
    tried: str
    """What was tried, if no experiment explains why ours differs."""


@dataclass(frozen=True)
class CheckResult:
    """A figure and ours."""

    check: Check
    ours: float | None
    """None if the program did not run."""
    refused: str
    """The reason; empty if it ran."""

    @property
    def agrees(self) -> bool:
        """Whether ours differs by at most the factor BAND."""
        if self.ours is None or not self.ours > 0:
            return False
        return abs(math.log(self.ours / self.check.figure)) <= math.log(BAND) * (1 + 1e-9)

    @property
    def is_well(self) -> bool:
        """Whether it agrees, or a reason is given why not."""
        return self.agrees or (self.ours is not None and bool(self.check.explanation))

    @property
    def verdict(self) -> str:
        if self.ours is None:
            return "did not run"
        if self.agrees:
            return f"within {BAND:g}x"
        return f"{self.ours / self.check.figure:.3g}x, " + ("explained" if self.check.explanation else "not explained")

    @property
    def note(self) -> str:
        """What is to be said of a figure that does not agree; empty if nothing is known."""
        if self.refused:
            return f"did not run: {self.refused}"
        return self.check.explanation or self.check.tried

    def to_json(self) -> dict[str, Any]:
        c = self.check
        return {
            "id": c.id,
            "what": c.what,
            "source": c.source,
            "metric": c.metric,
            "figure": c.figure,
            "ours": self.ours,
            "agrees": self.agrees,
            "verdict": self.verdict,
            "explanation": c.explanation,
            "tried": c.tried,
            "refused": self.refused,
        }


_KEYS: Mapping[str, type | tuple[type, ...]] = {
    "id": str,
    "what": str,
    "source": str,
    "figure": (int, float),
    "metric": str,
    "program": str,
    "arguments": str,
    "workers": int,
    "policy": str,
    "environment": dict,
    "explanation": str,
    "tried": str,
}
_REQUIRED = ("id", "what", "source", "figure", "metric", "program")


def check_file(machine_file: Path) -> Path:
    """The file of the checks of a machine file."""
    return machine_file.parent / FOLDER / machine_file.name


def read_checks(path: Path) -> tuple[Check, ...]:
    """Reads a file of checks. Raises `Error` for a key, a type or a value that is not allowed."""
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise Error(compose("no checks for this machine", str(path), "such a file: machines/README.md")) from None
    except tomllib.TOMLDecodeError as failure:
        raise Error(f"{path}: not TOML: {failure}") from None
    unknown = set(content) - {"check"}
    tables = content.get("check")
    if unknown or not isinstance(tables, list) or not tables:
        raise Error(f"{path}: " + compose("not a list of checks", ", ".join(sorted(content)), "[[check]] alone"))
    checks = tuple(_check(path, t) for t in tables)
    ids = [c.id for c in checks]
    if len(set(ids)) < len(ids):
        raise Error(f"{path}: " + compose("two checks have one id", ", ".join(ids), "an id for each"))
    return checks


def _check(path: Path, table: Any) -> Check:
    where = f"{path}: check '{table.get('id', '?')}': " if isinstance(table, dict) else f"{path}: "
    if not isinstance(table, dict):
        raise Error(where + compose("a check is a table", str(table), "[[check]]"))
    for key, value in table.items():
        if key not in _KEYS:
            raise Error(where + compose("unknown key", key, ", ".join(_KEYS)))
        if not isinstance(value, _KEYS[key]) or isinstance(value, bool):
            raise Error(where + compose(f"wrong type of {key}", str(value), str(_KEYS[key])))
    if missing := [key for key in _REQUIRED if key not in table]:
        raise Error(where + compose("missing keys", ", ".join(missing), "all of " + ", ".join(_REQUIRED)))
    if not (math.isfinite(table["figure"]) and table["figure"] > 0):
        raise Error(where + compose("figure out of range", str(table["figure"]), "a number above 0"))
    if table["metric"] not in CHECK_METRICS:
        raise Error(where + compose("unknown metric", table["metric"], ", ".join(CHECK_METRICS)))
    if "explanation" in table and "tried" in table:
        raise Error(where + compose("explained, and not", "explanation and tried", "one of the two"))
    return Check(
        id=table["id"],
        what=table["what"],
        source=table["source"],
        figure=float(table["figure"]),
        metric=table["metric"],
        program=table["program"],
        arguments=tuple(shlex.split(table.get("arguments", ""))),
        workers=table.get("workers"),
        policy=table.get("policy", "steal"),
        environment=tuple((k, str(v)) for k, v in table.get("environment", {}).items()),
        explanation=table.get("explanation", ""),
        tried=table.get("tried", ""),
    )


def run_checks(
    machine_file: Path, checks: Sequence[Check], examples: Path, *, jobs: int | None = None
) -> list[CheckResult]:
    """Runs the checks on the machine of that file, with the programs of the folder `examples`."""
    with ThreadPoolExecutor(jobs or os.cpu_count() or 1) as pool:
        return list(pool.map(lambda c: _run(machine_file, c, examples), checks))


def _run(machine_file: Path, check: Check, examples: Path) -> CheckResult:
    environment = (("WEFT_SPIN", "forever"), *dict(check.environment).items())
    setup = Setup(check.program, tuple(check.arguments), check.policy, machine_file, check.workers, environment, run=-1)
    run = run_modelled(setup, 1, examples)
    if isinstance(run, str):
        return CheckResult(check, None, run)
    try:
        return CheckResult(check, CHECK_METRICS[check.metric](run), "")
    except ZeroDivisionError:
        return CheckResult(check, None, f"{check.metric} has nothing to divide by")
