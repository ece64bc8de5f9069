"""A few inputs of each fuzzer; `make stress` runs many (WEFT_FUZZ_INPUTS, WEFT_TEST_SEED)."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import run_example

FUZZER = Path(__file__).with_name("fuzz.py")
PROGRAMS = {"merge_sort": "--n 600 --leaf 128", "sparse_lu": "--blocks 3 --side 4", "fib": "--n 6"}


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    folder = tmp_path_factory.mktemp("fuzz")
    for name, arguments in PROGRAMS.items():
        run_example(name, arguments, folder / f"{name}.weft", "steal:zone=reported", "model")
    return [str(folder / f"{name}.weft") for name in PROGRAMS]


@pytest.mark.parametrize(("mode", "inputs"), [("traces", 25), ("policies", 60)])
def test_no_input_ends_the_process(mode: str, inputs: int, recorded: list[str], tmp_path: Path) -> None:
    many = int(os.environ.get("WEFT_FUZZ_INPUTS", inputs))
    seed = os.environ.get("WEFT_TEST_SEED", "1")
    progress = tmp_path / "progress"
    environment = {k: v for k, v in os.environ.items() if not k.startswith("WEFT_")}
    result = subprocess.run(
        [sys.executable, str(FUZZER), mode, seed, str(many), *recorded],
        env=environment | {"FUZZ_PROGRESS": str(progress)},
        capture_output=True,
        text=True,
        check=False,
    )
    print(result.stdout)
    last = progress.read_text().strip() if progress.exists() else "none"
    assert result.returncode == 0, f"the last input: {last}\nstatus {result.returncode}\n{result.stderr[-4000:]}"
