"""Which policy for a program on a machine: docs/advise.md."""

from __future__ import annotations

from .advice import Advice, Tried, advise
from .features import Machine, Program
from .rules import RULES, Candidate, Rule, candidates

__all__ = [
    "RULES",
    "Advice",
    "Candidate",
    "Machine",
    "Program",
    "Rule",
    "Tried",
    "advise",
    "candidates",
]
