"""Sizes: of files, functions, lists of parameters and lines."""
import rooms
from source import SUFFIXES
from violation import Violation

ALL = ("include", "src", "io", "model", "tools", "measure", "bench", "examples", "scripts", "tests")
KERNELS = {"src/" + room for room in rooms.TIERS + ["kernels", "simd", "x86"]}


def file_lines(tree):
    """Files of up to 300 lines."""
    for file in tree.under(*ALL, suffixes=tuple(SUFFIXES)):
        if len(file.lines) > 300:
            yield Violation(file.path, len(file.lines), f"{len(file.lines)} lines", "expected at most 300")


def function_lines(tree):
    """Functions of up to 50 lines, micro-kernels of up to 120."""
    for file in tree.under(*ALL, suffixes=(".c", ".h", ".cc")):
        for name, line, n_lines, _ in file.functions:
            most = 120 if name in rooms.MICRO_KERNELS else 50
            if n_lines > most:
                yield Violation(file.path, line, f"{name} has {n_lines} lines", f"expected at most {most}")


def parameters(tree):
    """Up to 8 parameters, kernels and their parts 11."""
    for file in tree.under(*ALL, suffixes=(".c", ".h", ".cc")):
        most = 11 if file.room in KERNELS else 8
        for name, line, _, count in file.functions:
            if count > most:
                yield Violation(file.path, line, f"{name} has {count} parameters", f"expected at most {most}")


def columns(tree):
    """Lines of up to 100 columns."""
    for file in tree.under(*ALL, suffixes=(".c", ".h", ".cc")):
        for number, line in enumerate(file.lines, 1):
            if len(line) > 100:
                yield Violation(file.path, number, f"{len(line)} columns", "expected at most 100")
