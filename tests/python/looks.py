"""Questions to a page in a browser about its looks: scripts for `Browser.run`, which give lists of what is wrong."""

from __future__ import annotations

import json
from collections.abc import Sequence

_SHOWN = """
const shown = (selectors) => [...document.querySelectorAll(selectors.join(", "))]
    .filter((e) => e.getClientRects().length > 0 && getComputedStyle(e).visibility !== "hidden");
const said = (e) => e.id || e.textContent.trim().slice(0, 60) || e.outerHTML.slice(0, 60);
"""


def _ask(selectors: Sequence[str], body: str) -> str:
    return f"(() => {{ {_SHOWN} const parts = shown({json.dumps(list(selectors))}); {body} }})()"


def outside(selectors: Sequence[str], down: bool = True) -> str:
    """The parts that reach beyond the screen; and the page, if it scrolls across. `down`: likewise below the screen."""
    return _ask(
        selectors,
        """
        const below = (box) => DOWN && box.bottom > innerHeight + 0.5;
        const found = parts.filter((e) => {
            const box = e.getBoundingClientRect();
            return box.left < -0.5 || box.right > innerWidth + 0.5 || below(box);
        }).map(said);
        const page = document.documentElement;
        if (page.scrollWidth > innerWidth) found.push("the page scrolls across");
        if (DOWN && page.scrollHeight > innerHeight) found.push("the page scrolls down");
        return found;""".replace("DOWN", json.dumps(down)),
    )


def overlaps(selectors: Sequence[str]) -> str:
    """Pairs of parts that lie on each other. A part inside of another one does not lie on it."""
    return _ask(
        selectors,
        """
        const boxes = parts.map((e) => e.getBoundingClientRect());
        const found = [];
        for (let i = 0; i < parts.length; i++) {
            for (let k = i + 1; k < parts.length; k++) {
                if (parts[i].contains(parts[k]) || parts[k].contains(parts[i])) continue;
                const [a, b] = [boxes[i], boxes[k]];
                const across = Math.min(a.right, b.right) - Math.max(a.left, b.left);
                const down = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
                if (across > 0.5 && down > 0.5) found.push(`${said(parts[i])} / ${said(parts[k])}`);
            }
        }
        return found;""",
    )


def faint(selectors: Sequence[str]) -> str:
    """Texts with less contrast than 4.5 to 1, which the Web Content Accessibility Guidelines ask for."""
    return _ask(
        selectors,
        """
        const parse = (text) => {
            const [r, g, b, a = 1] = text.match(/[\\d.]+/g).map(Number);
            return { rgb: [r, g, b], a };
        };
        const linear = (v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
        const light = ([r, g, b]) => 0.2126 * linear(r / 255) + 0.7152 * linear(g / 255) + 0.0722 * linear(b / 255);
        const paper = (e) => {
            for (let at = e; at; at = at.parentElement) {
                const { rgb, a } = parse(getComputedStyle(at).backgroundColor);
                if (a === 1) return rgb;
            }
            return [255, 255, 255];
        };
        return parts.filter((e) => {
            const [a, b] = [light(parse(getComputedStyle(e).color).rgb), light(paper(e))].sort((x, y) => y - x);
            return (a + 0.05) / (b + 0.05) < 4.5;
        }).map(said);""",
    )
