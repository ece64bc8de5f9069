"""Runs a paper's claims in virtual time."""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..errors import Error, compose
from ..modelled_run import Setup, run_modelled
from .claims import Claim, Kind, Paper
from .metrics import figures_of
from .verdict import Verdict, combine, judge, over_all, shown, shown_figure, value_of

Step = Callable[[str, float], None]
"""Called after each run with what has run and the part of all runs that is done, 0 to 1."""

_APART: Mapping[Kind, str] = {
    "constructed": "true by construction",
    "incomparable": "measured in another way",
    "ours": "in no source",
}
"""Why claims of these kinds are not counted."""

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
    each: tuple[float, ...] = ()
    """The figures of the single seeds."""
    fails_below: tuple[str, ...] = ()
    """Those of the claims that it rests on which are not as in the paper."""

    @property
    def is_reproduced(self) -> bool:
        return self.verdict is not None and self.verdict.within

    @property
    def not_counted(self) -> str:
        """The reason why the claim is not counted; empty if it is."""
        if self.claim.kind in _APART:
            return _APART[self.claim.kind]
        return f"rests on {', '.join(self.fails_below)}" if self.fails_below else ""

    @property
    def is_well(self) -> bool:
        """Whether it is as in the paper, or a reason is given why not, or it is not counted."""
        return self.is_reproduced or (
            self.verdict is not None and (bool(self.claim.explanation) or bool(self.not_counted))
        )

    def to_json(self) -> dict[str, Any]:
        c = self.claim
        return {
            "id": c.id,
            "source": c.source,
            "what": c.what,
            "metric": c.metric,
            "over": c.over,
            "measure": c.measure,
            "kind": c.kind,
            "paper": shown_figure(c.measure, c.figure),
            "printed": c.figure.printed,
            "ours": self.ours,
            "each": self.each,
            "counted": not self.not_counted,
            "not_counted": self.not_counted,
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


@dataclass(frozen=True)
class Count:
    """How many claims are as in the paper."""

    counted: int
    reproduced: int
    signs: int
    """Of those counted: with the paper's sign. The reproduced ones are among them."""
    explained: int
    """Of those counted and not reproduced: with an explanation."""
    resting: int
    """Not counted, since their baseline is not as in the paper."""
    apart: Mapping[Kind, int]
    """Not counted because of their kind."""

    @classmethod
    def of(cls, results: Sequence[Result]) -> Count:
        counted = [r for r in results if not r.not_counted]
        kinds = Counter(r.claim.kind for r in results)
        return cls(
            counted=len(counted),
            reproduced=sum(r.is_reproduced for r in counted),
            signs=sum(r.verdict is not None and r.verdict.same_sign for r in counted),
            explained=sum(r.is_well and not r.is_reproduced for r in counted),
            resting=kinds["source"] - len(counted),
            apart={kind: kinds[kind] for kind in _APART},
        )

    def __str__(self) -> str:
        def part(number: int) -> str:
            return f"{number} ({100 * number / self.counted:.0f} %)" if self.counted else "0"

        missed = self.counted - self.reproduced
        text = f"Of {self.counted} claims {part(self.reproduced)} as in the paper, {part(self.signs)} with its sign"
        text += f"; of the {missed} others {self.explained} explained" if missed else ""
        apart = [
            f"{number} {what}"
            for number, what in (
                (self.resting, "that rest on a baseline that is not as in the paper"),
                *((number, _APART[kind]) for kind, number in self.apart.items()),
            )
            if number
        ]
        return f"{text}. Not counted: {', '.join(apart)}" if apart else text


def reproduce(
    paper: Paper,
    examples: Path,
    *,
    only: set[str] | None = None,
    seeds: int | None = None,
    jobs: int | None = None,
    timeout: float | None = None,
    step: Step | None = None,
    done: dict[Job, Mapping[str, Any] | str] | None = None,
) -> list[Result]:
    """Runs the claims of a paper, or `only` these, with the programs of the folder `examples`.

    `seeds`: number of seeds (1, 2, ...) for each setting; None: the claim's own number. `jobs`: number of runs at a
    time; None: one for each processor. A run that several claims share is done once. `done`: runs that are not done
    again, for instance those of another paper with the same programs; this call adds its own. A claim that cannot be
    run, for instance because the policy does not exist, has a reason in its result.
    """
    claims = paper.claims if only is None else paper.only(only)
    if not claims:
        raise Error(compose("no claims to run", ", ".join(sorted(only or ())), ", ".join(c.id for c in paper.claims)))
    work: dict[Job, None] = {}
    for c in claims:
        for setup in (c.candidate, c.baseline):
            if setup:
                work |= dict.fromkeys((setup, seed) for seed in _seeds(c, seeds))
    done = {} if done is None else done
    missing = [job for job in work if job not in done]
    done |= _run_all(missing, examples, jobs or os.cpu_count() or 1, timeout, step)
    results: dict[str, Result] = {}
    for c in claims:
        result = _combined(c, results) if c.of else _result(c, done, _seeds(c, seeds))
        results[c.id] = _resting(result, results)
    return list(results.values())


def judge_again(paper: Paper, stored: Sequence[Mapping[str, Any]], only: set[str] | None = None) -> list[Result]:
    """The results of earlier runs, as `Result.to_json` gives them, under the claims as they are now.

    Raises `Error` for a claim that was not run.
    """
    by_id = {str(s["id"]): s for s in stored}
    results: dict[str, Result] = {}
    for c in paper.claims if only is None else paper.only(only):
        if c.id not in by_id:
            raise Error(compose("a claim without a stored result", c.id, ", ".join(by_id)))
        s = by_id[c.id]
        if c.of:
            result = _combined(c, results)
        else:
            each = tuple(float(value) for value in s["each"])
            verdict = None if s["ours"] is None else judge(c, s["ours"], each)
            result = Result(c, s["ours"], verdict, s["candidate"], s["baseline"], s["refused"], each)
        results[c.id] = _resting(result, results)
    return list(results.values())


def _resting(result: Result, results: Mapping[str, Result]) -> Result:
    return replace(result, fails_below=tuple(name for name in result.claim.rests_on if not results[name].is_reproduced))


def _seeds(claim: Claim, asked: int | None) -> range:
    return range(1, (asked or claim.seeds) + 1)


def _result(c: Claim, done: Mapping[Job, Mapping[str, Any] | str], seeds: range) -> Result:
    assert c.candidate
    sides: list[list[tuple[float, ...]]] = []
    for setup, work in ((c.candidate, c.work), (c.baseline, 1)):
        if setup is None:  # the metric is a ratio by itself
            sides.append([(1.0,) * len(figures) for figures in sides[0]])
            continue
        of_seeds: list[tuple[float, ...]] = []
        for seed in seeds:
            run = done[setup, seed]
            if isinstance(run, str):
                return Result(c, None, None, None, None, f"{setup.program} under {setup.policy}: {run}")
            try:
                of_seeds.append(tuple(figure / work for figure in figures_of(c.metric, run)))
            except ValueError as failure:
                return Result(c, None, None, None, None, f"{setup.program}: {failure}")
        sides.append(of_seeds)
    candidate, baseline = (_mean([_mean(figures) for figures in of_seeds]) for of_seeds in sides)
    try:
        if len(sides[0][0]) == 1:
            ours = value_of(c.measure, candidate, baseline)
            each = tuple(value_of(c.measure, x[0], y[0]) for x, y in zip(*sides, strict=True))
        else:
            each = tuple(_over_all(c, *pair) for pair in zip(*sides, strict=True))
            ours = _mean(each)
    except ZeroDivisionError:
        return Result(c, None, None, candidate, baseline, f"{c.metric} is 0 on one side")
    except ValueError:
        return Result(c, None, None, candidate, baseline, f"{c.metric} has other cases on the other side")
    return Result(c, ours, judge(c, ours, each), candidate, baseline if c.baseline else None, "", each)


def _over_all(c: Claim, candidate: Sequence[float], baseline: Sequence[float]) -> float:
    """Of the figures of many cases, compared one by one."""
    return over_all(c.over, c.measure, [value_of(c.measure, *pair) for pair in zip(candidate, baseline, strict=True)])


def _mean(of: Sequence[float]) -> float:
    return math.fsum(of) / len(of)


def _combined(c: Claim, results: Mapping[str, Result]) -> Result:
    parts = [results[part] for part in c.of]
    if missing := [part.claim.id for part in parts if part.ours is None]:
        return Result(c, None, None, None, None, f"{', '.join(missing)} did not run")
    ours = combine(c.combine, c.measure, [part.ours for part in parts if part.ours is not None])
    return Result(c, ours, judge(c, ours, ()), None, None, "")


def _run_all(
    work: Sequence[Job], examples: Path, jobs: int, timeout: float | None, step: Step | None
) -> dict[Job, Mapping[str, Any] | str]:
    done: dict[Job, Mapping[str, Any] | str] = {}
    with ThreadPoolExecutor(jobs) as pool:
        try:
            waiting = {pool.submit(run_modelled, *job, examples, timeout): job for job in work}
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
