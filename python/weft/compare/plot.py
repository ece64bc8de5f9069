"""A picture of a comparison: one panel a place, one line a policy."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import Error, compose
from .compare import Comparison, Place, Row

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FORMATS = (".svg", ".png")

# Okabe and Ito's colours, which people with any colour vision can tell apart; places differ in shape, too.
_HERE = ("#0072b2", "o")
_MODELLED = ("#d55e00", "D")
_BASELINE = "#7f7f7f"
_A_ROW = 3
"""Panels."""


def plot(comparison: Comparison, output: str | Path) -> None:
    """Draws a comparison into `output`, *.svg or *.png: for each policy the median, quartiles and extremes of its
    speed-up over 1 worker of `steal`.

    The same comparison gives the same file. Raises `Error` if the picture cannot be drawn, OSError if the file cannot
    be written.
    """
    check_format(output)
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    panels = [(place, comparison.at(place)[0], comparison.at(place)[1:]) for place in comparison.places]
    columns = min(len(panels), _A_ROW)
    lines = -(-len(panels) // columns)
    policies = max(len(rows) for _, _, rows in panels)
    longest = max(len(row.label) for _, _, rows in panels for row in rows)
    size = (0.6 + 0.09 * longest + 3.6 * columns, lines * (0.9 + 0.3 * policies) + 0.9)
    with matplotlib.rc_context({"svg.hashsalt": "weft", "svg.fonttype": "none"}):  # same picture, same file
        figure, grid = plt.subplots(lines, columns, figsize=size, squeeze=False, sharey=True, layout="constrained")
        for axes, panel in zip(grid.flat, panels, strict=False):
            _draw(axes, *panel)
        for axes in list(grid.flat)[len(panels) :]:
            axes.set_axis_off()
        name = Path(comparison.command[0]).name
        arguments = " ".join(comparison.command[1:])
        figure.suptitle(f"{name} {arguments}".strip()[:100], fontsize="medium")
        figure.supxlabel("speed-up over 1 worker of steal: median, quartiles, extremes", fontsize="small")
        figure.savefig(output, metadata={"Date": None} if Path(output).suffix == ".svg" else None)
        plt.close(figure)


def check_format(output: str | Path) -> None:
    """Raises `Error` for a name without a known format."""
    if Path(output).suffix not in FORMATS:
        raise Error(compose("unknown format of the picture", output, ", ".join(f"*{f}" for f in FORMATS)))


def _draw(axes: Axes, place: Place, baseline: Row, rows: list[Row]) -> None:
    colour, marker = _MODELLED if place.virtual else _HERE
    largest = max((row.speedup for row in rows if row.speedup), default=1.0)
    for y, row in enumerate(rows):
        if row.seconds is None or row.speedup is None or baseline.seconds is None:
            axes.text(0.02, y, "did not run", transform=axes.get_yaxis_transform(), va="center", color="#555555")
            continue
        alone, s = baseline.seconds.median, row.seconds
        axes.plot([alone / s.max, alone / s.min], [y, y], color=colour, linewidth=1, solid_capstyle="butt")
        axes.plot([alone / s.q3, alone / s.q1], [y, y], color=colour, linewidth=4, solid_capstyle="butt", alpha=0.6)
        axes.plot([row.speedup], [y], marker, color=colour, markersize=6)
        largest = max(largest, alone / s.min)
        axes.annotate(
            f"{row.speedup:.2f}", (alone / s.min, y), (6, 0), textcoords="offset points", va="center", fontsize="small"
        )
    axes.axvline(1, color=_BASELINE, linewidth=1, linestyle="--")
    axes.set_xlim(0, max(largest, 1) * 1.25)
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.set_yticks(range(len(rows)), [row.label for row in rows])
    axes.grid(axis="x", color="#e0e0e0", linewidth=0.6)
    axes.set_axisbelow(True)
    counts = {row.workers for row in rows if row.workers}
    kind = "modelled" if place.virtual else "real threads"
    axes.set_title(
        f"{place.name}\n{kind}" + (f", {counts.pop()} workers" if len(counts) == 1 else ""), fontsize="small"
    )
