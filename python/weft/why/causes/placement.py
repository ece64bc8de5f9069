"""Causes in where the program's memory lies."""

from __future__ import annotations

from dataclasses import replace

from ..evidence import Evidence
from ..finding import Finding
from .common import duration, further_places, hottest_place, path_to_it, spread_of


def numa_placement(e: Evidence) -> list[Finding]:
    """The program's memory lies on few of the machine's nodes, and it is faster where it is spread over all."""
    if not e.interleaved:
        return []
    # The thread that touches a page first has it put on the node of its core.
    touching = [replace(s, seconds=float(s.faults)) for s in e.stacks if s.faults and s.owner == "program"]
    total = sum(e.pages.values())
    node = max(e.pages, key=lambda n: e.pages[n])
    return [
        Finding(
            cause="numa_placement",
            title="its memory lies on few of the machine's memory nodes",
            place=hottest_place(touching),
            path=path_to_it(touching),
            evidence=(
                f"{e.pages[node] / total:.0%} of {total / 2**20:.0f} MiB lay on node {node}, of {e.nodes} nodes",
                f"{duration(e.seconds)} as it is, {duration(e.interleaved.seconds)} with its pages spread over all "
                "nodes",
            ),
            gain=e.seconds - e.interleaved.seconds,
            uncertain=e.spread + spread_of(e.interleaved),
            basis="tested",
            advice="numactl --interleave=all, or better: let the workers that use the data touch them first (set them "
            "in a parallel loop of the same range under a policy that keeps ranges where they were, as static, adws or "
            "laws), so that most accesses stay on their node",
            also=further_places(touching),
        )
    ]
