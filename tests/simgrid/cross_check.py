#!/usr/bin/env python3
"""Compares the model engine with two other simulators that share no code with it: SimGrid, and thirty lines of Python.

    cross_check.py LIST_SCHEDULE [--graphs N] [--seed N]
    cross_check.py LIST_SCHEDULE --only SEED      one graph, printed

Random task graphs with fixed costs, on 1 to 16 equal processors, under the same list schedule: an idle processor
takes the task that became ready first; the successors of one task become ready in the order of their numbers. All
three must say the same of every task: when it ends. Exits with 1 at a difference, and prints the seed and the graph.

Which processor takes a task makes no difference, since they are equal. What would make one is two tasks that end at the
same time, since nothing says whose successors are ready first: costs are drawn again until no two do, on any number of
processors. All times are integers below 2^53, which SimGrid's doubles hold exactly.
"""

import argparse
import heapq
import random
import subprocess
import sys
from collections import deque

from graphs import SHAPES, count_predecessors

PROCESSORS = [1, 2, 3, 4, 8, 16]
LONGEST = 1_000_000


def make_graph(seed):
    r = random.Random(seed)
    successors = SHAPES[seed % len(SHAPES)](r, r.randint(1, 60))
    while True:
        costs = [r.randint(1, LONGEST) for _ in successors]
        if all(len(set(list_schedule(p, costs, successors))) == len(costs) for p in PROCESSORS):
            return costs, successors


# ---- the third opinion


def list_schedule(p, costs, successors):
    """When each task ends."""
    waits_for = count_predecessors(successors)
    ready = deque(t for t, count in enumerate(waits_for) if count == 0)
    ends, running, now = [0] * len(costs), [], 0
    while ready or running:
        while ready and len(running) < p:
            t = ready.popleft()
            heapq.heappush(running, (now + costs[t], t))
        now, t = heapq.heappop(running)
        ends[t] = now
        for s in successors[t]:
            waits_for[s] -= 1
            if waits_for[s] == 0:
                ready.append(s)
    return ends


# ---- SimGrid


def by_simgrid(cases):
    """One simulation for all of them, one after the other: a process can have one engine only."""
    from simgrid import Actor, Engine, NetZone, this_actor

    engine = Engine(["cross_check", "--log=root.thresh:warning"])
    zone = NetZone.create_full_zone("processors")
    hosts = [zone.create_host(f"processor-{i}", 1.0) for i in range(max(PROCESSORS))]  # an operation a second
    zone.seal()
    answers = []

    def processor(successors, costs, waits_for, ready, idle, ends, began):
        while True:
            if not ready:
                if 0 not in ends:
                    return
                idle.append(Actor.self())
                this_actor.suspend()
                continue
            t = ready.popleft()
            this_actor.execute(costs[t])
            ends[t] = Engine.clock - began
            for s in successors[t]:
                waits_for[s] -= 1
                if waits_for[s] == 0:
                    ready.append(s)
            while idle and (ready or 0 not in ends):
                idle.pop().resume()

    def director():
        for p, costs, successors in cases:
            waits_for = count_predecessors(successors)
            ready = deque(t for t, count in enumerate(waits_for) if count == 0)
            ends = [0] * len(costs)
            state = (successors, costs, waits_for, ready, [], ends, Engine.clock)
            crew = [Actor.create(f"processor-{i}", hosts[i], processor, *state) for i in range(p)]
            for actor in crew:
                actor.join()
            answers.append(ends)

    Actor.create("director", hosts[0], director)
    engine.run()
    return answers


# ---- the model engine


def by_model_engine(program, cases):
    text = []
    for p, costs, successors in cases:
        text.append(f"{p} {len(costs)}")
        text += [
            " ".join(map(str, [c, 0, len(after), *(f"{s} 0" for s in after)])) for c, after in zip(costs, successors)
        ]
    out = subprocess.run([program], input="\n".join(text), capture_output=True, text=True, check=True).stdout
    return [[int(word) for word in line.split()] for line in out.splitlines()]


def differences(seed, case, expected, simgrid, model):
    p, costs, successors = case
    took, ends = model[0], model[1:]
    if simgrid == expected and ends == expected and took == max(expected):
        return 0
    print(f"seed {seed}, {SHAPES[seed % len(SHAPES)].__name__}, {p} processors: the answers differ")
    print(f"    done: SimGrid {max(simgrid):.17g}, the model engine {took}, the Python schedule {max(expected)}")
    print("    task: cost, successors: end by SimGrid, the model engine, the Python schedule")
    for t, after in enumerate(successors):
        print(f"    {t}: {costs[t]}, {after}: {simgrid[t]:.17g}, {ends[t]}, {expected[t]}")
    return 1


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("program")
    arguments.add_argument("--graphs", type=int, default=200)
    arguments.add_argument("--seed", type=int, default=0)
    arguments.add_argument("--only", type=int)
    a = arguments.parse_args()
    seeds = range(a.seed, a.seed + a.graphs) if a.only is None else [a.only]
    graphs = {seed: make_graph(seed) for seed in seeds}
    if a.only is not None:
        for t, (c, after) in enumerate(zip(*graphs[a.only])):
            print(f"{t}: cost {c}, successors {after}")
    keys = [(seed, p) for seed in seeds for p in PROCESSORS]
    cases = [(p, *graphs[seed]) for seed, p in keys]
    model, simgrid = by_model_engine(a.program, cases), by_simgrid(cases)
    if not len(model) == len(simgrid) == len(cases):
        sys.exit(f"{len(cases)} schedules asked for, SimGrid has {len(simgrid)}, the model engine {len(model)}")
    different = sum(
        differences(seed, case, list_schedule(*case), *answers)
        for (seed, _), case, *answers in zip(keys, cases, simgrid, model)
    )
    print(f"{len(graphs)} graphs, {len(cases)} schedules, {different} different")
    sys.exit(different != 0)


if __name__ == "__main__":
    main()
