#!/usr/bin/env python3
"""Counts single test cases in the JSON logs that meson writes, one "N passed, N failed, N skipped".

usage: count_tests.py [--expect TIER[,TIER...]] LOG...

A cmocka program counts each of its cases; a program that ends without cmocka's summary (a crash, a
time-out, a shell test) counts as one. Names of failed cases are printed first, then the number of
cases that passed on each tier. Exits with 1 where anything failed, nothing passed, or no case passed
on a tier that --expect names."""
import json
import re
import sys

PASSED = r"^\[  PASSED  \] (\d+) test\(s\)\."
LISTED = r"^\[  %s  ?\] (\d+) test\(s\), listed below:"
FAILED_NAME = re.compile(r"^\[  FAILED  \] (?!\d+ test)(\S+)$", re.M)
TIER_OK = re.compile(r"^\[       OK \] \S+\[(\w+)\]$", re.M)


def sum_of(pattern, text):
    return sum(int(n) for n in re.findall(pattern, text, re.M))


def count_program(run, tiers):
    """(passed, failed, skipped) of one program."""
    text = run.get("stdout", "") + "\n" + run.get("stderr", "")
    result = run["result"]
    for tier in TIER_OK.findall(text):
        tiers[tier] = tiers.get(tier, 0) + 1
    if not re.search(PASSED, text, re.M):
        if result == "SKIP":
            return 0, 0, 1
        if result != "OK":
            print(f"failed: {run['name']}: {result}, exit code {run['returncode']}")
        return (1, 0, 0) if result == "OK" else (0, 1, 0)
    passed = sum_of(PASSED, text)
    failed = sum_of(LISTED % "FAILED", text)
    skipped = sum_of(LISTED % "SKIPPED", text)
    for name in sorted(set(FAILED_NAME.findall(text))):
        print(f"failed: {run['name']}: {name}")
    if failed == 0 and result not in ("OK", "SKIP"):
        print(f"failed: {run['name']}: {result}, exit code {run['returncode']}")
        failed = 1
    return passed, failed, skipped


def main(arguments):
    expected = []
    if arguments[:1] == ["--expect"]:
        expected = [tier for tier in arguments[1].split(",") if tier]
        arguments = arguments[2:]
    totals, tiers = [0, 0, 0], {}
    for path in arguments:
        with open(path, encoding="utf-8") as log:
            for line in log:
                counts = count_program(json.loads(line), tiers)
                totals = [a + b for a, b in zip(totals, counts)]
    for tier in expected:
        if tiers.get(tier, 0) == 0:
            print(f"failed: no test case passed on the expected tier {tier}")
            totals[1] += 1
    if tiers:
        print("passed by tier: " + ", ".join(f"{tier} {n}" for tier, n in sorted(tiers.items())))
    print("{} passed, {} failed, {} skipped".format(*totals))
    return 0 if totals[1] == 0 and totals[0] > 0 else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
