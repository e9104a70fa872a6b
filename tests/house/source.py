"""Reads the tree: files, their code without comments and strings, functions, and declared names."""
import functools
import os
import re
from pathlib import Path

FOLDERS = ["include", "src", "io", "model", "tools", "measure", "bench", "examples", "scripts",
           "tests"]
SUFFIXES = {".c", ".h", ".cc", ".py", ".js", ".sh", ".css", ".build"}
TOKEN = re.compile(r"""/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'""", re.S)
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(["<])([^">]+)[">]', re.M)
DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n\\]|\\.|\\\n)*", re.M | re.S)
DEFINE = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)", re.M)
WORD = re.compile(r"[A-Za-z_]\w*")
FOLLOWS = re.compile(r"\s*(?:__attribute__\s*\(\(.*?\)\)\s*)?([;{])")
OBJECTS = re.compile(r"^(?:extern\s+)?(?:const\s+)?(?:unsigned\s+)?(?:struct\s+)?\w+\s+"
                     r"([\w\s,*[\]]+);", re.M)
TYPEDEF = re.compile(r"\(\s*\*\s*(\w+)\s*\)\s*\(|(\w+)\s*(?:\[[^]]*\])?\s*;|(\w+)\s*\(")
NO_FUNCTION = {"if", "for", "while", "switch", "return", "sizeof", "__attribute__", "_Static_assert"}


def blank(text):
    """Spaces in place of everything but line ends."""
    return re.sub(r"[^\n]", " ", text)


class File:
    """One file; offsets and lines of code are those of text."""

    def __init__(self, path, text):
        self.path, self.text = path, text
        self.room = os.path.dirname(path)
        self.stem = os.path.splitext(path)[0]
        self.is_c = path.endswith((".c", ".h", ".cc"))
        self.lines = text.split("\n")[:-1] if text.endswith("\n") else text.split("\n")
        self.comments = []
        self.code = TOKEN.sub(self.strip, text) if self.is_c else text
        self.includes = [(self.line_of(m.start(1)), m.group(2), m.group(1) == "<")
                         for m in INCLUDE.finditer(text) if self.is_code(m.start())]
        self.words = set(WORD.findall(DIRECTIVE.sub(keep_unless_include, self.code)))
        self.functions = list(self.find_functions()) if self.is_c else []

    def strip(self, match):
        token = match.group()
        if token.startswith("/"):
            self.comments.append((match.start(), token))
            return blank(token)
        return token[0] + blank(token[1:-1]) + token[-1]

    def is_code(self, offset):
        return not any(start <= offset < start + len(text) for start, text in self.comments)

    def line_of(self, offset):
        return self.text.count("\n", 0, offset) + 1

    @functools.cached_property
    def outer(self):
        """The code with directives and everything inside braces blanked, and the spans of the latter."""
        code = DIRECTIVE.sub(lambda m: blank(m.group()), self.code)
        code = re.sub(r'extern\s*"[^"]*"\s*\{', lambda m: blank(m.group()), code)
        parts, spans, depth, begun, last = [], [], 0, 0, 0
        for m in re.finditer(r"[{}]", code):
            if m.group() == "{":
                if depth == 0:
                    begun = m.start()
                    parts.append(code[last:begun + 1])
                    last = begun + 1
                depth += 1
            elif depth > 0:
                depth -= 1
                if depth == 0:
                    parts.append(blank(code[last:m.start()]) + "}")
                    spans.append((begun, m.start()))
                    last = m.start() + 1
        parts.append(code[last:])
        return "".join(parts), spans

    def find_functions(self):
        """Of each function and prototype: name, first line, lines (0: a prototype), parameters."""
        code, spans = self.outer
        ends = dict(spans)
        for m in re.finditer(r"([A-Za-z_]\w*)\s*\(", code):
            close = closing(code, m.end() - 1)
            follows = FOLLOWS.match(code, close + 1)
            begun = max(code.rfind(c, 0, m.start()) for c in ";}{") + 1
            begun += len(code[begun:]) - len(code[begun:].lstrip())
            head = code[begun:m.start()]
            if close < 0 or not follows or m.group(1) in NO_FUNCTION or not WORD.search(head):
                continue
            if "=" in head or "(" in re.sub(r"__attribute__\s*\(\(.*?\)\)", "", head):
                continue
            first = self.line_of(begun)
            brace = follows.end() - 1
            n_lines = self.line_of(ends[brace]) - first + 1 if follows.group(1) == "{" else 0
            yield m.group(1), first, n_lines, count_parameters(code[m.end():close])

    @functools.cached_property
    def declared(self):
        """Names that whoever includes this header may use."""
        code, spans = self.outer
        names = set(DEFINE.findall(self.code)) | {f[0] for f in self.functions}
        for m in re.finditer(r"\b(struct|enum|union)\s+(?:\w+\s*\(\(.*?\)\)\s*)?(\w+)?\s*\{", code):
            names |= {m.group(2)} if m.group(2) else set()
        for begun, end in spans:
            head = code[max(code.rfind(c, 0, begun) for c in ";}") + 1:begun]
            if re.search(r"\benum\b[^()]*$", head):
                names |= set(re.findall(r"(?:^|,)\s*(\w+)", self.code[begun + 1:end]))
        for m in re.finditer(r"\btypedef\b[^;{]*(?:\{\s*\})?[^;]*;", code):
            name = TYPEDEF.search(m.group())
            names |= set(filter(None, name.groups())) if name else set()
        # Objects, and functions declared through their type: `headwise_add_fn headwise_add_avx2;`.
        for m in OBJECTS.finditer(code):
            names |= set(re.findall(r"(\w+)(?:\[\w*\])?\s*(?:,|$)", m.group(1)))
        return names - NO_FUNCTION


    @functools.cached_property
    def fields(self):
        """Names of the fields of the structs that are defined here."""
        code, spans = self.outer
        names = set()
        for begun, end in spans:
            head = code[max(code.rfind(c, 0, begun) for c in ";}") + 1:begun]
            if re.search(r"\bstruct\b[^()]*$", head):
                names |= set(re.findall(r"(\w+)\s*(?:\[[^]]*\]\s*)*[;,:]", self.code[begun + 1:end]))
        return names

    def uses_fields(self, names):
        return any(m.group(1) in names for m in re.finditer(r"(?:->|\.)\s*([A-Za-z_]\w*)", self.code))


def keep_unless_include(match):
    return "" if re.match(r"[ \t]*#[ \t]*include", match.group()) else match.group()


def closing(code, opening):
    depth = 0
    for m in re.compile(r"[()]").finditer(code, opening):
        depth += 1 if m.group() == "(" else -1
        if depth == 0:
            return m.start()
    return -1


def count_parameters(text):
    if text.strip() in ("", "void"):
        return 0
    depth, count = 0, 1
    for c in text:
        depth += (c in "([") - (c in ")]")
        count += c == "," and depth == 0
    return count


class Tree:
    """The files below a root, and where its build is (None: not built). What was read stays read."""
    read = {}

    def __init__(self, root, build=None):
        self.root, self.build = Path(root), Path(build) if build else None
        self.files = {}
        for folder in FOLDERS:
            for parent, _, names in os.walk(self.root / folder):
                for name in names:
                    if os.path.splitext(name)[1] in SUFFIXES:
                        self.add(Path(parent) / name)

    def add(self, path):
        name = path.relative_to(self.root).as_posix()
        key = name, path.read_text(encoding="utf-8")
        if key not in Tree.read:
            Tree.read[key] = File(*key)
        self.files[name] = Tree.read[key]

    def under(self, *folders, suffixes=(".c", ".h")):
        return [f for name, f in sorted(self.files.items())
                if name.split("/")[0] in folders and name.endswith(suffixes)]
