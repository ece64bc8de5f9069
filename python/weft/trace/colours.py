"""Colours of pictures: Okabe and Ito's, which people with any colour vision can tell apart."""

from __future__ import annotations

from collections.abc import Sequence

ACTIVITIES = {
    "compute": "#009e73",
    "private stall": "#f0e442",
    "shared stall": "#d55e00",
    "overhead": "#0072b2",
    "search": "#cc79a7",
    "asleep": "#e0e0e0",
}
CLASSES = ["#009e73", "#56b4e9", "#e69f00", "#d55e00", "#0072b2", "#f0e442"]
"""Colours for classes of tasks."""
OTHERS = "#7f7f7f"
"""Colour for further classes."""


def of_classes(names: Sequence[str]) -> dict[str, str]:
    """The colours of the classes that have their own; `names`: the class with the largest total first.

    Among these classes colours are given out by name, so that runs of one program look alike.
    """
    shown = sorted(names[: len(CLASSES) - (len(names) > len(CLASSES))])
    return dict(zip(shown, CLASSES, strict=False))
