"""The commands of weft cosched: start, run, status, stop, profile."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from coscheduled import SLEEP, daemon, directory, end, eventually, start
from weft import Error, cli
from weft.cosched import processes, profiles
from weft.cosched.programs_file import Program
from weft.cosched.runner import run_programs


@pytest.fixture(autouse=True)
def settings(no_settings: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COSCHED_PROFILES", str(tmp_path / "profiles"))


@pytest.fixture
def where() -> Iterator[str]:
    with directory() as path:
        yield path


def test_the_command_becomes_the_program(where: str, tmp_path: Path) -> None:
    with daemon(where):
        script = "echo $WEFT_SHARE $COSCHED_SLOT > share; exit 7"
        command = [sys.executable, "-m", "weft", "cosched", "start", "--directory", where, "--", "sh", "-c", script]
        assert subprocess.run(command, cwd=tmp_path, check=False).returncode == 7
        assert (tmp_path / "share").read_text() == f"{where}:0 {where}:0\n"


def test_without_a_daemon(where: str, capsys: pytest.CaptureFixture[str]) -> None:
    for words in (
        ["start", "--directory", where, "--", "true"],
        ["status", "--directory", where],
        ["stop", "--directory", where],
    ):
        assert cli.run(["cosched", *words]) == 1
        assert "no daemon answers" in capsys.readouterr().err
    assert cli.run(["cosched", "start", "--directory", where, "--", "./no-such-program"]) == 1
    assert "cannot be started" in capsys.readouterr().err


def test_status_for_machines_and_for_people(where: str, capsys: pytest.CaptureFixture[str]) -> None:
    with daemon(where):
        child = start(where, *SLEEP)
        assert cli.run(["cosched", "status", "--directory", where, "--json"]) == 0
        seen = json.loads(capsys.readouterr().out)
        assert seen["version"] == 1 and seen["programs"][0]["pid"] == child.pid
        assert cli.run(["cosched", "status", "--directory", where]) == 0
        said = capsys.readouterr().out
        assert "lira-adaptive" in said and str(child.pid) in said and "sleep" in said
        end(child)
        assert cli.run(["cosched", "stop", "--directory", where]) == 0
    assert not Path(where).exists()


def test_one_domain_places_nothing(where: str, capsys: pytest.CaptureFixture[str]) -> None:
    with daemon(where, domains="0"):
        assert cli.run(["cosched", "status", "--directory", where]) == 0
    said = capsys.readouterr().out
    assert said.startswith("lira-adaptive, 1 domain by ") and "nothing to place" in said


def test_a_watch_ends_with_the_daemon(where: str) -> None:
    command = [
        sys.executable,
        "-m",
        "weft",
        "cosched",
        "status",
        "--directory",
        where,
        "--watch",
        "--every",
        "0.1",
        "--json",
    ]
    with daemon(where):
        watch = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert watch.stdout
        lines = [json.loads(watch.stdout.readline()) for _ in range(2)]
        assert lines[0]["now"] < lines[1]["now"]
    assert watch.wait(timeout=60) == 0
    watch.stdout.close()


def test_a_file_of_programs_runs(where: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "programs.toml"
    file.write_text(
        """
        domains = "cores"
        [[program]]
        name = "writer"
        command = ["sh", "-c", "cat; echo $NUMBER"]
        input = "in"
        output = "out"
        environment = {NUMBER = 5}
        repeats = 2
        [[program]]
        command = "true"
        """
    )
    (tmp_path / "in").write_text("text\n")
    trace = tmp_path / "trace.json"
    assert cli.run(["cosched", "run", str(file), "--directory", where, "--json", "--trace", str(trace)]) == 0
    found = json.loads(capsys.readouterr().out)["programs"]
    assert [len(p["runs"]) for p in found] == [2, 1] and all(p["notes"] == [] for p in found)
    assert (tmp_path / "out").read_text() == "text\n5\n" * 2
    events = json.loads(trace.read_text())
    rows = {e["args"]["name"].split(": ")[-1].split(" (")[0] for e in events if e["name"] == "thread_name"}
    assert {"decisions"} <= rows <= {"decisions", "writer", "true"}
    assert cli.run(["cosched", "run", str(file), "--directory", where]) == 0
    assert "writer" in capsys.readouterr().out


def test_programs_that_fail_or_hang_take_no_other_one_down(where: str, tmp_path: Path) -> None:
    def program(name: str, script: str, repeats: int = 1, timeout: float | None = None) -> Program:
        return Program(name, ("sh", "-c", script), str(tmp_path), repeats=repeats, timeout=timeout)

    with daemon(where) as supervisor:
        good, bad, hangs, missing = run_programs(
            [
                program("good", "exit 0", 3),
                program("bad", "kill -9 $$", 2),
                program("hangs", "sleep 1000", timeout=0.2),
                Program("missing", ("./no-such-program",), str(tmp_path)),
            ],
            directory=where,
            supervisor=supervisor,
        )
    assert [r.status for r in good.runs] == [0, 0, 0]
    assert [r.status for r in bad.runs] == [-9, -9]
    assert [(r.status, r.timed_out) for r in hangs.runs] == [(-9, True)]
    assert [r.status for r in missing.runs] == [127]


def test_programs_run_until_all_have_done_their_repeats(tmp_path: Path) -> None:
    marks = tmp_path / "marks"
    slow = Program("slow", ("sh", "-c", f"until [ -s {marks} ]; do sleep 0.01; done"), str(tmp_path))
    script = f"echo x >> {tmp_path}/count; [ $(wc -l < {tmp_path}/count) -lt 5 ] || echo > {marks}"
    quick = Program("quick", ("sh", "-c", script), str(tmp_path), repeats=2)
    done = run_programs([slow, quick], keeps_running=True)
    assert len(done[0].good) >= 1 and len(done[1].good) >= 5


def test_programs_outlive_a_daemon_that_is_given_up(tmp_path: Path) -> None:
    class GivenUp:
        def check(self) -> bool:
            raise Error("the daemon is given up")

    program = Program("a", ("sh", "-c", "exit 0"), str(tmp_path), repeats=3)
    (done,) = run_programs([program], supervisor=GivenUp())  # type: ignore[arg-type]
    assert len(done.good) == 3 and done.notes == ["the daemon is given up"]


def test_nothing_of_a_program_is_left(tmp_path: Path) -> None:
    script = f"sleep 1000 & echo $! > {tmp_path}/pid"
    run_programs([Program("leaves", ("sh", "-c", script), str(tmp_path))])
    pid = int((tmp_path / "pid").read_text())
    eventually(lambda: processes.start_of(pid) is None, "it is ended")


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_runner_that_is_ended_leaves_nothing(where: str, tmp_path: Path, number: int) -> None:
    file = tmp_path / "programs.toml"
    command = f'["sh", "-c", "echo $$ > {tmp_path}/pid; exec sleep 1000"]'
    file.write_text(f'domains = "cores"\n[[program]]\ncommand = {command}\n')
    words = [sys.executable, "-m", "weft", "cosched", "run", str(file), "--directory", where]
    # A shell starts what runs in the background with SIGINT ignored, and children inherit that.
    own = signal.signal(number, signal.SIG_DFL) if number != signal.SIGKILL else None
    try:
        runner = subprocess.Popen(words, stderr=subprocess.DEVNULL)
    finally:
        if own is not None:
            signal.signal(number, own)
    eventually(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text().strip() != "", "it runs")
    runner.send_signal(number)
    assert runner.wait() == (-number if number == signal.SIGKILL else 1)
    pid = int((tmp_path / "pid").read_text())
    eventually(lambda: not Path(where).exists(), "the daemon ends")
    eventually(
        lambda: not Path(f"/proc/{pid}").exists() or "Z" in Path(f"/proc/{pid}/stat").read_text(), "and the program"
    )


def test_a_profile_is_measured_stored_and_used(where: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program = tmp_path / "spin"
    program.write_text("#!/bin/sh\nend=$(($(date +%s%N) + 1500000000))\nwhile [ $(date +%s%N) -lt $end ]; do :; done\n")
    program.chmod(0o755)
    words = ["cosched", "profile", "--domains", "cores", "--period", "0.02", "--json", "--", str(program)]
    assert cli.run(words) == 0
    stored = json.loads(capsys.readouterr().out)
    assert stored["rates"]["kernel"] > 0 and Path(stored["path"]).exists()
    assert profiles.find([str(program)])
    with daemon(where, scheduler="lira-static", period=1_000_000_000):
        child = start(where, str(program))
        assert child.wait() == 0


def test_a_program_too_short_for_a_profile(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["cosched", "profile", "--domains", "cores", "--period", "5", "--", "true"]) == 1
    assert "too short" in capsys.readouterr().err
    assert cli.run(["cosched", "profile", "--", "false"]) == 1
    assert "cannot be measured; given: status 1" in capsys.readouterr().err


def test_wrong_options(capsys: pytest.CaptureFixture[str], where: str, tmp_path: Path) -> None:
    for words, says in [
        (["daemon", "--scheduler", "fair"], "unknown scheduler; given: fair; allowed: os"),
        (["daemon", "--domains", "sockets"], "no list of processors"),
        (["daemon", "--by", "force"], "unknown way"),
        (["daemon", "--rate", "hour"], "unknown kind of rate"),
        (["daemon", "--directory", "/dev/shm/a:b"], "without a colon"),
    ]:
        assert cli.run(["cosched", *words]) == 2
        assert says in capsys.readouterr().err
