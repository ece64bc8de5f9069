"""weft reproduce: claims.toml, figures, verdicts, the table."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from conftest import EXAMPLES, MACHINE, SOURCE
from weft import cli
from weft.errors import Error
from weft.reproduce import Claim, read_paper, reproduce
from weft.reproduce.markdown import BEGIN, END, table, write
from weft.reproduce.verdict import combine, judge, value_of

pytestmark = pytest.mark.usefixtures("no_settings")

# A program whose report depends on policy, seed, workers and its argument alone: argument * policy's factor + seed.
FAKE = """#!/usr/bin/env python3
import json, os, sys
e = os.environ
if e["WEFT_POLICY"] == "broken":
    sys.exit("error: out of luck")
log = open(os.path.join(os.path.dirname(__file__), "log"), "a")
log.write(e["WEFT_POLICY"] + " " + e["WEFT_SEED"] + " " + " ".join(sys.argv[1:]) + " " + e.get("WEFT_SPIN", "") + "\\n")
seconds = float(sys.argv[1]) * {"slow": 4, "fast": 2}[e["WEFT_POLICY"]] + int(e["WEFT_SEED"]) - 1
if e.get("WEFT_WORKERS") == "1":
    seconds *= 10
worker = {"compute": 1, "private_stall": 0, "shared_stall": 0, "search": seconds, "asleep": 1, "overhead": 0}
counts = {"tasks": 1, "steals": 3, "exposures": 0}
run = {"engine": e["WEFT_ENGINE"], "machine": e["WEFT_MACHINE"], "policy": e["WEFT_POLICY"], "seconds": seconds,
       "events": 5, "costs": "declared", "worker_seconds": worker, "workers": [worker | counts],
       "caches": [{"level": n, "accesses": 10, "misses": n - 1} for n in (1, 2, 3)],
       "memory_nodes": [{"local_bytes": 7, "remote_bytes": 4, "forwarded_bytes": 6},
                        {"local_bytes": 5, "remote_bytes": 1, "forwarded_bytes": 2}]}
with open(e["WEFT_REPORT"].replace("%p", str(os.getpid())), "w") as file:
    json.dump({"runs": [run | {"seconds": 1000}, run], "runs_ended": 2}, file)
"""

HEAD = """
title = "T. Ester: On fakes"
[defaults]
machine = "small"
program = "fake"
baseline = "slow"
candidate = "fast"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """papers/fakes with a machine, and the program."""
    made = tmp_path / "papers" / "fakes"
    made.mkdir(parents=True)
    (tmp_path / "machines").mkdir()
    (tmp_path / "machines" / "small.toml").write_bytes(MACHINE.read_bytes())
    (tmp_path / "fake").write_text(FAKE, encoding="utf-8")
    (tmp_path / "fake").chmod(0o755)
    return made


def claims(folder: Path, text: str) -> None:
    (folder / "claims.toml").write_text(HEAD + text, encoding="utf-8")


def claim(id: str, paper: str, more: str = "") -> str:
    return f'\n[[claim]]\nid = "{id}"\nwhat = "What of {id}"\narguments = "10"\npaper = {paper}\n{more}\n'


def ran(folder: Path) -> list[str]:
    return sorted((folder.parents[1] / "log").read_text(encoding="utf-8").splitlines())


def test_figures_and_verdicts(folder: Path) -> None:
    claims(
        folder,
        claim("near", "-40")
        + claim("far", "-10")
        + claim("other", "50")
        + claim("range", "[-60, -20]")
        + claim("bound", "{ at_most = 3 }")
        + claim("unbound", "{ at_least = 3 }")
        + claim("sign", '"less"', 'says = "a little less"')
        + claim("same", '"same"', 'metric = "l3_misses"')
        + claim("forwarded", '"same"', 'metric = "forwarded_bytes"')
        + claim("speedup", "2.5", 'measure = "speedup"')
        + claim("ratio", "0.5", 'measure = "ratio"')
        + claim("alone", "20", 'measure = "speedup"\nbaseline = { policy = "fast", workers = 1 }'),
    )
    results = {r.claim.id: r for r in reproduce(read_paper(folder), folder.parents[1])}
    assert {name: r.shown for name, r in results.items()} == {
        "near": ("-40.0 %", "-50.0 %", "within 1.5x"),
        "far": ("-10.0 %", "-50.0 %", "same sign"),
        "other": ("+50.0 %", "-50.0 %", "other sign"),
        "range": ("-60.0 % to -20.0 %", "-50.0 %", "within"),
        "bound": ("at most +3.0 %", "-50.0 %", "holds"),
        "unbound": ("at least +3.0 %", "-50.0 %", "does not hold"),
        "sign": ("a little less", "-50.0 %", "agrees"),
        "same": ("same", "+0.0 %", "agrees"),
        "forwarded": ("same", "+0.0 %", "agrees"),
        "speedup": ("2.50x", "2.00x", "within 1.5x"),
        "ratio": ("0.50x", "0.50x", "within 1.5x"),
        "alone": ("20.00x", "10.00x", "same sign"),
    }
    assert results["near"].candidate == 20 and results["near"].baseline == 40
    # What claims have in common is run once.
    assert ran(folder) == ["fast 1 10 ", "fast 1 10 ", "slow 1 10 "]


def test_seeds_and_settings(folder: Path) -> None:
    claims(
        folder,
        claim("a", "-40", 'seeds = 2\nenvironment = { WEFT_SPIN = "forever" }')
        + claim("b", "-40", 'candidate = { policy = "slow", arguments = "5" }')
        + claim("first", '"same"', "run = 0"),
    )
    paper = read_paper(folder)
    a, b, first = reproduce(paper, folder.parents[1])
    assert (a.candidate, a.baseline) == (20.5, 40.5) and (b.candidate, b.baseline) == (20, 40)
    assert first.candidate == 1000
    assert [line for line in ran(folder) if "forever" in line] == [
        f"{policy} {seed} 10 forever" for policy in ("fast", "slow") for seed in (1, 2)
    ]
    assert reproduce(paper, folder.parents[1], only={"b"}, seeds=3, jobs=1)[0].candidate == 21


def test_combinations(folder: Path) -> None:
    claims(
        folder,
        claim("a", "-40")
        + claim("b", "-40", 'candidate = { policy = "slow", arguments = "9" }')
        + '[[claim]]\nid = "mean"\nwhat = "Mean"\npaper = -30\nof = ["a", "b"]\n'
        + '[[claim]]\nid = "most"\nwhat = "Most"\npaper = -50\nof = ["a", "b"]\ncombine = "strongest"\n',
    )
    paper = read_paper(folder)
    results = {r.claim.id: r for r in reproduce(paper, folder.parents[1], only={"most"})}
    assert list(results) == ["a", "b", "most"] and results["most"].ours == -50
    assert reproduce(paper, folder.parents[1])[2].ours == pytest.approx(-30)


def test_what_does_not_run_has_a_reason(folder: Path) -> None:
    claims(
        folder,
        claim("a", "-40", 'candidate = "broken"')
        + claim("b", "-40", 'metric = "l1_misses"')
        + claim("c", "-40", "run = 7")
        + '[[claim]]\nid = "d"\nwhat = "Mean"\npaper = -30\nof = ["a", "c"]\n',
    )
    refused = [r.refused for r in reproduce(read_paper(folder), folder.parents[1])]
    assert refused == [
        "fake under broken: error: out of luck",
        "l1_misses is 0 on one side",
        "fake under fast: it has 2 runs, and none of the index 7",
        "a, c did not run",
    ]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (claim("a", "1", 'colour = "red"'), "claim 1: unknown key; given: colour"),
        (claim("a", "1", "seeds = true"), "claim 1: seeds is of the wrong type; given: True; allowed: int"),
        (claim("a", "1") + claim("a", "2"), "claim a: a second claim of this name"),
        (claim("a", '"rather"'), "claim a: paper; given: rather; allowed: a number, "),
        (claim("a", "-100"), "claim a: paper; given: -100; allowed: more than -100 for a change"),
        (claim("a", "0", 'measure = "ratio"'), "more than 0 for a ratio"),
        (claim("a", "1", 'metric = "joy"'), "claim a: unknown metric; given: joy; allowed: time, "),
        (claim("a", "1", 'machine = "none"'), "claim a: there is no such machine; given: none"),
        (claim("a", "1", "candidate = { cores = 3 }"), "claim a: unknown key; given: cores"),
        (claim("a", "1", "workers = 0"), "claim a: workers of candidate; given: 0"),
        (claim("a", "1", "band = 0.5"), "claim a: band is too small"),
        (claim("a", "1", 'of = ["b"]'), "claim a: of: no claim with a setting of its own"),
        ('[[claim]]\nid = "a"\n', "claim a: a key is missing; given: nothing; allowed: what"),
        ("[[claim]", "claims.toml: "),
    ],
)
def test_what_a_file_must_not_say(folder: Path, text: str, says: str) -> None:
    claims(folder, text)
    with pytest.raises(Error) as failure:
        read_paper(folder)
    assert says in str(failure.value)


def made(folder: Path, paper: str, more: str = "") -> Claim:
    claims(folder, claim("a", paper, more))
    return read_paper(folder).claims[0]


@pytest.mark.parametrize(
    ("paper", "more", "ours", "text"),
    [
        ("-30", "", -20.0, "within 1.5x"),
        ("-30", "", -19.9, "same sign"),
        ("-30", "band = 2", -16.0, "within 2x"),
        ("-30", "", 0.0, "other sign"),
        ("[-5, 5]", "", 7.0, "other sign"),
        ("[-5, 5]", "", 0.0, "within"),
        ("[-40, -20]", "", -14.0, "within 1.5x"),
        ('"same"', "", 2.9, "agrees"),
        ('"same"', "same = 1", 2.9, "does not agree"),
        ('"more"', "", -1.0, "does not agree"),
        ("0", "", 0.0, "within 1.5x"),
        ("6", 'measure = "speedup"', 1.1, "same sign"),
        ("6", 'measure = "speedup"', 0.9, "other sign"),
    ],
)
def test_verdicts(folder: Path, paper: str, more: str, ours: float, text: str) -> None:
    assert judge(made(folder, paper, more), ours).text == text


def test_values() -> None:
    assert value_of("change", 3, 4) == -25 and value_of("ratio", 3, 4) == 0.75 and value_of("speedup", 2, 4) == 2
    assert combine("strongest", "ratio", [1.2, 0.5]) == 0.5 and combine("mean", "ratio", [1.5, 0.5]) == 1


def test_the_table_of_the_readme(folder: Path) -> None:
    claims(
        folder,
        claim("near", "-40", 'source = "table 1"\nscaled = "it is late"')
        + claim("far", "-10", 'explanation = "Ours is a fake."'),
    )
    results = reproduce(read_paper(folder), folder.parents[1])
    text = table(results)
    assert text == (
        "1 of 2 as in the paper, 2 with its sign; of the others 1 explained, 0 not.\n\n"
        "| claim | where | paper | ours | |\n|---|---|---|---|---|\n"
        "| What of near | table 1 | -40.0 % | -50.0 % | within 1.5x [1] |\n"
        "| What of far |  | -10.0 % | -50.0 % | **same sign** [2] |\n\n"
        "1. Not the paper's size: it is late.\n2. Ours is a fake."
    )
    readme = folder / "README.md"
    readme.write_text(f"# Fakes\n\n{BEGIN}\nold\n{END}\n\nEnd.\n", encoding="utf-8")
    write(readme, results)
    assert readme.read_text(encoding="utf-8") == f"# Fakes\n\n{BEGIN}\n{text}\n{END}\n\nEnd.\n"
    readme.write_text("# Fakes\n", encoding="utf-8")
    with pytest.raises(Error, match="no place for the table"):
        write(readme, results)


def test_the_command(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    claims(folder, claim("near", "-40") + claim("far", "-10", 'explanation = "Ours is a fake."'))
    where = [str(folder), "--examples", str(folder.parents[1])]
    assert cli.run(["reproduce", *where]) == 0
    out = capsys.readouterr().out
    assert out.startswith("T. Ester: On fakes\n") and "far: Ours is a fake.\n" in out
    assert out.endswith("1 of 2 as in the paper, 2 with its sign; of the others 1 explained, 0 not\n")
    assert cli.run(["reproduce", *where, "--json", "--only", "n*"]) == 0
    (found,) = json.loads(capsys.readouterr().out)["fakes"]
    assert (found["id"], found["paper"], found["ours"], found["within_band"]) == ("near", "-40.0 %", -50, True)
    claims(folder, claim("far", "-10"))
    assert cli.run(["reproduce", *where]) == 1
    (folder / "README.md").write_text(f"{BEGIN}\n{END}\n", encoding="utf-8")
    assert cli.run(["reproduce", *where, "--markdown"]) == 1
    assert "**same sign**" in (folder / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["nonesuch"], "no paper; given: nonesuch"),
        (["--examples", "nonesuch"], "no folder of programs; given: nonesuch"),
        (["--only", "x*"], "no such claim; given: x*; allowed: near"),
        (["--only", "near", "--markdown"], "--markdown without it"),
    ],
)
def test_usage(folder: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], says: str) -> None:
    claims(folder, claim("near", "-40"))
    paper = [] if arguments == ["nonesuch"] else [str(folder)]
    examples = [] if "--examples" in arguments else ["--examples", str(folder.parents[1])]
    assert cli.run(["reproduce", *paper, *examples, *arguments]) == 2
    assert says in capsys.readouterr().err


def test_a_real_program(tmp_path: Path) -> None:
    folder = tmp_path / "mandelbrot"
    folder.mkdir()
    (folder / "claims.toml").write_text(
        f"""
        title = "Mandelbrot"
        [defaults]
        machine = "{MACHINE}"
        program = "mandelbrot"
        arguments = "--side 100 --steps 200 --leaf-rows 3"
        baseline = {{ policy = "steal", workers = 1 }}
        candidate = "steal"
        [[claim]]
        id = "speed-up"
        what = "16 workers against 1"
        paper = "more"
        measure = "speedup"
        """,
        encoding="utf-8",
    )
    (result,) = reproduce(read_paper(folder), EXAMPLES)
    assert result.is_well and result.ours and 1 < result.ours <= 16


@pytest.mark.parametrize("path", sorted(SOURCE.glob("papers/*/claims.toml")), ids=lambda p: p.parent.name)
def test_the_claims_of_the_papers_can_be_read(path: Path) -> None:
    paper = read_paper(path.parent)
    assert paper.claims
    for c in paper.claims:
        for setup in (c.candidate, c.baseline):
            assert setup is None or (EXAMPLES / setup.program).is_file(), f"{c.id}: {setup.program}"
    readme = (path.parent / "README.md").read_text(encoding="utf-8")
    assert BEGIN in readme and END in readme
