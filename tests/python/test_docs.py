"""The documentation's sources: the page of the command, the pages of the C++ headers."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated
from unittest import mock

import pytest
import typer
from conftest import SOURCE
from furo.navigation import get_navigation_tree  # type: ignore[import-untyped]

sys.path.insert(0, str(SOURCE / "docs/_ext"))
import command_page
import man_pages
import sidebar


def test_the_page_of_the_command_is_what_the_command_says() -> None:
    there = (SOURCE / "docs/reference/commands.md").read_text(encoding="utf-8")
    assert there == command_page.page(), "scripts/docs --commands writes docs/reference/commands.md anew"


def test_the_manual_pages_are_what_the_command_says() -> None:
    there = {p.name: p.read_text(encoding="utf-8") for p in (SOURCE / "docs/man").iterdir()}
    assert there == man_pages.pages(), "scripts/docs --commands writes docs/man anew"


@pytest.mark.skipif(shutil.which("groff") is None, reason="needs groff")
def test_the_manual_pages_are_correct_roff() -> None:
    for page in sorted((SOURCE / "docs/man").iterdir()):
        done = subprocess.run(["groff", "-man", "-Tutf8", "-ww", str(page)], capture_output=True, text=True, check=True)
        assert not done.stderr, done.stderr
        assert page.stem.upper() in done.stdout


TREE = """\
<p class="caption" role="heading"><span class="caption-text">Part</span></p>
<ul>
<li class="toctree-l1"><a class="reference internal" href="docs/a.html">A</a></li>
<li class="toctree-l1"><a class="reference internal" href="docs/b/index.html">B</a><ul>
<li class="toctree-l2"><a class="reference internal" href="docs/b/c.html">C</a></li>
<li class="toctree-l2"><a class="reference internal" href="README.html">D</a></li>
</ul>
</li>
</ul>
<ul>
<li class="toctree-l1"><a class="reference external" href="https://example.org/">E</a></li>
</ul>
"""
"""What Sphinx makes for a page in the root of the site that is not in the tree."""


@pytest.mark.parametrize(
    ("page", "tree"),
    [
        ("search", TREE),
        (
            "docs/a",
            TREE.replace("docs/a.html", "#")
            .replace("docs/", "")
            .replace("README", "../README")
            .replace("<ul>", '<ul class="current">', 1)
            .replace('l1"><a class="', 'l1 current"><a class="current ', 1),
        ),
        (
            "docs/b/index",
            TREE.replace("docs/b/index.html", "#")
            .replace("docs/b/", "")
            .replace("docs/", "../")
            .replace("README", "../../README")
            .replace("<ul>", '<ul class="current">', 1)
            .replace(
                'l1"><a class="reference internal" href="#', 'l1 current"><a class="current reference internal" href="#'
            ),
        ),
        (
            "README",
            TREE.replace("README.html", "#")
            .replace("<ul>", '<ul class="current">', 2)
            .replace(
                'l1"><a class="reference internal" href="docs/b',
                'l1 current"><a class="reference internal" href="docs/b',
            )
            .replace(
                'l2"><a class="reference internal" href="#', 'l2 current"><a class="current reference internal" href="#'
            ),
        ),
    ],
)
def test_the_sidebar_is_the_one_that_the_theme_makes_for_each_page(page: str, tree: str) -> None:
    def relative(start: str, to: str) -> str:
        folder, target = Path(f"{start}.html").parent, f"{to}.html"
        return "" if start == to else os.path.relpath(target, folder)

    app = mock.Mock()
    app.builder.get_relative_uri = relative
    assert sidebar.Sidebar(get_navigation_tree(TREE), ".html").of(page, app) == get_navigation_tree(tree)


class Metal(StrEnum):
    iron = "iron"
    tin = "tin"


def melt(
    files: Annotated[list[Path] | None, typer.Argument(metavar="[FILE]...", help="What to melt.")] = None,
    metal: Annotated[Metal, typer.Option("--metal", "-m", help="Of *which* kind.")] = Metal.tin,
    heat: Annotated[float, typer.Option(min=1, max=9)] = 3,
    times: Annotated[int | None, typer.Option(help="How often.")] = None,
    out: Annotated[str, typer.Option("--out")] = ...,  # type: ignore[assignment]
    secret: Annotated[bool, typer.Option("--secret", hidden=True)] = False,
) -> None:
    """Melt what there is.

    Example: forge melt a b --metal tin
    """


def test_what_the_page_says_of_a_command(monkeypatch: pytest.MonkeyPatch) -> None:
    app = typer.Typer(name="forge", rich_markup_mode=None, add_completion=False)
    below = typer.Typer(help="Hot work.", rich_markup_mode=None)
    below.command()(melt)
    below.command("hide", hidden=True)(melt)
    app.add_typer(below, name="hot")
    monkeypatch.setattr(command_page, "application", lambda: app)
    page = command_page.page()
    assert page[len(command_page.HEAD) :].replace("## `weft hot`", "@") == (
        "\n\n\n@\n\nHot work.\n\n### `weft hot melt`\n\nMelt what there is.\n\n"
        "```text\nforge melt a b --metal tin\n```\n\n| | |\n|---|---|\n"
        "| `[FILE]...` | What to melt. |\n"
        "| `--metal, -m iron\\|tin` | Of \\*which\\* kind. Default: tin. |\n"
        "| `--heat 1..9` | Default: 3. |\n"
        "| `--times NUMBER` | How often. |\n"
        "| `--out TEXT` | (required) |\n"
    )


def test_every_public_header_has_its_place_in_the_reference() -> None:
    pages = "".join(p.read_text(encoding="utf-8") for p in (SOURCE / "docs/reference/cpp").glob("*.md"))
    shown = sorted(re.findall(r"^```\{doxygengroup\} header_(\w+)$", pages, re.MULTILINE))
    headers = {p.stem for p in (SOURCE / "include/weft").glob("*.hpp")} - {"weft"}
    assert shown == sorted(headers)


def test_every_variable_of_the_environment_is_an_option_with_a_docstring() -> None:
    read = set(re.findall(r'"(WEFT_[A-Z]+)"', (SOURCE / "src/api/choices.cpp").read_text(encoding="utf-8")))
    said = re.findall(r"\[(WEFT_[A-Z]+)\]", (SOURCE / "include/weft/runtime.hpp").read_text(encoding="utf-8"))
    assert len(read) > 10 and sorted([*said, "WEFT_SETTINGS"]) == sorted(read)
    # The file of settings is no setting itself.
    assert "`WEFT_SETTINGS`" in (SOURCE / "docs/reference/settings.md").read_text(encoding="utf-8")


def test_the_walk_through_the_code_names_what_its_files_have() -> None:
    walk = (SOURCE / "HACKING.md").read_text(encoding="utf-8")
    steps = re.findall(r"\[[^\]]+\]\(([^)]+)\)[,:]\s+`([\w:]+)`", walk)
    assert len(steps) > 10
    for file, name in steps:
        text = (SOURCE / file).read_text(encoding="utf-8")
        assert name.rpartition(":")[2] in text, f"HACKING.md says that {file} has {name}"
