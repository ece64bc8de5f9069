"""The command: what it prints, its exit status, its one line for a mistake."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import MACHINE
from weft.cli import run
from writing import TraceFile


def weft(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    status = run([str(a) for a in arguments])
    return (status, *capsys.readouterr())


def test_stats(capsys: pytest.CaptureFixture[str], modelled: Path) -> None:
    status, out, err = weft(capsys, "trace", "stats", modelled)
    assert status == 0 and err == ""
    for word in ("work T1", "span Tinf", "parallelism", "distance", "(fork)", "virtual"):
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
    """Named like what is no class, hidden from legends, or half a formula."""
    names = ["asleep", "compute", "_hidden", "$\\half", "</text>"]
    trace = TraceFile(workers=1, policy="$\\bad$").names(**{f"n{i + 1}": name for i, name in enumerate(names)})
    for i in range(len(names)):
        trace.stream(0, (10 * i, "spawn", i + 1, 0, i + 1), (10 * i, "begin", i + 1), (10 * i + 9, "end", i + 1))
    (tmp_path / "run.weft").write_bytes(trace.stream(0, (60, "search"), (70, "sleep"), (80, "wake")).end().bytes())
    assert weft(capsys, "trace", "plot", tmp_path / "run.weft", "-o", tmp_path / "run.svg") == (0, "", "")
    picture = (tmp_path / "run.svg").read_text(encoding="utf-8")
    shown = re.findall(r"<!-- (.*?) -->", picture)
    assert shown[-7:] == ["$\\half", "&lt;/text&gt;", "\u200b_hidden", "asleep", "compute", "search", "asleep"]


def test_topo_and_policies(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = weft(capsys, "topo", MACHINE)
    assert status == 0 and out.startswith("opteron-8380-4x4: 16 ranks on 16 cores in 4 cache domains, 4 packages")
    status, out, _ = weft(capsys, "topo", "--json")
    assert status == 0 and json.loads(out)["modelled"] is False
    status, out, _ = weft(capsys, "policies")
    assert status == 0 and "near" in out and "tries: 1..1000 (4)" in " ".join(out.split())
    status, out, _ = weft(capsys, "policies", "near", "--json")
    assert status == 0 and [p["name"] for p in json.loads(out)] == ["near"]


def test_help_has_an_example(capsys: pytest.CaptureFixture[str]) -> None:
    for command in (["topo"], ["policies"], *(["trace", c] for c in ("stats", "convert", "plot", "view"))):
        status, out, _ = weft(capsys, *command, "--help")
        assert status == 0 and f"Example: weft {' '.join(command)}" in out
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
