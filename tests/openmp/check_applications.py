#!/usr/bin/env python3
"""Runs programs and libraries that others have compiled with their own OpenMP library and with Weft's, and compares what they compute.

    check_applications.py --weft BUILD/openmp [--small] [--only PATTERN] [--rounds 3] [--threads 2] [--env NAME=VALUE]... [--json FILE]
    check_applications.py --install     the packages of Debian that are missing (apt-get), and those of PyPI into --work
    check_applications.py --list
    check_applications.py --self-test   that a difference is noticed, and a program that does not use Weft

applications/applications.toml says what there is. With Weft, its library is preloaded, as `weft omp` does. The table has the median time
with either library, taken in turns. A result is compared byte by byte where the original computes the same each time, else a figure of
it within a tolerance. What is not installed is listed. Exit status: 1 if a result differs or a program has not used Weft, 77 if nothing is
installed.
"""

import argparse
import fnmatch
import json
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time
import tomllib
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent / "applications"
SECONDS = 300
NOTHING_RAN = 77


# ---- inputs, the same each time


def sequences(path: Path, letters: str, count: int, length: int, shortest: int, change: float) -> None:
    """One sequence and `count` descendants of it."""
    draw = random.Random(1)
    first = [draw.choice(letters) for _ in range(length)]
    with path.open("w") as file:
        for i in range(count):
            one = [draw.choice(letters) if draw.random() < change else c for c in first]
            file.write(f">s{i}\n{''.join(one[: draw.randint(shortest, length)])}\n")


def picture(path: Path, width: int, height: int) -> None:
    draw = random.Random(1)
    soft = bytes((x * 3 + y * 2 + c * 40) // 24 % 256 for y in range(height) for x in range(width) for c in range(3))
    noise = draw.randbytes(len(soft))
    path.write_bytes(b"P6 %d %d 255\n" % (width, height) + bytes(s ^ (n & 15) for s, n in zip(soft, noise)))


def make_inputs(folder: Path) -> dict[str, str]:
    folder.mkdir(parents=True, exist_ok=True)
    makers = {
        "dna": lambda p: sequences(p, "ACGT", 300, 500, 500, 0.1),
        "proteins": lambda p: sequences(p, "ACDEFGHIKLMNPQRSTVWY", 100, 220, 160, 0.2),
        "picture": lambda p: picture(p, 1000, 800),
    }
    made = {}
    for name, make in makers.items():
        path = folder / {"dna": "dna.fa", "proteins": "proteins.fa", "picture": "picture.ppm"}[name]
        if not path.exists():
            make(path)
        made[name] = str(path)
    return made


# ---- applications


class Application:
    def __init__(self, name: str, about: dict[str, Any], work: Path) -> None:
        self.name, self.about = name, about
        self.python = work / "python/bin/python"
        self.work = work

    def missing(self) -> str:
        """What is not installed; empty if nothing is missing."""
        if packages := self.about.get("packages"):
            known = subprocess.run(["dpkg-query", "-W", "-f=${db:Status-Status} ${Package}\n", *packages], capture_output=True, text=True)
            there = {line.split()[1] for line in known.stdout.splitlines() if line.startswith("installed ")}
            return " ".join(p for p in packages if p not in there)
        if names := self.about.get("python"):
            asked = ["-c", f"import importlib.metadata as m; [m.version(n) for n in {names!r}]"]
            if not self.python.exists() or subprocess.run([self.python, *asked], capture_output=True).returncode:
                return " ".join(names)
        return ""

    def build(self, folder: Path) -> None:
        if source := self.about.get("source"):
            program = folder / Path(source).stem
            subprocess.run(["gcc", "-O2", "-fopenmp", str(HERE / source), "-o", str(program), *self.about["link"]], check=True)

    def command(self, values: dict[str, str]) -> list[str]:
        words = [w.format_map(values) for w in self.about["run"]]
        return [str(self.python), *words] if "python" in self.about else words

    def run(self, values: dict[str, str], environment: dict[str, str]) -> tuple[bytes, float]:
        """The result, and the time in seconds."""
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            self.build(folder)
            for words in self.about.get("prepare", []):
                filled = [w.format_map(values) if w.startswith("{") else w for w in words]
                subprocess.run(filled, cwd=folder, check=True, capture_output=True, timeout=SECONDS)
            begin = time.monotonic()
            done = subprocess.run(self.command(values), cwd=folder, env={**os.environ, **self.about.get("environment", {}), **environment},
                                  capture_output=True, timeout=SECONDS)
            seconds = time.monotonic() - begin
            if done.returncode:
                raise RuntimeError(f"status {done.returncode}: {done.stderr.decode(errors='replace')[-400:].strip()}")
            places = {"output": done.stdout, "error": done.stderr}
            if (result := self.about.get("result")) is not None:
                return places[result] if result in places else (folder / result).read_bytes(), seconds
            source = self.about["from"]
            text = (places[source] if source in places else (folder / source).read_bytes()).decode(errors="replace")
            found = re.findall(self.about["figure"], text)
            if not found:
                raise RuntimeError(f"no figure {self.about['figure']} in: {text[-400:]}")
            last = found[-1]
            return (last if isinstance(last, str) else next(f for f in last if f)).encode(), seconds

    def agree(self, a: bytes, b: bytes) -> bool:
        if "figure" not in self.about:
            return a == b and len(a) > 0
        x, y = float(a), float(b)
        return abs(x - y) <= self.about["tolerance"] * abs(x)


def with_weft(application: Application, weft: Path, report: Path, extra: dict[str, str]) -> dict[str, str]:
    every = "python" in application.about  # wheels bring libraries of other names
    library = weft / ("libweft-openmp.so" if every else "libgomp.so.1")
    return {"LD_PRELOAD": str(library), "WEFT_REPORT": f"{report}/%p.json", **extra}


def measure(application: Application, options: argparse.Namespace, values: dict[str, str]) -> dict[str, Any]:
    threads = {"OMP_NUM_THREADS": str(options.threads)}
    row: dict[str, Any] = {"name": application.name, "what": application.about["what"]}
    original, weft = [], []
    for _ in range(options.rounds):
        expected, seconds = application.run(values, threads)
        original.append(seconds)
        with tempfile.TemporaryDirectory() as report:
            extra = {"WEFT_WORKERS": str(options.threads), **dict(options.env)}
            got, seconds = application.run(values, {**threads, **with_weft(application, options.weft, Path(report), extra)})
            weft.append(seconds)
            used = any(f.stat().st_size for f in Path(report).iterdir())
        if not application.agree(expected, got):
            raise RuntimeError(f"expected {expected[:80]!r}; given: {got[:80]!r}")
        if not used:
            raise RuntimeError("the program has not used Weft")
    row |= {"original": statistics.median(original), "weft": statistics.median(weft)}
    row["ratio"] = statistics.median(w / o for o, w in zip(original, weft))
    row["compared"] = f"a figure, within {application.about['tolerance']:g}" if "figure" in application.about else "byte by byte"
    return row


def install(applications: list[Application], work: Path) -> None:
    packages = sorted({p for a in applications for p in a.about.get("packages", []) if p in a.missing().split()})
    if packages:
        subprocess.run(["apt-get", "install", "-y", "--no-install-recommends", *packages], check=True,
                       env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"})
    if names := sorted({p for a in applications for p in a.about.get("python", [])}):
        subprocess.run([sys.executable, "-m", "venv", str(work / "python")], check=True)
        subprocess.run([str(work / "python/bin/pip"), "install", "--quiet", *names], check=True)


def self_test(work: Path) -> int:
    """Programs that print another result with Weft, or do not use it."""
    probe = "#include <omp.h>\n#include <stdio.h>\n#include <stdlib.h>\n"
    bodies = {
        "another result": "#pragma omp parallel\n{}\nputs(getenv(\"WEFT_REPORT\") ? \"1\" : \"2\");",
        "no use of Weft": "puts(\"1\");",
    }
    found = subprocess.run(["gcc", "-print-file-name=libgomp.so.1"], capture_output=True, text=True, check=True).stdout.strip()
    fake = Path(found).resolve()
    options = argparse.Namespace(threads=2, rounds=1, env=[], weft=work)
    unnoticed = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        options.weft = folder
        (folder / "libgomp.so.1").symlink_to(fake)
        for what, body in bodies.items():
            program = folder / "program"
            subprocess.run(["gcc", "-fopenmp", "-x", "c", "-", "-o", str(program)], text=True, check=True,
                           input=f"{probe}int main(void) {{\n{body}\nreturn 0;\n}}\n")
            about = {"what": what, "run": [str(program)], "result": "output"}
            try:
                measure(Application(what, about, work), options, {})
                unnoticed.append(what)
            except RuntimeError as noticed:
                print(f"{what}: {noticed}")
    for what in unnoticed:
        print(f"not noticed: {what}")
    return 1 if unnoticed else 0


def setting(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise argparse.ArgumentTypeError(f"no setting; given: {text}; allowed: NAME=VALUE")
    return name, value


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weft", type=Path, help="the folder with Weft's libgomp.so.1")
    parser.add_argument("--work", type=Path, default=Path("build/openmp-applications"))
    parser.add_argument("--only", default="*", help="applications by name")
    parser.add_argument("--small", action="store_true", help="those that take a second or two")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--env", action="append", default=[], type=setting, metavar="NAME=VALUE", help="for the runs with Weft")
    parser.add_argument("--json", type=Path, metavar="FILE")
    parser.add_argument("--install", action="store_true")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--self-test", action="store_true")
    options = parser.parse_args()
    work = options.work.resolve()
    if options.self_test:
        return self_test(work)
    about = tomllib.loads((HERE / "applications.toml").read_text())
    chosen = [Application(name, a, work) for name, a in about.items()
              if fnmatch.fnmatch(name, options.only) and (a.get("small") or not options.small)]
    if not chosen:
        parser.error(f"no application of this name; given: {options.only}; allowed: {', '.join(about)}")
    if options.list:
        for a in chosen:
            print(f"{a.name:16} {a.about['what']}" + (f" (not installed: {missing})" if (missing := a.missing()) else ""))
        return 0
    if options.install:
        install(chosen, work)
        return 0
    if options.weft is None or not (options.weft / "libgomp.so.1").exists():
        parser.error(f"no libgomp.so.1 of Weft; given: --weft {options.weft}; allowed: the folder openmp of a build")
    options.weft = options.weft.resolve()
    values = {**make_inputs(work / "inputs"), "threads": str(options.threads), "script": str(HERE)}
    rows, failures, absent = [], [], []
    print(f"{'application':16} {'own library':>12} {'Weft':>9} {'ratio':>6}   compared")
    for a in chosen:
        if missing := a.missing():
            absent.append(f"{a.name} ({missing})")
            continue
        try:
            row = measure(a, options, values)
        except (RuntimeError, OSError, subprocess.SubprocessError) as failure:
            failures.append(a.name)
            print(f"{a.name:16} FAILED: {failure}", flush=True)
            continue
        rows.append(row)
        print(f"{a.name:16} {row['original']:10.2f} s {row['weft']:7.2f} s {row['ratio']:6.2f}   {row['compared']}", flush=True)
    if rows:
        print(f"geometric mean of the ratios: {statistics.geometric_mean(r['ratio'] for r in rows):.2f} ({len(rows)} applications)")
    if absent:
        print(f"not installed: {', '.join(absent)}; --install installs them")
    if options.json:
        options.json.write_text(json.dumps({"threads": options.threads, "rounds": options.rounds, "rows": rows, "failed": failures,
                                            "not_installed": absent}, indent=2) + "\n")
    return 1 if failures else 0 if rows else NOTHING_RAN


if __name__ == "__main__":
    sys.exit(main())
