"""Checks the promises of docs/trace-format.md on traces that the examples wrote."""

from __future__ import annotations

import os
from pathlib import Path

import polars as pl
import pytest
import weft
from conftest import run_example

PROGRAMS = {
    "fib": "--n 14",
    "uts": "--tree-depth 5",
    "wavefront": "--n 200 --block 16",
    "sparse_lu": "--blocks 10 --side 8",
    "heat2d": "--rows 200 --cols 100 --sweeps 6 --leaf-rows 8",
    "merge_sort": "--n 20000 --leaf 256",
    "n_body": "--n 300 --block 32 --accesses commutative",
}
ENGINES = {
    "threads": ["steal:zone=reported", "steal-parent-first", "share", "locality", "chaos"],
    "model": ["steal:zone=reported", "near", "socket"],
}


def runs() -> list[tuple[str, str, str]]:
    """Each program under `steal` and under one more policy of each engine, in turn; all pairs in the stress tests."""
    every = "WEFT_TEST_INPUTS" in os.environ
    return [
        (program, engine, policy)
        for engine, others in ENGINES.items()
        for number, program in enumerate(PROGRAMS)
        for policy in ["steal", *(others if every else [others[number % len(others)]])]
    ]


@pytest.mark.parametrize(("program", "engine", "policy"), runs())
def test_rules(program: str, engine: str, policy: str, tmp_path: Path) -> None:
    path = tmp_path / "run.weft"
    run_example(program, PROGRAMS[program], path, policy, engine)
    trace = weft.read_trace(path)
    assert trace.complete and trace.lost == 0
    assert trace.header.policy == policy and trace.header.engine == engine
    assert trace.disorder == 0, "an effect comes before its cause"

    tasks, segments, events = trace.tasks, trace.segments, trace.events
    for kind, column in (("begin", "began"), ("end", "ended")):
        of_kind = events.filter(pl.col("kind") == kind)["a"]
        assert of_kind.n_unique() == len(of_kind), f"a task has two {kind}s"
        assert tasks[column].null_count() == 0, f"a task has no {kind}"
    assert tasks["spawned"].null_count() == 0 and tasks["own"].null_count() == 0
    assert tasks["task"].n_unique() == len(tasks)
    assert (tasks["spawned"] <= tasks["began"]).all() and (tasks["began"] <= tasks["ended"]).all()

    stretches = pl.concat([segments.select("worker", "begin", "end"), trace.idle.select("worker", "begin", "end")])
    ordered = stretches.sort("worker", "begin", "end")
    before = ordered.select(pl.col("end").shift(1).over("worker"))["end"]
    assert (ordered["begin"] >= before).drop_nulls().all(), "a worker does two things at a time"
    ordered = segments.sort("task", "begin")
    before = ordered.select(pl.col("end").shift(1).over("task"))["end"]
    assert (ordered["begin"] >= before).drop_nulls().all(), "a task runs in two places at a time"

    ran = segments.join(tasks.select("task", "began", "ended"), on="task", how="left")
    assert ((ran["begin"] >= ran["began"]) & (ran["end"] <= ran["ended"])).all()
    sums = segments.group_by("task").agg((pl.col("end") - pl.col("begin")).sum().alias("ran"))
    both = tasks.join(sums, on="task", how="left").with_columns(pl.col("ran").fill_null(0))
    assert (both["own"] == both["ran"]).all()
    assert trace.work == tasks["own"].sum()

    elapsed = trace.last - trace.first
    assert 0 < trace.span <= min(elapsed, trace.work)
    assert trace.work <= elapsed * trace.header.workers

    for stream in events.filter(pl.col("kind") != "ready").partition_by("stream"):
        assert stream["at"].is_sorted()
