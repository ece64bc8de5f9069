"""weft cosched compare: the metrics, combinations, what it measures, what it prints and draws."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterator
from pathlib import Path

import pytest
from coscheduled import ALL, DOMAINS, SETS, directory
from hypothesis import given
from hypothesis import strategies as st
from weft import Error, LibraryError, cli
from weft.cosched.compare import Comparison, Measurement, Pair, Row, combinations, several_domains
from weft.cosched.domains import Domains, cpu_list
from weft.cosched.metrics import Estimate, antt, ratio, sample, stp, student
from weft.cosched.plot import plot
from weft.cosched.programs_file import Program
from weft.cosched.runner import Done, OneRun, together
from weft.cosched.settings import Settings

TWO = f"""
domains = "{DOMAINS}"
period = 0.02
[[program]]
command = "true"
[[program]]
command = "sleep 0.01"
"""
TIMES = st.lists(st.floats(0.01, 100), min_size=2, max_size=12)


@pytest.fixture
def where(no_settings: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[str]:
    monkeypatch.setenv("COSCHED_PROFILES", str(tmp_path / "profiles"))
    with directory() as path:
        monkeypatch.setenv("COSCHED_DIRECTORY", path)
        yield path


# ---- metrics


def test_antt_and_stp_by_hand() -> None:
    alone, beside = [sample([1.0, 1.0]), sample([2.0, 2.0])], [sample([2.0, 2.0]), sample([2.0, 2.0])]
    assert antt(alone, beside) == Estimate(1.5, 1.5, 1.5)  # (2/1 + 2/2) / 2
    assert stp(alone, beside) == Estimate(1.5, 1.5, 1.5)  # 1/2 + 2/2


def test_one_run_has_no_interval() -> None:
    assert antt([sample([1.0])], [sample([3.0])]) == Estimate(3.0)
    with pytest.raises(ValueError):
        sample([])


def test_an_interval_by_hand() -> None:
    """Of a mean over a constant: the classical interval, with t of 4 degrees of freedom."""
    times = [1.0, 2.0, 3.0, 4.0, 5.0]
    found = ratio(sample(times), sample([1.0, 1.0]))
    half = 2.776 * math.sqrt(2.5 / 5)
    assert found.value == 3.0 and found.low is not None and found.high is not None
    assert math.isclose(found.low, 3.0 - half) and math.isclose(found.high, 3.0 + half)


def test_student() -> None:
    assert [student(f) for f in (0.5, 1, 4.9, 30)] == [12.706, 12.706, 2.776, 2.042]
    assert abs(student(100) - 1.984) < 0.002 and abs(student(10**6) - 1.96) < 0.001


@given(TIMES, TIMES)
def test_an_interval_is_around_its_figure(alone: list[float], beside: list[float]) -> None:
    for figure in (antt, stp):
        e = figure([sample(alone)] * 2, [sample(beside)] * 2)
        assert e.low is not None and e.high is not None and e.low <= e.value <= e.high


@given(TIMES, TIMES, st.floats(0.1, 10))
def test_metrics_have_no_unit(alone: list[float], beside: list[float], factor: float) -> None:
    plain = antt([sample(alone)], [sample(beside)])
    scaled = antt([sample([factor * x for x in alone])], [sample([factor * x for x in beside])])
    assert math.isclose(plain.value, scaled.value, rel_tol=1e-9)


# ---- what is measured


def programs(count: int) -> list[Program]:
    return [Program(f"p{i}", ("true",), "/") for i in range(count)]


def test_combinations_are_different_and_the_same_each_time() -> None:
    found = combinations(programs(8), 4, 10, seed=3)
    assert len({tuple(p.name for p in c) for c in found}) == 10
    assert found == combinations(programs(8), 4, 10, seed=3) != combinations(programs(8), 4, 10, seed=4)
    assert len(combinations(programs(4), 2, 100, seed=1)) == 6
    for size in (0, 9):
        with pytest.raises(Error, match="no such combinations"):
            combinations(programs(8), size, 1, seed=1)


def run(began: int) -> OneRun:
    return OneRun(began, 1.0, 0, False, 1.0, 0)


def test_only_runs_beside_all_others_count() -> None:
    a, b = programs(2)
    first, second = Done(a, [run(1), run(4), run(6)]), Done(b, [run(3), run(5)])
    assert [[r.began for r in runs] for runs in together([first, second])] == [[4, 6], [3, 5]]
    assert together([first, Done(b)]) == [[], []]


def test_one_domain_has_nothing_to_place() -> None:
    with pytest.raises(Error, match=r"nothing to place; given: one domain .*--domains cores"):
        several_domains(cpu_list(ALL))


two_domains = pytest.mark.skipif(len(SETS) < 2, reason="needs two processors")


@two_domains
def test_schedulers_with_oracles(where: str) -> None:
    settings = Settings(where, domains=DOMAINS, period=20_000_000)
    group = [Program(name, ("sleep", "0.02"), "/") for name in ("a", "b", "c")]
    found = Measurement(settings, repeat=1).compare([group], ["os", "best-static", "worst-static"])
    assert [r.scheduler for r in found.rows] == ["os", "best-static", "worst-static"]
    for row in found.rows:
        assert not row.refused and row.antt and row.stp and min(row.runs) >= 1 and row.antt.value > 0
    assert {tuple(sorted(r.placement)) for r in found.rows[1:]} <= {(0, 0, 1), (0, 1, 1)}
    assert set(found.alone) == {"a", "b", "c"}


@two_domains
def test_a_program_that_fails_under_a_scheduler(where: str, tmp_path: Path) -> None:
    settings = Settings(where, domains=DOMAINS, period=20_000_000)
    bad = Program("bad", ("sh", "-c", "[ -z $WEFT_SHARE ] || exit 3"), "/")
    found = Measurement(settings, repeat=1).compare([[bad, *programs(1)]], ["os"])
    assert found.rows[0].refused == "bad ended with status 3" and found.rows[0].antt is None
    with pytest.raises(Error, match="a program fails alone"):
        Measurement(settings, repeat=1).compare([[Program("no", ("false",), "/")]], ["os"])


@two_domains
def test_pairs_for_machines_and_people(where: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, picture = tmp_path / "programs.toml", tmp_path / "pairs.svg"
    file.write_text(TWO)
    words = ["cosched", "compare", str(file), "--pairs", "--repeat", "1"]
    assert cli.run([*words, "--json", "-o", str(picture)]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [(p["first"], p["second"], p["refused"]) for p in found["pairs"]] == [("true", "sleep", "")]
    assert "time on one domain" in picture.read_text()
    assert cli.run([*words, "--csv"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [(r["program"], r["beside"]) for r in rows] == [("true", "sleep"), ("sleep", "true")]
    assert all(float(r["slowdown"]) > 0 for r in rows)


@two_domains
def test_the_table_of_schedulers(where: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, picture = tmp_path / "programs.toml", tmp_path / "all.png"
    file.write_text(TWO)
    words = ["cosched", "compare", str(file), "--repeat", "1", "--schedulers", "callisto", "-o", str(picture)]
    assert cli.run(words) == 0
    said = capsys.readouterr().out
    assert "callisto" in said and "ANTT" in said and "STP" in said
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_what_compare_refuses(where: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "programs.toml"
    file.write_text(f'domains = "{cpu_list(ALL)}"\n[[program]]\ncommand = "true"\n')
    for words, status, says in [
        ([], 1, "nothing to place"),
        (["--pairs"], 1, "no pairs"),
        (["--schedulers", "fair"], 2, "unknown scheduler"),
        (["--schedulers", ","], 2, "unknown scheduler"),
        (["--json", "--csv"], 2, "two forms"),
        (["-o", "x.pdf"], 2, "unknown format"),
    ]:
        assert cli.run(["cosched", "compare", str(file), *words]) == status
        assert says in capsys.readouterr().err


def test_too_many_placements_for_an_oracle(where: str) -> None:
    if len(ALL) < 2:
        pytest.skip("needs two processors")
    settings = Settings(where, domains=DOMAINS)
    with pytest.raises((Error, LibraryError), match=r"too many placements|not enumerated"):
        Measurement(settings).compare([programs(11)], ["best-static"])


# ---- pictures


def test_the_same_comparison_gives_the_same_picture(tmp_path: Path) -> None:
    two = Domains(((0,), (1,)), "cores")
    figures = Estimate(1.5, 1.4, 1.6), Estimate(1.2, 1.1, 1.3)
    rows = [Row("os", ("a", "b"), *figures), Row("callisto", ("a", "b"), refused="x")]
    pairs = [Pair("a", "b", (Estimate(1.2), Estimate(0.9))), Pair("a", "c", refused="x")]
    for i, made in enumerate((Comparison(two, {}, rows), Comparison(two, {}, [], pairs))):
        first, second = tmp_path / f"{i}.svg", tmp_path / f"{i}-again.svg"
        plot(made, first)
        plot(made, second)
        assert first.read_bytes() == second.read_bytes()
    with pytest.raises(Error, match="nothing to draw"):
        plot(Comparison(two, {}, rows[1:]), tmp_path / "x.svg")
    with pytest.raises(Error, match="unknown format"):
        plot(Comparison(two, {}, rows), tmp_path / "x.pdf")
