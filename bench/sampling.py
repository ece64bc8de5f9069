"""Runs programs in turn, round by round, so that every figure sees the same machine. A sample with two workers
counts only if it had two cores to itself; the others are discarded and taken again, up to a bound."""

import json
import os
import shutil
import statistics
import subprocess
import sys
import time

TIME_LIMIT_S = 60  # of one sample
DISCARDS_A_ROUND = 4
PATIENCE_S = 600  # after that, what was discarded is not taken again
# The programs say themselves what they want of the runtime.
ENVIRONMENT = {name: value for name, value in os.environ.items()
               if not name.startswith(("WEFT_", "OMP_", "GOMP_", "KMP_", "RAYON_", "STARPU_"))}


class Failure(Exception):
    """A wrong answer, or a program that did not run."""


class Sampler:
    def __init__(self, program, folder, rounds):
        self.program, self.rounds = program, rounds
        self.samples, self.doubtful = [], []
        self.discarded = self.failed_probes = 0
        self.absent = ""
        executable = folder / program.executable
        launcher = list(program.launcher)
        if launcher and (folder / launcher[0]).exists():  # one of ours
            launcher[0] = str(folder / launcher[0])
        self.command = [*launcher, str(executable), *program.arguments]
        if program.optional and not executable.exists():
            self.absent = program.optional
        elif program.optional and launcher and not shutil.which(launcher[0]):
            self.absent = f"{launcher[0]} not installed"

    def wants_more(self, seconds):
        tries = self.rounds * (1 if seconds > PATIENCE_S else 1 + DISCARDS_A_ROUND)
        tried_enough = len(self.samples) + self.discarded >= tries
        return not self.absent and len(self.samples) < self.rounds and not tried_enough

    def take(self):
        """Takes one sample and returns it, or nothing if it does not count."""
        try:
            done = subprocess.run(self.command, capture_output=True, text=True, timeout=TIME_LIMIT_S,
                                  env=ENVIRONMENT)
        except subprocess.TimeoutExpired:
            raise Failure(f"no answer within {TIME_LIMIT_S} s")
        except OSError as error:
            raise Failure(str(error))
        if done.returncode != 0:
            raise Failure((done.stderr or done.stdout or f"exit status {done.returncode}").strip()[-500:])
        sample = {}
        for line in done.stdout.strip().splitlines():  # the program's, then its launcher's
            sample |= json.loads(line)
        if self.program.after:
            self.program.after(sample, done.stderr)
        self.failed_probes += sample.get("failed_probes", 0)
        if sample.get("cores") == 1:
            self.absent = "needs two cores"
        elif "absent" in sample:
            self.absent = sample["absent"]
        elif sample.get("both_cores", True):
            self.samples.append(sample)
            return sample
        else:
            self.discarded += 1
            if not sample.get("skipped"):
                self.doubtful.append(sample)
        return None


class Progress:
    """One line that is written over, on a terminal only."""

    def __init__(self, total):
        self.total, self.done, self.began = total, 0, time.monotonic()

    def seconds(self):
        return time.monotonic() - self.began

    def show(self, what):
        self.done += 1
        if sys.stderr.isatty():
            line = f"[{self.done}/{self.total}] {self.seconds():.0f} s  {what}"
            print(f"\r\033[K{line}", end="", file=sys.stderr, flush=True)

    def clear(self):
        if sys.stderr.isatty():
            print("\r\033[K", end="", file=sys.stderr, flush=True)


def measure(samplers):
    """Round by round over all programs; returns the failures by program."""
    failures = {}
    progress = Progress(sum(s.rounds for s in samplers if not s.absent))
    while pending := [s for s in samplers
                      if s.wants_more(progress.seconds()) and s.program.name not in failures]:
        for s in pending:
            progress.show(s.program.name)
            try:
                s.take()
            except Failure as failure:
                failures[s.program.name] = str(failure)
    progress.clear()
    return failures


def quartiles(values):
    if len(values) == 1:
        return values[0], values[0]
    q = statistics.quantiles(values, n=4, method="inclusive")
    return q[0], q[2]
