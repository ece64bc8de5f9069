"""`weft trace view`: a trace as one page that any browser opens, without a network.

`data` gathers what is shown, `columns` packs it, `page` puts page.html, page.css and the scripts together.
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

    `machine`, what `WEFT_MACHINE` takes, says where the workers were; None: this machine, if the trace was written on
    it, else it is not shown. Raises `Error` for a trace that cannot be shown or another machine than the trace's,
    `LibraryError` for a machine that cannot be read, OSError where the file cannot be written.
    """
    where = places(trace.header, machine)
    tables = Tables(trace)
    write_page(output, head(trace, where, tables), tables.columns)
