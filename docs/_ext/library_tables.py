"""Directives that show what the library itself says: `weft-policies`, `weft-machines`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import weft
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

ROOT = Path(__file__).parents[2]


def cell(text: str) -> str:
    """Plain text for a cell of a table in Markdown."""
    for mark in "\\|*_`<>[]":
        text = text.replace(mark, "\\" + mark)
    return text


class Policies(SphinxDirective):
    """The registry of policies."""

    def run(self) -> list[nodes.Node]:
        lines = ["| policy | what it does | knobs: values (standard) | source |", "|---|---|---|---|"]
        for p in weft.policies():
            knobs = [f"`{k.key}`: {cell(k.allowed)} ({cell(k.standard) or 'must be given'})" for k in p.knobs]
            lines.append(f"| `{p.name}` | {cell(p.summary)} | {'; '.join(knobs) or '-'} | {cell(p.source)} |")
        return self.parse_text_to_nodes("\n".join(lines))


class Machines(SphinxDirective):
    """The machine files of the repository, as the library reads them."""

    def run(self) -> list[nodes.Node]:
        lines = ["| file | what it is | cores | cache domains | memory nodes |", "|---|---|--:|--:|--:|"]
        for path in sorted((ROOT / "machines").glob("*.toml")):
            self.env.note_dependency(str(path))
            m = weft.machine(str(path))
            sizes = " | ".join(str(n) for n in (m["cores"], len(m["domains"]), len(m["memory_nodes"])))
            lines.append(f"| [{path.name}](../../machines/{path.name}) | {cell(m['description'])} | {sizes} |")
        return self.parse_text_to_nodes("\n".join(lines))


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_directive("weft-policies", Policies)
    app.add_directive("weft-machines", Machines)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
