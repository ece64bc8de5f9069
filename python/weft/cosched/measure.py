"""Measures a program that has one domain to itself, for its profile."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from ..errors import Error, compose
from .domains import cpu_list, find_domains
from .messages import NoDaemonError, ask
from .profiles import Profile, key_of, machine_name, today
from .programs_file import Program
from .rates import MEASURED
from .runner import Done, run_programs
from .settings import Settings
from .supervisor import Supervisor

_LEAST_READINGS = 3


def measure(
    program: Program, settings: Settings, *, domain: int = 0, observer: Callable[[float], None] | None = None
) -> Profile:
    """Runs the program `repeats` times, alone on a domain, and returns the means of its rates.

    observer: is told the seconds that have passed. Raises `Error` if a run fails, or is too short to be measured.
    """
    domains = find_domains(settings.domains)
    if not 0 <= domain < len(domains.sets):
        raise Error(compose("there is no such domain", domain, f"0 to {len(domains.sets) - 1}: {domains}"))
    sums: dict[str, int] = {}
    counts: dict[str, int] = {}
    last = began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="weft-profile-", dir=_fast_folder()) as folder:
        # No averages: the mean over the run is made here.
        alone = replace(
            settings,
            directory=os.path.join(folder, "table"),
            scheduler="lira-static",
            domains=cpu_list(domains.sets[domain]),
            weight=1000,
        )

        def look(_: Sequence[Done]) -> None:
            nonlocal last
            now = time.monotonic()
            if observer:
                observer(now - began)
            if (now - last) * 1e9 < settings.period:
                return
            last = now
            try:
                seen = ask(alone.directory, {"do": "status"}, wait=1.0)["programs"]
            except NoDaemonError:
                return
            for source, rate in (seen[0]["rates"] if seen else {}).items():
                if source in MEASURED:
                    sums[source] = sums.get(source, 0) + rate
                    counts[source] = counts.get(source, 0) + 1

        with Supervisor(alone) as supervisor:
            (done,) = run_programs(
                [program],
                directory=alone.directory,
                supervisor=supervisor,
                cpus=domains.sets[domain],
                observer=look,
                fails_early=True,
                check=settings.period / 1e9 / 2,
            )
    if done.failures or done.notes or not done.runs:
        what = f"status {done.failures[0].status}" if done.failures else "; ".join(done.notes) or "no run"
        raise Error(compose(f"{program.name} cannot be measured", what, "runs that succeed"))
    readings = max(counts.values(), default=0)
    if readings < _LEAST_READINGS:
        raise Error(
            compose(
                f"{program.name} is too short to be measured",
                f"{sum(r.seconds for r in done.runs):.3g} s, {readings} readings",
                f"{_LEAST_READINGS} readings or more (more --repeat, or a shorter --period)",
            )
        )
    return Profile(
        program=program.command[0],
        arguments=program.command[1:],
        key=key_of(program.command, program.input),
        machine=machine_name(),
        date=today(),
        seconds=sum(r.seconds for r in done.runs) / len(done.runs),
        readings=readings,
        rates={source: sums[source] // counts[source] for source in MEASURED if source in sums},
    )


def _fast_folder() -> str | None:
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
