"""What runs and causes must agree on."""

from __future__ import annotations

DEFAULT_POLICY = "steal"
"""Of a runtime that is given none."""
INFLATED = 1.15
"""From this factor on, what makes the program's processor time grow with its workers is looked for."""
