"""Random traces for the tools that read them, and random policies for the simulator: no input ends the process.

    python tests/python/fuzz.py traces|policies SEED INPUTS RECORDED...

RECORDED are traces; policies schedule the first one. A failure prints the seed and the input, as does a crash, which
faulthandler reports. tests/python/test_fuzz.py runs a few inputs, and `make stress` many.
"""

from __future__ import annotations

import contextlib
import faulthandler
import io
import json
import os
import random
import struct
import sys
import tempfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import weft
from weft.cli import run as weft_command
from weft.trace import layout

SECONDS = 120
"""An input that takes longer counts as one that never ends."""


def begin(mode: str, seed: int, number: int) -> None:
    faulthandler.dump_traceback_later(SECONDS, exit=True)
    progress = f"{mode}, seed {seed}, input {number}\n"
    os.pwrite(PROGRESS, progress.ljust(80).encode(), 0)


# ---- traces

SPECIAL = [0, 1, 2, 3, 0xFF, 0xFFFF, 0x7FFFFFFF, 0xFFFFFFFF, 1 << 32, 1 << 40, 1 << 60, 1 << 62, 1 << 63, (1 << 64) - 1]


def number(draw: random.Random, records: np.ndarray[Any, Any]) -> int:
    other = records[draw.randrange(len(records))]
    return draw.choice(
        [
            draw.choice(SPECIAL),
            draw.randrange(40),
            draw.getrandbits(draw.randint(1, 64)),
            int(other["a"]),
            int(other["b"]),
            int(other["n"]),
            int(other["at"]),
        ]
    )


def damage(draw: random.Random, records: np.ndarray[Any, Any], workers: int) -> np.ndarray[Any, Any]:
    records = records.copy()
    for _ in range(draw.randint(1, 5)):
        at = draw.randrange(len(records))
        match draw.randrange(10):
            case 0:
                records = np.delete(records, at)
            case 1:
                records = np.insert(records, at, records[at])
            case 2:
                records[at]["kind"] = draw.randrange(1, len(layout.KINDS))
            case 3:
                records[at]["stream"] = draw.choice([*range(workers), layout.OUTSIDE])
            case 4:
                records[at]["what"] = draw.choice([draw.randrange(12), draw.randrange(256)])
            case field:
                name = ("a", "b", "n", "at", "a")[field - 5]
                wide = {"n": 32, "at": 62}.get(name, 64)
                records[at][name] = number(draw, records) % (1 << wide)
        if len(records) == 0:
            return records
    return records


def block(kind: int, stream: int, body: bytes) -> bytes:
    head = layout.BLOCK.pack(layout.BLOCK_MARK, kind, stream, len(body), 0)[:12]
    return head + struct.pack("<I", zlib.crc32(head + body)) + body


def places_of(draw: random.Random, codes: dict[int, Any]) -> dict[str, Any]:
    """The places, some of them elsewhere, in another file or in none."""
    places: dict[str, Any] = {}
    for number, code in codes.items():
        place: Any = {"module": code.module, "build_id": code.build_id, "offset": code.offset}
        match draw.randrange(12):
            case 0:
                place["offset"] = draw.choice([*SPECIAL, draw.getrandbits(20), -1, 1.5])
            case 1:
                place["module"] = draw.choice(
                    ["", "/", "/dev/zero", "/etc/passwd", "\0", "x" * 5000, sys.executable, 7]
                )
            case 2:
                place["build_id"] = draw.choice(["", "00", None])
            case 3:
                place = draw.choice([None, [], {}, "x", 3])
            case 4:
                continue
        places[str(number)] = place
    return places


def file_of(
    draw: random.Random, header: bytes, names: dict[int, str], codes: dict[int, Any], records: np.ndarray[Any, Any]
) -> bytes:
    """A file with right checksums."""
    if draw.randrange(10) == 0 and names:
        names = dict(names)
        names.pop(draw.choice(list(names)))
    if draw.randrange(20) == 0:
        names = names | {draw.choice(SPECIAL): draw.choice(["", "x" * 300, "\x00", "\u2028"])}
    parts = [header, block(layout.NAMES, layout.OUTSIDE, json.dumps({str(k): v for k, v in names.items()}).encode())]
    parts.append(block(layout.PLACES, layout.OUTSIDE, json.dumps(places_of(draw, codes)).encode()))
    for stream in np.unique(records["stream"]):
        parts.append(block(layout.RECORDS, int(stream), records[records["stream"] == stream].tobytes()))
    if draw.randrange(4):
        parts.append(
            block(layout.END, layout.OUTSIDE, json.dumps({"lost": draw.choice([0, 0, 0, 7, 1 << 40])}).encode())
        )
    return b"".join(parts)


def header_of(path: str) -> bytes:
    data = Path(path).read_bytes()
    length = layout.PREAMBLE.unpack_from(data)[2]
    return data[: layout.PREAMBLE.size + length]


def use_trace(draw: random.Random, path: str, folder: str) -> str:
    """Reads the trace by each tool; returns a word for what came out."""
    commands = [
        ["trace", "stats", path],
        ["trace", "stats", path, "--json"],
        ["trace", "convert", path, "-o", f"{folder}/out.json"],
        ["trace", "view", path, "-o", f"{folder}/out.html"],
        ["analyze", path],
    ]
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = weft_command(draw.choice(commands))
    assert status in (0, 1, 2), status
    assert status == 0 or err.getvalue().startswith("weft: "), err.getvalue()
    try:
        trace = weft.read_trace(path)
        _ = trace.events, trace.tasks, trace.segments, trace.idle, trace.steals, trace.work, trace.span
        _ = trace.critical_path, trace.activities
        weft.Program(trace, times=draw.choice(["auto", "measured", "declared"]))
    except weft.Error as refused:
        assert "\n" not in str(refused), refused
        return "refused"
    return "read"


def fuzz_traces(seed: int, inputs: int, recorded: list[str]) -> dict[str, int]:
    bases = [(header_of(p), weft.read_trace(p)) for p in recorded]
    ends: dict[str, int] = {}
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/damaged.weft"
        for i in range(inputs):
            begin("traces", seed, i)
            draw = random.Random(f"{seed} {i}")
            header, base = draw.choice(bases)
            records = damage(draw, base.records, base.header.workers)
            Path(path).write_bytes(file_of(draw, header, base.names, base.codes, records))
            end = use_trace(draw, path, folder)
            ends[end] = ends.get(end, 0) + 1
    assert ends.get("read", 0) > 0 or inputs < 20, ends
    return ends


# ---- policies


class Random(weft.Policy):
    """Schedules as one queue for all, and makes mistakes."""

    draw: random.Random
    chance: float
    trace: weft.Program

    def attach(self, machine: dict[str, Any], context: weft.Context) -> None:
        self.pool: list[weft.Task] = []
        self.context = context
        self.seen: list[Any] = [
            None,
            self,
            context,
            1.5,
            "x",
            b"x",
            (),
            (1, 2),
            [0, 1],
            {},
            1 << 70,
            -1,
            0,
            3,
            99,
            True,
        ]
        self.seen += [weft.Ask(w) for w in (-1, 0, 3, 99, "x")] + [weft.Looked(p) for p in (-1, 0, 2, 99, None)]
        self.seen += [weft.Placed(p, w, n) for p, w, n in ((0, (0, 1), 0), (0, (1, 0), -1), (-2, None, -1), (1, 2, 3))]
        self.seen += [float("nan"), range(2), np.int64(1), np.zeros(2), weft.Task, type]

    def mistake(self, right: Callable[[], Any]) -> Any:
        """What `right` returns, or anything else."""
        if self.draw.random() >= self.chance:
            return right()
        match self.draw.randrange(12):
            case 0:
                raise self.draw.choice([ValueError, KeyError, SystemExit, StopIteration, MemoryError])("drawn")
            case 1:
                return self.context.wake(self.draw.randint(-3, 9), self.draw.randint(-3, 9))
            case 2:
                return self.context.random(self.draw.randint(-3, 9), self.draw.choice([0, 1, 7]))
            case 3:
                return self.context.core_of(self.draw.randint(-3, 99))
            case 4:
                return weft.simulate(self.trace, machine="core-i7-2600k", policy="share")
            case 5:
                old = self.draw.choice(self.seen)
                return getattr(old, self.draw.choice(["name", "level", "id", "uses", "work", "width"]), None)
            case 6:
                return self.draw.choice(self.pool) if self.pool else None
            case _:
                return self.draw.choice(self.seen)

    def keep(self, task: Any) -> None:
        if len(self.seen) < 200:
            self.seen.append(task)

    def ready(self, worker: int, task: weft.Task, reason: str) -> Any:
        self.keep(task)
        self.pool.append(task)
        return self.mistake(lambda: self.context.workers)

    def next(self, worker: int, last_look: bool) -> Any:
        def right() -> Any:
            return self.pool.pop(0) if self.pool else weft.Looked(self.context.workers)

        return self.mistake(right)

    def victims(self, worker: int) -> Any:
        return self.mistake(lambda: (0, 0))

    def spawn(self, worker: int, parent: weft.Task, child: weft.Task) -> Any:
        orders = ["child_first", "parent_first", "call", "lazy"]
        return self.mistake(lambda: self.draw.choice(orders))

    def group_begin(self, worker: int, task: weft.Task, group: weft.Group) -> Any:
        self.keep(group)
        return self.mistake(lambda: None)

    def group_wait(self, worker: int, task: weft.Task, group: weft.Group) -> Any:
        return self.mistake(lambda: self.draw.choice(["stay", "requeue"]))

    def finished(self, worker: int, task: weft.Task, usage: dict[str, Any]) -> Any:
        return self.mistake(lambda: None)


def fuzz_policies(seed: int, inputs: int, recorded: list[str]) -> dict[str, int]:
    program = weft.Program(recorded[0])
    ends: dict[str, int] = {}
    for i in range(inputs):
        begin("policies", seed, i)
        draw = random.Random(f"{seed} {i}")
        members = {
            "draw": draw,
            "chance": draw.choice([0, 0.001, 0.01, 0.1, 0.5]),
            "trace": program,
            "needs": draw.choice(
                [frozenset(), {"usage"}, {"levels", "uses"}, ["lazy"], {"demotable"}] * 3
                + [{"more"}, 3, "usage", [None]]
            ),
        }
        policy = type("Drawn", (Random,), members)
        try:
            weft.simulate(program, machine="core-i7-2600k", policy=policy, workers=draw.choice([None, 1, 3]))
            end = "ends"
        except (Exception, SystemExit) as e:
            assert str(e), "an exception says nothing"
            assert "bad_cast" not in str(e), e
            end = type(e).__name__
        ends[end] = ends.get(end, 0) + 1
    assert (ends.get("ends", 0) > 0 and len(ends) > 1) or inputs < 20, ends
    return ends


def main(mode: str, seed: str, inputs: str, *recorded: str) -> None:
    what = {"traces": fuzz_traces, "policies": fuzz_policies}[mode]
    print(f"{mode}, seed {seed}, {inputs} inputs:", what(int(seed), int(inputs), list(recorded)))


if __name__ == "__main__":
    faulthandler.enable()
    # What was begun last stands on standard error also when the process is killed.
    PROGRESS = os.open(os.environ.get("FUZZ_PROGRESS", os.devnull), os.O_RDWR | os.O_CREAT)
    main(*sys.argv[1:])
