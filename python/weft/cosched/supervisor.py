"""Keeps a daemon alive: starts it as a process of its own, starts it anew if it is killed, and cleans up behind it."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable
from typing import IO

from .. import _core
from ..errors import Error, LibraryError, compose
from .daemon import clean
from .messages import NoDaemonError, ask
from .settings import Settings

_MOST_STARTS, _WITHIN = 10, 60.0
"""A daemon that ends more often than so many times in so many seconds is given up."""
_START_LIMIT = 30.0
_END_LIMIT = 10.0
_PR_SET_PDEATHSIG = 1
_LIBC = ctypes.CDLL(None)


def die_with_parent(number: int) -> None:
    """In a child before exec: the kernel sends it this signal when the thread that made it ends."""
    _LIBC.prctl(_PR_SET_PDEATHSIG, number, 0, 0, 0)


def _as_daemon() -> None:
    die_with_parent(signal.SIGTERM)


class Supervisor:
    """With a daemon inside of `with`. Signals from the keyboard do not reach the daemon: it ends with its
    supervisor."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings.checked()
        self.restarts = 0
        self._process: subprocess.Popen[bytes] | None = None
        self._starts: deque[float] = deque(maxlen=_MOST_STARTS)
        self._said: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 (closed by stop())

    def __enter__(self) -> Supervisor:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def pid(self) -> int:
        """Of the daemon."""
        assert self._process
        return self._process.pid

    def start(self) -> None:
        """Returns when the daemon answers. Raises `Error` with its message if it ends before."""
        self._spawn()
        until = time.monotonic() + _START_LIMIT
        while True:
            assert self._process
            try:
                answer = ask(self.settings.directory, {"do": "status"}, wait=0.05)
                if answer["daemon"]["pid"] == self._process.pid:
                    return
            except NoDaemonError:
                pass
            if self._process.poll() is not None:
                raise Error(self._last_words() or f"the daemon ended with status {self._process.returncode}")
            if time.monotonic() > until:
                self.stop()
                raise Error(compose("the daemon does not answer", f"{_START_LIMIT:g} s", "an answer"))
            time.sleep(0.02)

    def check(self, died: Callable[[str], None] = lambda _: None) -> bool:
        """Starts the daemon anew if it has died, and calls `died` with the reason. False: it has ended as it was told
        to, or is given up."""
        if self._process is None:
            return False
        status = self._process.poll()
        if status is None:
            return True
        if status == 0:
            self._process = None
            return False
        if len(self._starts) == _MOST_STARTS and time.monotonic() - self._starts[0] < _WITHIN:
            self._process = None
            self._clean()
            raise Error(
                compose(
                    f"the daemon is given up ({self._why()})",
                    f"{_MOST_STARTS} ends within {_WITHIN:g} s",
                    "fewer",
                )
            )
        self.restarts += 1
        died(self._why())
        self._spawn()
        return True

    def wait(self, died: Callable[[str], None] = lambda _: None) -> None:
        """As long as the daemon is to run. Raises `Error` when it is given up."""
        while self.check(died):
            assert self._process
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(timeout=0.5)

    def stop(self) -> None:
        """Ends the daemon. Whatever it could not clean up is cleaned up here."""
        process, self._process = self._process, None
        if process is not None:
            process.terminate()
            try:
                process.wait(timeout=_END_LIMIT)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            if process.returncode != 0:
                self._clean()
        self._said.close()

    def _spawn(self) -> None:
        self._starts.append(time.monotonic())
        self._said.seek(0)
        self._said.truncate()
        self._process = subprocess.Popen(
            # -P: what lies in the working directory is not imported.
            [sys.executable, "-P", "-m", "weft.cosched", self.settings.to_json()],
            stdin=subprocess.DEVNULL,
            stdout=self._said,
            stderr=self._said,
            start_new_session=True,
            preexec_fn=_as_daemon,
        )

    def _why(self) -> str:
        return self._last_words() or "it was killed"

    def _last_words(self) -> str:
        self._said.seek(0)
        lines = self._said.read().decode(errors="replace").strip().splitlines()
        return lines[-1].removeprefix("weft: ") if lines else ""

    def _clean(self) -> None:
        if os.path.isdir(self.settings.directory):
            with contextlib.suppress(LibraryError, OSError):
                clean(self.settings.directory)


def is_running(directory: str) -> bool:
    """Whether a daemon answers at this directory."""
    try:
        found = _core.ShareTable.open(directory).read()
    except LibraryError:
        return False
    try:
        ask(directory, {"do": "status"}, wait=0.0 if found["state"] != "fresh" else 0.5)
    except NoDaemonError:
        return False
    return True
