"""The layout of a trace file: docs/trace-format.md."""

from __future__ import annotations

import struct

import numpy as np

from .. import _core

MAGIC = b"wefttrc\n"
VERSION = 3
"""The newest one. Version 2 has exchanges of cores, version 3 places; what version 1 has is the same in all."""
PREAMBLE = struct.Struct("<8sIIII")
"""Magic, version, length of the header, its CRC-32, 0."""
BLOCK = struct.Struct("<4sHHII")
"""Mark, type, stream, length of what follows, CRC-32 of all that and of what follows."""
BLOCK_MARK = b"WBLK"
RECORDS, NAMES, END, PLACES = 1, 2, 3, 4
OUTSIDE = 0xFFFF
"""The stream of threads that are not workers."""
NO_WORKER = 0xFFFF_FFFF

RECORD = np.dtype(
    [("at", "<u8"), ("a", "<u8"), ("b", "<u8"), ("n", "<u4"), ("kind", "u1"), ("what", "u1"), ("stream", "<u2")]
)
assert RECORD.itemsize == 32

KINDS: list[str] = _core.kind_names
"""Kinds by number; 0 is none."""
KIND = {name: number for number, name in enumerate(KINDS)}
ORIGINS = ["root", "child", "fork", "graph", "share", "runtime"]
STARTS = ["fresh", "below", "inside"]
OUTCOMES = ["done", "threw", "cancelled"]
ACTIVITIES = ["compute", "private stall", "shared stall", "overhead", "search", "asleep"]
