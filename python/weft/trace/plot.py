"""A picture of a trace: one line a worker, time to the right."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl

from ..errors import Error, compose
from .colours import ACTIVITIES, OTHERS, of_classes
from .stats import class_name, classes_by_work
from .trace import Trace

FORMATS = (".svg", ".png")
BY = ("activity", "class")


def plot(
    trace: Trace,
    output: str | Path,
    *,
    begin: float | None = None,
    end: float | None = None,
    width: float = 12,
    by: str | None = None,
) -> None:
    """Draws what the workers did into `output`, *.svg or *.png; the same trace gives the same file.

    Times begin at `Trace.origin`, as in the page of `weft trace view`. `begin`, `end`: limits of the picture in ns
    after it; None: from there to the end of the last task. `width`: in inches. `by`: colours by "activity" (traces of
    modelled machines) or by "class" of tasks; None: by activity if the trace has any. Raises `Error` if the picture
    cannot be drawn, OSError if the file cannot be written.
    """
    if Path(output).suffix not in FORMATS:
        raise Error(compose("unknown format of the picture", output, ", ".join(f"*{f}" for f in FORMATS)))
    if by not in (None, *BY):
        raise Error(compose("unknown colours", by, ", ".join(BY)))
    activities = trace.activities
    if by == "activity" and activities.is_empty():
        raise Error(compose("the trace has no activities", by, "class; activities are in traces of WEFT_ENGINE=model"))
    stretches = activities if by != "class" and not activities.is_empty() else _classes(trace)
    if stretches.is_empty():
        raise Error(f"{trace.path} has nothing in it to draw")
    stretches = stretches.with_columns(pl.col("begin", "end") - trace.origin)
    begin = 0.0 if begin is None else float(begin)
    end = _end(trace, stretches) if end is None else float(end)
    if not begin < end:
        raise Error(compose("an empty stretch of time", f"{begin:g} to {end:g} ns", "a begin below the end"))
    _draw(trace, stretches, begin, end, output, width)


def _end(trace: Trace, stretches: pl.DataFrame) -> float:
    """When the last task ends; if some task does not, when the last stretch does. How long idle workers look on after
    the last task says nothing about the program, and differs from run to run."""
    tasks = trace.tasks.filter(pl.col("began").is_not_null())
    if tasks.is_empty() or tasks["ended"].has_nulls():
        return float(stretches["end"].max())  # type: ignore[arg-type]
    return float(tasks["ended"].max()) - trace.origin  # type: ignore[arg-type]


_CLASS = "class "
"""Prefix of the names of classes, which may have any name, "asleep" too."""


def _classes(trace: Trace) -> pl.DataFrame:
    tasks = trace.tasks.select("task", class_name().alias("what"))
    shown = list(of_classes(classes_by_work(trace.tasks)))
    ran = trace.segments.join(tasks.unique("task", keep="last"), on="task", how="left")
    named = pl.lit(_CLASS) + pl.col("what")
    ran = ran.with_columns(pl.when(pl.col("what").is_in(shown)).then(named).otherwise(pl.lit("others")).alias("what"))
    idle = trace.idle.with_columns(pl.when("asleep").then(pl.lit("asleep")).otherwise(pl.lit("search")).alias("what"))
    columns = ["worker", "what", "begin", "end"]
    return pl.concat([ran.select(columns), idle.select(columns)]).sort("worker", "begin")


def _colours(trace: Trace, stretches: pl.DataFrame) -> dict[str, str]:
    """In the order of the legend."""
    present = set(stretches["what"].unique())
    if present <= set(ACTIVITIES):
        return {a: c for a, c in ACTIVITIES.items() if a in present}
    colours = {_CLASS + name: colour for name, colour in of_classes(classes_by_work(trace.tasks)).items()}
    colours |= {"others": OTHERS, "search": ACTIVITIES["search"], "asleep": ACTIVITIES["asleep"]}
    return {a: c for a, c in colours.items() if a in present}


def _label(what: str) -> str:
    """The name so that matplotlib shows it unchanged: a dollar would begin a formula, an underscore at the front would
    hide it."""
    name = what.removeprefix(_CLASS)
    return ("\u200b" + name if name.startswith("_") else name).replace("$", r"\$")


def _runs(stretches: pl.DataFrame, whats: list[str], edges: npt.NDArray[np.float64]) -> list[tuple[int, float, float]]:
    """For one worker, (index in whats, begin, end): what took longest in each column between two edges."""
    spent = np.zeros((len(whats) + 1, len(edges) - 1))
    for i, what in enumerate(whats):
        of = stretches.filter(pl.col("what") == what)
        if of.is_empty():
            continue
        begin, end = of["begin"].to_numpy(), of["end"].to_numpy()
        points = np.column_stack([begin, end]).ravel()
        covered = np.column_stack([np.cumsum(end - begin) - (end - begin), np.cumsum(end - begin)]).ravel()
        spent[i] = np.diff(np.interp(edges, points, covered))
    # A column is empty only if nothing was done in it.
    spent[-1] = np.where(spent[:-1].sum(axis=0) > 0, -1, 0)
    best = spent.argmax(axis=0)
    best[spent[:-1].sum(axis=0) <= 0] = len(whats)
    starts = np.flatnonzero(np.append(True, best[1:] != best[:-1]))
    ends = np.append(starts[1:], len(best))
    return [
        (int(best[s]), float(edges[s]), float(edges[e]))
        for s, e in zip(starts, ends, strict=True)
        if best[s] < len(whats)
    ]


def _draw(trace: Trace, stretches: pl.DataFrame, begin: float, end: float, output: str | Path, width: float) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt
    from matplotlib.patches import Patch

    workers = trace.header.workers
    colours = _colours(trace, stretches)
    whats = list(colours)
    height = 1.3 + 0.22 * workers
    unit, scale = ("ms", 1e6) if end - begin >= 1e7 else ("us", 1e3)
    edges = np.linspace(begin, end, int(width * 200) + 1)
    with matplotlib.rc_context({"svg.hashsalt": "weft"}):  # the same picture gives the same file
        figure, axes = plt.subplots(figsize=(width, height))
        figure.subplots_adjust(left=0.6 / width, right=1 - 0.2 / width, top=1 - 0.4 / height, bottom=0.8 / height)
        for worker, its in stretches.partition_by("worker", as_dict=True).items():
            runs = _runs(its, whats, edges)
            for i, what in enumerate(whats):
                bars = [(b / scale, (e - b) / scale) for w, b, e in runs if w == i]
                if bars:
                    axes.broken_barh(bars, (worker[0] - 0.42, 0.84), facecolors=colours[what], linewidth=0)
        axes.set_xlim(begin / scale, end / scale)
        axes.set_ylim(workers - 0.5, -0.5)
        if workers <= 64:
            axes.set_yticks(range(workers))
        axes.set_xlabel(f"{'virtual ' if trace.header.time == 'virtual' else ''}time, {unit}")
        axes.set_ylabel("worker")
        program = Path(trace.header.command[0]).name if trace.header.command else ""
        axes.set_title(_label(f"{program}: {trace.header.policy} on {trace.header.machine}"), fontsize="medium")
        figure.legend(
            handles=[Patch(color=c, label=_label(a)) for a, c in colours.items()],
            loc="lower center",
            ncol=len(colours),
            frameon=False,
        )
        metadata = {"Date": None} if Path(output).suffix == ".svg" else None
        figure.savefig(output, metadata=metadata)
        plt.close(figure)
