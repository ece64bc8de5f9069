"""Contention in traces, and the gain from limits.

M. Tillenius, E. Larsson, R. M. Badia, X. Martorell: Resource-aware task scheduling. ACM TECS 2015, section 4.
"""

from __future__ import annotations

from .analysis import Analysis, analyze
from .contention import Axis
from .prediction import Prediction
from .sensitivity import Reduction, Sensitivity
from .speeds import Speed, Speeds

__all__ = ["Analysis", "Axis", "Prediction", "Reduction", "Sensitivity", "Speed", "Speeds", "analyze"]
