#!/usr/bin/env python3
"""Plants one fault at a time in a copy of the sources, builds and runs the tests, which must fail.

    mutants.py [NAME ...]

Prints a line for each fault and how many of them the tests saw; fails where one was not seen, or
where the code that it changes is not there any more. Needs what scripts/test.sh installs, and some
minutes: the tests run until the first of them fails.
"""
import os
import shutil
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TREE = os.path.join(ROOT, "build", "mutants")
SUITES = ["kernels", "api", "cache", "property"]

# Name: (what is wrong, [(file, code, code with the fault)]).
MUTANTS = {
    "last_key": ("the last key of a block adds no value", [
        ("src/attention/block.c", "x1 = headwise_min(x1, block->hi);", "x1 = headwise_min(x1, block->hi) - 1;")]),
    "rescale": ("sums before a new maximum keep their scale", [
        ("src/simd/merge.c", "store_first(alpha + i, old_scale, n - i);",
         "store_first(alpha + i, broadcast(1.0f), n - i);"),
        ("src/scalar/merge.c", "alpha[i] = exp2_f32((max[i] - base) * LOG2E);", "alpha[i] = 1.0f;")]),
    "stale_alpha": ("all rows but the first ones keep the factors of the block before", [
        ("src/simd/merge.c", "store_first(alpha + i, old_scale, n - i);",
         "if (i == 0)\n            store_first(alpha + i, old_scale, n - i);"),
        ("src/scalar/merge.c", "alpha[i] = exp2_f32((max[i] - base) * LOG2E);",
         "if (i == 0)\n            alpha[i] = exp2_f32((max[i] - base) * LOG2E);")]),
    "rows_swapped": ("the first two rows of a tile take each other's masks", [
        ("src/attention/block.c", ".query = headwise_tile_query(tile, row),",
         ".query = headwise_tile_query(tile, tile->n_rows > 1 && row < 2 ? 1 - row : row),")]),
    "mask_row": ("the mask of the second query is ignored", [
        ("src/attention/mask.c", "if (row->call->mask.data && count > 0)",
         "if (row->call->mask.data && count > 0 && row->query != 1)")]),
    "visible": ("a block with one hidden key counts as visible", [
        ("src/attention/visibility.c", "return first + n <= from.hi && (after_gap || before_gap);",
         "return first + n <= from.hi + 1 && (after_gap || before_gap);")]),
    "join": ("rows that several threads computed are joined by the first row's factor", [
        ("src/attention/tasks.c", "width, 1, alpha + r, beta + r);", "width, 1, alpha, beta + r);")]),
    "block_sum": ("a block's sum is not brought to the maximum of all", [
        ("src/simd/merge.c", "vec block = multiply(load_first(block_sum + i, n - i), block_scale);",
         "vec block = load_first(block_sum + i, n - i);"),
        ("src/scalar/merge.c", "block_sum[i] * beta[i]);", "block_sum[i]);")]),
}


def run(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          stdin=subprocess.DEVNULL, check=False)


def must(*command):
    done = run(*command)
    if done.returncode:
        sys.exit(done.stdout)


def copy_tree():
    names = run("git", "-C", ROOT, "ls-files", "-z").stdout.split("\0")
    for name in filter(None, names):
        target = os.path.join(TREE, name)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        source = os.path.join(ROOT, name)
        if not os.path.exists(target) or open(target, "rb").read() != open(source, "rb").read():
            shutil.copy(source, target)  # what is equal keeps its time, and is not built again
    if not os.path.exists(os.path.join(TREE, "build", "build.ninja")):
        must("meson", "setup", os.path.join(TREE, "build"), TREE, "--buildtype=debugoptimized", "-Db_ndebug=false",
             "-Dtests=enabled", "-Dtools=disabled", "-Dmodel=disabled", "-Dbench=disabled", "-Dexamples=false")


def plant(changes):
    """Changes the copy; returns what the files held."""
    before = {}
    for name, code, fault in changes:
        path = os.path.join(TREE, name)
        with open(path, encoding="utf-8") as file:
            text = file.read()
        if text.count(code) != 1:
            sys.exit(f"{name}: has \"{code}\" {text.count(code)} times, expected once")
        before[path] = text
        with open(path, "w", encoding="utf-8") as file:
            file.write(text.replace(code, fault))
    return before


def test():
    """The first test that fails, or None."""
    build = os.path.join(TREE, "build")
    must("ninja", "-C", build)
    os.environ.setdefault("HEADWISE_TEST_SHARE", "5")
    suites = [word for suite in SUITES for word in ("--suite", suite)]
    done = run("meson", "test", "-C", build, "--no-rebuild", "--maxfail", "1", "--num-processes", "1", *suites)
    failed = [line.split(" / ")[1].split()[0] for line in done.stdout.splitlines()
              if " / " in line and ("FAIL" in line or "TIMEOUT" in line)]
    return failed[0] if failed else None


def main():
    names = sys.argv[1:] or list(MUTANTS)
    os.makedirs(TREE, exist_ok=True)
    copy_tree()
    found = test()
    if found:
        sys.exit(f"{found} fails without any fault")
    killed = 0
    for name in names:
        what, changes = MUTANTS[name]
        before = plant(changes)
        try:
            found = test()
        finally:
            for path, text in before.items():
                with open(path, "w", encoding="utf-8") as file:
                    file.write(text)
        killed += found is not None
        print(f"mutant {name:13} {'seen by ' + found if found else 'NOT SEEN':28} {what}", flush=True)
    print(f"{killed} of {len(names)} mutants killed")
    return killed != len(names)


if __name__ == "__main__":
    sys.exit(main())
