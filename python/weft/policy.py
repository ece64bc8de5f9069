"""Policies written in Python, for modelled machines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

from ._core import Context, Group, Task

__all__ = ["Ask", "Context", "Group", "Looked", "Place", "Placed", "Policy", "Task"]


class Placed(NamedTuple):
    """Where a policy has put a task, and which workers could run it: one of them that sleeps is woken."""

    place: int
    who: tuple[int, int] | None = None
    """Half-open range of workers; None: all."""
    near: int = -1
    """The worker to wake if it sleeps, else the next sleeping worker above it; -1: the caller."""


class Ask(NamedTuple):
    """Returned by Policy.next: no task, but ask `worker` for the oldest of its hidden forks."""

    worker: int


class Looked(NamedTuple):
    """Returned by Policy.next: no task lay at `place`. None says the same of place 0. The place determines what a look
    costs."""

    place: int


class Place(NamedTuple):
    """Returned by Policy.mold: adjacent workers that run a moldable task together. `leader` runs the share of rank 0,
    and `leader + i` that of rank i, below `width`."""

    leader: int
    width: int = 1


class Policy:
    """Base class of scheduling policies for `weft.simulate`. A derived class has at least `ready` and `next`.

    Workers have ranks from 0. The hooks are those of a policy in C++ (docs/adding-a-policy.md). One hook runs at a
    time, in virtual time. If a hook raises, the simulation ends with that exception.

    >>> class Newest(weft.Policy):
    ...     def attach(self, machine, context):
    ...         self.pool = []
    ...     def ready(self, worker, task, reason):
    ...         self.pool.append(task)
    ...     def next(self, worker, last_look):
    ...         return self.pool.pop() if self.pool else None
    >>> weft.simulate("run.weft", machine="opteron-8380-4x4", policy=Newest).seconds
    """

    needs: ClassVar[frozenset[str]] = frozenset()
    """What the policy needs, of "lazy" (roots are born silent: no spawn is reported), "usage" (`finished` gets times),
    "uses" (`Task.uses`), "levels" (`Task.bottom_level`), "snapshots" (`Context.running`), "exchanges"
    (`Context.exchange`), "graph_tasks" (each task of a graph comes by `ready`, also where roots are silent), and
    "demotable" (child_first may become call if there is no stack for it)."""

    tick_ns: ClassVar[int] = 0
    """Nanoseconds between two calls of `tick`; 0: it is not called."""

    most_width: ClassVar[int] = 0
    """The widest place that `mold` returns, at most 64, and no more than there are workers; 0: the policy does not
    mold, and a moldable task gets a team."""

    def attach(self, machine: dict[str, Any], context: Context) -> None:
        """Called once, before any other hook. `machine` is as from `weft.machine`, cut to the workers' cores."""

    def ready(self, worker: int, task: Task, reason: str) -> Placed | int | None:
        """`task` may run: the policy keeps it. `reason`: root, spawned, continuation, joined, moved, unblocked,
        released, granted, exposed, preempted or yielded. Returns where the task was put: a number is a place from which
        all workers may take it; None is the worker's own place."""
        raise NotImplementedError

    def next(self, worker: int, last_look: bool) -> Task | Ask | Looked | None:
        """Returns a task for `worker` that `ready` was called with. `last_look`: the worker sleeps if it gets none."""
        raise NotImplementedError

    def victims(self, worker: int) -> Sequence[int]:
        """The workers whose hidden forks a sleeping worker keeps asking for: a half-open range."""
        return (0, 0)

    def mold(self, worker: int, task: Task) -> Place | tuple[int, int]:
        """With `most_width`: `next` has returned the moldable `task` (`Task.molds`) for `worker`. Returns where it
        runs, and how wide; `task.width` is what the program has asked for."""
        return Place(worker, 1)

    def assemble(self, worker: int, shares: list[Task], place: tuple[int, int]) -> None:
        """After `mold`: the shares of the task in the order of their ranks, of which the first is the task itself, and
        the place as (leader, width). The policy keeps share i, and `next` returns it for worker leader + i only. A
        share may wait for another one, so the shares of any two tasks come to all workers that have both in the same
        order."""
        raise NotImplementedError("a policy with most_width has assemble()")

    def spawn(self, worker: int, parent: Task, child: Task) -> str:
        """Returns what a spawn does: child_first, parent_first, call (the child runs at once, on the parent's stack) or
        lazy (the same, and no spawn below it is reported)."""
        return "parent_first"

    def group_begin(self, worker: int, task: Task, group: Group) -> None:
        """`task` begins to spawn into `group`."""

    def group_wait(self, worker: int, task: Task, group: Group) -> str:
        """`task` waits for `group`. Returns stay, or requeue (the task goes through `ready` even if nothing is left to
        wait for)."""
        return "stay"

    def group_end(self, worker: int, task: Task, group: Group) -> None:
        """All of `group` has ended, and `task` continues."""

    def started(self, worker: int, task: Task) -> None:
        """`task` begins."""

    def blocked(self, worker: int, task: Task, reason: str) -> None:
        """`task` is suspended. It comes back by `ready` with that reason."""

    def finished(self, worker: int, task: Task, usage: dict[str, Any]) -> None:
        """`task` has ended. `usage`: self_ns, wall_ns (both 0 without "usage" in `needs`), cancelled."""

    def iteration(self, worker: int, task: Task, number: int) -> None:
        """`task`, a root, begins an outer iteration (weft::iteration); -1: it writes the program's data first."""

    def gives_way(self, worker: int, task: Task) -> bool:
        """At a tick of the preemption timer: whether `task`, which may be preempted, makes room for other tasks."""
        return True

    def tick(self, now: int) -> None:
        """Called every `tick_ns` nanoseconds while some worker runs a task; `now` is the virtual time."""
