"""Directives that show what the library itself says: `weft-policies`, `-machines`, `-modules`, `-settings`."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
import xml.etree.ElementTree as ET
from pathlib import Path
from types import ModuleType
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
        lines = ["| policy | what it does | knobs: values (default) | source |", "|---|---|---|---|"]
        for p in weft.policies():
            knobs = [f"`{k.key}`: {cell(k.allowed)} ({cell(k.default) or 'must be given'})" for k in p.knobs]
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


class Modules(SphinxDirective):
    """The modules of the package that have more than what `weft` itself offers: a section each."""

    def run(self) -> list[nodes.Node]:
        found: list[nodes.Node] = []
        for entry in pkgutil.walk_packages(weft.__path__, "weft."):
            parts = entry.name.split(".")
            if parts[1] == "cli" or any(part.startswith("_") for part in parts):
                continue
            names = own_names(importlib.import_module(entry.name))
            if not names:
                continue
            lines = [f"## `{entry.name}`", "", "```{eval-rst}", f".. automodule:: {entry.name}"]
            lines += [f"   :members: {', '.join(names)}", "   :undoc-members:"]
            if parts[1] in weft.__all__:  # a function of the same name has the name in the index
                lines.append("   :no-index:")
            lines.append("```")
            found += self.parse_text_to_nodes("\n".join(lines), allow_section_headings=True)
        return found


class Settings(SphinxDirective):
    """The environment's variables, from the docstrings of `weft::runtime_options`: `[WEFT_NAME] what it is`."""

    def run(self) -> list[nodes.Node]:
        path = Path(self.config.breathe_projects["weft"]) / "structweft_1_1runtime__options.xml"
        lines = ["| variable | `runtime_options` | |", "|---|---|---|"]
        for member in ET.parse(path).iter("memberdef"):
            kind = member.find("type")
            if kind is not None and "*" in "".join(kind.itertext()):
                continue  # an object of the program, which no variable can name
            parts = [*member.iter("briefdescription"), *member.iter("detaileddescription")]
            text = " ".join("".join(part.itertext()) for part in parts)
            said = re.fullmatch(r"\[(WEFT_\w+)\] (.*)", " ".join(text.split()))
            if said is None:
                raise self.error(f"{member.findtext('name')}: its docstring does not begin with [WEFT_...]: {text}")
            about = re.sub(r"\bdocs/([\w-]+\.md)", r"[\g<0>](../\1)", cell(said[2]))
            lines.append(f"| `{said[1]}` | `{member.findtext('name')}` | {about} |")
        return self.parse_text_to_nodes("\n".join(lines))


def own_names(module: ModuleType) -> list[str]:
    """Public classes and functions that are defined in a module and not offered by `weft`."""
    offered = {id(getattr(weft, name)) for name in weft.__all__}
    return [
        name
        for name, what in vars(module).items()
        if not name.startswith("_")
        and (inspect.isclass(what) or inspect.isfunction(what))
        and what.__module__ == module.__name__
        and id(what) not in offered
    ]


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_directive("weft-policies", Policies)
    app.add_directive("weft-machines", Machines)
    app.add_directive("weft-modules", Modules)
    app.add_directive("weft-settings", Settings)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
