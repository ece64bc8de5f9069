#!/usr/bin/env python3
"""What ways and page colours cost on the Opteron 8380, line by line: the experiments of opteron-8380-4x4.md.

    ways.py

The model's caches are one large set. Here are sets and ways, pages that lie at random in memory, and the third level
as it is: filled by what leaves the second. Two programs of the book run on it.
"""

import random

LINE, PAGE = 64, 4096


class Cache:
    """Sets of `ways` lines, of which the least recently used leaves."""

    def __init__(self, size, ways):
        self.sets = [{} for _ in range(size // LINE // ways)]  # by line; in the order of their use
        self.ways = ways

    def take(self, line):
        """True if the line was there; it is gone then."""
        return self.sets[line % len(self.sets)].pop(line, self) is not self

    def put(self, line):
        """The line that had to leave, or None."""
        s = self.sets[line % len(self.sets)]
        s[line] = None
        if len(s) <= self.ways:
            return None
        oldest = next(iter(s))
        del s[oldest]
        return oldest


class Core:
    """64 KiB in 2 ways, 512 KiB in 16, and a third level of 6 MiB in 48, each without what is in those below it."""

    def __init__(self, one_set=False):
        sizes = ((64 << 10, 2), (512 << 10, 16), (6 << 20, 48))
        self.levels = [Cache(size, size // LINE if one_set else ways) for size, ways in sizes]
        self.missed = [0, 0, 0]

    def touch(self, line):
        for level, cache in enumerate(self.levels):
            if cache.take(line):
                break
            self.missed[level] += 1
        for cache in self.levels:
            line = cache.put(line)
            if line is None:
                break


class Memory:
    """Pages at random places."""

    def __init__(self, seed):
        self.random, self.pages = random.Random(seed), {}

    def line(self, address):
        page = self.pages.setdefault(address // PAGE, self.random.randrange(1 << 20))
        return (page * PAGE + address % PAGE) // LINE


def heat(core, memory, rows, cols, sweeps):
    """One core's strips of eight rows, one after another."""
    stride = (cols + 2) * 8
    plates = [0, 1 << 40]
    for sweep in range(sweeps):
        now, out = plates[sweep % 2], plates[1 - sweep % 2]
        for row in range(1, rows + 1):
            for at in range(0, stride, LINE):
                for neighbour in (row - 1, row, row + 1):
                    core.touch(memory.line(now + neighbour * stride + at))
                core.touch(memory.line(out + row * stride + at))


def misses_of_heat():
    print("Heat, 1024 columns, a core alone with 192 rows of two plates (3 MiB), four sweeps:")
    for name, one_set in (("sets and ways", False), ("one set", True)):
        core = Core(one_set)
        heat(core, Memory(1), 192, 1024, 4)
        lines = 2 * 192 * 1026 * 8 // LINE * 4
        print(
            f"  {name:14}"
            + "  ".join(f"L{k + 1} {m / lines:.2f}" for k, m in enumerate(core.missed))
            + "  misses for each line of a sweep"
        )


def conflicts():
    print("Sweeps over a part of the third level, pages at random: the part of it that each sweep misses")
    for part in (0.5, 0.67, 0.8, 0.9, 1.0, 1.1):
        cache, memory = Cache(6 << 20, 48), Memory(2)
        lines = int(part * (6 << 20) / LINE)
        missed = 0
        for sweep in range(4):
            for i in range(lines):
                line = memory.line(i * LINE)
                missed += not cache.take(line) and sweep > 0
                cache.put(line)
        print(f"  {part:4.0%} of it: {missed / (3 * lines):.3f}")


if __name__ == "__main__":
    misses_of_heat()
    conflicts()
