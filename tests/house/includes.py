"""Includes: how they are written, which are allowed, that none goes in a circle, that each is used."""
import rooms
from violation import Violation

WRITTEN = ("src", "io", "model", "tools", "measure")


def resolve(tree, file, name):
    """Path of the project's file that an include means, or None."""
    top = file.path.split("/")[0]
    beside = f"{file.room}/{name}"
    for path in (f"include/{name}", f"{top}/{name}", f"src/{name}", f"io/{name}", name, beside):
        if path in tree.files:
            return path
    return None


def quoted(file):
    return [(line, name) for line, name, system in file.includes if not system]


def spelled(tree):
    """Written "room/file.h", so that a reader knows where it is; TIER_HEADERS are the tier's own."""
    for file in tree.under(*WRITTEN):
        for line, name in quoted(file):
            if name in rooms.TIER_HEADERS:
                continue
            if "/" not in name:
                yield Violation(file.path, line, f'includes "{name}"', 'expected "room/file.h"')
            elif resolve(tree, file, name) in (None, f"{file.room}/{name}"):
                yield Violation(file.path, line, f'includes "{name}"',
                                "expected a path from the library's folder or include/")


def may_include(top, room, name):
    if name in rooms.TIER_HEADERS:
        return room in rooms.TIERS + ["simd", "x86"]
    target = name.rsplit("/", 1)[0] if "/" in name else ""
    allowed = rooms.ROOMS[top].get(room)
    if allowed is None:
        return False
    return (target in rooms.PUBLIC[top] or name in rooms.DOORS.get(top, []) or target == room or
            target in allowed)


def allowed(tree):
    """Rooms include only rooms before them (rooms.py)."""
    for file in tree.under(*rooms.ROOMS):
        top, _, room = file.room.partition("/")
        if room not in rooms.ROOMS[top]:
            yield Violation(file.path, 1, f"room {file.room}", "expected a room of tests/house/rooms.py")
            continue
        for line, name in quoted(file):
            if ("/" in name or name in rooms.TIER_HEADERS) and not may_include(top, room, name):
                names = rooms.PUBLIC[top] + rooms.DOORS.get(top, []) + rooms.ROOMS[top][room]
                yield Violation(file.path, line, f'{file.room} includes "{name}"',
                                "expected only " + ", ".join(names) + " and itself")


def circular(tree):
    """A file and its header are one; no way along includes leads back to where it began."""
    graph, lines = {}, {}
    for file in tree.under(*rooms.ROOMS):
        arrows = graph.setdefault(file.stem, set())
        for line, name in quoted(file):
            path = resolve(tree, file, name)
            target = path and path.rsplit(".", 1)[0]
            if target and target != file.stem:
                arrows.add(target)
                lines.setdefault((file.stem, target), (file.path, line))
    for loop in loops_of(graph):
        path, line = lines[loop[0], loop[1 % len(loop)]]
        yield Violation(path, line, "includes go in a circle: " + " -> ".join(loop + loop[:1]),
                        "expected none")


def loops_of(graph):
    """One shortest loop through the first name of each knot of the graph."""
    seen = set()
    for start in sorted(graph):
        if start in seen:
            continue
        back = shortest_loop(graph, start)
        if back:
            reached, reaching = reach(graph, start), reach(reverse(graph), start)
            seen |= reached & reaching
            yield back


def shortest_loop(graph, start):
    ways, at = [[start]], {start}
    for way in ways:
        for target in sorted(graph.get(way[-1], ())):
            if target == start:
                return way
            if target not in at:
                at.add(target)
                ways.append(way + [target])
    return None


def reach(graph, start):
    found, todo = set(), [start]
    while todo:
        for target in graph.get(todo.pop(), ()):
            if target not in found:
                found.add(target)
                todo.append(target)
    return found


def reverse(graph):
    back = {}
    for start, targets in graph.items():
        for target in targets:
            back.setdefault(target, set()).add(start)
    return back


def offered(tree, path, seen=()):
    """Names of a header, and of those it offers on purpose: public headers, rooms.OFFERS."""
    file = tree.files[path]
    names = set(file.declared)
    if path.startswith("include/") or path in rooms.OFFERS:
        for _, name in quoted(file):
            inner = resolve(tree, file, name)
            if inner and inner not in seen:
                names |= offered(tree, inner, (*seen, path))
    return names


def words_of(tree, file):
    """Words of a file; a tier's file also speaks through the shared files that it includes."""
    words = set(file.words)
    if file.path.split("/")[1] in rooms.TIERS:
        for _, name in quoted(file):
            if name.split("/")[0] in rooms.SHARED:
                words |= words_of(tree, tree.files[resolve(tree, file, name)])
    return words


def used(tree):
    """Of each header some name is used where it is included."""
    names = {}
    for file in tree.under(*WRITTEN):
        for line, name in quoted(file):
            path = resolve(tree, file, name)
            if name in rooms.TIER_HEADERS or not path or path.rsplit(".", 1)[0] == file.stem:
                continue
            if path not in names:
                names[path] = offered(tree, path)
            if (file.path not in rooms.OFFERS and not names[path] & words_of(tree, file) and
                    not file.uses_fields(tree.files[path].fields)):
                yield Violation(file.path, line, f'includes "{name}" and uses no name of it',
                                "expected no unused include")
