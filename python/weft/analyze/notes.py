"""Notes: what traces do not show, and which results rest on little data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from .contention import Axis
from .prediction import Prediction
from .sensitivity import SENSITIVE, Sensitivity
from .speeds import FIRM, Speeds, said
from .workload import Workload

FEW = 8
"""With fewer tasks than this, the minimum and the third quartile of a class say little."""
NOTABLE = 0.05
"""There are no notes about classes with less than this part of the time."""
UNEVEN = 0.25
"""Tasks that differ by more than this are not of one size."""
IDLE = 0.1
"""Predictions do not fit a run whose workers were idle for more than this part of the time."""


def notes(
    runs: Sequence[Workload],
    classes: Mapping[str, Sensitivity],
    limits: Sequence[Axis],
    alone: Mapping[str, Speeds],
    speeds: Mapping[str, Speeds],
    predictions: Sequence[Prediction],
    busy: float,
) -> Iterator[str]:
    """`runs`: the run to improve comes first. `alone`: speeds by the number of the class's own tasks. `busy`: part of
    the workers' time in which tasks ran. `predictions`: the best first."""
    run = runs[0]
    if lost := sum(w.lost for w in runs):
        yield f"{lost} events were lost: tasks that are not seen slow others down, and speeds come out too low"
    for w in runs:
        if not w.complete:
            yield f"{w.path} ends before the process did: tasks without an end are cut there"
    if run.workers == 1:
        yield "one worker: no task runs beside another, so there is nothing to predict"
        return
    if run.refused:
        yield (
            f"{run.refused} times a task had to wait for a resource: the run was under limits already, and what would "
            "happen with more at a time was not seen"
        )
    if predictions and busy < 1 - IDLE:
        yield (
            f"workers were without a task for {1 - busy:.0%} of the time; predictions know of no order between tasks "
            "and take all of them as ready"
        )
    total = sum(c.total for c in classes.values())
    notable = [c for c in classes.values() if c.total > NOTABLE * total]
    if run.real_time and len(notable) > 1 and all(c.sigma is None or c.sigma > SENSITIVE for c in notable):
        yield "every class varies: other programs may have had the processors, and then nothing here is reliable"
    for name, s in alone.items():
        c = classes[name]
        unknown = s.table[(1,)].source != "solved" and not c.serial
        if unknown and name in run.limitable and c.total > NOTABLE * total:
            yield (
                f"{name}: hardly ever ran without others of its kind, so it is unknown how fast it could be; a trace "
                "of one worker (--serial) would show it"
            )
    for name in (name for axis in limits for name in axis.classes if name in speeds):
        yield from _of_class(classes[name], speeds[name], sum(w.suspended.get(name, 0) for w in runs))
    if predictions and predictions[0].extrapolated > FIRM:
        yield (
            f"{predictions[0].extrapolated:.0%} of the work of the best prediction rests on speeds that were not "
            "measured, or not well; an additional trace of a run under its limits would show them"
        )


def _of_class(c: Sensitivity, s: Speeds, waited: int) -> Iterator[str]:
    if c.count < FEW:
        yield f"{c.name}: {c.count} tasks are too few to know the fastest time and the spread"
    if waited:
        yield f"{c.name}: {waited} tasks waited inside; their waits are not part of their times"
    unseen = [str(level) for (level,), speed in s.table.items() if speed.source != "solved"] if len(s.axes) == 1 else []
    if unseen:
        yield f"{c.name}: how fast it is with {_listed(unseen)} at a time is not measured, but on a line through others"
    loose = [said(s, speed.state) for speed in s.table.values() if speed.source == "solved" and not speed.firm]
    if loose:
        yield f"{c.name}: its speed in {_listed(loose)} is known to no better than {FIRM:.0%}"
    if s.residual > UNEVEN:
        yield (
            f"{c.name}: its tasks differ by {s.residual:.0%} beyond what those beside them explain: they differ in "
            "size, or something else slows them down"
        )


def _listed(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else ", ".join(words[:-1]) + " and " + words[-1]
