"""Policies written in Python, for modelled machines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

from ._core import Context, Group, Task

__all__ = ["Ask", "Context", "Group", "Looked", "Placed", "Policy", "Task"]


class Placed(NamedTuple):
    """Where a policy has put a task, and who could run it: one sleeper of them is woken."""

    place: int
    who: tuple[int, int] | None = None
    """Half-open range of workers; None: all."""
    near: int = -1
    """Whom to wake if it sleeps, else the next of them upwards; -1: the caller."""


class Ask(NamedTuple):
    """Of Policy.next: nothing here; ask `worker` for the oldest of its hidden forks."""

    worker: int


class Looked(NamedTuple):
    """Of Policy.next: nothing lay at `place`. None says the same of place 0; what a look costs depends on the place."""

    place: int


class Policy:
    """A scheduling policy for `weft.simulate`: derive from it, and write at least `ready` and `next`.

    Workers have ranks from 0; the hooks are those of a policy in C++ (docs/adding-a-policy.md), one at a time, in
    virtual time. A hook that raises ends the simulation with that exception.

    >>> class Newest(weft.Policy):
    ...     def attach(self, machine, context):
    ...         self.pool = []
    ...     def ready(self, worker, task, why):
    ...         self.pool.append(task)
    ...     def next(self, worker, last_look):
    ...         return self.pool.pop() if self.pool else None
    >>> weft.simulate("run.weft", machine="machines/opteron-8380-4x4.toml", policy=Newest).seconds
    """

    needs: ClassVar[frozenset[str]] = frozenset()
    """Of "lazy" (roots are born silent: no spawn is reported), "usage" (`finished` is told times), "uses"
    (`Task.uses`), "levels" (`Task.bottom_level`), "demotable" (child_first may become call for want of a stack)."""

    def attach(self, machine: dict[str, Any], context: Context) -> None:
        """Once, before any other hook. `machine` is as of `weft.machine`, cut to the workers' cores."""

    def ready(self, worker: int, task: Task, why: str) -> Placed | int | None:
        """`task` may run: keep it. `why`: root, spawned, continuation, joined, moved, unblocked, released, granted,
        exposed, preempted or yielded. Returns where it was put; a number is a place from which all workers may take it,
        None the worker's own."""
        raise NotImplementedError

    def next(self, worker: int, last_look: bool) -> Task | Ask | Looked | None:
        """A task for `worker`, one that `ready` was called with. `last_look`: it sleeps if nothing comes."""
        raise NotImplementedError

    def victims(self, worker: int) -> Sequence[int]:
        """Whose hidden forks a sleeping worker keeps asking for: a half-open range."""
        return (0, 0)

    def spawn(self, worker: int, parent: Task, child: Task) -> str:
        """What a spawn does: child_first, parent_first, call (at once, on the parent's stack) or lazy (the same, and
        nothing below is reported)."""
        return "parent_first"

    def group_begin(self, worker: int, task: Task, group: Group) -> None:
        """`task` begins to spawn into `group`."""

    def group_wait(self, worker: int, task: Task, group: Group) -> str:
        """`task` waits for `group`: stay, or requeue (it goes through `ready` even where nothing is left to wait
        for)."""
        return "stay"

    def group_end(self, worker: int, task: Task, group: Group) -> None:
        """All of `group` has ended, and `task` goes on."""

    def started(self, worker: int, task: Task) -> None:
        """`task` begins."""

    def blocked(self, worker: int, task: Task, why: str) -> None:
        """`task` is suspended, and comes back by `ready` with that reason."""

    def finished(self, worker: int, task: Task, usage: dict[str, Any]) -> None:
        """`task` has ended. `usage`: self_ns, wall_ns (0 without "usage" in `needs`), cancelled."""

    def iteration(self, worker: int, task: Task, number: int) -> None:
        """`task`, a root, begins an outer iteration (weft::iteration)."""
