#!/usr/bin/env python3
"""Plants violations into copies of the tree: the check meant, and no other, must find each.

usage: test_plants.py SOURCE"""
import re
import shutil
import sys
import tempfile
from pathlib import Path

import fields
import objects
import plant_objects
import plants
import registry
import report
from source import Tree
from violation import Unable

COPIED = ["include", "src", "io", "tools", "measure"]
OF_OBJECTS = {name for name, check in registry.CHECKS.items() if check.__module__ == objects.__name__}


def found_by(checks, tree):
    """{(check, file, what)} of the checks that can run here, and what kept the others from it."""
    found, unable = set(), {}
    for name in checks:
        try:
            found |= {(name, v.file, v.what) for v in registry.CHECKS[name](tree)}
        except Unable as why:
            unable[name] = why
    return found, unable


def complaints(check, file, found, unable):
    """What is wrong with finding this for a plant."""
    if check in unable:
        raise unable[check]
    if not found:
        yield f"{check} did not find what was planted in {file}"
    for name, path, what in sorted(found):
        if (name, path) != (check, file):
            yield f"{name} found {path}: {what}, expected {check} alone to find {file}"


def write(root, files):
    """Writes a plant's files, and returns what was there before."""
    before = {}
    for name, text in files.items():
        path = root / name
        before[path] = path.read_text(encoding="utf-8") if path.exists() else None
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text if isinstance(text, str) else text(before[path]), encoding="utf-8")
    return before


def restore(before):
    for path, text in before.items():
        if text is None:
            path.unlink()
        else:
            path.write_text(text, encoding="utf-8")


def source_case(root, plant, baseline):
    before = write(root, plant.files)
    try:
        found, unable = found_by(registry.CHECKS.keys() - OF_OBJECTS, Tree(root))
    finally:
        restore(before)
    return list(complaints(plant.check, plant.file, found - baseline, unable))


def assertions(root):
    """Plants: the size of each struct whose fields are moved is asserted no more."""
    for struct in fields.MOVED:
        pattern = rf"_Static_assert\(\s*sizeof\(struct {struct}\).*?;\n"
        for file in Tree(root).under("src", suffixes=".c"):
            if re.search(pattern, file.code, re.S):
                header = next(f.path for f in Tree(root).under("include") if f"struct {struct} {{" in f.code)
                yield plants.Plant("probe_fields", header, {file.path: plants.cut(pattern)})


def object_case(root, check, file, plant):
    build = Path(tempfile.mkdtemp(dir=root))
    plant_objects.build_good(root, build)
    good, _ = found_by(OF_OBJECTS, Tree(root, build))
    plant(root, build)
    found, unable = found_by(OF_OBJECTS, Tree(root, build))
    return [f"{name} found {path}: {what} where nothing was planted" for name, path, what in good] + \
        list(complaints(check, file, found, unable))


def cases_of(root):
    baseline, _ = found_by(registry.CHECKS.keys() - OF_OBJECTS, Tree(root))
    planted = set()
    for number, plant in enumerate([*plants.PLANTS, *assertions(root)]):
        planted.add(plant.check)
        yield f"{plant.check}_{number}", lambda plant=plant: source_case(root, plant, baseline)
    for check, file, plant in plant_objects.PLANTS:
        planted.add(check)
        yield f"{check}_{plant.__name__}", lambda args=(check, file, plant): object_case(root, *args)
    yield "every_check_has_a_plant", lambda: [f"nothing is planted for {name}"
                                              for name in registry.CHECKS if name not in planted]


def main():
    source = Path(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        for name in COPIED:
            shutil.copytree(source / name, root / name)
        shutil.copy(source / ".clang-format", root)
        return report.run(dict(cases_of(root)))


if __name__ == "__main__":
    sys.exit(main())
