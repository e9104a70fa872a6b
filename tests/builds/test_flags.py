"""Flags that change results are refused when the library is compiled: test_flags.py SOURCE BUILD."""
import os
import subprocess
import sys

from group import run

SOURCE = sys.argv[1]
COMPILER = os.environ["HEADWISE_TEST_CC"].split()


def compile_with(*flags):
    """What the compiler says of the library's floating-point mode under these flags."""
    return subprocess.run(COMPILER + ["-std=c11", *flags, "-fsyntax-only", "-I", SOURCE + "/src", "-I",
                                      SOURCE + "/include", SOURCE + "/src/api/check.c"],
                          capture_output=True, text=True, check=False)


def fast_math_is_refused():
    for flag in ("-ffast-math", "-Ofast", "-ffinite-math-only"):
        done = compile_with("-O2", flag)
        assert done.returncode != 0, f"{flag} compiles"
        assert "-ffast-math, -Ofast and -ffinite-math-only change results" in done.stderr, done.stderr


def other_flags_are_taken():
    for flag in ("-O0", "-O3"):
        done = compile_with(flag)
        assert done.returncode == 0, done.stderr


run([fast_math_is_refused, other_flags_are_taken])
