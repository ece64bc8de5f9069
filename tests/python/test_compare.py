"""weft compare: what is run, the figures, the table and the picture."""

from __future__ import annotations

import csv
import io
import json
import os
import sys
from pathlib import Path

import pytest
import weft as package
from conftest import EXAMPLES, MACHINE, SOURCE
from hypothesis import given
from hypothesis import strategies as st
from terminal import on_a_terminal
from weft import cli
from weft.cli.compare import split_policies
from weft.compare import Spread, compare
from weft.launcher import LaunchError

pytestmark = pytest.mark.usefixtures("no_settings")

FIB = [str(EXAMPLES / "fib"), "--n", "15"]
HEAT = [str(EXAMPLES / "heat2d"), "--rows", "100", "--cols", "60", "--sweeps", "4", "--leaf-rows", "8"]
OTHER_MACHINE = SOURCE / "machines/hikey960.toml"
BUILD = Path(os.environ.get("WEFT_TEST_BUILD", SOURCE / "build/dev"))
PICKY = f"{BUILD}/tests/policy_module/pair.so:picky"
"""A policy that refuses every machine."""


def test_all_policies_here() -> None:
    found = compare(FIB, repeat=2, workers=2)
    assert [(p.name, p.virtual) for p in found.places] == [("here", False)]
    baseline, *rows = found.at(found.places[0])
    assert (baseline.policy, baseline.workers, baseline.speedup) == ("steal", 1, 1.0)
    assert [row.policy for row in rows] == [p.name for p in package.policies()]
    modelled_only = {row.policy: row.refused for row in rows if row.refused}
    assert set(modelled_only) == {"acs", "bis"}
    assert all("runs on modelled machines only" in why for why in modelled_only.values())
    for row in rows:
        if row.policy in modelled_only:
            continue
        assert row.workers == 2 and row.seconds and not row.exact
        assert row.seconds.count == 2 and row.speedup and row.busy is not None and 0 <= row.busy <= 1
        assert row.seconds.min <= row.seconds.q1 <= row.seconds.median <= row.seconds.q3 <= row.seconds.max
        assert baseline.seconds and row.speedup == pytest.approx(baseline.seconds.median / row.seconds.median)


def test_modelled_places_are_the_same_each_time() -> None:
    steps: list[tuple[str, float]] = []
    machines = [str(MACHINE), str(OTHER_MACHINE)]

    def once(**more: object) -> object:
        return compare(HEAT, policies=["near", "share"], machines=machines, here=False, repeat=3, seed=4, **more)  # type: ignore[arg-type]

    found = once(step=lambda what, part: steps.append((what, part)))
    assert found == once()
    assert len(steps) == 2 * 3 * 3 and steps[0] == ("steal on opteron-8380-4x4", 0)
    assert [part for _, part in steps] == sorted(part for _, part in steps) and steps[-1][1] < 1


def test_rows_of_modelled_places() -> None:
    found = compare(HEAT, policies=["near"], machines=[str(MACHINE)], here=False, repeat=3)
    (place,) = found.places
    assert place.virtual and place.name == "opteron-8380-4x4"
    baseline, near = found.at(place)
    assert near.exact and near.seconds and near.seconds.count == 1 and near.workers == 16 and baseline.workers == 1
    assert near.speedup and 0 < near.speedup <= 16


def test_the_place_of_this_process_is_no_other_ones(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name, value in {
        "WEFT_ENGINE": "model",
        "WEFT_MACHINE": str(OTHER_MACHINE),
        "WEFT_COSTS": "declared",
        "WEFT_TRACE": str(tmp_path / "run.weft"),
    }.items():
        monkeypatch.setenv(name, value)
    found = compare(FIB, policies=["share"], machines=[str(MACHINE)], repeat=1, workers=2)
    assert [p.name for p in found.places] == ["here", "opteron-8380-4x4"]
    assert all(not row.refused for row in found.rows)
    assert list(tmp_path.iterdir()) == []


def test_what_does_not_run_has_a_reason() -> None:
    found = compare(FIB, policies=["nera", "chaos:hold=50,of=share", "near:tries=0"], repeat=1, workers=2)
    nera, chaos, near = found.at(found.places[0])[1:]
    assert "unknown policy, did you mean 'near'?; given: 'nera'; allowed: serial, " in nera.refused
    assert chaos.refused == "" and chaos.seconds
    assert "1..1000" in near.refused and near.seconds is None and near.workers is None


def test_policies_without_a_value_for_a_knob_are_not_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    knob = package.Knob("tree", "", "a file", "The tree to replay.")
    monkeypatch.setattr(
        package.library,
        "policies",
        lambda: [*package.policies()[:2], package.PolicyInfo("constrained", "", "", "", "", (knob,))],
    )
    found = compare(FIB, repeat=1, workers=1)
    assert [(row.policy, row.refused) for row in found.rows[1:]] == [
        ("serial", ""),
        ("steal", ""),
        ("constrained", "needs a value for tree"),
    ]


@pytest.mark.parametrize(
    ("program", "says"),
    [
        (["true"], "with 1 worker of steal: the program has made no runtime of Weft; given: true"),
        (["sh", "-c", "echo out of luck >&2; exit 3"], "with 1 worker of steal: out of luck"),
        (["false"], "with 1 worker of steal: the program ended with status 1"),
        (["nonesuch"], "cannot be started"),
    ],
)
def test_programs_that_do_not_run_at_all(program: list[str], says: str) -> None:
    with pytest.raises(LaunchError, match=says):
        compare(program, policies=["near"], repeat=1)


def test_a_limit_of_time() -> None:
    with pytest.raises(LaunchError, match="the time that it was given"):
        compare(["sleep", "50"], policies=["near"], repeat=1, timeout=0.1)


@given(st.lists(st.floats(min_value=1e-9, max_value=1e3), min_size=1, max_size=30))
def test_spread(values: list[float]) -> None:
    s = Spread.of(values)
    assert s.count == len(values) and s.min == min(values) and s.max == max(values)
    slack = 1e-12 * s.max
    assert s.min - slack <= s.q1 <= s.median + slack and s.median - slack <= s.q3 <= s.max + slack


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("steal,near", ["steal", "near"]),
        ("chaos:hold=50,of=steal:zone=reported,near:tries=2", ["chaos:hold=50,of=steal:zone=reported", "near:tries=2"]),
        (" steal , ,near", ["steal", "near"]),
        ("", []),
    ],
)
def test_lists_of_policies(text: str, names: list[str]) -> None:
    assert split_policies(text) == names


# ---- the command


def test_table_and_picture(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    pictures = [tmp_path / name for name in ("a.svg", "b.svg", "c.png")]
    for picture in pictures:
        machines = f"{MACHINE},{OTHER_MACHINE}"
        arguments = ["--machines", machines, "--no-here", "--policies", f"near,{PICKY}", "-o", picture]
        assert cli.run(["compare", *map(str, arguments), "--", *HEAT]) == 0
    out, err = capfd.readouterr()
    assert err == "" and "\x1b" not in out
    for word in ("opteron-8380-4x4 (modelled, virtual times), 16 workers", "hikey960", "speed-up", "steal, 1 worker"):
        assert word in out
    assert f"{PICKY}: did not run: error: " in out
    texts = [p.read_bytes() for p in pictures]
    assert texts[0] == texts[1] and texts[2][:4] == b"\x89PNG"
    for word in (b"near", b"did not run", b"opteron-8380-4x4", b"speed-up over 1 worker of steal"):
        assert word in texts[0]


def test_json(capfd: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["compare", "--json", "--repeat", "1", "--workers", "2", "--policies", "share", "--", *FIB]) == 0
    told = json.loads(capfd.readouterr().out)
    assert told["command"] == FIB and [row["policy"] for row in told["rows"]] == ["steal", "share"]
    assert told["rows"][1]["place"] == {"name": "here", "spec": None}


def test_csv_of_several_numbers_of_workers(capfd: pytest.CaptureFixture[str]) -> None:
    arguments = ["--csv", "--workers", "1,2,1", "--policies", "share,serial", "--no-here", "--machines", str(MACHINE)]
    assert cli.run(["compare", *arguments, "--", *HEAT]) == 0
    lines = list(csv.DictReader(io.StringIO(capfd.readouterr().out)))
    assert [(line["policy"], line["workers"]) for line in lines] == [
        ("steal", "1"),
        ("share", "1"),
        ("share", "2"),
        ("serial", "1"),
        ("serial", "2"),
    ]
    assert all(float(line["seconds_median"]) > 0 and line["refused"] == "" for line in lines)
    assert float(lines[2]["speedup"]) > 1.2


def test_table_of_several_numbers_of_workers(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    picture = tmp_path / "a.svg"
    arguments = ["--workers", "1,2", "--policies", "share", "--no-here", "--machines", str(MACHINE), "-o", str(picture)]
    assert cli.run(["compare", *arguments, "--", *HEAT]) == 0
    out = capfd.readouterr().out
    assert "share, 1 worker " in out and "share, 2 workers " in out and "16 workers" not in out
    assert b"share, 2 workers" in picture.read_bytes()


@pytest.mark.parametrize(
    ("arguments", "status", "says"),
    [
        (["--policies", ",", "--", "true"], 2, "no policy"),
        (["--no-here", "--", "true"], 2, "nowhere to run"),
        (["--machines", "hikey961", "--", "true"], 2, "did you mean 'hikey960'?; given: 'hikey961'"),
        (["--machines", "none.toml", "--", "true"], 2, "none.toml"),
        (["-o", "a.pdf", "--", "true"], 2, "allowed: *.svg, *.png"),
        (["--repeat", "0", "--", "true"], 2, "--repeat"),
        (["--", "true"], 1, "has made no runtime of Weft"),
        (["--policies", "near:tries=0", "--", "never-run"], 2, "bad value of knob 'tries'"),
        (["--policies", PICKY, "--repeat", "1", "--", *FIB], 1, "ran under none of the policies"),
        (["--policies", "share,nera", "--", "never-run"], 2, "did you mean 'near'?; given: 'nera'; allowed: serial, "),
        (["--workers", "1,x", "--", "true"], 2, "numbers from 1 with commas between them"),
        (["--workers", "0", "--", "true"], 2, "numbers from 1"),
        (["--json", "--csv", "--", "true"], 2, "one of them"),
        ([], 2, "Missing argument"),
    ],
)
def test_mistakes(capfd: pytest.CaptureFixture[str], arguments: list[str], status: int, says: str) -> None:
    assert cli.run(["compare", *arguments]) == status
    err = capfd.readouterr().err
    assert says in err and err.count("\n") == 1


def test_progress_is_on_terminals() -> None:
    command = [sys.executable, "-m", "weft", "compare", "--repeat", "1", "--policies", "share", "--", *FIB]
    status, got = on_a_terminal(command)
    assert status == 0 and b"left" in got and "━".encode() in got and b"share" in got


def test_ctrl_c() -> None:
    sent = False

    def interrupt(terminal: int, so_far: bytes) -> None:
        nonlocal sent
        if b"steal on here" in so_far and not sent:
            sent = True
            os.write(terminal, b"\x03")

    command = [sys.executable, "-m", "weft", "compare", "--", FIB[0], "--n", "60"]
    status, got = on_a_terminal(command, then=interrupt)
    assert status == 1 and b"Traceback" not in got and b"weft: interrupted" in got
