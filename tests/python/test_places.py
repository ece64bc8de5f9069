"""Names and places of constructs: programs of gcc and clang, with debug information, without, stripped; libraries."""

from __future__ import annotations

import math
import os
import random
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
import weft
from conftest import SOURCE
from weft import cli
from weft.symbols import Module, SourceLine, construct_of
from weft.trace import layout, places
from weft.trace.places import CodeAddress, resolve
from weft.trace.stats import class_name, stats
from writing import CHILD, FORK, FRESH, ROOT, SHARE, TraceFile

Write = Callable[[TraceFile], Path]

BUILD = Path(os.environ.get("WEFT_TEST_BUILD", SOURCE / "build/dev"))
CLANG = shutil.which("clang++-19") or shutil.which("clang++")
COMPILERS = ["g++", pytest.param("clang", marks=pytest.mark.skipif(CLANG is None, reason="there is no clang"))]

PROGRAM = """\
#include <weft/graph.hpp>
#include <weft/join.hpp>
#include <weft/parallel.hpp>
#include <weft/runtime.hpp>
#include <weft/task_group.hpp>
#include <vector>

namespace heat {
double sum;
void sweep(std::vector<double>& cells) {
    weft::parallel_for(0, static_cast<int>(cells.size()), [&](int i) { // loop
        cells[static_cast<std::size_t>(i)] += i;
    }, {.grain = 10});
}
} // namespace heat

long fib(int n) {
    if (n < 2) return n;
    auto [a, b] = weft::join([&] { return fib(n - 1); }, // first
                             [&] { return fib(n - 2); }); // second
    return a + b;
}

struct functor {
    long n;
    void operator()() const { heat::sum += static_cast<double>(n); } // functor
};

int main() {
    std::vector<double> cells(100);
    weft::runtime rt({.workers = 1});
    rt.run([&] { // root
        heat::sum += static_cast<double>(fib(6));
        heat::sweep(cells);
        weft::task_group group;
        for (int i = 0; i < 3; ++i)
            group.run([i] { heat::sum += i; }); // child
        group.run(functor{1});
        group.run([] { heat::sum += 7; }, {.name = "named"}); // named
        group.wait();
        weft::graph dag;
        dag.add([] { heat::sum += 1.5; }); // graph
        dag.run();
    });
}
"""


def line(mark: str, source: str = PROGRAM) -> int:
    return next(n for n, text in enumerate(source.splitlines(), 1) if text.endswith(f"// {mark}"))


def compiled(folder: Path, source: str, compiler: str, *options: str, name: str = "program") -> Path:
    """`source` as a program that uses the shared library."""
    if not (BUILD / "libweft.so").exists():
        pytest.skip("the shared library is not built")
    (folder / f"{name}.cpp").write_text(source)
    program = folder / name
    what = ["-std=c++20", "-pthread", "-DWEFT_SHARED", f"-I{SOURCE}/include", f"{name}.cpp", "-o", str(program)]
    uses = [f"-L{BUILD}", "-lweft", f"-Wl,-rpath,{BUILD}", *options]
    command = [CLANG if compiler == "clang" else compiler, *what, *uses]
    subprocess.run([str(word) for word in command], cwd=folder, check=True, timeout=300)
    return program


def traced(program: Path, policy: str = "steal") -> weft.Trace:
    trace = program.with_name(f"{policy.replace(':', '-')}.weft")
    environment = {k: v for k, v in os.environ.items() if not k.startswith("WEFT_")}
    environment |= {"WEFT_TRACE": str(trace), "WEFT_POLICY": policy}
    subprocess.run([program], env=environment, check=True, timeout=60)
    return weft.read_trace(trace)


def classes(trace: weft.Trace, origin: str) -> set[str]:
    tasks = trace.tasks.filter(pl.col("origin") == origin)
    return set(tasks.select(class_name().alias("class"))["class"])


# ---- real programs


@pytest.fixture(scope="module", params=COMPILERS)
def compiler(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def described(compiler: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With debug information."""
    return compiled(tmp_path_factory.mktemp("described"), PROGRAM, compiler, "-O2", "-g")


@pytest.fixture(scope="module")
def plain(compiler: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With symbols only."""
    return compiled(tmp_path_factory.mktemp("plain"), PROGRAM, compiler, "-O2", "-g0")


# Children in the silent zone, in the reported zone, and queued.
@pytest.mark.parametrize("policy", ["steal", "steal:zone=reported", "share"])
def test_constructs_have_lines(described: Path, policy: str) -> None:
    trace = traced(described, policy)

    def at(mark: str) -> str:
        return f"program.cpp:{line(mark)}"

    forks = {at("second"), at("loop")}
    children = {at("child"), at("functor"), "named"}
    if policy == "steal":
        assert classes(trace, "fork") == forks
        assert classes(trace, "child") == children
    else:  # the closures of joins are children of groups
        assert classes(trace, "fork") | classes(trace, "child") == forks | children | {at("first")}
    assert classes(trace, "root") == {at("root")}
    assert classes(trace, "graph") == {at("graph")}
    assert trace.place_notes == []

    found = places(trace)
    assert set(found) == {c.name for c in stats(trace).classes if not c.name.startswith("(")}
    loop = found[at("loop")]
    assert (loop.file, loop.line) == (str(described.with_name("program.cpp")), line("loop"))
    assert loop.module == str(described) and loop.offset > 0 and "heat::sweep" in str(loop.symbol)
    assert found["named"].line == line("named"), "a name has the place of its first task"


NAMED = """\
#include <weft/block_loops.hpp>
#include <weft/parallel.hpp>
#include <weft/runtime.hpp>
#include <weft/scan.hpp>
#include <vector>

int main() {
    std::vector<int> v(1000, 1), sums(1000);
    const auto grow = [&](int i) { ++v[static_cast<std::size_t>(i)]; };
    weft::parallel_for(0, 1000, grow, {.grain = 10, .name = "outside"});
    int total = 0;
    weft::runtime::default_runtime().run([&] {
        weft::parallel_for(0, 1000, grow, {.grain = 10, .name = "loop"});
        weft::parallel_for(weft::range2d(10, 100), [&](int i, int j) { grow(100 * i + j); },
                           {.grain = 10, .name = "cells"});
        const auto plus = [](int a, int b) { return a + b; };
        weft::parallel_scan(v.begin(), v.end(), sums.begin(), 0, plus, {.grain = 10, .name = "scan"});
        const auto value = [&](int i) { return v[static_cast<std::size_t>(i)]; };
        total = weft::parallel_reduce(0, 1000, 0, value, plus, {.grain = 10, .name = "sum"});
        total += weft::parallel_reduce(weft::range2d(10, 100), 0, [](int, int) { return 1; }, plus,
                                       {.grain = 10, .name = "count"});
    }, {.name = "all"});
    return total == 5000 && sums.back() == 4000 ? 0 : 1;
}
"""


# Lazy loops, those in halves, and those in pieces.
@pytest.mark.parametrize("policy", ["steal", "steal:zone=reported", "cab"])
def test_loops_and_runs_have_the_names_that_they_are_given(tmp_path: Path, policy: str) -> None:
    trace = traced(compiled(tmp_path, NAMED, "g++", "-O2", "-g0"), policy)
    inside = {"loop", "cells", "scan", "sum", "count"}
    assert classes(trace, "root") == {"outside", "all"}
    assert classes(trace, "fork") | classes(trace, "child") == {"outside"} | inside


def test_lines_without_types(compiler: str, tmp_path: Path) -> None:
    """-g1 describes no types: the lines are those of the code."""
    trace = traced(compiled(tmp_path, PROGRAM, compiler, "-O2", "-g1"))
    body = f"program.cpp:{line('loop') + 1}"
    assert classes(trace, "fork") <= {f"program.cpp:{line('second')}", f"program.cpp:{line('loop')}", body}
    assert len(classes(trace, "fork")) == 2
    assert f"program.cpp:{line('child')}" in classes(trace, "child")


def test_symbols_without_lines(plain: Path, compiler: str) -> None:
    trace = traced(plain)
    fork, loop = sorted(classes(trace, "fork"))
    if compiler == "g++":
        assert (fork, loop) == ("fib::{lambda()#2}", "heat::sweep::{lambda(int)#1}")
        assert classes(trace, "child") == {"main::{lambda()#1}::{lambda()#1}", "functor", "named"}
    else:
        assert re.fullmatch(r"fib::\$_\d", fork) and re.fullmatch(r"heat::sweep::\$_\d", loop)
    assert all(p.file is None and p.line is None and p.symbol for p in places(trace).values())


@pytest.fixture(scope="module")
def stripped(plain: Path) -> Path:
    path = plain.with_name("stripped")
    subprocess.run(["strip", "-o", path, plain], check=True)
    return path


def test_a_stripped_program_has_addresses(stripped: Path) -> None:
    trace = traced(stripped)
    forks = classes(trace, "fork")
    assert len(forks) == 2 and all(re.fullmatch(r"stripped\+0x[0-9a-f]+", name) for name in forks)
    assert all(p.symbol is None and p.module == str(stripped) for p in places(trace).values())
    assert trace.place_notes == []


def test_a_construct_in_a_library(compiler: str, tmp_path: Path) -> None:
    library = PROGRAM.replace("int main()", 'extern "C" void in_library()')
    compiled(tmp_path, library, compiler, "-g", "-shared", "-fPIC", name="libheat.so")
    main = 'extern "C" void in_library();\nint main() { in_library(); }\n'
    program = compiled(tmp_path, main, compiler, "-L.", "-l:libheat.so", f"-Wl,-rpath,{tmp_path}")
    trace = traced(program)
    assert classes(trace, "fork") == {f"libheat.so.cpp:{line('second')}", f"libheat.so.cpp:{line('loop')}"}
    assert {p.module for p in places(trace).values()} == {str(tmp_path / "libheat.so")}


@pytest.mark.parametrize("how", ["gone", "another", "cut", "no program"])
def test_a_file_that_is_not_what_ran(plain: Path, stripped: Path, tmp_path: Path, how: str) -> None:
    program = tmp_path / "program"
    shutil.copy(plain, program)
    trace_path = traced(program).path
    program.unlink()
    if how == "another":
        shutil.copy("/bin/true", program)
    elif how == "cut":
        program.write_bytes(plain.read_bytes()[:5000])
    elif how == "no program":
        program.write_text("#!/bin/sh\n")
    trace = weft.read_trace(trace_path)
    assert all(re.fullmatch(r"program\+0x[0-9a-f]+", name) for name in classes(trace, "fork"))
    (note,) = trace.place_notes
    said = {"gone": "No such file", "another": "changed since", "cut": "damaged", "no program": "not an ELF file"}
    assert str(program) in note and said[how] in note
    assert note in stats(trace).notes


def test_the_commands_show_places(described: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    trace = traced(described)
    loop = f"program.cpp:{line('loop')}"
    for command in (["trace", "stats"], ["trace", "stats", "--json"]):
        assert cli.run([*command, str(trace.path)]) == 0
        assert loop in capsys.readouterr().out
    for command, output in (
        (["trace", "convert", "--to", "chrome"], "run.json"),
        (["trace", "convert", "--to", "perfetto"], "run.pftrace"),
    ):
        assert cli.run([*command, str(trace.path), "-o", str(tmp_path / output)]) == 0
        assert loop.encode() in (tmp_path / output).read_bytes()


# ---- OpenMP

REGIONS = """\
#include <stdio.h>
double cells[1000];
int main(void) {
#pragma omp parallel for schedule(dynamic, 10) // loop
    for (int i = 0; i < 1000; ++i)
        cells[i] += i;
#pragma omp parallel // region
#pragma omp single
    for (int i = 0; i < 20; ++i)
#pragma omp task firstprivate(i) // task
        cells[i] *= 2;
    printf("%g\\n", cells[19]);
    return 0;
}
"""


@pytest.mark.skipif(not (BUILD / "openmp/libgomp.so.1").exists(), reason="built without WEFT_BUILD_OPENMP")
def test_regions_of_openmp(compiler: str, tmp_path: Path) -> None:
    (tmp_path / "solver.c").write_text(REGIONS)
    program = tmp_path / "solver"
    c = "gcc" if compiler == "g++" else str(CLANG).replace("clang++", "clang")
    subprocess.run([c, "-fopenmp", "-O1", "-g", "-c", "solver.c"], cwd=tmp_path, check=True)
    library = BUILD / "openmp" / ("libgomp.so.1" if compiler == "g++" else "libomp.so.5")
    subprocess.run([c, "solver.o", str(library), "-o", str(program)], cwd=tmp_path, check=True)
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("WEFT_", "OMP_"))}
    environment |= {"WEFT_TRACE": str(tmp_path / "run.weft"), "WEFT_WORKERS": "2", "OMP_NUM_THREADS": "3"}
    environment |= {"LD_LIBRARY_PATH": str(BUILD / "openmp")}
    subprocess.run([program], env=environment, check=True, timeout=60)
    trace = weft.read_trace(tmp_path / "run.weft")
    found = classes(trace, "root") | classes(trace, "child")
    regions = {f"solver.c:{line(mark, REGIONS)}" for mark in ("loop", "region")}
    tasks = {f"solver.c:{line('task', REGIONS)}", f"solver.c:{line('task', REGIONS) + 1}"}  # clang: of its body
    assert regions <= found and found <= regions | tasks
    assert all(p.module == str(program) for p in places(trace).values())


# ---- names of symbols


@pytest.mark.parametrize(
    ("symbol", "name"),
    [
        ("_ZN4weft4impl10join_frameIZ3fibiEUlvE0_E11run_closureEPNS0_5frameE", "fib::{lambda()#2}"),
        ("_ZN4weft4impl10join_frameIZ3fibiE3$_1E11run_closureEPNS0_5frameE", "fib::$_1"),
        ("_ZZN4weft10task_group5spawnI4TaskEEvOT_RKNS_5hintsEENUlPvE_4_FUNES8_", "Task"),
        (
            "_ZN4weft4impl10join_frameIZNS0_9loop_overIiZNS_12parallel_forIiZN4heat5sweepERNS4_4gridEEUliE_EEvT_S8_OT0_"
            "RKNS_12loop_optionsEEUliiE_EEvS8_llRNS0_12learnt_grainERS9_EUlvE1_E11run_closureEPNS0_5frameE",
            "heat::sweep::{lambda(int)#1}",
        ),
        (  # with constraints, which the demangler of gcc 12 does not know
            "_ZN4weft4impl10join_frameIZNS0_9loop_overIiZNS_12parallel_forITkNS_9LoopIndexEiZN4heat5sweepERNS4_4gridEE3$_0"
            "Q8LoopBodyIT0_RT_EEEvS9_S9_OS8_RKNS_12loop_optionsEEUliiE_EEvS9_llRNS0_12learnt_grainERS8_EUlvE0_E11run_closure"
            "EPNS0_5frameE",
            "heat::sweep::$_0",
        ),
        (  # a lambda expression in another one
            "_ZZN4weft10task_group5spawnIZZ4mainENKUlvE_clEvEUlvE_EEvOT_RKNS_5hintsEENUlPvE1_4_FUNES9_",
            "main::{lambda()#1}::{lambda()#1}",
        ),
        (
            "_ZZN4weft10task_group5spawnIZNS_5asyncITkNS_14TaskWithResultEZZ4mainENK3$_0clEvEUlvE0_EEDaOT_RKNS_5hintsEEUlvE_"
            "EEvS6_S9_ENUlPvE_8__invokeESB_",
            "main::$_0::{lambda#2}",
        ),
        ("_ZZN4weft10task_group5spawnIRPFvvEEEvOT_RKNS_5hintsEENUlPvE_4_FUNES9_", "weft::task_group::spawn"),
        ("_Z5sweepv._omp_fn.0", "sweep._omp_fn.0"),
        ("main._omp_fn.3", "main._omp_fn.3"),
        ("main.omp_outlined.4", "main.omp_outlined.4"),
        ("_ZN3app6matrixIdLi4EE5solveEv", "app::matrix<double, 4>::solve"),
        ("_ZN3apprsERKNS_5valueEi", "app::operator>>"),
        ("i", "i"),
        ("_ZN", "_ZN"),
        ("", ""),
    ],
)
def test_names_of_symbols(symbol: str, name: str) -> None:
    assert construct_of(symbol) == name


def test_any_text_is_a_symbol() -> None:
    draw = random.Random(1)
    known = "_ZN4weft4impl10join_frameIZ3fibiEUlvE0_E11run_closureEPNS0_5frameE"
    for _ in range(2000):
        text = list(known)
        for _ in range(draw.randint(1, 4)):
            text[draw.randrange(len(text))] = draw.choice("_ZNEIKS0123456789$lvUfib<>(){}:, ")
        symbol = "".join(text)
        assert construct_of(symbol), (symbol, "seed 1")


# ---- tables


def test_places_name_classes(write: Write) -> None:
    trace = TraceFile(1).names(n1="named").places(n1=("", "", 7), n2=("", "", 0x1A2B), n3=("/none/app", "ab", 16))
    trace.stream(
        0,
        (0, "spawn", 1, 0, 1, ROOT),
        (0, "begin", 1, 0, 0, FRESH),
        (1, "spawn", 2, 0, 2, FORK),
        (2, "spawn", 3, 0, 3, FORK),
        (3, "spawn", 4, 0, 0, FORK),
        (4, "spawn", 5, 9, 2, CHILD),
        (5, "spawn", 6, 5, 0, SHARE),  # of the task before
        (9, "end", 1),
    )
    read = weft.read_trace(write(trace.end()))
    assert read.tasks.select(class_name().alias("c"))["c"].to_list() == [
        "named", "0x1a2b", "app+0x10", "(fork)", "0x1a2b", "0x1a2b",
    ]  # fmt: skip
    assert read.codes[3] == CodeAddress("/none/app", "ab", 16)
    assert {name: p.offset for name, p in places(read).items()} == {"named": 7, "0x1a2b": 0x1A2B, "app+0x10": 16}
    assert read.critical_path["place"].to_list() == ["0x7"] * len(read.critical_path)


@pytest.mark.parametrize("version", [1, 2])
def test_older_traces_have_no_places(write: Write, version: int) -> None:
    trace = TraceFile(1, version=version).stream(0, (0, "spawn", 1, 0, 0, ROOT), (1, "spawn", 2, 0, 0, FORK)).end()
    read = weft.read_trace(write(trace))
    assert read.tasks.select(class_name().alias("c"))["c"].to_list() == ["(root)", "(fork)"]
    assert places(read) == {}
    with pytest.raises(weft.TraceError, match="unknown type of block; given: 4"):
        weft.read_trace(write(TraceFile(1, version=version).places(n1=("", "", 7)).end()))


@pytest.mark.parametrize(
    "place",
    [
        None,
        3,
        [],
        {},
        {"module": "a", "build_id": "b"},
        ("a", "b", -1),
        ("a", "b", 1 << 64),
        ("a", "b", 1.0),
        ("a", "b", True),
        ("a", None, 1),
        (7, "b", 1),
    ],
)
def test_damaged_places_are_refused(write: Write, place: object) -> None:
    with pytest.raises(weft.TraceError, match="no place"):
        weft.read_trace(write(TraceFile().places(n1=place).end()))


@pytest.mark.parametrize("number", ["n0", "n-1", "nx", "n4294967296", "n"])
def test_damaged_numbers_are_refused(write: Write, number: str) -> None:
    with pytest.raises(weft.TraceError, match="no place"):
        weft.read_trace(write(TraceFile().places(**{number: ("a", "b", 1)}).end()))
    with pytest.raises(weft.TraceError, match="damaged text"):
        weft.read_trace(write(TraceFile().block(layout.PLACES, layout.OUTSIDE, b"[1]").end()))


def test_files_of_one_name_are_told_apart(tmp_path: Path) -> None:
    codes: dict[int, CodeAddress] = {}
    for number, folder in enumerate(("a/x", "b/x", "b/y"), 1):
        where = tmp_path / folder
        where.mkdir(parents=True)
        (where / "work.c").write_text("int work(void) { return 1; }\n")
        library = where / f"lib{number}.so"
        subprocess.run(["gcc", "-g", "-shared", "-Wl,--build-id=none", where / "work.c", "-o", library], check=True)
        symbols = subprocess.run(["nm", library], capture_output=True, text=True, check=True).stdout
        (address,) = re.findall(r"^(\w+) T work$", symbols, re.M)
        codes[number] = CodeAddress(str(library), "", int(address, 16))
    found, notes = resolve(codes, (tmp_path / "b/y").stat().st_mtime + 1000)
    assert [found[n].name for n in codes] == ["a/x/work.c:1", "b/x/work.c:1", "y/work.c:1"]
    assert notes == []
    _, notes = resolve(codes, 0)
    assert len(notes) == 3 and all("has changed since it ran" in note for note in notes), "no build id, and newer"


@pytest.mark.skipif(CLANG is None, reason="there is no clang")
def test_units_that_the_index_knows_and_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """gcc writes an index of the code of its units, and clang writes none."""
    for name, compiler in (("by_gcc", "gcc"), ("by_clang", str(CLANG))):
        (tmp_path / f"{name}.c").write_text(f"\nint {name}(int n) {{ return n; }}\n")
        words = [compiler, "-g", "-fPIC", "-x", "c", "-c", f"{name}.c", "-o", f"{name}.o"]
        subprocess.run(words, cwd=tmp_path, check=True)
    library = tmp_path / "lib.so"
    subprocess.run(["gcc", "-shared", "by_gcc.o", "by_clang.o", "-o", library], cwd=tmp_path, check=True)
    listed = subprocess.run(["nm", "-S", library], capture_output=True, text=True, check=True).stdout
    functions = re.findall(r"^(\w+) (\w+) [Tt] (\w+)$", listed, re.M)
    addresses = {name: int(address, 16) for address, _, name in functions}

    def read() -> Module:
        module = Module(str(library), _build_id_of(library), math.inf)
        assert module.trouble == ""
        return module

    module = read()
    for address, size, name in functions:
        first, last = int(address, 16), int(address, 16) + int(size, 16) - 1
        assert module.symbol(first) == module.symbol(last) == name
    for name in ("by_gcc", "by_clang"):
        assert module.line(addresses[name]) == SourceLine(str(tmp_path / f"{name}.c"), 2)
    # A search of the index by halves misses a range if another one begins inside of it.
    monkeypatch.setattr("elftools.dwarf.aranges.ARanges.cu_offset_at_addr", lambda index, address: None)
    assert read().line(addresses["by_gcc"]) == SourceLine(str(tmp_path / "by_gcc.c"), 2)


def _build_id_of(file: Path) -> str:
    notes = subprocess.run(["readelf", "-n", file], capture_output=True, text=True, check=True).stdout
    found = re.search(r"Build ID: (\w+)", notes)
    return found[1] if found else ""


def test_damaged_files_do_no_harm(described: Path, tmp_path: Path) -> None:
    """Whatever is wrong in a file: its names are missing or wrong, and nothing else happens."""
    seed = 2
    draw = random.Random(seed)
    source = tmp_path / "small.c"
    source.write_text("#include <stdio.h>\nint work(int n) { return n * 2; }\nint main(void) { return work(0); }\n")
    small = tmp_path / "small"
    subprocess.run(["gcc", "-g", source, "-o", small, "-Wl,--build-id=none"], check=True)
    good = small.read_bytes()
    symbols = subprocess.run(["nm", small], capture_output=True, text=True, check=True).stdout
    at = int(re.findall(r"^(\w+) T work$", symbols, re.M)[0], 16)
    later = small.stat().st_mtime + 1e6
    whole = Module(str(small), "", later)
    assert (whole.symbol(at), whole.trouble) == ("work", "") and getattr(whole.line(at), "line", 0) == 2
    outcomes = set()
    for i in range(150):
        bytes_ = bytearray(good)
        for _ in range(draw.randint(1, 20)):
            where = draw.randrange(len(bytes_)) if draw.random() < 0.7 else draw.randrange(64)
            bytes_[where] = draw.choice([0, 1, 0x7F, 0xFF, draw.randrange(256)])
        small.write_bytes(bytes_[: draw.choice([len(bytes_), draw.randrange(len(bytes_))])])
        module = Module(str(small), "", later)
        outcomes.add((module.symbol(at) is not None, module.line(at) is not None, bool(module.trouble)))
        assert "\n" not in module.trouble, f"seed {seed}, input {i}"
    assert len(outcomes) > 2, outcomes
