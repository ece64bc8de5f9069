"""`python -m weft.cosched.repeat`, with a job on its standard input: runs one program again and again, and tells how
long each run took.

It is the program's first process for the daemon, so that the program has its place from the first run to the last. It
ends, and its program with it, when the process does that started it.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import time
from types import FrameType
from typing import Any

from ..errors import Error
from .enter import enter
from .supervisor import die_with_parent

_NO_START = 127


class Repeater:
    """One job: a dict with `name`, `command`, `directory` (of the daemon; empty: none), `stdin`, `stdout`, `folder`,
    `environment`, `repeats` (0: until SIGTERM), `timeout` (s; 0: none), `cpus` (empty: all), `to` (a descriptor)."""

    def __init__(self, job: dict[str, Any]) -> None:
        self._job = job
        self._child = 0
        self._stopped = False
        self._timed_out = False

    def run(self) -> int:
        job = self._job
        signal.signal(signal.SIGTERM, self._on_stop)
        signal.signal(signal.SIGALRM, self._on_timeout)
        environment = dict(os.environ) | job["environment"]
        os.set_inheritable(job["to"], False)
        if job["cpus"]:
            os.sched_setaffinity(0, job["cpus"])
        os.chdir(job["folder"])
        if job["directory"]:
            try:
                environment |= enter(job["directory"], job["command"], name=job["name"], bare=True, stdin=job["stdin"])
            except Error as failure:
                self._say(event="unplaced", why=str(failure))
        self._say(event="ready")
        run = 0
        while not self._stopped and (job["repeats"] == 0 or run < job["repeats"]):
            run += 1
            self._once(run, environment)
        return 0

    def _once(self, run: int, environment: dict[str, str]) -> None:
        self._timed_out = False
        began = time.monotonic_ns()
        # The handler must not miss a child that has just been made.
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
        self._child = os.fork()
        if self._child == 0:
            self._become(environment)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGTERM])
        if self._job["timeout"]:
            signal.setitimer(signal.ITIMER_REAL, self._job["timeout"])
        _, status, usage = os.wait4(self._child, 0)
        ended = time.monotonic_ns()
        self._child = 0
        signal.setitimer(signal.ITIMER_REAL, 0)
        if self._stopped:
            return  # it was cut short: no run
        self._say(
            event="run",
            run=run,
            began=began,
            ended=ended,
            status=os.waitstatus_to_exitcode(status),
            timed_out=self._timed_out,
            processor=usage.ru_utime + usage.ru_stime,
            involuntary=usage.ru_nivcsw,
        )
        if os.waitstatus_to_exitcode(status) != 0:
            time.sleep(0.01)  # one that fails at once would otherwise do nothing but fail

    def _become(self, environment: dict[str, str]) -> None:
        try:
            os.setpgid(0, 0)
            die_with_parent(signal.SIGKILL)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGTERM])
            for number in (signal.SIGTERM, signal.SIGALRM):
                signal.signal(number, signal.SIG_DFL)
            os.dup2(os.open(self._job["stdin"] or os.devnull, os.O_RDONLY), 0)
            if self._job["stdout"]:
                os.dup2(os.open(self._job["stdout"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666), 1)
            os.execvpe(self._job["command"][0], self._job["command"], environment)
        except OSError as failure:
            print(f"weft: {failure.filename or self._job['command'][0]}: {failure.strerror}", file=sys.stderr)
        finally:
            os._exit(_NO_START)

    def _on_stop(self, _: int, __: FrameType | None) -> None:
        self._stopped = True
        self._kill()

    def _on_timeout(self, _: int, __: FrameType | None) -> None:
        self._timed_out = True
        self._kill()

    def _kill(self) -> None:
        """Kills the program with what it has started, which is in its process group."""
        if self._child:
            # The group may not be there yet.
            for kills in (os.killpg, os.kill):
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    kills(self._child, signal.SIGKILL)

    def _say(self, **what: Any) -> None:
        try:
            os.write(self._job["to"], (json.dumps(what) + "\n").encode())
        except BrokenPipeError:
            self._stopped = True


if __name__ == "__main__":
    sys.exit(Repeater(json.load(sys.stdin)).run())
