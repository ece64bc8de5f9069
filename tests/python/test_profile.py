"""The reader of profiles and `weft profile`."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from conftest import EXAMPLES
from weft.errors import Error
from weft.profile import burden_of, read_profile


def write(path: Path, **changes: Any) -> Path:
    path.write_text(
        json.dumps(
            {
                "command": ["./solver"],
                "began": 0.0,
                "complete": True,
                "tasks": 30,
                "work_ns": 1_000_000,
                "span_ns": 100_000,
                "outside_ns": 50_000,
                "estimated": {"ns": 400_000, "forks": 9, "tasks": 20},
                "burdened": [
                    {"burden_ns": 1000, "span_ns": 110_000},
                    {"burden_ns": 8000, "span_ns": 180_000},
                    {"burden_ns": 64000, "span_ns": 500_000},
                ],
                "constructs": {
                    "1": {"tasks": 20, "own_ns": 600_000, "longest_ns": 50_000, "work_ns": 600_000, "span_ns": 60_000},
                    "2": {"tasks": 10, "own_ns": 350_000, "longest_ns": 9_000, "work_ns": 900_000, "span_ns": 90_000},
                },
                "path": [
                    {"construct": 255, "pieces": 2, "ns": 50_000, "longest_ns": 30_000},
                    {"construct": 1, "pieces": 1, "ns": 50_000, "longest_ns": 50_000},
                ],
                "names": {"1": "sweep", "2": "solve"},
                "places": {},
            }
            | changes
        )
    )
    return path


def test_constructs_are_in_the_order_of_the_path(tmp_path: Path) -> None:
    p = read_profile(write(tmp_path / "p.json"))
    assert [(c.name, c.on_path, c.own) for c in p.constructs] == [
        ("sweep", 50_000, 600_000),
        ("(outside of runs)", 50_000, 50_000),
        ("solve", 0, 350_000),
    ]
    assert p.parallelism == 10


def test_functions_of_one_name_are_one_construct(tmp_path: Path) -> None:
    p = read_profile(write(tmp_path / "p.json", names={"1": "same", "2": "same"}))
    (same,) = [c for c in p.constructs if c.name == "same"]
    assert (same.tasks, same.own, same.work, same.span) == (30, 950_000, 900_000, 90_000)


@pytest.mark.parametrize(("burden", "span"), [(0, 100_000), (500, 105_000), (4500, 145_000), (64_000, 500_000)])
def test_spans_between_burdens_lie_on_lines(tmp_path: Path, burden: float, span: float) -> None:
    assert read_profile(write(tmp_path / "p.json")).span_under(burden) == pytest.approx(span)


def test_no_span_is_longer_than_the_work(tmp_path: Path) -> None:
    assert read_profile(write(tmp_path / "p.json")).span_under(1e9) == 1_000_000


def test_speed_up_is_bounded_by_work_and_span(tmp_path: Path) -> None:
    p = read_profile(write(tmp_path / "p.json"))
    assert p.speedup(4, 1000) == (pytest.approx(1e6 / (250_000 + 1.7 * 110_000)), 4)
    assert p.speedup(64, 1000)[1] == 10
    assert p.speedup(2, 64_000) == (1, 2)  # one core does it alone


def test_the_burden_is_the_longest_steal_with_a_wake_up() -> None:
    figures = {"steal.same_domain_ns": 100.0, "steal.across_ns": 400.0, "charges.wake_ns": 9000.0}
    figures |= {"charges.woken_ns": 28000.0, "charges.start_ns": 58.0, "charges.suspend_ns": 56.0}
    machine = {"figures": [{"figure": f, "value": v} for f, v in figures.items()]}
    assert burden_of(machine) == 400 + 9000 + 28000 + 58 + 56


def test_what_is_estimated_is_said(tmp_path: Path) -> None:
    path = write(tmp_path / "p.json")
    command = [sys.executable, "-m", "weft", "profile", "--read", str(path)]
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "40.0% of the work is in forks of a few microseconds" in " ".join(shown.split())
    found = json.loads(subprocess.run([*command, "--json"], capture_output=True, text=True, check=True).stdout)
    assert found["estimated_ns"] == 400_000
    write(path, estimated={"ns": 9_000, "forks": 9, "tasks": 20})
    assert "estimated" not in subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_a_profile_of_an_earlier_version_has_no_estimates(tmp_path: Path) -> None:
    path = write(tmp_path / "p.json")
    path.write_text(json.dumps({k: v for k, v in json.loads(path.read_text()).items() if k != "estimated"}))
    assert read_profile(path).estimated == 0


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"command": 3}'])
def test_what_is_no_profile_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "p.json"
    path.write_text(text)
    with pytest.raises(Error, match="no profile"):
        read_profile(path)


@pytest.mark.usefixtures("no_settings")
def test_the_command_profiles_a_program() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "weft", "profile", "--json", "--", EXAMPLES / "fib", "--n", "22"],
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["complete"] and found["tasks"] > 1
    assert found["span_ns"] <= found["machine"]["burdened_span_ns"] <= found["work_ns"]
    assert [s["cores"] for s in found["speedup"]] == [2, 4, 8, 16, 32, 64, 128, 256]
    assert all(1 <= s["at_least"] <= s["at_most"] <= s["cores"] for s in found["speedup"])
    on_path = sum(c["on_path"] for c in found["constructs"])
    assert on_path == pytest.approx(found["span_ns"], rel=0.001)
