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
from conftest import EXAMPLES, SOURCE, called, command
from weft.machine_checks import check_file, read_checks, run_checks

FIB = [str(EXAMPLES / "fib"), "--n", "16"]
SYNTHETIC = "numa:4 core:8 pu:1"


@pytest.fixture(autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch, no_settings: None) -> None:
    # One for all tests of this file: this machine is measured once.
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.getbasetemp() / "cache-of-machines"))
    monkeypatch.delenv("WEFT_MACHINES", raising=False)


def told(*arguments: str, **variables: str) -> Any:
    done = called(arguments[0], "--json", *arguments[1:], **variables)
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
    rows = list(csv.DictReader(io.StringIO(called("machines", "--csv", **variables).stdout)))
    assert {row["name"] for row in rows} == set(by_name)
    assert next(row for row in rows if row["name"] == "mine")["cores"] == "6"
    table = called("machines", **variables).stdout
    assert all(name in table for name in by_name)


def test_one_of_them() -> None:
    shown = called("machines", SYNTHETIC)
    assert shown.returncode == 0 and "memory_node.latency_ns" in shown.stdout and "typical" in shown.stdout
    figures = {f["figure"]: f for f in told("machines", SYNTHETIC)["figures"]}
    assert figures["core_class.frequency_mhz"] == {
        "figure": "core_class.frequency_mhz",
        "value": 3000.0,
        "source": "typical",
    }
    rows = list(csv.DictReader(io.StringIO(called("machines", SYNTHETIC, "--csv").stdout)))
    assert {row["figure"]: row["source"] for row in rows} == {name: f["source"] for name, f in figures.items()}


def test_defaults_are_told_of() -> None:
    ran = called("sim", "--machine", SYNTHETIC, "--", *FIB)
    assert ran.returncode == 0, ran.stderr
    assert "note: typical figures, not of this machine: core_class.frequency_mhz, " in ran.stderr
    assert "charges (13)" in ran.stderr


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
    done = called("machines", *arguments)
    assert done.returncode == 2 and says in done.stderr and done.stderr.count("\n") == 1


# ---- absolute figures against published ones


def test_every_list_of_checks_is_of_a_machine_with_a_page() -> None:
    readme = (SOURCE / "machines/README.md").read_text(encoding="utf-8")
    for path in (SOURCE / "machines/checks").glob("*.toml"):
        assert read_checks(path)
        assert (SOURCE / "machines" / path.name).is_file()
        assert (SOURCE / f"machines/{path.stem}.md").is_file()
        assert f"({path.stem}.md)" in readme


def test_loads_of_the_opteron_take_what_is_published() -> None:
    machine_file = SOURCE / "machines/opteron-8380-4x4.toml"
    loads = [c for c in read_checks(check_file(machine_file)) if c.id.startswith("load-")]
    results = run_checks(machine_file, loads, EXAMPLES)
    assert [r.check.id for r in results] == ["load-near", "load-neighbour", "load-across"]
    assert all(r.agrees for r in results), results
    near, neighbour, across = (r.ours for r in results)
    assert near and neighbour and across and near < neighbour < across


CHECK = """
[[check]]
id = "load"
what = "a load: ns"
figure = {figure}
source = "T. Ester"
metric = "ns_a_miss"
program = "stream"
arguments = "--kernel chase --kbytes 16384 --sweeps 2"
workers = 1
"""


@pytest.fixture
def checked(tmp_path: Path) -> Path:
    (tmp_path / "checks").mkdir()
    machine = tmp_path / "mine.toml"
    machine.write_text(
        "name = 'mine'\n[[core_class]]\nname = 'c'\nfrequency_mhz = 1000\n[regular]\ncores_per_domain = 2\n"
        "[[memory_node]]\nlatency_ns = 100\n[[cache]]\nlevel = 1\nbytes = '32 KiB'\n",
        encoding="utf-8",
    )
    return machine


def test_a_check_agrees_or_is_explained_or_fails(checked: Path) -> None:
    def check(content: str) -> tuple[int, Any]:
        (checked.parent / "checks/mine.toml").write_text(content, encoding="utf-8")
        done = called("machines", str(checked), "--check", "--examples", str(EXAMPLES), "--json")
        return done.returncode, json.loads(done.stdout) if done.stdout else done.stderr

    status, (result,) = check(CHECK.format(figure=100))
    assert status == 0 and result["agrees"] and result["ours"] == pytest.approx(100, rel=0.02)
    for figure in (60, 170):  # too slow, and too fast
        status, (result,) = check(CHECK.format(figure=figure))
        assert status == 1 and not result["agrees"]
        status, (result,) = check(CHECK.format(figure=figure) + 'explanation = "an experiment"\n')
        assert status == 0 and not result["agrees"] and result["verdict"].endswith("explained")
        status, (result,) = check(CHECK.format(figure=figure) + 'tried = "an experiment"\n')
        assert status == 1 and not result["agrees"] and result["verdict"].endswith("not explained")
    status, (result,) = check(CHECK.format(figure=100).replace("stream", "no-such-program"))
    assert status == 1 and result["ours"] is None and result["refused"]
    shown = called("machines", str(checked), "--check", "--examples", str(EXAMPLES))
    assert shown.returncode == 1 and "did not run" in shown.stdout


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("figure = 100", "figure = 0"), "figure out of range"),
        (("figure = 100", "figure = '100'"), "wrong type of figure"),
        (("ns_a_miss", "beauty"), "unknown metric"),
        (('what = "a load: ns"\n', ""), "missing keys; given: what"),
        (("workers = 1", "colour = 1"), "unknown key; given: colour"),
        (("[[check]]", "[check]"), "not a list of checks"),
        (("workers = 1", "workers = 1\n" + CHECK.format(figure=1)), "two checks have one id"),
        (("[[check]]", "[[check"), "not TOML"),
        (("workers = 1", "explanation = 'known'\ntried = 'nothing'"), "explained, and not"),
    ],
)
def test_wrong_checks_are_refused(checked: Path, change: tuple[str, str], said: str) -> None:
    path = checked.parent / "checks/mine.toml"
    path.write_text(CHECK.format(figure=100).replace(*change), encoding="utf-8")
    done = called("machines", str(checked), "--check", "--examples", str(EXAMPLES))
    assert done.returncode == 1 and said in done.stderr, done.stderr


def test_checks_that_are_not_there(tmp_path: Path) -> None:
    done = called("machines", "hikey960", "--check", "--examples", str(EXAMPLES))
    assert done.returncode == 1 and "no checks for this machine" in done.stderr
    for arguments in (("--check",), ("hikey960", "--check", "--toml"), ("hikey960", "--examples", str(tmp_path))):
        assert called("machines", *arguments).returncode == 2
