"""What a stack says: whose code it is, where in the program, and whether it belongs to a run."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from .finding import Place
from .functions import is_offset
from .symbols import LIBRARY_NAMES, Frame, Symbols
from .watch import Seen, Watch

Owner = Literal["program", "runtime", "system"]

# Weft's library for OpenMP programs has the name of the one whose place it takes, in a folder of its own.
_RUNTIME_MODULES = re.compile(r"/((libweft|libhwloc|libudev|libmetis)|openmp/(libgomp|libomp|libiomp))[^/]*$")
_SYSTEM_MODULES = re.compile(
    r"/(libc|libm|libpthread|libstdc\+\+|libc\+\+|libgcc_s|ld-linux[^/]*|libweft-watch)[.-][^/]*$"
)
_RUNTIME_FILES = re.compile(r"/(include/weft|weft/impl)/")
_SYSTEM_FILES = re.compile(r"^/usr/(include|lib)/|/bits/|/c\+\+/\d+|/ext/")
_LIBRARY_NAMES = re.compile(r"^(std|__gnu_cxx|__gthread|boost|fmt)\b|^operator (new|delete)|^__")
_STARTS = ("main", "_start", "__libc_start_main", "__libc_start_call_main")


@dataclass(frozen=True)
class Stack:
    """One place at which threads were seen, with names."""

    state: str
    seconds: float
    times: int
    longest: float
    object: int
    holder: Place | None
    """A mutex: where its holder had waited for it."""
    owner: Owner
    """Whose code runs or waits: that of the first frame that is not the system's."""
    path: tuple[Place, ...]
    """Functions and lines of the program, innermost first, up to where the runtime has called them. Empty: none."""
    in_run: bool
    """The runtime is in the stack: a run has called the code."""
    is_serial: bool
    """The stack reaches the program's beginning without the runtime."""
    entry: str = ""
    """The function of the runtime that the innermost function of the path has called. Empty: none."""
    faults: int = 0
    """On a core: pages of memory that the system gave the thread there."""
    system: float = 0.0
    """On a core: the part of `seconds` in the kernel."""

    @property
    def is_without_symbols(self) -> bool:
        """It ran code of the program that only the place in a file names."""
        return self.owner == "program" and bool(self.path) and is_offset(self.path[0].function)

    @property
    def place(self) -> Place | None:
        """The innermost place in the file in which the path begins: below it are helpers of general use."""
        return next((p for p in self.path if p.file == self.path[-1].file), None)


def owners_of(frames: Sequence[Frame], sources: tuple[str, ...] = ()) -> list[Owner]:
    """Whose code the functions at one address are: the innermost one, and those that it was put into. `sources`: where
    the files of the runtime's library lie."""
    if not frames:
        return []
    module, symbol = frames[-1].module, without_return_type(frames[-1].function)
    if _SYSTEM_MODULES.search(module):
        return ["system"] * len(frames)
    # No function of the program is put into one that the library has compiled.
    if _RUNTIME_MODULES.search(module) or (symbol.startswith("weft::") and _is_compiled(symbol)):
        return ["runtime"] * len(frames)
    if frames[-1].file and frames[-1].file.startswith(sources):
        return ["runtime"] * len(frames)
    return [_owner_of(f) for f in frames]


def _is_compiled(symbol: str) -> bool:
    """A function of the library itself, and no template of its headers."""
    return "<" not in symbol or LIBRARY_NAMES.match(symbol) is not None


def _owner_of(f: Frame) -> Owner:
    name = without_return_type(f.function)
    if f.file:
        # The file decides: for the innermost function the name may be that of the function that it was put into.
        if _RUNTIME_FILES.search(f.file):
            return "runtime"
        return "system" if _SYSTEM_FILES.search(f.file) else "program"
    if name.startswith("weft::"):
        # Without debug information, the program's code is in the instance of the template that runs it.
        return "program" if "{lambda" in name else "runtime"
    return "system" if not name or _LIBRARY_NAMES.match(name) else "program"


def without_return_type(name: str) -> str:
    """Demangled templates begin with the type that they return: `void weft::f<int>(int)`."""
    depth = 0
    for i, c in enumerate(name):
        depth += (c in "<([{") - (c in ">)]}")
        if c in "(" and depth == 1:
            break
        if c == " " and depth == 0 and not name.startswith("operator"):
            return without_return_type(name[i + 1 :])
    return name


def place_of(f: Frame) -> Place:
    """The place of a frame."""
    return Place(short_name(f.function), f.file, f.line)


def short_name(function: str) -> str:
    """A name without arguments, namespaces without names and clones of the compiler. Empty for a lambda expression of
    which nothing but that is known."""
    name = without_return_type(function).replace("(anonymous namespace)::", "")
    if name.startswith(("operator()", "_Z", "weft::")):
        lambdas = re.findall(r"[\w:]*\{lambda\([^()]*\)#\d+\}", name)
        return lambdas[-1] if lambdas else ""
    name = re.sub(r" \[clone [^]]*\]| const$|\.(constprop|isra|part|cold|_omp_fn)\.\d+", "", name)
    name = re.sub(r"::operator\(\)\([^()]*\)( const)?$", "", name)
    return re.sub(r"(?<!lambda)\([^()]*\)$", "", name)


def stack_of(s: Seen, symbols: Symbols, others: Sequence[Seen] = ()) -> Stack:
    """The stack of what was seen; `others`: all that was, for the place of a holder."""
    groups = [symbols.frames(a) for a in lookup_addresses(s)]
    frames = [f for group in groups for f in group]
    owners = [owner for group in groups for owner in owners_of(group, symbols.sources)]
    first: Owner = next((o for o in owners if o != "system"), "system")
    path: list[Place] = []
    entry = ""
    for f, of in zip(frames, owners, strict=True):
        if of == "runtime" and path:
            break
        if of == "runtime":
            entry = f.function
        if of == "program" and f.function not in _STARTS[1:]:
            path.append(place_of(f))
    in_run = "runtime" in owners
    begins = any(f.function in _STARTS or f.function.startswith("__libc_start") for f in frames)
    holder = stack_of(others[s.holder], symbols).place if s.holder is not None and others else None
    return Stack(
        state=s.state,
        seconds=s.seconds,
        times=s.times,
        longest=s.longest,
        object=s.object,
        holder=holder,
        owner=first,
        path=tuple(path),
        in_run=in_run,
        is_serial=begins and not in_run,
        entry=entry if path else "",
        faults=s.faults,
        system=s.system,
    )


def lookup_addresses(s: Seen) -> list[int]:
    """The addresses to look up: a return address belongs to the call before it."""
    exact = s.state == "on_core"
    return [a if exact and i == 0 else a - 1 for i, a in enumerate(s.frames)]


def stacks_of(watch: Watch) -> list[Stack]:
    """All places of a process, with names; in the order of `watch.seen`."""
    symbols = Symbols(watch.maps)
    symbols.learn(a for s in watch.seen for a in lookup_addresses(s))
    return [stack_of(s, symbols, watch.seen) for s in watch.seen]
