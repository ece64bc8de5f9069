"""The command: its output, its exit status, its message of one line for a mistake."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from conftest import COPY_COMPUTE, CORE_I7, EXAMPLES, MACHINE, SOURCE, called, command, run_example
from weft import read_trace
from weft.cli import run
from weft.trace.stats import stats
from writing import TraceFile


def weft(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    status = run([str(a) for a in arguments])
    return (status, *capsys.readouterr())


def test_stats(capsys: pytest.CaptureFixture[str], modelled: Path) -> None:
    status, out, err = weft(capsys, "trace", "stats", modelled)
    assert status == 0 and err == ""
    for word in ("work T1", "span Tinf", "parallelism", "distance", "heat2d.cpp:", "virtual"):
        assert word in out
    status, out, _ = weft(capsys, "trace", "stats", modelled, "--json")
    assert status == 0 and len(json.loads(out)["workers"]) == 16


def test_convert(capsys: pytest.CaptureFixture[str], threaded: Path, tmp_path: Path) -> None:
    for to in ("chrome", "perfetto"):
        assert weft(capsys, "trace", "convert", threaded, "--to", to, "-o", tmp_path / to) == (0, "", "")
        assert (tmp_path / to).stat().st_size > 1000


def test_pictures(capsys: pytest.CaptureFixture[str], modelled: Path, threaded: Path, tmp_path: Path) -> None:
    for trace in (modelled, threaded):
        texts = []
        for name in ("a.svg", "b.svg"):
            assert weft(capsys, "trace", "plot", trace, "-o", tmp_path / name) == (0, "", "")
            texts.append((tmp_path / name).read_text(encoding="utf-8"))
        assert "<svg" in texts[0] and texts[0] == texts[1]
    picture = tmp_path / "a.png"
    part = ("--from-us", 120, "--to-us", 200, "--by", "class")
    assert weft(capsys, "trace", "plot", modelled, "-o", picture, *part) == (0, "", "")
    assert picture.read_bytes()[:4] == b"\x89PNG"


def test_a_picture_of_classes_with_odd_names(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Classes named like a state that is no class, like a hidden legend entry, or like half a formula."""
    names = ["asleep", "compute", "_hidden", "$\\half", "</text>"]
    trace = TraceFile(workers=1, policy="$\\bad$").names(**{f"n{i + 1}": name for i, name in enumerate(names)})
    for i in range(len(names)):
        trace.stream(0, (10 * i, "spawn", i + 1, 0, i + 1), (10 * i, "begin", i + 1), (10 * i + 9, "end", i + 1))
    (tmp_path / "run.weft").write_bytes(trace.stream(0, (60, "search"), (70, "sleep"), (80, "wake")).end().bytes())
    assert weft(capsys, "trace", "plot", tmp_path / "run.weft", "-o", tmp_path / "run.svg") == (0, "", "")
    picture = (tmp_path / "run.svg").read_text(encoding="utf-8")
    shown = re.findall(r"<!-- (.*?) -->", picture)
    assert shown[-7:] == ["$\\half", "&lt;/text&gt;", "\u200b_hidden", "asleep", "compute", "search", "asleep"]


def test_times_of_a_picture_begin_at_0_and_end_with_the_last_task(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    trace = TraceFile(workers=1).names(n1="work")
    trace.stream(0, (5_000_000, "spawn", 1, 0, 1), (5_000_000, "begin", 1), (5_400_000, "end", 1))
    trace.stream(0, (5_400_000, "search"), (9_000_000, "sleep"), (9_000_000, "wake"))
    (tmp_path / "run.weft").write_bytes(trace.end().bytes())
    assert weft(capsys, "trace", "plot", tmp_path / "run.weft", "-o", tmp_path / "run.svg") == (0, "", "")
    picture = (tmp_path / "run.svg").read_text(encoding="utf-8")
    times = [int(t) for t in re.findall(r"<!-- (\d+) -->", picture)]
    assert times[:3] == [0, 50, 100] and max(times) == 400, "ticks in us"


def test_topo_and_policies(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = weft(capsys, "topo", MACHINE)
    assert status == 0 and out.startswith("opteron-8380-4x4: 16 ranks on 16 cores in 4 cache domains, 4 packages")
    status, out, _ = weft(capsys, "topo", "--json")
    assert status == 0 and json.loads(out)["modelled"] is False
    status, out, _ = weft(capsys, "policies")
    assert status == 0 and "near" in out and "tries: 1..1000 (4)" in " ".join(out.split())
    status, out, _ = weft(capsys, "policies", "near", "--json")
    assert status == 0 and [p["name"] for p in json.loads(out)] == ["near"]


def test_analyze(capsys: pytest.CaptureFixture[str], contended: tuple[Path, Path], tmp_path: Path) -> None:
    run, serial = contended
    status, out, err = weft(capsys, "analyze", run, "--serial", serial)
    assert status == 0 and err == ""
    for words in (
        "sensitivity",
        "(serial)",
        "less work",
        "at most at a time",
        "best case",
        "Let no more than 1 copy run",
    ):
        assert words in out
    trace = read_trace(run)
    path = {c.name: c.critical for c in stats(trace).classes}
    assert "The longest path takes" in out and max(path.values()) > 0
    for name in ("copy", "compute"):
        (line,) = (line for line in out.splitlines() if line.split()[:1] == [name] and line.endswith("%"))
        assert line.split()[-1] == f"{path[name] / trace.span:.1%}"
    file = tmp_path / "limits.toml"
    status, out, _ = weft(capsys, "analyze", run, "--serial", serial, "--skip", 1, "--json", "-o", file)
    said = json.loads(out)
    assert said["span"] == trace.span == sum(said["critical"].values())
    assert status == 0 and said["phases"] == 1 and said["applied"] is None and said["worthwhile"]
    amounts = {r["name"]: r["amount"] for r in tomllib.loads(file.read_text())["resource"]}
    assert amounts == {"bandwidth": 1} == {r["name"]: r["amount"] for r in tomllib.loads(said["resources"])["resource"]}
    # What the first run of the graph has to do beside, get memory from the system, costs nothing in the model.
    assert said["predictions"][0]["limits"] == {"copy": 1.0} and said["kind"] == "independent"


def test_limits_are_applied(capsys: pytest.CaptureFixture[str], contended: tuple[Path, Path]) -> None:
    run, serial = contended
    analyze = ("analyze", run, "--serial", serial, "--apply", "--machine", CORE_I7)
    program = [str(EXAMPLES / "copy_compute"), *COPY_COMPUTE.split()]
    status, out, _ = weft(capsys, *analyze, "--json", "--", *program)
    applied = json.loads(out)["applied"]
    assert status == 0 and applied["before"] > applied["elapsed"]
    assert abs(applied["error"]) < 0.05 and applied["command"] == program
    status, out, _ = weft(capsys, *analyze, "--", *program)
    assert status == 0 and "Run again under 1 copy" in out
    many = str(SOURCE / "examples/copy_compute/many_copies.toml")
    for words, says in (
        ([*program, "--resources", many], "has not kept to the limit of copy"),
        ([program[0], "--copies", "3"], "did not run as before: tasks"),
        (["/bin/false"], "ended with status 1"),
        (["/bin/true"], "has left no trace"),
        (["/nowhere/program"], "cannot be started"),
    ):
        status, _, err = weft(capsys, *analyze, "--", *words)
        assert status == 1 and says in err and err.count("\n") == 1


def test_limits_by_names_alone(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """interference says nothing of resources: the file gives its classes needs. The paper's example with three
    types."""
    sizes = "--tasks 30 --steps 9000 --turns 1600 --records 800"
    run, limits = tmp_path / "run.weft", tmp_path / "limits.toml"
    run_example("interference", sizes, run, "locality", "model", WEFT_MACHINE=str(CORE_I7))
    kinds = ("--limit", "compute,mutex,read")
    status, out, _ = weft(capsys, "analyze", run, *kinds, "--apply", "--machine", CORE_I7, "-o", limits, "--json")
    said = json.loads(out)
    assert status == 0 and said["predictions"][0]["limits"] == {"compute": 1, "mutex": 1, "read": 2}
    assert abs(said["applied"]["error"]) < 0.05 and said["applied"]["gain"] > 0.15
    assert said["applied"]["command"][1:] == sizes.split(), "the program of the trace, unless another is given"
    assert len(tomllib.loads(limits.read_text())["needs"]) == 3
    status, out, _ = weft(capsys, "analyze", run)
    assert status == 0 and "Let no more than 1 mutex run at a time" in out


def test_help_has_an_example(capsys: pytest.CaptureFixture[str]) -> None:
    commands = [[c] for c in ("run", "sim", "compare", "analyze", "topo", "policies")]
    commands += [["trace", c] for c in ("stats", "convert", "plot", "view")]
    for words in commands:
        status, out, _ = weft(capsys, *words, "--help")
        assert status == 0 and f"Example: weft {' '.join(words)}" in out
    assert weft(capsys)[0] == 2 and weft(capsys, "trace")[0] == 2
    status, out, _ = weft(capsys, "--version")
    assert status == 0 and out.count(".") == 2


@pytest.mark.parametrize(
    ("arguments", "status", "says"),
    [
        (["foo"], 2, "No such command"),
        (["trace", "stats"], 2, "Missing argument"),
        (["trace", "stats", "{none}"], 1, "none.weft cannot be read: No such file"),
        (["trace", "stats", "{text}"], 1, "no trace; given:"),
        (["trace", "convert", "{run}", "--to", "xml", "-o", "{out}"], 2, "'chrome', 'perfetto'"),
        (["trace", "convert", "{run}", "--to", "chrome", "-o", "/nowhere/out"], 1, "/nowhere/out: No such file"),
        (["trace", "plot", "{run}", "-o", "run.pdf"], 2, "allowed: *.svg, *.png"),
        (["trace", "plot", "{run}", "-o", "{out}.svg", "--from-us", "5", "--to-us", "5"], 2, "--from-us below --to-us"),
        (["trace", "plot", "{run}", "-o", "{out}.svg", "--from-us", "1e9"], 1, "an empty stretch of time"),
        (["trace", "plot", "{run}", "-o", "{out}.svg", "--by", "activity"], 1, "no activities"),
        (
            ["analyze", "{run}", "--limit", "bmod,bmo"],
            1,
            "no class that can be limited; given: bmo; allowed: bdiv, bmod",
        ),
        (["analyze", "{run}", "--limit", "bmod,,"], 2, "a class without a name"),
        (["analyze", "{run}", "--serial", "{run}"], 1, "no serial trace; given: 2 workers"),
        (["analyze", "{run}", "--skip", "9"], 1, "the first 9 phases left out"),
        (["analyze", "{run}", "prog"], 2, "a program that is not run; given: prog; allowed: --apply"),
        (["policies", "nera"], 2, "allowed: serial, steal"),
        (["topo", "pack:x"], 1, "not understood; given: 'pack:x'"),
        (["topo", "none.toml"], 1, "none.toml"),
    ],
)
def test_a_mistake_is_one_line(
    capsys: pytest.CaptureFixture[str], threaded: Path, tmp_path: Path, arguments: list[str], status: int, says: str
) -> None:
    (tmp_path / "text.weft").write_text("no trace at all, but a text")
    files = {"run": threaded, "none": tmp_path / "none.weft", "text": tmp_path / "text.weft", "out": tmp_path / "out"}
    code, out, err = weft(capsys, *(a.format(**files) for a in arguments))
    assert code == status and out == ""
    assert says in err and err.count("\n") == 1 and err.startswith("weft: ")


def test_as_a_program(modelled: Path) -> None:
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-m", "weft", "trace", "stats", str(modelled)]
    for arguments, status in ((command, 0), (command[:-1], 2)):
        done = subprocess.run(arguments, env=environment, capture_output=True, text=True, timeout=50, check=False)
        assert done.returncode == status and "Traceback" not in done.stderr


def test_version_is_said_without_loading_the_commands() -> None:
    told = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "weft", "--version"], capture_output=True, text=True, check=True
    )
    assert re.fullmatch(r"\d+\.\d+\.\d+\n", told.stdout)
    loaded = {line.rpartition("|")[2].strip() for line in told.stderr.splitlines()}
    assert "weft._core" in loaded and loaded.isdisjoint({"typer", "numpy", "polars", "weft.cli"})


@pytest.mark.parametrize("arguments", [["run", "--help"], ["sim", "--help"], ["machines"], ["share", "--help"]])
def test_commands_without_tables_load_no_libraries_for_them(arguments: list[str]) -> None:
    told = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "weft", *arguments], capture_output=True, text=True, check=True
    )
    loaded = {line.rpartition("|")[2].strip() for line in told.stderr.splitlines()}
    assert "typer" in loaded and loaded.isdisjoint({"numpy", "polars"})


def test_help_by_its_short_name() -> None:
    for arguments in ([], ["trace"], ["compare"], ["trace", "stats"]):
        short, long = called(*arguments, "-h"), called(*arguments, "--help")
        assert (short.returncode, short.stdout) == (0, long.stdout) and "Usage: weft" in short.stdout


def test_completion() -> None:
    words = {"COMP_WORDS": "weft comp", "COMP_CWORD": "1", "_WEFT_COMPLETE": "complete_bash"}
    assert command(**words).stdout.split() == ["compare"]
    words = {"COMP_WORDS": "weft compare --wor", "COMP_CWORD": "2", "_WEFT_COMPLETE": "complete_bash"}
    assert command(**words).stdout.split() == ["--workers"]


@pytest.mark.parametrize("name", ["run", "sim"])
def test_a_wrong_policy_is_refused_before_the_program_starts(tmp_path: Path, name: str) -> None:
    witness = tmp_path / "it-ran"
    machine = ["--machine", str(MACHINE)] if name == "sim" else []
    told = called(name, *machine, "--policy", "nera:tries=3", "--", "touch", str(witness))
    assert told.returncode == 2 and not witness.exists()
    assert "unknown policy, did you mean 'near'?; given: 'nera'; allowed: serial, " in told.stderr
    told = called(name, *machine, "--policy", "near:tries=0", "--", "touch", str(witness))
    assert told.returncode == 2 and not witness.exists() and "given: '0'; allowed: 1..1000" in told.stderr


@pytest.mark.parametrize("name", ["run", "sim"])
def test_a_wrong_machine_is_refused_before_the_program_starts(tmp_path: Path, name: str) -> None:
    witness = tmp_path / "it-ran"
    told = called(name, "--machine", "opteron-8380-4x5", "--", "touch", str(witness))
    assert told.returncode == 2 and not witness.exists()
    assert "unknown machine, did you mean 'opteron-8380-4x4'?; given: 'opteron-8380-4x5'" in told.stderr


def test_every_public_name_is_there() -> None:
    import weft as package

    for public in package.__all__:
        assert getattr(package, public) is not None, public
    assert set(package.__all__) <= set(dir(package))
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = package.nothing  # type: ignore[attr-defined]
