"""Reads claims.toml. papers/README.md describes it."""

from __future__ import annotations

import math
import shlex
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn

from ..errors import Error, compose
from ..modelled_run import Setup
from .claims import COMBINE, KINDS, MEASURES, OVER, SIGNS, Claim, Figure, Kind, Measure, Paper, Sign
from .metrics import METRICS, OUTPUT, is_metric
from .verdict import value_of

FILE = "claims.toml"

Types = Mapping[str, type | tuple[type, ...]]

_SETUP: Types = {
    "program": str,
    "arguments": str,
    "iterations": int,
    "policy": str,
    "machine": str,
    "workers": int,
    "environment": dict,
    "run": int,
}
_SHARED: Types = {key: kind for key, kind in _SETUP.items() if key != "policy"}
_CASE: Types = {**_SHARED, "what": str, "scaled": str, "quick": bool, "seeds": int}
_CLAIM: Types = {
    **_SHARED,
    "id": str,
    "source": str,
    "what": str,
    "paper": (int, float, list, dict, str),
    "printed": (list, dict),
    "says": str,
    "measure": str,
    "metric": str,
    "over": str,
    "kind": str,
    "band": (int, float),
    "same": (int, float),
    "work": (int, float),
    "seeds": int,
    "quick": bool,
    "scaled": str,
    "explanation": str,
    "baseline": (str, dict, bool),
    "candidate": (str, dict),
    "of": list,
    "combine": str,
    "rests_on": list,
}
_TABLE: Types = {**_CLAIM, "cases": list, "explanation": (str, dict)}
_NOT_SHARED = {"id", "what", "paper", "printed", "says", "of", "combine", "rests_on", "explanation", "kind", "quick"}
_DEFAULTS: Types = {key: kind for key, kind in _CLAIM.items() if key not in _NOT_SHARED}
_BOUNDS = ("at_most", "at_least", "up_to")

SEEDS_OF_A_SIGN = 3
"""Where the paper says only which side is better, or by how little two sides differ, one run shows nothing: so many
seeds, unless the claim says another number."""


def read_paper(folder: Path) -> Paper:
    """Reads a paper's folder. Raises `Error` for a file that breaks the rules, OSError if there is no file."""
    path = folder / FILE
    try:
        fields = tomllib.loads(path.read_text(encoding="utf-8"))
    except ValueError as failure:
        raise Error(f"{path}: {failure}") from None
    return _Reader(path, fields).paper()


class _Reader:
    def __init__(self, path: Path, fields: dict[str, Any]) -> None:
        self.path = path
        self.root = path.resolve().parent.parent.parent
        """The parent of the folder of papers, where machines/ lies."""
        self.where = ""
        self.fields = fields
        self.defaults: dict[str, Any] = {}
        self.claims: dict[str, Claim] = {}

    def paper(self) -> Paper:
        self._only_known(self.fields, {"title": str, "defaults": dict, "cases": dict, "claim": list})
        title = self._needed(self.fields, "title")
        self.defaults = self.fields.get("defaults", {})
        self.where = "defaults"
        self._only_known(self.defaults, _DEFAULTS)
        cases = self.fields.get("cases", {})
        for name, case in cases.items():
            self.where = f"case {name}"
            self._only_known(self._is_table(case, "[cases.NAME]"), _CASE)
            self._needed(case, "what")
        for number, given in enumerate(self.fields.get("claim", []), 1):
            self.where = f"claim {number}"
            self._read(self._is_table(given, "[[claim]]"))
        folder = self.path.resolve().parent
        return Paper(folder.name, str(title), folder, tuple(self.claims.values()))

    def _read(self, given: dict[str, Any]) -> None:
        """One claim, or the same claim about several cases, as in a table of the paper."""
        self._only_known(given, _TABLE)
        self.where = f"claim {self._needed(given, 'id')}"
        all_cases = self.fields.get("cases", {})
        figures = "printed" if "printed" in given else "paper"
        value = self._needed(given, figures)
        by_case = isinstance(value, dict) and not any(key in _BOUNDS for key in value)
        names = [str(name) for name in (value if by_case else given.get("cases", [""]))]
        for name in names:
            if name and name not in all_cases:
                self._fail("neither a case nor a bound", name, ", ".join([*all_cases, *_BOUNDS]))
            claim = {key: item for key, item in given.items() if key != "cases"}
            if by_case:
                claim[figures] = value[name]
            if isinstance(reasons := given.get("explanation"), dict):
                for key in reasons:
                    if key not in names:
                        self._fail("explanation: not a case of this claim", key, ", ".join(names))
                claim["explanation"] = reasons.get(name, "")
            case = all_cases.get(name, {})
            if name:
                claim["id"] = str(claim["id"]).replace("{case}", name)
                claim["what"] = str(self._needed(claim, "what")).replace("{case}", case["what"])
                for key in ("of", "rests_on"):
                    if key in claim:
                        claim[key] = [str(part).replace("{case}", name) for part in claim[key]]
            self.where = f"claim {claim['id']}"
            if claim["id"] in self.claims:
                self._fail("a second claim of this name", claim["id"], "one of each")
            self.claims[claim["id"]] = self._claim(claim, case)

    def _claim(self, given: dict[str, Any], case: dict[str, Any]) -> Claim:
        of = self._further_up("of", given)
        for part in of:
            if self.claims[part].of:
                self._fail("of: a claim without a setting of its own", part, "claims that are run")
        # A combination has the measure and the metric of its parts.
        base = self.claims[of[0]] if of else None
        all_ = self.defaults | {key: item for key, item in case.items() if key != "what"} | given

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

        kind: Kind = one_of("kind", KINDS, "source")
        measure: Measure = base.measure if base else one_of("measure", MEASURES, "change")
        metric = base.metric if base else all_.get("metric", "time")
        if not is_metric(metric):
            self._fail("unknown metric", metric, f"{', '.join(METRICS)}, or {OUTPUT}NAME of the program's output")
        over = one_of("over", OVER, "mean")
        if over == "part_more" and measure == "change":
            self._fail("over: a part is a ratio", measure, 'measure = "ratio" or "speedup"')
        figure = self._figure(given, measure)
        alone = given.get("baseline") is False
        if given.get("baseline") is True or (alone and measure == "change"):
            self._fail(
                "baseline", given["baseline"], "a policy, a table, or false for a metric that is a ratio by itself"
            )
        return Claim(
            id=given["id"],
            source=str(all_.get("source", "")),
            what=str(self._needed(given, "what")),
            figure=figure,
            measure=measure,
            metric=metric,
            over=over,
            kind=kind,
            band=positive("band", 1.5, 1),
            same=positive("same", 3, 0),
            work=positive("work", 1, 1e-9),
            candidate=None if of else self._setup("candidate", given, case),
            baseline=None if of or alone else self._setup("baseline", given, case),
            of=of,
            combine=one_of("combine", COMBINE, "mean"),
            rests_on=self._further_up("rests_on", given),
            seeds=int(positive("seeds", SEEDS_OF_A_SIGN if figure.sign or figure.bound == "at most" else 1, 1)),
            quick=bool(all_.get("quick", False)),
            scaled=str(all_.get("scaled", "")).replace("{iterations}", str(all_.get("iterations", ""))),
            explanation=str(given.get("explanation", "")),
        )

    def _further_up(self, key: str, given: dict[str, Any]) -> tuple[str, ...]:
        parts = tuple(str(part) for part in given.get(key, ()))
        for part in parts:
            if part not in self.claims:
                self._fail(f"{key}: no claim further up", part, ", ".join(self.claims))
        return parts

    def _figure(self, given: dict[str, Any], measure: Measure) -> Figure:
        if "printed" in given:
            return self._printed(given["printed"], measure)
        value, says = given["paper"], str(given.get("says", ""))
        if isinstance(value, (int, float)):
            return self._in_range(Figure(float(value), float(value)), measure, value)
        if isinstance(value, list) and len(value) == 2 and all(isinstance(x, (int, float)) for x in value):
            return self._in_range(Figure(float(min(value)), float(max(value))), measure, value)
        if isinstance(value, dict) and len(value) == 1:
            (key, end), *_ = value.items()
            if key in _BOUNDS and isinstance(end, (int, float)):
                return self._bound(key, float(end), measure)
        if isinstance(value, str) and value in SIGNS:
            sign: Sign = value  # type: ignore[assignment]
            return Figure(-math.inf, math.inf, sign, text=says or value)
        bounds = ", ".join(f"{{{key} = x}}" for key in _BOUNDS)
        self._fail("paper", value, f"a number, [low, high], {bounds}, {', '.join(SIGNS)}")

    def _printed(self, value: Any, measure: Measure) -> Figure:
        if (
            not isinstance(value, list)
            or len(value) != 2
            or not all(isinstance(x, (int, float)) and x > 0 for x in value)
        ):
            self._fail("printed", value, "[baseline, candidate], both above 0")
        baseline, candidate = map(float, value)
        figure = value_of(measure, candidate, baseline)
        return Figure(figure, figure, printed=(baseline, candidate))

    def _bound(self, key: str, end: float, measure: Measure) -> Figure:
        none = 0.0 if measure == "change" else 1.0
        if key == "at_least":
            return self._in_range(Figure(end, math.inf, bound="at least"), measure, end)
        if key == "up_to":
            if end == none:
                self._fail("paper: up_to", end, f"anything but {none:g}")
            return self._in_range(Figure(min(end, none), max(end, none), bound="up to"), measure, end)
        # A figure far below such a bound is another result, too.
        if not end > none:
            self._fail("paper: at_most", end, f'above {none:g} for a {measure}; or "same"')
        low = 1 / end if measure != "change" else (1 / (1 + end / 100) - 1) * 100
        return Figure(low, end, bound="at most")

    def _in_range(self, figure: Figure, measure: Measure, given: Any) -> Figure:
        least = -100.0 if measure == "change" else 0.0
        for end in (figure.low, figure.high):
            if math.isfinite(end) and end <= least:
                self._fail("paper", given, f"more than {least:g} for a {measure}")
        return figure

    def _setup(self, side: str, given: dict[str, Any], case: dict[str, Any]) -> Setup:
        # From the most general to the most special; a side may be a policy alone.
        def of_both(layer: dict[str, Any]) -> dict[str, Any]:
            return {key: item for key, item in layer.items() if key in _SHARED}

        layers: list[dict[str, Any]] = [of_both(self.defaults)]
        for layer in (self.defaults.get(side), of_both(case), of_both(given), given.get(side)):
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
        arguments = str(f.get("arguments", "")).replace("{root}", str(self.root))
        if "iterations" in f:
            if "{iterations}" not in arguments:
                self._fail(f"iterations of {side} are nowhere in its arguments", arguments, "{iterations} in arguments")
            arguments = arguments.replace("{iterations}", str(f["iterations"]))
        return Setup(
            program=f["program"],
            arguments=tuple(shlex.split(arguments)),
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

    def _is_table(self, given: Any, allowed: str) -> dict[str, Any]:
        if not isinstance(given, dict):
            self._fail("no table", given, allowed)
        return given

    def _only_known(self, given: dict[str, Any], known: Types) -> None:
        for key, value in given.items():
            if key not in known:
                self._fail("unknown key", key, ", ".join(known))
            kinds = known[key]
            names = kinds if isinstance(kinds, tuple) else (kinds,)
            if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in names):
                self._fail(f"{key} is of the wrong type", value, " or ".join(kind.__name__ for kind in names))

    def _needed(self, given: dict[str, Any], key: str) -> Any:
        if key not in given:
            self._fail("a key is missing", "nothing", key)
        return given[key]

    def _fail(self, what: str, given: object, allowed: str) -> NoReturn:
        where = f", {self.where}" if self.where else ""
        raise Error(f"{self.path}{where}: {compose(what, given, allowed)}")
