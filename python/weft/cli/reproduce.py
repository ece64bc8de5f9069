"""`weft reproduce`."""

from __future__ import annotations

import contextlib
import fnmatch
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from ..errors import compose
from ..reproduce import Paper, Result, read_paper
from ..reproduce import reproduce as reproduce_paper
from ..reproduce.claims import FILE
from ..reproduce.markdown import write
from ..reproduce.reproduce import Step, summary
from .examples import examples_folder
from .status import StatusLine
from .table import console as make_console
from .table import text_table


def reproduce(
    papers: Annotated[
        list[str], typer.Argument(metavar="PAPER...", help="Folders with a claims.toml, or their names in papers/.")
    ],
    only: Annotated[
        str | None, typer.Option("--only", metavar="ID,...", help="Only these claims; * stands for anything.")
    ] = None,
    seeds: Annotated[
        int | None, typer.Option("--seeds", min=1, metavar="N", help="Runs of each; default: as the claim says.")
    ] = None,
    examples: Annotated[
        Path | None,
        typer.Option("--examples", metavar="DIR", help="The programs; default: build/release/examples, or build/dev."),
    ] = None,
    jobs: Annotated[int | None, typer.Option("--jobs", "-j", min=1, metavar="N", help="Runs at a time.")] = None,
    timeout: Annotated[
        float | None, typer.Option("--timeout", min=0.001, metavar="SECONDS", help="Time limit of one run.")
    ] = None,
    markdown: Annotated[bool, typer.Option("--markdown", help="Write the table into the paper's README.md.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> int:
    """Run the experiments of papers on modelled machines, and compare the results with their claims.

    The exit status is 1 if a claim cannot be run, or differs from the paper without an explanation.

    Example: weft reproduce cab laws --only "heat*"
    """
    folder = examples_folder(examples)
    found: list[tuple[Paper, list[Result]]] = []
    read = [read_paper(_folder(name)) for name in papers]
    if only and markdown:
        raise typer.BadParameter(compose("a table of all claims", "--only", "--markdown without it") + ".")
    chosen = [_chosen(paper, only) for paper in read]
    if only and not any(chosen):
        raise typer.BadParameter(compose("no such claim", only, ", ".join(c.id for p in read for c in p.claims)) + ".")
    for paper, ids in zip(read, chosen, strict=True):
        if ids is not None and not ids:
            continue
        with _bar() as step:
            results = reproduce_paper(paper, folder, only=ids, seeds=seeds, jobs=jobs, timeout=timeout, step=step)
        found.append((paper, results))
        if markdown:
            write(paper.folder / "README.md", results)
        if not as_json:
            _print(paper, results, first=len(found) == 1)
    if as_json:
        print(json.dumps({paper.name: [r.to_json() for r in results] for paper, results in found}, indent=2))
    return 0 if all(r.is_well for _, results in found for r in results) else 1


def _folder(name: str) -> Path:
    for path in (Path(name), Path("papers", name)):
        if (path / FILE).is_file():
            return path
    raise typer.BadParameter(compose("no paper", name, f"a folder with a {FILE}, or its name in papers/") + ".")


def _chosen(paper: Paper, only: str | None) -> set[str] | None:
    if not only:
        return None
    patterns = [word.strip() for word in only.split(",") if word.strip()]
    return {c.id for c in paper.claims if any(fnmatch.fnmatchcase(c.id, p) for p in patterns)}


@contextlib.contextmanager
def _bar() -> Iterator[Step | None]:
    """Shows on terminals how far the runs are and how long they will take."""
    if not StatusLine.is_possible():
        yield None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn(), TextColumn("left"))
    with Progress(*columns, TimeRemainingColumn(), console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=1.0)
        yield lambda what, part: bar.update(task, description=what, completed=part)


def _print(paper: Paper, results: list[Result], first: bool) -> None:
    console = make_console()
    if not first:
        console.print()
    console.print(paper.title, soft_wrap=True)
    shown = text_table("claim", "what", "paper", "ours", "sign", "band")
    for r in results:
        figure, ours, verdict = r.shown
        sign = "-" if r.verdict is None else "same" if r.verdict.same_sign else "OTHER"
        shown.add_row(r.claim.id, r.claim.what, figure, ours, sign, verdict)
    console.print(shown)
    for r in results:
        if r.refused:
            console.print(f"{r.claim.id}: did not run: {r.refused}", soft_wrap=True)
    for r in results:
        if r.verdict and not r.verdict.within and r.claim.explanation:
            console.print(f"{r.claim.id}: {r.claim.explanation}", soft_wrap=True)
    console.print(summary(results), soft_wrap=True)
