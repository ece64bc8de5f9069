"""Pictures of a comparison: ANTT and STP of each scheduler, or the matrix of pairs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import Error, compose
from .compare import Comparison, Row
from .metrics import Estimate

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FORMATS = (".svg", ".png")

# Okabe and Ito's colours, which people with any colour vision can tell apart.
_COLOUR = "#0072b2"
_REFERENCE = "#7f7f7f"


def plot(comparison: Comparison, output: str | Path) -> None:
    """Draws a comparison into `output`, *.svg or *.png. The same comparison gives the same file. Raises `Error` if it
    has nothing to draw or for another format, OSError if the file cannot be written."""
    if Path(output).suffix not in FORMATS:
        raise Error(compose("unknown format of the picture", output, ", ".join(f"*{f}" for f in FORMATS)))
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    with matplotlib.rc_context({"svg.hashsalt": "weft", "svg.fonttype": "none"}):
        if comparison.pairs:
            figure, axes = plt.subplots(figsize=_matrix_size(comparison), layout="constrained")
            _matrix(axes, comparison)
        else:
            rows = [r for r in comparison.rows if r.antt and r.stp]
            if not rows:
                raise Error(compose("nothing to draw", "no scheduler with figures", "one or more"))
            figure, (left, right) = plt.subplots(
                1, 2, figsize=(9, 1.2 + 0.34 * len(rows)), sharey=True, layout="constrained"
            )
            _bars(left, rows, [r.antt for r in rows if r.antt], 1.0, "ANTT (lower is better)")
            _bars(right, rows, [r.stp for r in rows if r.stp], None, "STP (higher is better)")
        figure.savefig(output, metadata={"Date": None} if Path(output).suffix == ".svg" else None)
        plt.close(figure)


def _bars(axes: Axes, rows: list[Row], figures: list[Estimate], best: float | None, title: str) -> None:
    for y, e in enumerate(figures):
        axes.barh(y, e.value, color=_COLOUR, height=0.6, alpha=0.75)
        if e.low is not None and e.high is not None:
            axes.plot([e.low, e.high], [y, y], color="black", linewidth=1.2)
        axes.annotate(
            f"{e.value:.2f}", (e.high or e.value, y), (5, 0), textcoords="offset points", va="center", fontsize="small"
        )
    if best is not None:
        axes.axvline(best, color=_REFERENCE, linewidth=1, linestyle="--")
    several = len({r.programs for r in rows}) > 1
    labels = [r.scheduler + (f": {', '.join(r.programs)}" if several else "") for r in rows]
    axes.set_yticks(range(len(rows)), labels, fontsize="small")
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.set_xlim(0, max((e.high or e.value) for e in figures) * 1.2)
    axes.set_title(f"{title}, 95 % intervals", fontsize="small")
    axes.grid(axis="x", color="#e0e0e0", linewidth=0.6)
    axes.set_axisbelow(True)


def _names(comparison: Comparison) -> list[str]:
    return list(dict.fromkeys(name for p in comparison.pairs for name in (p.first, p.second)))


def _matrix_size(comparison: Comparison) -> tuple[float, float]:
    n = len(_names(comparison))
    return 2.2 + 0.7 * n, 1.8 + 0.6 * n


def _matrix(axes: Axes, comparison: Comparison) -> None:
    names = _names(comparison)
    values = [[float("nan")] * len(names) for _ in names]
    for p in comparison.pairs:
        if p.slowdowns:
            i, j = names.index(p.first), names.index(p.second)
            values[i][j], values[j][i] = p.slowdowns[0].value, p.slowdowns[1].value
    known = [v for row in values for v in row if v == v]
    most = max([abs(v - 1) for v in known], default=0.1) or 0.1
    axes.imshow(values, cmap="PuOr_r", vmin=1 - most, vmax=1 + most)
    for i, row in enumerate(values):
        for j, v in enumerate(row):
            if v == v:
                colour = "white" if abs(v - 1) > 0.6 * most else "black"
                axes.text(j, i, f"{v:.2f}", ha="center", va="center", fontsize="small", color=colour)
    axes.set_xticks(range(len(names)), names, rotation=45, ha="right", fontsize="small")
    axes.set_yticks(range(len(names)), names, fontsize="small")
    axes.set_xlabel("beside", fontsize="small")
    axes.set_title("time on one domain over time on two", fontsize="small")
