#!/usr/bin/env python3
"""Measures what placing several programs costs: a decision, the daemon beside eight busy programs, and a move.

A move is timed from the end of a program to the moment at which the one that has to move for it may run on its new core only. Domains are single
cores, so it needs two.

example:
  PYTHONPATH=build/dev/python build/venv/bin/python bench/cosched.py --seconds 30 --json cosched.json
"""

import argparse
import json
import os
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from weft import _core

SPIN = [sys.executable, "-c", "while True: pass"]
LIMIT_S = 60


def decisions(programs, domains, count, seed):
    """Microseconds of each of `count` decisions on random rates."""
    draw = random.Random(seed)
    taken = []
    for _ in range(count):
        given = [{"id": i, "rate": draw.randrange(10**9), "load": 1000, "domain": -1} for i in range(programs)]
        begin = time.perf_counter()
        _core.share_decide("lira-adaptive", [8] * domains, given)
        taken.append((time.perf_counter() - begin) * 1e6)
    return taken


class Daemon:
    """A daemon of its own, and programs under it."""

    def __init__(self, *options):
        self.directory = tempfile.mkdtemp(prefix="weft-bench-", dir="/dev/shm")
        self.at = ["--directory", str(Path(self.directory, "table"))]
        self.process = subprocess.Popen([*weft("daemon"), *self.at, "--domains", "cores", *options],
                                        stdout=subprocess.DEVNULL)
        self.programs = []
        wait_until(lambda: self.status() is not None, "the daemon does not start")

    def status(self):
        done = subprocess.run([*weft("status"), *self.at, "--json"], capture_output=True, text=True)
        return json.loads(done.stdout) if done.returncode == 0 else None

    def start(self, command):
        self.programs.append(subprocess.Popen([*weft("start"), *self.at, "--", *command]))

    def close(self):
        for program in self.programs:
            program.kill()
            program.wait()
        self.process.send_signal(signal.SIGTERM)
        self.process.wait()
        os.rmdir(self.directory)


def weft(command):
    return [sys.executable, "-m", "weft", "cosched", command]


def wait_until(holds, what):
    end = time.monotonic() + LIMIT_S
    while not holds():
        if time.monotonic() > end:
            raise SystemExit(f"{what} within {LIMIT_S} s")
        time.sleep(0.02)


def cost_of_daemon(seconds):
    """Thousandths of a core that the daemon takes beside eight programs that spin."""
    daemon = Daemon()
    try:
        for _ in range(8):
            daemon.start(SPIN)
        wait_until(lambda: len(daemon.status()["programs"]) == 8, "eight programs do not come")
        before = daemon.status()
        time.sleep(seconds)
        after = daemon.status()
    finally:
        daemon.close()
    used = after["daemon"]["processor_ns"] - before["daemon"]["processor_ns"]
    return 1000 * used / (after["now"] - before["now"])


def moves(count):
    """Milliseconds until a program has moved to the core of one that has ended."""
    taken = []
    daemon = Daemon()
    try:
        for _ in range(3):
            daemon.start(SPIN)
        for _ in range(count):
            wait_until(lambda: len(daemon.status()["programs"]) == 3, "three programs do not come")
            wait_until(lambda: all(len(mask) == 1 for mask in masks(daemon).values()), "three programs are not placed")
            at = masks(daemon)
            alone = next(p for p, mask in at.items() if list(at.values()).count(mask) == 1)
            others = [p for p in at if p is not alone]
            alone.kill()
            begin = time.perf_counter()
            while len({tuple(os.sched_getaffinity(p.pid)) for p in others}) == 1:
                if time.perf_counter() - begin > LIMIT_S:
                    raise SystemExit(f"no program has moved within {LIMIT_S} s")
                time.sleep(0.0002)
            taken.append((time.perf_counter() - begin) * 1e3)
            alone.wait()
            daemon.programs.remove(alone)
            daemon.start(SPIN)
    finally:
        daemon.close()
    return taken


def masks(daemon):
    return {p: tuple(sorted(os.sched_getaffinity(p.pid))) for p in daemon.programs}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=30, help="for which the daemon is measured (default: 30)")
    parser.add_argument("--moves", type=int, default=9, help="that are timed (default: 9)")
    parser.add_argument("--seed", type=int, default=1, help="of the rates (default: 1)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there too")
    given = parser.parse_args()

    found = {}
    for programs, domains, count in ((8, 4, 1000), (64, 8, 200)):
        taken = decisions(programs, domains, count, given.seed)
        found[f"decision_us_{programs}_on_{domains}"] = statistics.median(taken)
        print(f"decision, {programs} programs on {domains} domains: {statistics.median(taken):8.1f} us (median of {count})")
    found["daemon_permille_of_a_core"] = cost_of_daemon(given.seconds)
    print(f"daemon beside 8 busy programs: {found['daemon_permille_of_a_core'] / 10:.2f} % of a core")
    if len(os.sched_getaffinity(0)) >= 2:
        taken = moves(given.moves)
        found["move_ms"] = taken
        print(f"a move: {statistics.median(taken):.1f} ms (median of {len(taken)}; at most {max(taken):.1f} ms)")
    if given.json:
        given.json.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
