#!/usr/bin/env python3
"""Prints what the proofs among the tests did, from meson's testlog.json.

    proofs.py BUILD/meson-logs/testlog.json

Fuzz targets: executions of their seeds and of what is made of these. Allocations that failed in turn,
and runs that were refused for it. The soak's calls and the hash of their results.
"""
import json
import re
import sys


def main():
    executions, allocations, refused, soak = {}, 0, 0, []
    with open(sys.argv[1], encoding="utf-8") as file:
        for line in file:
            test = json.loads(line)
            name, text = test["name"].split(" / ")[-1], test.get("stdout", "")
            if name.startswith("fuzz/"):
                executions[name] = sum(int(n) for n in re.findall(r"^(\d+) executions$", text, re.M))
            for n, runs in re.findall(r"(\d+) allocations, each failed in turn(?:, (\d+) runs refused)?", text):
                allocations += int(n)
                refused += int(runs or 0)
            soak += re.findall(r"^soak: .*$", text, re.M)
    if not executions or not allocations or not soak:
        sys.exit(f"{sys.argv[1]}: a proof did not run: fuzz {executions}, allocations {allocations}, soak {soak}")
    targets = ", ".join(f"{name.removeprefix('fuzz/')} {n}" for name, n in sorted(executions.items()))
    print(f"fuzz: {sum(executions.values())} executions in {len(executions)} targets ({targets})")
    print(f"allocations: {allocations} failed in turn, {refused} runs of commands refused")
    print("\n".join(soak))


if __name__ == "__main__":
    main()
