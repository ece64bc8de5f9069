"""Reads a trace file into a Trace."""

from __future__ import annotations

import contextlib
import json
import mmap
import os
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import Error, TraceError
from ..files import open_file
from . import layout
from .places import CodeAddress
from .trace import Header, Records, Trace

_LARGEST_BLOCK = 1 << 30
"""In bytes. The blocks that a runtime writes are below 1 MiB."""


MOST_BYTES = 192 << 20
"""Size of a trace from which on commands that record one by themselves end its run: the tables of a larger one would
take more than 2 GB of memory."""


def read_trace(path: str | os.PathLike[str]) -> Trace:
    """Reads a file that WEFT_TRACE named.

    A file that ends in the middle of a block (the process was killed, the disk was full) is read up to the last whole
    block, and `complete` is False. Raises `TraceError` for a file that is not a trace or is damaged, and `Error` for a
    file that cannot be read.
    """
    try:
        with open_file(path) as file:
            if os.fstat(file.fileno()).st_size == 0:
                raise TraceError(path, 0, "no trace", "an empty file", "a file that WEFT_TRACE named")
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
                return _File(Path(path), data).read()
    except (OSError, ValueError) as failure:
        reason = failure.strerror if isinstance(failure, OSError) and failure.strerror else str(failure)
        raise Error(f"{os.fspath(path)} cannot be read: {reason}") from None


@dataclass(frozen=True)
class _Block:
    at: int
    type: int
    stream: int
    begin: int
    end: int


class _File:
    def __init__(self, path: Path, data: mmap.mmap) -> None:
        self.path, self.data, self.size = path, data, len(data)
        self.ended = False
        self.version = 0

    def fail(self, at: int, what: str, given: object, allowed: str) -> TraceError:
        return TraceError(self.path, at, what, given, allowed)

    def read(self) -> Trace:
        header, at = self.header()
        blocks = list(self.blocks(at))
        names: dict[int, str] = {}
        codes: dict[int, CodeAddress] = {}
        lost = 0
        total = sum(b.end - b.begin for b in blocks if b.type == layout.RECORDS) // layout.RECORD.itemsize
        records: Records = np.empty(total, layout.RECORD)
        filled = 0
        for block in blocks:
            if block.type == layout.RECORDS:
                part = np.frombuffer(self.checked(block), layout.RECORD)
                self.check_records(block, part, header.workers)
                records[filled : filled + len(part)] = part
                filled += len(part)
            elif block.type == layout.NAMES:
                names |= self.names(block)
            elif block.type == layout.PLACES:
                codes |= self.codes(block)
            else:
                lost = self.lost(block)
        if not self.ended:
            lost = int(records["a"][records["kind"] == layout.KIND["lost"]].sum())
        return Trace(self.path, header, names, records, lost, self.ended, codes)

    # ---- the header

    def header(self) -> tuple[Header, int]:
        start = layout.PREAMBLE.size
        if self.size < start or self.data[:8] != layout.MAGIC:
            raise self.fail(0, "no trace", repr(bytes(self.data[:8])), f"a file that begins with {layout.MAGIC!r}")
        _, version, length, checksum, zero = layout.PREAMBLE.unpack_from(self.data)
        self.version = version
        if not 1 <= version <= layout.VERSION:
            raise self.fail(8, "a trace of another version", version, f"1 to {layout.VERSION}")
        if length % 8 or length == 0:
            raise self.fail(12, "impossible length of the header", length, "a multiple of 8 above 0")
        if zero:
            raise self.fail(20, "damaged header", zero, "0")
        if start + length > self.size:
            raise self.fail(12, "the file ends within its header", f"{self.size} bytes", f"at least {start + length}")
        text = self.data[start : start + length]
        if zlib.crc32(text) != checksum:
            raise self.fail(16, "the header's checksum is wrong", f"{checksum:08x}", f"{zlib.crc32(text):08x}")
        fields = self.json(start, text)
        try:
            return Header.of(fields), start + length
        except (KeyError, TypeError, ValueError) as failure:
            raise self.fail(start, "a header without sense", failure, "what docs/trace-format.md lists") from None

    def json(self, at: int, text: bytes) -> dict[str, Any]:
        value = None
        with contextlib.suppress(ValueError, RecursionError):
            value = json.loads(text)
        if not isinstance(value, dict):
            raise self.fail(at, "damaged text", repr(text[:40]), "a JSON object")
        return value

    # ---- blocks

    def blocks(self, at: int) -> Iterator[_Block]:
        """The blocks of the file that are whole."""
        while at < self.size:
            if self.ended:
                raise self.fail(at, "bytes behind the end of the trace", self.size - at, "none")
            if self.size - at < layout.BLOCK.size:
                if not layout.BLOCK_MARK.startswith(self.data[at : min(at + 4, self.size)]):
                    raise self.fail(at, "no block", repr(self.data[at : at + 4]), repr(layout.BLOCK_MARK))
                return
            mark, kind, stream, length, _ = layout.BLOCK.unpack_from(self.data, at)
            if mark != layout.BLOCK_MARK:
                raise self.fail(at, "no block", repr(mark), repr(layout.BLOCK_MARK))
            if not layout.RECORDS <= kind <= (layout.PLACES if self.version >= 3 else layout.END):
                allowed = "1 (records), 2 (names), 3 (end)" + (", 4 (places)" if self.version >= 3 else "")
                raise self.fail(at + 4, "unknown type of block", kind, allowed)
            if not 0 < length <= _LARGEST_BLOCK:
                raise self.fail(at + 8, "impossible length of a block", length, f"1 to {_LARGEST_BLOCK}")
            if kind == layout.RECORDS and length % layout.RECORD.itemsize:
                raise self.fail(at + 8, "impossible length of records", length, "a multiple of 32")
            if kind != layout.RECORDS and stream != layout.OUTSIDE:
                raise self.fail(at + 6, "impossible stream of a block without records", stream, str(layout.OUTSIDE))
            begin = at + layout.BLOCK.size
            if begin + length > self.size:
                return
            self.ended = kind == layout.END
            yield _Block(at, kind, stream, begin, begin + length)
            at = begin + length

    def checked(self, block: _Block) -> bytes:
        body = self.data[block.begin : block.end]
        checksum = layout.BLOCK.unpack_from(self.data, block.at)[4]
        right = zlib.crc32(body, zlib.crc32(self.data[block.at : block.at + 12]))
        if right != checksum:
            raise self.fail(block.at + 12, "a block's checksum is wrong", f"{checksum:08x}", f"{right:08x}")
        return body

    def check_records(self, block: _Block, records: Records, workers: int) -> None:
        if block.stream != layout.OUTSIDE and block.stream >= workers:
            raise self.fail(block.at + 6, "impossible stream", block.stream, f"0 to {workers - 1}, {layout.OUTSIDE}")
        for field, bad, allowed in (
            ("stream", records["stream"] != block.stream, f"that of the block, {block.stream}"),
            ("kind", (records["kind"] == 0) | (records["kind"] >= len(layout.KINDS)), f"1 to {len(layout.KINDS) - 1}"),
            ("time", records["at"] >= 1 << 62, "below 2^62 ns"),
        ):
            if bad.any():
                first = int(bad.argmax())
                given = records["at" if field == "time" else field][first]
                at = block.begin + first * layout.RECORD.itemsize
                raise self.fail(at, f"impossible {field} of a record", given, allowed)

    def names(self, block: _Block) -> dict[int, str]:
        fields = self.json(block.begin, self.checked(block))
        for number, name in fields.items():
            if not (_is_number(number) and isinstance(name, str)):
                raise self.fail(block.begin, "no name", f"{number!r}: {name!r}", "a number below 2^32 and a text")
        return {int(number): name for number, name in fields.items()}

    def codes(self, block: _Block) -> dict[int, CodeAddress]:
        fields = self.json(block.begin, self.checked(block))
        found: dict[int, CodeAddress] = {}
        for number, place in fields.items():
            code = _code(place)
            if not _is_number(number) or code is None:
                given = f"{number!r}: {place!r}"[:200]
                allowed = "a number below 2^32 and an object of module, build_id (texts) and offset (below 2^64)"
                raise self.fail(block.begin, "no place", given, allowed)
            found[int(number)] = code
        return found

    def lost(self, block: _Block) -> int:
        fields = self.json(block.begin, self.checked(block))
        lost = fields.get("lost")
        if not isinstance(lost, int) or isinstance(lost, bool) or lost < 0:
            raise self.fail(block.begin, "a damaged end", repr(lost), "lost, a number of 0 or more")
        return lost


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= 10 and 0 < int(text) < 1 << 32


def _code(place: object) -> CodeAddress | None:
    if not isinstance(place, dict):
        return None
    module, build_id, offset = (place.get(key) for key in ("module", "build_id", "offset"))
    if not (isinstance(module, str) and isinstance(build_id, str) and type(offset) is int and 0 <= offset < 1 << 64):
        return None
    return CodeAddress(module, build_id, offset)
