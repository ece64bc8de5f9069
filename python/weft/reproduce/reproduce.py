"""Runs a paper's claims in virtual time."""

from __future__ import annotations

import math
import os
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import Error, compose
from ..launcher import LaunchError, last_line, launch
from .claims import Claim, Paper, Setup
from .metrics import METRICS
from .verdict import Verdict, combine, judge, shown, shown_figure, value_of

Step = Callable[[str, float], None]
"""Called after each run with what has run and the part of all runs that is done, 0 to 1."""

Job = tuple[Setup, int]
"""A setting and a seed."""


@dataclass(frozen=True)
class Result:
    """The result of one claim."""

    claim: Claim
    ours: float | None
    """None if it could not be run."""
    verdict: Verdict | None
    candidate: float | None
    """The metric of both sides, the mean over the seeds. None if the claim has no sides, or they did not run."""
    baseline: float | None
    refused: str
    """The reason why it could not be run; empty if it was run."""

    @property
    def is_well(self) -> bool:
        """Whether it is as in the paper, or a reason is given why not."""
        return self.verdict is not None and (self.verdict.within or bool(self.claim.explanation))

    def to_json(self) -> dict[str, Any]:
        c = self.claim
        return {
            "id": c.id,
            "source": c.source,
            "what": c.what,
            "metric": c.metric,
            "measure": c.measure,
            "paper": shown_figure(c.measure, c.figure),
            "ours": self.ours,
            "same_sign": self.verdict.same_sign if self.verdict else None,
            "within_band": self.verdict.within if self.verdict else None,
            "verdict": self.verdict.text if self.verdict else "did not run",
            "candidate": self.candidate,
            "baseline": self.baseline,
            "refused": self.refused,
            "scaled": c.scaled,
            "explanation": c.explanation,
        }

    @property
    def shown(self) -> tuple[str, str, str]:
        """The paper's figure, ours and the verdict."""
        c = self.claim
        ours = "-" if self.ours is None else shown(c.measure, self.ours)
        verdict = self.verdict.text if self.verdict else "did not run"
        return shown_figure(c.measure, c.figure), ours, verdict


def summary(results: Sequence[Result]) -> str:
    """A sentence about how many claims are as in the paper."""
    well = sum(r.verdict is not None and r.verdict.within for r in results)
    signs = sum(r.verdict is not None and r.verdict.same_sign for r in results)
    explained = sum(r.is_well for r in results) - well
    return (
        f"{well} of {len(results)} as in the paper, {signs} with its sign; of the others {explained} explained, "
        f"{len(results) - well - explained} not"
    )


def reproduce(
    paper: Paper,
    examples: Path,
    *,
    only: set[str] | None = None,
    seeds: int | None = None,
    jobs: int | None = None,
    timeout: float | None = None,
    step: Step | None = None,
) -> list[Result]:
    """Runs the claims of a paper, or `only` these, with the programs of the folder `examples`.

    `seeds`: number of seeds (1, 2, ...) for each setting; None: the claim's own number. `jobs`: number of runs at a
    time; None: one for each processor. A run that several claims share is done once. A claim that cannot be run, for
    instance because the policy does not exist, has a reason in its result.
    """
    claims = paper.claims if only is None else paper.only(only)
    if not claims:
        raise Error(compose("no claims to run", ", ".join(sorted(only or ())), ", ".join(c.id for c in paper.claims)))
    work: dict[Job, None] = {}
    for c in claims:
        for setup in (c.candidate, c.baseline):
            if setup:
                work |= dict.fromkeys((setup, seed) for seed in _seeds(c, seeds))
    done = _run_all(list(work), examples, jobs or os.cpu_count() or 1, timeout, step)
    results: dict[str, Result] = {}
    for c in claims:
        results[c.id] = _combined(c, results) if c.of else _result(c, done, _seeds(c, seeds))
    return list(results.values())


def _seeds(claim: Claim, asked: int | None) -> range:
    return range(1, (asked or claim.seeds) + 1)


def _result(c: Claim, done: Mapping[Job, Mapping[str, Any] | str], seeds: range) -> Result:
    assert c.candidate and c.baseline
    sides: list[float] = []
    for setup in (c.candidate, c.baseline):
        figures: list[float] = []
        for seed in seeds:
            run = done[setup, seed]
            if isinstance(run, str):
                return Result(c, None, None, None, None, f"{setup.program} under {setup.policy}: {run}")
            figures.append(METRICS[c.metric](run))
        sides.append(math.fsum(figures) / len(figures))
    candidate, baseline = sides
    try:
        ours = value_of(c.measure, candidate, baseline)
    except ZeroDivisionError:
        return Result(c, None, None, candidate, baseline, f"{c.metric} is 0 on one side")
    return Result(c, ours, judge(c, ours), candidate, baseline, "")


def _combined(c: Claim, results: Mapping[str, Result]) -> Result:
    parts = [results[part] for part in c.of]
    if missing := [part.claim.id for part in parts if part.ours is None]:
        return Result(c, None, None, None, None, f"{', '.join(missing)} did not run")
    ours = combine(c.combine, c.measure, [part.ours for part in parts if part.ours is not None])
    return Result(c, ours, judge(c, ours), None, None, "")


def _run_all(
    work: Sequence[Job], examples: Path, jobs: int, timeout: float | None, step: Step | None
) -> dict[Job, Mapping[str, Any] | str]:
    done: dict[Job, Mapping[str, Any] | str] = {}
    with ThreadPoolExecutor(jobs) as pool:
        try:
            waiting = {pool.submit(_run, job, examples, timeout): job for job in work}
            for future in as_completed(waiting):
                job = waiting[future]
                done[job] = future.result()
                if step:
                    setup = job[0]
                    step(f"{setup.program} under {setup.policy}", len(done) / len(work))
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return done


def _run(job: Job, examples: Path, timeout: float | None) -> Mapping[str, Any] | str:
    """The run's report, or the reason why there is none."""
    setup, seed = job
    # The settings in this process's environment are not meant for the claim's machine.
    environment: dict[str, str | None] = {name: None for name in os.environ if name.startswith("WEFT_")}
    environment |= {
        "WEFT_ENGINE": "model",
        "WEFT_MACHINE": str(setup.machine),
        "WEFT_POLICY": setup.policy,
        "WEFT_SEED": str(seed),
        "WEFT_WORKERS": None if setup.workers is None else str(setup.workers),
    }
    environment |= dict(setup.environment)
    with tempfile.TemporaryFile() as errors:
        try:
            run = launch(
                [str(examples / setup.program), *setup.arguments],
                environment=environment,
                timeout=timeout,
                stdout=subprocess.DEVNULL,
                stderr=errors,
            )
            if run.interrupted:
                raise KeyboardInterrupt
            run.check()
        except LaunchError as failure:
            return last_line(errors.fileno()) or str(failure)
    runs = [r for report in run.reports for r in report.runs]
    try:
        return runs[setup.run].fields
    except IndexError:
        return f"it has {len(runs)} runs, and none of the index {setup.run}"
