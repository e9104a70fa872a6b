"""Every source of the libraries compiles against musl: test_musl.py SOURCE BUILD. Headers of the other
libraries and of the kernel are Debian's, which know no C library."""
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from group import run

SOURCE, BUILD = map(Path, sys.argv[1:3])
OTHERS = ("sleef.h", "pcre2.h", "utf8proc.h")
INCLUDED = [Path("/usr/include")] + list(Path("/usr/include").glob(os.uname().machine + "-linux-*"))
ROOMS = tuple(str(SOURCE / folder) + "/" for folder in ("src", "io", "model"))


def flags_of(command):
    """What says how the source is read; OpenMP, dependencies and the output are left out."""
    flags = [word for word in command.split()[1:] if word.startswith(("-I", "-D", "-m", "-std"))]
    return [flag for flag in flags if "/usr/" not in flag]


def everything_compiles():
    seen, failures = set(), []
    with tempfile.TemporaryDirectory() as headers:
        for name in OTHERS:
            for folder in INCLUDED:
                if (folder / name).exists():
                    shutil.copy(folder / name, headers)
        for kernel in ("linux", "asm", "asm-generic"):
            for folder in INCLUDED:
                if (folder / kernel).exists():
                    Path(headers, kernel).symlink_to(folder / kernel)
        for entry in json.loads((BUILD / "compile_commands.json").read_text()):
            path = os.path.normpath(os.path.join(entry["directory"], entry["file"]))
            flags = flags_of(entry["command"])
            if not path.startswith(ROOMS) or path in seen:
                continue
            seen.add(path)
            done = subprocess.run(["musl-gcc", *flags, "-I", headers, "-Wall", "-Werror=implicit-function-declaration",
                                   "-Wno-unknown-pragmas", "-fsyntax-only", path],
                                  cwd=BUILD, capture_output=True, text=True, check=False)
            if done.returncode != 0:
                failures.append(done.stderr[:600])
    assert not failures, "\n".join(failures[:5])
    assert len(seen) > 60, f"{len(seen)} sources"
    print(f"{len(seen)} sources compiled")


if not shutil.which("musl-gcc"):
    print("[  SKIPPED ] everything_compiles: there is no musl-gcc (apt install musl-tools)")
    sys.exit(77)
run([everything_compiles])
