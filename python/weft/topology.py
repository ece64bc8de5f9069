"""A picture of a machine."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .errors import Error, compose

FORMATS = (".svg", ".png")
_COLUMNS = 16
"""Most cores beside each other, in one domain."""
_CORE, _BAR, _GAP = 1.0, 0.42, 0.18
_CLASSES = ["#ffffff", "#cfe8f7", "#fbe3b5", "#f7d0bb", "#d5efe6", "#f3f0b0"]
"""The light ones of Okabe and Ito's colours, on which text can be read."""
_CACHES = "#e6e6e6"
_MEMORY = "#f5dce9"


def draw(machine: Mapping[str, Any], output: str | Path) -> None:
    """Draws what `weft.machine` returned into `output`, *.svg or *.png.

    Packages, memory nodes, cache domains, caches above the cores that share them, cores by class. The same machine
    gives the same file. Raises `Error` for another format, OSError where the file cannot be written.
    """
    if Path(output).suffix not in FORMATS:
        raise Error(compose("unknown format of the picture", output, ", ".join(f"*{f}" for f in FORMATS)))
    _Picture(machine).save(output)


def size(count: int) -> str:
    """Bytes, in the unit that fits. 0 means unknown."""
    if count == 0:
        return "unknown size"
    for unit in ("B", "KiB", "MiB", "GiB"):
        if count < 1024:
            return f"{count:g} {unit}"
        count = count // 1024 if count % 1024 == 0 else count / 1024  # type: ignore[assignment]
    return f"{count:.3g} TiB"


def _known(*figures: tuple[float | None, str]) -> str:
    return ", ".join(f"{value:g} {unit}" for value, unit in figures if value is not None)


def _device(device: Mapping[str, Any]) -> str:
    memory = f", {size(device['memory_bytes'])}" if device["memory_bytes"] else ""
    return f"{device['count']} x {device['name']} ({device['kind']}){memory}"


class _Picture:
    """Coordinates begin at the top left; a core is 1 by 1."""

    def __init__(self, machine: Mapping[str, Any]) -> None:
        self.m = machine
        self.boxes: list[tuple[float, float, float, float, str, str, float]] = []

    def box(self, x: float, y: float, width: float, height: float, colour: str, text: str, font: float = 7) -> None:
        self.boxes.append((x, y, width, height, colour, text, font))

    def save(self, output: str | Path) -> None:
        x = y = row_height = right = 0.0
        across = max(1, round(len(self.m["packages"]) ** 0.5))
        for i, package in enumerate(self.m["packages"]):
            if i and i % across == 0:
                x, y, row_height = 0.0, y + row_height + 2 * _GAP, 0.0
            width, height = self.package(i, package, x, y)
            x += width + 2 * _GAP
            right, row_height = max(right, x), max(row_height, height)
        bottom = y + row_height
        shown = {d["memory_node"] for d in self.m["domains"]}
        others = [(self.memory(n), _MEMORY) for n in range(len(self.m["memory_nodes"])) if n not in shown]
        others += [(_device(d), "#e3eefc") for d in self.m["devices"]]
        for text, colour in others:
            bottom += 2 * _GAP
            self.box(0, bottom, max(right - 2 * _GAP, 4.0), 1.4 * _BAR, colour, text)
            bottom += 1.4 * _BAR
        self.render(output, right, bottom)

    # ---- parts; each returns its size

    def package(self, number: int, package: Mapping[str, Any], x: float, y: float) -> tuple[float, float]:
        first, last = package["domains"]
        domains = list(enumerate(self.m["domains"]))[first:last]
        nodes = {d["memory_node"] for _, d in domains}
        # A node of all domains lies above them; any other lies in its first domain.
        common = nodes.pop() if len(nodes) == 1 and len(domains) > 1 else None
        at = len(self.boxes)
        begin = y + _BAR + _GAP + (_BAR + _GAP if common is not None else 0)
        inner_x, top = x + _GAP, begin
        across = max(1, round(len(domains) ** 0.5)) if len(domains) > 2 else len(domains)
        width = row_height = 0.0
        node = common
        for i, (index, domain) in enumerate(domains):
            if i and i % across == 0:
                inner_x, top, row_height = x + _GAP, top + row_height + _GAP, 0.0
            shows_memory = domain["memory_node"] != node
            node = domain["memory_node"]
            w, h = self.domain(index, domain, inner_x, top, shows_memory)
            inner_x += w + _GAP
            width, row_height = max(width, inner_x - x), max(row_height, h)
        height = top + row_height + _GAP - y
        if common is not None:
            self.box(x + _GAP, begin - _BAR - _GAP, width - 2 * _GAP, _BAR, _MEMORY, self.memory(common))
        self.boxes.insert(at, (x, y, width, height, "none", "", 8))
        self.boxes.insert(at + 1, (x, y, width, _BAR + _GAP, "none", f"package {number}", 8))
        return width, height

    def domain(
        self, number: int, domain: Mapping[str, Any], x: float, y: float, shows_memory: bool
    ) -> tuple[float, float]:
        first, last = domain["ranks"]
        rows = [range(r, min(r + _COLUMNS, last)) for r in range(first, last, _COLUMNS)]
        width = 2 * _GAP + _CORE * max(len(row) for row in rows)
        at, top = len(self.boxes), y + _GAP
        if shows_memory:
            self.box(x + _GAP, top, width - 2 * _GAP, _BAR, _MEMORY, self.memory(domain["memory_node"]))
            top += _BAR + _GAP / 2
        for row in rows:
            top = self.cores(row, x + _GAP, top) + _GAP / 2
        height = top + _GAP / 2 - y
        self.boxes.insert(at, (x, y, width, height, "#fafafa", "", 7))
        return width, height

    def memory(self, number: int) -> str:
        node = self.m["memory_nodes"][number]
        figures = _known((node["bandwidth_gbps"], "GB/s"), (node["latency_ns"], "ns"))
        kind = "" if node["kind"] in ("", "dram") else f" ({node['kind']})"
        return f"memory {number}{kind}: {size(node['bytes'])}" + (f", {figures}" if figures else "")

    def cores(self, row: range, x: float, y: float) -> float:
        """Draws a row of cores under its caches. Returns where it ends."""
        levels = sorted({c["level"] for c in self.m["caches"]}, reverse=True)
        for level in levels:
            drawn = False
            for cache in (c for c in self.m["caches"] if c["level"] == level):
                begin, end = max(cache["ranks"][0], row.start), min(cache["ranks"][1], row.stop)
                if begin >= end:
                    continue
                wide = (end - begin) * _CORE > 2
                figures = _known((cache["latency_ns"], "ns")) if wide else ""
                text = f"L{level} {size(cache['bytes'])}" if wide else f"L{level}\n{size(cache['bytes'])}"
                text += f", {figures}" if figures else ""
                height = _BAR if wide else 1.5 * _BAR
                left = x + (begin - row.start) * _CORE
                self.box(left + 0.03, y, (end - begin) * _CORE - 0.06, height, _CACHES, text, 7 if wide else 5.5)
                drawn = True
            if drawn:
                smallest = min(c["ranks"][1] - c["ranks"][0] for c in self.m["caches"] if c["level"] == level)
                y += (_BAR if smallest * _CORE > 2 else 1.5 * _BAR) + 0.06
        for rank in row:
            colour = _CLASSES[self.m["class_of_rank"][rank] % len(_CLASSES)]
            self.box(x + (rank - row.start) * _CORE + 0.03, y, _CORE - 0.06, 0.8 * _CORE, colour, str(rank), 8)
        return y + 0.8 * _CORE

    # ---- the page

    def legend(self) -> str:
        classes = self.m["core_classes"]
        said = []
        for c in classes:
            figures = [f"{c['frequency_mhz']:g} MHz"] if c["frequency_mhz"] else []
            if len(classes) > 1:
                figures.append(f"speed {c['speed']:g}")
            said.append(f"{c['name'] or 'cores'} ({', '.join(figures)})" if figures else c["name"] or "cores")
        return "cores: " + ", ".join(said)

    def render(self, output: str | Path, right: float, bottom: float) -> None:
        import matplotlib

        matplotlib.use("Agg")
        from matplotlib import pyplot as plt
        from matplotlib.patches import Patch, Rectangle

        scale = min(0.5, 16 / max(right, 1))
        title = f"{self.m['name']}: {self.m['cores']} cores, {self.m['ranks']} ranks"
        width, height = max(right * scale + 0.3, 4.5), bottom * scale + 1.0
        shrink = scale / 0.5
        with matplotlib.rc_context({"svg.hashsalt": "weft", "svg.fonttype": "none", "text.parse_math": False}):
            figure = plt.figure(figsize=(width, height))
            axes = figure.add_axes((0.15 / width, 0.5 / height, 1 - 0.3 / width, 1 - 0.9 / height))
            axes.set_axis_off()
            for x, y, w, h, colour, text, font in self.boxes:
                edge = "none" if colour == "none" and text else "#444444"
                axes.add_patch(Rectangle((x, y), w, h, facecolor=colour, edgecolor=edge, linewidth=0.6))
                if text:
                    axes.text(x + w / 2, y + h / 2, text, ha="center", va="center", fontsize=max(1.5, font * shrink))
            axes.set_xlim(-0.05, max((width - 0.3) / scale, right))
            axes.set_ylim(bottom + 0.05, -0.05)
            figure.text(0.15 / width, 1 - 0.3 / height, title, fontsize=10)
            classes = self.m["core_classes"]
            if len(classes) > 1:
                named = [Patch(facecolor=_CLASSES[i % len(_CLASSES)], edgecolor="#444444") for i in range(len(classes))]
                labels = [c["name"] or f"class {i}" for i, c in enumerate(classes)]
                figure.legend(named, labels, loc="lower right", ncol=len(classes), frameon=False, fontsize=8)
            figure.text(0.15 / width, 0.15 / height, self.legend(), fontsize=8)
            figure.savefig(output, metadata={"Date": None} if Path(output).suffix == ".svg" else None, dpi=150)
            plt.close(figure)
