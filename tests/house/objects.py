"""What was built: names that the tiers' archives need, vectors in portable objects, exported names."""
import platform
import re
import shutil
import subprocess

import rooms
from violation import Unable, Violation

# Compilers call mem* on their own; hardened builds call checked variants.
NEEDED = re.compile(r"Sleef_\w+|(?:__)?mem(?:cpy|move|set|cmp)(?:_chk)?|sqrtf|__stack_chk_fail|"
                    r"_GLOBAL_OFFSET_TABLE_")


def output_of(*command):
    if not shutil.which(command[0]):
        raise Unable(f"{command[0]} is not installed (Debian: binutils)")
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def built(tree, pattern):
    if not tree.build:
        raise Unable("nothing was built")
    found = sorted(p for p in tree.build.glob(pattern) if not p.is_symlink())
    if not found:
        raise RuntimeError(f"no {pattern} in {tree.build}")
    return found


def tier_of(path):
    return next((tier for tier in rooms.TIERS if path.stem.endswith("-" + tier)), None)


def tier_symbols(tree):
    """Archives of tiers need only SLEEF, mem*, sqrtf and one another."""
    archives = [p for p in built(tree, "src/**/libheadwise-*.a") if tier_of(p)]
    defined = {}
    for path in archives:
        names = re.findall(r"^\S+ [A-Z] (\w+)$", output_of("nm", "-g", "--defined-only", path), re.M)
        defined.setdefault(tier_of(path), set()).update(names)
    for path in archives:
        needed = set(re.findall(r"^\s+U (\w+)$", output_of("nm", "-u", path), re.M))
        for name in sorted(needed - defined[tier_of(path)]):
            if not NEEDED.fullmatch(name):
                yield Violation(path.relative_to(tree.build).as_posix(), 0, f"needs {name}",
                                "expected SLEEF, mem*, sqrtf only")


def wide_vectors(tree):
    """Portable code and the scalar tier run on any x86-64: no vectors wider than SSE's."""
    if platform.machine() != "x86_64":
        raise Unable("only x86-64 has wider vectors")
    scalar = [p for p in built(tree, "src/**/libheadwise-*.a") if tier_of(p) == "scalar"]
    bounds = [(p, r"%[yz]mm\d+") for p in built(tree, "libheadwise.so*.p/*.o") + scalar]
    bounds += [(p, r"%zmm\d+") for p in built(tree, "src/**/libheadwise-*.a") if tier_of(p) == "avx2"]
    for path, pattern in bounds:
        code = output_of("objdump", "-d", "--no-show-raw-insn", path)
        found = re.search(pattern, code)
        if found:
            function = re.findall(r"<([^>+]+)>:$", code[:found.start()], re.M)[-1]
            yield Violation(path.relative_to(tree.build).as_posix(), 0, f"{function} uses {found.group()}",
                            "expected no wider vector than the processor must have")


def exported_names(tree):
    """Libraries offer names that begin with headwise_, and no others; shared ones those that their
    .map lists, each with the map's version."""
    shared = [p for p in built(tree, "**/libheadwise*.so*")
              if re.search(r"\.so[.\d]*$", p.name) and p.is_file()]
    for path, of in [(p, "-D") for p in shared] + [(p, "-g") for p in built(tree, "libheadwise.a")]:
        listed = re.findall(r"^\S+ [B-Z] (\S+)$", output_of("nm", of, "--defined-only", path), re.M)
        place = path.relative_to(tree.build).as_posix()
        for name in listed:
            if not name.startswith("headwise_"):
                yield Violation(place, 0, f"exports {name}", "expected headwise_...")
        if not listed:
            yield Violation(place, 0, "exports nothing", "expected the public functions")
        for path_of_map in tree.root.glob(f"*/{path.name[3:].split('.so')[0]}.map"):
            if of == "-D":
                yield from unlike_map(place, set(listed), path_of_map.read_text())


def unlike_map(place, listed, text):
    expected = set()
    for version, names in re.findall(r"^(HEADWISE_[\d.]+) \{\s*global:(.*?)(?:local:|\})", text, re.M | re.S):
        expected |= {f"{name}@@{version}" for name in re.findall(r"(\w+);", names)}
    for name in sorted(listed ^ expected):
        said = "offers" if name in listed else "lacks"
        yield Violation(place, 0, f"{said} {name}", "expected the names and versions of its .map")
