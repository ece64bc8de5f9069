"""A paper's claims: what the source says, and what is run to try it. papers/README.md describes the file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from ..modelled_run import Setup

Measure = Literal["change", "ratio", "speedup"]
MEASURES: tuple[str, ...] = get_args(Measure)
Sign = Literal["less", "more", "same"]
SIGNS: tuple[str, ...] = get_args(Sign)
Kind = Literal["source", "constructed", "incomparable", "ours"]
KINDS: tuple[str, ...] = get_args(Kind)
COMBINE = ("mean", "strongest")
OVER = ("mean", "median", "least", "most", "part_more")


@dataclass(frozen=True)
class Figure:
    """The paper's result: an interval in which a figure lies (both ends alike: a number), or a sign alone."""

    low: float
    high: float
    sign: Sign | None = None
    bound: Literal["at most", "at least", "up to"] | None = None
    """How the source states the interval. `at most`: no more than `high` either way. `up to`: from no change to `low`
    or to `high`."""
    text: str = ""
    """The paper's words, if there is only a sign."""
    printed: tuple[float, float] | None = None
    """The absolute figures of baseline and candidate, if the paper prints them."""


@dataclass(frozen=True)
class Claim:
    id: str
    source: str
    """The place in the paper."""
    what: str
    figure: Figure
    measure: Measure
    """`change`: candidate against baseline in percent; `ratio`: candidate over baseline; `speedup`: the inverse."""
    metric: str
    """Of METRICS, or `output:` and the name of a figure that the program prints."""
    over: str
    """What is taken of a metric that is a list, case by case: `mean`, `median`, `least`, `most`, `part_more`."""
    kind: Kind
    """`source`: the source claims it. `constructed`: it is true by construction, for instance because both sides run
    the same code. `incomparable`: the source measures something else. `ours`: it is about something that no source
    describes. Only the first kind is counted."""
    band: float
    """A figure agrees if it differs by at most this factor."""
    same: float
    """Two figures within so many percent of each other count as equal."""
    work: float
    """The candidate does so many times the baseline's work; its metric is divided by it."""
    candidate: Setup | None
    """None, as is `baseline`, if the claim combines other claims."""
    baseline: Setup | None
    """None also if the metric of the candidate is compared with nothing: a ratio by itself."""
    of: tuple[str, ...]
    """The claims whose figures are combined."""
    combine: str
    """`mean`, or `strongest`: the figure that is farthest from no change."""
    rests_on: tuple[str, ...]
    """The claims about this claim's baseline: if one of them fails, this claim is not counted."""
    seeds: int
    quick: bool
    """Whether it is one of the few that `--quick` runs."""
    scaled: str
    """The reason why the size is not the paper's."""
    explanation: str
    """The reason why the result is not as in the paper."""


@dataclass(frozen=True)
class Paper:
    name: str
    """The name of its folder."""
    title: str
    folder: Path
    claims: tuple[Claim, ...]

    def only(self, ids: set[str]) -> tuple[Claim, ...]:
        """These claims, and those that they combine or rest on."""
        wanted = set(ids)
        # A claim names claims further up, so one pass from below finds them all.
        for c in reversed(self.claims):
            if c.id in wanted:
                wanted |= {*c.of, *c.rests_on}
        return tuple(c for c in self.claims if c.id in wanted)
