"""Machines and policies as the library tells them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import weft
from conftest import MACHINE, SOURCE


def test_machine_of_a_file() -> None:
    machine = weft.machine(str(MACHINE))
    assert (machine["name"], machine["ranks"], machine["cores"]) == ("opteron-8380-4x4", 16, 16)
    assert [p["ranks"] for p in machine["packages"]] == [(0, 4), (4, 8), (8, 12), (12, 16)]
    assert len(machine["domains"]) == len(machine["memory_nodes"]) == 4
    assert machine["modelled"] and machine["node_distances"][0][0] == 10
    last = max(c["level"] for c in machine["caches"])
    assert [c["ranks"] for c in machine["caches"] if c["level"] == last] == [(0, 4), (4, 8), (8, 12), (12, 16)]


def test_every_machine_of_the_project() -> None:
    for path in sorted((SOURCE / "machines").glob("*.toml")):
        machine = weft.machine(str(path))
        assert machine["text"].startswith(machine["name"]) and machine["ranks"] == len(machine["class_of_rank"])


def test_machine_of_a_string_and_this_one() -> None:
    assert weft.machine("pack:2 l3:2 core:4 pu:2")["ranks"] == 32
    here = weft.machine()
    assert not here["modelled"] and 1 <= here["workers"] <= here["ranks"]


def test_a_machine_that_is_none(tmp_path: Path) -> None:
    file = tmp_path / "bad.toml"
    file.write_text("[[package]]\nunknown = 1\n")
    for spec in ("nonsense", str(file), str(tmp_path / "none.xml")):
        with pytest.raises(weft.LibraryError):
            weft.machine(spec)


def test_policies_are_those_of_the_page() -> None:
    page = (SOURCE / "docs/policies.md").read_text(encoding="utf-8")
    policies = weft.policies()
    assert [p.name for p in policies] == re.findall(r"^## `([a-z-]+)`$", page, re.MULTILINE)
    for policy in policies:
        assert policy.summary and (policy.source or policy.name == "serial")
    near = next(p for p in policies if p.name == "near")
    assert [(k.key, k.standard, k.allowed) for k in near.knobs] == [("tries", "4", "1..1000")]
