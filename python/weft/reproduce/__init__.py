"""The claims of papers, tried on modelled machines."""

from __future__ import annotations

from ..modelled_run import Setup
from .claims import Claim, Paper
from .claims_file import read_paper
from .reproduce import Result, judge_again, reproduce
from .verdict import Verdict

__all__ = ["Claim", "Paper", "Result", "Setup", "Verdict", "judge_again", "read_paper", "reproduce"]
