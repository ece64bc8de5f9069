#!/usr/bin/env python3
"""Puts one mistake at a time into the real source and expects the tests to notice it.

    run.py                    every mutant of mutants.toml; exit status 0 only if all were killed
    run.py --only NAME        those whose name contains NAME; may be given several times
    run.py --part K/N         of the list, the part K of N: in several sittings, or in several checkouts at once
    run.py --list             names, files and killers; nothing is built
    run.py --check            every mutant still applies: its text is there exactly once; nothing is built
    run.py --json FILE        the results as JSON, besides the table
    run.py --resume --json FILE   goes on with a run that was cut off: those that it has killed are not tried again
    run.py --seed N           the seed of the tests that draw numbers; the same one gives the same verdicts

Example: tests/mutants/run.py --only fence --json /tmp/fence.json

Works on a copy of the tree in build/mutants, so the source is never touched and a run that was cut off leaves
nothing behind. The copy is built and tested as it is first; then for each mutant only the tests that must kill
it are built and run, one after the other, until the first one fails. A failed assertion, a crash and a test that hangs are kills; a
mutant that does not compile is a mistake of the list.
"""

import argparse
import dataclasses
import json
import os
import re
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
WORK = ROOT / "build" / "mutants"
TREE = WORK / "tree"
BUILD = WORK / "build"
LOG = WORK / "log.txt"

DEFAULT_LIMIT = 60  # seconds a killer may take
SLOWER = 5          # and at least so many times what it took on the source as it is


class Fault(Exception):
    """Something that is wrong with the list or the tree, not with a test."""


@dataclasses.dataclass(frozen=True)
class Killer:
    """A test, `weft_<kind>_<name>`, or some cases of one: `weft_<kind>_<name>: <filter of GoogleTest>`."""

    test: str
    cases: str

    @classmethod
    def parse(cls, text):
        test, _, cases = text.partition(":")
        return cls(test.strip(), cases.strip())

    def __str__(self):
        return f"{self.test}: {self.cases}" if self.cases else self.test

    def source(self, root):
        kind, _, name = self.test.removeprefix("weft_").partition("_")
        return root / "tests" / kind / f"{name}_{'model' if kind == 'model' else 'test'}.cpp"


@dataclasses.dataclass(frozen=True)
class Mutant:
    name: str
    file: str
    before: str
    after: str
    why: str
    killers: tuple
    limit: float
    times: int

    def applied(self, text):
        found = text.count(self.before)
        if found != 1:
            raise Fault(f"{self.name}: its text is {found} times in {self.file}, not once; see tests/mutants/mutants.toml")
        return text.replace(self.before, self.after)


def parse_list(text, root):
    """The mutants of a list, checked against the tree at `root`."""
    mutants, faults = [], []
    for entry in tomllib.loads(text).get("mutant", []):
        unknown = set(entry) - {"name", "file", "before", "after", "why", "killed_by", "limit", "times"}
        missing = {"name", "file", "before", "after", "why", "killed_by"} - set(entry)
        name = entry.get("name", "?")
        if unknown or missing:
            faults.append(f"{name}: unknown {sorted(unknown)}, missing {sorted(missing)}")
            continue
        m = Mutant(name, entry["file"], entry["before"].strip("\n"), entry["after"].strip("\n"), entry["why"],
                   tuple(Killer.parse(k) for k in entry["killed_by"]), entry.get("limit", DEFAULT_LIMIT),
                   entry.get("times", 1))
        try:
            if not re.fullmatch(r"[a-z0-9_]+", name):
                raise Fault(f"{name}: names are of small letters, digits and underscores")
            if any(name == other.name for other in mutants):
                raise Fault(f"{name}: two mutants have this name")
            if not m.killers:
                raise Fault(f"{name}: no test is to kill it")
            if m.before == m.after:
                raise Fault(f"{name}: changes nothing")
            if not (root / m.file).is_file():
                raise Fault(f"{name}: no file {m.file}")
            m.applied((root / m.file).read_text(encoding="utf-8"))
            for killer in m.killers:
                if not killer.source(root).is_file():
                    raise Fault(f"{name}: no {killer.source(root).relative_to(root)}")
        except Fault as fault:
            faults.append(str(fault))
            continue
        mutants.append(m)
    if faults:
        raise Fault("\n".join(faults))
    return mutants


# ---- the copy of the tree, its build and its tests

def files_of_tree():
    """What git tracks or would, relative to the root; everything where there is no git."""
    listed = subprocess.run(["git", "ls-files", "-coz", "--exclude-standard"], cwd=ROOT, capture_output=True,
                            check=False)
    if listed.returncode == 0:
        names = [n for n in listed.stdout.decode().split("\0") if n]
    else:
        names = [p.relative_to(ROOT).as_posix() for p in ROOT.rglob("*") if "build" not in p.relative_to(ROOT).parts]
    return {n for n in names if (ROOT / n).is_file()}


def refresh_tree():
    """Writes only what differs, so that little is built again."""
    wanted = files_of_tree()
    for name in wanted:
        to, content = TREE / name, (ROOT / name).read_bytes()
        if to.is_file() and to.read_bytes() == content:
            continue
        to.parent.mkdir(parents=True, exist_ok=True)
        to.write_bytes(content)
        to.chmod((ROOT / name).stat().st_mode & 0o777)
    for old in TREE.rglob("*"):
        if old.is_file() and old.relative_to(TREE).as_posix() not in wanted:
            old.unlink()


def call(command):
    """True if it succeeded; what it says goes to the log."""
    with LOG.open("a") as log:
        log.write(f"\n$ {' '.join(map(str, command))}\n")
        log.flush()
        return subprocess.run(command, stdout=log, stderr=subprocess.STDOUT, check=False).returncode == 0


def configure():
    # Without the bench, the examples and debug information: less to build.
    options = {"CMAKE_BUILD_TYPE": "RelWithDebInfo", "CMAKE_CXX_FLAGS_RELWITHDEBINFO": "-O2", "WEFT_WERROR": "OFF",
               "WEFT_INSTALL": "OFF", "WEFT_BUILD_BENCH": "OFF", "WEFT_BUILD_EXAMPLES": "OFF",
               "WEFT_TEST_KINDS": "unit;property;stress;engine;stepper;model"}
    if not call(["cmake", "-S", TREE, "-B", BUILD, "-G", "Ninja", *(f"-D{k}={v}" for k, v in options.items())]):
        raise Fault(f"the copy cannot be configured, see {LOG}")


def build(targets, jobs):
    return call(["cmake", "--build", BUILD, "-j", str(jobs), "--target", *sorted(targets)])


def output_of_ninja(*arguments):
    return subprocess.run(["ninja", "-C", BUILD, *arguments], capture_output=True, text=True, check=True).stdout


def build_alone(killer, jobs):
    """Builds the test's own objects, and links them with the library as it was."""
    link = output_of_ninja("-t", "commands", "-s", f"bin/{killer.test}").splitlines()[-1]
    own = [word for word in link.split() if f"{killer.test}.dir/" in word and word.endswith(".o")]
    return call(["ninja", "-C", BUILD, "-j", str(jobs), *own]) and call(["sh", "-c", f"cd '{BUILD}' && {link}"])


def forget_objects(of, since):
    """Removes the objects that have been compiled from the file since then, so that they are built again."""
    built = None
    for line in output_of_ninja("-t", "deps").splitlines():
        if not line.startswith(" "):
            built = BUILD / line.partition(":")[0]
        elif line.endswith(of) and built and built.is_file() and built.stat().st_mtime_ns >= since:
            built.unlink()


def run_test(killer, limit, seed):
    """How it failed, or None; and the seconds it took."""
    command = [BUILD / "bin" / killer.test]
    if killer.cases:
        command.append(f"--gtest_filter={killer.cases}")
    began = time.monotonic()
    with LOG.open("a") as log:
        log.write(f"\n$ {' '.join(map(str, command))}\n")
        log.flush()
        start = log.tell()
        child = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                                 cwd=BUILD, start_new_session=True, env=os.environ | {"WEFT_TEST_SEED": str(seed)})
        try:
            status = child.wait(timeout=limit)
        except subprocess.TimeoutExpired:
            status = None
        except BaseException:
            os.killpg(child.pid, signal.SIGKILL)
            child.wait()
            raise
        if status is None:
            os.killpg(child.pid, signal.SIGKILL)
            child.wait()
    took = time.monotonic() - began
    if status is None:
        return "hangs", took
    if status < 0:
        return signal.Signals(-status).name, took
    if status == 0:
        with LOG.open(errors="replace") as log:
            log.seek(start)
            if killer.cases and "[==========] 0 tests" in log.read():
                raise Fault(f"no case of {killer.test} matches {killer.cases}")
        return None, took
    return "fails", took


# ---- the run

def check_source_as_it_is(mutants, given):
    """Builds all that is needed, and runs each killer once; returns its time."""
    killers = sorted({k for m in mutants for k in m.killers}, key=str)
    targets = {k.test for k in killers}
    print(f"building {len(targets)} tests of the source as it is", flush=True)
    if not build(targets, given.jobs):
        raise Fault(f"the source as it is does not build, see {LOG}")
    times = {}
    for number, killer in enumerate(killers, 1):
        limit = max(m.limit for m in mutants if killer in m.killers) * SLOWER
        failed, took = run_test(killer, limit, given.seed)
        print(f"  [{number:2}/{len(killers)}] {killer}: {failed or 'passes'}, {took:.1f} s", flush=True)
        if failed:
            raise Fault(f"{killer} fails without any mutant, see {LOG}")
        times[killer] = took
    return times


def try_mutant(m, times, given):
    target = TREE / m.file
    original, status = target.read_text(encoding="utf-8"), target.stat()
    result = {"name": m.name, "file": m.file, "why": m.why, "killed_by": None, "how": None, "seconds": 0.0,
              "build_seconds": 0.0}
    target.write_text(m.applied(original), encoding="utf-8")
    since = target.stat().st_mtime_ns
    try:
        for killer, alone in ways_to_try(m):
            began = time.monotonic()
            if not (build_alone(killer, given.jobs) if alone else build({killer.test}, given.jobs)):
                raise Fault(f"{m.name} does not compile, see {LOG}")
            built = time.monotonic()
            for n in range(m.times):
                # Far apart: some tests count up from the seed.
                failed, _ = run_test(killer, max(m.limit, SLOWER * times[killer]), given.seed + 10_000 * n)
                if failed == "fails" or (failed and not alone):
                    result |= {"killed_by": str(killer), "how": failed}
                    break
            result["build_seconds"] += round(built - began, 1)
            result["seconds"] += round(time.monotonic() - built, 1)
            if result["killed_by"]:
                break
    finally:
        target.write_text(original, encoding="utf-8")
        os.utime(target, ns=(status.st_atime_ns, status.st_mtime_ns))  # what does not have the mistake is up to date
        forget_objects(m.file, since)
    return result


def ways_to_try(m):
    """Each killer; and before that, without building the library again, one whose own code has the header: that of a
    structure, or of the interface. Only a failed assertion counts there, since the library is without the mistake."""
    for killer in m.killers:
        has_it = m.file.startswith("include/") or killer.test.startswith(("weft_unit_", "weft_property_"))
        if has_it and m.file.endswith(".hpp"):
            yield killer, True
        yield killer, False


def table(results):
    lines = ["| mutant | file | killed by | how | seconds |", "|---|---|---|---|---|"]
    for r in results:
        where = r["file"].removeprefix("src/").removeprefix("include/")
        by = f"`{r['killed_by']}`" if r["killed_by"] else "**nothing**"
        lines.append(f"| `{r['name']}` | {where} | {by} | {r['how'] or 'survives'} | {r['seconds']:.1f} |")
    return "\n".join(lines)


def known_results(mutants, given):
    """Of those that an earlier run has killed, as the file says."""
    if not given.resume:
        return []
    names = {m.name for m in mutants}
    try:
        old = json.loads(Path(given.json).read_text(encoding="utf-8"))
        if not isinstance(old, list):
            raise TypeError("no list")
        return [r for r in old if r["killed_by"] and r["name"] in names]
    except (OSError, ValueError, KeyError, TypeError) as failure:
        raise Fault(f"{given.json} has no results: {failure}") from failure


def run(mutants, given):
    results, faults = known_results(mutants, given), []  # first: what is wrong with the file is told at once
    WORK.mkdir(parents=True, exist_ok=True)
    LOG.write_text("")
    refresh_tree()
    configure()
    times = check_source_as_it_is(mutants, given)
    known = {r["name"] for r in results}
    for number, m in enumerate(mutants, 1):
        if m.name in known:
            continue
        print(f"[{number:2}/{len(mutants)}] {m.name} ... ", end="", flush=True)
        try:
            r = try_mutant(m, times, given)
        except Fault as fault:
            faults.append(str(fault))
            print(fault, flush=True)
            continue
        results.append(r)
        verdict = f"killed by {r['killed_by']} ({r['how']})" if r["killed_by"] else "SURVIVES"
        print(f"{verdict}, {r['seconds']:.1f} s, built in {r['build_seconds']:.0f} s", flush=True)
        if given.json:
            Path(given.json).write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")
    survivors = [r["name"] for r in results if not r["killed_by"]]
    print(f"\n{table(results)}\n\n{len(results) - len(survivors)} of {len(mutants)} killed")
    for name in survivors:
        print(f"survives: {name}")
    for fault in faults:
        print(f"fault: {fault}")
    return 1 if survivors or faults else 0


def part_of(text):
    """K/N: two numbers, of which the first is 1 to the second."""
    part, slash, parts = text.partition("/")
    if slash and part.isdecimal() and parts.isdecimal() and 1 <= int(part) <= int(parts):
        return int(part), int(parts)
    raise argparse.ArgumentTypeError(f"{text!r} is not a part; allowed: K/N, such as 1/2, with K from 1 to N")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", metavar="NAME", help="mutants whose name contains NAME")
    parser.add_argument("--part", type=part_of, default=(1, 1), metavar="K/N", help="of these, the part K of N")
    parser.add_argument("--list", action="store_true", help="say what there is")
    parser.add_argument("--check", action="store_true", help="check that every mutant applies")
    parser.add_argument("--json", metavar="FILE", help="write the results there, after each mutant")
    parser.add_argument("--resume", action="store_true", help="leave out those that the file of --json says are killed")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="WEFT_TEST_SEED of the tests (1)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), metavar="N", help="compilers at once")
    given = parser.parse_args()
    if given.resume and not given.json:
        parser.error("--resume needs --json FILE, with the results of the run that goes on")
    try:
        mutants = parse_list((HERE / "mutants.toml").read_text(encoding="utf-8"), ROOT)
        if given.check:
            print(f"{len(mutants)} mutants apply")
            return 0
        if given.only:
            mutants = [m for m in mutants if any(part in m.name for part in given.only)]
            if not mutants:
                raise Fault(f"no mutant is called {' or '.join(given.only)}; --list names them")
        part, parts = given.part
        mutants = mutants[len(mutants) * (part - 1) // parts:len(mutants) * part // parts]
        if not mutants:
            raise Fault(f"part {part} of {parts} has no mutant: there are fewer than that")
        if given.list:
            for m in mutants:
                print(f"{m.name:40} {m.file:40} {', '.join(map(str, m.killers))}")
            return 0
        return run(mutants, given)
    except (Fault, tomllib.TOMLDecodeError) as fault:
        print(f"run.py: {fault}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
