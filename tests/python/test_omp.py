"""weft omp: programs of gcc and of clang, and what it refuses."""

from __future__ import annotations

import json
import os
import shutil
import stat
import struct
import subprocess
from pathlib import Path

import pytest
from weft import cli
from weft.openmp import _has_weft, library_for, needs_openmp

BUILD = Path(os.environ.get("WEFT_TEST_BUILD", "build/dev"))
pytestmark = [
    pytest.mark.skipif(not (BUILD / "openmp/libgomp.so.1").exists(), reason="built without WEFT_BUILD_OPENMP"),
]

SOURCE = """
#include <omp.h>
#include <stdio.h>
int main(void) {
    int sum = 0;
#pragma omp parallel reduction(+ : sum)
#pragma omp for schedule(dynamic)
    for (int i = 0; i < 100; ++i) sum += i;
    printf("%d with %d\\n", sum, omp_get_max_threads());
    return sum == 4950 ? 0 : 3;
}
"""


def compiled(folder: Path, source: str, *options: str) -> Path:
    program = folder / "program"
    subprocess.run(["gcc", "-x", "c", "-", "-o", program, *options], input=source, text=True, check=True)
    return program


@pytest.fixture(autouse=True)
def library(no_settings: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEFT_OPENMP", str((BUILD / "openmp").resolve()))


def test_runs_a_program(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    program = compiled(tmp_path, SOURCE, "-fopenmp")
    assert cli.run(["omp", "--workers", "3", "--policy", "near", "--", str(program)]) == 0
    said = capfd.readouterr()
    assert said.out == "4950 with 3\n"
    assert "near on" in said.err and "3 workers" in said.err


@pytest.mark.parametrize(("policy", "spin"), [("active", "10000"), ("passive", "0"), (None, None)])
def test_how_long_workers_look_for_work(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    policy: str | None,
    spin: str | None,
) -> None:
    program = compiled(tmp_path, SOURCE, "-fopenmp")
    monkeypatch.setenv("OMP_DISPLAY_ENV", "verbose")
    if policy:
        monkeypatch.setenv("OMP_WAIT_POLICY", policy)
    assert cli.run(["omp", "--workers", "2", "--no-report", "--", str(program)]) == 0
    said = capfd.readouterr().err
    assert (f"WEFT_SPIN = '{spin}'" in said) if spin else "WEFT_SPIN" not in said


def test_a_relative_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    compiled(tmp_path, SOURCE, "-fopenmp")
    monkeypatch.chdir(tmp_path)
    assert cli.run(["omp", "--workers", "2", "--no-report", "--", "./program"]) == 0
    assert capfd.readouterr().out == "4950 with 2\n"


def test_report_can_be_left_out(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    program = compiled(tmp_path, SOURCE, "-fopenmp")
    assert cli.run(["omp", "--no-report", "--workers", "2", "--preempt", "klt", "--", str(program)]) == 0
    assert capfd.readouterr().err == ""


def test_json(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    program = compiled(tmp_path, SOURCE, "-fopenmp")
    assert cli.run(["omp", "--json", "--workers", "2", "--", str(program)]) == 0
    assert json.loads(capfd.readouterr().out)["runtimes"]


def test_which_programs_are_openmp_programs(tmp_path: Path) -> None:
    """One with Weft inside is none, whatever else it is linked with: a note in its file tells, also without symbols."""
    openmp = compiled(tmp_path, SOURCE, "-fopenmp")
    example = Path(os.environ["WEFT_TEST_EXAMPLES"]) / "fib"
    stripped = tmp_path / "stripped"
    subprocess.run(["strip", "-o", stripped, example], check=True)
    assert needs_openmp([str(openmp)]) and not _has_weft(openmp)
    assert _has_weft(example) and _has_weft(stripped)
    assert not needs_openmp(["true"]) and not needs_openmp([]) and not _has_weft(Path(__file__))
    note = stripped.read_bytes()
    stripped.write_bytes(note.replace(struct.pack("<III8s", 5, 4, 1, b"Weft"), bytes(20)))
    assert not _has_weft(stripped)


def test_a_program_without_openmp(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    program = compiled(tmp_path, "int main(void) { return 0; }")
    assert cli.run(["omp", "--", str(program)]) == 1
    assert "has made no runtime of Weft" in capfd.readouterr().err


def test_a_program_that_fails(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    program = compiled(tmp_path, SOURCE.replace("? 0 : 3", "? 5 : 3"), "-fopenmp")
    assert cli.run(["omp", "--", str(program)]) == 1
    assert "ended with status 5" in capfd.readouterr().err


def test_refuses_static_programs(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    program = compiled(tmp_path, "int main(void) { return 0; }", "-static")
    assert cli.run(["omp", "--", str(program)]) == 1
    assert "statically linked" in capfd.readouterr().err


def test_refuses_setuid_programs(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    program = compiled(tmp_path, SOURCE, "-fopenmp")
    program.chmod(program.stat().st_mode | stat.S_ISUID)
    assert cli.run(["omp", "--", str(program)]) == 1
    assert "setuid" in capfd.readouterr().err


@pytest.mark.parametrize("name", ["libomp.so.5", "libiomp5.so"])
def test_takes_the_library_that_the_program_needs(tmp_path: Path, name: str) -> None:
    """A program that needs nothing but a library of that name, as clang and Intel's compilers link it."""
    subprocess.run(
        ["gcc", "-shared", "-x", "c", "-", "-o", tmp_path / name, f"-Wl,-soname,{name}"],
        input="int f(void) { return 0; }",
        text=True,
        check=True,
    )
    program = compiled(
        tmp_path,
        "int f(void); int main(void) { return f(); }",
        "-x",
        "none",
        str(tmp_path / name),
        f"-Wl,-rpath,{tmp_path}",
    )
    assert library_for([str(program)]).name == name


def test_takes_the_library_for_all(tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text("#!/bin/sh\n")
    script.chmod(0o755)
    assert library_for([str(script)]).name == "libweft-openmp.so"


@pytest.mark.skipif(shutil.which("clang-19") is None, reason="there is no clang-19")
@pytest.mark.skipif(not Path("/usr/lib/llvm-19/lib/libomp.so.5").exists(), reason="there is no libomp-19-dev")
def test_runs_a_program_of_clang(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    program = tmp_path / "program"
    subprocess.run(["clang-19", "-fopenmp", "-x", "c", "-", "-o", program], input=SOURCE, text=True, check=True)
    assert cli.run(["omp", "--workers", "3", "--policy", "near", "--", str(program)]) == 0
    said = capfd.readouterr()
    assert said.out == "4950 with 3\n"
    assert "near on" in said.err and "3 workers" in said.err


def test_names_what_is_missing(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WEFT_OPENMP", str(tmp_path))
    program = shutil.which("true")
    assert program
    assert cli.run(["omp", "--", program]) == 1
    assert "WEFT_OPENMP" in capfd.readouterr().err
    assert cli.run(["omp", "--", str(tmp_path / "none")]) == 1
    assert "cannot be started" in capfd.readouterr().err
