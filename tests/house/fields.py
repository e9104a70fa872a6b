"""A new field of what ragged calls move along does not compile until that code is looked at."""
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from violation import Unable, Violation

MOVED = ["headwise_probe", "headwise_statistics"]


def compiler():
    command = os.environ.get("HEADWISE_TEST_CC", "cc").split()
    if not shutil.which(command[0]):
        raise Unable(f"{command[0]} is not installed")
    return command


def compiles(tree, source, include):
    command = compiler() + ["-std=c11", "-fsyntax-only", f"-I{include}", f"-I{tree.root}/src"]
    return subprocess.run(command + [tree.root / source], capture_output=True, text=True, check=False)


def fails_with_field(tree, source, header, struct):
    """Whether source does not compile for a struct with one pointer more, because of its size."""
    with tempfile.TemporaryDirectory() as folder:
        include = Path(folder) / "include"
        shutil.copytree(tree.root / "include", include)
        if compiles(tree, source, include).returncode:
            raise RuntimeError(compiles(tree, source, include).stderr)
        grown = re.sub(rf"(struct {struct}\s*\{{.*?)(\n\}};)", r"\1\n    float *added_by_house;\2",
                       header.text, count=1, flags=re.S)
        (Path(folder) / header.path).write_text(grown)
        run = compiles(tree, source, include)
        return run.returncode != 0 and "static assert" in run.stderr.lower()


def probe_fields(tree):
    """Each field of the probe is moved for every sequence of a ragged call."""
    for struct in MOVED:
        header = next(f for f in tree.under("include") if re.search(rf"struct {struct}\s*\{{", f.code))
        line = header.line_of(re.search(rf"struct {struct}\s*\{{", header.code).start())
        sources = [f.path for f in tree.under("src", suffixes=".c")
                   if re.search(rf"_Static_assert\(\s*sizeof\(struct {struct}\)", f.code)]
        if not any(fails_with_field(tree, source, header, struct) for source in sources):
            yield Violation(header.path, line, f"a new field of struct {struct} compiles",
                            "expected a _Static_assert on its size beside the code that moves its pointers")
