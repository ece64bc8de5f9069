"""What makes a program slow, and what mending it would save."""

from __future__ import annotations

from .diagnosis import Diagnosis, diagnose
from .evidence import Evidence
from .finding import Finding, Place

__all__ = ["Diagnosis", "Evidence", "Finding", "Place", "diagnose"]
