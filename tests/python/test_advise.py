"""weft advise: the features of recorded runs, the rules, the intervals, the settings file, and a whole run."""

from __future__ import annotations

import json
import math
import os
import tomllib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import weft as package
from conftest import EXAMPLES, MACHINE, SOURCE, command, run_example
from hypothesis import given
from hypothesis import strategies as st
from weft import cli, library
from weft.advise import RULES, Advice, Candidate, Machine, Program, advise, candidates
from weft.advise import rules as guide
from weft.advise.advice import Plan
from weft.advise.ratio import Ratio, t_distribution, t_quantile
from weft.errors import Error, LibraryError
from weft.launcher import LaunchError
from weft.settings_file import read_settings, settings_text, write_settings

pytestmark = pytest.mark.usefixtures("no_settings")

HEAT = [
    str(EXAMPLES / "heat2d"),
    "--costs-only",
    "--rows",
    "512",
    "--cols",
    "256",
    "--sweeps",
    "8",
    "--leaf-rows",
    "16",
]

# A program for which no rule applies, on a machine to which none does.
PLAIN = Program(
    work=1.0,
    span=0.01,
    tasks=1000,
    longest=0.001,
    shape="tree",
    depth=10,
    widest=2,
    iterations=0,
    footprint=None,
    traffic=0,
    memory=0.0,
    hints_work=False,
    hints_bytes=False,
    graph_data=False,
    moldable=0,
    kinds=0,
    spread=0.0,
    complete=True,
)
ONE_SOCKET = Machine(
    "one", 8, packages=1, domains=1, nodes=1, cache=8 << 20, private=1 << 20, slowest=1.0, far_ns=100.0
)
FOUR_SOCKETS = replace(ONE_SOCKET, name="four", workers=16, packages=4, domains=4, nodes=4, far_ns=300.0)
UNEQUAL = replace(ONE_SOCKET, name="unequal", slowest=0.3)
ITERATIVE = replace(PLAIN, memory=0.4, iterations=20, footprint=64 << 20, traffic=20 * (64 << 20))
ONCE = replace(ITERATIVE, iterations=0, traffic=64 << 20)
KINDS = replace(PLAIN, shape="flat", kinds=4, spread=0.1)
GRAPH = replace(PLAIN, shape="graph", graph_data=True, footprint=64 << 20, traffic=128 << 20)


# ---- the rules


def rules_of(p: Program, m: Machine) -> set[str]:
    return {rule.name for rule, _ in guide.applying(p, m)}


@pytest.mark.parametrize(
    ("program", "machine", "expected"),
    [
        (PLAIN, ONE_SOCKET, set()),
        (PLAIN, FOUR_SOCKETS, {"near steals"}),
        (ITERATIVE, ONE_SOCKET, {"shared cache", "equal pieces"}),
        (
            ITERATIVE,
            FOUR_SOCKETS,
            {"near steals", "several sockets", "returning data", "NUMA", "shared cache", "equal pieces"},
        ),
        (ONCE, FOUR_SOCKETS, {"near steals", "several sockets", "shared cache"}),
        (replace(ITERATIVE, memory=None), FOUR_SOCKETS, rules_of(ITERATIVE, FOUR_SOCKETS)),
        (replace(ITERATIVE, memory=0.05), FOUR_SOCKETS, {"near steals", "equal pieces"}),
        (replace(ITERATIVE, memory=None, footprint=None, traffic=0), FOUR_SOCKETS, {"near steals", "equal pieces"}),
        (GRAPH, ONE_SOCKET, set()),
        (GRAPH, FOUR_SOCKETS, {"graph with data", "near steals"}),
        (replace(GRAPH, work=0.1), FOUR_SOCKETS, {"graph with data", "graph with a long path", "near steals"}),
        (replace(GRAPH, moldable=30), ONE_SOCKET, {"moldable tasks"}),
        (PLAIN, UNEQUAL, {"unequal cores", "unequal cores, coarse tasks"}),
        (replace(PLAIN, tasks=10**6), UNEQUAL, {"unequal cores"}),
        (replace(KINDS, hints_work=True, longest=0.01), ONE_SOCKET, {"heavy tasks"}),
        (replace(KINDS, hints_work=True, longest=0.005), ONE_SOCKET, set()),
        (replace(KINDS, longest=0.01), ONE_SOCKET, set()),
        (KINDS, UNEQUAL, {"unequal cores", "unequal cores, coarse tasks", "unequal cores, kinds of tasks"}),
        (replace(KINDS, spread=0.9), UNEQUAL, {"unequal cores", "unequal cores, coarse tasks"}),
        (replace(KINDS, shape="tree"), UNEQUAL, {"unequal cores", "unequal cores, coarse tasks"}),
        (GRAPH, UNEQUAL, {"unequal cores", "unequal cores, coarse tasks", "unequal cores, graph"}),
        (PLAIN, replace(FOUR_SOCKETS, far_ns=2e6), {"slow links"}),
        (replace(PLAIN, widest=1000), ONE_SOCKET, {"wide spawns"}),
        (replace(PLAIN, widest=1000, tasks=10**6), ONE_SOCKET, set()),
    ],
)
def test_which_rules_apply(program: Program, machine: Machine, expected: set[str]) -> None:
    assert rules_of(program, machine) == expected


def test_candidates_take_turns_and_are_proposed_once() -> None:
    proposed = candidates(ITERATIVE, FOUR_SOCKETS, most=100)
    applying = [rule for rule, _ in guide.applying(ITERATIVE, FOUR_SOCKETS)]
    firsts = [rule.policies[0] for rule in applying]
    labels = [p.candidate.label for p in proposed]
    assert labels[: len(dict.fromkeys(firsts))] == list(dict.fromkeys(firsts))
    assert len(set(labels)) == len(labels) and set(labels) == {p for rule in applying for p in rule.policies}
    assert candidates(ITERATIVE, FOUR_SOCKETS, most=2) == proposed[:2]


def test_little_parallelism() -> None:
    assert candidates(replace(ITERATIVE, span=1.0), FOUR_SOCKETS) == []
    assert candidates(ITERATIVE, replace(FOUR_SOCKETS, workers=1)) == []
    few = candidates(replace(ITERATIVE, span=0.4), FOUR_SOCKETS)[0]
    assert few.candidate == Candidate("steal", 4) and "a parallelism of 2.5, and 4 cores a package" in few.reason
    assert few.candidate.settings() == {"policy": "steal", "workers": 4}


def test_each_rule_has_policies_that_exist_a_reason_and_a_source() -> None:
    known = {p.name for p in library.policies()}
    for rule in RULES:
        assert set(rule.policies) <= known - {guide.BASELINE} and rule.policies and rule.source
    for program in (PLAIN, ITERATIVE, GRAPH):
        for machine in (FOUR_SOCKETS, UNEQUAL):
            assert all(p.reason and p.source for p in candidates(program, machine))


# ---- features


def test_features_of_an_iterative_tree(tmp_path: Path) -> None:
    trace = tmp_path / "run.weft"
    run_example("heat2d", " ".join(HEAT[1:]), trace, "steal", "model")
    p = Program.of(package.read_trace(trace))
    plate = 2 * 512 * 256 * 8
    assert p.shape == "tree" and p.iterations == 8 and p.complete and p.kinds == 0 and p.moldable == 0
    assert p.footprint is not None and plate <= p.footprint <= 1.1 * plate
    assert 8 < p.reuse < 40
    assert p.memory is not None and 0 < p.memory < 1
    assert p.parallelism > 1 and 0 < p.longest < p.span < p.work
    assert p.grain == pytest.approx(p.work / p.tasks)


def test_features_of_a_graph(tmp_path: Path, threaded: Path) -> None:
    trace = tmp_path / "run.weft"
    run_example("sparse_lu", "--blocks 12 --side 16", trace, "steal", "model")
    p = Program.of(package.read_trace(trace))
    assert p.shape == "graph" and p.graph_data and p.kinds == 4 and p.footprint and p.memory is not None
    here = Program.of(package.read_trace(threaded))
    assert here.memory is None and here.graph_data and here.kinds == 4 and here.footprint


def test_features_of_the_machine_files() -> None:
    opteron = Machine.of(library.machine(str(MACHINE)))
    assert (opteron.workers, opteron.packages, opteron.domains, opteron.nodes) == (16, 4, 4, 4)
    assert opteron.equal and opteron.cache == 6 << 20 and opteron.private == 512 << 10 and 0 < opteron.far_ns < 10_000
    one = Machine.of(library.machine(str(MACHINE)), workers=4)
    assert (one.workers, one.packages, one.domains, one.nodes) == (4, 1, 1, 1)
    hikey = Machine.of(library.machine(str(SOURCE / "machines/hikey960.toml")))
    assert not hikey.equal and 0 < hikey.slowest < 0.9
    assert Machine.of(library.machine(str(SOURCE / "machines/das-4x16.toml"))).far_ns > 10_000


# ---- intervals


@pytest.mark.parametrize(
    ("p", "freedom", "quantile"),
    [
        (0.975, 1, 12.7062),
        (0.975, 2, 4.3027),
        (0.95, 4, 2.1318),
        (0.995, 9, 3.2498),
        (0.975, 30, 2.0423),
        (0.9, 120, 1.2886),
    ],
)
def test_quantiles_of_students_t(p: float, freedom: int, quantile: float) -> None:
    assert t_quantile(p, freedom) == pytest.approx(quantile, abs=1e-4)  # Abramowitz and Stegun, table 26.10


@given(st.floats(0, 100), st.integers(1, 40))
def test_the_distribution_rises(t: float, freedom: int) -> None:
    slack = 1e-12
    assert 0.5 <= t_distribution(t, freedom) <= t_distribution(t + 1, freedom) + slack <= 1 + 2 * slack


def test_intervals_are_of_paired_times() -> None:
    load = [1.0, 3.0, 0.5, 2.0]
    same = Ratio.of([0.8 * x for x in load], load)
    assert (same.low, same.mid, same.high) == pytest.approx((0.8, 0.8, 0.8))
    varied = Ratio.of([0.9, 1.0, 1.1], [1.0, 1.0, 1.0])
    assert varied.low < varied.mid < varied.high and varied.mid == pytest.approx((0.9 * 1.1) ** (1 / 3))
    assert Ratio.of([0.9, 1.0, 1.1], [1.0, 1.0, 1.0], error=0.01).high > varied.high
    with pytest.raises(ValueError, match="1 rounds"):
        Ratio.of([1.0], [1.0])


def test_intervals_hold_as_often_as_they_say() -> None:
    random = np.random.default_rng(7)
    hit = 0
    for _ in range(2000):
        r = Ratio.of(np.exp(random.normal(math.log(0.9), 0.05, 5)).tolist(), [1.0] * 5, error=0.1)
        hit += r.low <= 0.9 <= r.high
    assert 0.88 < hit / 2000 < 0.92


# ---- settings files


def test_a_settings_file_comes_back(tmp_path: Path) -> None:
    path = tmp_path / "odd.toml"
    odd = 'a "quoted" \\ name\twith\nlines, \x7f and ü'
    advice = {"program": [odd, "--x"], "regret": [0.0, 0.015], "modelled": True, "workers": 3, "reason": odd}
    write_settings(path, {"policy": "near:tries=3", "workers": 3}, advice)
    assert read_settings(path) == {"policy": "near:tries=3", "workers": "3"}
    whole = tomllib.loads(path.read_text())
    assert whole == {"version": 1, "settings": {"policy": "near:tries=3", "workers": 3}, "advice": advice}
    write_settings(path, {"policy": "share"})
    assert path.read_text() == 'version = 1\n\n[settings]\npolicy = "share"\n' == settings_text({"policy": "share"})


def test_no_other_file_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "notes.toml"
    path.write_text("a = 1\n")
    with pytest.raises(Error, match=r"this file is not replaced; given: .*notes\.toml, which is no settings file"):
        write_settings(path, {"policy": "share"})
    assert path.read_text() == "a = 1\n"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("version = 2\n[settings]\n", "version than this library reads; given: version = 2; allowed: version = 1"),
        ('version = 1\n[settings]\npolcy = "near"\n', "settings.polcy: unknown key"),
        ('version = 1\n[settings]\npolicy = "nera"\n', "bad.toml: unknown policy, did you mean 'near'"),
        (None, "the settings file not found"),
    ],
)
def test_run_refuses_a_bad_file_before_the_program(
    text: str | None, says: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "bad.toml"
    if text is not None:
        path.write_text(text)
    with pytest.raises(LibraryError) as failure:
        read_settings(path)
    assert says in str(failure.value)
    assert cli.run(["run", "--settings", str(path), "--", "touch", str(tmp_path / "ran")]) == 1
    assert says in capfd.readouterr().err and not (tmp_path / "ran").exists()


def test_run_uses_the_file_and_options_come_first(tmp_path: Path) -> None:
    path = tmp_path / "near.toml"
    path.write_text('version = 1\n[settings]\npolicy = "near"\nworkers = 2\n')
    fib = ["--", str(EXAMPLES / "fib"), "--n", "12"]

    def policy_of(*arguments: str, **variables: str) -> tuple[str, int]:
        done = command(*arguments, "--json", *fib, **variables)
        assert done.returncode == 0, done.stderr
        (runtime,) = json.loads(done.stdout)["runtimes"]
        return runtime["policy"], len(runtime["workers"])

    settings = ["--settings", str(path)]
    assert policy_of("run", *settings) == ("near", 2)
    assert policy_of("run", WEFT_SETTINGS=str(path)) == ("near", 2)
    assert policy_of("run", *settings, "--policy", "share") == ("share", 2)
    assert policy_of("run", *settings, WEFT_WORKERS="1") == ("near", 1)
    assert policy_of("sim", *settings, "--machine", str(MACHINE)) == ("near", 2)


def test_a_replay_has_no_settings_file(modelled: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["sim", "--replay", str(modelled), "--settings", "any.toml"]) == 2
    assert "settings are for a program" in capfd.readouterr().err


# ---- whole runs


def test_a_run_in_the_model_is_the_same_each_time(tmp_path: Path) -> None:
    plans: list[Plan] = []
    steps: list[tuple[str, float]] = []

    def once() -> Advice:
        return advise(
            HEAT,
            machine=str(MACHINE),
            repeat=3,
            most=5,
            announce=plans.append,
            step=lambda what, part: steps.append((what, part)),
        )

    found = once()
    assert found == once()
    base, *others = found.tried
    assert base.candidate.policy == "steal" and len(base.seconds) == 3 and base.over_baseline is None
    assert len(others) == 5 and all(t.reason and t.source for t in others)
    assert sorted(len(t.seconds) for t in others) == [2, 2, 3, 3, 3]
    (plan, _) = plans
    assert plan.runs == 2 * 6 + 4 and plan.total == plan.runs * plan.seconds
    assert len(steps) == 2 * (1 + plan.runs) and steps[0] == ("steal, recorded", 0.0)
    half = [part for _, part in steps[: len(steps) // 2]]
    assert half == sorted(half) and half[-1] < 1
    if found.gain is None:
        assert found.advised == Candidate("steal")
    else:
        advised = next(t for t in others if t.candidate == found.advised)
        assert advised.over_baseline == found.gain and found.gain.high < 1
    assert 0 <= found.regret_least <= found.regret_most


def test_the_command_writes_the_file_that_a_run_reads(tmp_path: Path) -> None:
    to = tmp_path / "heat.toml"
    arguments = ["advise", "--machine", str(MACHINE), "--repeat", "3", "--candidates", "3", "-o", str(to)]
    done = command(*arguments, "--json", "--", *HEAT)
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert "one run to record, then at most 12 others" in done.stderr and "12 runs of about" in done.stderr
    assert said["file"] == str(to) and said["settings"] == tomllib.loads(to.read_text())["settings"]
    assert [t["candidate"]["policy"] for t in said["tried"]].count("steal") == 1
    run = command("sim", "--machine", str(MACHINE), "--settings", str(to), "--json", "--", *HEAT)
    (runtime,) = json.loads(run.stdout)["runtimes"]
    assert runtime["policy"] == said["settings"]["policy"]
    again = command(*arguments, "--", *HEAT)
    assert again.returncode == 0 and f"advice       {said['settings']['policy']}: " in again.stdout
    assert "regret       between " in again.stdout and f"WEFT_SETTINGS={to}" in again.stdout


def test_a_run_here(tmp_path: Path) -> None:
    fib = [str(EXAMPLES / "fib"), "--n", "15"]
    found = advise(fib, workers=2, repeat=3, most=2)
    assert not found.virtual and found.machine.workers == 2 and found.settings()["workers"] == 2
    assert found.tried == () or found.tried[0].candidate.policy == "steal"


def test_less_is_tried_within_a_limit() -> None:
    plans: list[Plan] = []
    found = advise(HEAT, machine=str(MACHINE), limit=1e-9, announce=plans.append)
    (plan,) = plans
    assert len(plan.proposals) == 1 and plan.repeat == 3 and len(found.tried) == 2


def test_without_parallelism_nothing_is_tried(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    to = tmp_path / "one.toml"
    arguments = ["advise", "--workers", "1", "-o", str(to), "--", str(EXAMPLES / "fib"), "--n", "12"]
    assert cli.run(arguments) == 0
    told = capfd.readouterr()
    assert "no further runs" in told.err and "advice       steal: there is too little parallelism" in told.out
    assert read_settings(to) == {"policy": "steal", "workers": "1"}


@pytest.mark.parametrize(
    ("arguments", "status", "says"),
    [
        (["--", "false"], 1, "under steal: the program ended with status 1"),
        (["--", "true"], 1, "the program has made no runtime of Weft"),
        (["--repeat", "2", "--", "true"], 2, "repeat"),
        (["--machine", "opteron", "--", "true"], 2, "opteron"),
        (["-o", "a.json", "--", "true"], 2, "unknown format of the settings file; given: a.json; allowed: *.toml"),
        ([], 2, "PROGRAM"),
    ],
)
def test_mistakes(
    arguments: list[str],
    status: int,
    says: str,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert cli.run(["advise", *arguments]) == status
    told = capfd.readouterr()
    assert says in told.err and "Traceback" not in told.err
    assert os.listdir(tmp_path) == []


def test_a_program_that_fails_under_a_candidate_only(tmp_path: Path) -> None:
    script = tmp_path / "picky.sh"
    script.write_text(f'[ "$WEFT_POLICY" = steal ] || {{ echo not here >&2; exit 3; }}\nexec {" ".join(HEAT)}\n')
    found = advise(["sh", str(script)], machine=str(MACHINE), repeat=3, most=2)
    assert found.advised == Candidate("steal") and [t.refused for t in found.tried] == ["", "not here", "not here"]
    script.write_text("exit 3\n")
    with pytest.raises(LaunchError, match="under steal: the program ended with status 3"):
        advise(["sh", str(script)], machine=str(MACHINE))
