"""Traces for Chrome and Perfetto, read back."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
import weft
from weft.trace.convert import convert
from writing import TraceFile, stolen_parent


def test_chrome(write: Callable[[TraceFile], Path], tmp_path: Path) -> None:
    convert(weft.read_trace(write(stolen_parent())), "chrome", tmp_path / "out.json")
    events = json.loads((tmp_path / "out.json").read_text())["traceEvents"]
    slices = [(e["tid"], e["name"], e["ts"], e["dur"], e["args"]["task"]) for e in events if e["ph"] == "X"]
    assert slices == [
        (2, "run 1", 0.005, 0.115, 1),
        (0, "(root)", 0.01, 0.01, 1),
        (0, "child", 0.02, 0.08, 2),
        (0, "(root)", 0.11, 0.01, 1),
        (1, "(root)", 0.04, 0.01, 1),
    ]
    names = {e["tid"]: e["args"]["name"] for e in events if e["ph"] == "M" and e["name"] == "thread_name"}
    assert names == {0: "worker 0", 1: "worker 1", 2: "caller 0"}
    assert [(e["tid"], e["args"]) for e in events if e["ph"] == "i"] == [(1, {"task": 1, "victim": 0, "distance": 2})]
    assert [(e["tid"], e["ph"]) for e in events if e["ph"] in "sf"] == [(0, "s"), (1, "f")]
    counts = [(e["ts"], e["args"]["workers"]) for e in events if e["ph"] == "C"]
    assert counts == [(0.01, 1), (0.04, 2), (0.05, 1), (0.1, 0), (0.11, 1), (0.12, 0)]


def test_chrome_of_real_runs(modelled: Path, threaded: Path, tmp_path: Path) -> None:
    for path in (modelled, threaded):
        trace = weft.read_trace(path)
        convert(trace, "chrome", tmp_path / "out.json")
        events = json.loads((tmp_path / "out.json").read_text())["traceEvents"]
        count = Counter(e["ph"] for e in events)
        assert count["X"] == len(trace.segments) + len(trace.calls) and count["i"] == len(trace.steals)
        assert count["s"] == count["f"] > count["i"]
        assert sum(e["dur"] for e in events if e["ph"] == "X" and e["cat"] == "task") == pytest.approx(trace.work / 1e3)


def test_perfetto_by_its_own_messages(modelled: Path, threaded: Path, tmp_path: Path) -> None:
    messages = pytest.importorskip("perfetto.protos.perfetto.trace.perfetto_trace_pb2")
    for path in (modelled, threaded):
        trace = weft.read_trace(path)
        convert(trace, "perfetto", tmp_path / "out.pftrace")
        read = messages.Trace()
        read.ParseFromString((tmp_path / "out.pftrace").read_bytes())
        names, tracks, flows, ends = {}, {}, Counter(), Counter()
        open_slices: dict[int, tuple[str, int, int]] = {}
        slices, steals, counters = [], 0, []
        for packet in read.packet:
            assert packet.trusted_packet_sequence_id == 1
            names |= {name.iid: name.name for name in packet.interned_data.event_names}
            if packet.HasField("track_descriptor"):
                tracks[packet.track_descriptor.uuid] = packet.track_descriptor
            if not packet.HasField("track_event"):
                continue
            event = packet.track_event
            flows.update(event.flow_ids)
            ends.update(event.terminating_flow_ids)
            name = event.name or names.get(event.name_iid)
            if event.type == event.TYPE_SLICE_BEGIN:
                assert event.track_uuid not in open_slices
                open_slices[event.track_uuid] = (name, packet.timestamp, event.debug_annotations[0].uint_value)
            elif event.type == event.TYPE_SLICE_END:
                name, begin, task = open_slices.pop(event.track_uuid)
                slices.append((tracks[event.track_uuid].thread.thread_name, task, begin, packet.timestamp))
            elif event.type == event.TYPE_INSTANT:
                steals += name == "steal"
            else:
                counters.append(event.counter_value)
        assert not open_slices
        ran = [(f"worker {w}", *row) for w, *row in trace.segments.rows()]
        calls = [(f"caller {lane}", t, b, e) for t, b, e, lane in trace.calls.drop("name").rows()]
        assert sorted(slices) == sorted(ran + calls)
        assert steals == len(trace.steals) and flows == ends and set(flows.values()) == {1}
        assert min(counters) == 0 and 1 <= max(counters) <= trace.header.workers


def test_a_trace_without_tasks(write: Callable[[TraceFile], Path], tmp_path: Path) -> None:
    trace = weft.read_trace(write(TraceFile().end()))
    for to in ("chrome", "perfetto"):
        convert(trace, to, tmp_path / to)
        assert (tmp_path / to).stat().st_size > 0
