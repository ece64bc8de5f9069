"""Draws the pictures of the gallery anew: it follows docs/gallery.md and keeps what the page's commands have drawn.

    pictures.py BUILD    BUILD: a build of Weft, such as build/dev; the pictures go to docs/gallery

All runs are in virtual time with declared costs, so each picture is the same on every machine. Matplotlib's versions
write text and numbers a little differently; `shapes` gives what does not depend on them. Two pictures of the page of
`weft trace view`, light and dark, are taken by Chromium; `tones` gives what does not depend on its fonts.
"""

from __future__ import annotations

import re
import shutil
import sys
import tempfile
from pathlib import Path

import numpy as np
import numpy.typing as npt
from reader import ROOT, Page, follow, read

sys.path.insert(0, str(ROOT / "tests/python"))
from browser import Browser

PAGE = ROOT / "docs/gallery.md"
FOLDER = ROOT / "docs/gallery"
VIEWED = "graph.html"
"""The page of `weft trace view` that is photographed: one command of the gallery writes it."""
VIEWS = {"viewer-light.png": "light", "viewer-dark.png": "dark"}
SIZE = (1120, 760)
PATIENCE = 800.0
"""Seconds that the commands of the page may take together."""


def gallery() -> Page:
    return read(PAGE.read_text(encoding="utf-8"), PAGE.name)


def shown() -> list[str]:
    """The names of the pictures that the page shows, in their order."""
    return re.findall(r"^!\[[^\]]+\]\(gallery/([\w-]+\.svg)\)$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)


def run(home: Path, build: Path, objects: Path | None = None) -> list[tuple[str, int]]:
    """Output and status of each command of the page that ended; the pictures are then in `home`/work."""
    page = gallery()
    return follow(page.commands, [PAGE.parent / file for file in page.files], home, build, PATIENCE, objects)


def photograph(home: Path) -> None:
    """Takes the pictures VIEWS into `home`/work: a task in the middle is chosen, with its part of the graph."""
    work = home / "work"
    with tempfile.TemporaryDirectory() as profile, Browser(Path(profile), *SIZE) as browser:
        browser.open((work / VIEWED).absolute())
        browser.wait_for("window.weft?.ready")
        browser.run("weft.state.choose(80)")
        for name, theme in VIEWS.items():
            browser.run(
                f"document.documentElement.dataset.theme === '{theme}' || document.getElementById('theme').click()"
            )
            browser.wait_for("document.querySelector('#panel-task .graph')")
            browser.run("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
            browser.picture(work / name)


def shapes(svg: str) -> list[tuple[str, list[float]]]:
    """The bars and lines of a picture: the colour of each class, activity or line and its coordinates, in order."""
    found = []
    for group in re.findall(r'<g id="(?:PolyCollection|line2d)_\d+">(.*?)</g>', svg, re.DOTALL):
        colour = re.search(r"(?:fill|stroke): (#\w+)", group)
        paths = " ".join(re.findall(r'\bd="([^"]*)"', group))
        found.append((colour[1] if colour else "", [float(n) for n in re.findall(r"-?\d+(?:\.\d+)?", paths)]))
    return found


def tones(picture: Path) -> npt.NDArray[np.float64]:
    """Mean red, green and blue, 0 to 1, of each square of 20 by 20 pixels of a picture of the size SIZE."""
    from matplotlib import image

    pixels = np.asarray(image.imread(picture), np.float64)[:, :, :3]
    rows, columns = SIZE[1] // 20, SIZE[0] // 20
    means: npt.NDArray[np.float64] = pixels.reshape(rows, 20, columns, 20, 3).mean(axis=(1, 3))
    return means


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
        missing = [name for name in [*shown(), VIEWED] if not (Path(home) / "work" / name).exists()]
        if missing:
            print(f"docs/gallery.md shows what its commands do not draw: {', '.join(missing)}", file=sys.stderr)
            return 1
        photograph(Path(home))
        for old in [*FOLDER.glob("*.svg"), *FOLDER.glob("*.png")]:
            old.unlink()
        for name in [*shown(), *VIEWS]:
            shutil.copy(Path(home) / "work" / name, FOLDER)
    return 0


if __name__ == "__main__":
    sys.exit(main())
