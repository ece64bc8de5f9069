"""Allocations: all possible numbers of tasks of each limited class that may run at once.

M. Tillenius, E. Larsson, R. M. Badia, X. Martorell: Resource-aware task scheduling. ACM TECS 2015, section 4.2.2.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations

from ..errors import Error, compose


def count(workers: int, limits: int, *, parts: int = 1, exclusive: int = 0) -> int:
    """Number of allocations: binom((workers - exclusive) * parts, limits - exclusive)."""
    _check(workers, limits, parts, exclusive)
    return math.comb((workers - exclusive) * parts, limits - exclusive)


def allocations(workers: int, limits: int, *, parts: int = 1, exclusive: int = 0) -> Iterator[tuple[Fraction, ...]]:
    """All (p_1, ..., p_k) with p_i > 0 and sum at most `workers`, in lexicographic order.

    In steps of 1/`parts` of a worker; the first `exclusive` ones have one whole worker each. Raises `Error` for numbers
    that are out of range.
    """
    _check(workers, limits, parts, exclusive)
    whole = (Fraction(1),) * exclusive
    # Cuts of a stick: the distances between them are the amounts; the rest behind the last cut is for all others.
    for cuts in combinations(range(1, (workers - exclusive) * parts + 1), limits - exclusive):
        yield whole + tuple(Fraction(b - a, parts) for a, b in zip((0, *cuts), cuts, strict=False))


def _check(workers: int, limits: int, parts: int, exclusive: int) -> None:
    if not (workers >= 1 and parts >= 1 and limits >= 1 and 0 <= exclusive <= min(limits, workers)):
        given = f"workers {workers}, limits {limits}, parts {parts}, exclusive {exclusive}"
        raise Error(compose("no allocation", given, "numbers from 1; exclusive from 0, not above workers and limits"))
