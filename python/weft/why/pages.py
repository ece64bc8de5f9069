"""On which memory nodes the pages of a program lie."""

from __future__ import annotations

import contextlib
import re
from collections import Counter
from pathlib import Path

from .. import _core

_NODE = re.compile(r" N(\d+)=(\d+)")
_PAGE = re.compile(r" kernelpagesize_kB=(\d+)")
_SHARED = re.compile(r" file=(?!/dev/zero|/anon_hugepage|/SYSV)")


def memory_nodes() -> int:
    """Number of memory nodes of this machine that this process may use."""
    return len(_core.machine("", False)["memory_nodes"])


def bytes_by_node(numa_maps: str) -> dict[int, int]:
    """Bytes on each node by the text of /proc/PID/numa_maps, without what comes from files: programs share that."""
    sums: Counter[int] = Counter()
    for line in numa_maps.splitlines():
        if (page := _PAGE.search(line)) and not _SHARED.search(line):
            for node, count in _NODE.findall(line):
                sums[int(node)] += int(count) * int(page[1]) * 1024
    return dict(sums)


class Pages:
    """An observer of launch() that keeps where the pages of the largest process were when it had most of them."""

    def __init__(self) -> None:
        self.most: dict[int, int] = {}

    def __call__(self, progress: list[Path]) -> None:
        for process in {path.name.split(".")[1] for path in progress}:
            # A process that has ended meanwhile, and one of another user, has none that can be read.
            with contextlib.suppress(OSError):
                now = bytes_by_node(Path("/proc", process, "numa_maps").read_text(errors="replace"))
                self.most = max(self.most, now, key=lambda pages: sum(pages.values()))
