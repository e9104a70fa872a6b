"""Holds docs/cache.md to examples/cache.c: each ```c block stands in the program, line for line, and
the ```text block is what the program prints, on every tier that this processor can run.

    check_cache.py DOCUMENT SOURCE PROGRAM TIERS     TIERS: those of the build, with commas"""
import os
import re
import subprocess
import sys

UNUSABLE = "tier not available: "


def lines_of(text):
    """Lines without what leads and trails them, each ended: a block may be indented otherwise."""
    return "\n" + "\n".join(line.strip() for line in text.splitlines()) + "\n"


def check_snippets(text, source):
    blocks = re.findall(r"^```c\n(.*?)^```$", text, re.M | re.S)
    missing = [block for block in blocks if lines_of(block) not in lines_of(source)]
    for block in missing:
        print("not in the program:\n" + block)
    print("%d of %d blocks stand in the program" % (len(blocks) - len(missing), len(blocks)))
    return bool(blocks) and not missing


def check_output(text, program, tiers):
    want = re.search(r"^```text\n\$ cache\n(.*?)^```$", text, re.M | re.S)[1]
    wrapper = [w for w in [os.environ.get("HEADWISE_TOOL_WRAPPER")] if w]  # an emulator
    passed = 0
    for tier in tiers:
        done = subprocess.run([*wrapper, program], env=dict(os.environ, HEADWISE_ISA=tier),
                              capture_output=True, text=True)
        if done.stderr.startswith(UNUSABLE):
            print("skipped: this processor cannot run " + tier)
            continue
        if done.returncode != 0 or done.stderr or done.stdout != want:
            print("on %s it prints\n%s%s" % (tier, done.stdout, done.stderr))
            return False
        passed += 1
    return passed > 0


def main(document, source, program, tiers):
    with open(document, encoding="utf-8") as file:
        text = file.read()
    with open(source, encoding="utf-8") as file:
        fine = check_snippets(text, file.read())
    if os.environ.get("HEADWISE_TEST_ISA"):
        tiers = os.environ["HEADWISE_TEST_ISA"]
    if not check_output(text, program, tiers.split(",")) or not fine:
        sys.exit(1)


if __name__ == "__main__":
    main(*sys.argv[1:])
