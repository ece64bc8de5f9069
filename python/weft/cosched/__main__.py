"""`python -m weft.cosched SETTINGS`: the daemon, as its supervisor starts it. Loads nothing that it does not need."""

from __future__ import annotations

import sys

from ..errors import Error
from .daemon import serve
from .settings import from_json

if __name__ == "__main__":
    try:
        given = from_json(sys.argv[1] if len(sys.argv) == 2 else "")
    except Error as failure:
        sys.exit(f"weft: {failure}")
    sys.exit(serve(given))
