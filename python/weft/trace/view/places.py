"""Where on the machine the workers of a trace were."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ... import library
from ...errors import Error, LibraryError, compose
from ..trace import Header


@dataclass(frozen=True)
class Places:
    """For each worker its cache domain and its package, numbered as the machine numbers them."""

    domains: list[int]
    packages: list[int]


def places(header: Header, spec: str | None) -> Places | None:
    """The places on the machine `spec`, as for `WEFT_MACHINE`; None: this machine, if the trace was written on it.

    Returns None if the trace was written on another machine and no `spec` is given. Raises `Error` if `spec` is not
    the machine of the trace, `LibraryError` if it cannot be read.
    """
    if spec is None:
        try:
            here = library.machine()
        except LibraryError:
            return None
        return _of(here, header.cores) if here["text"] == header.machine_text else None
    machine = library.machine(spec)
    if machine["name"] != header.machine:
        raise Error(compose("another machine than the trace's", f"{spec}, {machine['name']}", header.machine))
    if max(header.cores) >= machine["ranks"]:
        raise Error(
            compose("a core of the trace is not on the machine", max(header.cores), f"0 to {machine['ranks'] - 1}")
        )
    return _of(machine, header.cores)


def _of(machine: dict[str, Any], cores: tuple[int, ...]) -> Places | None:
    def which(parts: list[dict[str, Any]], core: int) -> int:
        return next((i for i, part in enumerate(parts) if part["ranks"][0] <= core < part["ranks"][1]), -1)

    domains = [which(machine["domains"], core) for core in cores]
    packages = [which(machine["packages"], core) for core in cores]
    return None if -1 in domains + packages else Places(domains, packages)
