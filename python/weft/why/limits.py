"""What runs and causes must agree on."""

from __future__ import annotations

DEFAULT_POLICY = "steal"
"""Of a runtime that is given none."""
FEW_NODES = 1.5
"""Where the fullest memory node has this many times an equal share of the program's memory, it is tried what spreading
it saves."""
LEAST_MEMORY = 32 << 20
"""Bytes: a program with less memory has most of it in caches."""
OTHER_THREADS = 0.1
"""From this part of the program's processor time on, threads that are no workers are looked into."""
INFLATED = 1.15
"""From this factor on, what makes the program's processor time grow with its workers is looked for."""
