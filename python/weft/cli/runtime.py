"""The figures of a runtime as text."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Console

from ..summary import RuntimeSummary
from .table import count, duration, share, table


def print_bound(
    console: Console, work: float, span: float, parallelism: float | None, bound: float, at_least: str = ""
) -> None:
    """Lines of work, span, and their bound for any schedule, from nanoseconds. `at_least` comes before incomplete
    figures."""
    console.print(f"work T1      {at_least}{duration(work)}")
    console.print(f"span Tinf    {at_least}{duration(span)}")
    if parallelism is not None:
        console.print(f"parallelism  {parallelism:.3g}")
    console.print(f"bound        {at_least}{duration(bound)}, max(T1/p, Tinf)")


def print_balance(console: Console, balance: float | None, notes: Iterable[str]) -> None:
    """Lines of how evenly the workers were busy, and of what the figures lack."""
    if balance is not None:
        console.print(f"balance      {balance:.3g}, the average worker's busy time over the busiest one's")
    for note in notes:
        console.print(f"note: {note}")


def print_runtime(console: Console, r: RuntimeSummary) -> None:
    """Lines of what a runtime and its workers did."""
    seed = "" if r.seed is None else f", seed {r.seed}"
    console.print(f"{r.policy} on {r.machine}, engine {r.engine}, {len(r.workers)} workers{seed}")
    virtual = " (virtual)" if r.virtual else ""
    runs = f" in {r.runs_told} runs" if r.runs != 1 else ""
    console.print(f"time         {duration(r.seconds * 1e9)}{virtual}{runs}")
    if r.outside is not None and r.span_seconds and r.runs > 1:
        part = f"{share(r.outside, r.span_seconds)} of {duration(r.span_seconds * 1e9)} from the first run to the last"
        cpu = f"{duration((r.outside_cpu or 0.0) * 1e9)} of processor time in it"
        console.print(f"outside      {duration(r.outside * 1e9)} between runs, {part}; {cpu}")
    if r.work is not None and r.span is not None and r.bound is not None:
        print_bound(console, r.work * 1e9, r.span * 1e9, r.parallelism, r.bound * 1e9)
        if r.speedup_by_work is not None:
            console.print(f"T1/Tp        {r.speedup_by_work:.3g}")
    for c in (r.choices or {}).get("places", []):
        so_far = f"{c['state']}; {c['runs']} runs, {c['comparisons']} comparisons"
        console.print(f"chosen       {c['policy']} for {c['place']}: {so_far}")
        console.print(f"             {c['why']}")
    if r.choices and r.choices.get("memory"):
        console.print(f"memory       {r.choices['memory']}")
    print_balance(console, r.balance, r.notes)
    divided = any(w.on_core is not None for w in r.workers)
    parts = ("on core", "waiting", "blocked") if divided else ()
    shown = table("worker", "busy", *parts, "search", "asleep", "overhead", "tasks", "steals", "exposures")
    for i, w in enumerate(r.workers):
        of_busy = (w.on_core, w.waiting, w.blocked) if divided else ()
        shares = (share(part, r.seconds) for part in (w.busy, *of_busy, w.search, w.asleep, w.overhead))
        shown.add_row(str(i), *shares, count(w.tasks), count(w.steals), count(w.exposures))
    console.print(shown)
