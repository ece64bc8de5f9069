"""A picture of a paper's claims: what the paper prints against what we have measured."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from .claims import Measure
from .reproduce import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Okabe and Ito's colours, which people with any colour vision can tell apart; marks differ in shape, too.
_REPRODUCED = ("#0072b2", "o", "as in the paper")
_MISSED = ("#d55e00", "X", "not as in the paper")
_LEAST = 1e-3
"""Less of a figure than this is drawn as this."""


def points(results: Sequence[Result]) -> list[tuple[float, float, bool]]:
    """For each counted claim with a number: what remains in the paper, what remains here, and whether they agree. For
    an interval it is the nearer end."""
    found: list[tuple[float, float, bool]] = []
    for r in results:
        figure = r.claim.figure
        if r.ours is None or r.verdict is None or r.not_counted or figure.sign or figure.bound:
            continue
        paper = min(max(r.ours, figure.low), figure.high)
        x, y = (max(_remains(r.claim.measure, value), _LEAST) for value in (paper, r.ours))
        found.append((x, y, r.verdict.within))
    return found


def _remains(measure: Measure, value: float) -> float:
    return 1 + value / 100 if measure == "change" else value


def draw(results: Sequence[Result], title: str, output: Path) -> bool:
    """Draws the claims into `output`, *.svg or *.png. False, and no file, if no counted claim has a number.

    The same results give the same file.
    """
    shown = points(results)
    if not shown:
        return False
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    with matplotlib.rc_context({"svg.hashsalt": "weft", "svg.fonttype": "none"}):  # same picture, same file
        figure, axes = plt.subplots(figsize=(5.2, 5.2), layout="constrained")
        _fill(axes, shown)
        axes.set_title(title, fontsize="medium")
        figure.savefig(output, metadata={"Date": None} if output.suffix == ".svg" else None)
        plt.close(figure)
    return True


def _fill(axes: Axes, shown: Sequence[tuple[float, float, bool]]) -> None:
    values = [value for x, y, _ in shown for value in (x, y)]
    low, high = min(*values, 1) / 1.5, max(*values, 1) * 1.5
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.plot([low, high], [low, high], color="#7f7f7f", linewidth=1)
    axes.axhline(1, color="#cccccc", linewidth=0.8, zorder=0)
    axes.axvline(1, color="#cccccc", linewidth=0.8, zorder=0)
    for within, (colour, mark, label) in ((True, _REPRODUCED), (False, _MISSED)):
        xs, ys = [p[0] for p in shown if p[2] == within], [p[1] for p in shown if p[2] == within]
        if xs:
            axes.scatter(xs, ys, c=colour, marker=mark, s=26, alpha=0.7, linewidths=0, label=f"{label}: {len(xs)}")
    axes.set_xlim(low, high)
    axes.set_ylim(low, high)
    axes.set_aspect("equal")
    axes.set_xlabel("the paper: candidate over baseline")
    axes.set_ylabel("ours: candidate over baseline")
    axes.legend(loc="upper left", fontsize="small")
