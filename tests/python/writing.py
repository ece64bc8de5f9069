"""Traces made up for tests."""

from __future__ import annotations

import json
import struct
import zlib
from typing import Any

import numpy as np
from weft.trace import layout

ROOT, CHILD, FORK, GRAPH, SHARE, RUNTIME = range(6)
FRESH, BELOW, INSIDE = range(3)


class TraceFile:
    """Gathers blocks and gives the bytes of a file."""

    def __init__(self, workers: int = 2, version: int = layout.VERSION, **header: Any) -> None:
        fields = {
            "weft": "0.1.0",
            "engine": "threads",
            "policy": "steal",
            "seed": 1,
            "workers": workers,
            "cores": list(range(workers)),
            "machine": {"name": "made up", "description": ""},
            "command": ["program"],
            "process": 1,
            "began": 0.0,
            "time": "real",
        } | header
        text = json.dumps(fields).encode()
        text += b" " * (-len(text) % 8)
        self.parts = [
            layout.PREAMBLE.pack(layout.MAGIC, version, len(text), zlib.crc32(text), 0) + text,
        ]

    def block(self, kind: int, stream: int, body: bytes) -> TraceFile:
        head = layout.BLOCK.pack(layout.BLOCK_MARK, kind, stream, len(body), 0)[:12]
        head += struct.pack("<I", zlib.crc32(head + body))
        self.parts.append(head + body)
        return self

    def names(self, **names: str) -> TraceFile:
        """n1="first", n2=..."""
        text = json.dumps({key[1:]: name for key, name in names.items()})
        return self.block(layout.NAMES, layout.OUTSIDE, text.encode())

    def places(self, **places: Any) -> TraceFile:
        """n1=(module, build id, offset), n2=...; what is no tuple is written as it is."""
        keys = ("module", "build_id", "offset")
        texts = {k[1:]: dict(zip(keys, p, strict=True)) if isinstance(p, tuple) else p for k, p in places.items()}
        return self.block(layout.PLACES, layout.OUTSIDE, json.dumps(texts).encode())

    def stream(self, stream: int, *events: tuple[Any, ...]) -> TraceFile:
        """A block of (at, kind, a, b, n, what), of which what is 0 may be left out at the end."""
        rows = []
        for event in events:
            at, kind, a, b, n, what = (*event, 0, 0, 0, 0)[:6]
            rows.append((at, a, b, n, layout.KIND[kind] if isinstance(kind, str) else kind, what, stream))
        return self.block(layout.RECORDS, stream, np.array(rows, layout.RECORD).tobytes())

    def end(self, lost: int = 0) -> TraceFile:
        return self.block(layout.END, layout.OUTSIDE, json.dumps({"lost": lost}).encode())

    def bytes(self) -> bytes:
        return b"".join(self.parts)


def double(value: float) -> int:
    """The bits of a double, as records carry it."""
    return int(struct.unpack("<Q", struct.pack("<d", value))[0])


def stolen_parent() -> TraceFile:
    """Worker 0 runs a root (1) and at once its child (2); worker 1 gets the rest of the root, which waits there and
    ends on worker 0."""
    group = 0x1000
    trace = TraceFile().names(n1="child")
    trace.stream(layout.OUTSIDE, (5, "spawn", 1, 0, 0, ROOT))
    trace.stream(
        0,
        (10, "begin", 1, 0, 0, FRESH),
        (20, "spawn", 2, group, 1, CHILD),
        (20, "begin", 2, 0, 0, BELOW),
        (30, "expose", 1, double(2.0), 1),
        (100, "end", 2),
        (110, "resume", 1),
        (110, "waited", 1, group),
        (120, "end", 1),
    )
    trace.stream(
        1,
        (6, "search"),
        (20, "sleep"),
        (25, "wake"),
        (35, "found"),
        (40, "resume", 1),
        (50, "wait", 1, group),
        (50, "suspend", 1, 0, 0, 3),
        (55, "search"),
    )
    return trace.end()
