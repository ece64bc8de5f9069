"""Traces: reading, figures, conversion, pictures. docs/trace-format.md describes the file."""

from __future__ import annotations

from .places import Place, places
from .read import MOST_BYTES, read_trace
from .trace import Header, Trace

__all__ = ["MOST_BYTES", "Header", "Place", "Trace", "places", "read_trace"]
