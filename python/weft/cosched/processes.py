"""Processes of others as the kernel shows them in /proc: their names, which belong to a program, what their threads
did.

Every function takes it for granted that a process may end at any instant: what is gone is left out, or is None.
"""

from __future__ import annotations

import os
import select
from dataclasses import dataclass

PROC = "/proc"
_SCANS_UNTIL_ALL = 50
"""Scans after which processes that were not the program's are looked at again: their number may have a new bearer."""


@dataclass(frozen=True)
class Stat:
    """What /proc/PID/stat says that is of use here."""

    pid: int
    state: str
    parent: int
    session: int
    start: int
    """Field 22: ticks since boot. With the pid it names a process for as long as the machine runs."""
    threads: int

    @property
    def is_running(self) -> bool:
        """Some thread of it runs: its main thread may have ended before the others."""
        return self.state not in "ZXx" or self.threads > 1


def read_bytes(path: str) -> bytes | None:
    """The content of a small file of /proc; None if the process is gone or of another user."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        return os.read(file, 1 << 16)
    except OSError:
        return None
    finally:
        os.close(file)


def parse_stat(text: bytes) -> Stat | None:
    """Parses /proc/PID/stat. The name in parentheses may have any bytes, parentheses too."""
    pid, _, rest = text.partition(b" (")
    fields = rest.rpartition(b")")[2].split()
    try:
        return Stat(
            int(pid), fields[0].decode("ascii"), int(fields[1]), int(fields[3]), int(fields[19]), int(fields[17])
        )
    except (IndexError, ValueError):
        return None


def stat_of(pid: int) -> Stat | None:
    text = read_bytes(f"{PROC}/{pid}/stat")
    return parse_stat(text) if text else None


def start_of(pid: int) -> int | None:
    """The start of a living process; None if there is none, or only what its parent has not collected."""
    found = stat_of(pid)
    return found.start if found and found.is_running else None


def is_alive(pid: int, start: int) -> bool:
    """Whether this very process lives. A later one with its number does not count."""
    return start_of(pid) == start


def threads_of(pid: int) -> list[int]:
    """The numbers of a process's threads in the order in which they were made, the main thread first."""
    try:
        return sorted(int(name) for name in os.listdir(f"{PROC}/{pid}/task"))
    except OSError:
        return []


def is_guest(pid: int, tid: int) -> bool:
    """Whether it is a thread that a program linked with Weft has for cores of others."""
    return read_bytes(f"{PROC}/{pid}/task/{tid}/comm") == b"weft-guest\n"


def thread_count(pid: int) -> int:
    """How many threads a process has, without listing them: the folder has a link for each (proc_task_getattr). 0 if
    the process is gone."""
    try:
        return os.stat(f"{PROC}/{pid}/task").st_nlink
    except OSError:
        return 0


def processes() -> list[int]:
    return [int(name) for name in os.listdir(PROC) if name.isdecimal()]


def last_made() -> int | None:
    """The number of the thread that was made last, of all processes seen from here; None if the kernel does not say."""
    try:
        return int((read_bytes(f"{PROC}/loadavg") or b"").rsplit(None, 1)[-1])
    except (IndexError, ValueError):
        return None


def leftovers(pid: int, start: int, variable: str) -> list[int]:
    """The processes that are in the session that a process has led, or have a variable in their environment that it has
    had. start: of the process; what is older is none of these."""
    mark = variable.encode()
    found = []
    for other in processes():
        s = stat_of(other)
        if s is None or s.start < start or not s.is_running:
            continue
        if s.session == pid or mark in (read_bytes(f"{PROC}/{other}/environ") or b"").split(b"\0"):
            found.append(other)
    return found


class Families:
    """The processes of each program: its first one, all that descend from it, and those of its session that have lost
    their parent. A process that has been found to be a program's stays so until it ends, whichever its parent is then.

    The end of a member is told by its pidfd, so that a scan reads only what is new.
    """

    def __init__(self) -> None:
        self._roots: dict[int, Stat] = {}
        self._members: dict[int, dict[int, int]] = {}
        """By program: the pidfd of each process."""
        self._ends = select.poll()
        self._of_end: dict[int, tuple[int, int]] = {}
        self._others: set[int] = set()
        self._scans = 0
        self._made: tuple[int | None, int | None] = None, None
        """What last_made() said before each of the last two scans."""

    def add(self, program: int, pid: int) -> bool:
        """Adds a program by its first process. False if that is gone."""
        found = stat_of(pid)
        if found is None or not found.is_running:
            return False
        self._members[program] = {}
        if not self._take(program, found):
            del self._members[program]
            return False
        self._roots[program] = found
        self._others.clear()
        self._made = None, None
        return True

    def drop(self, program: int) -> None:
        self._roots.pop(program, None)
        for pid in list(self._members.get(program, ())):
            self._remove(program, pid)
        self._members.pop(program, None)

    def of(self, program: int) -> list[int]:
        """The processes found by the last scan, the first one before the others."""
        return list(self._members.get(program, ()))

    def scan(self) -> None:
        """Looks for processes that have begun or ended."""
        if not self._roots:
            return
        for end, _ in self._ends.poll(0):
            self._remove(*self._of_end[end])
        self._scans += 1
        looks_at_all = self._scans % _SCANS_UNTIL_ALL == 0
        # To list all processes takes a third of the daemon's time. There is nothing new if no thread was made since the
        # scan before the last one: a process has its number shortly before it is in the list, so one scan may miss it.
        last = last_made()
        if last is not None and self._made == (last, last) and not looks_at_all:
            return
        self._made = self._made[1], last
        if looks_at_all:
            self._others.clear()
        there = set(processes())
        self._others &= there
        known = {pid for members in self._members.values() for pid in members}
        new = {pid: s for pid in there - known - self._others if (s := stat_of(pid)) and s.is_running}
        # A parent may be among the new ones, so until a round finds none.
        while found := [(program, s) for s in new.values() if (program := self._program_of(s)) is not None]:
            for program, s in found:
                self._take(program, s)
                del new[s.pid]
        self._others |= set(new)

    def _take(self, program: int, s: Stat) -> bool:
        """False if the process has ended since it was looked at."""
        try:
            end = os.pidfd_open(s.pid)
        except OSError:
            return False
        if start_of(s.pid) != s.start:  # the descriptor is of a later process, or of one that has just ended
            os.close(end)
            return False
        self._members[program][s.pid] = end
        self._of_end[end] = program, s.pid
        self._ends.register(end, select.POLLIN)
        return True

    def _remove(self, program: int, pid: int) -> None:
        end = self._members[program].pop(pid)
        del self._of_end[end]
        self._ends.unregister(end)
        os.close(end)

    def _program_of(self, s: Stat) -> int | None:
        for program, members in self._members.items():
            if s.parent in members:
                return program
        for program, root in self._roots.items():
            # The session is the program's own only if its first process leads it.
            if s.session == root.session == root.pid and s.start >= root.start:
                return program
        return None


@dataclass
class Times:
    """Of one thread, since it began: ns on a processor, ns runnable without one."""

    run: int
    wait: int


class SchedStat:
    """Reads /proc/PID/task/TID/schedstat again and again, without opening it anew."""

    def __init__(self, pid: int, tid: int) -> None:
        self._file = os.open(f"{PROC}/{pid}/task/{tid}/schedstat", os.O_RDONLY | os.O_CLOEXEC)

    def read(self) -> Times | None:
        """None if the thread has ended, or the kernel keeps no such figures."""
        try:
            run, wait, _ = os.pread(self._file, 128, 0).split()
            return Times(int(run), int(wait))
        except (OSError, ValueError):
            return None

    def close(self) -> None:
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


def open_schedstat(pid: int, tid: int) -> SchedStat | None:
    try:
        return SchedStat(pid, tid)
    except OSError:
        return None


def involuntary_switches(pid: int, tid: int) -> int | None:
    """How often the kernel has taken the processor from a thread that could go on."""
    text = read_bytes(f"{PROC}/{pid}/task/{tid}/status")
    for line in (text or b"").splitlines():
        if line.startswith(b"nonvoluntary_ctxt_switches:"):
            return int(line.split()[1])
    return None


def pressure() -> float | None:
    """The share of the last ten seconds in which some thread of the machine waited for a processor, in per cent; None
    without pressure stall information (CONFIG_PSI)."""
    for line in (read_bytes(f"{PROC}/pressure/cpu") or b"").splitlines():
        if line.startswith(b"some "):
            for word in line.split():
                if word.startswith(b"avg10="):
                    return float(word[6:])
    return None
