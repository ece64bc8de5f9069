"""Makes the tree of the sidebar once, and not for each page.

The theme asks Sphinx for the whole tree on each page. Sphinx then copies and resolves the headings of all pages, and
the theme parses the result: for 200 pages, half of the time of a build. The trees of two pages differ only in the
links, which are relative, and in what is marked as current.
"""

from __future__ import annotations

import re
from collections import defaultdict
from typing import Any

from furo.navigation import get_navigation_tree  # type: ignore[import-untyped]
from sphinx.application import Sphinx
from sphinx.environment.adapters.toctree import TocTree

AT_THE_TOP = "search"
"""A page in the root of the site that is in no tree: its links are relative to the root, and nothing is current."""


class Sidebar:
    """The tree of the page AT_THE_TOP as a list of tags and texts, and what changes in it for another page."""

    def __init__(self, html: str, suffix: str) -> None:
        self.parts = re.split(r"(<[^>]*>)", html)
        self.links: list[tuple[int, str]] = []
        """The links to pages: which part, and which page."""
        self.around: defaultdict[str, list[tuple[int, list[list[int]]]]] = defaultdict(list)
        """For each page, its links: which part, and which parts are the lists around it, and the entries and boxes."""
        open_parts: list[list[int]] = []
        for at, part in enumerate(self.parts):
            if part.startswith(("<ul", "<li")):
                open_parts.append([at])
            elif part.startswith(("</ul", "</li")):
                open_parts.pop()
            elif part.startswith("<input"):
                open_parts[-1].append(at)  # the box that shows what is below an entry
            elif link := re.search(r' class="reference internal" href="([^"]*)"', part):
                page = link[1].removesuffix(suffix)
                self.links.append((at, page))
                self.around[page].append((at, open_parts.copy()))

    def of(self, page: str, app: Sphinx) -> str:
        parts = self.parts.copy()
        for at, target in self.links:
            address = app.builder.get_relative_uri(page, target) or "#"
            parts[at] = re.sub(r'href="[^"]*"', lambda _, to=address: f'href="{to}"', parts[at])
        current: set[int] = set()
        for at, around in self.around.get(page, []):
            parts[at] = parts[at].replace('class="', 'class="current ')
            current.update(*around)
        for at in current:
            parts[at] = marked(parts[at])
        entries = [at for at in current if parts[at].startswith("<li")]
        if entries:
            last = max(entries)
            parts[last] = parts[last].replace('">', ' current-page">')
        return "".join(parts)


def marked(part: str) -> str:
    """A list, an entry or a box around the current page."""
    if part.startswith("<input"):
        return part.replace(' class="', ' checked="" class="')
    if part.startswith("<ul"):
        return '<ul class="current">'
    return re.sub(r'"(toctree-l\d+)', r'"\1 current', part)


def without_tree(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """Before the theme's own handler: it finds no tree."""
    context.pop("toctree", None)


def with_tree(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """After the theme's own handler."""
    sidebar: Sidebar | None = getattr(app, "weft_sidebar", None)
    if sidebar is None:
        tree = TocTree(app.env).get_toctree_for(
            AT_THE_TOP, app.builder, collapse=False, titles_only=True, maxdepth=-1, includehidden=True
        )
        html = app.builder.render_partial(tree)["fragment"]  # type: ignore[attr-defined]
        sidebar = Sidebar(get_navigation_tree(html), app.builder.out_suffix)  # type: ignore[attr-defined]
        app.weft_sidebar = sidebar  # type: ignore[attr-defined]
    context["furo_navigation_tree"] = sidebar.of(page, app)


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("html-page-context", without_tree, priority=400)
    app.connect("html-page-context", with_tree, priority=600)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
