"""weft reproduce: claims.toml, figures, verdicts, the table."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from conftest import EXAMPLES, MACHINE, SOURCE
from weft import cli
from weft.errors import Error
from weft.launcher import launch
from weft.reproduce import Claim, read_paper, reproduce
from weft.reproduce.claims_file import SEEDS_OF_A_SIGN
from weft.reproduce.markdown import BEGIN, END, PICTURE, tables, write
from weft.reproduce.picture import draw, points
from weft.reproduce.reproduce import Count
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
print("what it says besides")
print(json.dumps({"one": seconds / 10, "all": [seconds, 2 * seconds, 30], "some": [1] * int(seconds), "word": "x"}))
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
        + claim("reach", "{ up_to = -60 }")
        + claim("printed", '"gone"').replace('paper = "gone"', "printed = [4e9, 2.1e9]")
        + claim("unbound", "{ at_least = 3 }")
        + claim("sign", '"less"', 'says = "a little less"')
        + claim("same", '"same"', 'metric = "l3_misses"')
        + claim("forwarded", '"same"', 'metric = "forwarded_bytes"')
        + claim("speedup", "2.5", 'measure = "speedup"')
        + claim("ratio", "0.5", 'measure = "ratio"')
        + claim("alone", "20", 'measure = "speedup"\nbaseline = { policy = "fast", workers = 1 }')
        + claim("twice", "-20", 'work = 2\nbaseline = "fast"\ncandidate = "slow"'),
    )
    results = {r.claim.id: r for r in reproduce(read_paper(folder), folder.parents[1])}
    assert {name: r.shown for name, r in results.items()} == {
        "near": ("-40.0 %", "-50.0 %", "within 1.5x"),
        "far": ("-10.0 %", "-50.0 %", "same sign"),
        "other": ("+50.0 %", "-50.0 %", "other sign"),
        "range": ("-60.0 % to -20.0 %", "-50.0 %", "within"),
        "bound": ("at most +3.0 %, either way", "-48.8 %", "does not hold"),
        "reach": ("up to -60.0 %", "-50.0 %", "within"),
        "printed": ("-47.5 %", "-50.0 %", "within 1.5x"),
        "unbound": ("at least +3.0 %", "-50.0 %", "does not hold"),
        "sign": ("a little less", "-48.8 %", "agrees"),
        "same": ("same", "+0.0 %", "agrees"),
        "forwarded": ("same", "+0.0 %", "agrees"),
        "speedup": ("2.50x", "2.00x", "within 1.5x"),
        "ratio": ("0.50x", "0.50x", "within 1.5x"),
        "alone": ("20.00x", "10.00x", "same sign"),
        "twice": ("-20.0 %", "+0.0 %", "other sign"),
    }
    assert results["near"].candidate == 20 and results["near"].baseline == 40
    # What claims have in common is run once.
    assert ran(folder) == sorted(
        ["fast 1 10 "]
        + [f"{policy} {seed} 10 " for policy in ("fast", "slow") for seed in range(1, SEEDS_OF_A_SIGN + 1)]
    )


def test_figures_that_a_program_prints(folder: Path) -> None:
    ratio, listed = 'measure = "ratio"\n', 'metric = "output:all"\n'
    claims(
        folder,
        claim("one", "-50", 'metric = "output:one"')
        + claim("alone", "2", ratio + 'metric = "output:one"\nbaseline = false')
        + claim("inverse", "0.5", 'measure = "speedup"\nmetric = "output:one"\nbaseline = false')
        + claim("mean", "0.667", ratio + listed)
        + claim("median", "0.5", ratio + listed + 'over = "median"')
        + claim("least", "0.5", ratio + listed + 'over = "least"')
        + claim("most", "{ at_least = 1.1 }", ratio + listed + 'over = "most"')
        + claim("part", "{ at_least = 0.6 }", 'measure = "speedup"\nover = "part_more"\n' + listed)
        + claim("list", "0.333", 'over = "mean"\nwork = 60\nbaseline = false\n' + ratio + listed)
        + claim("percent", "-33", listed)
        + claim("none", "2", ratio + 'metric = "output:no"\nbaseline = false')
        + claim("word", "2", ratio + 'metric = "output:word"\nbaseline = false')
        + claim("lengths", "2", ratio + 'metric = "output:some"'),
    )
    results = {r.claim.id: r for r in reproduce(read_paper(folder), folder.parents[1])}
    assert {name: r.shown[1:] for name, r in results.items()} == {
        "one": ("-50.0 %", "within 1.5x"),
        "alone": ("2.00x", "within 1.5x"),
        "inverse": ("0.50x", "within 1.5x"),
        "mean": ("0.67x", "within 1.5x"),
        "median": ("0.50x", "within 1.5x"),
        "least": ("0.50x", "within 1.5x"),
        "most": ("1.00x", "does not hold"),
        "part": ("0.67x", "holds"),
        "list": ("0.50x", "same sign"),
        "percent": ("-33.3 %", "within 1.5x"),
        "none": ("-", "did not run"),
        "word": ("-", "did not run"),
        "lengths": ("-", "did not run"),
    }
    assert results["alone"].baseline is None and results["mean"].baseline == 50
    assert results["none"].refused == "fake: the program prints no number no; it prints one, all, some, word"
    assert "other cases" in results["lengths"].refused
    assert not any(results[name].is_well for name in ("none", "word", "lengths"))


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


def test_papers_share_their_runs(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    claims(folder, claim("a", "-40", "seeds = 2"))
    other = folder.parent / "others"
    other.mkdir()
    claims(other, claim("b", "-40", "seeds = 3"))
    assert cli.run(["reproduce", str(folder), str(other), "--examples", str(folder.parents[1]), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [len(found[name][0]["each"]) for name in ("fakes", "others")] == [2, 3]
    assert ran(folder) == [f"{policy} {seed} 10 " for policy in ("fast", "slow") for seed in (1, 2, 3)]


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
        (claim("a", "1", 'metric = "output:"'), "claim a: unknown metric; given: output:; allowed: time, "),
        (claim("a", "1", 'over = "all"'), "claim a: unknown over; given: all; allowed: mean, "),
        (claim("a", "1", 'over = "part_more"'), "claim a: over: a part is a ratio; given: change; allowed: "),
        (claim("a", "1", "baseline = false"), "claim a: baseline; given: False; allowed: "),
        (claim("a", "1", "baseline = true"), "claim a: baseline; given: True; allowed: "),
        (claim("a", "1", 'machine = "none"'), "claim a: there is no such machine; given: none"),
        (claim("a", "1", "candidate = { cores = 3 }"), "claim a: unknown key; given: cores"),
        (claim("a", "1", "workers = 0"), "claim a: workers of candidate; given: 0"),
        (claim("a", "1", "band = 0.5"), "claim a: band is too small"),
        (claim("a", "1", 'of = ["b"]'), "claim a: of: no claim further up; given: b"),
        (claim("a", "1", 'rests_on = ["b"]'), "claim a: rests_on: no claim further up; given: b"),
        (claim("a", "1", 'cases = ["b"]'), "claim a: neither a case nor a bound; given: b"),
        (
            claim("a", "{ at_mots = 3 }"),
            "neither a case nor a bound; given: at_mots; allowed: at_most, at_least, up_to",
        ),
        (claim("a", "1", 'kind = "true"'), "claim a: unknown kind; given: true; allowed: source, "),
        (claim("a", "{ at_most = -3 }"), "claim a: paper: at_most; given: -3.0; allowed: above 0 for a change"),
        (claim("a", "{ up_to = 0 }"), "claim a: paper: up_to; given: 0.0; allowed: anything but 0"),
        (claim("a", "1").replace("paper = 1", "printed = [0, 1]"), "claim a: printed; given: [0, 1]; allowed: "),
        ('[[claim]]\nid = "a"\n', "claim a: a key is missing; given: nothing; allowed: paper"),
        ('[[claim]]\nid = "a"\npaper = 1\n', "claim a: a key is missing; given: nothing; allowed: what"),
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
        # Logarithms of what remains: 70 % here, and in the paper 70 % to the power of 1.5.
        ("-30", "", -21.2, "within 1.5x"),
        ("-30", "", -21.1, "same sign"),
        ("-30", "", -41.4, "within 1.5x"),
        ("-30", "", -41.5, "same sign"),
        ("-30", "band = 2", -16.4, "within 2x"),
        ("-30", "", 0.0, "other sign"),
        ("-30", "", 30.0, "other sign"),
        # A third and a sixtieth of the misses are left: that is not nearly the same.
        ("-68.2", "", -98.3, "same sign"),
        ("-68.2", "", -100.0, "same sign"),
        # What remains must be near, too.
        ("8", 'measure = "ratio"', 12.1, "same sign"),
        ("8", 'measure = "ratio"', 11.9, "within 1.5x"),
        ("[-5, 5]", "", 7.0, "other sign"),
        ("[-5, 5]", "", 0.0, "within"),
        ("[-40, -20]", "", -30.0, "within"),
        ("[-40, -20]", "", -14.0, "within 1.5x"),
        ("[-40, -20]", "", -13.0, "same sign"),
        ("[-40, -20]", "", 30.0, "other sign"),
        # Up to 19.6 % faster is not 45 % slower.
        ("{ up_to = -19.6 }", "", -10.0, "within"),
        ("{ up_to = -19.6 }", "", 0.9, "within"),
        ("{ up_to = -19.6 }", "", 1.1, "other sign"),
        ("{ up_to = -19.6 }", "", 45.0, "other sign"),
        ("{ up_to = -19.6 }", "", -27.0, "within 1.5x"),
        ("{ up_to = -19.6 }", "", -29.0, "same sign"),
        ("{ at_most = 3 }", "", 3.0, "holds"),
        ("{ at_most = 3 }", "", 3.1, "does not hold"),
        ("{ at_most = 3 }", "", -2.9, "holds"),
        ("{ at_most = 3 }", "", -70.0, "does not hold"),
        ("{ at_most = 1.2 }", 'measure = "ratio"', 0.84, "holds"),
        ("{ at_most = 1.2 }", 'measure = "ratio"', 0.83, "does not hold"),
        ("{ at_least = 64 }", 'measure = "speedup"', 130.0, "holds"),
        ("0", "", 0.0, "within 1.5x"),
        ("0", "", 2.9, "within"),
        ("0", "", 3.1, "other sign"),
        ("6", 'measure = "speedup"', 1.1, "same sign"),
        ("6", 'measure = "speedup"', 0.9, "other sign"),
    ],
)
def test_verdicts(folder: Path, paper: str, more: str, ours: float, text: str) -> None:
    assert judge(made(folder, paper, more), ours, [ours]).text == text


@pytest.mark.parametrize(
    ("paper", "each", "text"),
    [
        ('"less"', [-3.0, -3.5, -4.0], "agrees"),
        ('"less"', [3.0, 3.5, 4.0], "does not agree"),
        ('"less"', [-0.9, -0.9, -0.9], "does not agree"),
        ('"less"', [-1.1, -1.1, -1.1], "agrees"),
        ('"less"', [-8.0, -1.0, -2.0], "no more than the spread of the seeds"),
        ('"less"', [-3.0], "one seed shows nothing"),
        ('"more"', [3.0, 3.5, 4.0], "agrees"),
        ('"more"', [-1.0, -1.0, -1.0], "does not agree"),
        ('"more"', [60.0, 15.0, 16.0], "no more than the spread of the seeds"),
        ('"same"', [2.9, 2.9, 2.9], "agrees"),
        ('"same"', [-3.1, -3.1, -3.1], "does not agree"),
        ('"same"', [12.0, 12.0, 12.0], "does not agree"),
    ],
)
def test_verdicts_about_signs(folder: Path, paper: str, each: list[float], text: str) -> None:
    c = made(folder, paper)
    assert c.seeds == SEEDS_OF_A_SIGN
    verdict = judge(c, sum(each) / len(each), each)
    assert verdict.text == text and verdict.within == (text == "agrees")


def test_same_within_another_limit(folder: Path) -> None:
    assert judge(made(folder, '"same"', "same = 1"), 2.9, [2.9]).text == "does not agree"


def test_values() -> None:
    assert value_of("change", 3, 4) == -25 and value_of("ratio", 3, 4) == 0.75 and value_of("speedup", 2, 4) == 2
    assert combine("strongest", "ratio", [1.2, 0.5]) == 0.5 and combine("mean", "ratio", [1.5, 0.5]) == 1


def test_cases(folder: Path) -> None:
    claims(
        folder,
        """
        [cases.small]
        what = "Small"
        arguments = "10"
        quick = true
        [cases.large]
        what = "Large"
        arguments = "20"
        scaled = "the paper's is larger"

        [[claim]]
        id = "{case}-time"
        what = "{case}: time"
        paper = { small = -40, large = { at_most = 3 } }
        explanation = { large = "It is slow" }

        [[claim]]
        id = "{case}-misses"
        what = "{case}: misses"
        metric = "l3_misses"
        printed = { small = [4, 3] }
        rests_on = ["{case}-time"]

        [[claim]]
        id = "{case}-against"
        what = "{case} against itself"
        paper = "same"
        cases = ["large"]
        candidate = "slow"
        rests_on = ["{case}-time"]
        """,
    )
    paper = read_paper(folder)
    assert [(c.id, c.what, c.quick, c.scaled, c.explanation, c.rests_on) for c in paper.claims] == [
        ("small-time", "Small: time", True, "", "", ()),
        ("large-time", "Large: time", False, "the paper's is larger", "It is slow", ()),
        ("small-misses", "Small: misses", True, "", "", ("small-time",)),
        ("large-against", "Large against itself", False, "the paper's is larger", "", ("large-time",)),
    ]
    assert [c.candidate.arguments for c in paper.claims if c.candidate] == [("10",), ("20",), ("10",), ("20",)]
    assert (paper.claims[2].figure.low, paper.claims[2].figure.printed) == (-25, (4, 3))


KINDS_OF_CLAIMS = (
    claim("near", "-40", 'source = "table 1"\nscaled = "it is late"')
    + claim("far", "-10", 'explanation = "Ours is a fake."')
    + claim("code", '"same"', 'candidate = "slow"\nkind = "constructed"')
    + claim("event", "20", 'kind = "incomparable"')
    + claim("knob", '"more"', 'kind = "ours"')
    + claim("below-near", "-41", 'rests_on = ["near"]')
    + claim("below-far", "-41", 'rests_on = ["near", "far"]')
)


def test_what_is_not_counted(folder: Path) -> None:
    claims(folder, KINDS_OF_CLAIMS)
    results = {r.claim.id: r for r in reproduce(read_paper(folder), folder.parents[1])}
    assert {name: r.not_counted for name, r in results.items() if r.not_counted} == {
        "code": "true by construction",
        "event": "measured in another way",
        "knob": "in no source",
        "below-far": "rests on far",
    }
    # Whatever is not counted needs no explanation.
    assert all(r.is_well for r in results.values())
    assert str(Count.of(list(results.values()))) == (
        "Of 3 claims 2 (67 %) as in the paper, 3 (100 %) with its sign; of the 1 others 1 explained. Not counted: "
        "1 that rest on a baseline that is not as in the paper, 1 true by construction, 1 measured in another way, "
        "1 in no source"
    )
    # A claim brings those that it rests on.
    assert [r.claim.id for r in reproduce(read_paper(folder), folder.parents[1], only={"below-far"})] == [
        "near",
        "far",
        "below-far",
    ]


def test_the_tables_of_the_readme(folder: Path) -> None:
    claims(folder, KINDS_OF_CLAIMS)
    results = [
        r for r in reproduce(read_paper(folder), folder.parents[1]) if r.claim.id in ("near", "far", "below-far")
    ]
    text = tables(results)
    head = "\n\n| claim | where | paper | ours | |\n|---|---|---|---|---|\n"
    assert text == (
        "Of 2 claims 1 (50 %) as in the paper, 2 (100 %) with its sign; of the 1 others 1 explained. Not counted: "
        "1 that rest on a baseline that is not as in the paper."
        f"\n\n## Not as in the paper{head}"
        "| What of far |  | -10.0 % | -50.0 % | same sign [1] |\n"
        f"\n## As in the paper{head}"
        "| What of near | table 1 | -40.0 % | -50.0 % | within 1.5x [2] |\n"
        f"\n## Not counted{head}"
        "| What of below-far |  | -41.0 % | -50.0 % | within 1.5x; rests on far |\n"
        "\n1. Ours is a fake.\n2. Not the paper's size: it is late."
    )
    readme = folder / "README.md"
    readme.write_text(f"# Fakes\n\n{BEGIN}\nold\n{END}\n\nEnd.\n", encoding="utf-8")
    write(readme, results)
    assert readme.read_text(encoding="utf-8") == f"# Fakes\n\n{BEGIN}\n{text}\n{END}\n\nEnd.\n"
    readme.write_text("# Fakes\n", encoding="utf-8")
    with pytest.raises(Error, match="no place for the tables"):
        write(readme, results)


def test_the_picture(folder: Path) -> None:
    claims(folder, KINDS_OF_CLAIMS + claim("range", "[-60, -20]") + claim("sign", '"less"'))
    results = reproduce(read_paper(folder), folder.parents[1])
    # near, far, below-near and the interval; neither signs nor what is not counted.
    assert points(results) == [
        (pytest.approx(0.6), 0.5, True),
        (pytest.approx(0.9), 0.5, False),
        (pytest.approx(0.59), 0.5, True),
        (0.5, 0.5, True),
    ]
    picture = folder / PICTURE
    assert draw(results, "fakes", picture)
    first = picture.read_bytes()
    assert draw(results, "fakes", picture) and picture.read_bytes() == first
    assert "as in the paper: 3" in first.decode()
    claims(folder, claim("sign", '"less"'))
    assert not draw(reproduce(read_paper(folder), folder.parents[1]), "fakes", folder / "none.svg")
    assert not (folder / "none.svg").exists()


def test_the_command(folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    claims(folder, claim("near", "-40", "quick = true") + claim("far", "-10", 'explanation = "Ours is a fake."'))
    where = [str(folder), "--examples", str(folder.parents[1])]
    assert cli.run(["reproduce", *where]) == 0
    out = capsys.readouterr().out
    assert out.startswith("T. Ester: On fakes\n") and "far: Ours is a fake.\n" in out
    assert out.endswith("Of 2 claims 1 (50 %) as in the paper, 2 (100 %) with its sign; of the 1 others 1 explained.\n")
    assert cli.run(["reproduce", *where, "--json", "--only", "n*"]) == 0
    (found,) = json.loads(capsys.readouterr().out)["fakes"]
    assert (found["id"], found["paper"], found["ours"], found["within_band"]) == ("near", "-40.0 %", -50, True)
    assert (found["kind"], found["counted"], found["each"]) == ("source", True, [-50])
    # Without a name: all papers.
    monkeypatch.chdir(folder.parents[1])
    assert cli.run(["reproduce", "--quick", *where[1:]]) == 0
    assert "Of 1 claims 1 (100 %) as in the paper" in capsys.readouterr().out
    claims(folder, claim("far", "-10"))
    assert cli.run(["reproduce", *where]) == 1
    (folder / "README.md").write_text(f"{BEGIN}\n{END}\n", encoding="utf-8")
    assert cli.run(["reproduce", *where, "--markdown"]) == 1
    assert "same sign" in (folder / "README.md").read_text(encoding="utf-8")
    assert (folder / PICTURE).exists()


def test_judging_again(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    two = claim("near", "-40") + claim("low", "-41", 'rests_on = ["near"]')
    mean = '[[claim]]\nid = "mean"\nwhat = "Mean"\npaper = -30\nof = ["near", "low"]\n'
    claims(folder, two + mean)
    where = ["reproduce", str(folder), "--json"]
    cli.run([*where, "--examples", str(folder.parents[1])])
    text = capsys.readouterr().out
    stored = folder / "results.json"
    stored.write_text(text, encoding="utf-8")
    before = ran(folder)
    cli.run([*where, "--from", str(stored)])
    assert capsys.readouterr().out == text and ran(folder) == before
    # Under other claims.
    claims(folder, two.replace("= -40", "= 40") + mean)
    cli.run([*where, "--from", str(stored)])
    near, low, _ = json.loads(capsys.readouterr().out)["fakes"]
    assert (near["verdict"], low["not_counted"]) == ("other sign", "rests on near")
    claims(folder, two + mean + claim("new", "1"))
    assert cli.run([*where, "--from", str(stored)]) == 1
    assert "a claim without a stored result; given: new; allowed: near, low, mean" in capsys.readouterr().err
    stored.write_text("{}", encoding="utf-8")
    assert cli.run([*where, "--from", str(stored)]) == 2
    assert "no results of this paper; given: fakes" in capsys.readouterr().err
    assert cli.run([*where, "--from", str(folder / "none.json")]) == 2


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["nonesuch"], "no paper; given: nonesuch"),
        (["--examples", "nonesuch"], "no folder of programs; given: nonesuch"),
        (["--only", "x*"], "no such claim; given: x*; allowed: near"),
        (["--only", "near", "--markdown"], "--markdown without it"),
        (["--quick", "--markdown"], "--markdown without it"),
        (["--quick"], "no claims for --quick"),
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


@pytest.mark.parametrize(
    "command",
    [
        "heat2d --rows 300 --cols 64 --sweeps 5 --leaf-rows 8 --irregular",
        "heat2d --squares --rows 256 --cols 256 --sweeps 3 --leaf-side 64",
        "sor --rows 300 --cols 64 --sweeps 5 --leaf-rows 8",
        "stencil --points 6 --x 100 --y 16 --z 16 --sweeps 5",
        "gaussian --n 128 --leaf-rows 8",
        "repeated_map --n 100000 --repetitions 2",
    ],
)
def test_costs_alone_give_the_same_figures(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    program, *arguments = command.split()
    monkeypatch.setenv("WEFT_ENGINE", "model")
    monkeypatch.setenv("WEFT_MACHINE", str(MACHINE))
    whole, costs = (
        launch([str(EXAMPLES / program), *arguments, *more], stdout=subprocess.DEVNULL).reports[0].runs[-1].fields
        for more in ([], ["--costs-only"])
    )
    assert whole == costs


@pytest.mark.parametrize("path", sorted(SOURCE.glob("papers/*/claims.toml")), ids=lambda p: p.parent.name)
def test_the_claims_of_the_papers_can_be_read(path: Path) -> None:
    paper = read_paper(path.parent)
    assert paper.claims
    for c in paper.claims:
        for setup in (c.candidate, c.baseline):
            assert setup is None or (EXAMPLES / setup.program).is_file(), f"{c.id}: {setup.program}"
    readme = (path.parent / "README.md").read_text(encoding="utf-8")
    assert BEGIN in readme and END in readme
