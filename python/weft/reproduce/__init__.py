"""The claims of papers, tried on modelled machines."""

from __future__ import annotations

from .claims import Claim, Paper, Setup
from .claims_file import read_paper
from .reproduce import Result, reproduce
from .verdict import Verdict

__all__ = ["Claim", "Paper", "Result", "Setup", "Verdict", "read_paper", "reproduce"]
