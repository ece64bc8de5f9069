"""Damaged and cut files: an error that names the place, or a right prefix; never a crash, never a wrong number."""

from __future__ import annotations

import os
import signal
import struct
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
import weft
from hypothesis import given
from hypothesis import strategies as st
from weft.progress import read_progress
from weft.report import read_report
from weft.trace import layout
from writing import TraceFile, stolen_parent

WHOLE = stolen_parent()
BYTES = WHOLE.bytes()
ENDS = np.cumsum([len(part) for part in WHOLE.parts]).tolist()


def read(data: bytes) -> weft.Trace:
    with tempfile.NamedTemporaryFile(suffix=".weft") as file:
        file.write(data)
        file.flush()
        trace = weft.read_trace(file.name)
    _ = trace.events, trace.tasks, trace.segments, trace.idle, trace.steals, trace.work, trace.span
    return trace


RECORDS = read(BYTES).records


def is_right_prefix(trace: weft.Trace) -> bool:
    return bool((trace.records == RECORDS[: len(trace.records)]).all())


@given(st.integers(0, len(BYTES) - 1))
def test_a_cut_file_has_its_whole_blocks(size: int) -> None:
    if size < ENDS[0]:
        with pytest.raises(weft.TraceError):
            read(BYTES[:size])
        return
    trace = read(BYTES[:size])
    assert not trace.complete
    blocks = sum(end <= size for end in ENDS)
    records = sum(len(part) // 32 for part in WHOLE.parts[2:blocks])  # a header, a block of names, then records
    assert len(trace.records) == records and is_right_prefix(trace)


@given(st.integers(0, len(BYTES) * 8 - 1))
def test_a_flipped_bit_is_seen(bit: int) -> None:
    data = bytearray(BYTES)
    data[bit // 8] ^= 1 << bit % 8
    try:
        trace = read(bytes(data))
    except weft.TraceError as error:
        assert 0 <= error.at <= len(data) and f"byte {error.at}" in str(error) and "\n" not in str(error)
        return
    # A length that leads past the end of the file looks like a cut file.
    assert is_right_prefix(trace) and not trace.complete


@given(st.integers(0, len(BYTES)), st.binary(max_size=40), st.integers(0, 40))
def test_bytes_put_in_or_taken_out(at: int, put: bytes, taken: int) -> None:
    data = BYTES[:at] + put + BYTES[at + taken :]
    try:
        trace = read(data)
    except weft.TraceError:
        return
    assert is_right_prefix(trace)


@given(st.binary(max_size=200))
def test_anything_behind_the_header(tail: bytes) -> None:
    try:
        trace = read(WHOLE.parts[0] + tail)
    except weft.TraceError:
        return
    assert len(trace.records) == 0


events = st.lists(
    st.tuples(
        st.integers(0, 60),
        st.integers(1, len(layout.KINDS) - 1),
        st.integers(0, 6) | st.integers(0, 2**64 - 1),
        st.integers(0, 6) | st.integers(0, 2**64 - 1),
        st.integers(0, 3) | st.integers(0, 2**32 - 1),
        st.integers(0, 6) | st.integers(0, 255),
    ),
    min_size=1,
    max_size=30,
)


@given(events, events, events)
def test_records_without_sense_do_no_harm(first: list, second: list, outside: list) -> None:  # type: ignore[type-arg]
    made = TraceFile().stream(0, *first).stream(1, *second).stream(layout.OUTSIDE, *outside)
    trace = read(made.end().bytes())
    assert sorted(trace.events["kind"].to_list()) == sorted(layout.KINDS[k] for k in trace.records["kind"])
    for table in (trace.segments, trace.idle):
        for of_worker in table.partition_by("worker"):
            begin, end = of_worker["begin"].to_numpy(), of_worker["end"].to_numpy()
            assert (begin < end).all() and (end[:-1] <= begin[1:]).all()


HEAD = layout.BLOCK.size


@pytest.mark.parametrize(
    ("change", "at", "says"),
    [
        (lambda b: b"", 0, "no trace"),
        (lambda b: b"ELF" + b[3:], 0, "no trace"),
        (lambda b: b[:8] + struct.pack("<I", 4) + b[12:], 8, "another version; given: 4; allowed: 1 to 3"),
        (lambda b: b[:12] + struct.pack("<I", 7) + b[16:], 12, "length of the header"),
        (lambda b: b[:12] + struct.pack("<I", 1 << 30) + b[16:], 12, "ends within its header"),
        (lambda b: b[:30] + b"?" + b[31:], 16, "header's checksum"),
        (lambda b: b[: ENDS[0]] + b"KLBW" + b[ENDS[0] + 4 :], ENDS[0], "no block"),
        (lambda b: b[: ENDS[0] + 4] + b"\x09" + b[ENDS[0] + 5 :], ENDS[0] + 4, "unknown type of block; given: 9"),
        (lambda b: b[: ENDS[0] + 8] + b"\0\0\0\0" + b[ENDS[0] + 12 :], ENDS[0] + 8, "impossible length"),
        (lambda b: b[: ENDS[1] + 8] + b"\x21\0\0\0" + b[ENDS[1] + 12 :], ENDS[1] + 8, "a multiple of 32"),
        (lambda b: b[: ENDS[1] + 40] + b"?" + b[ENDS[1] + 41 :], ENDS[1] + 12, "block's checksum"),
        (lambda b: b + b"more", len(BYTES), "behind the end"),
    ],
)
def test_what_is_wrong_and_where(change: Callable[[bytes], bytes], at: int, says: str) -> None:
    with pytest.raises(weft.TraceError) as error:
        read(change(BYTES))
    assert error.value.at == at and says in str(error.value)


@pytest.mark.parametrize(
    ("made", "says"),
    [
        (TraceFile(workers=0), "workers: 0"),
        (TraceFile(cores=[0]), "cores of 1 workers"),
        (TraceFile(time="unreal"), "unreal"),
        (TraceFile().stream(2, (0, "search")), "impossible stream; given: 2; allowed: 0 to 1"),
        (TraceFile().stream(0, (0, 33)), "impossible kind of a record; given: 33; allowed: 1 to 32"),
        (TraceFile().stream(0, (1 << 63, "search")), "impossible time"),
        (TraceFile().block(layout.NAMES, layout.OUTSIDE, b"[]"), "a JSON object"),
        (TraceFile().block(layout.NAMES, layout.OUTSIDE, b'{"lost": 1}'), "no name"),
        (TraceFile().block(layout.END, layout.OUTSIDE, b'{"1": "x"}'), "a damaged end"),
        (TraceFile().block(layout.END, 0, b'{"lost": 0}'), "impossible stream of a block"),
    ],
)
def test_whole_blocks_without_sense(made: TraceFile, says: str) -> None:
    with pytest.raises(weft.TraceError) as error:
        read(made.bytes())
    assert says in str(error.value)


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "none.weft"):
        with pytest.raises(weft.Error, match="cannot be read"):
            weft.read_trace(path)


@pytest.fixture
def no_files(tmp_path: Path) -> Iterator[list[Path]]:
    """A pipe without a writer, a device without an end, a folder. Whatever reads them has 30 seconds."""
    os.mkfifo(tmp_path / "pipe")
    signal.alarm(30)
    yield [tmp_path / "pipe", Path("/dev/zero"), tmp_path]
    signal.alarm(0)


def test_what_has_no_end_is_no_file(no_files: list[Path]) -> None:
    for path in no_files:
        for reads in (weft.read_trace, read_report, read_progress):
            with pytest.raises((weft.Error, IsADirectoryError)) as error:
                reads(path)
            assert str(path) in str(error.value)


def test_a_report_that_is_too_large(tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    path.touch()
    os.truncate(path, (64 << 20) + 1)
    with pytest.raises(weft.Error, match="too large; given: more than 64 MiB"):
        read_report(path)
