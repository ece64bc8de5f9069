"""Traces, machines and policies of the task-parallel runtime Weft.

>>> trace = weft.read_trace("run.weft")
>>> trace.tasks.sort("own", descending=True).head()
"""

from __future__ import annotations

from ._core import version as __version__
from .errors import Error, LibraryError, TraceError
from .library import Knob, Policy, machine, policies
from .trace import Header, Trace, read_trace

__all__ = [
    "Error",
    "Header",
    "Knob",
    "LibraryError",
    "Policy",
    "Trace",
    "TraceError",
    "__version__",
    "machine",
    "policies",
    "read_trace",
]
