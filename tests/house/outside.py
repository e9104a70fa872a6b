"""Threads, files and the environment are each touched in named files only (rooms.OWNERS)."""
import re

import rooms
from violation import Violation

TOUCHES = {
    "threads": r"<(?:omp|pthread|threads)\.h>|\b(?:omp|pthread(?!_sigmask)|thrd|mtx)_\w+\s*\(|#\s*pragma\s+omp",
    "files": r"\b(?:fopen|freopen|fdopen|open|openat|creat|mkstemp|tmpfile|opendir)\s*\(",
    "environment": r"\b(?:secure_getenv|getenv|setenv|unsetenv|putenv)\s*\(|\benviron\b",
}


def touched(kind):
    def check(tree):
        for file in tree.under(*rooms.ROOMS):
            owners = rooms.OWNERS[kind].get(file.path.split("/")[0], [])
            if file.path in owners:
                continue
            for m in re.finditer(TOUCHES[kind], file.code):
                found = " ".join(m.group().rstrip("( ").split())
                yield Violation(file.path, file.line_of(m.start()), f"{found} touches {kind}",
                                "expected only in " + (" and ".join(owners) or "other libraries"))
    check.__doc__ = f"Only {kind}' own files touch them."
    return check


def invalid(tree):
    """What callers give is judged in src/api: HEADWISE_ERR_INVALID is set there."""
    for file in tree.under("src"):
        if file.room == "src/api" or file.path in rooms.INVALID:
            continue
        for m in re.finditer(r"(?<!== )(?<!!= )\bHEADWISE_ERR_INVALID\b", file.code):
            yield Violation(file.path, file.line_of(m.start()), "sets HEADWISE_ERR_INVALID",
                            "expected only in src/api")
