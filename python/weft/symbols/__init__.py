"""Names of code: what construct of a program's source an address stands for."""

from __future__ import annotations

from .construct import construct_of
from .lines import SourceLine
from .module import Module

__all__ = ["Module", "SourceLine", "construct_of"]
