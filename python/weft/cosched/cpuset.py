"""Control groups of the controller cpuset, one for each program: the kernel then confines every process that a program
starts, before the daemon has seen it. Version 2 of the hierarchy, or version 1.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Container, Iterable
from pathlib import Path

from .domains import cpu_list
from .processes import read_bytes

_ROOT = Path("/sys/fs/cgroup")
_ROUNDS = 20
"""How often what is left in a group is moved: a process that forks all the time is not waited for."""


class Cpusets:
    """The groups of one daemon, below a group of its own. Their names come from the daemon's directory, so that the
    next daemon finds and removes them."""

    def __init__(self, directory: str, root: Path = _ROOT) -> None:
        self._name = "weft" + re.sub(r"[^A-Za-z0-9]+", "-", directory)
        self._home, self._is_v2, self.why_none = _hierarchy(root)
        """Why there can be no groups is empty if there can."""
        self._top = self._home / self._name
        self._busy: set[int] = set()
        """Slots without a program whose groups could not be removed."""

    def place(self, slot: int, pids: Iterable[int], cpus: frozenset[int]) -> str:
        """Makes the program's group and puts its processes there. Returns what was refused; empty if nothing."""
        group = self._top / str(slot)
        try:
            if not group.is_dir():
                self._make(self._top, None)
                self._make(group, cpus)
            if _text(group / "cpuset.cpus") != cpu_list(cpus):
                (group / "cpuset.cpus").write_text(cpu_list(cpus))
        except OSError as failure:
            return f"its cpuset cannot be set: {failure.strerror}"
        inside = set(_text(group / "cgroup.procs").split())
        for pid in pids:
            if str(pid) not in inside:
                with contextlib.suppress(OSError):  # it has ended
                    (group / "cgroup.procs").write_text(str(pid))
        return ""

    def release(self, slot: int) -> None:
        """Puts its processes back into the group that the daemon was found in."""
        for pid in _text(self._top / str(slot) / "cgroup.procs").split():
            with contextlib.suppress(OSError):
                (self._home / "cgroup.procs").write_text(pid)

    def drop(self, slot: int) -> None:
        """Removes the program's group. Its processes go back first, again and again: while some go, others may fork."""
        group = self._top / str(slot)
        for _ in range(_ROUNDS):
            self.release(slot)
            with contextlib.suppress(OSError):
                group.rmdir()
            if not group.is_dir():
                self._busy.discard(slot)
                return
        self._busy.add(slot)

    def drop_others(self, slots: Container[int]) -> None:
        """Removes the groups of all but these: of programs that ended while there was no daemon."""
        for slot in self._slots():
            if slot not in slots:
                self.drop(slot)

    def drop_busy(self, slots: Container[int]) -> None:
        """Tries again to remove groups that had processes to the end, but for these slots, which have new programs."""
        for slot in [s for s in self._busy if s not in slots]:
            self.drop(slot)

    def remove(self) -> None:
        """Removes all groups."""
        self.drop_others(())
        with contextlib.suppress(OSError):
            self._top.rmdir()

    def _slots(self) -> list[int]:
        if not self._top.is_dir():
            return []
        return [int(p.name) for p in self._top.iterdir() if p.is_dir() and p.name.isdecimal()]

    def _make(self, group: Path, cpus: frozenset[int] | None) -> None:
        group.mkdir(exist_ok=True)
        if self._is_v2:
            if cpus is None:
                (group / "cgroup.subtree_control").write_text("+cpuset")
            return
        parent = group.parent  # a new group of version 1 has neither, and takes no process
        (group / "cpuset.mems").write_text(_text(parent / "cpuset.mems"))
        (group / "cpuset.cpus").write_text(cpu_list(cpus) if cpus else _text(parent / "cpuset.cpus"))


def _hierarchy(root: Path) -> tuple[Path, bool, str]:
    """The group of this process among those of cpuset, whether that is version 2, and why none can be made in it."""
    lines = (read_bytes("/proc/self/cgroup") or b"").decode().splitlines()
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if "cpuset" in controllers.split(","):
            home = root / "cpuset" / path.lstrip("/")
            return home, False, _why_not(home)
    for line in lines:
        if line.startswith("0::"):
            home = root / line[3:].lstrip("/")
            if "cpuset" not in _text(home / "cgroup.subtree_control").split():
                return home, True, f"{home} does not hand on the controller cpuset (cgroup.subtree_control)"
            return home, True, _why_not(home)
    return root, True, "this system has no control groups"


def _why_not(home: Path) -> str:
    return "" if os.access(home, os.W_OK) else f"{home} may not be written"


def _text(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""
