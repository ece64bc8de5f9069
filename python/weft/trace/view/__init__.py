"""`weft trace view`: a trace as one page that any browser opens, without a network.

`data` gathers the contents, `columns` packs it, `page` puts page.html, page.css and the scripts together.
"""

from __future__ import annotations

from pathlib import Path

from ..trace import Trace
from .data import Tables, head
from .page import write_page
from .places import places

__all__ = ["view"]


def view(trace: Trace, output: str | Path, machine: str | None = None) -> None:
    """Writes the page into the file `output`.

    `machine`, as for `WEFT_MACHINE`, says where the workers were. None: this machine if the trace was written on it,
    else no places are shown. Raises `Error` if the trace cannot be shown or is not of that machine, `LibraryError` if
    the machine cannot be read, OSError if the file cannot be written.
    """
    where = places(trace.header, machine)
    tables = Tables(trace)
    write_page(output, head(trace, where, tables), tables.columns)
