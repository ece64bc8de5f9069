"""Running a program that is linked with Weft."""

from __future__ import annotations

import contextlib
import os
import resource
import select
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

from .errors import Error, compose
from .report import Report, read_report

Environment = Mapping[str, str | None]
"""Variables for a program; None takes one away."""

PERIOD = 0.1
"""Seconds between two calls of an observer."""

_KEYBOARD = (signal.SIGINT, signal.SIGQUIT)
_PASSED_ON = (*_KEYBOARD, signal.SIGTERM, signal.SIGHUP)
_OWN = ("WEFT_REPORT", "WEFT_PROGRESS")


class LaunchError(Error):
    """A program that cannot be started, or of which nothing can be told."""


@dataclass(frozen=True)
class Run:
    """A program that has ended."""

    command: tuple[str, ...]
    status: int
    """Its exit status; below 0: the signal that has killed it."""
    seconds: float
    """From its start to its end, real time."""
    cpu_seconds: float
    """Processor time of it and of the processes that it has waited for."""
    reports: tuple[Report, ...]
    """One for each runtime that was there; none: it is not linked with Weft, or was killed."""
    trace: Path | None
    """The file that was asked for; traces of further runtimes stand beside it, see `traces`."""

    @property
    def traces(self) -> list[Path]:
        """The traces that were written, one for each runtime."""
        return numbered(self.trace) if self.trace else []

    @property
    def outcome(self) -> str:
        """How it ended, for people; empty: well."""
        if self.status == 0:
            return ""
        if self.status > 0:
            return f"the program ended with status {self.status}"
        try:
            return f"the program was killed by {signal.Signals(-self.status).name}"
        except ValueError:
            return f"the program was killed by signal {-self.status}"

    def check(self) -> Run:
        """Itself. Raises `LaunchError` if the program failed or has made no runtime of Weft."""
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
    observer: Callable[[Path], None] | None = None,
    quiet: bool = False,
) -> Run:
    """Runs a program to its end, with Weft's settings in its environment.

    What is not given is as in the environment of this process; `environment` has the last word. Standard input, output
    and error are the program's; `quiet` takes its output away. Signals that would end this process go to the program
    instead, whose end is waited for; those of the keyboard reach it without help.

    `observer` is called about every 0.1 s, in this thread, with the name of the file in which the program tells of its
    progress (docs/progress-format.md), which need not be there.

    Raises `LaunchError` for a program that cannot be started, and for WEFT_REPORT or WEFT_PROGRESS in the environment,
    which are needed here. A program that fails is no error here: see `Run.status`, `Run.check`.
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
    for name in _OWN:
        if variables.get(name):
            raise LaunchError(
                compose("this variable is used for the run itself", f"{name}={variables[name]}", f"no {name}")
            )
    traced = variables.get("WEFT_TRACE")
    if traced:  # what an earlier run has left there is not this one's
        for old in numbered(Path(traced)):
            old.unlink()
    with tempfile.TemporaryDirectory(prefix="weft-") as folder:
        variables["WEFT_REPORT"] = str(Path(folder, "report.json"))
        progress = Path(folder, "progress")
        if observer:
            variables["WEFT_PROGRESS"] = str(progress)
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        began = time.perf_counter()
        status = _run(words, variables, (lambda: observer(progress)) if observer else None, quiet)
        seconds = time.perf_counter() - began
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        found = [read_report(path) for path in numbered(Path(folder, "report.json"))]
    return Run(
        command=words,
        status=status,
        seconds=seconds,
        cpu_seconds=after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
        reports=tuple(report for report in found if report is not None),
        trace=Path(traced) if traced else None,
    )


def numbered(path: Path) -> list[Path]:
    """The files of one setting that are there: `run.weft` of the first runtime, `run.2.weft` of the second, ..."""
    paths: list[Path] = []
    while (name := path if not paths else path.with_name(f"{path.stem}.{len(paths) + 1}{path.suffix}")).exists():
        paths.append(name)
    return paths


def _run(words: tuple[str, ...], variables: dict[str, str], observe: Callable[[], None] | None, quiet: bool) -> int:
    output = subprocess.DEVNULL if quiet else None
    path = shutil.which(words[0], path=variables.get("PATH"))
    with _signals_go_to() as target:
        try:
            process = subprocess.Popen(words, executable=path, env=variables, stdout=output, stderr=output)
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
            target(process)
            if observe:
                _observe(process, observe)
            return process.wait()
        except BaseException:  # of an observer: nobody will look after the program
            process.kill()
            process.wait()
            raise


def _observe(process: subprocess.Popen[bytes], observe: Callable[[], None]) -> None:
    """Calls it until the process has ended."""
    end = os.pidfd_open(process.pid)
    try:
        poll = select.poll()
        poll.register(end, select.POLLIN)
        while not poll.poll(PERIOD * 1000):
            observe()
    finally:
        os.close(end)


@contextlib.contextmanager
def _signals_go_to() -> Iterator[Callable[[subprocess.Popen[Any]], None]]:
    """Within it, signals that would end this process go to the process that the function given out is told of.

    Only a main thread can have handlers; in others everything stays as it is.
    """
    if threading.current_thread() is not threading.main_thread():
        yield lambda process: None
        return
    target: subprocess.Popen[Any] | None = None
    early: list[int] = []

    def pass_on(number: int, frame: FrameType | None) -> None:
        if target is None:
            early.append(number)
        elif not (number in _KEYBOARD and _has_the_keyboard()):
            target.send_signal(number)

    def aim(process: subprocess.Popen[Any]) -> None:
        nonlocal target
        target = process
        for number in early:
            process.send_signal(number)

    before = {number: signal.getsignal(number) for number in _PASSED_ON}
    try:
        for number, handler in before.items():
            if handler is not signal.SIG_IGN:  # nohup
                signal.signal(number, pass_on)
        yield aim
    finally:
        for number, handler in before.items():
            if handler is not None:
                signal.signal(number, handler)


def _has_the_keyboard() -> bool:
    """The terminal sends what is typed to this process group, in which the program is too."""
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
