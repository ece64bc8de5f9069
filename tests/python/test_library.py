"""Machines and policies as the library describes them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import weft
from conftest import MACHINE, SOURCE
from weft.topology import draw


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
    assert [p.name for p in policies] == re.findall(r"^\| \[`([a-z-]+)`\]\(policies/\1\.md\) \|", page, re.M)
    for policy in policies:
        assert policy.summary and policy.source and policy.helps
    near = next(p for p in policies if p.name == "near")
    assert [(k.key, k.default, k.allowed) for k in near.knobs] == [
        ("tries", "4", "1..1000"),
        ("zone", "lazy", "lazy, reported"),
        ("wide", "queue", "queue, steal"),
    ]


@pytest.mark.parametrize(
    "spec", [*sorted((SOURCE / "machines").glob("*.toml")), "pack:2 [numa] l3:2 core:4 pu:2"], ids=str
)
def test_pictures_of_machines(spec: Path | str, tmp_path: Path) -> None:
    machine = weft.machine(str(spec))
    pictures = [tmp_path / "one.svg", tmp_path / "two.svg"]
    for picture in pictures:
        draw(machine, picture)
    text = pictures[0].read_text(encoding="utf-8")
    assert text == pictures[1].read_text(encoding="utf-8")
    written = re.findall(r">([^<>]+)</text>", text)
    for rank in range(machine["ranks"]):
        assert str(rank) in written
    for number in range(len(machine["packages"])):
        assert f"package {number}" in written
    for number in range(len(machine["memory_nodes"])):
        assert sum(re.match(rf"memory {number}\b", w) is not None for w in written) == 1
    for device in machine["devices"]:
        assert any(device["name"] in w for w in written)


def test_a_picture_of_another_format(tmp_path: Path) -> None:
    with pytest.raises(weft.Error, match=r"\*\.svg, \*\.png"):
        draw(weft.machine(str(MACHINE)), tmp_path / "machine.pdf")
