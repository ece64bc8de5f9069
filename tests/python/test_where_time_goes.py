"""Where the time of a program went: `total` of reports, the summary of `weft run` and what it prints."""

from __future__ import annotations

import io
import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from conftest import EXAMPLES
from rich.console import Console
from weft.cli.runtime import print_runtime
from weft.errors import Error
from weft.launcher import Run, launch
from weft.report import Report, WorkerReport, read_report
from weft.summary import _with_overhead, summarise_runtime
from weft.why.evidence import timing_of

pytestmark = pytest.mark.usefixtures("no_settings")

COUNTS = {"tasks": 4, "steals": 1, "exposures": 2}
WORKER = {"busy": 0.5, "search": 0.1, "asleep": 0.2, "on_core": 0.2, "waiting": 0.1, "blocked": 0.2, "uncertain": 0.01}
UNDIVIDED = {key: WORKER[key] for key in ("busy", "search", "asleep")}
NOTE = "20 % of the time was outside of runs: serial code"


def made(folder: Path, total: dict[str, Any] | None = None, **changed: Any) -> Report:
    """A report of 1200 runs of two workers, of which two are in it; `changed`: keys of `total`."""
    run = {"machine": "here", "policy": "steal", "engine": "threads", "seed": 1, "seconds": 0.2}
    run |= {"workers": [COUNTS | {"busy": 0.1, "search": 0.05, "asleep": 0.05}] * 2}
    known = {"seconds": 1.0, "in_runs": 0.8, "outside": 0.19, "outside_cpu": 0.18, "recording": 0.01}
    known |= {"divided": "yes", "workers": [COUNTS | WORKER] * 2, "notes": [NOTE]}
    path = folder / "report.json"
    path.write_text(json.dumps({"runs": [run, run], "runs_ended": 1200, "total": (total or known) | changed}))
    report = read_report(path)
    assert report
    return report


def printed(report: Report) -> str:
    console = Console(file=io.StringIO(), width=200)
    print_runtime(console, summarise_runtime(report))
    file = console.file
    assert isinstance(file, io.StringIO)
    return file.getvalue()


def test_the_total_has_all_runs(tmp_path: Path) -> None:
    summary = summarise_runtime(made(tmp_path))
    assert (summary.runs, summary.runs_told, summary.seconds) == (1200, 1200, 0.8)
    assert (summary.span_seconds, summary.outside, summary.outside_cpu, summary.divided) == (1.0, 0.19, 0.18, "yes")
    assert summary.notes == (NOTE,)
    for w in summary.workers:
        assert (w.on_core, w.waiting, w.blocked, w.uncertain) == (0.2, 0.1, 0.2, 0.01)


def test_making_reports_is_no_time_of_the_program(tmp_path: Path) -> None:
    run = Run(("./solver",), 0, 1.25, 2.0, (made(tmp_path, recording=0.2, seconds=1.19),), False, False, ())
    timing = timing_of(run)
    assert timing and timing.seconds == pytest.approx(1.05) and timing.from_first_to_last == pytest.approx(0.99)


def test_what_auto_has_chosen_is_printed(tmp_path: Path) -> None:
    place = {
        "place": "solve",
        "policy": "static",
        "state": "decided",
        "why": "steal took 1.20 times as long",
        "runs": 9,
        "comparisons": 3,
    }
    choices = {"places": [place], "memory": "kept in /here"}
    text = printed(made(tmp_path, choices=choices))
    assert "chosen       static for solve: decided; 9 runs, 3 comparisons" in text
    assert "             steal took 1.20 times as long" in text and "memory       kept in /here" in text
    assert "chosen" not in printed(made(tmp_path))


def test_what_is_printed(tmp_path: Path) -> None:
    text = printed(made(tmp_path))
    assert "outside      190 ms between runs, 19.0% of 1" in text and f"note: {NOTE}" in text
    header = next(line for line in text.splitlines() if line.startswith("worker"))
    for name in ("busy", "on core", "waiting", "blocked", "search", "asleep"):
        assert name in header
    row = text.splitlines()[-1]
    assert row.split()[:7] == ["1", "62.5%", "25.0%", "12.5%", "25.0%", "12.5%", "25.0%"]


def test_what_is_unknown_is_not_printed_as_a_number(tmp_path: Path) -> None:
    no_queue = made(tmp_path, divided="without waiting", workers=[COUNTS | WORKER | {"waiting": None}] * 2)
    assert printed(no_queue).splitlines()[-1].split()[:5] == ["1", "62.5%", "25.0%", "-", "25.0%"]
    text = printed(made(tmp_path, divided="no: preemption", workers=[COUNTS | UNDIVIDED] * 2))
    assert "on core" not in text and "blocked" not in text


def test_a_library_that_does_not_say(tmp_path: Path) -> None:
    report = made(tmp_path)
    old = summarise_runtime(Report(report.runs, report.runs_ended))
    assert old.outside is None and old.runs_told == 2 and old.seconds == pytest.approx(0.4)
    assert old.notes == ("only 2 of 1200 runs are in these figures",)
    assert "outside" not in printed(Report(report.runs, report.runs_ended))


@pytest.mark.parametrize(
    "total",
    [{"seconds": 1.0}, {"workers": []}, {"workers": [COUNTS | WORKER]}, {"notes": 3}, {"workers": [WORKER] * 2}],
)
def test_damaged_totals(total: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(Error, match="no report, or a damaged one"):
        if "seconds" in total:
            made(tmp_path, total)
        else:
            made(tmp_path, **total)


@pytest.mark.parametrize("overhead", [0.0, 0.1, 0.2, 0.3, 0.45, 0.5, 0.9])
@pytest.mark.parametrize("waiting", [0.1, None])
def test_the_overhead_of_a_trace_is_taken_from_the_parts(overhead: float, waiting: float | None) -> None:
    blocked = 0.2 if waiting is not None else 0.3
    before = WorkerReport(0.5, 0.1, 0.2, None, 1, 0, 0, on_core=0.2, waiting=waiting, blocked=blocked, uncertain=0.0)
    w = _with_overhead(before, overhead)
    assert w.overhead == min(overhead, 0.5) and w.busy + w.overhead == pytest.approx(0.5)
    assert w.on_core is not None and w.blocked is not None and (w.waiting is None) == (waiting is None)
    parts = (w.on_core, w.waiting or 0.0, w.blocked)
    assert sum(parts) == pytest.approx(w.busy) and min(parts) >= 0


def test_a_real_program() -> None:
    run = launch([EXAMPLES / "fib", "--n", "18"], workers=2, stdout=subprocess.DEVNULL).check()
    (report,) = run.reports
    total = report.total
    assert total and total.in_runs + total.outside + total.recording == pytest.approx(total.seconds, abs=1e-6)
    assert total.divided in ("yes", "without waiting") and len(total.workers) == 2
    for w in total.workers:
        assert w.busy + w.search + w.asleep == pytest.approx(total.in_runs, abs=1e-6)
        assert (w.on_core or 0) + (w.waiting or 0) + (w.blocked or 0) == pytest.approx(w.busy, abs=1e-6)
