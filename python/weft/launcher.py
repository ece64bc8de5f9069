"""Running a program that is linked with Weft."""

from __future__ import annotations

import glob
import os
import resource
import select
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import FrameType
from typing import IO, Any

from . import library
from .errors import Error, compose
from .report import Report, read_report

Environment = Mapping[str, str | None]
"""Environment variables for a program. None removes a variable."""

Output = IO[bytes] | int | None
"""As in subprocess: a file, a descriptor, or None for the stream of this process."""

PERIOD = 0.1
"""Seconds between two calls of an observer."""

_KEYBOARD = (signal.SIGINT, signal.SIGQUIT)
_PASSED_ON = (*_KEYBOARD, signal.SIGTERM, signal.SIGHUP)
_OWN = ("WEFT_REPORT", "WEFT_PROGRESS")


class LaunchError(Error):
    """A program that cannot be started, or about which nothing can be said."""


@dataclass(frozen=True)
class Run:
    """A program that has ended."""

    command: tuple[str, ...]
    status: int
    """Exit status. If it is negative, the signal -status has killed the program."""
    seconds: float
    """Real time in seconds from its start to its end."""
    cpu_seconds: float
    """Processor time in seconds of the program and of the processes that it has waited for."""
    reports: tuple[Report, ...]
    """One report for each runtime, also of processes that the program has started. Empty if the program is not linked
    with Weft or was killed."""
    timed_out: bool
    """The program was killed because it took longer than `timeout`."""
    interrupted: bool
    """A signal to end came meanwhile, from the keyboard or to this process. The program may have ignored it."""
    traces: tuple[Path, ...]
    """The traces that it has written, one for each runtime: the requested file, and those numbered after it."""

    @property
    def outcome(self) -> str:
        """How the program failed, as a text; empty if it did not fail."""
        if self.status == 0:
            return ""
        if self.timed_out:
            return f"the program was killed after {self.seconds:.3g} s, the time that it was given"
        if self.status > 0:
            return f"the program ended with status {self.status}"
        try:
            return f"the program was killed by {signal.Signals(-self.status).name}"
        except ValueError:
            return f"the program was killed by signal {-self.status}"

    def check(self) -> Run:
        """Returns itself. Raises `LaunchError` if the program failed or has made no runtime of Weft."""
        if self.outcome:
            raise LaunchError(f"{self.outcome}: {' '.join(self.command)}")
        if not self.reports:
            raise LaunchError(
                compose(
                    "the program has made no runtime of Weft",
                    self.command[0],
                    "a program linked with Weft that runs something in parallel",
                )
            )
        return self


def launch(
    command: Sequence[str | os.PathLike[str]],
    *,
    engine: str | None = None,
    policy: str | None = None,
    workers: int | None = None,
    machine: str | os.PathLike[str] | None = None,
    seed: int | None = None,
    resources: str | os.PathLike[str] | None = None,
    trace: str | os.PathLike[str] | None = None,
    environment: Environment | None = None,
    observer: Callable[[list[Path]], None] | None = None,
    timeout: float | None = None,
    stdin: Output = None,
    stdout: Output = None,
    stderr: Output = None,
) -> Run:
    """Runs a program to its end, with Weft's settings in its environment.

    Settings that are not given are taken from the environment of this process. Variables in `environment` override all
    others. The program inherits standard input, output and error, unless `stdin`, `stdout` or `stderr` names a file or
    descriptor in place of one. Signals that would end this process are passed on to the program, and the call still
    waits for its end; signals from the keyboard reach the program by themselves.

    `observer` is called about every 0.1 s, in this thread, with the files in which the program's runtimes show their
    progress (docs/progress-format.md). After `timeout` seconds the program is killed.

    A name of a machine may be one that only this package can find: the program gets the path. Raises `LibraryError` for
    an unknown name. Raises `LaunchError` if the program cannot be started, and if the environment has WEFT_REPORT or
    WEFT_PROGRESS, which are needed here. It does not raise if the program fails: see `Run.status` and `Run.check`.
    """
    words = tuple(os.fspath(word) for word in command)
    if not words:
        raise LaunchError(compose("no program", "nothing", "a program and its arguments"))
    settings = {
        "WEFT_ENGINE": engine,
        "WEFT_POLICY": policy,
        "WEFT_WORKERS": workers,
        "WEFT_MACHINE": machine,
        "WEFT_SEED": seed,
        "WEFT_RESOURCES": resources,
        "WEFT_TRACE": trace,
    }
    variables = dict(os.environ)
    for name, value in ({k: v for k, v in settings.items() if v is not None} | dict(environment or {})).items():
        if value is None:
            variables.pop(name, None)
        else:
            variables[name] = str(value)
    if spec := variables.get("WEFT_MACHINE"):
        variables["WEFT_MACHINE"] = library.machine_path(spec)
    for name in _OWN:
        if variables.get(name):
            raise LaunchError(
                compose("this variable is used for the run itself", f"{name}={variables[name]}", f"no {name}")
            )
    trace_file = variables.get("WEFT_TRACE")
    old = _states(trace_file)
    with tempfile.TemporaryDirectory(prefix="weft-") as folder:
        # One file for each process: a program may be a script that runs several.
        variables["WEFT_REPORT"] = str(Path(folder, "report.%p.json"))
        if observer:
            variables["WEFT_PROGRESS"] = str(Path(folder, "progress.%p"))
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        began = time.perf_counter()
        observe = (lambda: observer(_files(folder, "progress"))) if observer else None
        status, timed_out, interrupted = _run(words, variables, observe, timeout, (stdin, stdout, stderr))
        seconds = time.perf_counter() - began
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        found = [(path, read_report(path)) for path in _files(folder, "report")]
    return Run(
        command=words,
        status=status,
        seconds=seconds,
        cpu_seconds=after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
        reports=tuple(replace(r, process=_process(path)) for path, r in found if r is not None),
        timed_out=timed_out,
        interrupted=interrupted,
        traces=tuple(path for path, state in _states(trace_file).items() if old.get(path) != state),
    )


def last_line(file: int) -> str:
    """The line of a program's standard error that says why it failed."""
    size = os.lseek(file, 0, os.SEEK_END)
    tail = os.pread(file, 4096, max(0, size - 4096)).decode(errors="replace")
    lines = [line.strip() for line in tail.splitlines() if line.strip()]
    return lines[-1] if lines else ""


def failure_of(run: Run, errors: int) -> str:
    """Why a program failed, in its own words if it said so in the file `errors`; empty: it did not fail. Raises
    `LaunchError` if a signal to end came."""
    if run.interrupted:
        raise LaunchError("interrupted")
    try:
        run.check()
    except LaunchError as failure:
        return (last_line(errors) if run.outcome and not run.timed_out else "") or str(failure)
    return ""


def trace_files(path: Path) -> list[Path]:
    """The existing files of WEFT_TRACE; %p in its name stands for the number of any process."""
    if "%p" not in path.name:
        return numbered(path)
    before, after = (glob.escape(part) for part in path.name.split("%p", 1))
    return [n for p in sorted(path.parent.glob(f"{before}[0-9]*{after}")) for n in numbered(p)]


def numbered(path: Path) -> list[Path]:
    """The existing files of one setting: `run.weft` of the first runtime, `run.2.weft` of the second, ..."""
    paths: list[Path] = []
    while (name := path if not paths else path.with_name(f"{path.stem}.{len(paths) + 1}{path.suffix}")).exists():
        paths.append(name)
    return paths


def _files(folder: str, name: str) -> list[Path]:
    """name.PROCESS, name.PROCESS.2, ... with or without a suffix, in that order."""

    def key(path: Path) -> list[int]:
        return [int(part) for part in path.name.split(".") if part.isdigit()]

    return sorted(Path(folder).glob(f"{name}.*"), key=key)


def _process(path: Path) -> int:
    number = path.name.split(".")[1]
    if not number.isdigit():
        raise LaunchError(
            compose(
                "the program's Weft does not say which process it is",
                "a library older than this package",
                "a library that knows %p in the names of files",
            )
        )
    return int(number)


def _states(trace_file: str | None) -> dict[Path, tuple[int, int, int]]:
    """The identities of the existing traces, to distinguish those of earlier runs from new ones."""
    paths = trace_files(Path(trace_file)) if trace_file else []
    return {path: (stat.st_ino, stat.st_mtime_ns, stat.st_size) for path in paths for stat in [path.stat()]}


def _run(
    words: tuple[str, ...],
    variables: dict[str, str],
    observe: Callable[[], None] | None,
    timeout: float | None,
    streams: tuple[Output, Output, Output],
) -> tuple[int, bool, bool]:
    path = shutil.which(words[0], path=variables.get("PATH"))
    with _Signals() as signals:
        try:
            stdin, stdout, stderr = streams
            process = subprocess.Popen(words, executable=path, env=variables, stdin=stdin, stdout=stdout, stderr=stderr)
        except (OSError, ValueError) as failure:
            reason = failure.strerror if isinstance(failure, OSError) and failure.strerror else str(failure)
            raise LaunchError(
                compose(
                    f"the program cannot be started ({reason})",
                    words[0],
                    "a file that can be executed: a path (./name), or a name that PATH finds",
                )
            ) from None
        try:
            signals.go_to(process)
            ended = _watch(process, observe, timeout)
            if not ended:
                process.kill()
            return process.wait(), not ended, bool(signals.came)
        except BaseException:  # raised by the observer: the program would be left alone
            process.kill()
            process.wait()
            raise


def _watch(process: subprocess.Popen[bytes], observe: Callable[[], None] | None, timeout: float | None) -> bool:
    """Waits for the end of the program, and observes meanwhile. Returns False if that takes longer than `timeout`."""
    until = None if timeout is None else time.monotonic() + timeout
    end = os.pidfd_open(process.pid)
    try:
        poll = select.poll()
        poll.register(end, select.POLLIN)
        while True:
            left = None if until is None else max(until - time.monotonic(), 0)
            step = left if observe is None else PERIOD if left is None else min(PERIOD, left)
            if poll.poll(None if step is None else step * 1000):
                return True
            if left == 0:
                return False
            if observe:
                observe()
    finally:
        os.close(end)


class _Signals:
    """While it is entered, signals that would end this process are passed on to the program.

    Only the main thread can have handlers; in other threads this does nothing.
    """

    def __init__(self) -> None:
        self.came: list[int] = []
        self._program: subprocess.Popen[Any] | None = None
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> _Signals:
        if threading.current_thread() is threading.main_thread():
            self._before = {number: signal.getsignal(number) for number in _PASSED_ON}
            for number, handler in self._before.items():
                if handler is not signal.SIG_IGN:  # as under nohup: the signal stays ignored
                    signal.signal(number, self._pass_on)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            if handler is not None:
                signal.signal(number, handler)

    def go_to(self, program: subprocess.Popen[Any]) -> None:
        """Signals that came before the program existed are passed on, too."""
        self._program = program
        for number in self.came:
            program.send_signal(number)

    def _pass_on(self, number: int, _: FrameType | None) -> None:
        self.came.append(number)
        if self._program and not (number in _KEYBOARD and _has_the_keyboard()):
            self._program.send_signal(number)


def _has_the_keyboard() -> bool:
    """The terminal sends signals from the keyboard to this process group, to which the program belongs."""
    try:
        terminal = os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY)
    except OSError:
        return False
    try:
        return os.tcgetpgrp(terminal) == os.getpgrp()
    except OSError:
        return False
    finally:
        os.close(terminal)
