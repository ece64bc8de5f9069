"""Whether a figure agrees with the paper's."""

from __future__ import annotations

import math
from dataclasses import dataclass

from .claims import Claim, Figure, Measure


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


def judge(claim: Claim, ours: float) -> Verdict:
    figure, band = claim.figure, claim.band
    change = _change(claim.measure, ours)
    if figure.sign:
        holds = {"less": change < 0, "more": change > 0, "same": abs(change) <= claim.same}[figure.sign]
        return Verdict(holds, holds, "agrees" if holds else "does not agree")
    if figure.is_bound:
        holds = figure.low <= ours <= figure.high
        return Verdict(holds, holds, "holds" if holds else "does not hold")
    low, high = (_change(claim.measure, end) for end in (figure.low, figure.high))
    same_sign = _sign(low, claim) == _sign(high, claim) == _sign(change, claim) or low <= change <= high
    if low <= change <= high:
        return Verdict(True, True, "within" if low < high else f"within {band:g}x")
    if same_sign and _near(change, low, high, band):
        return Verdict(True, True, f"within {band:g}x")
    return Verdict(same_sign, False, "same sign" if same_sign else "other sign")


def _near(change: float, low: float, high: float, band: float) -> bool:
    """Compares the sizes of two figures."""
    sizes = sorted((abs(low), abs(high)))
    return sizes[0] / band <= abs(change) <= sizes[1] * band


def _change(measure: Measure, value: float) -> float:
    """The change in percent. For a ratio or a speed-up it is the difference of that from 1."""
    return value if measure == "change" else (value - 1) * 100


def _sign(change: float, claim: Claim) -> int:
    return 0 if change == 0 else 1 if change > 0 else -1


def combine(how: str, measure: Measure, values: list[float]) -> float:
    """Combines the figures of several claims: their mean, or the figure farthest from no change."""
    if how == "mean":
        return math.fsum(values) / len(values)
    return max(values, key=lambda value: abs(_change(measure, value)))


def shown(measure: Measure, value: float) -> str:
    return f"{value:+.1f} %" if measure == "change" else f"{value:.2f}x"


def shown_figure(measure: Measure, figure: Figure) -> str:
    if figure.sign:
        return figure.text
    if figure.low == figure.high:
        return shown(measure, figure.low)
    if math.isinf(figure.low):
        return f"at most {shown(measure, figure.high)}"
    if math.isinf(figure.high):
        return f"at least {shown(measure, figure.low)}"
    return f"{shown(measure, figure.low)} to {shown(measure, figure.high)}"
