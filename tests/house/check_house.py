#!/usr/bin/env python3
"""Checks the tree against its own rules: who includes whom, sizes, words, and what was built.

usage: check_house.py [--list] SOURCE [BUILD]

--list prints the violations as lines of known.txt, with what was found in place of the reason."""
import sys

import known
import registry
import report
from source import Tree
from violation import Unable


def show(tree):
    for name, check in registry.CHECKS.items():
        try:
            found = {}
            for violation in check(tree):
                found.setdefault(violation.file, []).append(violation)
        except Unable as why:
            print(f"# {name}: {why}")
            continue
        for file, violations in sorted(found.items()):
            print(f"{name} {file}: {violations[0].line}: {violations[0].what} ({len(violations)})")


def main(arguments):
    listing = arguments[:1] == ["--list"]
    tree = Tree(*arguments[listing:])
    if listing:
        show(tree)
        return 0
    entries = known.read()
    cases = {name: lambda name=name, check=check: known.apart(name, list(check(tree)), entries)
             for name, check in registry.CHECKS.items()}
    cases["known"] = lambda: [f"known.txt:{line}: no check {name}, expected one of the registry"
                              for (name, _), line in entries.items() if name not in registry.CHECKS]
    return report.run(cases)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
