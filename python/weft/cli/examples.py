"""The folder of the example programs, which `weft reproduce` and `weft machines --check` run."""

from __future__ import annotations

from pathlib import Path

import typer

from ..errors import compose

_USUAL = (Path("build/release/examples"), Path("build/dev/examples"))


def examples_folder(given: Path | None) -> Path:
    """The folder `given`, or the usual one; a usage error if there is none."""
    for path in (given,) if given else _USUAL:
        if path.is_dir():
            return path
    named = given or " or ".join(map(str, _USUAL))
    raise typer.BadParameter(compose("no folder of programs", named, "--examples DIR") + ".")
