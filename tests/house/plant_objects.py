"""Small builds to plant violations into: archives of tiers, portable objects and libraries."""
import platform
import re
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


def offer(root, build, *more):
    """A shared library that offers what its .map lists, and more."""
    source = root / "src/headwise.map"
    names = re.findall(r"^ +(headwise_\w+);", source.read_text(), re.M)
    code = "".join(f"int {name}(void) {{ return 1; }}" for name in names)
    compile_to(build / "libheadwise.so", code + "".join(more), "-shared", f"-Wl,--version-script={source}")


def build_good(root, build):
    """What the checks of objects look at, with nothing to be found."""
    for tier in ("scalar", "avx2"):
        archive(build / f"src/libheadwise-{tier}.a", GOOD)
    archive(build / "libheadwise.a", GOOD)
    compile_to(build / "libheadwise.so.p/planted.o", GOOD, "-c")
    offer(root, build)


def foreign_call(root, build):
    archive(build / "src/libheadwise-avx2.a",
            "void exit(int); void headwise_planted(void) { exit(1); }")


WIDE = ["-O2", "-mavx2"] if platform.machine() == "x86_64" else []
VECTORS = ("typedef float v8 __attribute__((vector_size(32)));"
           "void headwise_planted(v8 *x) { *x = *x * *x; }")


def wide_portable(root, build):
    compile_to(build / "libheadwise.so.p/planted.o", VECTORS, "-c", *WIDE)


def wide_scalar(root, build):
    archive(build / "src/libheadwise-scalar.a", VECTORS, *WIDE)


def foreign_name(root, build):
    compile_to(build / "libheadwise.so", GOOD + " int planted;", "-shared")


def lacking_name(root, build):
    """A function that the map does not list is hidden: the map's last one is renamed."""
    path = root / "src/headwise.map"
    text = path.read_text()
    path.write_text(text.replace("headwise_version;", "headwise_other_version;"))
    offer(root, build)
    path.write_text(text)


def foreign_static_name(root, build):
    archive(build / "libheadwise.a", GOOD + " int planted;")


PLANTS = [
    ("tier_symbols", "src/libheadwise-avx2.a", foreign_call),
    ("wide_vectors", "libheadwise.so.p/planted.o", wide_portable),
    ("wide_vectors", "src/libheadwise-scalar.a", wide_scalar),
    ("exported_names", "libheadwise.so", foreign_name),
    ("exported_names", "libheadwise.so", lacking_name),
    ("exported_names", "libheadwise.a", foreign_static_name),
]
