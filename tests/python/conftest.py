"""Helpers of the tests: the built examples, and runs of them with a trace."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from unittest import mock

import pytest
from hypothesis import settings
from weft import cli
from writing import TraceFile

SOURCE = Path(__file__).parents[2]
EXAMPLES = Path(os.environ.get("WEFT_TEST_EXAMPLES", SOURCE / "build/dev/examples"))
# The same inputs each time; WEFT_TEST_INPUTS=10000 draws that many others.
settings.register_profile(
    "weft",
    max_examples=int(os.environ.get("WEFT_TEST_INPUTS", "50")),
    deadline=None,
    database=None,
    derandomize="WEFT_TEST_INPUTS" not in os.environ,
)
settings.load_profile("weft")

MACHINE = SOURCE / "machines/opteron-8380-4x4.toml"


CORE_I7 = SOURCE / "machines/core-i7-2600k.toml"
COPY_COMPUTE = "--copies 12 --mbytes 8 --computations 120 --steps 175000 --copies-first"


def command(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """The command `weft` as a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "weft", *arguments],
        env=os.environ | variables,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def called(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """The command `weft` in this process, which spares the start of an interpreter; without what C++ code prints."""
    # Files, since commands give the descriptors to the programs that they start.
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        with mock.patch.dict(os.environ, variables), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            status = cli.run(list(arguments))
        texts = []
        for file in (out, err):
            file.seek(0)
            texts.append(file.read())
    return subprocess.CompletedProcess(arguments, status, *texts)


def run_example(name: str, arguments: str, trace: Path, policy: str, engine: str, **variables: str) -> None:
    """Runs an example with a trace: with two threads, or on the modelled machine with all its workers."""
    if name == "uts" and not (EXAMPLES / name).exists():
        pytest.skip("uts is built where nettle is there")
    environment = {k: v for k, v in os.environ.items() if not k.startswith("WEFT_")}
    environment |= {"WEFT_TRACE": str(trace), "WEFT_POLICY": policy, "WEFT_SEED": "1"}
    if engine == "model":
        environment |= {"WEFT_ENGINE": "model", "WEFT_MACHINE": str(MACHINE)}
    else:
        environment |= {"WEFT_WORKERS": "2"}
    command = [EXAMPLES / name, *arguments.split()]
    environment |= variables
    subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL, timeout=50)


@pytest.fixture(scope="session")
def modelled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """heat2d on the modelled machine."""
    path = tmp_path_factory.mktemp("modelled") / "run.weft"
    run_example("heat2d", "--rows 200 --cols 100 --sweeps 6 --leaf-rows 8", path, "near", "model")
    return path


@pytest.fixture(scope="session")
def threaded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """sparse_lu, a graph with named tasks, on two threads."""
    path = tmp_path_factory.mktemp("threaded") / "run.weft"
    run_example("sparse_lu", "--blocks 10 --side 8", path, "steal", "threads")
    return path


@pytest.fixture(scope="session")
def contended(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """copy_compute on a modelled machine, with as many copies at a time as workers, and with one worker."""
    folder = tmp_path_factory.mktemp("contended")
    run, serial = folder / "run.weft", folder / "serial.weft"
    many = {"WEFT_MACHINE": str(CORE_I7), "WEFT_RESOURCES": str(SOURCE / "examples/copy_compute/many_copies.toml")}
    run_example("copy_compute", COPY_COMPUTE, run, "locality", "model", **many)
    run_example("copy_compute", COPY_COMPUTE, serial, "locality", "model", **many, WEFT_WORKERS="1")
    return run, serial


@pytest.fixture
def write(tmp_path: Path) -> Callable[[TraceFile], Path]:
    """Puts a made-up trace into a file."""

    def to_file(trace: TraceFile) -> Path:
        path = tmp_path / "made.weft"
        path.write_bytes(trace.bytes())
        return path

    return to_file


@pytest.fixture
def no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Removes every variable of Weft's from the environment."""
    for name in [n for n in os.environ if n.startswith("WEFT_") and not n.startswith("WEFT_TEST_")]:
        monkeypatch.delenv(name)
