"""Runs made up for tests: tasks that slow each other down by known speeds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from weft.analyze.workload import Need, Workload
from weft.trace import layout
from writing import FRESH, GRAPH, ROOT, TraceFile

Speed = Callable[[str, Mapping[str, int]], float]
"""The speed of a class in tasks a nanosecond, beside that many tasks of each class, itself included."""


@dataclass
class Ran:
    """Stretches of tasks on workers."""

    workers: int
    tasks: list[tuple[str, int, float, float]] = field(default_factory=list)
    """Class, worker, begin, end."""

    @property
    def elapsed(self) -> float:
        return max((end for *_, end in self.tasks), default=0.0)

    def workload(self, needs: Mapping[str, tuple[Need, ...]] | None = None) -> Workload:
        """As `weft.analyze.workload` would read it from a trace of one graph."""
        classes = tuple(sorted({name for name, *_ in self.tasks}))
        begin = np.array([round(b) for *_, b, _ in self.tasks], np.int64)
        end = np.array([round(e) for *_, e in self.tasks], np.int64)
        return Workload(
            path="made up",
            workers=self.workers,
            classes=classes,
            task_class=np.array([classes.index(name) for name, *_ in self.tasks], np.int64),
            task_phase=np.zeros(len(self.tasks), np.int64),
            own=end - begin,
            segment_task=np.arange(len(self.tasks)),
            segment_begin=begin,
            segment_end=end,
            phases=np.array([[begin.min(), end.max()]], np.int64),
            limitable=frozenset(classes),
            needs=dict(needs or {}),
        )

    def trace(self) -> TraceFile:
        """A trace file of the same run: a root that runs one graph."""
        classes = sorted({name for name, *_ in self.tasks})
        trace = TraceFile(self.workers).names(**{f"n{i + 1}": name for i, name in enumerate(classes)})
        first = 100
        spawned: list[tuple[object, ...]] = [(0, "spawn", 1, 0, 0, ROOT)]
        for i, (name, *_) in enumerate(self.tasks):
            spawned.append((0, "spawn", first + i, first, classes.index(name) + 1, GRAPH))
        trace.stream(layout.OUTSIDE, *spawned)
        for worker in range(self.workers):
            events = []
            mine = [(b, e, first + i) for i, (_, w, b, e) in enumerate(self.tasks) if w == worker]
            for begin, end, task in sorted(mine):
                events += [(round(begin), "begin", task, 0, 0, FRESH), (round(end), "end", task)]
            if events:
                trace.stream(worker, *events)
        return trace.end()


def run(
    workers: int,
    order: Sequence[str],
    speed: Speed,
    limits: Mapping[str, int] | None = None,
    work: Callable[[int], float] = lambda _: 1.0,
) -> Ran:
    """Runs tasks in this order on the first free workers; a class at its limit is passed over, as by the gate."""
    limits = limits or {}
    waiting = list(enumerate(order))
    out = Ran(workers)
    running: dict[int, tuple[str, float, float]] = {}  # by worker: class, begin, work left
    now = 0.0
    while waiting or running:
        count: dict[str, int] = {}
        for name, *_ in running.values():
            count[name] = count.get(name, 0) + 1
        for worker in range(workers):
            if worker in running:
                continue
            for at, (task, name) in enumerate(waiting):
                if count.get(name, 0) < limits.get(name, workers):
                    running[worker] = (name, now, work(task))
                    count[name] = count.get(name, 0) + 1
                    del waiting[at]
                    break
        speeds = {worker: speed(name, count) for worker, (name, *_) in running.items()}
        step = min(left / speeds[worker] for worker, (*_, left) in running.items())
        now += step
        for worker, (name, begin, left) in list(running.items()):
            left -= step * speeds[worker]
            if left < 1e-9:
                out.tasks.append((name, worker, begin, now))
                del running[worker]
            else:
                running[worker] = (name, begin, left)
    return out
