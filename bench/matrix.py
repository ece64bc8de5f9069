"""Weft beside its peers: each workload on each runtime, at one worker and at all, over the serial program."""

import os
import statistics
from dataclasses import dataclass
from typing import Callable

from figures import Program
from sampling import quartiles

ROUNDS = 5
WORKERS = len(os.sched_getaffinity(0))


@dataclass
class Runtime:
    name: str
    title: str
    executable: str
    arguments: tuple = ()
    missing: str = ""  # what to say if there is no such program
    is_serial: bool = False


# The C++ programs ask for the counting themselves; those in Rust have a function to look for.
CALLGRIND = ("valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null")
OF_REQUESTS = "--collect-atstart=no"
OF_FUNCTION = "--toggle-collect=*counted_region*"

RUST = "peers/rust/release/peers"
NO_RUST = "not built (cargo, Rust 1.85 and the crates)"
NO_CLANG = "not built (clang-19)"
RUNTIMES = [
    Runtime("serial", "serial", "peers/serial", missing="not built (nettle)", is_serial=True),
    Runtime("weft", "Weft", "peers/weft", missing="not built (nettle)"),
    Runtime("weft_context", "Weft context", "peers/weft_context", missing="not built (nettle)"),
    Runtime("tbb", "oneTBB", "peers/tbb", missing="not built (libtbb-dev)"),
    Runtime("libgomp", "libgomp", "peers/libgomp", missing="not built (GCC with OpenMP)"),
    Runtime("libomp", "libomp", "peers/libomp", missing="not built (clang-19, libomp-19-dev)"),
    Runtime("rayon", "rayon", RUST, ("runtime=rayon",), NO_RUST),
    Runtime("chili", "chili", RUST, ("runtime=chili",), NO_RUST),
    Runtime("serial_clang", "serial, Clang", "peers/serial_clang", missing=NO_CLANG, is_serial=True),
    Runtime("serial_rust", "serial, Rust", RUST, ("runtime=serial",), NO_RUST, is_serial=True),
]


@dataclass
class Row:
    """One line of the table: a value of each runtime's samples; less is better. Without a unit it is over that
    of the serial program."""
    what: str
    workload: str
    workers: int
    values: Callable
    unit: str = ""
    counted: bool = False

    def program(self, runtime):
        """Its name: peers.fib.2.weft. A serial program has one worker."""
        workers = 1 if runtime.is_serial else self.workers
        return f"peers.{self.workload}.{'instructions' if self.counted else workers}.{runtime.name}"


def one(key, scale=1.0):
    return lambda sample: [sample[key] * scale]


def microseconds_a_loop(sample):
    return [sample["seconds"] * 1e6 / sample["nodes"]]


TIMED = [  # name, what it is, what a value is if not the time over the serial program
    ("fib", "fib(35)", None),
    ("integrate", "integrate", None),
    ("uts", "UTS T1", None),
    ("uts_groups", "UTS T1, by groups", None),
    ("nqueens", "nqueens(13)", None),
    ("matmul", "matmul 1024", None),
    ("merge_sort", "merge sort 10 M", None),
    ("library_sort", "library sort 10 M", None),
    ("long_loop", "loop of 100 M", None),
    ("uneven_loop", "uneven loop", None),
    ("short_loops", "a loop of 10,000", (microseconds_a_loop, "us")),
    ("skynet", "skynet 1 M", (one("seconds", 1e3), "ms")),
    ("spawns_100ns", "a loop of spawns, 0.1 us", None),
    ("spawns_1us", "a loop of spawns, 1 us", None),
    ("spawns_20us", "a loop of spawns, 20 us", None),
    ("spawns_100us", "a loop of spawns, 100 us", None),
    ("spawns_uneven", "a loop of uneven spawns", None),
    ("spawns_nested", "loops of spawns in spawned tasks, 1 us", None),
]
COUNTED = [  # for callgrind: small
    ("fib", "fib(20)", 20), ("integrate", "integrate", 30), ("uts", "UTS, 5 levels", 5),
    ("nqueens", "nqueens(8)", 8), ("skynet", "skynet 1000", 1000), ("merge_sort", "merge sort 20,000", 20_000),
]


def of_workers(count):
    return "1 worker" if count == 1 else f"{count} workers"


def rows():
    table = []
    for name, what, other in TIMED:
        for workers in dict.fromkeys((1, WORKERS)):
            values, unit = other or (one("seconds"), "")
            table.append(Row(f"{what}, {of_workers(workers)}", name, workers, values, unit))
    if WORKERS > 1:
        table += [Row("waking a worker", "wake", WORKERS, lambda sample: sample["us"], "us"),
                  Row("idle workers, of one core", "idle", WORKERS, one("percent"), "%")]
    table += [Row("peak memory, fib(35)", "fib", WORKERS, one("mb"), "MB"),
              Row("peak memory, skynet 1 M", "skynet", WORKERS, one("mb"), "MB")]
    table += [Row(f"instructions, {what}", name, 1, one("instructions"), counted=True)
              for name, what, _ in COUNTED]
    return table


def collected(sample, stderr):
    for line in stderr.splitlines():
        if "Collected :" in line:
            sample["instructions"] = int(line.split(":")[1])
    if not sample.get("instructions") and "absent" not in sample:
        sample["absent"] = "built without valgrind's headers"


NOTHING_SERIAL = ("wake", "idle")  # there is no worker to wake


def programs():
    sizes = {name: size for name, _, size in COUNTED}
    found = {}
    for row in rows():
        for runtime in RUNTIMES:
            if runtime.is_serial and row.workload in NOTHING_SERIAL:
                continue
            workers = 1 if runtime.is_serial else row.workers
            arguments = (*runtime.arguments, f"workload={row.workload}", f"workers={workers}")
            launcher, after, rounds = (), None, ROUNDS
            if row.counted:
                arguments += (f"n={sizes[row.workload]}", "warm=0")
                how = OF_FUNCTION if runtime.executable == RUST else OF_REQUESTS
                launcher, after, rounds = (*CALLGRIND, how), collected, 1
            elif workers > 1 and row.workload != "idle":
                launcher = ("peers/launcher",)
            name = row.program(runtime)
            found[name] = Program(name, runtime.executable, arguments, rounds, launcher, after, runtime.missing)
    return list(found.values())


def evaluate(samplers, failures):
    """The table as a list of rows for the file, those that were chosen; `samplers` by the names of programs."""
    serial = RUNTIMES[0]
    table = []
    for row in rows():
        chosen = [r for r in RUNTIMES if row.program(r) in samplers]
        if not any(not r.is_serial for r in chosen):
            continue
        base = 1.0
        if not row.unit:
            sampler = samplers.get(row.program(serial))
            base = statistics.median(values_of(row, sampler)[0]) if sampler and sampler.samples else None
        cells = {r.name: cell(row, samplers[row.program(r)], row.program(r) in failures, base) for r in chosen}
        best = min((c["value"] for r in chosen
                    if "value" in (c := cells[r.name]) and not c["note"] and not r.is_serial), default=None)
        for runtime in chosen:
            if not runtime.is_serial and best is not None and cells[runtime.name].get("value") == best:
                cells[runtime.name]["best"] = True
        table.append({"row": row.what, "unit": row.unit, "workload": row.workload, "workers": row.workers,
                      "counted": row.counted, "serial": base, "cells": cells})
    return table


def values_of(row, sampler):
    """All values of a program, and what there is to say of them."""
    samples = sampler.samples or sampler.doubtful
    note = "" if sampler.samples else "doubtful"
    if sampler.samples and len(samples) < min(ROUNDS, sampler.rounds):
        note = "few"
    return [v for sample in samples for v in row.values(sample)], note


def cell(row, sampler, failed, base):
    if failed:
        return {"note": "failed"}
    if sampler.absent:
        return {"note": sampler.absent}
    if base is None:
        return {"note": "no serial program to compare with"}
    values, note = values_of(row, sampler)
    if not values:
        return {"note": "two whole cores in no try"}
    values = [v / base for v in values]
    low, high = quartiles(values)
    short = {"value": statistics.median(values), "low": low, "high": high}
    return {name: float(f"{v:.4g}") for name, v in short.items()} | {
        "n": len(values), "discarded": sampler.discarded, "note": note,
        "values": [float(f"{v:.4g}") for v in values]}
