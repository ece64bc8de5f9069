"""The guide: which policies are worth trying for which program on which machine.

Each rule has a condition, which is a function of the features alone, the reason that it prints, the policies that it
proposes, and its source. The conditions choose what is tried; what is advised is decided by times.

The sources are: *book*, Q. Chen, M. Guo: Task Scheduling for Multi-core and Parallel Architectures. Springer 2017,
whose chapter 9 names the hardware feature, the bottleneck and the technique of each architecture; the papers and theses
of the other policies, as `weft policies` names them; and *docs*, what was measured here. The rows of chapter 9 for
graphics processors, clouds and accelerators are not here: their techniques place kernels and jobs, which no policy of a
runtime does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from .features import Machine, Program

BASELINE = "steal"
"""The policy that is always tried, and advised unless another one is clearly better."""

REPORTED_NS = 400.0
"""What a spawn costs that the policy decides about (docs/policies.md)."""
_COARSE = 20
"""So many times that cost are coarse tasks: it is at most 5 % of them."""
_MEMORY = 0.1
"""Share of the time that tasks wait for memory from which on the place of data matters."""
_ALIKE = 0.5
"""Standard deviation over mean of the times of one kind of tasks: below, the kind tells the time."""
_HEAVY = 0.05
"""Part of a worker's work from which on one task is heavy: so much idle time it may cause at the end."""
_FAR_NS = 10_000.0
"""Nanoseconds that a task takes between clusters: more than between the packages of one computer."""


@dataclass(frozen=True)
class Candidate:
    """Settings that are tried."""

    policy: str
    workers: int | None = None
    """None: as many as otherwise."""

    @property
    def label(self) -> str:
        """The settings as one word for tables."""
        return self.policy if self.workers is None else f"{self.policy}, {self.workers} workers"

    def settings(self) -> dict[str, str | int]:
        """As in a settings file."""
        return {"policy": self.policy} | ({} if self.workers is None else {"workers": self.workers})


@dataclass(frozen=True)
class Proposal:
    """A candidate, and why it is tried."""

    candidate: Candidate
    rule: str
    reason: str
    source: str


Condition = Callable[[Program, Machine], str | None]
"""The reason why a rule applies; None if it does not."""


@dataclass(frozen=True)
class Rule:
    """One row of the guide."""

    name: str
    """The hardware feature or the property of the program."""
    policies: tuple[str, ...]
    """The best first."""
    applies: Condition
    source: str


# ---- conditions


def _size(size: float) -> str:
    unit = next(((u, s) for u, s in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)) if size >= s), ("bytes", 1.0))
    return f"{size / unit[1]:.3g} {unit[0]}"


def _waits(p: Program) -> bool:
    """Whether the place of data may matter: tasks wait for memory, or it is not known and they declare data."""
    return p.memory >= _MEMORY if p.memory is not None else bool(p.footprint)


def _coarse(p: Program) -> bool:
    return p.grain * 1e9 >= _COARSE * REPORTED_NS


def _of_time(p: Program) -> str:
    return "tasks declare data" if p.memory is None else f"tasks wait for memory in {p.memory:.0%} of their time"


def several_sockets(p: Program, m: Machine) -> str | None:
    """Random stealing wastes the caches that cores share."""
    if m.domains < 2 or m.far_ns >= _FAR_NS or p.shape == "graph" or not _waits(p):
        return None
    return f"{m.domains} last-level caches, each shared by some cores, and {_of_time(p)}: neighbours belong together"


def returning_data(p: Program, m: Machine) -> str | None:
    """Data that are used again should be where they were used before."""
    if m.domains < 2 or m.far_ns >= _FAR_NS or p.shape == "graph" or not _waits(p):
        return None
    if p.reuse < 2 and p.iterations < 2:
        return None
    often = f"{p.iterations} iterations over" if p.iterations > 1 else f"{p.reuse:.3g} times over"
    data = f"{_size(p.footprint)} of data" if p.footprint else "the same data"
    return f"{often} {data} on {m.domains} last-level caches: each part can return to the same one"


def remote_memory(p: Program, m: Machine) -> str | None:
    """Memory of another socket is slower."""
    if m.nodes < 2 or p.shape == "graph" or not _waits(p) or p.iterations < 2:
        return None
    return f"{m.nodes} memory nodes, {p.iterations} iterations, and {_of_time(p)}: data can lie where they are used"


def shared_cache(p: Program, m: Machine) -> str | None:
    """Cores that share a cache should work on the same data."""
    if not m.cache or not p.footprint or p.footprint <= m.private or p.shape == "graph" or not _waits(p):
        return None
    data, cache = _size(p.footprint), _size(m.cache)
    return (
        f"{data} of data, a shared cache of {cache}, and {_of_time(p)}: what runs at the same time should fit the cache"
    )


def near_steals(p: Program, m: Machine) -> str | None:
    """A steal from far takes longer, and takes the task away from its data."""
    if m.domains < 2 or m.far_ns >= _FAR_NS:
        return None
    return f"{m.domains} last-level caches: a steal from near takes less time, and finds its data nearer"


def slow_links(p: Program, m: Machine) -> str | None:
    """Stealing over slow links should be hidden."""
    if m.far_ns < _FAR_NS:
        return None
    return f"a task takes {m.far_ns / 1e3:.3g} us between clusters: the way should be hidden behind work"


def unequal_cores(p: Program, m: Machine) -> str | None:
    """The last long task on a slow core ends late."""
    if m.equal:
        return None
    return f"the slowest core has {m.slowest:.2g} of the speed of the fastest one: long tasks should not end there"


def unequal_cores_coarse(p: Program, m: Machine) -> str | None:
    """A spawner on a slow core should not keep its children."""
    if m.equal or not _coarse(p):
        return None
    return f"unequal cores, and tasks of {p.grain * 1e6:.3g} us: a spawner on a slow core can offer its children"


def heavy_tasks(p: Program, m: Machine) -> str | None:
    """A long task that begins last ends last."""
    part = p.longest * m.workers / p.work if p.work else 0.0
    if p.shape != "flat" or not p.hints_work or part < _HEAVY:
        return None
    return (
        f"the longest task is {part:.0%} of what a worker has to do, and tasks say their work: long ones can go first"
    )


def unequal_cores_kinds(p: Program, m: Machine) -> str | None:
    """What a kind of tasks takes is known from those before."""
    if m.equal or p.shape != "flat" or p.kinds < 2 or p.spread > _ALIKE:
        return None
    return (
        f"unequal cores, and {p.kinds} kinds of tasks without dependences whose times are alike (spread {p.spread:.2g})"
    )


def unequal_cores_graph(p: Program, m: Machine) -> str | None:
    """What is far from the end of a graph goes to fast cores."""
    if m.equal or p.shape != "graph":
        return None
    return "unequal cores, and a graph: what is far from its end should run on the fast ones"


def moldable_tasks(p: Program, m: Machine) -> str | None:
    """Tasks that are parallel themselves need a width."""
    if not p.moldable:
        return None
    return f"{p.moldable} moldable tasks: the policy chooses how wide each runs"


def graph_data(p: Program, m: Machine) -> str | None:
    """A task of a graph should run where its data lie."""
    if p.shape != "graph" or not p.graph_data or m.nodes < 2:
        return None
    return f"a graph whose tasks declare data, and {m.nodes} memory nodes: a task can run where its data lie"


def graph_order(p: Program, m: Machine) -> str | None:
    """With little parallelism the longest path must not wait."""
    if p.shape != "graph" or p.parallelism > 4 * m.workers:
        return None
    return (
        f"a graph with a parallelism of {p.parallelism:.3g} for {m.workers} workers: its longest path should not wait"
    )


def equal_loops(p: Program, m: Machine) -> str | None:
    """Equal pieces need no stealing, and return to the same core."""
    if p.shape == "graph" or not m.equal or not (p.iterations > 1 or p.reuse >= 2):
        return None
    return "equal cores, and the same work again: a loop's pieces can stay on their cores"


def few_spawns(p: Program, m: Machine) -> str | None:
    """A spawner that offers its children is not stolen itself."""
    if p.widest < 2 * m.workers or not _coarse(p):
        return None
    return f"a task spawns {p.widest} others of {p.grain * 1e6:.3g} us on average: the spawner need not be stolen"


def one_package(p: Program, m: Machine) -> str | None:
    """A program with little parallelism has its data nearer on fewer cores."""
    cores = m.workers // m.packages
    if m.packages < 2 or not m.equal or not p.parallelism < cores or cores < 1:
        return None
    return f"a parallelism of {p.parallelism:.3g}, and {cores} cores a package: one package is enough"


# ---- the table

RULES: tuple[Rule, ...] = (
    Rule("unequal cores", ("hybrid", "snatch"), unequal_cores, "book, 9.4 and 5.2; docs/unequal-cores.md"),
    Rule("unequal cores, coarse tasks", ("steal-parent-first",), unequal_cores_coarse, "book, 5.7; docs/policies.md"),
    Rule("heavy tasks", ("ljfcf",), heavy_tasks, "book, 5.3.4; Lakshminarayana et al., SC 2009"),
    Rule("unequal cores, kinds of tasks", ("aats", "bias"), unequal_cores_kinds, "book, 9.4 and 5.7; its rule for"
         " divide and conquer, 5.12"),
    Rule("unequal cores, graph", ("cats", "xitao", "heft", "dheft"), unequal_cores_graph, "docs/unequal-cores.md"),
    Rule("moldable tasks", ("xitao", "hybrid"), moldable_tasks, "docs/moldable-tasks.md"),
    Rule("slow links", ("crs", "cls", "chs", "random-push"), slow_links, "van Nieuwpoort et al. 2001"),
    Rule("NUMA", ("laws", "laws-nc", "adws"), remote_memory, "book, 9.3 and chapter 4"),
    Rule("returning data", ("adws", "ml-adws", "constrained"), returning_data, "Shiina 2021, chapters 4 and 5"),
    Rule("several sockets", ("cab", "sb", "ml-steal", "hws"), several_sockets, "book, 9.2 and chapter 3"),
    Rule("shared cache", ("pdf", "cpdf", "sb"), shared_cache, "Blelloch, Gibbons 2004; book, 9.2"),
    Rule("graph with data", ("locality", "socket", "numalb"), graph_data, "book, 9.3; docs/policies.md"),
    Rule("graph with a long path", ("cats", "heft"), graph_order, "Chronaki et al. 2015"),
    Rule("equal pieces", ("static", "dynamic"), equal_loops, "OpenMP's schedules; docs/policies.md"),
    Rule("near steals", ("near", "pws", "slaw", "mts"), near_steals, "book, 9.2; docs/policies.md"),
    Rule("wide spawns", ("steal-parent-first",), few_spawns, "book, 2.2; docs/policies.md"),
)  # fmt: skip

MOST = 8
"""How many candidates are tried besides the baseline, if no other number is asked for."""


def candidates(p: Program, m: Machine, most: int = MOST) -> list[Proposal]:
    """What is worth trying besides the baseline, the most promising first: the first policy of each rule that applies,
    in the order of the table, then the second ones, and so on. A policy that several rules propose has the reason of
    the first one."""
    if m.workers < 2 or p.parallelism < 1.05:
        return []
    found: dict[Candidate, Proposal] = {}
    applying = [(rule, reason) for rule in RULES for reason in [rule.applies(p, m)] if reason is not None]
    if (why := one_package(p, m)) is not None:
        few = Candidate(BASELINE, m.workers // m.packages)
        found[few] = Proposal(few, "one package", why, "docs/policies.md")
    for place in range(max((len(rule.policies) for rule, _ in applying), default=0)):
        for rule, reason in applying:
            if place < len(rule.policies):
                one = Candidate(rule.policies[place])
                found.setdefault(one, Proposal(one, rule.name, reason, rule.source))
    return list(found.values())[:most]


def applying(p: Program, m: Machine) -> Sequence[tuple[Rule, str]]:
    """The rules that apply, each with its reason."""
    return [(rule, reason) for rule in RULES for reason in [rule.applies(p, m)] if reason is not None]
