#!/usr/bin/env python3
"""Is what `weft advise` advises good? Every program on every machine file, in the model.

On each pair of a program and a machine all sensible policies run. Then `weft advise` is asked, with other seeds, and what it advises is
compared with the best of these policies, and with `steal`. The rules were written on one half of the programs and one half of the machines;
the pairs of the other halves are the test. A pair that is in the file of --json already is not measured again, so an interrupted run goes on.

example:
  PYTHONPATH=build/dev/python build/venv/bin/python bench/advise.py --build build/dev --json advise.json
  PYTHONPATH=build/dev/python build/venv/bin/python bench/advise.py --build build/dev --json advise.json --pairs test --minutes 1
  bench/advise.py --from bench/results/amd-epyc-2-cores-2026-11-29-advise.json
"""

import argparse
import json
import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import machine as this_machine

ROOT = Path(__file__).resolve().parent.parent
WRITTEN_ON = {
    "heat2d": "heat2d --costs-only --rows 1024 --cols 512 --sweeps 6 --leaf-rows 32",
    "repeated map": "repeated_map --costs-only --n 524288",
    "merge sort": "merge_sort --n 100000",
    "batch ga": "batch --costs-only --batches 5 --kind ga",
    "dag 3.03": "random_dag --costs-only --nodes 150 --parallelism 3.03",
    "tiled cholesky": "tiled_cholesky --n 512 --tile 64",
}
TEST = {
    "sor": "sor --costs-only --rows 1024 --cols 512 --sweeps 4 --leaf-rows 32",
    "stencil": "stencil --costs-only --x 512 --y 64 --z 32 --sweeps 5",
    "fft": "fft --log-n 15",
    "quicksort": "quicksort --n 200000",
    "batch lzw": "batch --costs-only --batches 5 --kind lzw",
    "sparse lu": "sparse_lu --blocks 12 --side 16",
}
PROGRAMS = WRITTEN_ON | TEST
MACHINES_WRITTEN_ON = ["opteron-8380-4x4", "xeon-e5-2660-2x8", "opteron-8380-a-8-0-0-8"]
MACHINES_TEST = ["xeon-gold-6130-4x16", "xeon-5520-2x4", "hikey960"]
# Not among the sensible ones, and why.
EXCLUDED = {
    "serial": "one worker",
    "chaos": "disturbs another policy",
    "offline": "needs a profile",
    "optimal": "needs the exact work of tasks",
    "speed": "needs preemption",
    "packing": "needs preemption",
    "insitu": "needs preemption",
    "acs": "for locks",
    "bis": "for locks",
    "random-push": "for clusters",
    "chs": "for clusters",
    "cls": "for clusters",
    "crs": "for clusters",
    "tatl": "for clusters",
}
SEEDS = range(101, 104)
ADVISED_SEED = 1  # the first one of weft advise
NEAR_BEST = 1.1  # policies within this of the best one in the first seed run with the other seeds, too
GOOD = 1.05
NEVER_WORSE = 1.03
TIME_LIMIT_S = 60


def seconds_of(build, program, machine, candidate, seed):
    """The virtual time within runs of Weft; a message if there is none."""
    from weft.advise.trials import Where, run_once

    name, *arguments = PROGRAMS[program].split()
    where = Where((str(build / "examples" / name), *arguments), machine, None, seed, TIME_LIMIT_S)
    return run_once(where, candidate, 0)


def mean_of(build, program, machine, candidate, first):
    """The mean over the seeds, of which the first is known; a message if a run fails."""
    times = [first, *(seconds_of(build, program, machine, candidate, seed) for seed in SEEDS[1:])]
    return next((t for t in times if isinstance(t, str)), None) or sum(times) / len(times)


def sweep(build, program, machine, pool):
    """The times of all sensible policies."""
    import weft
    from weft.advise import Candidate

    policies = [p.name for p in weft.policies() if p.name not in EXCLUDED]
    firsts = pool.map(lambda q: seconds_of(build, program, machine, Candidate(q), SEEDS[0]), policies)
    firsts = dict(zip(policies, firsts))
    refused = {q: t for q, t in firsts.items() if isinstance(t, str)}
    ran = {q: t for q, t in firsts.items() if not isinstance(t, str)}
    best = min(ran.values())
    near = [q for q, t in ran.items() if q == "steal" or t <= NEAR_BEST * best]
    means = dict(zip(near, pool.map(lambda q: mean_of(build, program, machine, Candidate(q), ran[q]), near)))
    return {"seconds": ran | means, "of_all_seeds": near, "refused": refused}


def ask(build, program, machine, known):
    """What is advised, and its time. `known`: what sweep() has returned."""
    from weft.advise import advise

    name, *arguments = PROGRAMS[program].split()
    began = time.perf_counter()
    found = advise([str(build / "examples" / name), *arguments], machine=machine, seed=ADVISED_SEED)
    took = time.perf_counter() - began
    alike = found.advised.workers is None and found.advised.policy in known["of_all_seeds"]
    advised = known["seconds"][found.advised.policy] if alike else None
    if advised is None:
        advised = mean_of(build, program, machine, found.advised, seconds_of(build, program, machine, found.advised, SEEDS[0]))
    return {"advised": found.settings(), "advised_seconds": advised, "regret": [found.regret_least, found.regret_most], "tried": [t.candidate.label for t in found.tried],
            "advise_took": round(took, 2)}


def group_of(program, machine):
    if program in WRITTEN_ON and machine in MACHINES_WRITTEN_ON:
        return "written on"
    return "test" if program in TEST and machine in MACHINES_TEST else "mixed"


def judged(pair):
    """Time of what is advised over that of the best policy, that policy, and time over that of steal. Policies that ran with the first seed
    only cannot be the best: they were over NEAR_BEST."""
    known = {q: pair["seconds"][q] for q in pair["of_all_seeds"]}
    best = min(known, key=known.get)
    return pair["advised_seconds"] / min(known[best], pair["advised_seconds"]), best, pair["advised_seconds"] / known["steal"]


def text_of(pairs):
    lines = ["| pairs | program | machine | advised | over the best | the best | over steal | time of advise |", "|---|---|---|---|--:|---|--:|--:|"]
    results = {}
    for key, pair in pairs.items():
        program, machine = key.split(" on ")
        over_best, best, over_steal = judged(pair)
        results.setdefault(group_of(program, machine), []).append((over_best, over_steal, 1 / over_steal))
        advised = ", ".join(str(v) if k == "policy" else f"{k} {v}" for k, v in pair["advised"].items())
        lines.append(f"| {group_of(program, machine)} | {program} | {machine} | {advised} | {over_best:.3f} | {best} | {over_steal:.3f} | "
                     f"{pair['advise_took']:.1f} s |")
    lines.append("")
    for group, rows in results.items():
        good = sum(over_best <= GOOD for over_best, _, _ in rows)
        worst = max(over_steal for _, over_steal, _ in rows)
        lines.append(f"{group}: {good} of {len(rows)} pairs ({good / len(rows):.0%}) within {GOOD - 1:.0%} of the best of all policies; "
                     f"at worst {worst:.3f} of the time of steal, {sum(s > NEVER_WORSE for _, s, _ in rows)} pairs over {NEVER_WORSE:.2f}; "
                     f"on average {sum(s for _, s, _ in rows) / len(rows):.3f} of the time of steal")
    return "\n".join(lines)


def parsed():
    about, _, example = __doc__.partition("\n\n")
    parser = argparse.ArgumentParser(description=about, epilog=example, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=ROOT / "build/release", help="folder of a build with examples (default: %(default)s)")
    parser.add_argument("--pairs", choices=["written", "test", "mixed", "halves", "all"], default="halves",
                        help="those that the rules were written on, the test, both (halves, the default), pairs of one and the other, or all")
    parser.add_argument("--machines", nargs="+", metavar="PART", default=[""], help="those whose names contain one of these")
    parser.add_argument("--programs", nargs="+", metavar="PART", default=[""], help="likewise")
    parser.add_argument("--minutes", type=float, default=float("inf"), metavar="N", help="begin no pair after so many minutes")
    parser.add_argument("--ask-again", action="store_true", help="ask for advice again also where it is known: after a change of the rules")
    parser.add_argument("--json", type=Path, metavar="FILE", help="where the results are kept; pairs that are there are not measured again")
    parser.add_argument("--from", dest="stored", type=Path, metavar="FILE", help="measure nothing; the results of that file")
    return parser.parse_args()


def chosen(options):
    groups = {"written": ["written on"], "test": ["test"], "mixed": ["mixed"], "halves": ["written on", "test"],
              "all": ["written on", "test", "mixed"]}[options.pairs]
    return [(p, m) for p in PROGRAMS for m in [*MACHINES_WRITTEN_ON, *MACHINES_TEST]
            if group_of(p, m) in groups and any(part in m for part in options.machines) and any(part in p for part in options.programs)]


def kept(path):
    try:
        return json.loads(path.read_text())["pairs"]
    except (OSError, ValueError, KeyError) as problem:
        sys.exit(f"{path}: {problem}; expected is a file that --json has written")


def main():
    options = parsed()
    if options.stored:
        print(text_of(kept(options.stored)))
        return 0
    pairs = kept(options.json) if options.json and options.json.exists() else {}
    wanted = [(p, m) for p, m in chosen(options) if options.ask_again or f"{p} on {m}" not in pairs]
    os.environ["WEFT_MACHINES"] = str(ROOT / "machines")
    began, failed = time.monotonic(), 0
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for done, (program, machine) in enumerate(wanted):
            if time.monotonic() - began > 60 * options.minutes:
                print(f"{len(wanted) - done} pairs are left", file=sys.stderr)
                break
            if sys.stderr.isatty():
                print(f"\r\033[K[{done}/{len(wanted)}] {program} on {machine}", end="", file=sys.stderr)
            try:
                key = f"{program} on {machine}"
                known = pairs.get(key) or sweep(options.build, program, machine, pool)
                pairs[key] = known | ask(options.build, program, machine, known)
            except Exception as problem:  # one pair that fails does not cost the others
                failed += 1
                print(f"{program} on {machine}: {problem}", file=sys.stderr)
            if options.json:
                about = this_machine.describe("none: an existing build", " ".join(sys.argv))
                options.json.write_text(json.dumps({"machine": about, "pairs": pairs}, indent=1) + "\n")
    if sys.stderr.isatty():
        print("\r\033[K", end="", file=sys.stderr)
    print(text_of(pairs))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
