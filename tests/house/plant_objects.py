"""Small builds to plant violations into: archives of tiers, portable objects and libraries."""
import platform
import subprocess

from fields import compiler
from objects import output_of

GOOD = "int headwise_planted(void) { return 1; }"


def compile_to(path, code, *flags):
    path.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(compiler() + ["-x", "c", "-fPIC", *flags, "-o", path, "-"], input=code,
                   text=True, check=True)


def archive(path, code, *flags):
    member = path.with_suffix(".o")
    compile_to(member, code, "-c", *flags)
    path.unlink(missing_ok=True)
    output_of("ar", "rcs", path, member)
    member.unlink()


def build_good(build):
    """What the checks of objects look at, with nothing to be found."""
    for tier in ("scalar", "avx2"):
        archive(build / f"src/libheadwise-{tier}.a", GOOD)
    archive(build / "libheadwise.a", GOOD)
    compile_to(build / "libheadwise.so.p/planted.o", GOOD, "-c")
    compile_to(build / "libheadwise.so", GOOD, "-shared")


def foreign_call(build):
    archive(build / "src/libheadwise-avx2.a",
            "void exit(int); void headwise_planted(void) { exit(1); }")


WIDE = ["-O2", "-mavx2"] if platform.machine() == "x86_64" else []
VECTORS = ("typedef float v8 __attribute__((vector_size(32)));"
           "void headwise_planted(v8 *x) { *x = *x * *x; }")


def wide_portable(build):
    compile_to(build / "libheadwise.so.p/planted.o", VECTORS, "-c", *WIDE)


def wide_scalar(build):
    archive(build / "src/libheadwise-scalar.a", VECTORS, *WIDE)


def foreign_name(build):
    compile_to(build / "libheadwise.so", GOOD + " int planted;", "-shared")


def foreign_static_name(build):
    archive(build / "libheadwise.a", GOOD + " int planted;")


PLANTS = [
    ("tier_symbols", "src/libheadwise-avx2.a", foreign_call),
    ("wide_vectors", "libheadwise.so.p/planted.o", wide_portable),
    ("wide_vectors", "src/libheadwise-scalar.a", wide_scalar),
    ("exported_names", "libheadwise.so", foreign_name),
    ("exported_names", "libheadwise.a", foreign_static_name),
]
