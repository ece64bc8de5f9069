#!/usr/bin/env python3
"""Checks that the comments, docstrings and pages of the tree name the actor: "the thief", "a worker that found no task".

    check_words.py SOURCE_DIR     check a tree; exit status 1 and one line a violation
    check_words.py --self-test    check this checker on lines made for it

Forbidden are the words of FORBIDDEN; "who" is right after a word of PEOPLE. What stands in backticks or quotes is no prose.
The names of tests, which read as sentences, are checked as well.
"""

import io
import re
import sys
import tokenize
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import check_cli

from check_citations import Block, comment_start, without_quotes

FORBIDDEN = re.compile(r"(?:\b(\w+) )?\b(who)\b|\b(?:whom|whoever|somebody|nobody|anybody|in vain|by turns)\b", re.IGNORECASE)
PEOPLE = {"person", "people", "users", "readers", "programmers", "engineers", "researchers"}
TEST_NAME = re.compile(r"^TEST(?:_F|_P)?\(\w+, (\w+)\)|^def (test_\w+)\(")
FOLDERS = ("include", "src", "tests", "examples", "docs", "python", "machines", "papers", "scripts", "cmake")


def prose_of_page(text):
    """(line, text); what lies between fences is program text."""
    fenced = False
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("```"):
            fenced = not fenced
        elif not fenced:
            yield number, line


def prose_of_program(text):
    """(line, text) of comments, and of the names of tests."""
    inside = False
    for number, line in enumerate(text.splitlines(), 1):
        found = TEST_NAME.match(line)
        if found:
            yield number, (found[1] or found[2]).replace("_", " ")
        stripped = line.lstrip()
        inside = inside or stripped.startswith("/*")
        if inside:
            yield number, line
            inside = "*/" not in line
        elif comment_start(line) >= 0:
            yield number, line[comment_start(line):]


def prose_of_python(text):
    """The same of Python: comments, and strings that are statements."""
    yield from ((n, t) for n, t in prose_of_program(text) if t.startswith("test "))
    before = None
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string
        elif token.type == tokenize.STRING and before in (None, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT):
            for number, line in enumerate(token.string.strip('"').splitlines(), token.start[0]):
                yield number, line
        if token.type not in (tokenize.NL, tokenize.COMMENT):
            before = token.type


def prose_of_script(text):
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("#"):
            yield number, line


KINDS = {".md": prose_of_page, ".hpp": prose_of_program, ".cpp": prose_of_program, ".js": prose_of_program,
         ".py": prose_of_python, ".pyi": prose_of_python, ".txt": prose_of_script, ".cmake": prose_of_script,
         ".toml": prose_of_script, "": prose_of_script}


def errors_of(name, text):
    suffix = Path(name).suffix
    kind = prose_of_python if suffix == "" and text.startswith("#!/usr/bin/env python3") else KINDS[suffix]
    blocks, last = [], None
    for number, line in kind(text):
        if last is None or number > last + 1:
            blocks.append(Block())
        blocks[-1].add(line.strip(" \t/*#!<"), number)
        last = number
    for block in blocks:
        for found in FORBIDDEN.finditer(without_quotes(block.text)):
            word = found[2] or found[0]
            if not (found[2] and found[1] and found[1].lower() in PEOPLE):
                yield f"{name}:{block.line(found.end() - len(word))}: '{word}': name the actor, or say what happens"


def check_tree(root):
    files = [path for path in Path(root).iterdir() if path.is_file()]
    for top in FOLDERS:
        files += [path for path in Path(root, top).rglob("*") if path.is_file()]
    errors = []
    for path in sorted(files):
        name = path.relative_to(root).as_posix()
        if path.suffix in KINDS and name != "LICENSE":
            errors += errors_of(name, path.read_text(encoding="utf-8", errors="replace"))
    return errors


def self_test():
    cases = [  # file, text, line of the error or 0
        ("a.md", "A thief who asks.\n", 1),
        ("a.md", "People who measure, `who`, \"nobody\" and the whole.\n", 0),
        ("a.md", "For people\nwho build it. It looks in\nvain.\n", 2),
        ("a.md", "```\nwhoami | grep nobody\n```\nIt looks in vain.\n", 4),
        ("a.cpp", "const int nobody = 0; // a name is no prose\n", 0),
        ("a.cpp", "int a;\nint b = f(\"nobody\"); // Wakes whoever sleeps\n", 2),
        ("a.hpp", "/* Of two,\n   nobody. */\nint nobody;\n", 2),
        ("a_test.cpp", "TEST(idle, nobody_sleeps) {\n", 1),
        ("a_test.cpp", "TEST_P(idle, no_worker_sleeps) {\n", 0),
        ("a.js", "/** Painted by turns. */\nconst who = 1;\n", 1),
        ("a.py", 'def f():\n    """One line.\n\n    Nobody reads it."""\n    return "nobody"\n', 4),
        ("a.py", "def test_who_waits():\n    x = 1  # a thief\n", 1),
        ("CMakeLists.txt", "# Of users who build it.\nset(who 1)\n# Anybody.\n", 3),
    ]
    failures = []
    for name, text, line in cases:
        got = [int(error.split(":")[1]) for error in errors_of(name, text)]
        if got != ([line] if line else []):
            failures.append(f"{name} {text!r}: expected {line or 'no error'}, got {got}")
    return failures


if __name__ == "__main__":
    check_cli.main(__doc__, check_tree, self_test)
