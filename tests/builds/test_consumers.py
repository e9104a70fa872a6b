"""Programs that use the library: as a subproject of meson, and installed, by pkg-config with the shared
and with the static library: test_consumers.py SOURCE BUILD."""
import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

from group import run

SOURCE, BUILD = map(Path, sys.argv[1:3])
COMPILER = os.environ["HEADWISE_TEST_CC"].split()
PROJECT = """project('consumer', 'c', default_options: ['c_std=c11'])
headwise = dependency('headwise', fallback: 'headwise', default_options: ['isa=scalar'])
executable('first', 'first.c', dependencies: headwise)
"""


def say(*command, **options):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False, **options)
    assert done.returncode == 0, f"{shlex.join(map(str, command))}\n{done.stdout[-3000:]}{done.stderr[-3000:]}"
    return done.stdout


def expect_first(program, **options):
    said = say(program, **options)
    assert "head 0: token 0 gives" in said, said


def a_subproject_builds_only_libraries():
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        (folder / "subprojects").mkdir()
        (folder / "subprojects/headwise").symlink_to(SOURCE)
        (folder / "meson.build").write_text(PROJECT)
        (folder / "first.c").write_text((SOURCE / "examples/first.c").read_text())
        say("meson", "setup", folder / "build", folder, "--wrap-mode=forcefallback")
        targets = say("ninja", "-C", folder / "build", "-t", "targets", "all")
        made = [line.split(":")[0] for line in targets.splitlines() if line.startswith("subprojects/headwise/")]
        assert any(name.endswith("libheadwise.a") for name in made), targets
        foreign = [name for name in made if name.startswith(
            tuple("subprojects/headwise/" + part for part in ("tests", "tools", "bench", "examples", "measure")))]
        assert not foreign, foreign
        commands = say("ninja", "-C", folder / "build", "-t", "commands", "first")
        own = [line for line in commands.splitlines() if " -o first.p/" in line]
        assert own and "-ffp-contract" not in own[0] and "-fno-math-errno" not in own[0], own
        say("ninja", "-C", folder / "build", "first")
        expect_first(folder / "build/first")


def an_installation_serves_pkg_config():
    with tempfile.TemporaryDirectory() as folder:
        say("meson", "install", "-C", BUILD, "--no-rebuild", "--destdir", folder)
        [description] = Path(folder).glob("**/pkgconfig/headwise.pc")
        prefix = Path(folder, say("pkg-config", "--variable=prefix", description).strip().lstrip("/"))
        asked = ["pkg-config", f"--define-variable=prefix={prefix}", "--cflags", "--libs"]
        libraries = description.parent.parent
        for kind in ("shared", "static"):
            flags = shlex.split(say(*asked, *(["--static"] if kind == "static" else []), description))
            if kind == "static":
                flags = [str(libraries / "libheadwise.a") if flag == "-lheadwise" else flag for flag in flags]
            program = Path(folder, kind)
            say(*COMPILER, SOURCE / "examples/first.c", *flags, "-o", program)
            needed = say("readelf", "-d", program)
            assert ("libheadwise.so.0" in needed) == (kind == "shared"), needed
            expect_first(program, env={**os.environ, "LD_LIBRARY_PATH": str(libraries)})


run([a_subproject_builds_only_libraries, an_installation_serves_pkg_config])
