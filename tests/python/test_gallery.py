"""Follows the gallery as a reader would, and compares what its commands draw with the pictures in the tree."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from conftest import SOURCE

sys.path.insert(0, str(SOURCE / "docs/_ext"))
import pictures
from reader import home_with_objects, taken

BUILD = Path(os.environ.get("WEFT_TEST_BUILD", SOURCE / "build/dev"))
COMMANDS = pictures.gallery().commands
NEAR = 0.02
"""Points of a picture, 1/72 inch: versions of matplotlib round differently."""


TONE = 0.12
"""How much the mean colour of a square may differ, of 1: other fonts differ by less, another picture by more."""


@pytest.fixture(scope="module")
def home() -> Iterator[tuple[Path, list[tuple[str, int]]]]:
    """A home in which the commands of the page ran, and their outputs."""
    with home_with_objects(BUILD, "gallery") as (folder, objects):
        yield folder, pictures.run(folder, BUILD, objects)


@pytest.mark.parametrize("number", range(len(COMMANDS)), ids=[c.where for c in COMMANDS])
def test_command(home: tuple[Path, list[tuple[str, int]]], number: int) -> None:
    command, ran = COMMANDS[number], home[1]
    assert number < len(ran), f"{command.where}: not reached; $ {COMMANDS[len(ran)].text} did not end in time"
    difference = command.differs(*ran[number])
    assert difference is None, f"{command.where}: $ {command.text}\n{difference}"


def test_programs_are_those_of_the_build(home: tuple[Path, list[tuple[str, int]]]) -> None:
    made = sorted(o.stem for o in (BUILD / "reader/gallery/objects").glob("*.o"))
    assert sorted(taken(home[0])) == made, "tests/reader/CMakeLists.txt compiles otherwise than the page"


@pytest.mark.parametrize("name", pictures.shown())
def test_picture_is_what_the_page_draws(home: tuple[Path, list[tuple[str, int]]], name: str) -> None:
    kept = pictures.shapes((pictures.FOLDER / name).read_text(encoding="utf-8"))
    drawn = pictures.shapes((home[0] / "work" / name).read_text(encoding="utf-8"))
    again = f"{name}: `scripts/docs --pictures` draws it anew"
    assert kept, f"{name} has no bars"
    assert [colour for colour, _ in kept] == [colour for colour, _ in drawn], again
    for (_, old), (_, new) in zip(kept, drawn, strict=True):
        assert old == pytest.approx(new, abs=NEAR), again


def test_the_viewer_looks_as_in_its_pictures(home: tuple[Path, list[tuple[str, int]]]) -> None:
    pictures.photograph(home[0])
    for name in pictures.VIEWS:
        kept, taken = pictures.tones(pictures.FOLDER / name), pictures.tones(home[0] / "work" / name)
        differs = np.abs(kept - taken).max(axis=2) > TONE
        assert differs.mean() < 0.03, f"{name}: `scripts/docs --pictures` takes it anew"
    light, dark = (pictures.tones(home[0] / "work" / name) for name in pictures.VIEWS)
    assert light.mean() > 0.7 and dark.mean() < 0.4


def test_the_gallery_has_ten_programs_each_with_a_picture() -> None:
    page = pictures.gallery()
    programs = {Path(file).stem for file in page.files if file.endswith(".cpp")}
    assert len(programs) == 10
    assert {Path(name).stem for name in pictures.shown()} == programs | {"policies"}
    there = {path.name for path in pictures.FOLDER.iterdir()}
    assert there == {Path(file).name for file in page.files} | set(pictures.shown()) | set(pictures.VIEWS)


def test_a_changed_bar_is_seen() -> None:
    svg = '<g id="PolyCollection_1">\n<path d="M 1.5 2 L 3 4 z" style="fill: #009e73"/>\n</g>'
    assert pictures.shapes(svg) == [("#009e73", [1.5, 2, 3, 4])]
    assert pictures.shapes(svg.replace("3 4", "3.1 4")) != pictures.shapes(svg)
    assert pictures.shapes(svg.replace("#009e73", "#009e74")) != pictures.shapes(svg)
