#!/usr/bin/env python3
"""Runs the tests of LLVM 19's OpenMP runtime against the original library and against Weft's.

    llvm_suite.py --weft build/dev/openmp [--work build/openmp-suite-llvm] [--jobs 2] [--only PATTERN] [--env NAME=VALUE]...

The source package llvm-toolchain-19, which has the tests, is downloaded once (165 MB; `apt-get source`) into the work directory.
clang-19, libomp-19-dev and FileCheck-19 (llvm-19-tools) must be installed. The lines `RUN:` of a test are run as LLVM's own driver does, first
with the original library, then with Weft's. The table says how many passed, failed and do not apply: those that this machine or this
compiler cannot run, with the reason. Those that need OMPT are a row of their own. A test that passes with the original and fails with Weft's library
is listed; the exit status is 1 if the share of those without OMPT is above --most-failures percent.
"""

import argparse
import concurrent.futures
import fnmatch
import os
import re
import shutil
import signal
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

PACKAGE = "llvm-toolchain-19"
TESTS = "openmp/runtime/test"
FEATURES = {"linux", "affinity", "multicpu", "x86-target-arch", "x86_64-target-arch", "hidden-helper", "ompt", "clang", "clang-19",
            "hwloc"}
COMPILER = re.compile(r"%(?:clangXX|clang)\b|%libomp-(?:[a-z0-9]+-)*compile")


@dataclass
class Test:
    path: Path
    name: str
    lines: list[str] = field(default_factory=list)
    needs_ompt: bool = False
    fails: bool = False  # as the test says
    reason: str = ""  # why it does not apply


def fetch(work: Path) -> Path:
    """The folder of the tests."""
    found = list(work.glob(f"*/{TESTS}"))
    if found:
        return found[0]
    lists = work / "apt"
    (lists / "lists/partial").mkdir(parents=True, exist_ok=True)
    (lists / "sources").mkdir(exist_ok=True)
    for source in Path("/etc/apt/sources.list.d").glob("*.sources"):
        text = re.sub(r"(?m)^Types:.*$", "Types: deb-src", source.read_text())
        (lists / "sources" / source.name).write_text(text)
    apt = ["apt-get", "-o", "Dir::Etc::sourcelist=/dev/null", "-o", f"Dir::Etc::sourceparts={lists}/sources",
           "-o", f"Dir::State::lists={lists}/lists", "-o", f"Dir::Cache::srcpkgcache={lists}/sources.bin",
           "-o", f"Dir::Cache::pkgcache={lists}/packages.bin"]
    print(f"llvm_suite: downloading {PACKAGE}", flush=True)
    subprocess.run([*apt, "update"], check=True, stdout=subprocess.DEVNULL)
    subprocess.run([*apt, "--download-only", "source", PACKAGE], cwd=work, check=True, stdout=subprocess.DEVNULL)
    archive = next(work.glob(f"{PACKAGE}_*.orig.tar.xz"))
    subprocess.run(["tar", "xf", archive.name, "--wildcards", f"*/{TESTS}/*"], cwd=work, check=True)
    return next(work.glob(f"*/{TESTS}"))


def terms(text: str) -> list[str]:
    return [t.strip() for t in text.split(",") if t.strip()]


def holds(term: str) -> bool:
    return term == "true" or any(fnmatch.fnmatch(f, term) for f in FEATURES)


def read(path: Path, suite: Path) -> Test:
    t = Test(path, str(path.relative_to(suite)))
    continued = ""
    for line in path.read_text(errors="replace").splitlines():
        if match := re.search(r"\bRUN:(.*)", line):
            text = continued + match.group(1).strip()
            if text.endswith("\\"):
                continued = text[:-1] + " "
                continue
            continued = ""
            t.lines.append(text)
        elif match := re.search(r"\bREQUIRES:(.*)", line):
            t.needs_ompt |= "ompt" in terms(match.group(1))
            for term in terms(match.group(1)):
                if not holds(term):
                    t.reason = f"requires {term}"
        elif match := re.search(r"\bUNSUPPORTED:(.*)", line):
            for term in terms(match.group(1)):
                if holds(term):
                    t.reason = f"does not support {term}"
        elif match := re.search(r"\bXFAIL:(.*)", line):
            t.fails |= any(holds(term) for term in terms(match.group(1)))
    if not t.lines:
        t.reason = "is not run by itself"
    return t


def command(t: Test, suite: Path, folder: Path, compiles: bool) -> str:
    """The lines of the test as a shell script."""
    flags = f"-I {suite} -I {suite}/ompt -fno-omit-frame-pointer -w"
    libraries = "-lm -latomic"
    substitutions = [
        ("%libomp-compile-and-run", "%libomp-compile && %libomp-run"),
        ("%libomp-irbuilder-compile-and-run", "%libomp-irbuilder-compile && %libomp-run"),
        ("%libomp-c99-compile-and-run", "%libomp-c99-compile && %libomp-run"),
        ("%libomp-cxx-compile-and-run", "%libomp-cxx-compile && %libomp-run"),
        ("%libomp-cxx20-compile-and-run", "%libomp-cxx20-compile && %libomp-run"),
        ("%libomp-cxx-compile-c", f"%clangXX %openmp_flags %flags -std=c++17 -x c++ %s -o %t {libraries}"),
        ("%libomp-cxx-compile", f"%clangXX %openmp_flags %flags -std=c++17 %s -o %t {libraries}"),
        ("%libomp-cxx20-compile", f"%clangXX %openmp_flags %flags -std=c++20 %s -o %t {libraries}"),
        ("%libomp-compile", f"%clang %openmp_flags %flags %s -o %t {libraries}"),
        ("%libomp-irbuilder-compile", f"%clang %openmp_flags %flags -fopenmp-enable-irbuilder %s -o %t {libraries}"),
        ("%libomp-c99-compile", f"%clang %openmp_flags %flags -std=c99 %s -o %t {libraries}"),
        ("%libomp-run", "%t"),
        ("%clangXX", "clang++-19" if compiles else ": clang++"),
        ("%clang", "clang-19" if compiles else ": clang"),
        ("%openmp_flags", "-fopenmp"),
        ("%flags-use-compiler-omp-h", flags),
        ("%flags", flags),
        ("%python", sys.executable),
        ("%not", "not-19"),
        ("FileCheck", "FileCheck-19"),
        ("%sort-threads", "sort -n -s"),
        ("%preload-tool", f"env LD_PRELOAD={folder}/tool.so"),
        ("%no-as-needed-flag", "-Wl,--no-as-needed"),
        ("%S", str(t.path.parent)),
        ("%T", str(folder)),
        ("%s", str(t.path)),
        ("%t", str(folder / "test")),
    ]
    script = []
    for line in t.lines:
        for name, text in substitutions:
            line = line.replace(name, text)
        script.append(line)
    return "set -e -o pipefail\n" + "\n".join(script) + "\n"


def run(t: Test, suite: Path, folder: Path, library: Path | None, extra: dict[str, str], seconds: float) -> str:
    """Empty if the test passes."""
    compiles = library is None or sum(len(COMPILER.findall(line)) for line in t.lines) > 1
    folder.mkdir(parents=True, exist_ok=True)
    environment = {**os.environ}
    environment.pop("LD_LIBRARY_PATH", None)
    if library:
        environment |= {"LD_LIBRARY_PATH": str(library), **extra}
    script = folder / "script.sh"
    script.write_text(command(t, suite, folder, compiles))
    process = subprocess.Popen(["bash", str(script)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                               env=environment, cwd=folder, stdin=subprocess.DEVNULL, start_new_session=True)
    try:
        said, _ = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return f"longer than {seconds:g} s"
    if (process.returncode != 0) == t.fails:
        return ""
    last = [line for line in said.strip().splitlines() if line.strip()]
    errors = [line for line in last if "error" in line or "weft" in line]
    return f"exit status {process.returncode}: {(errors or last or [''])[-1].strip()[:160]}"


def report(title: str, results: list[tuple[Test, str, str]]) -> tuple[int, int]:
    """Prints a row; the numbers of tests that pass with the original, and of those that Weft's library fails."""
    passed = [r for r in results if not r[1]]
    lost = [r for r in passed if r[2]]
    both = sum(1 for r in results if r[1] and r[2])
    won = sum(1 for r in results if r[1] and not r[2])
    share = 100.0 * (len(passed) - len(lost)) / len(passed) if passed else 100.0
    print(f"{title}: {len(results)} run; the original passes {len(passed)}; of these Weft passes {len(passed) - len(lost)} "
          f"({share:.1f} %) and fails {len(lost)}; both fail {both}; only Weft passes {won}")
    return len(passed), len(lost)


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--weft", type=Path, required=True, help="folder with Weft's libomp.so.5")
    options.add_argument("--work", type=Path, default=Path("build/openmp-suite-llvm"))
    options.add_argument("--jobs", type=int, default=2)
    options.add_argument("--only", default="*", help="tests whose names (folder/file) match this pattern")
    options.add_argument("--env", action="append", default=[], help="NAME=VALUE, for Weft's library only")
    options.add_argument("--seconds", type=float, default=60.0, help="limit for a test with one library")
    options.add_argument("--most-failures", type=float, default=3.0, metavar="PERCENT")
    given = options.parse_args()
    weft = given.weft.resolve()
    if not (weft / "libomp.so.5").exists():
        options.error(f"there is no libomp.so.5 in {weft}")
    for tool in ("clang-19", "FileCheck-19", "not-19"):
        if not shutil.which(tool):
            options.error(f"there is no {tool}; install clang-19 and llvm-19-tools")
    extra = dict(e.split("=", 1) for e in given.env)
    work = given.work.resolve()
    work.mkdir(parents=True, exist_ok=True)
    suite = fetch(work)
    tests = [t for p in sorted([*suite.rglob("*.c"), *suite.rglob("*.cpp")])
             if fnmatch.fnmatch((t := read(p, suite)).name, given.only)]

    def both(t: Test) -> tuple[Test, str, str]:
        if t.reason:
            return t, "n/a", "n/a"
        folder = work / "programs" / t.name
        original = run(t, suite, folder, None, {}, given.seconds)
        ours = run(t, suite, folder, weft, extra, given.seconds)
        if original or ours:
            what = "BOTH FAIL" if original and ours else "ONLY WEFT PASSES" if original else "FAIL"
            print(f"{what} {t.name}: {ours or original}", flush=True)
        return t, original, ours

    with concurrent.futures.ThreadPoolExecutor(given.jobs) as pool:
        results = list(pool.map(both, tests))
    applicable = [r for r in results if not r[0].reason]
    reasons: dict[str, int] = {}
    for t, _, _ in results:
        if t.reason:
            reasons[t.reason] = reasons.get(t.reason, 0) + 1
    print("\nnot applicable: " + (", ".join(f"{n} ({why})" for why, n in sorted(reasons.items())) or "none"))
    report("tests that need OMPT", [r for r in applicable if r[0].needs_ompt])
    passed, lost = report("all others", [r for r in applicable if not r[0].needs_ompt])
    return 1 if 100.0 * lost > given.most_failures * max(passed, 1) else 0


if __name__ == "__main__":
    sys.exit(main())
