"""What a check finds: a place, what is there, and what was expected."""
from typing import NamedTuple


class Violation(NamedTuple):
    file: str
    line: int
    what: str
    expected: str

    def __str__(self):
        return f"{self.file}:{self.line}: {self.what}, {self.expected}"


class Unable(Exception):
    """A check that cannot run here: why."""
