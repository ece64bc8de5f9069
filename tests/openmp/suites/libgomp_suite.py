#!/usr/bin/env python3
"""Runs the C, C++ and Fortran host tests of gcc 12's libgomp against the original library and against Weft's.

    libgomp_suite.py --weft build/dev/openmp [--work build/openmp-suite] [--jobs 2] [--only PATTERN] [--env NAME=VALUE]...

Debian's package gcc-12-source, which has the tests, is downloaded once (`apt-get download`) into the work directory. gcc-12, g++-12 and
gfortran-12 must be installed. Each test is compiled once, and the same program is run with either library. The table says how many passed, failed, and do not apply:
tests that only compile, that need a device, and whose requirements this script does not know. A test that passes with the
original and fails with Weft's library is listed; the exit status is 1 if their share is above --most-failures percent.
"""

import argparse
import concurrent.futures
import fnmatch
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

PACKAGE = "gcc-12-source"
FOLDERS = [("libgomp.c", ["c"]), ("libgomp.c-c++-common", ["c", "c++"]), ("libgomp.c++", ["c++"]), ("libgomp.fortran", ["fortran"]),
           ("libgomp.graphite", ["c"])]
COMPILERS = {"c": "gcc-12", "c++": "g++-12", "fortran": "gfortran-12"}
SUFFIXES = {"c": r"\.c", "c++": r"\.[cC]", "fortran": r"\.[fF](90|95|03|08)?"}
KNOWN_TARGETS = {"tls", "tls_runtime", "sync_int_long", "cas_int", "cas_int || cas_int_runtime", "c++11", "c++14", "c++17",
                 "pthread", "fopenmp", "sse2_runtime", "vect_simd_clones", "size32plus", "ptr_eq_long", "int128",
                 "alloca", "c", "c++", "lp64", "nonlocal_goto", "exceptions"}

DIRECTIVE = re.compile(r"\{\s*(dg-[a-z-]+)\s+((?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*)\}")


@dataclass
class Test:
    path: Path
    language: str
    options: list[str] = field(default_factory=lambda: ["-O2"])
    environment: dict[str, str] = field(default_factory=dict)
    sources: list[str] = field(default_factory=list)
    output: list[str] = field(default_factory=list)
    fails: bool = False
    reason: str = ""  # why it does not apply

    @property
    def name(self) -> str:
        return f"{self.folder}/{self.path.name} ({self.language})"

    @property
    def folder(self) -> str:
        """From libgomp.* on."""
        parts = self.path.parent.parts
        return "/".join(parts[next(i for i, part in enumerate(parts) if part.startswith("libgomp.")):])


def words(text: str) -> list[str]:
    text = text.strip()
    if text.startswith("{") and text.endswith("}"):
        text = text[1:-1]
    try:
        return shlex.split(text)
    except ValueError:
        return text.split()


def first_argument(text: str) -> tuple[str, str]:
    """The first argument of a directive, and what follows it."""
    text = text.strip()
    if text.startswith('"'):
        end = 1
        while end < len(text) and text[end] != '"':
            end += 2 if text[end] == "\\" else 1
        return text[1:end], text[end + 1:].strip()
    if text.startswith("{"):
        depth = 0
        for i, c in enumerate(text):
            depth += (c == "{") - (c == "}")
            if depth == 0:
                return text[1:i].strip(), text[i + 1:].strip()
    head, _, rest = text.partition(" ")
    return head, rest.strip()


def applies(selector: str) -> bool | None:
    """Whether a { target ... } selector names this machine; None: the script does not know."""
    if not selector:
        return True
    inside = selector.strip().strip("{}").strip()
    kind, _, what = inside.partition(" ")
    what = what.strip().strip("{}").strip()
    known = {"*-*-*": True, "x86_64-*-*": True, "i?86-*-*": False, "lp64": True, "c": None, "c++": None,
             "offload_device": False, "offload_device_nonshared_as": False, "*-*-linux*": True,
             "i?86-*-* x86_64-*-*": True, "x86": True, "tls_runtime": True, "run_expensive_tests": True, "avx_runtime": False,
             "sse2_runtime": True, "avx": True, "{ ! lp64 }": False, "! lp64": False}
    value = known.get(what)
    return (not value if kind == "skip" else value) if value is not None else None


def read(path: Path, language: str) -> Test:
    t = Test(path, language)
    text = path.read_text(errors="replace")
    does = "run"
    for match in DIRECTIVE.finditer(text):
        name, rest = match.group(1), match.group(2)
        argument, selector = first_argument(rest)
        if name == "dg-do":
            does = argument
            if applies(selector) is False:
                t.reason = f"for another machine: {selector}"
        elif name in ("dg-options", "dg-additional-options"):
            use = applies(selector)
            what = selector.strip().strip("{}").split()
            if use is None and what[-1:] in (["c"], ["c++"]):
                use = what[-1] == language
            if use is None:
                use = False
            if use:
                t.options = words(argument) if name == "dg-options" else t.options + words(argument)
        elif name == "dg-require-effective-target":
            if argument not in KNOWN_TARGETS:
                t.reason = f"requires {argument}"
        elif name == "dg-set-target-env-var":
            value, _ = first_argument(selector)
            t.environment[argument] = value
        elif name == "dg-shouldfail":
            t.fails = True
        elif name == "dg-output":
            t.output.append(argument)
        elif name == "dg-additional-sources":
            t.sources += words(argument)
        elif name == "dg-skip-if" and "*-*-*" in rest:
            t.reason = "skipped by the test"
    if does != "run":
        t.reason = f"only {does}s"
    return t


def fetch(work: Path) -> Path:
    """The folder libgomp/testsuite of the sources."""
    found = list(work.glob("**/libgomp/testsuite"))
    if found:
        return found[0]
    work.mkdir(parents=True, exist_ok=True)
    print(f"libgomp_suite: downloading {PACKAGE}", flush=True)
    subprocess.run(["apt-get", "download", PACKAGE], cwd=work, check=True, stdout=subprocess.DEVNULL)
    package = next(work.glob(f"{PACKAGE}_*.deb"))
    subprocess.run(["dpkg-deb", "-x", package.name, "package"], cwd=work, check=True)
    archive = next((work / "package").glob("**/gcc-12*.tar.xz"))
    subprocess.run(["tar", "xf", str(archive.resolve()), "--wildcards", "*/libgomp/*", "*/include/*"], cwd=work, check=True)
    return next(work.glob("**/libgomp/testsuite"))


def build(t: Test, binary: Path) -> str:
    """Compiles and links a test with the original; what the compiler says if that fails."""
    if binary.exists():
        return ""
    command = [COMPILERS[t.language], "-fopenmp", *t.options, "-w"]
    if t.language != "fortran":
        command += ["-x", t.language]
    command += [str(t.path), *[str(t.path.parent / s) for s in t.sources]]
    sources = next(p for p in t.path.parents if p.name == "testsuite").parent
    command += ["-o", str(binary), "-lm", "-I", str(t.path.parent), "-I", str(sources)]
    with tempfile.TemporaryDirectory() as modules:  # which a Fortran compiler writes into the current folder
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", cwd=modules)
    return "" if done.returncode == 0 else done.stderr.strip().splitlines()[-1] if done.stderr.strip() else "no message"


def run(t: Test, binary: Path, library: Path | None, extra: dict[str, str], seconds: float) -> str:
    """Empty if the test passes."""
    environment = {**os.environ, **t.environment}
    if library:
        environment["LD_LIBRARY_PATH"] = str(library)
        environment |= extra
    try:
        done = subprocess.run([str(binary)], capture_output=True, text=True, errors="replace", env=environment,
                              timeout=seconds, cwd=binary.parent, stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        return f"longer than {seconds:g} s"
    said = done.stdout + done.stderr
    if (done.returncode != 0) != t.fails:
        return f"exit status {done.returncode}: {(said.strip().splitlines() or [''])[-1][:120]}"
    pattern = "".join(t.output).encode().decode("unicode_escape") if t.output else ""
    try:
        if pattern and not re.search(pattern, said, re.DOTALL):
            return "the output is not as expected"
    except re.error:
        pass
    return ""


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--weft", type=Path, required=True, help="folder with Weft's libgomp.so.1")
    options.add_argument("--work", type=Path, default=Path("build/openmp-suite"))
    options.add_argument("--jobs", type=int, default=2)
    options.add_argument("--only", default="*", help="tests whose file names match this pattern")
    options.add_argument("--env", action="append", default=[], help="NAME=VALUE, for Weft's library only")
    options.add_argument("--seconds", type=float, default=60.0, help="limit for a program")
    options.add_argument("--most-failures", type=float, default=1.0, metavar="PERCENT")
    given = options.parse_args()
    weft = given.weft.resolve()
    for compiler in COMPILERS.values():
        if not shutil.which(compiler):
            options.error(f"there is no {compiler}")
    if not (weft / "libgomp.so.1").exists():
        options.error(f"there is no libgomp.so.1 in {weft}")
    extra = dict(e.split("=", 1) for e in given.env)
    suite = fetch(given.work.resolve())
    binaries = given.work.resolve() / "programs"
    binaries.mkdir(exist_ok=True)
    tests = [read(p, language)
             for folder, languages in FOLDERS
             for p in sorted((suite / folder).rglob("*"))
             for language in languages
             if re.fullmatch(SUFFIXES[language], p.suffix) and fnmatch.fnmatch(p.name, given.only)]

    def both(t: Test) -> tuple[Test, str, str]:
        if t.reason:
            return t, "n/a", "n/a"
        binary = binaries / f"{t.folder.replace('/', '--')}--{t.path.name}--{t.language}"
        wrong = build(t, binary)
        if wrong:
            t.reason = f"does not compile here: {wrong}"
            return t, "n/a", "n/a"
        original = run(t, binary, None, {}, given.seconds)
        ours = run(t, binary, weft, extra, given.seconds)
        if ours and not original:
            print(f"FAIL {t.name}: {ours}", flush=True)
        return t, original, ours

    with concurrent.futures.ThreadPoolExecutor(given.jobs) as pool:
        results = list(pool.map(both, tests))

    applicable = [r for r in results if r[1] != "n/a"]
    passed_by_original = [r for r in applicable if not r[1]]
    lost = [r for r in passed_by_original if r[2]]
    won = [r for r in applicable if r[1] and not r[2]]
    for t, why, _ in won:
        print(f"ONLY WEFT PASSES {t.name}: {why}")
    for t, why, weft_why in applicable:
        if why and weft_why:
            print(f"BOTH FAIL {t.name}: {why}")
    reasons: dict[str, int] = {}
    for t, _, _ in results:
        if t.reason:
            key = t.reason.split(":")[0]
            reasons[key] = reasons.get(key, 0) + 1
    print(f"{'':12}{'pass':>8}{'fail':>8}{'n/a':>8}")
    not_applicable = len(results) - len(applicable)
    print(f"{'libgomp':12}{len(passed_by_original):8}{len(applicable) - len(passed_by_original):8}{not_applicable:8}")
    weft_passes = sum(1 for r in applicable if not r[2])
    print(f"{'weft':12}{weft_passes:8}{len(applicable) - weft_passes:8}{not_applicable:8}")
    for reason, count in sorted(reasons.items(), key=lambda e: -e[1]):
        print(f"  n/a: {count:4} {reason}")
    if not passed_by_original:
        print("no test was run", file=sys.stderr)
        return 2
    share = 100 * (1 - len(lost) / len(passed_by_original))
    print(f"of what passes with libgomp, {share:.2f} % pass with Weft")
    return 1 if 100 - share > given.most_failures else 0


if __name__ == "__main__":
    sys.exit(main())
