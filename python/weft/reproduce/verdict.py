"""Whether a figure agrees with the paper's.

Effects are compared as logarithms of what remains: -68 % and -98 % leave 32 and 2 % of a figure, a factor of 16.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from .claims import Claim, Figure, Measure, Sign

LEAST_PERCENT = 1.0
"""A smaller difference is none."""


@dataclass(frozen=True)
class Verdict:
    """The verdict about one claim that was run."""

    same_sign: bool
    """Whether it is better where the paper says better, and worse where the paper says worse."""
    within: bool
    """Whether it lies within the band, too; for a bound and a sign: whether it holds."""
    text: str


def value_of(measure: Measure, candidate: float, baseline: float) -> float:
    """Raises ZeroDivisionError if there is no figure to compare with."""
    if measure == "change":
        return (candidate / baseline - 1) * 100
    return candidate / baseline if measure == "ratio" else baseline / candidate


def judge(claim: Claim, ours: float, each: Sequence[float]) -> Verdict:
    """`ours`: our figure. `each`: the figures of the single seeds; empty for a figure that combines others."""
    return compare(claim.figure, ours, each, measure=claim.measure, band=claim.band, same=claim.same)


def compare(
    figure: Figure,
    ours: float,
    each: Sequence[float] = (),
    *,
    measure: Measure = "change",
    band: float = 1.5,
    same: float = 3,
) -> Verdict:
    """As `judge`, without a claim."""
    effect = _effect(measure, ours)
    if figure.sign:
        return _compare_sign(figure.sign, same, effect, [_effect(measure, value) for value in each])
    if figure.bound in ("at most", "at least"):
        holds = figure.low <= ours <= figure.high
        return Verdict(holds, holds, "holds" if holds else "does not hold")
    low, high = _effect(measure, figure.low), _effect(measure, figure.high)
    near = f"within {band:g}x"
    if low <= effect <= high:
        return Verdict(True, True, "within" if low < high else near)
    # An end at no change means that the source has seen no effect there; what is too small to be one agrees.
    if (low == 0 or high == 0) and abs(effect) <= _percent(same if low == high else LEAST_PERCENT):
        return Verdict(True, True, "within")
    same_sign = low * high >= 0 and effect * (low + high) > 0
    if same_sign and any(_near(effect, end, band) for end in (low, high)):
        return Verdict(True, True, near)
    return Verdict(same_sign, False, "same sign" if same_sign else "other sign")


def _compare_sign(sign: Sign, same: float, effect: float, each: Sequence[float]) -> Verdict:
    if sign == "same":
        holds = abs(effect) <= _percent(same)
        return Verdict(holds, holds, "agrees" if holds else "does not agree")
    towards = -effect if sign == "less" else effect
    if towards < _percent(LEAST_PERCENT):
        return Verdict(False, False, "does not agree")
    if len(each) == 1:
        return Verdict(True, False, "one seed shows nothing")
    if each and towards <= max(each) - min(each):
        return Verdict(False, False, "no more than the spread of the seeds")
    return Verdict(True, True, "agrees")


def _near(effect: float, end: float, band: float) -> bool:
    """Whether both the effect and what remains after it differ by at most the factor `band`."""
    if effect * end <= 0:
        return False
    return 1 / band <= effect / end <= band and abs(effect - end) <= math.log(band)


def _effect(measure: Measure, value: float) -> float:
    """The logarithm of what remains. -inf if nothing does."""
    remains = 1 + value / 100 if measure == "change" else value
    return math.log(remains) if remains > 0 else -math.inf


def _percent(change: float) -> float:
    return math.log1p(change / 100)


def over_all(how: str, measure: Measure, values: Sequence[float]) -> float:
    """One figure of those of many cases: `mean`, `median`, `least`, `most`, or `part_more`, the part of them above no
    change, as a ratio."""
    if how == "mean":
        return math.fsum(values) / len(values)
    if how == "median":
        return statistics.median(values)
    if how == "part_more":
        return sum(_effect(measure, value) > 0 for value in values) / len(values)
    return min(values) if how == "least" else max(values)


def combine(how: str, measure: Measure, values: list[float]) -> float:
    """Combines the figures of several claims: their mean, or the figure farthest from no change."""
    if how == "mean":
        return math.fsum(values) / len(values)
    return max(values, key=lambda value: abs(_effect(measure, value)))


def shown(measure: Measure, value: float) -> str:
    return f"{value:+.1f} %" if measure == "change" else f"{value:.2f}x"


def shown_figure(measure: Measure, figure: Figure) -> str:
    if figure.sign:
        return figure.text
    none = 0.0 if measure == "change" else 1.0
    match figure.bound:
        case "at most":
            return f"at most {shown(measure, figure.high)}, either way"
        case "at least":
            return f"at least {shown(measure, figure.low)}"
        case "up to":
            return f"up to {shown(measure, figure.high if figure.low == none else figure.low)}"
    if figure.low == figure.high:
        return shown(measure, figure.low)
    return f"{shown(measure, figure.low)} to {shown(measure, figure.high)}"
