"""How much longer one policy takes than another: an interval from paired times."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Ratio:
    """The time of one policy over that of another one: the geometric mean over the rounds, and an interval."""

    low: float
    mid: float
    high: float

    @classmethod
    def of(cls, times: Sequence[float], others: Sequence[float], error: float = 0.05) -> Ratio:
        """From the times of two policies in the same rounds, at least two. What the rounds have in common (the load of
        the machine, the seed) cancels out. If the logarithms of the ratios are normal, the interval misses the true
        ratio with the probability `error` (Student's t)."""
        logs = np.log(np.asarray(times) / np.asarray(others))
        count = len(logs)
        if count < 2:
            raise ValueError(f"an interval from {count} rounds")
        middle = float(logs.mean())
        width = t_quantile(1 - error / 2, count - 1) * float(logs.std(ddof=1)) / math.sqrt(count)
        return cls(math.exp(middle - width), math.exp(middle), math.exp(middle + width))


def t_quantile(p: float, freedom: int) -> float:
    """The quantile of Student's t for 0.5 < p < 1 and a whole number of degrees of freedom, by bisection."""
    low, high = 0.0, 1.0
    while t_distribution(high, freedom) < p:
        high *= 2
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if t_distribution(middle, freedom) < p else (low, middle)
    return high


def t_distribution(t: float, freedom: int) -> float:
    """The probability that Student's t is at most `t`. Source: Abramowitz and Stegun, Handbook of Mathematical
    Functions, 1964, formulas 26.7.3 and 26.7.4, which are exact."""
    angle = math.atan(t / math.sqrt(freedom))
    cosine, sine = math.cos(angle), math.sin(angle)
    odd = freedom % 2 == 1
    term, series = (cosine, cosine) if odd else (1.0, 1.0)
    for k in range(3 if odd else 2, freedom - 1, 2):
        term *= cosine * cosine * (k - 1) / k
        series += term
    if odd:
        return 0.5 + (angle + (sine * series if freedom > 1 else 0.0)) / math.pi
    return 0.5 + sine * series / 2
