#!/usr/bin/env python3
"""Shares of the FMA limit that llvm-mca sees in the inner loops of a function.

    loops.py OBJDUMP LLVM_MCA OBJECT FUNCTION MIN_STEPS CPU...

Finds the loops of one block with FMAs by element in the disassembly, and prints a row of a Markdown
table for each that takes MIN_STEPS of its chains or more: the tile it computes, its instructions,
these per multiply-add, and for each CPU 100 * (cycles that its FMAs alone would take) / (cycles of
the loop). Exits with 1 where it finds no such loop.
"""

import re
import subprocess
import sys

LINE = re.compile(r"^\s*([0-9a-f]+):\t(\S+)\s*([^/]*)")
BRANCH = re.compile(r"^(b\.\w+|cbn?z)$")
FMLA = re.compile(r"^fmla v(\d+)\.4s, v(\d+)\.4s, v(\d+)\.s\[(\d)\]")


def disassemble(objdump, path, function):
    """The instructions as (address, mnemonic, operands)."""
    text = subprocess.run([objdump, f"--disassemble={function}", "--no-show-raw-insn", path],
                          check=True, capture_output=True, text=True).stdout
    lines = filter(None, map(LINE.match, text.splitlines()))
    return [(int(m[1], 16), m[2], re.sub(r"\s*<.*", "", m[3]).strip()) for m in lines]


def find_loops(code):
    """Bodies of the loops that hold no other branch, as lists of text."""
    place = {address: i for i, (address, _, _) in enumerate(code)}
    for i, (address, mnemonic, operands) in enumerate(code):
        if not BRANCH.match(mnemonic):
            continue
        start = place.get(int(operands.split()[-1], 16), i)
        body = code[start:i]
        if start < i and not any(name.startswith("b") or name == "ret" for _, name, _ in body):
            yield [f"{name} {rest}" for _, name, rest in body] + [f"{mnemonic} 0"]


def describe(body):
    """(rows, columns, steps, FMAs) of a loop over a register tile, None for other loops.

    A loop of several steps loads 4 elements of a row of A at once, and uses each in a lane; a loop
    of one step loads them as scalars. The other vectors it loads are rows of B.
    """
    fmas = [m.groups() for m in map(FMLA.match, body) if m]
    if not fmas:
        return None
    n_elements = len({fma[2:] for fma in fmas})  # rows * steps
    vectors = sum(map(count_vectors, body))
    if not any(line.startswith(("ldr s", "ld1r")) for line in body):
        vectors -= n_elements // 4
    rows = len(fmas) // vectors
    return rows, 4 * len(fmas) // n_elements, n_elements // rows, len(fmas)


def count_vectors(line):
    """Vectors that an instruction loads."""
    if line.startswith("ldp q"):
        return 2
    multiple = re.match(r"ld1 \{v(\d+)\.4s(?:(?:-|, )v(\d+)\.4s)?\}", line)
    if multiple:
        return int(multiple[2] or multiple[1]) - int(multiple[1]) + 1
    return int(line.startswith(("ldr q", "ldur q")))


def cycles(mca, cpu, body):
    """Cycles of one pass, in the long run."""
    passes = 1000
    text = subprocess.run([mca, "-mtriple=aarch64", f"-mcpu={cpu}", f"-iterations={passes}"],
                          input="\n".join(body), check=True, capture_output=True, text=True).stdout
    return int(re.search(r"Total Cycles:\s+(\d+)", text)[1]) / passes


def main():
    objdump, mca, path, function, min_steps, *cpus = sys.argv[1:]
    alone = [f"fmla v{16 + i}.4s, v0.4s, v1.s[0]" for i in range(16)]
    limit = {cpu: cycles(mca, cpu, alone) / len(alone) for cpu in cpus}
    loops = {}
    for body in find_loops(disassemble(objdump, path, function)):
        tile = describe(body)
        if tile and tile[2] >= int(min_steps):
            loops.setdefault(tile, body)
    for (rows, columns, steps, n_fmas), body in sorted(loops.items(), reverse=True):
        shares = [100 * n_fmas * limit[cpu] / cycles(mca, cpu, body) for cpu in cpus]
        print(f"| {rows} x {columns} | {steps} | {len(body)} | {len(body) / (4 * n_fmas):.3f} | " +
              " | ".join(f"{share:.0f} %" for share in shares) + " |")
    return 0 if loops else 1


if __name__ == "__main__":
    sys.exit(main())
