#!/usr/bin/env python3
"""Compares the model engine with SimGrid on task graphs whose edges carry data, on platforms that SimGrid publishes.

    cross_check_links.py LIST_SCHEDULE [--graphs N] [--seed N] [--platform NAME]
    cross_check_links.py LIST_SCHEDULE --platform NAME --only SEED      one graph, printed
    cross_check_links.py LIST_SCHEDULE --table                          how far other models are away

Each task has a host: by chance, by earliest finish, or one task of each stage on each host. A host runs its tasks one
after another, in the order in which they became ready. A task first gets the data that other hosts have for it, from
one predecessor after the other, and then computes. So many transfers share links, but a host receives one at a time.

Every task must end at the same time in both simulators. The model's clock is a whole number of nanoseconds, so each
transfer ends up to a nanosecond late, and the bound is a nanosecond for each task and edge of the graph. The routes of
the torus and of the fat tree must be those that SimGrid computes. Exits with 1 at a difference, and prints the
platform, the seed and the graph.

--table compares with SimGrid under other settings as well, and what one stretch of code fetches for a task from all of
its predecessors at the same time. It has no bound.
"""

import argparse
import json
import random
import subprocess
import sys
import tempfile
from collections import deque
from pathlib import Path
from statistics import median

from graphs import chains, count_predecessors, fork_join, layered, random_order, stages
from platforms import PLATFORMS, machine_file

# The fluid model of Weft: data take all links of their route at once, at the max-min fair rate. CM02 is SimGrid's
# default, LV08, without the corrections that were measured on TCP: latency times 13.01, bandwidth times 0.97. weight-S
# lets slow links count as latency in the shares. TCP-gamma stands for the window, crosstraffic for acknowledgements.
FLUID = ["network/model:CM02", "network/weight-S:0", "network/TCP-gamma:0", "network/crosstraffic:0"]
# In CM02 the share of a transfer in a link is inversely proportional to the latency of its route, as under TCP. Shares
# are equal where routes have no latency. So for equal shares the links have none, and the receiver sleeps for the
# latency of the route first. In CM02, too, data flow only after it: where all routes have the same latency, the two
# models are one.
MODELS = {
    "equal shares": FLUID,
    "shares by latency": FLUID,
    "SimGrid's default": [],
}
ROUTED_BY_SIMGRID = ["cluster_torus", "cluster_fat_tree"]
SHAPES = [chains, layered, random_order, fork_join, stages]
KIB = 1024


# ---- graphs on platforms


class Case:
    """A graph on a platform: costs in operations, bytes by edge, hosts by task."""

    def __init__(self, name, platform, seed):
        r = random.Random(f"{name} {seed}")
        self.name, self.platform, self.seed = name, platform, seed
        self.shape = SHAPES[seed % len(SHAPES)]
        hosts = list(platform.speeds)
        if self.shape is stages:  # all hosts receive at the same time
            self.successors = stages(r, r.randint(2, 3), len(hosts))
        else:
            self.successors = self.shape(r, r.randint(2, 40))
        n = len(self.successors)
        ways = list(platform.routes)
        typical = median(platform.latency(w) + 256 * KIB / platform.bandwidth(w) for w in ways)
        longest = typical * max(platform.speeds.values()) * r.choice([0.1, 1, 10])
        self.costs = [r.randint(1, max(2, int(longest))) for _ in range(n)]
        # From a kilobyte, which is all latency, to eight megabytes; some edges carry nothing.
        self.bytes = {
            (t, s): KIB * int(2 ** r.uniform(0, 13)) * (r.random() < 0.9)
            for t, after in enumerate(self.successors)
            for s in after
        }
        self.predecessors = [[] for _ in range(n)]
        for t, s in self.bytes:
            self.predecessors[s].append(t)
        if self.shape is stages:
            self.places = [hosts[t % len(hosts)] for t in range(n)]
        elif seed // len(SHAPES) % 2:
            self.places = self.earliest_finish(hosts)
        else:
            self.places = [r.choice(hosts) for _ in range(n)]
        for t, s in self.bytes:
            way = self.places[t], self.places[s]
            if way[0] != way[1] and way not in platform.routes:
                self.bytes[t, s] = 0  # the platform has no route between these hosts

    def inputs(self, s, place=None):
        """What task `s` gets from other hosts: (their host, bytes)."""
        at = place or self.places[s]
        found = [(self.places[t], self.bytes[t, s]) for t in self.predecessors[s]]
        return [(host, size) for host, size in found if size and host != at]

    def earliest_finish(self, hosts):
        """Task by task, the host on which it would end first if it were alone on all links."""
        p, free, ends = self.platform, dict.fromkeys(hosts, 0), []
        self.places = []
        for s, cost in enumerate(self.costs):
            ready = max((ends[t] for t in self.predecessors[s]), default=0)

            def end(host, s=s, cost=cost, ready=ready):
                ways = [((of, host), size) for of, size in self.inputs(s, host) if (of, host) in p.routes]
                fetch = sum(p.latency(w) + size / p.bandwidth(w) for w, size in ways)
                return max(ready, free[host]) + fetch + cost / p.speeds[host]

            best = min(hosts, key=end)
            ends.append(end(best))
            free[best] = ends[-1]
            self.places.append(best)
        return self.places

    def bound(self):
        return len(self.costs) + len(self.bytes)

    def __str__(self):
        lines = [f"{self.name}, seed {self.seed}, {self.shape.__name__}"]
        for t, after in enumerate(self.successors):
            to = ", ".join(f"{s} ({self.bytes[t, s]} bytes)" for s in after)
            lines.append(f"    {t}: on {self.places[t]}, cost {self.costs[t]}, successors {to or '-'}")
        return "\n".join(lines)


# ---- SimGrid


SECOND = 1e9  # of SimGrid's clock, in nanoseconds: its bounds on rounding are made for seconds


def build(platform, with_latency):
    from simgrid import LinkInRoute, NetZone

    zone = NetZone.create_full_zone("platform")
    hosts = {name: zone.create_host(name, speed * SECOND) for name, speed in platform.speeds.items()}
    links = {}
    for name, link in platform.links.items():
        made = zone.create_link(name, link.bandwidth * SECOND)
        if with_latency and link.latency:
            made.set_latency(link.latency / SECOND)
        links[name] = LinkInRoute(made.seal())
    for (a, b), way in platform.routes.items():
        zone.add_route(hosts[a].netpoint, hosts[b].netpoint, None, None, [links[name] for name in way], False)
    zone.seal()
    return hosts


def simulate(model, together, platform, cases):
    """When each task of each case ends. A process can have one engine only, so all run one after another."""
    from simgrid import Actor, Comm, Engine, this_actor

    settings = [f"--cfg={setting}" for setting in ["surf/precision:1e-12", *MODELS[model]]]
    engine = Engine(["cross_check", "--log=root.thresh:warning", *settings])
    sleeps = model == "equal shares"  # for the latency
    hosts = build(platform, not sleeps)
    answers = []

    def get(of, to, size):
        if sleeps:
            this_actor.sleep_for(platform.latency((of, to)) / SECOND)
        Comm.sendto(hosts[of], hosts[to], size)

    def get_all(inputs, to):
        if together:
            for actor in [Actor.create("fetch", hosts[to], get, of, to, size) for of, size in inputs]:
                actor.join()
        else:
            for of, size in inputs:
                get(of, to, size)

    def processor(case, here, waits_for, ready, idle, ends, began):
        while True:
            if not ready[here]:
                if None not in ends:
                    return
                idle[here] = Actor.self()
                this_actor.suspend()
                continue
            t = ready[here].popleft()
            get_all(case.inputs(t), here)
            this_actor.execute(case.costs[t])
            ends[t] = (Engine.clock - began) * SECOND
            for s in case.successors[t]:
                waits_for[s] -= 1
                if waits_for[s] == 0:
                    ready[case.places[s]].append(s)
            while wanted := [host for host in idle if ready[host] or None not in ends]:
                idle.pop(wanted[0]).resume()

    def director():
        for case in cases:
            waits_for, ready = count_predecessors(case.successors), {host: deque() for host in hosts}
            for t, count in enumerate(waits_for):
                if count == 0:
                    ready[case.places[t]].append(t)
            ends = [None] * len(case.costs)
            state = (waits_for, ready, {}, ends, Engine.clock)
            crew = [Actor.create(name, host, processor, case, name, *state) for name, host in hosts.items()]
            for actor in crew:
                actor.join()
            answers.append(ends)

    Actor.create("director", next(iter(hosts.values())), director)
    engine.run()
    return answers


def routes_of(name):
    """The links of each route, by SimGrid's own names, where SimGrid computes routes from a few numbers."""
    from simgrid import ClusterCallbacks, Engine, FatTreeParams, Link, NetZone

    engine = Engine(["cross_check", "--log=root.thresh:warning"])
    root = NetZone.create_full_zone("root")
    make, shape = {
        "cluster_torus": (NetZone.create_torus_zone, [3, 2, 2]),
        "cluster_fat_tree": (NetZone.create_fatTree_zone, FatTreeParams(2, [4, 4], [1, 2], [1, 2])),
    }[name]

    def host(zone, _, i):
        return zone.create_host(f"node-{i}", 1.0).netpoint, None

    either = Link.SharingPolicy.SPLITDUPLEX
    make("cluster", root, shape, ClusterCallbacks(host, None, None), 1.0, 0.0, either).seal()
    root.seal()
    hosts = engine.all_hosts
    return [(a.name, b.name, [link.name for link in a.route_to(b)[0]]) for a in hosts for b in hosts if a != b]


def by_simgrid(a, model, name, together=False):
    """In a process of its own."""
    words = [sys.executable, __file__, a.program, "--simgrid", model, "--platform", name, "--seed", str(a.seed)]
    words += ["--graphs", str(a.graphs)] + (["--together"] if together else [])
    out = subprocess.run(words, capture_output=True, text=True)
    if out.returncode:
        sys.exit(f"{name}, {model}: SimGrid has failed\n{out.stderr}")
    return json.loads(out.stdout)


# ---- the model engine


def by_model_engine(program, name, platform, cases, together):
    number = {host: i for i, host in enumerate(platform.speeds)}
    text = []
    for case in cases:
        text.append(f"{len(number)} {len(case.costs)}")
        for t, after in enumerate(case.successors):
            to = [word for s in after for word in (s, case.bytes[t, s])]
            text.append(" ".join(map(str, [case.costs[t], number[case.places[t]], len(after), *to])))
    with tempfile.TemporaryDirectory() as folder:
        machine = Path(folder, f"{name}.toml")
        machine.write_text(machine_file(name, platform))
        words = [program, machine, "together" if together else "each"]
        out = subprocess.run(words, input="\n".join(text), capture_output=True, text=True)
    if out.returncode:
        sys.exit(f"{name}: the model engine has failed\n{out.stderr}")
    return [[int(word) for word in line.split()][1:] for line in out.stdout.splitlines()]


# ---- comparison


def count_transfers(cases):
    return sum(len(c.inputs(t)) for c in cases for t in range(len(c.costs)))


def late(simgrid, model):
    return max(abs(m - s) for m, s in zip(model, simgrid, strict=True))


def check_routes(a, name, platform):
    """The same routes but for the names of links, so that the same routes share a link."""
    ours, theirs, different = {}, {}, 0
    for source, target, way in by_simgrid(a, "routes", name):
        its = platform.routes[source, target]
        alike = len(its) == len(way) and all(
            ours.setdefault(x, y) == y and theirs.setdefault(y, x) == x for x, y in zip(way, its, strict=True)
        )
        if not alike:
            print(f"{name}, {source} to {target}: SimGrid takes {way}, the table {its}")
        different += not alike
    return different


def check(a, name, platform):
    cases = [Case(name, platform, seed) for seed in range(a.seed, a.seed + a.graphs)]
    model = by_model_engine(a.program, name, platform, cases, False)
    wrong = compare(name, cases, by_simgrid(a, "equal shares", name), model)
    if len({round(platform.latency(way)) for way in platform.routes}) == 1:
        wrong += compare(name, cases, by_simgrid(a, "shares by latency", name), model)
    return wrong


def compare(name, cases, simgrid, model):
    if not len(model) == len(simgrid) == len(cases):
        sys.exit(f"{len(cases)} graphs asked for, SimGrid has {len(simgrid)}, the model engine {len(model)}")
    different = [(c, s, m) for c, s, m in zip(cases, simgrid, model, strict=True) if late(s, m) > c.bound()]
    for case, s, m in different[:3]:
        print(f"{case}\n    the bound is {case.bound()} ns; task: end by SimGrid, the model engine")
        for t, (its, ours) in enumerate(zip(s, m, strict=True)):
            print(f"    {t}: {its:.17g}, {ours}{'' if abs(its - ours) <= case.bound() else ' <-'}")
    worst = max(late(s, m) for s, m in zip(simgrid, model, strict=True))
    moved = count_transfers(cases)
    print(f"{name}: {len(cases)} graphs, {moved} transfers, {len(different)} different, at most {worst:.3g} ns apart")
    return len(different)


def row(a, name, platform):
    cases = [Case(name, platform, seed) for seed in range(a.seed, a.seed + a.graphs)]
    each = by_model_engine(a.program, name, platform, cases, False)

    def percent(ours, model, together=False):
        """The model engine's last end against SimGrid's: the median of all graphs, the least and the greatest."""
        theirs = by_simgrid(a, model, name, together)
        gaps = [100 * (max(m) / max(s) - 1) for s, m in zip(theirs, ours, strict=True)]
        middle, least, most = (f"{gap:+.1f}".replace("-0.0", "+0.0") for gap in (median(gaps), min(gaps), max(gaps)))
        return f"{middle} ({least} to {most})"

    worst = max(late(s, m) for s, m in zip(by_simgrid(a, "equal shares", name), each, strict=True))
    cells = [name, len(platform.speeds), len(platform.links), count_transfers(cases), f"{worst:.1f}"]
    cells += [percent(each, "shares by latency"), percent(each, "SimGrid's default")]
    cells.append(percent(by_model_engine(a.program, name, platform, cases, True), "equal shares", True))
    return "| " + " | ".join(map(str, cells)) + " |"


def print_table(a, chosen):
    heads = ["platform", "hosts", "links", "transfers", "most ns apart"]
    heads += ["shares by latency: %", "SimGrid's default: %", "data of a task together: %"]
    print("| " + " | ".join(heads) + " |\n" + "|---" * len(heads) + "|")
    for make in chosen:
        print(row(a, make.__name__, make()), flush=True)


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("program")
    arguments.add_argument("--graphs", type=int, default=30)
    arguments.add_argument("--seed", type=int, default=0)
    arguments.add_argument("--only", type=int)
    arguments.add_argument("--platform", choices=[make.__name__ for make in PLATFORMS])
    arguments.add_argument("--table", action="store_true")
    arguments.add_argument("--simgrid", choices=[*MODELS, "routes"], help=argparse.SUPPRESS)
    arguments.add_argument("--together", action="store_true", help=argparse.SUPPRESS)
    a = arguments.parse_args()
    chosen = [make for make in PLATFORMS if a.platform in (None, make.__name__)]
    if a.simgrid == "routes":
        return print(json.dumps(routes_of(a.platform)))
    if a.simgrid:
        platform = chosen[0]()
        cases = [Case(a.platform, platform, seed) for seed in range(a.seed, a.seed + a.graphs)]
        return print(json.dumps(simulate(a.simgrid, a.together, platform, cases)))
    if a.only is not None:
        a.seed, a.graphs = a.only, 1
        for make in chosen:
            print(Case(make.__name__, make(), a.only))
    if a.table:
        return print_table(a, chosen)
    wrong = sum(check_routes(a, make.__name__, make()) for make in chosen if make.__name__ in ROUTED_BY_SIMGRID)
    sys.exit(wrong + sum(check(a, make.__name__, make()) for make in chosen) != 0)


if __name__ == "__main__":
    main()
