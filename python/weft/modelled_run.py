"""One run of a program of the examples on a modelled machine."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .launcher import LaunchError, last_line, launch


@dataclass(frozen=True)
class Setup:
    """A program in one setting."""

    program: str
    arguments: tuple[str, ...]
    policy: str
    machine: Path
    workers: int | None
    """None: all that the machine has."""
    environment: tuple[tuple[str, str], ...]
    run: int
    """Which of the program's runs is measured, as an index; -1: the last one."""


def run_modelled(setup: Setup, seed: int, examples: Path, timeout: float | None = None) -> Mapping[str, Any] | str:
    """The fields of the run's report, or the reason why there is none. The program lies in the folder `examples`.

    "output" is the JSON object in the last line that the program has printed, if it is one.
    """
    # The settings in this process's environment are not meant for the modelled machine.
    environment: dict[str, str | None] = {name: None for name in os.environ if name.startswith("WEFT_")}
    environment |= {
        "WEFT_ENGINE": "model",
        "WEFT_MACHINE": str(setup.machine),
        "WEFT_POLICY": setup.policy,
        "WEFT_SEED": str(seed),
        "WEFT_WORKERS": None if setup.workers is None else str(setup.workers),
    }
    environment |= dict(setup.environment)
    with tempfile.TemporaryFile() as errors, tempfile.TemporaryFile() as output:
        try:
            run = launch(
                [str(examples / setup.program), *setup.arguments],
                environment=environment,
                timeout=timeout,
                stdout=output,
                stderr=errors,
            )
            if run.interrupted:
                raise KeyboardInterrupt
            run.check()
        except LaunchError as failure:
            return last_line(errors.fileno()) or str(failure)
        output.seek(0)
        printed = _object(output.read())
    runs = [r for report in run.reports for r in report.runs]
    try:
        fields = runs[setup.run].fields
    except IndexError:
        return f"it has {len(runs)} runs, and none of the index {setup.run}"
    return {**fields, "output": printed}


def _object(printed: bytes) -> dict[str, Any] | None:
    lines = printed.splitlines()
    try:
        found = json.loads(lines[-1]) if lines else None
    except ValueError:
        return None
    return found if isinstance(found, dict) else None
