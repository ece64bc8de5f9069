"""Traces, machines and policies of the task-parallel runtime Weft.

>>> trace = weft.read_trace("run.weft")
>>> trace.tasks.sort("own", descending=True).head()
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from ._core import version as __version__

if TYPE_CHECKING:
    from .errors import Error, LibraryError, TraceError
    from .launcher import LaunchError, Run, launch
    from .library import Knob, MachineInfo, PolicyInfo, machine, machine_toml, machines, policies
    from .policy import Ask, Context, Group, Looked, Place, Placed, Policy, Task
    from .progress import Progress, read_progress
    from .report import Report, RunReport, TotalReport, WorkerReport
    from .simulation import Program, SimulatedRun, Simulation, simulate
    from .summary import Summary, summarise
    from .together import Beside, Together, simulate_together
    from .trace import Header, Trace, read_trace

__all__ = [
    "Ask",
    "Beside",
    "Context",
    "Error",
    "Group",
    "Header",
    "Knob",
    "LaunchError",
    "LibraryError",
    "Looked",
    "MachineInfo",
    "Place",
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
    "Together",
    "TotalReport",
    "Trace",
    "TraceError",
    "WorkerReport",
    "__version__",
    "launch",
    "machine",
    "machine_toml",
    "machines",
    "policies",
    "read_progress",
    "read_trace",
    "simulate",
    "simulate_together",
    "summarise",
]

# A name is imported when it is first used: the libraries for tables take a third of a second to load.
_MODULES = {
    "errors": ("Error", "LibraryError", "TraceError"),
    "launcher": ("LaunchError", "Run", "launch"),
    "library": ("Knob", "MachineInfo", "PolicyInfo", "machine", "machine_toml", "machines", "policies"),
    "policy": ("Ask", "Context", "Group", "Looked", "Place", "Placed", "Policy", "Task"),
    "progress": ("Progress", "read_progress"),
    "report": ("Report", "RunReport", "TotalReport", "WorkerReport"),
    "simulation": ("Program", "SimulatedRun", "Simulation", "simulate"),
    "summary": ("Summary", "summarise"),
    "together": ("Beside", "Together", "simulate_together"),
    "trace": ("Header", "Trace", "read_trace"),
}
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(importlib.import_module(f".{_MODULE_OF[name]}", __name__), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
