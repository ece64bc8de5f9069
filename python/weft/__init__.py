"""Traces, machines and policies of the task-parallel runtime Weft.

>>> trace = weft.read_trace("run.weft")
>>> trace.tasks.sort("own", descending=True).head()
"""

from __future__ import annotations

from ._core import version as __version__
from .errors import Error, LibraryError, TraceError
from .launch import LaunchError, Run, launch
from .library import Knob, PolicyInfo, machine, policies
from .policy import Ask, Context, Group, Looked, Placed, Policy, Task
from .progress import Progress, read_progress
from .report import Report, RunReport, WorkerReport
from .simulation import Program, SimulatedRun, Simulation, simulate
from .summary import Summary, summarise
from .trace import Header, Trace, read_trace

__all__ = [
    "Ask",
    "Context",
    "Error",
    "Group",
    "Header",
    "Knob",
    "LaunchError",
    "LibraryError",
    "Looked",
    "Placed",
    "Policy",
    "PolicyInfo",
    "Program",
    "Progress",
    "Report",
    "Run",
    "RunReport",
    "SimulatedRun",
    "Simulation",
    "Summary",
    "Task",
    "Trace",
    "TraceError",
    "WorkerReport",
    "__version__",
    "launch",
    "machine",
    "policies",
    "read_progress",
    "read_trace",
    "simulate",
    "summarise",
]
