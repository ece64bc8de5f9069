"""`weft reproduce`."""

from __future__ import annotations

import contextlib
import fnmatch
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from ..errors import compose
from ..reproduce import Paper, Result, judge_again, read_paper
from ..reproduce import reproduce as reproduce_paper
from ..reproduce.claims_file import FILE
from ..reproduce.markdown import PICTURE, write
from ..reproduce.picture import draw
from ..reproduce.reproduce import Count, Job, Step
from .examples import examples_folder
from .status import StatusLine
from .table import console as make_console
from .table import text_table


def reproduce(
    papers: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[PAPER...]", help="Folders with a claims.toml, or their names in papers/; default: all of papers/."
        ),
    ] = None,
    only: Annotated[
        str | None, typer.Option("--only", metavar="ID,...", help="Only these claims; * stands for anything.")
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Only the few claims of each paper that are marked so.")
    ] = False,
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
    markdown: Annotated[
        bool,
        typer.Option("--markdown", help="Write the tables into the README.md of the papers, and draw their pictures."),
    ] = False,
    stored: Annotated[
        Path | None,
        typer.Option("--from", metavar="FILE", help="Run nothing; judge the results of an earlier --json."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> int:
    """Run the experiments of papers on modelled machines, and compare the results with their claims.

    The exit status is 1 if a claim cannot be run, or differs from the paper without an explanation.

    Example: weft reproduce cab laws --only "heat*"
    """
    found: list[tuple[Paper, list[Result]]] = []
    done: dict[Job, Mapping[str, Any] | str] = {}
    read = [read_paper(_folder(name)) for name in papers or _all_papers()]
    if markdown and (only or quick):
        given = "--only" if only else "--quick"
        raise typer.BadParameter(compose("tables of all claims", given, "--markdown without it") + ".")
    chosen = [_chosen(paper, only, quick) for paper in read]
    if quick and not only and not any(chosen):
        named = ", ".join(paper.name for paper in read)
        raise typer.BadParameter(compose("no claims for --quick", named, "papers with claims marked quick") + ".")
    if only and not any(chosen):
        raise typer.BadParameter(compose("no such claim", only, ", ".join(c.id for p in read for c in p.claims)) + ".")
    folder = Path() if stored else examples_folder(examples)
    for paper, ids in zip(read, chosen, strict=True):
        if ids is not None and not ids:
            continue
        if stored:
            results = judge_again(paper, _stored(stored, paper.name), ids)
        else:
            with _bar() as step:
                results = reproduce_paper(
                    paper, folder, only=ids, seeds=seeds, jobs=jobs, timeout=timeout, step=step, done=done
                )
        found.append((paper, results))
        if markdown:
            write(paper.folder / "README.md", results)
            draw(results, f"papers/{paper.name}", paper.folder / PICTURE)
        if not as_json:
            _print(paper, results, first=len(found) == 1)
    if as_json:
        print(json.dumps({paper.name: [r.to_json() for r in results] for paper, results in found}, indent=2))
    return 0 if all(r.is_well for _, results in found for r in results) else 1


def _stored(file: Path, paper: str) -> list[dict[str, Any]]:
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as failure:
        raise typer.BadParameter(f"{file}: {failure}.") from None
    if not isinstance(found, dict) or paper not in found:
        papers = ", ".join(found) if isinstance(found, dict) else "no object"
        raise typer.BadParameter(compose(f"{file}: no results of this paper", paper, papers) + ".")
    results: list[dict[str, Any]] = found[paper]
    return results


def _all_papers() -> list[str]:
    found = sorted(str(path.parent) for path in Path("papers").glob(f"*/{FILE}"))
    if not found:
        raise typer.BadParameter(compose("no papers", "papers/", f"a folder with a {FILE}") + ".")
    return found


def _folder(name: str) -> Path:
    for path in (Path(name), Path("papers", name)):
        if (path / FILE).is_file():
            return path
    raise typer.BadParameter(compose("no paper", name, f"a folder with a {FILE}, or its name in papers/") + ".")


def _chosen(paper: Paper, only: str | None, quick: bool) -> set[str] | None:
    """None: all."""
    if not only and not quick:
        return None
    patterns = [word.strip() for word in (only or "*").split(",") if word.strip()]
    return {
        c.id
        for c in paper.claims
        if (c.quick or not quick) and any(fnmatch.fnmatchcase(c.id, pattern) for pattern in patterns)
    }


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
    shown = text_table("claim", "what", "paper", "ours", "sign", "verdict", "")
    for r in results:
        figure, ours, verdict = r.shown
        sign = "-" if r.verdict is None else "same" if r.verdict.same_sign else "OTHER"
        apart = f"not counted: {r.not_counted}" if r.not_counted else ""
        shown.add_row(r.claim.id, r.claim.what, figure, ours, sign, verdict, apart)
    console.print(shown)
    for r in results:
        if r.refused:
            console.print(f"{r.claim.id}: did not run: {r.refused}", soft_wrap=True)
    for r in results:
        if r.verdict and not r.verdict.within and not r.not_counted and r.claim.explanation:
            console.print(f"{r.claim.id}: {r.claim.explanation}", soft_wrap=True)
    console.print(f"{Count.of(results)}.", soft_wrap=True)
