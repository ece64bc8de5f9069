#!/usr/bin/env python3
"""Checks that includes between the rooms of the source tree point downwards only, and the length of its files.

    check_layering.py SOURCE_DIR     check a tree; exit status 1 and one line a violation
    check_layering.py --self-test    check this checker on small trees made for it

A room is a folder in ROOMS below. Its files may include their own room, the rooms listed for it, and
include/weft. A new room is added there, below everything that will include it.
"""

import re
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import check_cli

PUBLIC = "include/weft"

# room -> rooms it may include, besides itself and include/weft
ROOMS = {
    PUBLIC: [],
    "src/machine": [],
    "src/queue": [],
    "src/sort": [],
    "src/task": ["src/machine", "src/queue"],
    "src/policy/seam": ["src/machine", "src/task", "src/queue"],
    "src/policy/parts": ["src/machine", "src/task", "src/queue", "src/policy/seam"],
    "src/policy": ["src/machine", "src/task", "src/queue", "src/policy/seam", "src/policy/parts"],
    "src/gate": ["src/machine", "src/task", "src/queue"],
    "src/trace/write": ["src/queue"],
    "src/trace/profile": ["src/trace/write"],
    "src/share": ["src/queue"],
}
BELOW_ENGINE = ["src/machine", "src/task", "src/queue", "src/policy/seam", "src/gate", "src/trace/write"]
ROOMS["src/engine/ports"] = BELOW_ENGINE
ROOMS["src/engine/worker"] = [*BELOW_ENGINE, "src/engine/ports"]
ROOMS["src/engine/process"] = [*ROOMS["src/engine/worker"], "src/engine/worker"]
ROOMS["src/engine/observe"] = [*ROOMS["src/engine/process"], "src/engine/process", "src/trace/profile"]
ROOMS["src/engine/team"] = [*ROOMS["src/engine/worker"], "src/engine/worker"]
ROOMS["src/engine/run"] = [*ROOMS["src/engine/worker"], "src/engine/worker", "src/engine/team"]
ROOMS["src/engine/idle"] = [*ROOMS["src/engine/run"], "src/engine/run"]
ROOMS["src/engine/model"] = [*ROOMS["src/engine/idle"], "src/engine/idle", "src/engine/process", "src/engine/observe",
                             "src/share"]
ROOMS["src/engine/threads"] = ROOMS["src/engine/model"]
ROOMS["src/calibrate"] = [*ROOMS["src/engine/threads"], "src/engine/threads"]
ROOMS["src/graph"] = ROOMS["src/engine/idle"]
ROOMS["src/pipeline"] = ROOMS["src/engine/idle"]
ROOMS["src/api"] = [room for room in ROOMS if room.startswith("src/")]
# Not in the library: what its Python package and its tests link besides.
ROOMS["src/trace/walk"] = ["src/trace/write"]
ROOMS["src/replay"] = ["src/machine", "src/calibrate", "src/trace/write", "src/trace/walk"]
ROOMS["src/policy/hosted"] = ["src/machine", "src/task", "src/queue", "src/policy/seam"]
ROOMS["python/core"] = ["src/machine", "src/calibrate", "src/trace/write", "src/trace/walk", "src/replay", "src/policy/seam",
                        "src/policy/hosted", "src/share", "src/api"]
# Libraries of their own, which contain all of the above.
ROOMS["compat/openmp/runtime"] = [*ROOMS["src/graph"], "src/engine/idle", "src/engine/threads", "src/graph"]
ROOMS["compat/openmp/gomp"] = ["compat/openmp/runtime"]
ROOMS["compat/openmp/kmpc"] = ["compat/openmp/runtime"]
ROOMS["compat/openmp/api"] = ["compat/openmp/runtime"]
ROOMS["compat/watch"] = []

# A policy runs in real and in virtual time alike: time, chance and concurrency come from its context
# and from src/queue.
BANNED = {room: ["thread", "stop_token", "atomic", "chrono", "random", "mutex", "shared_mutex",
                 "condition_variable", "future", "semaphore", "latch", "barrier"]
          for room in ROOMS if room == "src/policy" or room.startswith("src/policy/")}

# Only the bindings know Python: room of the includes that begin so.
PYTHON_HEADERS = ("nanobind/", "Python.h")
PYTHON_ROOM = "python/core"

# A file has one noun. Single structures that cannot be cut, such as a lock-free one, are listed by path.
MOST_LINES = 400
SINGLE_STRUCTURES = []

SUFFIXES = {".hpp", ".h", ".hh", ".ipp", ".inl", ".cpp", ".cc", ".c"}
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"\n]+)[>"]', re.MULTILINE)


def room_of(path):
    """The room a path (relative to the source directory) lies in, or None."""
    for parent in path.parents:
        if parent.as_posix() in ROOMS:
            return parent.as_posix()
    return None


def resolve(root, file, quote, name):
    """The file an include names, relative to root; None for one that is not in the tree."""
    places = [root / "src", root / "include", root / "compat/openmp"]
    if quote == '"':
        places.insert(0, (root / file).parent)
    for place in places:
        target = (place / name).resolve()
        if target.is_file() and target.is_relative_to(root):
            return target.relative_to(root)
    return None


def check_length(file, text):
    lines = text.count("\n")
    if lines <= MOST_LINES or file.parts[0] == "include" or file.as_posix() in SINGLE_STRUCTURES:
        return []
    return [f"{file}: {lines} lines, more than {MOST_LINES}; find the second noun in it and move that to a file "
            "of its own; a single structure, such as a lock-free one, is listed in SINGLE_STRUCTURES in "
            "tests/layering/check_layering.py"]


def check_file(root, file):
    room = room_of(file)
    if room is None:
        return [f"{file}: {file.parent} is in no room; add the room to ROOMS in tests/layering/check_layering.py "
                "and to src/README.md, or move the file"]
    allowed = {room, PUBLIC, *ROOMS[room]}
    text = (root / file).read_text(encoding="utf-8", errors="replace")
    errors = check_length(file, text)
    for match in INCLUDE.finditer(text):
        quote, name = match.groups()
        where = f"{file}:{text.count(chr(10), 0, match.start()) + 1}"
        target = resolve(root, file, quote, name)
        if target is not None:
            target_room = room_of(target)
            if target_room not in allowed:
                may = ", ".join(sorted(allowed - {room}))
                errors.append(f"{where}: {room} includes {target} of {target_room or 'no room'}; it may include {may}")
        elif quote == '"':
            errors.append(f'{where}: no file for "{name}"; use <> for what is not in this project')
        elif name in BANNED.get(room, []):
            errors.append(f"{where}: <{name}> is not for {room}")
        elif name.startswith(PYTHON_HEADERS) and room != PYTHON_ROOM:
            errors.append(f"{where}: <{name}> is for {PYTHON_ROOM} only")
    return errors


def check_tree(root):
    root = Path(root).resolve()
    files = [p.relative_to(root) for top in ("include", "src", "python/core", "compat") for p in sorted((root / top).rglob("*"))
             if p.suffix in SUFFIXES]
    return [error for file in files for error in check_file(root, file)]


def self_test():
    good = {
        "include/weft/weft.hpp": "#include <weft/error.hpp>\n#include <thread>\n",
        "include/weft/error.hpp": "#pragma once\n",
        "src/machine/machine.hpp": '#include <weft/error.hpp>\n#include "machine/tree.hpp"\n',
        "src/machine/tree.hpp": "#include <hwloc.h>\n",
        "src/queue/deque.hpp": "#include <atomic>\n",
        "src/task/task.hpp": '#include "machine/machine.hpp"\n',
        "src/policy/steal.cpp": '#include "queue/deque.hpp"\n#include "task/task.hpp"\n#include <vector>\n',
        "src/engine/run/run.hpp": '#include "policy/seam/policy.hpp"\n',
        "src/policy/seam/policy.hpp": "",
        "src/engine/threads/worker.cpp": '#include "engine/run/run.hpp"\n#include <thread>\n',
        "src/engine/model/clock.hpp": '#include "../run/run.hpp"\n',
        "src/api/join.cpp": '#include "engine/threads/worker.hpp"\n#include "engine/model/clock.hpp"\n',
        "src/engine/threads/worker.hpp": "",
        "src/policy/hosted/hooks.hpp": '#include "policy/seam/policy.hpp"\n',
        "src/trace/write/record.hpp": "\n" * MOST_LINES,
        "src/trace/walk/walk.hpp": '#include "trace/write/record.hpp"\n',
        "src/replay/script.hpp": '#include "trace/walk/walk.hpp"\n#include "machine/tree.hpp"\n',
        "compat/openmp/runtime/team.hpp": '#include "queue/deque.hpp"\n',
        "compat/openmp/gomp/loops.cpp": '#include "runtime/team.hpp"\n',
        "compat/openmp/kmpc/loops.hpp": '#include "runtime/team.hpp"\n',
        "python/core/module.hpp": "",
        "python/core/module.cpp": '#include "module.hpp"\n#include "replay/script.hpp"\n'
                                  '#include "policy/hosted/hooks.hpp"\n#include <nanobind/nanobind.h>\n',
    }
    # One line added to the good tree, and what must be said about it.
    bad = [
        ("src/machine/up.hpp", '#include "task/task.hpp"\n', "src/machine includes src/task/task.hpp"),
        ("src/machine/up.hpp", "# include <queue/deque.hpp>\n", "src/machine includes src/queue/deque.hpp"),
        ("src/queue/up.hpp", '#include "../machine/tree.hpp"\n', "src/queue includes src/machine/tree.hpp"),
        ("src/policy/up.cpp", '// text\n#include "engine/run/run.hpp"\n', "up.cpp:2: src/policy includes"),
        ("src/policy/clock.cpp", "#include <chrono>\n", "<chrono> is not for src/policy"),
        ("src/engine/run/up.hpp", '#include "engine/threads/worker.hpp"\n', "src/engine/run includes"),
        ("src/engine/model/side.cpp", '#include "engine/threads/worker.hpp"\n', "src/engine/model includes"),
        ("src/engine/threads/side.cpp", "#include <engine/model/clock.hpp>\n", "src/engine/threads includes"),
        ("src/engine/loose.hpp", "", "src/engine is in no room"),
        ("src/loose.cpp", "", "src is in no room"),
        ("src/attic/old.hpp", "", "src/attic is in no room"),
        ("include/weft/up.hpp", '#include "task/task.hpp"\n', "include/weft includes src/task/task.hpp"),
        ("src/policy/seam/clock.hpp", "#include <atomic>\n", "<atomic> is not for src/policy/seam"),
        ("src/policy/hosted/python.hpp", "#include <Python.h>\n", "<Python.h> is for python/core only"),
        ("src/trace/walk/up.hpp", '#include "replay/script.hpp"\n', "src/trace/walk includes src/replay/script.hpp"),
        ("src/trace/write/up.hpp", '#include "trace/walk/walk.hpp"\n', "src/trace/write includes src/trace/walk"),
        ("src/replay/side.cpp", '#include "engine/threads/worker.hpp"\n', "src/replay includes src/engine/threads"),
        ("src/replay/side.cpp", "#include <nanobind/nanobind.h>\n", "is for python/core only"),
        ("src/api/side.cpp", '#include "replay/script.hpp"\n', "src/api includes src/replay/script.hpp"),
        ("compat/openmp/gomp/side.cpp", '#include "queue/deque.hpp"\n', "compat/openmp/gomp includes src/queue/deque.hpp"),
        ("compat/openmp/gomp/kmpc.cpp", '#include "kmpc/loops.hpp"\n', "compat/openmp/gomp includes compat/openmp/kmpc"),
        ("compat/openmp/runtime/up.hpp", '#include "../gomp/loops.cpp"\n', "compat/openmp/runtime includes compat/openmp/gomp"),
        ("compat/other/loose.hpp", "", "compat/other is in no room"),
        ("python/core/side.cpp", '#include "engine/run/run.hpp"\n', "python/core includes src/engine/run/run.hpp"),
        ("python/core/long.hpp", "\n" * (MOST_LINES + 1), "401 lines, more than 400"),
        ("src/queue/long.hpp", "\n" * (MOST_LINES + 1), "401 lines, more than 400"),
        ("src/api/typo.cpp", '#include "engine/thread/worker.hpp"\n', "no file for"),
    ]

    def errors_of(tree):
        with tempfile.TemporaryDirectory() as folder:
            for name, text in tree.items():
                path = Path(folder, name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
            return check_tree(folder)

    failures = [f"the good tree: {error}" for error in errors_of(good)]
    for name, text, expected in bad:
        errors = errors_of({**good, name: text})
        if len(errors) != 1 or expected not in errors[0]:
            failures.append(f"{name} with {text!r}: expected one error with {expected!r}, got {errors}")
    return failures


if __name__ == "__main__":
    check_cli.main(__doc__, check_tree, self_test)
