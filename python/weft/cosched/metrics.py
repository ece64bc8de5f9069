"""How much programs suffer beside each other: ANTT and STP, with 95 % confidence intervals.

S. Eyerman, L. Eeckhout: System-Level Performance Metrics for Multiprogram Workloads. IEEE Micro 28(3), 2008. With the
time Ts of a program alone and Tm beside the others, of n programs: ANTT is the mean of Tm/Ts, 1 at best, lower is
better; STP is the sum of Ts/Tm, n at best, higher is better.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

# Student's t: 97.5 % of the distribution are below, for 1, 2, ... degrees of freedom.
_T = (
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120,
    2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
)  # fmt: skip
_T_OF_MANY = 1.96


@dataclass(frozen=True)
class Sample:
    """Times of repeated runs, in seconds."""

    count: int
    mean: float
    variance: float
    """Of one run; 0 with one run."""

    @property
    def relative(self) -> float:
        """The squared standard error of the mean, over the squared mean."""
        return self.variance / self.count / self.mean**2 if self.mean > 0 else 0.0


@dataclass(frozen=True)
class Estimate:
    """A figure with its 95 % confidence interval; without one if some program ran only once."""

    value: float
    low: float | None = None
    high: float | None = None


def sample(seconds: Sequence[float]) -> Sample:
    """Raises ValueError without a run."""
    if not seconds:
        raise ValueError("no runs")
    mean = math.fsum(seconds) / len(seconds)
    squares = math.fsum((s - mean) ** 2 for s in seconds)
    return Sample(len(seconds), mean, squares / (len(seconds) - 1) if len(seconds) > 1 else 0.0)


def antt(alone: Sequence[Sample], beside: Sequence[Sample]) -> Estimate:
    """Average normalised turnaround time: programs in the same order."""
    n = len(alone)
    return _estimate([_ratio(m, s, 1 / n) for s, m in zip(alone, beside, strict=True)], alone, beside)


def stp(alone: Sequence[Sample], beside: Sequence[Sample]) -> Estimate:
    """System throughput: programs in the same order."""
    return _estimate([_ratio(s, m, 1.0) for s, m in zip(alone, beside, strict=True)], alone, beside)


def ratio(numerator: Sample, denominator: Sample) -> Estimate:
    """Of two means."""
    return _estimate([_ratio(numerator, denominator, 1.0)], [denominator], [numerator])


def _ratio(numerator: Sample, denominator: Sample, weight: float) -> tuple[float, list[tuple[float, int]]]:
    """A weighted ratio of means, and the variance that each of the two samples gives it (delta method), with its
    degrees of freedom."""
    value = weight * numerator.mean / denominator.mean
    return value, [(value**2 * s.relative, s.count - 1) for s in (numerator, denominator)]


def _estimate(
    terms: Sequence[tuple[float, list[tuple[float, int]]]], alone: Sequence[Sample], beside: Sequence[Sample]
) -> Estimate:
    value = math.fsum(v for v, _ in terms)
    if any(s.count < 2 for s in (*alone, *beside)):
        return Estimate(value)
    parts = [part for _, both in terms for part in both]
    variance = math.fsum(v for v, _ in parts)
    if variance == 0:
        return Estimate(value, value, value)
    # Welch and Satterthwaite: the parts have different variances and counts.
    freedom = variance**2 / math.fsum(v**2 / df for v, df in parts)
    half = student(freedom) * math.sqrt(variance)
    return Estimate(value, value - half, value + half)


def student(freedom: float) -> float:
    """The factor for a 95 % interval; between two whole numbers that of the lower one."""
    whole = max(int(freedom), 1)
    return _T[whole - 1] if whole <= len(_T) else _T_OF_MANY + 2.5 / whole
