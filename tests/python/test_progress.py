"""The progress file, as the library writes it and as no program should."""

from __future__ import annotations

import os
import signal
import struct
import subprocess
from itertools import pairwise
from pathlib import Path

import pytest
from conftest import EXAMPLES, MACHINE
from hypothesis import given
from hypothesis import strategies as st
from weft.errors import Error
from weft.launcher import launch
from weft.progress import Progress, read_progress

pytestmark = pytest.mark.usefixtures("no_settings")


@pytest.mark.parametrize("engine", ["threads", "model"])
def test_of_a_program(engine: str, tmp_path: Path) -> None:
    machine = MACHINE if engine == "model" else None
    path = tmp_path / "progress"
    run = subprocess.run(
        [EXAMPLES / "fib", "--n", "15"],
        env={"WEFT_PROGRESS": str(path), "WEFT_WORKERS": "2", "WEFT_ENGINE": engine}
        | ({"WEFT_MACHINE": str(machine)} if machine else {}),
        check=True,
        capture_output=True,
        text=True,
        timeout=50,
    )
    seen = read_progress(path)
    assert seen and seen.over and seen.virtual == (engine == "model") and len(seen.workers) == 2
    assert f"tasks          {seen.tasks}\n" in run.stdout
    assert f"steals         {seen.steals}\n" in run.stdout
    assert seen.roots == 1 and seen.time > 0 and all(0 <= w.asleep <= w.idle for w in seen.workers)


def test_while_it_runs() -> None:
    seen: list[Progress] = []

    def observe(files: list[Path]) -> None:
        for p in (p for path in files if (p := read_progress(path))):
            seen.append(p)
            if p.real > seen[0].real:
                os.kill(p.process, signal.SIGKILL)

    run = launch([EXAMPLES / "fib", "--n", "60"], workers=2, observer=observe, stdout=subprocess.DEVNULL)
    assert run.status == -signal.SIGKILL and run.reports == () and run.traces == ()
    assert len(seen) >= 2
    for before, after in pairwise(seen):
        assert before.real <= after.real and before.tasks <= after.tasks and before.process == after.process
    assert not seen[-1].over and seen[-1].roots == 1


def layout(workers: int, version: int = 1, state: int = 1, sequence: int = 2) -> bytes:
    head = struct.pack("<8sIIII", b"weftprg\n", version, workers, 77, 0)
    body = struct.pack("<5Q", sequence, state, 10, 20, 3)
    return head + body + b"".join(struct.pack("<6Q", i % 3, 1, 2, 3, 5, 4) for i in range(workers))


def test_the_layout(tmp_path: Path) -> None:
    path = tmp_path / "progress"
    path.write_bytes(layout(3))
    seen = read_progress(path)
    assert seen and (seen.process, seen.virtual, seen.over, seen.real, seen.time, seen.roots) == (
        77,
        False,
        False,
        10,
        20,
        3,
    )
    assert [w.state for w in seen.workers] == ["busy", "searching", "asleep"]
    assert seen.busy == 1 and seen.tasks == 3 and seen.steals == 6
    assert (seen.workers[0].exposures, seen.workers[0].idle, seen.workers[0].asleep) == (3, 5, 4)


@pytest.mark.parametrize(
    "content",
    [None, b"", b"\0" * 200, layout(2, state=0), layout(2, sequence=3), layout(2)[:-1]],
    ids=["no_file", "empty", "zeros", "not_begun", "being_written", "cut_off"],
)
def test_nothing_to_be_seen(content: bytes | None, tmp_path: Path) -> None:
    path = tmp_path / "progress"
    if content is not None:
        path.write_bytes(content)
    assert read_progress(path) is None


def test_of_another_kind(tmp_path: Path) -> None:
    path = tmp_path / "progress"
    for content in (b"x" * 200, layout(2, version=2)):
        path.write_bytes(content)
        with pytest.raises(Error, match="no progress; given"):
            read_progress(path)


@given(st.binary(max_size=200), st.booleans())
def test_any_bytes(tmp_path_factory: pytest.TempPathFactory, content: bytes, with_head: bool) -> None:
    path = tmp_path_factory.mktemp("bytes") / "progress"
    path.write_bytes(layout(1)[:24] + content if with_head else content)
    try:
        seen = read_progress(path)
        assert seen is None or len(seen.workers) == 1
    except Error:
        pass
