"""Machines by name, and machines without a hand-written cost."""

from __future__ import annotations

import csv
import io
import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
import weft
from conftest import EXAMPLES, SOURCE, command

FIB = [str(EXAMPLES / "fib"), "--n", "16"]
SYNTHETIC = "numa:4 core:8 pu:1"


@pytest.fixture(autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch, no_settings: None) -> None:
    # One for all tests of this file: this machine is measured once.
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.getbasetemp() / "cache-of-machines"))
    monkeypatch.delenv("WEFT_MACHINES", raising=False)


def told(*arguments: str, **variables: str) -> Any:
    done = command(arguments[0], "--json", *arguments[1:], **variables)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_names_are_found_everywhere() -> None:
    assert weft.machine("opteron-8380-4x4") == weft.machine(str(SOURCE / "machines/opteron-8380-4x4.toml"))
    named = told("sim", "--machine", "hikey960", "--", *FIB)
    assert named["runtimes"][0]["machine"] == "hikey960"
    found = told("compare", "--no-here", "--machines", f"hikey960,{SYNTHETIC}", "--policies", "near", "--", *FIB)
    assert {row["place"]["name"] for row in found["rows"]} == {"hikey960", SYNTHETIC}
    run = weft.launch(FIB, engine="model", machine="hikey960", stdout=subprocess.DEVNULL).check()
    assert run.reports[0].runs[0].machine == "hikey960"


def test_a_program_gets_the_path_of_a_name_that_only_the_tools_know(tmp_path: Path) -> None:
    shown = tmp_path / "shown"
    for machine, environment in ((("hikey960"), {}), (None, {"WEFT_MACHINE": "hikey960"})):
        weft.launch(["sh", "-c", f"echo $WEFT_MACHINE > {shown}"], machine=machine, environment=environment)
        assert shown.read_text(encoding="utf-8").strip() == str(SOURCE / "machines/hikey960.toml")


def test_the_list(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(
        "name = 'mine'\n[regular]\npackages = 2\ncores_per_domain = 3\n", encoding="utf-8"
    )
    (tmp_path / "broken.toml").write_text("name = \n", encoding="utf-8")
    variables = {"WEFT_MACHINES": str(tmp_path)}
    by_name = {m["name"]: m for m in told("machines", **variables)}
    assert set(by_name) == {"this", "mine", "broken", *(p.stem for p in (SOURCE / "machines").glob("*.toml"))}
    opteron = by_name["opteron-8380-4x4"]
    assert (opteron["cores"], opteron["sockets"], opteron["nodes"]) == (16, 4, 4)
    assert opteron["figures"]["file"] >= 8 and opteron["calibrated_on"] is None
    assert Path(opteron["path"]) == SOURCE / "machines/opteron-8380-4x4.toml"
    assert (by_name["mine"]["cores"], by_name["mine"]["sockets"], by_name["mine"]["nodes"]) == (6, 2, 2)
    assert "broken.toml" in by_name["broken"]["error"]
    rows = list(csv.DictReader(io.StringIO(command("machines", "--csv", **variables).stdout)))
    assert {row["name"] for row in rows} == set(by_name)
    assert next(row for row in rows if row["name"] == "mine")["cores"] == "6"
    table = command("machines", **variables).stdout
    assert all(name in table for name in by_name)


def test_one_of_them() -> None:
    shown = command("machines", SYNTHETIC)
    assert shown.returncode == 0 and "memory_node.latency_ns" in shown.stdout and "typical" in shown.stdout
    figures = {f["figure"]: f for f in told("machines", SYNTHETIC)["figures"]}
    assert figures["core_class.frequency_mhz"] == {
        "figure": "core_class.frequency_mhz",
        "value": 3000.0,
        "source": "typical",
    }
    rows = list(csv.DictReader(io.StringIO(command("machines", SYNTHETIC, "--csv").stdout)))
    assert {row["figure"]: row["source"] for row in rows} == {name: f["source"] for name, f in figures.items()}


def test_defaults_are_told_of() -> None:
    ran = command("sim", "--machine", SYNTHETIC, "--", *FIB)
    assert ran.returncode == 0, ran.stderr
    assert "note: typical figures, not of this machine: core_class.frequency_mhz, " in ran.stderr
    assert "charges (12)" in ran.stderr


def test_this_machine_is_measured_once_and_can_be_taken_along(tmp_path: Path) -> None:
    first = command("sim", "--costs", "declared", "--", *FIB)
    assert first.returncode == 0 and "measured here on " in first.stderr, first.stderr
    again = told("sim", "--costs", "declared", "--machine", "this", "--", *FIB)
    written = command("machines", "this", "--toml")
    assert written.returncode == 0 and "measuring" not in written.stderr
    file = tmp_path / "my.toml"
    file.write_text(written.stdout, encoding="utf-8")
    elsewhere = told("sim", "--costs", "declared", "--machine", str(file), "--", *FIB)
    seconds = [one["runtimes"][0]["seconds"] for one in (again, elsewhere)]
    assert seconds[0] == seconds[1] > 0
    here = next(m for m in told("machines") if m["name"] == "this")
    assert here["calibrated_on"] and here["figures"]["calibrated"] >= 10


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["opteron-8380-4x5"], "did you mean 'opteron-8380-4x4'?"),
        (["--toml"], "no machine; given: --toml or --measure alone"),
        (["hikey960", "--measure"], "only this machine can be measured; given: hikey960; allowed: this"),
        (["hikey960", "--json", "--csv"], "several forms of output"),
    ],
)
def test_mistakes(arguments: list[str], says: str) -> None:
    done = command("machines", *arguments)
    assert done.returncode == 2 and says in done.stderr and done.stderr.count("\n") == 1
