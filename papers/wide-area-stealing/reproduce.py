#!/usr/bin/env python3
"""Runs adaptive integration on four clusters of 16 in virtual time, under the policies for clusters, on networks of several speeds.

    papers/wide-area-stealing/reproduce.py                      examples of build/release
    papers/wide-area-stealing/reproduce.py --build build/dev    of another build
    papers/wide-area-stealing/reproduce.py --json               one JSON object
    papers/wide-area-stealing/reproduce.py --seeds 5            the mean of so many runs each

Exit status: 0 every claim holds, 1 one does not, or a run failed.
"""

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MACHINE = ROOT / "machines" / "das-4x16.toml"
POLICIES = ("crs", "cls", "chs", "random-push", "steal-parent-first", "tatl")
OF_THE_PAPER = ("crs", "cls", "chs", "random-push", "steal-parent-first")
# One way, in milliseconds, and megabytes a second.
NETWORKS = ((0.5, 9.0), (2, 1.0), (10, 1.0), (20, 1.0), (20, 0.1), (100, 1.0))
WORK = ("integrate", "--width", "1e-3", "--tolerance", "1e-11", "--cycles", "1000000")


def of_network(latency_ms, megabytes):
    text = MACHINE.read_text()
    for key, value in (("other_package_ns", int(2e6 * latency_ms)), ("other_package_gbps", megabytes / 1000)):
        text, changed = re.subn(rf"(?m)^{key} = .*$", f"{key} = {value}", text)
        assert changed == 1, key
    return text


def one_cluster():
    """The same cores, all on the near network."""
    text = MACHINE.read_text()
    for key, value in (("packages", 1), ("cores_per_domain", 64), ("count", 1)):
        text, changed = re.subn(rf"(?m)^{key} = .*$", f"{key} = {value}", text)
        assert changed == 1, key
    return re.sub(r"(?m)^(remote|other_package|message_bytes)\w* = .*\n", "", text)


def seconds(build, text, policy, seeds):
    times = []
    with tempfile.NamedTemporaryFile("w", suffix=".toml") as machine:
        machine.write(text)
        machine.flush()
        for seed in range(1, seeds + 1):
            env = {k: v for k, v in os.environ.items() if not k.startswith("WEFT_")}
            env.update(WEFT_ENGINE="model", WEFT_MACHINE=machine.name, WEFT_POLICY=policy, WEFT_SPIN="forever",
                       WEFT_SEED=str(seed))
            command = [str(build / "examples" / WORK[0]), "--json", *WORK[1:]]
            done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=600)
            if done.returncode != 0:
                sys.exit(f"{' '.join(command)} failed:\n{done.stderr}{done.stdout}")
            times.append(json.loads(done.stdout.splitlines()[-1])["seconds"])
    return statistics.mean(times)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=ROOT / "build" / "release")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    chosen = parser.parse_args()
    if not (chosen.build / "examples" / WORK[0]).exists():
        sys.exit(f"{chosen.build}/examples/{WORK[0]} is not there: build it, or name another build with --build")

    alone = seconds(chosen.build, one_cluster(), "crs", chosen.seeds)
    times = {n: {p: seconds(chosen.build, of_network(*n), p, chosen.seeds) for p in POLICIES} for n in NETWORKS}

    def said(claim, ours, holds):
        return {"claim": claim, "ours": ours, "verdict": "agrees" if holds else "DOES NOT AGREE"}

    claims = []
    for (latency, speed), t in times.items():
        best = min(OF_THE_PAPER, key=t.get)
        others = min(t[p] for p in OF_THE_PAPER if p != "crs")
        claims.append(said(f"{latency} ms, {speed} MB/s: crs is the fastest of the five",
                           f"{best}; the next best takes {others / t['crs'] - 1:+.1%}", best == "crs"))
    for (latency, speed), t in times.items():
        claims.append(said(f"{latency} ms, {speed} MB/s: crs within 4 % of one cluster of 64",
                           f"{t['crs'] / alone - 1:+.1%}", t["crs"] <= 1.04 * alone))
    if chosen.json:
        runs = [{"latency_ms": n[0], "mb_per_s": n[1], "seconds": t} for n, t in times.items()]
        print(json.dumps({"one_cluster": alone, "runs": runs, "claims": claims}))
    else:
        print("| network | " + " | ".join(f"`{p}`" for p in POLICIES) + " |\n|---" * 1 + "|---" * len(POLICIES) + "|")
        for (latency, speed), t in times.items():
            print(f"| {latency} ms, {speed} MB/s | " + " | ".join(f"{t[p] / alone - 1:+.1%}" for p in POLICIES) + " |")
        print("\n| claim | ours | |\n|---|---|---|")
        for c in claims:
            print(f"| {c['claim']} | {c['ours']} | {c['verdict']} |")
    return 1 if any(c["verdict"] != "agrees" for c in claims) else 0


if __name__ == "__main__":
    sys.exit(main())
