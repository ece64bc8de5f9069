"""The documentation site as `scripts/docs` has built it, in a browser without a window: looks, search, reference."""

from __future__ import annotations

import json
import os
import re
import xml.etree.ElementTree as ET
import zlib
from collections.abc import Iterator
from pathlib import Path

import looks
import pytest
import weft
from browser import Browser
from conftest import SOURCE

SITE = Path(os.environ.get("WEFT_TEST_SITE", SOURCE / "build/docs"))
XML = SOURCE / "build/docs-work/xml"
PAGES = [
    "docs/index", "docs/gallery", "docs/guide/cheat-sheet", "docs/guide/from-onetbb", "docs/guide/from-std",
    "docs/guide/viewing", "docs/reference/cpp/loops", "docs/reference/python", "docs/policies", "README",
]  # fmt: skip
PARTS = ["article h1", "article h2", "article p", "article li", "article img", "article pre", "article .table-wrapper"]
TEXTS = ["article h1", "article p", "article a", "article td", ".sidebar-tree a"]


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    assert (SITE / "docs/index.html").is_file(), f"no site in {SITE}; scripts/docs builds it"
    with Browser(tmp_path_factory.mktemp("profile")) as started:
        yield started


def visit(browser: Browser, address: str, theme: str = "light") -> None:
    browser.send("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": theme}])
    browser.log.clear()
    browser.send("Page.navigate", url=(SITE / "docs").as_uri().removesuffix("docs") + address)
    browser.wait_for("document.readyState", "complete")
    browser.wait_for("[...document.images].every((i) => i.complete)")


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize(("width", "height"), [(1280, 720), (1920, 1080)])
def test_nothing_overlaps_or_overflows(browser: Browser, width: int, height: int, theme: str) -> None:
    browser.size(width, height)
    for page in PAGES:
        visit(browser, f"{page}.html", theme)
        assert browser.run(looks.outside(PARTS, down=False)) == [], (page, width, theme)
        assert browser.run(looks.overlaps(PARTS)) == [], (page, width, theme)
        assert browser.run(looks.faint(TEXTS)) == [], (page, theme)
        assert browser.run("[...document.images].filter((i) => i.naturalWidth === 0).map((i) => i.src)") == [], page


def test_the_first_page_is_one_screen(browser: Browser) -> None:
    for width, height in ((1280, 720), (1920, 1080)):
        browser.size(width, height)
        for theme in ("light", "dark"):
            visit(browser, "docs/index.html", theme)
            assert browser.run("document.querySelector('.first-screen').getBoundingClientRect().bottom") <= height
            shown = "[...document.querySelectorAll('.first-screen img')].filter((i) => i.getClientRects().length > 0)"
            assert browser.run(f"{shown}.map((i) => i.src.split('/').pop())") == [f"viewer-{theme}.png", "policies.svg"]
            assert (
                browser.run(looks.overlaps([".first-screen p", ".first-screen li", ".first-screen pre", "img"])) == []
            )


def test_search_finds_names_and_words(browser: Browser) -> None:
    for words, wanted in (
        ("parallel_reduce", "Loops and sorting"),
        ("blocked_range", "From oneTBB"),
        ("WEFT_TRACE", "Tracing"),
        ("adws", "adws"),
    ):
        visit(browser, f"search.html?q={words}")
        browser.wait_for("document.querySelectorAll('#search-results li a').length > 0")
        found = "[...document.querySelectorAll('#search-results li a')].map((a) => a.textContent)"
        browser.wait_for(f"{found}.some((t) => t.includes({json.dumps(wanted)}))")


def test_search_by_the_keyboard(browser: Browser) -> None:
    visit(browser, "docs/index.html")
    browser.run("document.querySelector('.sidebar-search').focus()")
    browser.send("Input.insertText", text="pipeline")
    browser.send("Input.dispatchKeyEvent", type="keyDown", key="Enter", text="\r", windowsVirtualKeyCode=13)
    browser.send("Input.dispatchKeyEvent", type="keyUp", key="Enter", windowsVirtualKeyCode=13)
    browser.wait_for(
        "location.pathname.endsWith('/search.html') && document.querySelectorAll('#search-results li').length > 3"
    )


# ---- the reference


def inventory() -> dict[str, set[str]]:
    """The names that the site explains, by their domain: `cpp`, `py`."""
    raw = (SITE / "objects.inv").read_bytes()
    text = zlib.decompress(raw[raw.index(b"zlib.\n") + 6 :]).decode()
    names: dict[str, set[str]] = {}
    for name, domain in re.findall(r"^(.+?) (\w+):\S+ -?\d+ ", text, re.MULTILINE):
        names.setdefault(domain, set()).add(name)
    return names


def public_names() -> set[str]:
    """What the public headers declare in the namespace `weft`, as Doxygen reads them: types, functions, members.

    Not what every class has: constructors, destructors, assignments.
    """
    names: set[str] = set()
    for path in XML.glob("*weft*.xml"):
        for compound in ET.parse(path).iter("compounddef"):
            scope = compound.findtext("compoundname", "").split("<")[0].strip()
            of_class = compound.get("kind") in ("class", "struct")
            if not (of_class or compound.get("kind") == "namespace") or not within(scope):
                continue
            if compound.get("prot", "public") != "public":
                continue
            if of_class:
                names.add(scope)
            for member in compound.iter("memberdef"):
                name = member.findtext("name", "")
                special = name.startswith("~") or name in (scope.rpartition("::")[2], "operator=", "explicit")
                if member.get("prot") == "public" and name and not special and member.get("kind") != "friend":
                    names.add(f"{scope}::{name}")
    return names


def within(scope: str) -> bool:
    return (scope == "weft" or scope.startswith("weft::")) and not {"impl", "detail"} & set(scope.split("::"))


def test_the_reference_has_every_public_name() -> None:
    declared = public_names()
    assert len(declared) > 200, "Doxygen's output lies in build/docs-work/xml"
    # What stands in a namespace and in no class is explained without the namespace's name.
    explained = {re.sub(r"<.*?>", "", name) for name in inventory()["cpp"]}
    known = explained | {
        space + name for space in ("weft::", "weft::this_task::", "weft::stage::") for name in explained
    }
    assert sorted(declared - known) == []


def test_the_reference_has_every_name_of_the_package() -> None:
    names = {f"weft.{name}" for name in weft.__all__ if not name.startswith("__")}
    assert len(names) > 10 and names - inventory()["py"] == set()
