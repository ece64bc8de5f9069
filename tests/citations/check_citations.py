#!/usr/bin/env python3
"""Checks that comments, tests and documents of the tree name only rules, sections and files that exist.

    check_citations.py SOURCE_DIR     check a tree; exit status 1 and one line a violation
    check_citations.py --self-test    check this checker on small trees made for it

A *rule* is a capital letter with a number. It is defined once in its file: in a README.md under src/ by a line
`- **H1** ...`, in code by a comment line that begins with it: `// I1: ...`, `/// A1 An entry ...`. A comment
cites it by its name. `H1` is looked for

1. in the file that is named with it: `H1 of engine/run/README.md`, `G1 and G2 (weft/impl/group.hpp)`. The path
   is as much of its end as makes it unique;
2. otherwise in the citing file, in its partner (x.hpp and x.cpp), in the README.md of its folder and of those
   above, and in the headers that it includes itself. The first of these that has rules of that letter counts;
   among several included headers that have them, the file must be named;
3. otherwise in the only file of src and include that has rules of that letter, if there is only one.

A name in backticks or quotes is no citation. What NOT_RULES lists is one only by 1 and 2, or if it stands alone
in parentheses. Checked are:

- every rule that a comment of src, include or tests cites is defined, and so is every rule in the tables of
  tests/model/README.md and in the reasons (`why`) of tests/mutants/mutants.toml, which count as comments of the
  model and of the mutated file;
- every rule is cited by a comment of src or include, outside of the comment that defines it, and by a test, a
  model check or a mutant; one that nothing checks says so, `(no test)`, at the end of its definition;
- a section, `README.md, "Sleep"`, is a heading of that file (without a folder: of the README.md of the citing
  file's folder or of one above), and a document that is named, `docs/graphs.md`, is there;
- tests/model/README.md, "Protocols": each header, section, model check and test of the table exists, the column
  of mutants says truly whether there are any, and every header of PROTOCOL_ROOMS with an atomic access that is
  not relaxed is there;
- tests/model/README.md, "What the mutants did": each mutant and the scenario that kills it are in the model;
- tests/mutants/README.md has one row for each mutant of the list, with its file and one of its killers;
- a function, `park()`, is called or defined in src or include (for a test: or in tests), and `parker::arm` is a word of a
  file that defines `parker`.
"""

import re
import sys
import tempfile
import tomllib
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import check_cli

# What looks like a rule and usually is none.
NOT_RULES = {"L1", "L2", "L3",  # caches
             "T0", "T1",        # the work of a program
             "Q1", "Q3",        # quartiles
             "O0", "O1", "O2", "O3"}
# Functions of the system that comments name and no code calls.
SYSTEM = {"dlclose"}
# The door to atomics itself follows no protocol.
NO_PROTOCOL = {"src/queue/sync.hpp"}
PROTOCOL_ROOMS = ("src/queue/", "src/engine/", "src/graph/", "src/trace/", "include/weft/")
MODELS = "tests/model/README.md"
MUTANTS = "tests/mutants/README.md"
MUTANT_LIST = "tests/mutants/mutants.toml"

CODE = {".hpp", ".cpp"}
NAME = r"[A-Z][0-9]{1,2}"
PATH = r"[\w./-]*\w\.(?:hpp|cpp|md)"
CITATION = re.compile(rf"(?<![\w`/.+-]){NAME}(?![\w`/+-])")
NAMED_FILE = re.compile(rf"((?:{NAME})(?:(?:, | and | or | to |, and ){NAME})*)(?: of | in |, | \()(?=[\w./-]*[/.])({PATH})")
IN_COMMENT = re.compile(rf"^({NAME})(?::|\.|\s{{2,}}|\s(?=[A-Z`]))\s*\S")
IN_DOCUMENT = re.compile(rf"^- \*\*({NAME})\*\*\s")
SECTION = re.compile(rf"({PATH})[`)]*,?\s+\"([^\"]+)\"")
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*[<"]([^>"\n]+)[>"]', re.MULTILINE)
CALL = re.compile(r"(?<![\w.>:])~?([a-z]\w*(?:::~?\w+)*)\(\)")
MEMBER = re.compile(r"(?<![\w:])(?!std::)(?:\w+::)*([a-z]\w*)::~?([a-z]\w*)")
CALLED = re.compile(r"\b([a-z]\w*)\s*(?:<[^;{}()]*>)?\s*[({]|\b([a-z]\w*)\s*=\s*\[")
TYPE = re.compile(r"\b(?:class|struct|enum(?: class)?|concept)\s+(?:alignas\([^)]*\)\s*|\[\[.*?\]\]\s*|\w+::)*([a-z]\w*)")
NAMESPACE = re.compile(r"\bnamespace\s+([\w:]+)")
NOT_RELAXED = re.compile(r"memory_order(?:_|::)(?:acquire|release|acq_rel|seq_cst)")


class Block:
    """A comment without a gap: its text in one line, and the line of each character."""

    def __init__(self):
        self.text, self.lines = "", []

    def add(self, text, line):
        self.text += text + " "
        self.lines += [line] * (len(text) + 1)

    def line(self, at):
        return self.lines[min(at, len(self.lines) - 1)]


def comment_start(line):
    """Where `//` begins a comment, or -1: not inside of a string."""
    in_string, at = None, 0
    while at < len(line):
        c = line[at]
        if in_string:
            if c == "\\":
                at += 1
            elif c == in_string:
                in_string = None
        elif c == '"' or (c == "'" and not (at > 0 and line[at - 1].isalnum())):
            in_string = c
        elif line.startswith("//", at):
            return at
        at += 1
    return -1


class Source:
    """A file: its comments, its rules, and the lines that define them."""

    def __init__(self, name, text):
        self.name, self.text = name, text
        self.blocks, self.rules, self.doubles = [], {}, []
        self.code = ""
        if name.endswith(".md"):
            self.read_document()
        else:
            self.read_code()

    def define(self, rule, line, block):
        if rule in self.rules:
            self.doubles.append((rule, line))
        else:
            self.rules[rule] = (line, block)

    def read_document(self):
        block = Block()
        for number, line in enumerate(self.text.splitlines(), 1):
            found = IN_DOCUMENT.match(line)
            if found:
                self.define(found[1], number, block)
            block.add(line, number)
        self.blocks.append(block)

    def read_code(self):
        block, kept = None, []
        for number, line in enumerate(self.text.splitlines(), 1):
            at = comment_start(line)
            kept.append(line if at < 0 else line[:at])
            if at < 0:
                block = None
                continue
            text = line[at:].lstrip("/").removeprefix("!").removeprefix("<").strip()
            alone = not line[:at].strip()
            if not alone or block is None or not block.alone:
                block = Block()
                block.alone = alone
                self.blocks.append(block)
            found = alone and not self.name.startswith("tests/") and IN_COMMENT.match(text)
            if found:
                self.define(found[1], number, block)
                # The definition is no citation of itself.
                text = text.replace(found[1], "_" * len(found[1]), 1)
            block.add(text, number)
        self.code = "\n".join(kept)

    def headings(self):
        return {line.lstrip("#").strip().lower() for line in self.text.splitlines() if line.startswith("#")}

    def says_no_test(self, rule):
        """The text from the definition to the next one, or to the end of the comment, ends with `(no test)`."""
        line, block = self.rules[rule]
        later = sorted(at for at, other in self.rules.values() if other is block and at > line)
        text = "".join(c for c, at in zip(block.text, block.lines) if at >= line and (not later or at < later[0]))
        return "(no test)" in text

    def letters(self):
        return {rule[0] for rule in self.rules}


def without_quotes(text):
    """What is in backticks or double quotes made blank, in place."""
    return re.sub(r"`[^`]*`|\"[^\"]*\"", lambda m: " " * len(m[0]), text)


def expand(names):
    """The rules of `I1`, `I1 and I3`, `I1 to I4`."""
    found = re.findall(NAME, names)
    if len(found) == 2 and " to " in names and found[0][0] == found[1][0]:
        return [f"{found[0][0]}{n}" for n in range(int(found[0][1:]), int(found[1][1:]) + 1)]
    return found


class Tree:
    def __init__(self, root):
        self.root = Path(root).resolve()
        self.errors = []
        self.sources = {}
        for top, suffixes in (("src", {".md", *CODE}), ("include", CODE), ("tests", CODE)):
            for path in sorted((self.root / top).rglob("*")):
                if path.suffix in suffixes and (path.suffix != ".md" or path.name == "README.md"):
                    name = path.relative_to(self.root).as_posix()
                    self.sources[name] = Source(name, path.read_text(encoding="utf-8", errors="replace"))
        self.by_code, self.by_test = set(), set()  # (file, rule) that are cited so

    def error(self, where, line, text):
        self.errors.append(f"{where}:{line}: {text}")

    def read(self, name):
        path = self.root / name
        return path.read_text(encoding="utf-8") if path.is_file() else ""

    # ---- files

    def files_ending_in(self, end, beside):
        """The sources whose path ends in `end`; the one in the citing file's folder alone, if it is there."""
        near = (Path(beside).parent / end).as_posix()
        if near in self.sources:
            return [near]
        return [name for name in self.sources if name == end or name.endswith("/" + end)]

    def included(self, source):
        for name in INCLUDE.findall(source.text):
            for place in ("src", "include", Path(source.name).parent.as_posix(), "tests"):
                if f"{place}/{name}" in self.sources:
                    yield self.sources[f"{place}/{name}"]
                    break

    def readmes_above(self, name):
        for folder in Path(name).parents:
            readme = (folder / "README.md").as_posix()
            if readme in self.sources:
                yield self.sources[readme]

    def scope(self, source):
        """Groups of files, nearest first, in which a bare name is looked for."""
        yield [source]
        partner = Path(source.name)
        partner = partner.with_suffix(".cpp" if partner.suffix == ".hpp" else ".hpp").as_posix()
        if partner in self.sources:
            yield [self.sources[partner]]
        for readme in self.readmes_above(source.name):
            yield [readme]
        yield list(self.included(source))

    # ---- rules

    def find(self, rule, source, sure):
        """The source that a bare name belongs to; None for what is no rule; a text that says what is wrong."""
        for group in self.scope(source):
            having = [s for s in group if rule[0] in s.letters()]
            if len(having) > 1:
                return f"{rule} may be of " + " or ".join(sorted(s.name for s in having)) + "; name the file: " \
                       f"'{rule} of {Path(having[0].name).name}'"
            if having and rule in having[0].rules:
                return having[0]
            if having:
                return f"{rule} is not defined in {having[0].name}, which has {', '.join(sorted(having[0].rules))}"
        if rule in NOT_RULES and not sure:
            return None
        having = [s for s in self.sources.values() if rule[0] in s.letters() and not s.name.startswith("tests/")]
        if len(having) == 1 and rule in having[0].rules:
            return having[0]
        if len(having) == 1:
            return f"{rule} is not defined in {having[0].name}, the only file with rules {rule[0]}"
        return f"{rule} is defined nowhere near; define it, or name its file"

    def cite(self, source, block, cited, where=None):
        """Resolves every citation of a comment, and notes them in `cited`."""
        where = where or source.name
        text = without_quotes(block.text)
        spans = []
        for match in NAMED_FILE.finditer(block.text):
            files = self.files_ending_in(match[2], source.name)
            line = block.line(match.start())
            having = [f for f in files if self.sources[f].rules]
            if not having and not any(r in text[match.start():match.end()] for r in expand(match[1])):
                continue
            spans.append(match.span())
            if len(having) != 1:
                self.error(where, line, f"{match[2]} is the end of {len(having)} paths with rules, not of one")
                continue
            for rule in expand(match[1]):
                if rule in self.sources[having[0]].rules:
                    cited.add((having[0], rule, where, line))
                else:
                    self.error(where, line, f"{rule} is not defined in {having[0]}")
        for match in re.finditer(rf"{NAME} to {NAME}", text):
            if not any(a <= match.start() < b for a, b in spans) and CITATION.match(text, match.start()):
                self.bare(expand(match[0]), source, block.line(match.start()), where, cited)
                spans.append(match.span())
        for match in CITATION.finditer(text):
            if not any(a <= match.start() < b for a, b in spans):
                sure = text[match.start() - 1:match.end() + 1] == f"({match[0]})"
                self.bare([match[0]], source, block.line(match.start()), where, cited, sure)

    def bare(self, rules, source, line, where, cited, sure=True):
        for rule in rules:
            found = self.find(rule, source, sure)
            if isinstance(found, str):
                self.error(where, line, found)
            elif found:
                cited.add((found.name, rule, where, line))

    def check_rules(self):
        in_code, in_tests = set(), set()
        for source in self.sources.values():
            for rule, line in source.doubles:
                self.error(source.name, line, f"{rule} is defined twice in this file")
            if source.name.endswith(".md"):
                continue
            for block in source.blocks:
                self.cite(source, block, in_tests if source.name.startswith("tests/") else in_code)
        self.cite_model_rows(in_tests)
        self.cite_mutants(in_tests)
        for source in self.sources.values():
            if source.name.startswith("tests/"):
                continue
            for rule, (line, block) in source.rules.items():
                inside = {n for n in block.lines} if not source.name.endswith(".md") else set()
                if not any(f == source.name and r == rule and not (w == source.name and at in inside)
                           for f, r, w, at in in_code):
                    self.error(source.name, line, f"{rule} is cited by no comment in the code that keeps it")
                is_tested = any(f == source.name and r == rule for f, r, _, _ in in_tests)
                if not is_tested and not source.says_no_test(rule):
                    self.error(source.name, line, f"{rule} is cited by no test, model check or mutant")
                if is_tested and source.says_no_test(rule):
                    self.error(source.name, line, f"{rule} says (no test), and a test cites it")

    # ---- the documents of the tests

    def rows(self, document, heading):
        """(line, cells) of the tables under a heading."""
        inside = False
        for number, line in enumerate(self.read(document).splitlines(), 1):
            if line.startswith("#"):
                inside = line.lstrip("#").strip() == heading
            elif inside and line.startswith("|") and not re.fullmatch(r"[|\s:-]+", line):
                yield number, [cell.strip() for cell in line.strip().strip("|").split("|")]

    def model_rows(self):
        for heading in ("What the mutants did", "What the checker cannot see"):
            for number, cells in list(self.rows(MODELS, heading))[1:]:
                name = f"tests/model/{cells[0].strip('`')}_model.cpp"
                if name in self.sources:
                    yield heading, number, cells, self.sources[name]
                else:
                    self.error(MODELS, number, f"no {name}")

    def cite_model_rows(self, cited):
        for heading, number, cells, model in self.model_rows():
            block = Block()
            block.add(" ".join(cells[1:2]), number)
            self.cite(model, block, cited, MODELS)
            mutant = cells[2] if heading == "What the mutants did" else re.sub(r" \([^)]*\)$", "", cells[1])
            if f'"{mutant}"' not in model.text:
                self.error(MODELS, number, f"{model.name} has no mutant \"{mutant}\"")
            killer = re.match(r"\w+", cells[3]) if heading == "What the mutants did" else None
            if killer and not re.search(rf"\b{killer[0]}\b", model.code):
                self.error(MODELS, number, f"{model.name} has no scenario {killer[0]}")

    def mutants(self):
        return tomllib.loads(self.read(MUTANT_LIST)).get("mutant", [])

    def cite_mutants(self, cited):
        for mutant in self.mutants():
            source = self.sources.get(mutant["file"])
            if source:
                block = Block()
                block.add(mutant["why"], mutant["name"])
                self.cite(source, block, cited, MUTANT_LIST)

    def check_mutant_rows(self):
        mutants = {m["name"]: m for m in self.mutants()}
        seen = set()
        for number, cells in list(self.rows(MUTANTS, "What killed them"))[1:]:
            name = cells[0].strip("`")
            if name in seen:
                self.error(MUTANTS, number, f"{name} has two rows")
            seen.add(name)
            if name not in mutants:
                self.error(MUTANTS, number, f"no mutant {name} in {MUTANT_LIST}")
                continue
            if not mutants[name]["file"].endswith("/" + cells[1]):
                self.error(MUTANTS, number, f"{name} is a mutant of {mutants[name]['file']}, not of {cells[1]}")
            if cells[2].strip("`") not in mutants[name]["killed_by"]:
                self.error(MUTANTS, number, f"{name} is to be killed by {mutants[name]['killed_by']}, not by {cells[2]}")
        for name in sorted(set(mutants) - seen):
            self.error(MUTANTS, 1, f"no row for {name}")

    def check_protocols(self):
        listed = set()
        mutated = {m["file"] for m in self.mutants()}
        for number, cells in list(self.rows(MODELS, "Protocols"))[1:]:
            if len(cells) != 6:
                self.error(MODELS, number, f"{len(cells)} cells, not 6")
                continue
            _, argument, headers, models, mutants, tests = cells
            files = []
            for end in re.findall(r"`([^`]+)`", headers):
                found = [f for f in self.sources if f in (f"src/{end}", f"include/{end}")]
                files += found
                if not found:
                    self.error(MODELS, number, f"no file {end} in src or include")
            listed.update(files)
            self.check_argument(number, argument, files)
            for model in re.findall(r"`([^`]+)`", models):
                if f"tests/model/{model}_model.cpp" not in self.sources:
                    self.error(MODELS, number, f"no tests/model/{model}_model.cpp")
            if not re.search("`", models) and models != "none":
                self.error(MODELS, number, f"'{models}': the models by their names, or 'none'")
            truly = "yes" if mutated & set(files) else "none"
            if mutants != truly:
                self.error(MODELS, number, f"mutants: '{mutants}', but in {MUTANT_LIST} it is '{truly}'")
            self.check_tests(number, tests)
        if not listed:
            return
        for source in self.sources.values():
            if (source.name.startswith(PROTOCOL_ROOMS) and source.name.endswith(".hpp")
                    and source.name not in listed | NO_PROTOCOL and NOT_RELAXED.search(source.code)):
                line = source.code.count("\n", 0, NOT_RELAXED.search(source.code).start()) + 1
                self.error(source.name, line, f"an access that is not relaxed, and no row in {MODELS}, \"Protocols\"")

    def check_argument(self, number, argument, files):
        if argument == "its header":
            if not any(self.sources[f].rules for f in files):
                self.error(MODELS, number, "the header has no rules; say which section has the argument")
            return
        if argument != "none" and not SECTION.search(argument):
            self.error(MODELS, number,
                       f"'{argument}': 'its header', a section: engine/run/README.md, \"Waiting\", or 'none'")

    def check_tests(self, number, tests):
        names = re.findall(r"`([^`]+)`", tests)
        if not names and tests != "none":
            self.error(MODELS, number, f"'{tests}': the tests by their names, or 'none'")
        for name in names:
            kind, _, stem = name.removeprefix("weft_").partition("_")
            if f"tests/{kind}/{stem}_test.cpp" not in self.sources:
                self.error(MODELS, number, f"no tests/{kind}/{stem}_test.cpp for {name}")

    # ---- sections and documents

    def document(self, name, near):
        """The path of a document as a comment names it, or None."""
        above = [folder.as_posix() for folder in Path(near).parents]
        for place in above if "/" not in name else ["", "src", "include", *above]:
            if (self.root / place / name).is_file():
                return self.root / place / name
        return None

    def check_documents(self):
        texts = [(s.name, b) for s in self.sources.values() for b in s.blocks]
        models = Block()
        for number, line in enumerate(self.read(MODELS).splitlines(), 1):
            models.add(line, number)
        for name, block in [*texts, (MODELS, models)]:
            if not block.text:
                continue
            for match in SECTION.finditer(block.text):
                if not match[1].endswith(".md"):
                    continue
                at = self.document(match[1], name)
                headings = Source("x.md", at.read_text(encoding="utf-8")).headings() if at else set()
                if at and match[2].lower() not in headings:
                    self.error(name, block.line(match.start()), f"{match[1]} has no section \"{match[2]}\"")
            if name.endswith(".md"):
                continue
            for match in re.finditer(r"(?<![\w/.-])[\w./-]*\w\.md\b", block.text):
                if self.document(match[0], name) is None:
                    self.error(name, block.line(match.start()), f"no document {match[0]}")
            for match in re.finditer(r"\bREADME\b(?!\.md)(?= (\"|step))", block.text):
                self.error(name, block.line(match.start()), "name the file and the section: README.md, \"Sleep\"")

    # ---- names of functions and members

    def check_names(self):
        codes = {s.name: s.code for s in self.sources.values() if s.code}
        words = {name: set(re.findall(r"\w+", code)) for name, code in codes.items()}
        called, called_in_tests, namespaces, types = set(SYSTEM), set(), set(), {}
        for name, code in codes.items():
            into = called_in_tests if name.startswith("tests/") else called
            into.update(word for pair in CALLED.findall(code) for word in pair)
            namespaces.update(part for names in NAMESPACE.findall(code) for part in names.split("::"))
            for of in TYPE.findall(code):
                types.setdefault(of, set()).update(words[name] | words.get(re.sub("hpp$", "cpp", name), set()))
        called_in_tests |= called
        for source in self.sources.values():
            known = called_in_tests if source.name.startswith("tests/") else called
            for block in source.blocks:
                for match in CALL.finditer(block.text):
                    if match[1].split("::")[-1].lstrip("~") not in known:
                        self.error(source.name, block.line(match.start()), f"no function {match[0]}")
                for match in MEMBER.finditer(block.text):
                    of, member = match[1], match[2]
                    if of in types and of not in namespaces and member not in types[of]:
                        self.error(source.name, block.line(match.start()), f"no {member} in a file that defines {of}")

    def check(self):
        self.check_rules()
        self.check_names()
        self.check_documents()
        self.check_protocols()
        self.check_mutant_rows()
        return self.errors


def check_tree(root):
    return Tree(root).check()


def self_test():
    good = {
        "src/room/README.md": "# Room\n\n## Sleep\n\n- **H1** Nothing is lost. As H2 says.\n- **H2** Nor found.\n",
        "src/room/ring.hpp": "// I1: one.\n// I2: two, which needs I1.\nint a; // (I1)\nint b; // I2 and H2\n",
        "src/room/ring.cpp": '#include "room/ring.hpp"\n// Keeps I1: see README.md, "Sleep". H1 too.\n'
                             "x.store(1, std::memory_order_relaxed);\n",
        "src/room/slot.hpp": "/// A1 An entry is here.\nint c; // (A1), not `A7`, L2 is a cache\n",
        "src/queue/list.hpp": "// I1: first.\nint d = x.load(std::memory_order::acquire); // (I1)\n",
        "src/engine/user.cpp": '#include "room/ring.hpp"\n#include "queue/list.hpp"\n'
                               "int e; // I1 of ring.hpp, A1 (room/slot.hpp)\n",
        "tests/unit/ring_test.cpp": "// I1 to I2 of room/ring.hpp, H1 of room/README.md\n",
        "tests/model/list_model.cpp": '#include "queue/list.hpp"\nconst char* m = "torn";\nint race;\n',
        "tests/model/README.md": "# M\n\n## Protocols\n\n| p | a | h | m | u | t |\n|---|---|---|---|---|---|\n"
                                 "| list | its header | `queue/list.hpp` | `list` | none | none |\n"
                                 '| slot | room/README.md, "Sleep" | `room/slot.hpp` | none | yes | `weft_unit_ring` |\n\n'
                                 "## What the mutants did\n\n| m | i | u | k |\n|---|---|---|---|\n"
                                 "| list | I1 | torn | race, 3: lost |\n",
        "tests/mutants/README.md": "## What killed them\n\n| m | f | k | h | s |\n|---|---|---|---|---|\n"
                                   "| `slot_lost` | room/slot.hpp | `weft_unit_ring` | fails | 0.1 |\n",
        "tests/mutants/mutants.toml": '[[mutant]]\nname = "slot_lost"\nfile = "src/room/slot.hpp"\n'
                                      'why = "Lost (A1), as H2 says."\nkilled_by = ["weft_unit_ring"]\n',
    }

    def with_line(name, text):
        return {name: good[name] + text}

    # Changes to the good tree, and what must be said about each.
    bad = [
        (with_line("src/room/ring.cpp", "int f; // (I3)\n"), "ring.cpp:4: I3 is not defined in src/room/ring.hpp"),
        (with_line("src/room/ring.cpp", "int f; // (Z9)\n"), "ring.cpp:4: Z9 is defined nowhere near"),
        (with_line("src/room/ring.cpp", "/// I1. See\n/// I4 there\n"), "ring.cpp:5: I4 is not defined in"),
        (with_line("src/engine/user.cpp", "int f; // (I1)\n"), "user.cpp:4: I1 may be of"),
        (with_line("src/engine/user.cpp", "int f; // A2 of room/slot.hpp\n"), "A2 is not defined in src/room/slot.hpp"),
        (with_line("src/engine/user.cpp", "int f; // A1 of room/gone.hpp\n"), "room/gone.hpp is the end of 0 paths"),
        (with_line("src/room/README.md", "- **H2** Again.\n"), "README.md:7: H2 is defined twice"),
        (with_line("src/room/README.md", "- **H3** More.\n"), "H3 is cited by no comment"),
        ({"src/room/more.hpp": "// M1: rule.\n", **with_line("tests/unit/ring_test.cpp", "// M1 of more.hpp\n")},
         "more.hpp:1: M1 is cited by no comment in the code"),
        ({"src/room/more.hpp": "// M1: rule.\nint g; // (M1)\n"}, "M1 is cited by no test"),
        ({"src/room/ring.hpp": good["src/room/ring.hpp"].replace("one.", "one. (no test)")}, "I1 says (no test)"),
        (with_line("src/room/ring.cpp", '// README.md, "Waking"\n'), 'README.md has no section "Waking"'),
        (with_line("src/room/ring.cpp", "// docs/gone.md\n"), "no document docs/gone.md"),
        (with_line("src/room/ring.cpp", "// README step 2\n"), "name the file and the section"),
        (with_line("src/room/ring.cpp", "int f; // see gone()\n"), "ring.cpp:4: no function gone()"),
        (with_line("src/room/ring.cpp", "void here();\nint f; // not ~gone(), but here()\n"), "no function ~gone()"),
        (with_line("src/room/ring.cpp", "struct ring {\n    int end;\n}; // ring::end, ring::gone\n"),
         "ring.cpp:6: no gone in a file that defines ring"),
        (with_line("src/queue/list.hpp", "") | {"src/queue/new.hpp": "x.store(1, std::memory_order_release);\n"},
         "new.hpp:1: an access that is not relaxed"),
        ({"tests/model/README.md": good["tests/model/README.md"].replace("| none | none |", "| yes | none |")},
         "mutants: 'yes', but"),
        ({"tests/model/README.md": good["tests/model/README.md"].replace("weft_unit_ring", "weft_unit_gone")},
         "no tests/unit/gone_test.cpp"),
        ({"tests/model/README.md": good["tests/model/README.md"].replace("`queue/list.hpp` | `list`",
                                                                       "`queue/list.hpp` | `gone`")},
         "no tests/model/gone_model.cpp"),
        ({"tests/model/README.md": good["tests/model/README.md"].replace('README.md, "Sleep"', 'README.md, "Gone"')},
         'has no section "Gone"'),
        ({"tests/model/README.md": good["tests/model/README.md"].replace("| torn |", "| split |")},
         'no mutant "split"'),
        ({"tests/model/README.md": good["tests/model/README.md"].replace("race, 3", "hunt, 3")}, "no scenario hunt"),
        ({"tests/mutants/README.md": good["tests/mutants/README.md"].replace("slot_lost", "slot_gone")},
         "no mutant slot_gone"),
        ({"tests/mutants/README.md": good["tests/mutants/README.md"].replace("`weft_unit_ring`", "`weft_unit_x`")},
         "is to be killed by"),
        ({"tests/mutants/mutants.toml": good["tests/mutants/mutants.toml"].replace("(A1)", "(A1, A8)")},
         "A8 is not defined in src/room/slot.hpp"),
    ]

    def errors_of(tree):
        with tempfile.TemporaryDirectory() as folder:
            for name, text in tree.items():
                path = Path(folder, name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
            return check_tree(folder)

    failures = [f"the good tree: {error}" for error in errors_of(good)]
    untested = {"src/room/more.hpp": "// M1: rule. (no test)\nint g; // (M1)\n"}
    failures += [f"an untested rule that says so: {error}" for error in errors_of({**good, **untested})]
    for change, expected in bad:
        errors = errors_of({**good, **change})
        if not any(expected in error for error in errors):
            failures.append(f"{sorted(change)}: expected an error with {expected!r}, got {errors}")
    return failures


if __name__ == "__main__":
    check_cli.main(__doc__, check_tree, self_test)
