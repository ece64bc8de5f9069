"""Policies in shared objects, in every tool that takes a policy."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
import weft
from conftest import EXAMPLES, SOURCE
from weft import cli

BUILD = Path(os.environ.get("WEFT_TEST_BUILD", SOURCE / "build/dev"))
MODULES = BUILD / "tests/policy_module"
MODULE = MODULES / "round_robin.so"
POLICY = f"{MODULE}:round-robin:step=2"
FIB = [str(EXAMPLES / "fib"), "--n", "16"]
MACHINE = "opteron-8380-4x4"


def test_list(capfd: pytest.CaptureFixture[str]) -> None:
    (policy,) = weft.policies(str(MODULE))
    assert (policy.name, [k.key for k in policy.knobs]) == ("round-robin", ["step"])
    assert [p.name for p in weft.policies(str(MODULES / "pair.so"))] == ["wrapper", "picky"]
    assert cli.run(["policies", f"{MODULES / 'pair.so'}:picky", "--json"]) == 0
    assert [p["name"] for p in json.loads(capfd.readouterr().out)] == ["picky"]
    assert cli.run(["policies", str(MODULE)]) == 0
    assert "round-robin" in capfd.readouterr().out


@pytest.mark.parametrize("name", ["run", "sim"])
def test_run_and_sim(capfd: pytest.CaptureFixture[str], no_settings: None, name: str) -> None:
    machine = ["--machine", MACHINE] if name == "sim" else ["--workers", "2"]
    assert cli.run([name, *machine, "--policy", POLICY, "--json", "--", *FIB]) == 0
    assert json.loads(capfd.readouterr().out)["runtimes"][0]["policy"] == POLICY


def test_compare(capfd: pytest.CaptureFixture[str], no_settings: None) -> None:
    arguments = ["--machines", MACHINE, "--repeat", "1", "--policies", f"{POLICY},near:tries=2", "--json", "--", *FIB]
    assert cli.run(["compare", *arguments]) == 0
    rows = json.loads(capfd.readouterr().out)["rows"]
    assert [row["policy"] for row in rows if not row["refused"]] == ["steal", POLICY, "near:tries=2"] * 2


def test_replay(threaded: Path, no_settings: None) -> None:
    played = weft.simulate(threaded, machine=MACHINE, policy=POLICY)
    assert played.policy == POLICY and played.seconds > 0


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        (f"{MODULES}/none.so:x", "is not there"),
        (f"{MODULES}/other_version.so:x", "was built for another version of Weft; given: version 4711"),
        (f"{MODULES}/no_module.so:x", "is no policy module"),
        (f"{MODULE}:round-robn", "did you mean 'round-robin'?"),
        (f"{MODULE}:round-robin:step=0", "allowed: 1..1000"),
    ],
)
def test_mistakes(capfd: pytest.CaptureFixture[str], no_settings: None, spec: str, says: str) -> None:
    assert cli.run(["run", "--policy", spec, "--", "never-run"]) == 2
    err = capfd.readouterr().err
    assert says in err and err.count("\n") == 1
    with pytest.raises(weft.LaunchError, match="ended with status"):
        weft.launch(FIB, policy=spec, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).check()
