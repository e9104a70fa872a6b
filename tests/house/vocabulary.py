"""The vocabularies of the tiers: every vec.h defines what shared files use, in one order."""
import re

import rooms
from violation import Violation


def names_of(file):
    """Names a vec.h defines, in order, with their lines."""
    places = {}
    for name in file.declared:
        m = re.search(rf"\b{name}\b", file.code)
        if not name.endswith("_H") and m:
            places[name] = m.start()
    return {name: file.line_of(places[name]) for name in sorted(places, key=places.get)}


def shared_words(tree, room):
    return set().union(*(f.words for f in tree.under("src") if f.room == f"src/{room}"))


def vocabulary(tree):
    """What simd/ or x86/ uses of one vec.h is in all, and common names stand in the same order."""
    paths = {tier: f"src/{tier}/vec.h" for tier in rooms.TIERS if f"src/{tier}/vec.h" in tree.files}
    defined = {tier: names_of(tree.files[path]) for tier, path in paths.items()}
    for room, tiers in (("simd", rooms.SIMD_TIERS), ("x86", rooms.X86_TIERS)):
        tiers = [tier for tier in tiers if tier in defined]
        known = set().union(*(defined[tier] for tier in tiers))
        for tier in tiers:
            for name in sorted(known & shared_words(tree, room) - set(defined[tier])):
                yield Violation(paths[tier], 1, f"no {name}, which src/{room} uses", "expected one in each tier")
    first = next(tier for tier in rooms.SIMD_TIERS if tier in defined)
    for tier in defined:
        ours = [name for name in defined[tier] if name in defined[first]]
        theirs = [name for name in defined[first] if name in defined[tier]]
        for a, b in zip(ours, theirs):
            if a != b:
                yield Violation(paths[tier], defined[tier][a], f"{a} stands where {paths[first]} has {b}",
                                "expected the same order")
                break
