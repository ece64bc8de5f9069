"""What gdb, valgrind and perf see of preempted tasks, as docs/preemption.md says it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import SOURCE

BUILD = Path(os.environ.get("WEFT_TEST_BUILD", SOURCE / "build/dev"))
PROGRAM = SOURCE / "tests/sanitized/preempted.cpp"
ROUNDS = 1_000_000  # of sum_to
RIGHT = f"preempted: ok {ROUNDS * (ROUNDS + 1) // 2}\n"
# These tools make a program slow: with a tick every millisecond it might do little else.
SELDOM = ":interval=100ms"
TYPES = ["yield", "klt"]
PAGE = (SOURCE / "docs/preemption.md").read_text(encoding="utf-8")


def line_of(text: str) -> int:
    """Where the program has that text, for the first time."""
    lines = PROGRAM.read_text(encoding="utf-8").splitlines()
    return next(number for number, line in enumerate(lines, 1) if text in line)


def run(*command: str | Path, preempt: str = "off", workers: int = 1) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("WEFT_")}
    environment |= {"WEFT_WORKERS": str(workers), "WEFT_PREEMPT": preempt, "LC_ALL": "C"}
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """As a user builds it: optimised, with debugging information."""
    to = tmp_path_factory.mktemp("preempted") / "preempted"
    libraries = re.findall(r"^Libs:.* -l:libweft\.a (.*)$", (BUILD / "weft.pc").read_text(), re.MULTILINE)
    words = ["g++", "-std=c++20", "-O1", "-g", f"-I{SOURCE}/include", PROGRAM, BUILD / "libweft.a", "-o", to]
    subprocess.run([*words, *libraries[0].split()], check=True)
    return to


# ---- gdb


@pytest.fixture(scope="module")
def gdb() -> list[str]:
    """The command, which reads no settings of the user and asks no server."""
    path = shutil.which("gdb")
    if not path:
        pytest.skip("gdb is not installed")
    words = [path, "-q", "-nx", "-batch", "-iex", "set debuginfod enabled off", "-iex", "set pagination off"]
    tried = run(*words, "-ex", "run", "--args", "/bin/true")
    if "exited normally" not in tried.stdout:
        pytest.skip(f"gdb may not trace programs here: {tried.stderr.strip()}")
    return words


def debugged(gdb: list[str], program: Path, preempt: str, *commands: str, arguments: tuple[str, ...] = ()) -> str:
    """What gdb prints for these commands."""
    words = [word for command in commands for word in ("-ex", command)]
    return run(*gdb, *words, "--args", program, *arguments, preempt=f"{preempt}:interval=5ms").stdout


def passing() -> str:
    """The command of the page by which ticks do not stop the program."""
    commands = set(re.findall(r"`(handle SIG\d+ nostop noprint pass)`", PAGE))
    assert len(commands) == 1
    return commands.pop()


def test_without_the_command_of_the_page_gdb_stops_at_a_tick(gdb: list[str], program: Path) -> None:
    signal = passing().split()[1]
    assert f"received signal {signal}," in debugged(gdb, program, "klt", "run")


@pytest.mark.parametrize("preempt", TYPES)
def test_gdb_stops_in_a_task_and_goes_on(gdb: list[str], program: Path, preempt: str) -> None:
    seen = debugged(gdb, program, preempt, passing(), "break set_it", "run", "echo stack:\\n", "bt", "continue")
    assert "hit Breakpoint 1, set_it ()" in seen
    stack = seen.split("stack:")[1]
    assert re.search(rf"^#0 +set_it \(\) at .*preempted\.cpp:{line_of('void set_it()')}$", stack, re.MULTILINE)
    assert re.search(rf"^#1 .*preempted\.cpp:{line_of('            set_it();')}$", stack, re.MULTILINE), "its caller"
    assert "SIG" not in seen
    assert RIGHT in seen and "exited normally" in seen


def test_gdb_shows_the_stopped_tasks_of_type_klt(gdb: list[str], program: Path) -> None:
    find = "thread apply all -s frame function wait_for_the_other"
    seen = debugged(gdb, program, "klt", passing(), "break set_it", "run", find, "thread apply all bt", "kill")
    line = line_of("while (!is_set")
    stopped = (
        rf"<signal handler called>\n(#\d+ .*std::.*\n)*#\d+ .*wait_for_the_other \(\) at .*preempted\.cpp:{line}\n"
    )
    assert len(re.findall(stopped, seen)) == 2
    found = re.findall(r"^Thread \d+ .*:\n#\d+ .*wait_for_the_other \(\)", seen, re.MULTILINE)
    assert len(found) == 2, "frames that the command of the page finds"
    assert find.replace("wait_for_the_other", "NAME") in PAGE


def test_gdb_does_not_show_tasks_that_have_yielded(gdb: list[str], program: Path) -> None:
    seen = debugged(gdb, program, "yield", passing(), "break set_it", "run", "thread apply all bt", "kill")
    assert "set_it ()" in seen
    assert "wait_for_the_other" not in seen


@pytest.mark.parametrize("preempt", TYPES)
def test_gdb_steps_in_a_task_that_is_preempted(gdb: list[str], program: Path, preempt: str) -> None:
    commands = [passing(), "break sum_to", "run", *["next"] * 6, "finish", "continue"]
    million = 100  # so that there are ticks while gdb waits for the function's end
    seen = debugged(gdb, program, preempt, *commands, arguments=(str(million),))
    lines = [int(n) for n in re.findall(r"^(\d+)\t", seen, re.MULTILINE)]
    first = line_of("unsigned long sum_to")
    assert len(lines) >= 7 and all(first <= n <= first + 7 for n in lines[:7]), "six steps in the function"
    n = million * 1_000_000
    assert f"Value returned is $1 = {n * (n + 1) // 2}\n" in seen
    assert f"preempted: ok {n * (n + 1) // 2}\n" in seen and "exited normally" in seen


# ---- valgrind


@pytest.fixture(scope="module")
def valgrind() -> str:
    path = shutil.which("valgrind")
    if not path:
        pytest.skip("valgrind is not installed")
    if not Path("/usr/include/valgrind/valgrind.h").exists():
        pytest.skip("valgrind's header is not installed, so the library tells valgrind of no stack")
    return path


@pytest.mark.parametrize("preempt", TYPES)
def test_memcheck_knows_the_stacks_of_preempted_tasks(valgrind: str, program: Path, preempt: str) -> None:
    done = run(valgrind, "--leak-check=full", "--error-exitcode=9", program, preempt=preempt + SELDOM)
    assert (done.returncode, done.stdout) == (0, RIGHT)
    assert "ERROR SUMMARY: 0 errors" in done.stderr and "no leaks are possible" in done.stderr
    assert "switching stacks" not in done.stderr, "it guesses so where it knows no stacks"


@pytest.mark.parametrize("preempt", TYPES)
def test_memcheck_reports_a_mistake_of_a_preempted_task(valgrind: str, program: Path, preempt: str) -> None:
    done = run(valgrind, "--error-exitcode=9", program, "overrun", preempt=preempt + SELDOM)
    assert done.returncode == 9
    reported = re.findall(r"Invalid write of size 1\n.* at .*: (\w+) \(.*\n.* by .*: (\w+) \((.*)\)\n", done.stderr)
    line = line_of("write_at(own.get()")
    assert reported == [("write_at", "wait_for_the_other", f"preempted.cpp:{line}")], "by both tasks, at one place"


def counted(valgrind: str, program: Path, preempt: str, to: Path) -> subprocess.CompletedProcess[str]:
    """Under callgrind, with ticks in each function."""
    return run(valgrind, "--tool=callgrind", f"--callgrind-out-file={to}", program, "10", preempt=preempt + SELDOM)


def test_callgrind_counts_no_instruction_of_others_in_a_function(valgrind: str, program: Path, tmp_path: Path) -> None:
    done = counted(valgrind, program, "klt", tmp_path / "counts")
    assert done.returncode == 0 and done.stdout.startswith("preempted: ok ")
    report = run("callgrind_annotate", "--show-percs=no", "--auto=no", tmp_path / "counts").stdout
    count = int(re.findall(r"^ *([\d,]+) .*preempted\.cpp:sum_to ", report, re.MULTILINE)[0].replace(",", ""))
    rounds = 10_000_000
    assert count > rounds and count % rounds < 100, "a multiple, and what begins and ends the function"


def test_callgrind_cannot_follow_tasks_that_yield(valgrind: str, program: Path, tmp_path: Path) -> None:
    done = counted(valgrind, program, "yield", tmp_path / "counts")
    if done.returncode == 0:
        pytest.skip("this callgrind can: docs/preemption.md says that it cannot")
    assert "Assertion 'sigNum ==" in done.stderr and "Assertion 'sigNum ==" in PAGE


# ---- perf


@pytest.mark.parametrize("preempt", TYPES)
def test_perf_counts_the_functions_of_preempted_tasks(program: Path, preempt: str, tmp_path: Path) -> None:
    if not shutil.which("perf"):
        pytest.skip("perf is not installed")
    data = tmp_path / "perf.data"
    record = ["perf", "record", "-q", "-F", "5000", "-o", str(data)]
    if (tried := run(*record, "true")).returncode != 0:
        pytest.skip(f"perf may not record here (kernel.perf_event_paranoid): {tried.stderr.strip()[:300]}")
    done = run(*record, program, "100", preempt=preempt)
    assert done.returncode == 0 and done.stdout.startswith("preempted: ok ")
    report = run("perf", "report", "-i", data, "--stdio", "-q", "--sort", "symbol")
    shares = {
        name: float(share) for share, name in re.findall(r"^ *([\d.]+)% +\[\.\] (\w+) ", report.stdout, re.MULTILINE)
    }
    # The three tasks have the worker in turn.
    assert shares.get("sum_to", 0) > 5 and shares.get("wait_for_the_other", 0) > 5, report.stdout + report.stderr
