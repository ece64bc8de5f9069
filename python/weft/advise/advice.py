"""Finds the policy and the settings for a program on a machine."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import geometric_mean, median
from typing import Any

from .. import __version__, library
from ..errors import compose
from ..launcher import LaunchError
from ..trace import MOST_BYTES, read_trace
from .features import Machine, Program
from .ratio import Ratio
from .rules import BASELINE, MOST, Candidate, Proposal, candidates
from .trials import Recorded, Step, Times, Where, record, run_rounds

REPEAT = 8
"""How often the finalists run, if no other number is asked for."""
LEAST_REPEAT = 3
"""The least number of runs from which an interval says something."""
SCREENED = 2
"""How often each candidate runs. One run may be far from the mean: some policies have good and bad seeds."""
FINALISTS = 3
"""How many candidates run as often as `REPEAT` says, besides the baseline."""
ERROR = 0.05
"""Probability that a policy is taken for clearly better that is not, all candidates together; and for each of the two
bounds of the regret that it is wrong."""
LEAST_GAIN = 0.01
"""A smaller gain is no reason to leave the baseline."""
PATIENCE = (10, 10)
"""A run that takes so many times as long as the recorded one, and so many seconds more, is ended: its policy will not
be the best."""

BASE = Candidate(BASELINE)


@dataclass(frozen=True)
class Tried:
    """A candidate that was tried. Times are in seconds, virtual ones on a modelled machine."""

    candidate: Candidate
    rule: str
    """The rule that proposed it; empty for the baseline."""
    reason: str
    source: str
    seconds: tuple[float, ...]
    """The time of each run."""
    over_baseline: Ratio | None
    """Its time over that of the baseline. None for the baseline, and for what did not run in all rounds."""
    refused: str
    """Why it did not run; empty if it ran."""

    @property
    def median(self) -> float | None:
        """Median time in seconds; None if it did not run."""
        return median(self.seconds) if self.seconds else None


@dataclass(frozen=True)
class Advice:
    """What is advised, and why."""

    command: tuple[str, ...]
    machine: Machine
    virtual: bool
    """Whether the machine is modelled."""
    program: Program
    workers: int | None
    """The number of workers that was asked for."""
    repeat: int
    """How often the finalists ran."""
    tried: tuple[Tried, ...]
    """The baseline, then what the rules proposed, the fastest first; what did not run comes last."""
    advised: Candidate
    gain: Ratio | None
    """Time of what is advised over that of the baseline; None if the baseline is advised."""
    regret_least: float
    """What is advised takes at least so much longer than the best of the finalists, as a part of its time."""
    regret_most: float
    """And at most so much. Each of the two bounds holds with the probability 1 - ERROR."""

    def settings(self) -> dict[str, str | int]:
        """As in a settings file."""
        asked = {} if self.workers is None else {"workers": self.workers}
        return asked | self.advised.settings()

    def about(self) -> dict[str, Any]:
        """For the table [advice] of a settings file."""
        reasons = [t.reason for t in self.tried if t.candidate == self.advised and t.reason]
        found: dict[str, Any] = {
            "weft": __version__,
            "program": list(self.command),
            "machine": self.machine.name,
            "workers": self.machine.workers,
            "modelled": self.virtual,
            "tried": [t.candidate.label for t in self.tried if not t.refused],
            "reason": reasons[0] if reasons else f"nothing that was tried is clearly better than {BASELINE}",
            "regret": [self.regret_least, self.regret_most],
        }
        return found | ({"over_steal": [self.gain.low, self.gain.high]} if self.gain else {})

    def to_json(self) -> dict[str, Any]:
        """All of it, with the settings as in the file."""
        program = asdict(self.program) | {"parallelism": self.program.parallelism, "grain": self.program.grain}
        return asdict(self) | {"program": program, "settings": self.settings()}


@dataclass(frozen=True)
class Plan:
    """What will be run, and how long that takes."""

    program: Program
    machine: Machine
    proposals: tuple[Proposal, ...]
    repeat: int
    runs: int
    """Number of runs, those that may turn out to be needless included."""
    seconds: float
    """Real seconds of one run: those of the recorded one."""
    at_least: bool
    """The recorded run was ended before the program was: the others take longer."""

    @property
    def total(self) -> float:
        """Real seconds of all runs."""
        return self.runs * self.seconds


def advise(
    command: Sequence[str],
    *,
    machine: str | None = None,
    workers: int | None = None,
    most: int = MOST,
    repeat: int = REPEAT,
    seed: int = 1,
    limit: float | None = None,
    timeout: float | None = None,
    announce: Callable[[Plan], None] | None = None,
    step: Step | None = None,
) -> Advice:
    """Records a run of the program, chooses candidates by the rules, and tries them.

    `machine`: a modelled one, as for WEFT_MACHINE; None: real threads here. `workers`: as many as the machine has if
    None. Each of at most `most` candidates runs twice, beside the baseline; the best few of them run in `repeat`
    rounds, each with a seed of its own, from `seed` on. `limit`: real seconds for all runs but the first: there are
    fewer candidates, then fewer rounds, if they would take longer. `announce` is called when it is known how long the
    runs will take, before they begin; `step` before each run. `timeout`: real seconds of one run.

    The times are those within runs of Weft, as in reports. Raises `LaunchError` if the program fails under the
    baseline, or if a signal to end came, and `LibraryError` if the machine cannot be read.
    """
    if most < 1 or repeat < LEAST_REPEAT:
        given = f"{most} candidates, {repeat} rounds"
        raise LaunchError(compose("too little to compare", given, f"from 1 candidate and {LEAST_REPEAT} rounds on"))
    where = Where(tuple(command), machine, workers, seed, timeout)
    tell = step or (lambda what, part: None)
    described = Machine.of(library.machine(machine or ""), workers)
    with tempfile.TemporaryDirectory(prefix="weft-") as folder:
        tell(f"{BASELINE}, recorded", 0.0)
        recorded = record(where, BASE, Path(folder, "run.weft"), MOST_BYTES)
        program = Program.of(read_trace(recorded.trace))
    plan = _plan(program, described, recorded, most, repeat, limit)
    if announce:
        announce(plan)
    if timeout is None and not recorded.cut:
        where = replace(where, timeout=PATIENCE[0] * recorded.seconds + PATIENCE[1])
    times = _run(where, plan, tell)
    return _conclude(where, plan, times)


def _plan(program: Program, machine: Machine, recorded: Recorded, most: int, repeat: int, limit: float | None) -> Plan:
    proposals = candidates(program, machine, most)
    runs = most_runs(len(proposals), repeat)
    while limit is not None and runs * recorded.seconds > limit and (len(proposals) > 1 or repeat > LEAST_REPEAT):
        if len(proposals) > FINALISTS or (repeat == LEAST_REPEAT and len(proposals) > 1):
            proposals = proposals[:-1]
        else:
            repeat -= 1
        runs = most_runs(len(proposals), repeat)
    return Plan(program, machine, tuple(proposals), repeat, runs, recorded.seconds, recorded.cut)


def most_runs(proposals: int, repeat: int) -> int:
    """Number of runs for so many candidates: each in the first rounds, then the finalists in the others, both with the
    baseline."""
    return SCREENED * (proposals + 1) + (repeat - SCREENED) * (min(proposals, FINALISTS) + 1) if proposals else 0


def _run(where: Where, plan: Plan, step: Step) -> dict[Candidate, Times]:
    everyone = [BASE, *(p.candidate for p in plan.proposals)]
    times: dict[Candidate, Times] = {}
    if not plan.proposals:
        return times
    first = SCREENED * len(everyone) / plan.runs
    run_rounds(where, everyone, range(SCREENED), times, lambda what, part: step(what, first * part))
    if times[BASE].refused:
        raise LaunchError(f"under {BASELINE}: {times[BASE].refused}")
    ran = [c for c in everyone[1:] if not times[c].refused]
    finalists = sorted(ran, key=lambda c: geometric_mean(times[c].seconds))[:FINALISTS]
    if finalists:
        rounds = range(SCREENED, plan.repeat)
        run_rounds(where, [BASE, *finalists], rounds, times, lambda what, part: step(what, first + (1 - first) * part))
    if times[BASE].refused:
        raise LaunchError(f"under {BASELINE}: {times[BASE].refused}")
    return times


def _conclude(where: Where, plan: Plan, times: dict[Candidate, Times]) -> Advice:
    finalists = [t for t in times.values() if not t.refused and len(t.seconds) == plan.repeat]
    # Each end of an interval is so far out that all of them hold together, on each side: Bonferroni's inequality.
    error = 2 * ERROR / max(1, len(finalists) - 1)

    def over(one: Times, other: Times) -> Ratio:
        return Ratio.of(one.seconds, other.seconds, error)

    ratios = {t.of: over(t, times[BASE]) for t in finalists if t.of != BASE}
    better = {c: r for c, r in ratios.items() if r.high < 1 and r.mid <= 1 - LEAST_GAIN}
    advised = min(better, key=lambda c: better[c].mid, default=BASE)
    regrets = [over(times[advised], t) for t in finalists if t.of != advised] if times else []
    proposed = {p.candidate: p for p in plan.proposals}
    tried = []
    for candidate, its in times.items():
        p = proposed.get(candidate)
        why = (p.rule, p.reason, p.source) if p else ("", "", "")
        seconds = () if its.refused else tuple(its.seconds)
        tried.append(Tried(candidate, *why, seconds, ratios.get(candidate), its.refused))
    tried.sort(key=lambda t: (t.candidate != BASE, t.median is None, -len(t.seconds), t.median or 0.0))
    return Advice(
        command=where.command,
        machine=plan.machine,
        virtual=where.machine is not None,
        program=plan.program,
        workers=where.workers,
        repeat=plan.repeat,
        tried=tuple(tried),
        advised=advised,
        gain=better.get(advised),
        regret_least=max([0.0, *(r.low - 1 for r in regrets)]),
        regret_most=max([0.0, *(r.high - 1 for r in regrets)]),
    )
