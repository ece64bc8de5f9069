"""A paper's claims: the file claims.toml. papers/README.md describes it."""

from __future__ import annotations

import math
import shlex
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NoReturn

from ..errors import Error, compose
from .metrics import METRICS

FILE = "claims.toml"

Measure = Literal["change", "ratio", "speedup"]
MEASURES = ("change", "ratio", "speedup")
Sign = Literal["less", "more", "same"]
SIGNS = ("less", "more", "same")
COMBINE = ("mean", "strongest")


@dataclass(frozen=True)
class Setup:
    """One side of a claim: a program in one setting."""

    program: str
    arguments: tuple[str, ...]
    policy: str
    machine: Path
    workers: int | None
    """None: all that the machine has."""
    environment: tuple[tuple[str, str], ...]
    run: int
    """Which of the program's runs is measured, as an index; -1: the last one."""


@dataclass(frozen=True)
class Figure:
    """The paper's result: an interval in which a figure lies (both ends alike: a number), or a sign alone."""

    low: float
    high: float
    sign: Sign | None = None
    text: str = ""
    """The paper's words, if there is only a sign."""

    @property
    def is_bound(self) -> bool:
        """Whether it is a bound: at most, or at least."""
        return self.sign is None and (math.isinf(self.low) or math.isinf(self.high))


@dataclass(frozen=True)
class Claim:
    id: str
    source: str
    """The place in the paper."""
    what: str
    figure: Figure
    measure: Measure
    """`change`: candidate against baseline in percent; `ratio`: candidate over baseline; `speedup`: the inverse."""
    metric: str
    """Of METRICS."""
    band: float
    """A figure agrees if it differs by at most this factor."""
    same: float
    """Two figures within so many percent of each other count as equal."""
    candidate: Setup | None
    """None, as is `baseline`, if the claim combines other claims."""
    baseline: Setup | None
    of: tuple[str, ...]
    """The claims whose figures are combined."""
    combine: str
    """`mean`, or `strongest`: the figure that is farthest from no change."""
    seeds: int
    scaled: str
    """The reason why the size is not the paper's."""
    explanation: str
    """The reason why the result is not as in the paper."""


@dataclass(frozen=True)
class Paper:
    name: str
    """The name of its folder."""
    title: str
    folder: Path
    claims: tuple[Claim, ...]

    def only(self, ids: set[str]) -> tuple[Claim, ...]:
        """These claims, and those that they combine."""
        wanted = ids | {part for c in self.claims if c.id in ids for part in c.of}
        return tuple(c for c in self.claims if c.id in wanted)


_SETUP: Mapping[str, type] = {
    "program": str,
    "arguments": str,
    "policy": str,
    "machine": str,
    "workers": int,
    "environment": dict,
    "run": int,
}
_CLAIM: Mapping[str, type | tuple[type, ...]] = {
    "id": str,
    "source": str,
    "what": str,
    "paper": (int, float, list, dict, str),
    "says": str,
    "measure": str,
    "metric": str,
    "band": (int, float),
    "same": (int, float),
    "seeds": int,
    "scaled": str,
    "explanation": str,
    "baseline": (str, dict),
    "candidate": (str, dict),
    "of": list,
    "combine": str,
    **{key: kind for key, kind in _SETUP.items() if key != "policy"},
}
_DEFAULTS = frozenset(_CLAIM) - {"id", "what", "paper", "says", "of", "combine", "explanation"}


def read_paper(folder: Path) -> Paper:
    """Reads a paper's folder. Raises `Error` for a file that breaks the rules, OSError if there is no file."""
    path = folder / FILE
    try:
        fields = tomllib.loads(path.read_text(encoding="utf-8"))
    except ValueError as failure:
        raise Error(f"{path}: {failure}") from None
    return _Reader(path).paper(fields)


class _Reader:
    def __init__(self, path: Path) -> None:
        self.path = path
        self.root = path.resolve().parent.parent.parent
        """The parent of the folder of papers, where machines/ lies."""
        self.where = ""

    def paper(self, fields: dict[str, Any]) -> Paper:
        self._only_known(fields, {"title": str, "defaults": dict, "claim": list})
        title = self._needed(fields, "title")
        defaults = fields.get("defaults", {})
        self.where = "defaults"
        self._only_known(defaults, {k: v for k, v in _CLAIM.items() if k in _DEFAULTS})
        claims: list[Claim] = []
        for number, given in enumerate(fields.get("claim", []), 1):
            self.where = f"claim {number}"
            if not isinstance(given, dict):
                self._fail("no table", given, "[[claim]]")
            self._only_known(given, _CLAIM)
            name = str(self._needed(given, "id"))
            self.where = f"claim {name}"
            if name in (c.id for c in claims):
                self._fail("a second claim of this name", name, "one of each")
            claims.append(self._claim(name, given, defaults, {c.id: c for c in claims}))
        folder = self.path.resolve().parent
        return Paper(folder.name, str(title), folder, tuple(claims))

    def _claim(self, name: str, given: dict[str, Any], defaults: dict[str, Any], before: dict[str, Claim]) -> Claim:
        of = tuple(str(part) for part in given.get("of", ()))
        for part in of:
            if part not in before or before[part].of:
                self._fail("of: no claim with a setting of its own, further up", part, ", ".join(before))
        # A combination has the measure and the metric of its parts.
        base = before[of[0]] if of else None
        all_ = defaults | given

        def one_of(key: str, allowed: tuple[str, ...], default: str) -> Any:
            value = all_.get(key, default)
            if value not in allowed:
                self._fail(f"unknown {key}", value, ", ".join(allowed))
            return value

        def positive(key: str, default: float, least: float) -> float:
            value = all_.get(key, default)
            if not value >= least:
                self._fail(f"{key} is too small", value, f"{least} or more")
            return float(value)

        measure: Measure = base.measure if base else one_of("measure", MEASURES, "change")
        return Claim(
            id=name,
            source=str(all_.get("source", "")),
            what=str(self._needed(given, "what")),
            figure=self._figure(self._needed(given, "paper"), str(given.get("says", "")), measure),
            measure=measure,
            metric=base.metric if base else one_of("metric", tuple(METRICS), "time"),
            band=positive("band", 1.5, 1),
            same=positive("same", 3, 0),
            candidate=None if of else self._setup("candidate", given, defaults),
            baseline=None if of else self._setup("baseline", given, defaults),
            of=of,
            combine=one_of("combine", COMBINE, "mean"),
            seeds=int(positive("seeds", 1, 1)),
            scaled=str(all_.get("scaled", "")),
            explanation=str(given.get("explanation", "")),
        )

    def _figure(self, given: Any, says: str, measure: Measure) -> Figure:
        if isinstance(given, (int, float)):
            return self._in_range(Figure(float(given), float(given)), measure, given)
        if isinstance(given, list) and len(given) == 2 and all(isinstance(x, (int, float)) for x in given):
            return self._in_range(Figure(float(min(given)), float(max(given))), measure, given)
        if isinstance(given, dict) and len(given) == 1:
            (key, value), *_ = given.items()
            if key == "at_most" and isinstance(value, (int, float)):
                return self._in_range(Figure(-math.inf, float(value)), measure, given)
            if key == "at_least" and isinstance(value, (int, float)):
                return self._in_range(Figure(float(value), math.inf), measure, given)
        if isinstance(given, str) and given in SIGNS:
            sign: Sign = given  # type: ignore[assignment]
            return Figure(-math.inf, math.inf, sign, says or given)
        self._fail("paper", given, f"a number, [low, high], {{at_most = x}}, {{at_least = x}}, {', '.join(SIGNS)}")

    def _in_range(self, figure: Figure, measure: Measure, given: Any) -> Figure:
        least = -100.0 if measure == "change" else 0.0
        for end in (figure.low, figure.high):
            if math.isfinite(end) and end <= least:
                self._fail("paper", given, f"more than {least:g} for a {measure}")
        return figure

    def _setup(self, side: str, given: dict[str, Any], defaults: dict[str, Any]) -> Setup:
        # From the most general to the most special; a side may be a policy alone.
        layers: list[dict[str, Any]] = [{k: v for k, v in defaults.items() if k in _SETUP}]
        in_claim = {k: v for k, v in given.items() if k in _SETUP}
        for layer in (defaults.get(side), in_claim, given.get(side)):
            if layer is None:
                continue
            table = {"policy": layer} if isinstance(layer, str) else layer
            self._only_known(table, _SETUP)
            layers.append(table)
        f: dict[str, Any] = {}
        for layer in layers:
            f |= layer | ({"environment": {**f.get("environment", {}), **layer.get("environment", {})}})
        for key in ("program", "policy", "machine"):
            if key not in f:
                self._fail(f"{side} lacks {key}", "nothing", f"{key} in the claim, in {side} or in [defaults]")
        if (workers := f.get("workers")) is not None and workers < 1:
            self._fail(f"workers of {side}", workers, "1 or more")
        return Setup(
            program=f["program"],
            arguments=tuple(word.replace("{root}", str(self.root)) for word in shlex.split(f.get("arguments", ""))),
            policy=f["policy"],
            machine=self._machine(f["machine"]),
            workers=workers,
            environment=tuple(sorted((str(k), str(v)) for k, v in f["environment"].items())),
            run=f.get("run", -1),
        )

    def _machine(self, name: str) -> Path:
        tried = [self.path.resolve().parent / name, self.root / "machines" / f"{name}.toml"]
        for path in tried:
            if path.is_file():
                return path
        self._fail("there is no such machine", name, f"a file beside {FILE}, or a name of {tried[1].parent}")

    def _only_known(self, given: dict[str, Any], known: Mapping[str, type | tuple[type, ...]]) -> None:
        for key, value in given.items():
            if key not in known:
                self._fail("unknown key", key, ", ".join(known))
            kinds = known[key]
            if not isinstance(value, kinds) or isinstance(value, bool):
                names = kinds if isinstance(kinds, tuple) else (kinds,)
                self._fail(f"{key} is of the wrong type", value, " or ".join(kind.__name__ for kind in names))

    def _needed(self, given: dict[str, Any], key: str) -> Any:
        if key not in given:
            self._fail("a key is missing", "nothing", key)
        return given[key]

    def _fail(self, what: str, given: object, allowed: str) -> NoReturn:
        where = f", {self.where}" if self.where else ""
        raise Error(f"{self.path}{where}: {compose(what, given, allowed)}")
