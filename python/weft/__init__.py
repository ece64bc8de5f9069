"""Traces, machines and policies of the task-parallel runtime Weft.

>>> trace = weft.read_trace("run.weft")
>>> trace.tasks.sort("own", descending=True).head()
"""

from __future__ import annotations

from ._core import version as __version__
from .errors import Error, LibraryError, TraceError
from .library import Knob, PolicyInfo, machine, policies
from .policy import Ask, Context, Group, Looked, Placed, Policy, Task
from .simulation import Program, Run, Simulation, simulate
from .trace import Header, Trace, read_trace

__all__ = [
    "Ask",
    "Context",
    "Error",
    "Group",
    "Header",
    "Knob",
    "LibraryError",
    "Looked",
    "Placed",
    "Policy",
    "PolicyInfo",
    "Program",
    "Run",
    "Simulation",
    "Task",
    "Trace",
    "TraceError",
    "__version__",
    "machine",
    "policies",
    "read_trace",
    "simulate",
]
