"""The command line of the checks of the tree: check_layering.py, check_citations.py, check_words.py."""

import sys
from pathlib import Path


def main(usage, check_tree, self_test):
    """Runs `check_tree` on the named tree, or `self_test`; both return a list of errors. Ends the process: 1 if there are
    any, 2 if the arguments are wrong."""
    arguments = sys.argv[1:]
    if len(arguments) != 1 or arguments[0] in ("-h", "--help"):
        print(usage.strip())
        sys.exit(0 if arguments[:1] in (["-h"], ["--help"]) else 2)
    if arguments[0] == "--self-test":
        errors = self_test()
    elif Path(arguments[0], "src").is_dir():
        errors = check_tree(arguments[0])
    else:
        errors = [f"{arguments[0]} has no folder src"]
    for error in errors:
        print(error, file=sys.stderr)
    sys.exit(1 if errors else 0)
