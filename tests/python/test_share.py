"""weft share: programs that lend cores to each other: their cores, what they are told, what the status shows."""

from __future__ import annotations

import json
import os
import struct
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from conftest import EXAMPLES
from weft import Error, cli
from weft.cosched import lending, processes

CORES = sorted(os.sched_getaffinity(0))


@pytest.fixture(autouse=True)
def settings(no_settings: None) -> None: ...


@pytest.mark.parametrize(
    ("cores", "programs", "shares"),
    [
        ([0, 1, 2, 3], 1, [[0, 1, 2, 3]]),
        ([0, 1, 2, 3], 2, [[0, 1], [2, 3]]),
        ([0, 1, 2, 3, 4], 2, [[0, 1, 2], [3, 4]]),
        ([1, 5, 9], 3, [[1], [5], [9]]),
    ],
)
def test_cores_are_divided_into_equal_shares(cores: list[int], programs: int, shares: list[list[int]]) -> None:
    assert lending.divide(cores, programs) == shares


def test_more_programs_than_cores_are_refused() -> None:
    with pytest.raises(Error, match=r"3 programs; allowed: 1\.\.2"):
        lending.divide([0, 1], 3)


def test_own_cores() -> None:
    first = str(CORES[0])
    assert lending.own_cores(None, 1) == [CORES]
    assert lending.own_cores(first, 1) == [[CORES[0]]]
    assert lending.own_cores(f"{first}/{first}", 2) == [[CORES[0]], [CORES[0]]]
    for spec, why in (("99999", "may not be used"), ("x", "no list of processors"), (f"{first}/{first}", "one list")):
        with pytest.raises(Error, match=why):
            lending.own_cores(spec, 3)


def test_the_setting() -> None:
    assert lending.value(None, None, None) == "on"
    assert lending.value("/x", "machine", "500us") == "on:directory=/x,reach=machine,tick=500us"


def test_the_command_becomes_the_program(tmp_path: Path) -> None:
    script = "echo $WEFT_LEND > lend; grep Cpus_allowed_list /proc/self/status >> lend; exit 7"
    words = ["share", "start", "--cores", str(CORES[0]), "--tick", "2ms", "--", "sh", "-c", script]
    assert subprocess.run([sys.executable, "-m", "weft", *words], cwd=tmp_path, check=False).returncode == 7
    lend, allowed = (tmp_path / "lend").read_text().splitlines()
    assert lend == "on:tick=2ms"
    assert allowed.split()[1] == str(CORES[0])


def test_mistakes_are_told(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert cli.run(["share", "start", "--", "./no-such-program"]) == 1
    assert "cannot be started" in capsys.readouterr().err
    assert cli.run(["share", "status", "--directory", "/"]) == 1
    assert "mode 0700" in capsys.readouterr().err


def test_no_program(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert cli.run(["share", "status", "--directory", str(tmp_path / "none"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"version": 1, "directory": str(tmp_path / "none"), "programs": []}


def programs_file(tmp_path: Path, commands: list[str]) -> Path:
    file = tmp_path / "programs.toml"
    file.write_text("".join(f"[[program]]\nname = 'p{i}'\ncommand = {c!r}\n" for i, c in enumerate(commands)))
    return file


def test_programs_run_each_on_its_cores(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cores = f"{CORES[0]}/{CORES[-1]}"
    for words, lend in (([], "on"), (["--no-lend"], "off")):
        file = programs_file(tmp_path, [f"sh -c 'test $WEFT_LEND = {lend}'", "true"])
        assert cli.run(["share", "run", str(file), "--cores", cores, "--json", *words]) == 0
        seen = json.loads(capsys.readouterr().out)
        assert seen["lends"] is (lend == "on")
        assert [p["cores"] for p in seen["programs"]] == [[CORES[0]], [CORES[-1]]]
        assert all(p["runs"][0]["status"] == 0 for p in seen["programs"])
    assert cli.run(["share", "run", str(programs_file(tmp_path, ["false"]))]) == 1


def lend_as_this_process(board: Path, cpu: int, generation: int) -> Path:
    """A file as docs/share.md has it: one worker, which sleeps on that core."""
    start = processes.start_of(os.getpid())
    assert start is not None
    head = struct.pack("=8sIIIIqq24s", b"weftlnd\n", 1, 1, 0, 0, os.getpid(), start, b"pytest")
    file = board / f"{os.getpid()}-{start}"
    file.write_bytes(head + struct.pack("=QQ", 0, 1 | (cpu + 1) << 1 | generation << 17))
    return file


@pytest.mark.skipif(len(CORES) < 2, reason="one core has no neighbour")
def test_the_status_shows_what_is_lent_and_borrowed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    board = tmp_path / "board"
    board.mkdir(mode=0o700)
    file = lend_as_this_process(board, CORES[0], 5)
    options = ["--directory", str(board), "--reach", "machine", "--cores", str(CORES[1])]
    busy = subprocess.Popen(
        [sys.executable, "-m", "weft", "share", "start", *options, "--", EXAMPLES / "fib", "--n", "60"]
    )
    try:
        until = time.monotonic() + 60
        seen: dict[int, dict[str, Any]] = {}
        while time.monotonic() < until:
            seen = {p["pid"]: p for p in lending.status(str(board))["programs"]}
            if len(seen) == 2 and seen[busy.pid]["borrowed"]:
                break
            time.sleep(0.0005)
        assert seen[busy.pid]["borrowed"] == [{"cpu": CORES[0], "lender": os.getpid()}]
        assert seen[busy.pid]["name"] == "fib" and seen[busy.pid]["workers"] == 1
        assert seen[os.getpid()]["own"] == [{"cpu": CORES[0], "lent": True, "generation": 5}]
        assert cli.run(["share", "status", "--directory", str(board)]) == 0
        said = capsys.readouterr().out
        assert str(busy.pid) in said and "pytest" in said and "own cores" in said
    finally:
        busy.kill()
        busy.wait()
    assert [p["pid"] for p in lending.status(str(board))["programs"]] == [os.getpid()]
    assert list(board.iterdir()) == [file], "the file of the killed program is removed"
