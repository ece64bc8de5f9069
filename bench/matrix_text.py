"""The table of runtimes by workloads, as text or Markdown."""

from matrix import RUNTIMES

LEGEND = ("Time over that of the serial program built by GCC, unless there is a unit; less is better; * the best; "
          "± half of the distance\nbetween the quartiles, in %.")
MARKS = {"doubtful": ("?", "? two whole cores in no sample"), "few": ("!", "! fewer samples than rounds")}


def table(rows, markdown=False):
    runtimes = [r for r in RUNTIMES if any(r.name in row["cells"] for row in rows)]
    lines = [["", *(r.title for r in runtimes)]]
    for row in rows:
        lines.append([row["row"], *(cell_text(row, r, markdown) for r in runtimes)])
    notes = [LEGEND.replace("\n", " ") if markdown else LEGEND, *marks_of(rows), *absences_of(rows, runtimes)]
    if markdown:
        lines.insert(1, ["---", *("---:" for _ in runtimes)])
        return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n\n" + "  \n".join(notes)
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    text = "\n".join("  ".join(c.rjust(w) if i else c.ljust(w) for i, (c, w) in enumerate(zip(line, widths)))
                     for line in lines)
    return text + "\n\n" + "\n".join(notes)


def cell_text(row, runtime, markdown):
    cell = row["cells"].get(runtime.name, {"note": ""})
    if "value" not in cell:
        return "-"
    if runtime.name == "serial" and not row["unit"]:
        return absolute(row)
    value = number(cell["value"]) + (f" {row['unit']}" if row["unit"] else "")
    mark = MARKS.get(cell["note"], ("",))[0]
    if cell.get("best"):
        value = f"**{value}**" if markdown else f"*{value}"
    spread = "" if cell["n"] == 1 else f" ±{spread_of(cell):.0f}"
    return value + mark + spread


def absolute(row):
    """What the others of the row are compared with."""
    if row["counted"]:
        return f"{row['serial'] / 1e6:.3g} M"
    return f"{row['serial'] * 1e3:.3g} ms"


def number(value):
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def spread_of(cell):
    return 50 * (cell["high"] - cell["low"]) / cell["value"] if cell["value"] else 0


def marks_of(rows):
    notes = {cell["note"] for row in rows for cell in row["cells"].values()}
    return [what for note, (_, what) in MARKS.items() if note in notes]


def absences_of(rows, runtimes):
    """Why there is no value, a line for each runtime: none is left out without a word."""
    lines = []
    for runtime in runtimes:
        reasons = {}
        for row in rows:
            cell = row["cells"].get(runtime.name, {})
            if "value" not in cell and cell.get("note"):
                reasons.setdefault(cell["note"], []).append(row["workload"])
        said = [f"{why} ({', '.join(dict.fromkeys(where))})" for why, where in reasons.items()]
        if said:
            lines.append(f"{runtime.title}: {'; '.join(said)}")
    return lines
