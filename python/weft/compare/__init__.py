"""One program under many policies, here and on modelled machines."""

from __future__ import annotations

from .compare import Comparison, Place, Row, Spread, compare

__all__ = ["Comparison", "Place", "Row", "Spread", "compare"]
