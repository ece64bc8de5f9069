"""Programs that are run: settings, reports, ends of every kind, signals."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from conftest import EXAMPLES, MACHINE
from weft.errors import Error
from weft.launcher import LaunchError, launch, numbered
from weft.report import read_report

HEAT = [EXAMPLES / "heat2d", "--rows", "100", "--cols", "60", "--sweeps", "4", "--leaf-rows", "8"]
PYTHON = sys.executable


pytestmark = pytest.mark.usefixtures("no_settings")


def test_a_modelled_run(tmp_path: Path) -> None:
    trace = tmp_path / "run.weft"
    for path in (trace, tmp_path / "run.3.weft"):
        path.write_bytes(b"of an earlier run")
    run = launch(
        HEAT, engine="model", machine=MACHINE, policy="near", workers=3, seed=7, trace=trace, stdout=subprocess.DEVNULL
    )
    assert run.status == 0 and run.outcome == "" and run.check() is run
    assert run.cpu_seconds > 0 and run.seconds > 0
    assert len(run.traces) == len(run.reports) and run.traces[0] == trace
    for report in run.reports:
        assert report.complete and report.runs
        for r in report.runs:
            assert (r.engine, r.policy, r.virtual, len(r.workers)) == ("model", "near", True, 3)
            for w in r.workers:
                assert w.overhead is not None
                assert w.busy + w.search + w.asleep + w.overhead == pytest.approx(r.seconds)


@pytest.mark.parametrize("policy", ["steal", "steal:zone=reported", "share"])
def test_a_real_run(policy: str) -> None:
    run = launch([EXAMPLES / "fib", "--n", "18"], policy=policy, workers=2, seed=7, stdout=subprocess.DEVNULL).check()
    assert len(run.reports) == 1 and run.reports[0].complete and run.traces == ()
    (r,) = run.reports[0].runs
    assert (r.engine, r.policy, r.seed, r.virtual, len(r.workers)) == ("threads", policy, 7, False, 2)
    assert r.tasks >= 1 and r.balance is not None and 0 < r.balance <= 1
    for w in r.workers:
        assert w.overhead is None
        assert w.busy + w.search + w.asleep == pytest.approx(r.seconds)


def test_programs_that_are_not_ours() -> None:
    run = launch(["true"])
    assert run.status == 0 and run.reports == () and run.traces == ()
    with pytest.raises(LaunchError, match="has made no runtime of Weft; given: true"):
        run.check()


@pytest.mark.parametrize(
    ("code", "status", "says"),
    [
        ("raise SystemExit(3)", 3, "ended with status 3"),
        ("import os; os.kill(os.getpid(), 9)", -9, "was killed by SIGKILL"),
        ("import os; os.kill(os.getpid(), 40)", -40, "was killed by signal 40"),
    ],
)
def test_ends(code: str, status: int, says: str) -> None:
    run = launch([PYTHON, "-c", code])
    assert run.status == status and says in run.outcome
    with pytest.raises(LaunchError, match=says):
        run.check()


@pytest.mark.parametrize("name", ["nonesuch", "./nonesuch", "/etc/passwd", "/", ""])
def test_programs_that_cannot_be_started(name: str) -> None:
    with pytest.raises(LaunchError, match="cannot be started") as caught:
        launch([name, "argument"])
    assert "\n" not in str(caught.value)


def test_no_program() -> None:
    with pytest.raises(LaunchError, match="no program"):
        launch([])


def test_variables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told = tmp_path / "told"
    kept = "{k: v for k, v in os.environ.items() if k.startswith('WEFT_') and 'TEST' not in k}"
    code = f"import os; open({str(told)!r}, 'w').write(repr({kept}))"
    monkeypatch.setenv("WEFT_POLICY", "share")
    monkeypatch.setenv("WEFT_SPIN", "7")
    monkeypatch.setenv("WEFT_SEED", "1")
    launch([PYTHON, "-c", code], seed=2, workers=3, environment={"WEFT_SPIN": None, "WEFT_COSTS": "declared"})
    got = eval(told.read_text())
    report = got.pop("WEFT_REPORT")
    assert not Path(report).parent.exists(), "a folder is left"
    assert got == {"WEFT_POLICY": "share", "WEFT_SEED": "2", "WEFT_WORKERS": "3", "WEFT_COSTS": "declared"}
    for name in ("WEFT_REPORT", "WEFT_PROGRESS"):
        with pytest.raises(LaunchError, match=f"given: {name}=x; allowed: no {name}"):
            launch(["true"], environment={name: "x"})


def test_an_observer_is_called_until_the_end() -> None:
    calls: list[list[Path]] = []
    code = "import sys; sys.stdin.read()"
    read, write = os.pipe()

    def observe(files: list[Path]) -> None:
        calls.append(files)
        if len(calls) == 3:
            os.close(write)

    standard_input = os.dup(0)
    os.dup2(read, 0)
    os.close(read)
    os.set_inheritable(0, True)
    try:
        assert launch([PYTHON, "-c", code], observer=observe).status == 0
    finally:
        os.dup2(standard_input, 0)
        os.close(standard_input)
    assert len(calls) >= 3 and calls[0] == []


def test_a_limit_of_time() -> None:
    for observer in (None, lambda files: None):
        run = launch([PYTHON, "-c", "import time; time.sleep(50)"], timeout=0.2, observer=observer)
        assert run.timed_out and run.status == -9 and "the time that it was given" in run.outcome
    assert not launch(["true"], timeout=50).timed_out


def test_an_observer_that_fails_leaves_no_process() -> None:
    def observe(files: list[Path]) -> None:
        raise ValueError("of the observer")

    with pytest.raises(ValueError, match="of the observer"):
        launch([PYTHON, "-c", "import time; time.sleep(50)"], observer=observe)
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)


SHELL_OF_SIGNALS = """
import signal, sys, time
from weft.launcher import launch
program = '''
import signal, sys, time
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    signal.signal(number, lambda n, f: sys.exit(40 + n))
print("ready", flush=True)
time.sleep(50)
'''
run = launch([sys.executable, "-c", program])
print("status", run.status, flush=True)
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signals_go_to_the_program(number: signal.Signals) -> None:
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    # In a session of its own: no keyboard, so that the signal of a process is passed on.
    shell = subprocess.Popen(
        [PYTHON, "-c", SHELL_OF_SIGNALS], stdout=subprocess.PIPE, text=True, env=environment, start_new_session=True
    )
    assert shell.stdout
    assert shell.stdout.readline() == "ready\n"
    shell.send_signal(number)
    assert shell.stdout.read() == f"status {40 + number}\n"
    assert shell.wait(timeout=50) == 0


def test_handlers_come_back() -> None:
    before = [signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)]
    launch(["true"])
    assert [signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)] == before


def test_in_a_thread() -> None:
    got: list[int] = []
    thread = threading.Thread(target=lambda: got.append(launch(["false"]).status))
    thread.start()
    thread.join()
    assert got == [1]


def test_numbered(tmp_path: Path) -> None:
    for name in ("run.weft", "run.2.weft", "run.4.weft", "plain", "plain.2"):
        (tmp_path / name).touch()
    assert [p.name for p in numbered(tmp_path / "run.weft")] == ["run.weft", "run.2.weft"]
    assert [p.name for p in numbered(tmp_path / "plain")] == ["plain", "plain.2"]
    assert numbered(tmp_path / "none") == []


@pytest.mark.parametrize("text", ["{", "[]", '{"runs": [{}], "runs_ended": 1}', '{"runs": 3, "runs_ended": 1}', "{}"])
def test_damaged_reports(text: str, tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    path.write_text(text)
    with pytest.raises(Error, match="no report, or a damaged one"):
        read_report(path)
    path.write_text("")
    assert read_report(path) is None


def test_the_wall_clock_is_about_the_program() -> None:
    began = time.perf_counter()
    run = launch([PYTHON, "-c", "import time; time.sleep(0.2)"])
    assert 0.2 <= run.seconds <= time.perf_counter() - began
