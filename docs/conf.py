"""The documentation site: `scripts/docs` builds it into build/docs.

The source directory is the root of the tree: every Markdown page of the repository is a page of the site, and the
links between them are checked.
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "docs" / "_ext"))

project = "Weft"
author = "the authors of Weft"
copyright = author
(version,) = re.findall(r"^  VERSION (\S+)$", (ROOT / "CMakeLists.txt").read_text(), re.MULTILINE)
release = version

extensions = [
    "breathe",
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx_copybutton",
    "library_tables",
    "plain_docstrings",
    "sidebar",
    "tree_links",
]
root_doc = "docs/index"
include_patterns = ["*.md", "**/*.md"]
exclude_patterns = [".*", "build", "**/.*", "**/node_modules"]

html_theme = "furo"
html_title = f"Weft {release}"
html_static_path = ["_static"]
html_css_files = ["weft.css"]
html_show_copyright = False
html_copy_source = False
html_additional_pages = {"index": "to_index.html"}
templates_path = ["_templates"]

myst_enable_extensions = ["attrs_inline", "colon_fence", "deflist"]
myst_heading_anchors = 3

copybutton_prompt_text = "$ "
copybutton_here_doc_delimiter = "END"
copybutton_line_continuation_character = "\\"

breathe_projects = {"weft": os.environ["DOXYGEN_XML"]}
breathe_default_project = "weft"
breathe_default_members = ("members",)
breathe_show_include = False

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
# A type in a signature may have the name of an attribute somewhere, such as `bytes`.
suppress_warnings = ["ref.python"]
