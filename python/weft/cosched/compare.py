"""Measures schedulers, and pairs of programs: what `weft cosched compare` does.

All programs run during the whole measurement: each goes on until all have done their repeats. A program's time
alone is on the whole machine, placed by the kernel, whatever scheduler is judged.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from .. import _core
from ..errors import Error, compose
from .domains import Domains, cpu_list, find_domains
from .metrics import Estimate, Sample, antt, ratio, sample, stp
from .programs_file import Program
from .runner import Done, run_programs, together
from .settings import Settings
from .supervisor import Supervisor

ROUNDS = 3
ORACLES = ("best-static", "worst-static")
DEFAULT = ("os", "callisto", "lira-static", "lira-adaptive")
_MOST_PLACEMENTS = 200

Step = Callable[[str, float], None]
"""Is told what is measured, and which part of all is done."""


@dataclass(frozen=True)
class Row:
    """A scheduler, with the programs of one combination."""

    scheduler: str
    programs: tuple[str, ...]
    antt: Estimate | None = None
    stp: Estimate | None = None
    slowdowns: tuple[Estimate, ...] = ()
    """Time beside the others over time alone, of each program."""
    runs: tuple[int, ...] = ()
    restarts: int = 0
    """Of the daemon."""
    refused: str = ""
    """Why there are no figures."""
    placement: tuple[int, ...] = ()
    """Of the oracles: the domains of the programs."""


@dataclass(frozen=True)
class Pair:
    """Two programs, beside each other on one domain and on two."""

    first: str
    second: str
    slowdowns: tuple[Estimate, Estimate] | None = None
    """Time on one domain over time on two, of each."""
    refused: str = ""


@dataclass
class Comparison:
    """All that was measured."""

    domains: Domains
    alone: dict[str, Sample]
    """Seconds."""
    rows: list[Row] = field(default_factory=list)
    pairs: list[Pair] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        return {
            "version": 1,
            "domains": {"by": self.domains.by, "cpus": [list(d) for d in self.domains.sets]},
            "alone": {name: asdict(s) for name, s in self.alone.items()},
            "rows": [asdict(r) for r in self.rows],
            "pairs": [asdict(p) for p in self.pairs],
        }


def several_domains(spec: str) -> Domains:
    """Raises `Error` where there is nothing to place."""
    found = find_domains(spec)
    if len(found.sets) < 2:
        raise Error(compose("there is nothing to place", f"one domain ({found})", "two or more, as by --domains cores"))
    return found


def combinations(programs: Sequence[Program], size: int, count: int, seed: int) -> list[tuple[Program, ...]]:
    """Different combinations drawn at random, each in the order of the file; all of them if there are no more."""
    if not 1 <= size <= len(programs):
        raise Error(compose("no such combinations", f"{size} programs", f"1 to {len(programs)}"))
    every = list(itertools.combinations(programs, size))
    return every if len(every) <= count else sorted(random.Random(seed).sample(every, count), key=every.index)


class Measurement:
    """One comparison. `repeat`: runs of each program at least."""

    def __init__(self, settings: Settings, *, repeat: int = 9, rounds: int = ROUNDS, step: Step | None = None) -> None:
        """Raises `Error` where there is nothing to place."""
        self.settings = settings
        self.domains = several_domains(settings.domains)
        self.rounds = min(rounds, repeat)
        self.each = -(-repeat // self.rounds)
        self._step = step
        self._blocks = self._done = 0
        self._alone: dict[str, list[float]] = {}

    def compare(self, groups: Sequence[Sequence[Program]], schedulers: Sequence[str]) -> Comparison:
        """Every scheduler with every combination, in rounds: other load of the machine meets all alike. Raises `Error`
        if a program fails alone."""
        plain = [s for s in schedulers if s not in ORACLES]
        oracles = [s for s in schedulers if s in ORACLES]
        placements = {len(g): self._placements(len(g)) for g in groups} if oracles else {}
        programs = list({p.name: p for g in groups for p in g}.values())
        self._blocks = self.rounds * (
            len(programs) + sum(len(plain) + len(oracles) + len(placements.get(len(g), ())) for g in groups)
        )
        results: dict[tuple[int, str], _Result] = {}
        for _ in range(self.rounds):
            for program in programs:
                self._run_alone(program)
            for i, group in enumerate(groups):
                for scheduler in plain:
                    result = results.setdefault((i, scheduler), _Result())
                    self._run(result, group, replace(self.settings, scheduler=scheduler))
        alone = {name: sample(seconds) for name, seconds in self._alone.items()}
        found = Comparison(self.domains, alone)
        for i, group in enumerate(groups):
            found.rows += [self._row(scheduler, group, results[i, scheduler], alone) for scheduler in plain]
            if oracles:
                found.rows += self._oracles(oracles, group, placements[len(group)], alone)
        return found

    def pairs(self, programs: Sequence[Program]) -> Comparison:
        """Every pair on one domain against two."""
        first, second = (cpu_list(s) for s in self.domains.sets[:2])
        every = list(itertools.combinations(programs, 2))
        self._blocks = self.rounds * 2 * len(every)
        results = {(pair, n): _Result() for pair in range(len(every)) for n in (1, 2)}
        for _ in range(self.rounds):
            for i, pair in enumerate(every):
                for n, spec in ((1, first), (2, f"{first}/{second}")):
                    self._run(results[i, n], pair, replace(self.settings, scheduler="lira-static", domains=spec))
        found = Comparison(self.domains, {})
        for i, (a, b) in enumerate(every):
            together, apart = results[i, 1], results[i, 2]
            if refused := together.refused or apart.refused:
                found.pairs.append(Pair(a.name, b.name, refused=refused))
            else:
                one, two = together.samples((a, b)), apart.samples((a, b))
                found.pairs.append(Pair(a.name, b.name, (ratio(one[0], two[0]), ratio(one[1], two[1]))))
        return found

    def _placements(self, programs: int) -> list[list[int]]:
        found = _core.share_placements(programs, len(self.domains.sets))
        if len(found) > _MOST_PLACEMENTS:
            raise Error(
                compose(
                    "the oracles have too many placements to measure",
                    f"{len(found)} of {programs} programs on {len(self.domains.sets)} domains",
                    f"{_MOST_PLACEMENTS} at most",
                )
            )
        return found

    def _oracles(
        self, oracles: Sequence[str], group: Sequence[Program], placements: list[list[int]], alone: dict[str, Sample]
    ) -> list[Row]:
        """Measures every placement by its ANTT, then the best and the worst one anew: the least of many measured
        figures would flatter the oracle."""
        results = [_Result() for _ in placements]
        for _ in range(self.rounds):
            for placement, result in zip(placements, results, strict=True):
                self._run(result, group, self._fixed("best-static", [(placement, 0.0)]))
        rows = [self._row("", group, r, alone) for r in results]
        costs = [(p, row.antt.value) for p, row in zip(placements, rows, strict=True) if row.antt]
        found = []
        for scheduler in oracles:
            if not costs:
                refused = rows[0].refused
                found.append(Row(scheduler, tuple(p.name for p in group), refused=refused))
                continue
            again = _Result()
            for _ in range(self.rounds):
                self._run(again, group, self._fixed(scheduler, costs))
            chosen = (min if scheduler == "best-static" else max)(costs, key=lambda c: c[1])[0]
            found.append(replace(self._row(scheduler, group, again, alone), placement=tuple(chosen)))
        return found

    def _fixed(self, scheduler: str, costs: Sequence[tuple[list[int], float]]) -> Settings:
        return replace(self.settings, scheduler=scheduler, costs=tuple((tuple(p), c) for p, c in costs))

    def _run_alone(self, program: Program) -> None:
        self._tell(f"{program.name} alone")
        (done,) = run_programs([replace(program, repeats=self.each, output="/dev/null")], fails_early=True)
        if refused := _why_refused([done]):
            raise Error(compose("a program fails alone", refused, "programs that succeed"))
        self._alone.setdefault(program.name, []).extend(r.seconds for r in done.good)

    def _run(self, result: _Result, group: Sequence[Program], settings: Settings) -> None:
        self._tell(f"{settings.scheduler}: {', '.join(p.name for p in group)}")
        if result.refused:
            return
        programs = [replace(p, repeats=self.each, output="/dev/null") for p in group]
        try:
            with Supervisor(settings) as supervisor:
                done = run_programs(
                    programs, directory=settings.directory, supervisor=supervisor, keeps_running=True, fails_early=True
                )
                result.restarts += supervisor.restarts
        except Error as failure:
            result.refused = str(failure)
            return
        result.refused = _why_refused(done)
        for d, runs in zip(done, together(done), strict=True):
            result.seconds.setdefault(d.program.name, []).extend(r.seconds for r in runs if r.status == 0)

    def _row(self, scheduler: str, group: Sequence[Program], result: _Result, alone: dict[str, Sample]) -> Row:
        names = tuple(p.name for p in group)
        if result.refused:
            return Row(scheduler, names, refused=result.refused)
        single, beside = [alone[name] for name in names], result.samples(group)
        return Row(
            scheduler,
            names,
            antt(single, beside),
            stp(single, beside),
            tuple(ratio(m, s) for s, m in zip(single, beside, strict=True)),
            tuple(m.count for m in beside),
            result.restarts,
        )

    def _tell(self, what: str) -> None:
        if self._step:
            self._step(what, self._done / max(self._blocks, 1))
        self._done += 1


@dataclass
class _Result:
    seconds: dict[str, list[float]] = field(default_factory=dict)
    restarts: int = 0
    refused: str = ""

    def samples(self, group: Sequence[Program]) -> list[Sample]:
        return [sample(self.seconds[p.name]) for p in group]


def _why_refused(done: Sequence[Done]) -> str:
    for d in done:
        if d.failures:
            return f"{d.program.name} ended with status {d.failures[0].status}"
        if d.notes:
            return f"{d.program.name}: {d.notes[0]}"
        if not d.good:
            return f"{d.program.name} came to no end"
    return ""
