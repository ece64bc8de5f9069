"""Makes one page of HTML from its parts."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import asdict
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

from .columns import Column

_IMPORT = re.compile(r'^import \{[^}]*\} from "\./([\w-]+\.js)";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async )?(?:function|class|const|let)\b)", re.MULTILINE)


def write_page(output: str | Path, head: Mapping[str, Any], columns: Mapping[str, Column]) -> None:
    """Writes the page. Raises OSError if the file cannot be written."""
    script = bundle("main.js")
    described = {name: {k: v for k, v in asdict(c).items() if k != "text"} for name, c in columns.items()}
    parts = {
        "title": escape(f"{head['program']}: {head['file']}"),
        # Only our script runs, whatever names a trace has, and nothing is fetched.
        "policy": escape(
            f"default-src 'none'; script-src 'sha256-{_digest(script)}'; style-src 'unsafe-inline'; img-src data:"
        ),
        "style": _source("page.css"),
        "head": _json({**head, "columns": described}),
        "script": script,
    }
    # Each place is replaced once: the inserted text may look like a place itself.
    halves = _source("page.html").split("{{columns}}")
    before, behind = (re.sub(r"\{\{(\w+)\}\}", lambda place: parts[place[1]], half) for half in halves)
    with open(output, "w", encoding="utf-8") as file:
        file.write(before)
        for name, column in columns.items():
            file.write(f'<script type="text/plain" id="column-{name}">')
            file.write(column.text)
            file.write("</script>\n")
        file.write(behind)


def bundle(entry: str) -> str:
    """The module `entry` and the modules that it imports as one module, each behind those that it imports.

    They share one scope: no two modules may use one name for different things.
    """
    texts: dict[str, str] = {}

    def add(name: str) -> None:
        if name in texts:
            return
        text = _source(name)
        texts[name] = ""  # ends the recursion for modules that import each other
        for needed in _IMPORT.findall(text):
            add(needed)
        del texts[name]
        texts[name] = _EXPORT.sub("", _IMPORT.sub("", text))

    add(entry)
    return "\n" + "\n".join(f"// ---- {name}\n{text}" for name, text in texts.items())


def _source(name: str) -> str:
    return (files(__package__) / name).read_text(encoding="utf-8")


def _json(value: object) -> str:
    """JSON text that cannot end the HTML element around it."""
    return json.dumps(value, ensure_ascii=True, allow_nan=False).replace("<", "\\u003c")


def _digest(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode("ascii")
