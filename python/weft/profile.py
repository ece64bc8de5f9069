"""Work and span of a program by construct: the file that WEFT_PROFILE names. docs/profile.md describes it."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from . import library
from .errors import Error, compose
from .files import read_text
from .launcher import LaunchError, launch
from .trace.places import CodeAddress, Place, resolve

CORES = (2, 4, 8, 16, 32, 64, 128, 256)
_OF_THE_RUNTIME, _OF_OTHERS, _OUTSIDE = 0, 254, 255
_SPAN_COEFFICIENT = 1.7
"""How much the burdened span counts in the estimate: that of Cilkview."""


@dataclass(frozen=True)
class Construct:
    """What the tasks of one construct of the source came to. Times are in nanoseconds."""

    name: str
    """The name that the program gave, or the place, as `heat.cpp:41`."""
    place: Place | None
    tasks: int
    own: int
    """In the code of these tasks themselves."""
    longest: int
    """The longest piece: without a fork, a spawn or a wait."""
    work: int
    """Of those that have no task of the same construct around them: with all tasks inside."""
    span: int
    """Of the same tasks, the sum of their spans."""
    on_path: int
    """The part of the program's longest path that lies in these tasks."""
    pieces: int
    """Of that part."""
    longest_on_path: int


@dataclass(frozen=True)
class Profile:
    """The work and the span of a program, as one worker has run it. Times are in nanoseconds."""

    path: Path
    command: tuple[str, ...]
    complete: bool
    """False: a run had not ended."""
    tasks: int
    work: int
    """With the time outside of runs."""
    span: int
    outside: int
    estimated: int
    """The part of `work` in short forks, which was measured as a whole and divided as in those that were followed."""
    burdened: tuple[tuple[int, int], ...]
    """Burdens, ascending from 0, each with the span under it."""
    constructs: tuple[Construct, ...]
    """In the order of their parts of the longest path, then of their own times."""
    notes: tuple[str, ...]
    """Which modules have no names, and why."""

    @property
    def parallelism(self) -> float:
        """The work over the span: no number of cores makes the program faster than that."""
        return self.work / self.span if self.span else 1.0

    def span_under(self, burden: float) -> float:
        """The span under a burden in nanoseconds, by straight lines between those that were measured."""
        points = self.burdened
        upper = next((i for i, (b, _) in enumerate(points) if b >= burden), len(points) - 1)
        if upper == 0:
            return points[0][1]
        (b0, s0), (b1, s1) = points[upper - 1], points[upper]
        return min(s0 + (burden - b0) * (s1 - s0) / (b1 - b0), self.work)

    def speedup(self, cores: int, burden: float) -> tuple[float, float]:
        """At least, as an estimate, and at most: how much faster than on one core. `burden`: in nanoseconds."""
        if not self.work:
            return 1.0, 1.0
        most = self.work / max(self.work / cores, self.span)
        least = self.work / (self.work / cores + _SPAN_COEFFICIENT * self.span_under(burden))
        return min(max(least, 1.0), most), most


def read_profile(path: Path) -> Profile:
    """Reads a file that WEFT_PROFILE named. Raises `Error` if it is none."""
    try:
        return _profile(path, json.loads(read_text(path)))
    except (ValueError, KeyError, TypeError) as failure:
        raise Error(compose("no profile", path, "a file that WEFT_PROFILE named")) from failure


def profile_program(command: Sequence[str], **settings: Any) -> Profile:
    """Runs a program once with one worker and returns its profile: that of its runtime with the most work.

    `settings`: as for `launch`. Raises `LaunchError` if the program fails, or sets its number of workers itself, and
    `Error` if it runs nothing in parallel.
    """
    with tempfile.TemporaryDirectory(prefix="weft-profile-") as folder:
        environment = {
            **settings.pop("environment", {}),
            "WEFT_PROFILE": str(Path(folder, "profile.%p.json")),
            "WEFT_TRACE": None,
        }
        run = launch(command, workers=1, environment=environment, **settings)
        if run.interrupted:
            raise LaunchError("interrupted")
        run.check()
        found = [p for p in map(read_profile, sorted(Path(folder).iterdir())) if p.tasks > 0]
    if not found:
        raise Error(compose("nothing ran in parallel", command[0], "a program that runs something in parallel"))
    return max(found, key=lambda p: p.work)


def burden_of(machine: Mapping[str, Any]) -> float:
    """Nanoseconds that it takes to bring a task to a worker that sleeps, and its result back, on a machine as
    `library.machine` gives it: the longest steal, the wake-up, the start and the wait."""
    figures: dict[str, float] = {f["figure"]: f["value"] or 0.0 for f in machine["figures"]}
    steals = [ns for name, ns in figures.items() if name.startswith("steal.")]
    steal = max(steals, default=figures.get("charges.look_away_ns", 0.0))
    return steal + sum(figures.get(f"charges.{of}_ns", 0.0) for of in ("wake", "woken", "start", "suspend"))


def machine_of(spec: str) -> tuple[str, int, float]:
    """Name, cores and burden of a machine; `spec` as for WEFT_MACHINE, empty: this one."""
    m = library.machine(spec)
    return m["name"], m["cores"], burden_of(m)


def _profile(path: Path, found: dict[str, Any]) -> Profile:
    codes = {int(n): CodeAddress(p["module"], p["build_id"], p["offset"]) for n, p in found["places"].items()}
    places, notes = resolve(codes, found["began"])
    shares = {s["construct"]: s for s in found["path"]}
    numbers = sorted({int(n) for n in found["constructs"]} | set(shares))
    constructs = [
        _construct(n, found["constructs"].get(str(n), {}), shares.get(n, {}), found["names"].get(str(n)), places.get(n))
        for n in numbers
    ]
    return Profile(
        path=Path(path),
        command=tuple(found["command"]),
        complete=found["complete"],
        tasks=found["tasks"],
        work=found["work_ns"],
        span=found["span_ns"],
        outside=found["outside_ns"],
        estimated=found.get("estimated", {"ns": 0})["ns"],
        burdened=((0, found["span_ns"]), *((b["burden_ns"], b["span_ns"]) for b in found["burdened"])),
        constructs=tuple(sorted(_merged(constructs), key=lambda c: (-c.on_path, -c.own, c.name))),
        notes=tuple(notes),
    )


def _construct(
    number: int, of: Mapping[str, int], share: Mapping[str, int], name: str | None, place: Place | None
) -> Construct:
    special = {_OF_THE_RUNTIME: "(runtime)", _OF_OTHERS: "(further constructs)", _OUTSIDE: "(outside of runs)"}
    return Construct(
        name=special.get(number) or name or (place.name if place else f"construct {number}"),
        place=place,
        tasks=of.get("tasks", 0),
        own=of.get("own_ns", share.get("ns", 0)),
        longest=of.get("longest_ns", share.get("longest_ns", 0)),
        work=of.get("work_ns", share.get("ns", 0)),
        span=of.get("span_ns", share.get("ns", 0)),
        on_path=share.get("ns", 0),
        pieces=share.get("pieces", 0),
        longest_on_path=share.get("longest_ns", 0),
    )


def _merged(constructs: Sequence[Construct]) -> list[Construct]:
    """One for each name: the functions of a construct in a template, or of a loop and of the run that it makes. Some of
    these may lie in others, so work and span are those of the one with the most work."""
    by_name: dict[str, Construct] = {}
    for c in constructs:
        b = by_name.get(c.name)
        by_name[c.name] = c if b is None else _together(b, c)
    return list(by_name.values())


def _together(a: Construct, b: Construct) -> Construct:
    larger = a if a.work >= b.work else b
    return replace(
        larger,
        tasks=a.tasks + b.tasks,
        own=a.own + b.own,
        longest=max(a.longest, b.longest),
        on_path=a.on_path + b.on_path,
        pieces=a.pieces + b.pieces,
        longest_on_path=max(a.longest_on_path, b.longest_on_path),
    )
