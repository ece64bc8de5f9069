"""Limits as a resources file: docs/resources.md has the format."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from ..errors import Error, compose
from .contention import Axis
from .workload import Need


def resources_file(
    limits: Mapping[str, float], axes: Sequence[Axis], needs: Mapping[str, Sequence[Need]], comment: str = ""
) -> str:
    """The text of a file under which so many tasks of each axis run at once.

    `limits`: by axis, whole numbers. `needs`: by class, what the program itself declares. If the classes of an axis,
    and no others, need the same amount of one resource already, that resource is the limit; else the file gives the
    classes a need. Of other resources that the program needs there is enough for all tasks. Raises `Error` for a limit
    that is not a whole number.
    """
    lines = [f"# {line}" for line in comment.splitlines()]
    said: dict[str, str] = {}
    bounded = set()
    for axis in axes:
        if axis.name not in limits:
            continue
        amount = limits[axis.name]
        if amount < 1 or amount != int(amount):
            raise Error(compose(f"the limit of {axis.name}", amount, "a whole number from 1"))
        own = own_resource(axis, needs)
        name, each = own if own else (axis.name, 1)
        if not own:
            if any(need.resource == name for mine in needs.values() for need in mine):
                name += " at once"
            for c in axis.classes:
                said[c] = name
        bounded.add(name)
        lines += _resource(name, int(amount) * each)
    total: dict[str, int] = {}
    for mine in needs.values():
        for need in mine:
            total[need.resource] = total.get(need.resource, 0) + need.most * need.tasks
    for resource, amount in total.items():
        if resource not in bounded:
            lines += _resource(resource, amount)
    for tasks, resource in said.items():
        lines += ["", "[[needs]]", f"tasks = {_quoted(tasks)}", f"resource = {_quoted(resource)}"]
    return "\n".join(lines).lstrip("\n") + "\n"


def own_resource(axis: Axis, needs: Mapping[str, Sequence[Need]]) -> tuple[str, int] | None:
    """The resource that exactly the classes of an axis need, and the amount that each task needs."""
    mine = [needs.get(c, ()) for c in axis.classes]
    if not all(len(n) == 1 for n in mine):
        return None
    (resource, *others), amounts = {n[0].resource for n in mine}, {a for n in mine for a in (n[0].least, n[0].most)}
    elsewhere = any(n.resource == resource for c, ns in needs.items() if c not in axis.classes for n in ns)
    return None if others or len(amounts) > 1 or elsewhere else (resource, amounts.pop())


def _resource(name: str, amount: int) -> list[str]:
    return ["", "[[resource]]", f"name = {_quoted(name)}", f"amount = {amount}"]


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
