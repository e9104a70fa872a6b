"""Violations that are known, in known.txt: lines of `check file: reason`."""
import re
from pathlib import Path

from violation import Violation

PATH = Path(__file__).parent / "known.txt"
ENTRY = re.compile(r"(\w+) (\S+): (\S.*)")


def read():
    """{(check, file): line} of the entries."""
    entries = {}
    for number, text in enumerate(PATH.read_text(encoding="utf-8").splitlines(), 1):
        if not text.strip() or text.startswith("#"):
            continue
        m = ENTRY.fullmatch(text)
        if not m or (m.group(1), m.group(2)) in entries:
            raise ValueError(f"{PATH.name}:{number}: `{text}`, expected `check file: reason`, once")
        entries[m.group(1), m.group(2)] = number
    return entries


def apart(check, violations, entries):
    """The violations that no entry knows, and one for each entry of the check that knows none."""
    new = [v for v in violations if (check, v.file) not in entries]
    files = {v.file for v in violations}
    for (name, file), number in entries.items():
        if name == check and file not in files:
            new.append(Violation(f"tests/house/{PATH.name}", number,
                                 f"{file} violates {check} no more", "expected its line to go"))
    return new
