"""Traces: reading, figures, conversion, pictures. docs/trace-format.md describes the file."""

from __future__ import annotations

from .read import read_trace
from .trace import Header, Trace

__all__ = ["Header", "Trace", "read_trace"]
