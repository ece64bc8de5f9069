"""Colours of pictures: Okabe and Ito's, which people with any colour vision can tell apart."""

from __future__ import annotations

ACTIVITIES = {
    "compute": "#009e73",
    "private stall": "#f0e442",
    "shared stall": "#d55e00",
    "overhead": "#0072b2",
    "search": "#cc79a7",
    "asleep": "#e0e0e0",
}
CLASSES = ["#009e73", "#56b4e9", "#e69f00", "#d55e00", "#0072b2", "#f0e442"]
"""For classes of tasks, the one with the largest total first."""
OTHERS = "#7f7f7f"
"""For classes beyond those."""
