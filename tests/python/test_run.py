"""weft run and weft sim: what they print and where, ends of programs, terminals, Ctrl-C."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import pytest
from conftest import EXAMPLES, MACHINE
from terminal import on_a_terminal
from weft import cli
from weft.launcher import launch
from weft.summary import summarise

pytestmark = pytest.mark.usefixtures("no_settings")

WEFT = [sys.executable, "-m", "weft"]
FIB = [str(EXAMPLES / "fib"), "--n", "15"]
HEAT = [str(EXAMPLES / "heat2d"), "--rows", "100", "--cols", "60", "--sweeps", "4", "--leaf-rows", "8"]


@dataclass
class Done:
    returncode: int
    stdout: str
    stderr: str


class Weft(Protocol):
    def __call__(self, *arguments: object) -> Done: ...


@pytest.fixture
def weft(capfd: pytest.CaptureFixture[str]) -> Weft:
    """The command, in this process; what it and its programs print."""

    def run(*arguments: object) -> Done:
        capfd.readouterr()
        status = cli.run([str(a) for a in arguments])
        return Done(status, *capfd.readouterr())

    return run


# ---- run


def test_speeds_are_those_of_the_workers(weft: Weft) -> None:
    done = weft("run", "--json", "--speeds", "1,0.5,0.25", "--", *FIB)
    (runtime,) = json.loads(done.stdout)["runtimes"]
    assert len(runtime["workers"]) == 3 and "speeds 1,0.5,0.25" in runtime["machine"]
    done = weft("run", "--speeds", "1,7", "--", *FIB)
    assert done.returncode == 1 and "given: WEFT_SPEEDS=1,7" in done.stderr
    done = weft("sim", "--json", "--machine", "core:2 pu:1", "--speeds", "1,0.5,0.25", "--", *FIB)
    (runtime,) = json.loads(done.stdout)["runtimes"]
    assert len(runtime["workers"]) == 3 and "speeds 1,0.5,0.25" in runtime["machine"]


def test_the_program_has_its_output_and_the_table_is_beside_it(weft: Weft) -> None:
    done = weft("run", "--policy", "near", "--workers", 2, "--seed", 5, "--", *FIB)
    assert done.returncode == 0
    assert done.stdout.splitlines()[0] == "n              15"
    assert "near on " in done.stderr and "engine threads, 2 workers, seed 5" in done.stderr
    for word in ("time", "balance", "worker", "busy", "search", "asleep", "overhead", "steals", "program"):
        assert word in done.stderr
    assert "\x1b" not in done.stdout + done.stderr and "work T1" not in done.stderr


def test_the_two_dashes_may_be_left_out(weft: Weft) -> None:
    assert weft("run", "--workers", 2, *FIB).returncode == 0


def test_standard_input_and_arguments_are_the_programs() -> None:
    code = "import subprocess, sys; print(repr(sys.stdin.read()), sys.argv[1:]); subprocess.run(sys.argv[3:])"
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [*WEFT, "run", "--", sys.executable, "-c", code, "--json", "--help", *FIB],
        input="a\x1b\0b",
        env=environment,
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )
    assert done.returncode == 0 and "'a\\x1b\\x00b' ['--json', '--help'," in done.stdout


def test_json(weft: Weft) -> None:
    done = weft("run", "--json", "--workers", 2, "--speedup", "--", *FIB)
    assert done.returncode == 0 and "n              15" in done.stderr
    told = json.loads(done.stdout)
    assert told["status"] == 0 and told["command"] == FIB and told["speedup"] > 0
    (runtime,) = told["runtimes"]
    assert (runtime["engine"], runtime["policy"], runtime["runs"], len(runtime["workers"])) == (
        "threads",
        "steal",
        1,
        2,
    )
    assert runtime["work"] is None and runtime["workers"][0]["overhead"] is None
    assert told["run_seconds"] == runtime["seconds"] <= told["seconds"]


def test_a_trace_tells_more(weft: Weft, tmp_path: Path) -> None:
    trace = tmp_path / "run.weft"
    done = weft("run", "--json", "--workers", 2, "--trace", trace, "--", *FIB)
    (runtime,) = json.loads(done.stdout)["runtimes"]
    assert trace.exists()
    assert 0 < runtime["span"] <= runtime["work"] and runtime["bound"] >= runtime["span"]
    assert runtime["bound"] >= runtime["work"] / 2 - 1e-9
    assert runtime["parallelism"] == pytest.approx(runtime["work"] / runtime["span"])
    assert runtime["speedup_by_work"] == pytest.approx(runtime["work"] / runtime["seconds"])
    for w in runtime["workers"]:
        assert w["overhead"] >= 0
        assert w["busy"] + w["overhead"] + w["search"] + w["asleep"] == pytest.approx(runtime["seconds"])
    done = weft("run", "--workers", 2, "--trace", trace, "--", *FIB)
    for word in ("work T1", "span Tinf", "parallelism", "bound", "T1/Tp"):
        assert word in done.stderr


def test_many_runs_are_said_to_be_many(weft: Weft) -> None:
    done = weft("run", "--workers", 2, "--", *HEAT)
    runs = [line for line in done.stderr.splitlines() if line.startswith("time")]
    assert done.returncode == 0 and len(runs) == 1 and " in 2 runs" in runs[0]


def test_several_runtimes(weft: Weft, tmp_path: Path) -> None:
    script = ["sh", "-c", f"{' '.join(FIB)}; WEFT_WORKERS=3 {' '.join(HEAT)}"]
    done = weft("run", "--workers", 2, "--", *script)
    assert done.returncode == 0
    assert "runtime 1 of 2, process" in done.stderr and "runtime 2 of 2, process" in done.stderr
    assert "3 workers" in done.stderr and " in 2 runs" in done.stderr

    # Each process has a trace of its own, if its name says so.
    run = launch(script, workers=2, stdout=subprocess.DEVNULL, trace=tmp_path / "run.%p.weft").check()
    assert len(run.traces) == 2
    summary = summarise(run)
    assert sorted(len(r.workers) for r in summary.runtimes) == [2, 3]
    assert len({r.process for r in summary.runtimes}) == 2 and all(r.work for r in summary.runtimes)
    assert summary.run_seconds == sum(r.seconds for r in summary.runtimes)


@pytest.mark.parametrize(
    ("program", "says"),
    [
        (["true"], "the program has made no runtime of Weft; given: true; allowed: a program linked with Weft"),
        (["false"], "the program ended with status 1: false"),
        (["sh", "-c", "kill -9 $$"], "the program was killed by SIGKILL"),
        (["nonesuch"], "the program cannot be started (No such file or directory); given: nonesuch"),
        (["/etc/passwd"], "the program cannot be started (Permission denied); given: /etc/passwd"),
        ([*FIB, "--nonsense"], "the program ended with status 2"),
    ],
)
def test_programs_that_fail(weft: Weft, program: list[str], says: str) -> None:
    done = weft("run", "--", *program)
    assert done.returncode == 1 and "Traceback" not in done.stderr
    last = done.stderr.splitlines()[-1]
    assert last.startswith("weft: ") and says in last
    assert weft("run", "--json", "--", *program).returncode == 1


def test_a_program_that_fails_after_its_runs_is_told_of(weft: Weft) -> None:
    done = weft("run", "--json", "--workers", 2, "--", "sh", "-c", f"{' '.join(FIB)}; exit 7")
    told = json.loads(done.stdout)
    assert done.returncode == 1 and told["status"] == 7 and len(told["runtimes"]) == 1
    assert "the program ended with status 7" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["run"], "Missing argument"),
        (["run", "--workers", "0", "--", "true"], "--workers"),
        (["run", "--nonsense", "true"], "No such option"),
        (["run", "--progress", "--", "true"], "no terminal to show progress on"),
        (["sim", "--machine", "core:0 pu:1", "--", "true"], "machine description not understood; given: 'core:0 pu:1'"),
        (["sim", "--machine", str(MACHINE), "--costs", "guessed", "--", "true"], "allowed: declared, measured"),
    ],
)
def test_mistakes(weft: Weft, arguments: list[str], says: str) -> None:
    done = weft(*arguments)
    assert done.returncode == 2 and says in done.stderr and done.stderr.count("\n") == 1


def test_variables_of_the_run_itself(weft: Weft, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEFT_REPORT", "-")
    done = weft("run", "--", *FIB)
    assert done.returncode == 1 and "WEFT_REPORT=-; allowed: no WEFT_REPORT" in done.stderr


# ---- sim


def test_sim(weft: Weft, tmp_path: Path) -> None:
    scenario = tmp_path / "slow.toml"
    scenario.write_text('[[change]]\nat_ms = 0\ncores = "all"\nspeed = 0.5\n')
    arguments = ["--json", "--machine", MACHINE, "--policy", "near", "--seed", 3, "--workers", 8, "--costs", "declared"]
    once, twice = (json.loads(weft("sim", *arguments, "--", *HEAT).stdout) for _ in range(2))
    (runtime,), (again,) = once["runtimes"], twice["runtimes"]
    assert again | {"process": runtime["process"]} == runtime, "a model with declared costs is not the same twice"
    assert (runtime["engine"], runtime["machine"], len(runtime["workers"])) == ("model", "opteron-8380-4x4", 8)
    assert all(w["overhead"] is not None for w in runtime["workers"])
    slow = json.loads(weft("sim", *arguments, "--scenario", scenario, "--", *HEAT).stdout)
    assert slow["run_seconds"] > once["run_seconds"]
    alone = json.loads(weft("sim", *arguments, "--speedup", "--", *HEAT).stdout)
    assert 1 < alone["speedup"] <= 8
    done = weft("sim", "--machine", MACHINE, "--", *HEAT)
    assert done.returncode == 0 and " (virtual) in 2 runs" in done.stderr


# ---- terminals


def test_progress_is_shown_on_terminals_only() -> None:
    killed = False

    def kill_when_shown(terminal: int, so_far: bytes) -> None:
        nonlocal killed
        if b"of 2 busy" in so_far and not killed:
            killed = True
            os.write(terminal, b"\x03")

    # A program without an end: it is ended when the line was there.
    status, got = on_a_terminal([*WEFT, "run", "--workers", "2", "--", FIB[0], "--n", "60"], then=kill_when_shown)
    assert killed and status == 1
    assert b"the program was killed by SIGINT" in got and b"Traceback" not in got
    shown, cleared = got.rindex(b"of 2 busy"), got.rindex(b"\x1b[r")
    assert shown < cleared, "the scrolling region stays"
    assert b"\x1b" not in got[cleared + 20 :]

    for options, rows, environment in (
        (["--no-progress"], 24, {}),
        ([], 24, {"TERM": "dumb"}),
        ([], 2, {}),
    ):
        program = ["sh", "-c", f"sleep 0.3; {' '.join(FIB)}"]
        status, got = on_a_terminal([*WEFT, "run", *options, "--", *program], rows=rows, environment=environment)
        assert status == 0 and b"\x1b7" not in got


def test_standard_output_that_is_a_file_has_no_escape_codes(tmp_path: Path) -> None:
    out = tmp_path / "out"
    with out.open("wb") as file:
        program = ["sh", "-c", f"sleep 0.3; {' '.join(FIB)}"]
        status, got = on_a_terminal([*WEFT, "run", "--", *program], stdout=file.fileno())
    assert status == 0 and b"\x1b" in got
    assert b"\x1b" not in out.read_bytes() and b"n              15" in out.read_bytes()


def test_a_program_may_live_on_after_ctrl_c() -> None:
    code = "import signal, sys; signal.signal(2, lambda n, f: sys.exit(9)); print('ready', flush=True); signal.pause()"
    sent = False

    def interrupt(terminal: int, so_far: bytes) -> None:
        nonlocal sent
        if b"ready" in so_far and not sent:
            sent = True
            os.write(terminal, b"\x03")

    status, got = on_a_terminal([*WEFT, "run", "--", sys.executable, "-c", code], then=interrupt)
    assert status == 1 and b"the program ended with status 9" in got


def test_signals_of_processes_go_to_the_program() -> None:
    code = "import signal, sys; signal.signal(15, lambda n, f: sys.exit(9)); print('ready', flush=True); signal.pause()"
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(
        [*WEFT, "run", "--", sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
        start_new_session=True,
    ) as process:
        assert process.stdout and process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=50)
    assert process.returncode == 1 and "the program ended with status 9" in errors
