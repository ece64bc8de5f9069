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

PROCESSORS = [1, 2, 3, 4, 8, 16]
LONGEST = 1_000_000


# ---- graphs: successors of each task, always of a higher number


def independent(r, n):
    return [[] for _ in range(n)]


def chains(r, n):
    of = r.randint(1, 8)
    return [[t + of] if t + of < n else [] for t in range(n)]


def layered(r, n):
    width, density = r.randint(1, 10), r.random()
    layer = [t // width for t in range(n)]
    return [[s for s in range(n) if layer[s] == layer[t] + 1 and r.random() < density] for t in range(n)]


def random_order(r, n):
    density = r.choice([0.02, 0.05, 0.1, 0.3])
    return [[s for s in range(t + 1, n) if r.random() < density] for t in range(n)]


def fork_join(r, n):
    """Each fork's tasks fork again or not; all that a fork leads to joins before what follows it."""
    successors = []

    def make(budget):  # -> first and last task of a part with at most `budget` tasks, two at least
        first = len(successors)
        successors.append([])
        ends, left = [], budget - 2
        for _ in range(r.randint(1, 5)):
            if left < 1:
                break
            part = r.randint(1, left)
            left -= part
            if part == 1:
                begin = end = len(successors)
                successors.append([])
            else:
                begin, end = make(part)
            successors[first].append(begin)
            ends.append(end)
        last = len(successors)
        successors.append([])
        for end in ends or [first]:
            successors[end].append(last)
        return first, last

    make(max(n, 2))
    return successors


SHAPES = [independent, chains, layered, random_order, fork_join]


def make_graph(seed):
    r = random.Random(seed)
    successors = SHAPES[seed % len(SHAPES)](r, r.randint(1, 60))
    while True:
        costs = [r.randint(1, LONGEST) for _ in successors]
        if all(len(set(list_schedule(p, costs, successors))) == len(costs) for p in PROCESSORS):
            return costs, successors


# ---- the third opinion


def count_predecessors(successors):
    waits_for = [0] * len(successors)
    for after in successors:
        for s in after:
            waits_for[s] += 1
    return waits_for


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
        text += [" ".join(map(str, [c, len(after), *after])) for c, after in zip(costs, successors)]
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
