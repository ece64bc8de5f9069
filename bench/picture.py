#!/usr/bin/env python3
"""picture.py RESULTS.json: draws the peers' times over the serial program beside the file, as SVG.

The exit status is 0 if there is a picture, 1 if not."""

import json
import sys
from pathlib import Path

from matrix import RUNTIMES

MARKERS = "oD^vsP*"


def main():
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    path = Path(sys.argv[1])
    try:
        stored = json.loads(path.read_text())
    except (OSError, ValueError) as problem:
        print(f"no picture: {problem}")
        return 1
    rows = [r for r in stored.get("peers", []) if not r["unit"] and not r["counted"]]
    if not rows:
        print("no picture: no results of peers")
        return 1
    try:
        import matplotlib
        matplotlib.use("svg")
        matplotlib.rcParams["svg.hashsalt"] = "weft"  # the same file for the same results
        from matplotlib import pyplot
    except ImportError:
        print("no picture: matplotlib is not installed (python3-matplotlib)")
        return 1
    workers = sorted({r["workers"] for r in rows})
    figure, axes = pyplot.subplots(1, len(workers), figsize=(11, 5), sharey=True, squeeze=False)
    for axis, count in zip(axes[0], workers):
        draw(axis, [r for r in rows if r["workers"] == count])
        axis.set_title("1 worker" if count == 1 else f"{count} workers")
    about = stored["machine"]
    axes[0][-1].legend(loc="upper left", bbox_to_anchor=(1, 1), frameon=False)
    figure.suptitle(f"Time over the serial program, {about['cpu']}, {about['date'][:10]}", fontsize=10)
    figure.tight_layout()
    picture = path.with_suffix(".svg")
    figure.savefig(picture, metadata={"Date": None})
    print(f"drawn in {picture.name}")
    return 0


def draw(axis, rows):
    names = [r["row"].rsplit(",", 1)[0] for r in rows]
    for marker, runtime in zip(MARKERS, (r for r in RUNTIMES if not r.is_serial)):
        cells = [(i, row["cells"][runtime.name]) for i, row in enumerate(rows)
                 if "value" in row["cells"].get(runtime.name, {})]
        values = [c["value"] for _, c in cells]
        errors = [[c["value"] - c["low"] for _, c in cells], [c["high"] - c["value"] for _, c in cells]]
        axis.errorbar(values, [i for i, _ in cells], xerr=errors, fmt=marker, label=runtime.title, markersize=6,
                      alpha=0.8, linewidth=1)
    axis.axvline(1, color="grey", linewidth=0.8)
    axis.set_xscale("log")
    axis.set_yticks(range(len(names)), names)
    axis.invert_yaxis()
    axis.grid(axis="x", which="both", alpha=0.2)


if __name__ == "__main__":
    sys.exit(main())
