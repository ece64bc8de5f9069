"""Draws the pictures of the gallery anew: it follows docs/gallery.md and keeps what the page's commands have drawn.

    pictures.py BUILD    BUILD: a build of Weft, such as build/dev; the pictures go to docs/gallery

All runs are in virtual time with declared costs, so each picture is the same on every machine. Matplotlib's versions
write text and numbers a little differently; `shapes` gives what does not depend on them.
"""

from __future__ import annotations

import re
import shutil
import sys
import tempfile
from pathlib import Path

from reader import ROOT, Page, follow, read

PAGE = ROOT / "docs/gallery.md"
FOLDER = ROOT / "docs/gallery"
PATIENCE = 300.0
"""Seconds that the commands of the page may take together."""


def gallery() -> Page:
    return read(PAGE.read_text(encoding="utf-8"), PAGE.name)


def shown() -> list[str]:
    """The names of the pictures that the page shows, in their order."""
    return re.findall(r"^!\[[^\]]+\]\(gallery/([\w-]+\.svg)\)$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)


def run(home: Path, build: Path) -> list[tuple[str, int]]:
    """Output and status of each command of the page that ended; the pictures are then in `home`/work."""
    page = gallery()
    return follow(page.commands, [PAGE.parent / file for file in page.files], home, build, PATIENCE)


def shapes(svg: str) -> list[tuple[str, list[float]]]:
    """The bars of a picture: the colour of each class or activity and the coordinates of its bars, in order."""
    found = []
    for group in re.findall(r'<g id="PolyCollection_\d+">(.*?)</g>', svg, re.DOTALL):
        colour = re.search(r"fill: (#\w+)", group)
        paths = " ".join(re.findall(r'd="([^"]*)"', group))
        found.append((colour[1] if colour else "", [float(n) for n in re.findall(r"-?\d+(?:\.\d+)?", paths)]))
    return found


def main() -> int:
    if len(sys.argv) != 2:
        print(__doc__.split("\n\n")[1], file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as home:
        ran = run(Path(home), Path(sys.argv[1]).absolute())
        for command, (output, status) in zip(gallery().commands, ran, strict=False):
            difference = command.differs(output, status)
            if difference is not None:
                print(f"{command.where}: $ {command.text}\n{difference}", file=sys.stderr)
        missing = [name for name in shown() if not (Path(home) / "work" / name).exists()]
        if missing:
            print(f"docs/gallery.md shows what its commands do not draw: {', '.join(missing)}", file=sys.stderr)
            return 1
        for old in FOLDER.glob("*.svg"):
            old.unlink()
        for name in shown():
            shutil.copy(Path(home) / "work" / name, FOLDER)
    return 0


if __name__ == "__main__":
    sys.exit(main())
