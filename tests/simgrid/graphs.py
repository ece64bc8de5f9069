"""Random task graphs: the successors of each task, always of a higher number."""


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


def stages(r, n, width):
    """Tasks of one stage, as many as `width`, each for one to three of the next one. `n` stages."""
    following = [r.sample(range(width), min(width, r.randint(1, 3))) for _ in range((n - 1) * width)]
    return [[(t // width + 1) * width + s for s in sorted(of)] for t, of in enumerate(following)] + [[]] * width


SHAPES = [independent, chains, layered, random_order, fork_join]


def count_predecessors(successors):
    waits_for = [0] * len(successors)
    for after in successors:
        for s in after:
            waits_for[s] += 1
    return waits_for
