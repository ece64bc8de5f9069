"""A runtime's figures for people."""

from __future__ import annotations

from rich.console import Console

from ..summary import RuntimeSummary
from .table import count, duration, share, table


def print_runtime(console: Console, r: RuntimeSummary) -> None:
    """What a runtime and its workers did."""
    seed = "" if r.seed is None else f", seed {r.seed}"
    console.print(f"{r.policy} on {r.machine}, engine {r.engine}, {len(r.workers)} workers{seed}")
    virtual = " (virtual)" if r.virtual else ""
    runs = f" in {r.runs_told} runs" if r.runs != 1 else ""
    console.print(f"time         {duration(r.seconds * 1e9)}{virtual}{runs}")
    if r.work is not None and r.span is not None and r.bound is not None:
        console.print(f"work T1      {duration(r.work * 1e9)}")
        console.print(f"span Tinf    {duration(r.span * 1e9)}")
        if r.parallelism is not None:
            console.print(f"parallelism  {r.parallelism:.3g}")
        console.print(f"bound        {duration(r.bound * 1e9)}, max(T1/p, Tinf)")
        if r.speedup_by_work is not None:
            console.print(f"T1/Tp        {r.speedup_by_work:.3g}")
    if r.balance is not None:
        console.print(f"balance      {r.balance:.3g}, the average worker's busy time over the busiest one's")
    for note in r.notes:
        console.print(f"note: {note}")
    shown = table("worker", "busy", "search", "asleep", "overhead", "tasks", "steals", "exposures")
    for i, w in enumerate(r.workers):
        shares = (share(part, r.seconds) for part in (w.busy, w.search, w.asleep, w.overhead))
        shown.add_row(str(i), *shares, count(w.tasks), count(w.steals), count(w.exposures))
    console.print(shown)
