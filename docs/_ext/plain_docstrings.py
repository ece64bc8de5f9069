"""Docstrings are plain text with `code` between backticks: nothing else in them is a mark for Sphinx."""

from __future__ import annotations

import re
from typing import Any

from sphinx.application import Sphinx


def marked(line: str) -> str:
    """A line of a docstring as reStructuredText; what is indented or a prompt stays."""
    if line.startswith((" ", ">>>")):
        return line
    text = line.split("`")
    if len(text) % 2 == 0:  # a backtick alone
        return re.sub(r"([*`|_\\])", r"\\\1", line)
    plain = (re.sub(r"([*|\\]|_\b)", r"\\\1", part) for part in text[::2])
    code = (f"``{part}``" for part in text[1::2])
    return "".join(part for pair in zip(plain, [*code, ""], strict=True) for part in pair)


def process(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    lines[:] = [marked(line) for line in lines]


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("autodoc-process-docstring", process)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
