"""Links from a page to a folder of the repository, which the site has no page for, become plain text.

A link to a file that is no page stays: the site takes a copy of the file along. What does not exist is an error.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform


class FolderLinks(SphinxPostTransform):
    """Runs before MyST's own resolver of links (9), which knows pages and files."""

    default_priority = 8

    def run(self, **kwargs: Any) -> None:
        folder = Path(self.env.doc2path(self.env.docname)).parent
        for link in list(self.document.findall(addnodes.pending_xref)):
            if link.get("reftype") == "myst" and (folder / link["reftarget"]).is_dir():
                link.replace_self(nodes.inline("", "", *link.children))


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_post_transform(FolderLinks)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
