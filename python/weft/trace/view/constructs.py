"""The tree of constructs of a trace: which class of tasks was spawned in which.

It is to classes what the tree of calls is to functions. A class inside itself is folded into its first place, so that a
recursion is one construct and not as many as it is deep.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Numbers: TypeAlias = npt.NDArray[np.int64]
MOST = 2000
"""Further constructs are counted as the ones around them: a tree of more lines is of no use to a reader."""


@dataclass
class Construct:
    """A class of tasks in one place of the tree. Times are in nanoseconds."""

    cls: int
    """Index of the class."""
    parent: int
    """Index of the construct around it, which is smaller; -1: none."""
    count: int = 0
    """Number of its tasks."""
    own: int = 0
    """Sum of the own times of its tasks."""
    total: int = 0
    """`own`, and that of all constructs inside."""


def constructs(of_class: Numbers, parents: Numbers, own: Numbers) -> tuple[list[Construct], Numbers]:
    """The tree, each construct after the one around it, and for each task the index of its construct.

    `of_class`: index of each task's class; `parents`: row of each task's parent, or -1. A cycle of parents, which only
    a damaged file has, is cut where it closes.
    """
    tree: list[Construct] = []
    places: dict[tuple[int, int], int] = {}
    classes, above = of_class.tolist(), parents.tolist()
    of_task = [-1] * len(classes)
    for row in range(len(classes)):
        chain = []
        seen = set()
        at = row
        while at >= 0 and of_task[at] < 0 and at not in seen:
            seen.add(at)
            chain.append(at)
            at = above[at]
        around = of_task[at] if at >= 0 else -1
        for task in reversed(chain):
            around = of_task[task] = _place(tree, places, around, classes[task])
    for row, time in enumerate(own.tolist()):
        construct = tree[of_task[row]]
        construct.count += 1
        construct.own += time
    for construct in tree:
        construct.total = construct.own
    for construct in reversed(tree):
        if construct.parent >= 0:
            tree[construct.parent].total += construct.total
    return tree, np.array(of_task, np.int64)


def _place(tree: list[Construct], places: dict[tuple[int, int], int], around: int, cls: int) -> int:
    """The construct of a task of class `cls` whose parent is in the construct `around`."""
    known = places.get((around, cls))
    if known is not None:
        return known
    at = around
    while at >= 0 and tree[at].cls != cls:
        at = tree[at].parent
    if at < 0:
        if len(tree) >= MOST and around >= 0:
            at = around
        else:
            at = len(tree)
            tree.append(Construct(cls, around))
    places[around, cls] = at
    return at
