"""Traces for other viewers: Chrome's JSON, Perfetto's protobuf."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
import polars as pl

from .stats import class_name
from .trace import Trace

FORMATS = ("chrome", "perfetto")


@dataclass(frozen=True)
class _Picture:
    """The contents of both formats, sorted by time. Times are in nanoseconds."""

    slices: pl.DataFrame  # worker, task, class, begin, end
    flows: pl.DataFrame  # task, from_worker, spawned, worker, began
    steals: pl.DataFrame  # at, worker, victim, task, distance
    busy: list[tuple[int, int]]  # time, workers that run a task from then on
    calls: pl.DataFrame  # task, begin, end, lane: the runs of calling threads, numbered by `call` from 1 on


def convert(trace: Trace, to: str, output: str | Path) -> None:
    """Writes the trace as `to`, one of FORMATS, into the file `output`.

    Slices: what each worker ran, by class of tasks; the runs of threads that called the runtime. Flows: from a spawn to
    a beginning on another worker, or later on the same worker; from victim to thief. Counter: busy workers. Raises
    OSError if the file cannot be written.
    """
    picture = _picture(trace)
    if to == "chrome":
        with open(output, "w", encoding="utf-8") as text:
            _write_chrome(trace, picture, text)
    elif to == "perfetto":
        with open(output, "wb") as binary:
            _write_perfetto(trace, picture, binary)
    else:
        raise ValueError(to)


def _picture(trace: Trace) -> _Picture:
    tasks = trace.tasks.with_columns(class_name().alias("class"))
    slices = trace.segments.join(tasks.unique("task", keep="last").select("task", "class"), on="task", how="left")
    slices = slices.with_columns(pl.col("class").fill_null("(unknown)")).sort("worker", "begin")

    events = trace.events
    spawns = events.filter((pl.col("kind") == "spawn") & (pl.col("stream") < trace.header.workers))
    spawner = spawns.select(pl.col("a").cast(pl.UInt32).alias("task"), pl.col("stream").alias("from_worker"))
    # A task that runs at once on top of its parent needs no arrow.
    flows = (
        tasks.filter(pl.col("start") == "fresh")
        .join(spawner, on="task")
        .select("task", "from_worker", "spawned", "worker", "began")
        .sort("spawned")
    )
    calls = trace.calls.select("task", "begin", "end", "lane").with_row_index("call", offset=1)
    return _Picture(slices, flows, trace.steals, _busy(trace.segments), calls)


def _busy(segments: pl.DataFrame) -> list[tuple[int, int]]:
    times = np.concatenate([segments["begin"].to_numpy(), segments["end"].to_numpy()])
    steps = np.concatenate([np.ones(len(segments), np.int64), -np.ones(len(segments), np.int64)])
    order = np.argsort(times, kind="stable")
    times, counts = times[order], np.cumsum(steps[order])
    last_of_time = np.append(times[1:] != times[:-1], True)[: len(times)]
    times, counts = times[last_of_time], counts[last_of_time]
    changes = np.append(True, counts[1:] != counts[:-1])[: len(counts)]
    return list(zip(times[changes].tolist(), counts[changes].tolist(), strict=True))


def _lanes(picture: _Picture) -> int:
    """How many rows the calls need."""
    lanes = picture.calls["lane"].max()
    return int(lanes) + 1 if isinstance(lanes, int) else 0


def _title(trace: Trace) -> str:
    program = Path(trace.header.command[0]).name if trace.header.command else "program"
    return f"{program}, {trace.header.policy} on {trace.header.machine}"


# ---- Chrome


def _write_chrome(trace: Trace, picture: _Picture, file: IO[str]) -> None:
    """The Trace Event Format, one event a line; its times are microseconds."""
    file.write('{"displayTimeUnit": "ns", "traceEvents": [\n')
    separator = ""
    for event in _chrome_events(trace, picture):
        file.write(separator + event)
        separator = ",\n"
    file.write("\n]}\n")


def _chrome_events(trace: Trace, picture: _Picture) -> Iterator[str]:
    def at(ns: int) -> str:
        return f"{ns // 1000}.{ns % 1000:03}"

    def named(name: str, tid: int, args: dict[str, Any]) -> str:
        return json.dumps({"ph": "M", "pid": 0, "tid": tid, "name": name, "args": args})

    yield named("process_name", 0, {"name": _title(trace)})
    for w in range(trace.header.workers):
        yield named("thread_name", w, {"name": f"worker {w}"})
        yield named("thread_sort_index", w, {"sort_index": w})
    for lane in range(_lanes(picture)):
        yield named("thread_name", trace.header.workers + lane, {"name": f"caller {lane}"})
        yield named("thread_sort_index", trace.header.workers + lane, {"sort_index": lane - _lanes(picture)})
    for call, task, begin, end, lane in picture.calls.iter_rows():
        yield (
            f'{{"ph":"X","pid":0,"tid":{trace.header.workers + lane},"ts":{at(begin)},"dur":{at(end - begin)},'
            f'"name":"run {call}","cat":"run","args":{{"task":{task}}}}}'
        )
    quoted = {c: json.dumps(c) for c in picture.slices["class"].unique()}
    for worker, task, begin, end, of in picture.slices.select("worker", "task", "begin", "end", "class").iter_rows():
        yield (
            f'{{"ph":"X","pid":0,"tid":{worker},"ts":{at(begin)},"dur":{at(end - begin)},"name":{quoted[of]},'
            f'"cat":"task","args":{{"task":{task}}}}}'
        )
    for task, source, spawned, worker, began in picture.flows.iter_rows():
        flow = f'"pid":0,"id":{task},"name":"spawn","cat":"spawn"'
        yield f'{{"ph":"s",{flow},"tid":{source},"ts":{at(spawned)}}}'
        yield f'{{"ph":"f","bp":"e",{flow},"tid":{worker},"ts":{at(began)}}}'
    for number, (time, worker, victim, task, distance) in enumerate(picture.steals.iter_rows()):
        flow = f'"pid":0,"id":{number},"name":"steal","cat":"steal","ts":{at(time)}'
        yield (
            f'{{"ph":"i","s":"t","pid":0,"tid":{worker},"ts":{at(time)},"name":"steal","cat":"steal",'
            f'"args":{{"task":{task},"victim":{victim},"distance":{distance:g}}}}}'
        )
        yield f'{{"ph":"s",{flow},"tid":{victim}}}'
        yield f'{{"ph":"f","bp":"e",{flow},"tid":{worker}}}'
    for time, count in picture.busy:
        yield f'{{"ph":"C","pid":0,"ts":{at(time)},"name":"busy workers","args":{{"workers":{count}}}}}'


# ---- Perfetto


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _fixed64(field: int, value: int) -> bytes:
    return _varint(field << 3 | 1) + struct.pack("<Q", value)


def _bytes(field: int, value: bytes | str) -> bytes:
    raw = value.encode() if isinstance(value, str) else value
    return _varint(field << 3 | 2) + _varint(len(raw)) + raw


class _Perfetto:
    """Packets of one sequence; the numbers of fields are those of perfetto/protos/trace."""

    SEQUENCE = _number(10, 1)
    BEGIN, END, INSTANT, COUNTER = 1, 2, 3, 4
    PROCESS, COUNTERS, FIRST_WORKER = 1, 2, 16  # tracks

    def __init__(self, file: IO[bytes]) -> None:
        self.file = file

    def packet(self, body: bytes) -> None:
        self.file.write(_bytes(1, body + self.SEQUENCE))

    def track(self, descriptor: bytes) -> None:
        self.packet(_bytes(60, descriptor))

    def event(self, time: int, kind: int, track: int, more: bytes) -> None:
        body = _number(9, kind) + _number(11, track) + more
        self.packet(_number(8, time) + _number(13, 2) + _bytes(11, body))


def _write_perfetto(trace: Trace, picture: _Picture, file: IO[bytes]) -> None:
    out = _Perfetto(file)
    pid = max(1, trace.header.process & 0x7FFF_FFFF)
    names = {name: i + 1 for i, name in enumerate(["steal", *sorted(picture.slices["class"].unique())])}
    notes = {"task": 1, "victim": 2}
    interned = b"".join(_bytes(2, _number(1, i) + _bytes(2, name)) for name, i in names.items())
    interned += b"".join(_bytes(3, _number(1, i) + _bytes(2, name)) for name, i in notes.items())
    out.packet(_number(13, 1) + _bytes(12, interned))
    out.track(_number(1, out.PROCESS) + _bytes(3, _number(1, pid) + _bytes(6, _title(trace))))
    out.track(_number(1, out.COUNTERS) + _number(5, out.PROCESS) + _bytes(2, "busy workers") + _bytes(8, b""))
    for w in range(trace.header.workers):
        thread = _number(1, pid) + _number(2, pid + 1 + w) + _bytes(5, f"worker {w}")
        out.track(_number(1, out.FIRST_WORKER + w) + _number(5, out.PROCESS) + _bytes(4, thread))

    first_caller = out.FIRST_WORKER + trace.header.workers
    for lane in range(_lanes(picture)):
        thread = _number(1, pid) + _number(2, pid + 1 + trace.header.workers + lane) + _bytes(5, f"caller {lane}")
        out.track(_number(1, first_caller + lane) + _number(5, out.PROCESS) + _bytes(4, thread))

    def note(name: str, value: int) -> bytes:
        return _bytes(4, _number(1, notes[name]) + _number(3, value))

    for call, task, begin, end, lane in picture.calls.iter_rows():
        out.event(begin, out.BEGIN, first_caller + lane, _bytes(23, f"run {call}") + note("task", task))
        out.event(end, out.END, first_caller + lane, b"")
    # A flow is a number that two events carry. Spawns have the numbers of their tasks, steals have numbers above them.
    arrivals: dict[tuple[int, int], list[int]] = {}
    for task, _, _, worker, began in picture.flows.iter_rows():
        arrivals.setdefault((worker, began), []).append(task)
    for worker, task, begin, end, of in picture.slices.select("worker", "task", "begin", "end", "class").iter_rows():
        flows = arrivals.get((worker, begin), ())
        ends = b"".join(_fixed64(48, flow) for flow in flows)
        out.event(begin, out.BEGIN, out.FIRST_WORKER + worker, _number(10, names[of]) + note("task", task) + ends)
        out.event(end, out.END, out.FIRST_WORKER + worker, b"")
    shown = set(zip(picture.slices["worker"], picture.slices["begin"], strict=True))
    for task, source, spawned, worker, began in picture.flows.iter_rows():
        if (worker, began) in shown:
            out.event(spawned, out.INSTANT, out.FIRST_WORKER + source, _bytes(23, "spawn") + _fixed64(47, task))
    for number, (time, worker, victim, task, _) in enumerate(picture.steals.iter_rows()):
        flow = (1 << 32) + number
        out.event(time, out.INSTANT, out.FIRST_WORKER + victim, _bytes(23, "stolen from") + _fixed64(47, flow))
        what = _number(10, names["steal"]) + note("task", task) + note("victim", victim) + _fixed64(48, flow)
        out.event(time, out.INSTANT, out.FIRST_WORKER + worker, what)
    for time, count in picture.busy:
        out.event(time, out.COUNTER, out.COUNTERS, _number(30, count))
