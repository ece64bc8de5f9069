"""Libraries that start threads of their own for what a task calls, and how they are told not to."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import PurePath

from .watch import Mapping

THREADS_OF_LIBRARIES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS")
"""Variables of their environment: with 1 they compute in the thread that calls them."""

_NAMES = re.compile(r"(libgomp|libomp|libiomp5|libopenblas\w*|libmkl_\w+|libblis)[-.]")


def libraries_with_threads(maps: Iterable[Mapping]) -> tuple[str, ...]:
    """The names of those that are in a program's memory."""
    return tuple(sorted({name for m in maps if _NAMES.match(name := PurePath(m.path).name)}))
