"""Comments, marks of unfinished work, and format."""
import re
import shutil
import subprocess

from sizes import ALL
from violation import Unable, Violation

BEGINS = re.compile(r"(?:/\*+|//)[\s*]*(The same\b|Those of\b)")
MARKS = re.compile(r"\b(?:TO" r"DO|FIX" r"ME|X" r"XX)\b|^[ \t]*#[ \t]*if[ \t]+0\b", re.M)


def opening(tree):
    """Every .c file opens with a sentence that says its job."""
    for file in tree.under(*ALL, suffixes=(".c", ".cc")):
        start, text = file.comments[0] if file.comments else (1, "")
        if file.text[:start].strip() or len(text.split()) < 4 or "." not in text:
            yield Violation(file.path, 1, f"opens with `{file.lines[0][:40]}`",
                            "expected a comment, a sentence that says the file's job")


def comments(tree):
    """No comment leans on the one before it."""
    for file in tree.under(*ALL, suffixes=(".c", ".h", ".cc")):
        for start, text in file.comments:
            m = BEGINS.match(text)
            if m:
                yield Violation(file.path, file.line_of(start), f'a comment begins "{m.group(1)}"',
                                "expected a sentence that stands alone")


def unfinished(tree):
    """Nothing is left for later or switched off."""
    for file in tree.under(*ALL, suffixes=(".c", ".h", ".cc", ".py", ".js", ".sh", ".build")):
        for m in MARKS.finditer(file.text):
            yield Violation(file.path, file.line_of(m.start()), f"`{m.group().strip()}`", "expected finished work")


def formatter():
    for name in ("clang-format-14", "clang-format"):
        if shutil.which(name):
            version = subprocess.run([name, "--version"], capture_output=True, text=True, check=True)
            if " version 14." in version.stdout:
                return name
    raise Unable("clang-format 14 is not installed (Debian: clang-format-14)")


FORMATTED = set()  # files, with their text, that were found clean


def formatted(tree):
    """clang-format 14 would change nothing."""
    command = [formatter(), "--dry-run", f"--style=file:{tree.root}/.clang-format", "--"]
    files = [f for f in tree.under(*ALL) if (f.path, f.text) not in FORMATTED]
    if not files:
        return
    run = subprocess.run(command + [f.path for f in files], cwd=tree.root, capture_output=True,
                         text=True, check=False)
    found = {}
    for path, line in re.findall(r"^(\S+?):(\d+):\d+: warning: code should be clang-formatted", run.stderr, re.M):
        found.setdefault(path, int(line))
    if run.returncode or (run.stderr.strip() and not found):
        raise RuntimeError(f"clang-format: {run.stderr[:500]}")
    FORMATTED.update((f.path, f.text) for f in files if f.path not in found)
    for path, line in found.items():
        yield Violation(path, line, "clang-format 14 would change it", "expected formatted code")
