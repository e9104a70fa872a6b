"""Runs the article programs on every tier of the build and compares what they print with the blocks
of docs/articles.md, to the letter: the document cannot say what the programs do not.

    check_articles.py DOCUMENT TIERS FOLDER     TIERS: those of the build, with commas
    check_articles.py --write ...               writes the first tier's output into the document

A block begins with "```text" and "$ article_NAME". A tier that this processor cannot run is skipped."""
import os
import re
import subprocess
import sys

BLOCK = re.compile(r"^```text\n\$ article_(\w+)\n(.*?)^```$", re.M | re.S)
UNUSABLE = "tier not available: "


def run(folder, name, tier):
    """What the program prints, or None where the processor lacks the tier."""
    wrapper = [w for w in [os.environ.get("HEADWISE_TOOL_WRAPPER")] if w]  # an emulator
    program = os.path.join(folder, "article_" + name)
    done = subprocess.run([*wrapper, program], env=dict(os.environ, HEADWISE_ISA=tier),
                          capture_output=True, text=True)
    if done.returncode == 1 and done.stderr.startswith(UNUSABLE) and not done.stdout:
        return None
    if done.returncode != 0 or done.stderr:
        sys.exit("article_%s on %s: exit code %d\n%s" % (name, tier, done.returncode, done.stderr))
    return done.stdout


def first_difference(got, want):
    for number, (a, b) in enumerate(zip(got.splitlines() + [""], want.splitlines() + [""]), 1):
        if a != b:
            return "line %d is\n  %s\nand in the document\n  %s" % (number, a, b)
    return "the number of lines differs"


def check(text, tiers, folder):
    blocks = BLOCK.findall(text)
    names = sorted(name for name, _ in blocks)
    built = sorted(f[len("article_"):] for f in os.listdir(folder)
                   if f.startswith("article_") and "." not in f)
    if names != built:
        sys.exit("programs %s, blocks %s" % (built, names))
    passed, skipped, failed = 0, [], []
    for tier in tiers:
        for name, want in blocks:
            label = "%s[%s]" % (name, tier)
            got = run(folder, name, tier)
            if got is None:
                skipped.append(label)
            elif got != want:
                failed.append(label)
                print("article_%s on %s: %s" % (name, tier, first_difference(got, want)))
            else:
                passed += 1
                print("[       OK ] " + label)
    print("[  PASSED  ] %d test(s)." % passed)
    for word, labels in (("SKIPPED", skipped), ("FAILED ", failed)):
        if labels:
            print("[  %s ] %d test(s), listed below:" % (word, len(labels)))
        for label in labels:
            print("[  %s ] %s" % (word, label))
    if failed or not passed:
        sys.exit(1)


def main(arguments):
    write = arguments[:1] == ["--write"]
    document, tiers, folder = arguments[write:]
    tiers = tiers.split(",")
    if os.environ.get("HEADWISE_TEST_ISA"):
        tiers = [os.environ["HEADWISE_TEST_ISA"]]
    with open(document, encoding="utf-8") as file:
        text = file.read()
    if not write:
        check(text, tiers, folder)
        return
    text = BLOCK.sub(lambda m: "```text\n$ article_%s\n%s```" % (m[1], run(folder, m[1], tiers[0])), text)
    with open(document, "w", encoding="utf-8") as file:
        file.write(text)


if __name__ == "__main__":
    main(sys.argv[1:])
