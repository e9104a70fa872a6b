"""Violations to plant: of each check, the files to write, and the one that the check must name."""
import re
from typing import Callable, NamedTuple, Union

JOB = "/* Planted, so that a check finds it. */\n"
LATER = "TO" + "DO"


class Plant(NamedTuple):
    check: str
    file: str  # that the message must name
    files: dict[str, Union[str, Callable[[str], str]]]  # new texts, or what becomes of old ones


def one(check, file, text):
    return Plant(check, file, {file: text})


def source(text):
    return JOB + text


def header(name, text=""):
    return f"{JOB}#ifndef {name}_H\n#define {name}_H\n\n{text}#define {name} 1\n\n#endif\n"


def cut(pattern):
    def change(text):
        shorter, count = re.subn(pattern, "", text, flags=re.S)
        if count == 0:
            raise AssertionError(f"nothing to cut matches {pattern}")
        return shorter
    return change


def move_to_end(name):
    """Moves a function of a header behind all others."""
    def change(text):
        m = re.search(rf"^static inline \w+ {name}\(.*?^\}}\n\n", text, re.M | re.S)
        end = text.rindex("#endif")
        return text[:m.start()] + text[m.end():end] + m.group() + text[end:]
    return change


PLANTED = "src/base/planted.c"
USE = "int planted = PLANTED;\n"
PLANTS = [
    Plant("includes_spelled", PLANTED, {
        PLANTED: source('#include "planted.h"\n\n' + USE), "src/base/planted.h": header("PLANTED")}),
    Plant("includes_allowed", PLANTED, {
        PLANTED: source('#include "api/planted.h"\n\n' + USE), "src/api/planted.h": header("PLANTED")}),
    Plant("includes_allowed", "tools/common/planted.c", {
        "tools/common/planted.c": source('#include "base/planted.h"\n\n' + USE),
        "src/base/planted.h": header("PLANTED")}),
    one("includes_allowed", "src/cellar/planted.c", source("int planted;\n")),
    Plant("includes_circular", "src/base/planted_a.h", {
        "src/base/planted_a.h": header("PLANTED_A", '#include "base/planted_b.h"\n#define A PLANTED_B\n'),
        "src/base/planted_b.h": header("PLANTED_B", '#include "base/planted_a.h"\n#define B PLANTED_A\n')}),
    Plant("includes_circular", "io/files/planted_a.c", {
        "io/files/planted_a.c": source('#include "files/planted_b.h"\n\nint a = PLANTED_B;\n'),
        "io/files/planted_a.h": header("PLANTED_A"), "io/files/planted_b.h": header("PLANTED_B"),
        "io/files/planted_b.c": source('#include "files/planted_a.h"\n\nint b = PLANTED_A;\n')}),
    Plant("includes_used", PLANTED, {
        PLANTED: source('#include "base/planted_b.h"\n\nint planted;\n'),
        "src/base/planted_b.h": header("PLANTED_B")}),
    one("threads", PLANTED, source("#include <omp.h>\n")),
    one("threads", PLANTED, source("void planted(void) {\n    pthread_yield();\n}\n")),
    one("threads", PLANTED, source("#pragma omp parallel\n")),
    one("files", PLANTED, source('void planted(void) {\n    fopen("planted", "r");\n}\n')),
    one("files", "io/safetensors/planted.c", source('void planted(void) {\n    open("planted", 0);\n}\n')),
    one("environment", PLANTED, source('void planted(void) {\n    getenv("PLANTED");\n}\n')),
    one("invalid_status", PLANTED, source("int planted = HEADWISE_ERR_INVALID;\n")),
    one("vocabulary", "src/neon/vec.h", cut(r"static inline vec broadcast\(.*?\n\}\n\n")),
    one("vocabulary", "src/avx512/vec.h", move_to_end("add")),
    one("file_lines", PLANTED, source("".join(f"int planted_{n};\n" for n in range(300)))),
    one("function_lines", PLANTED, source("void planted(int *x) {\n" + "    ++*x;\n" * 49 + "}\n")),
    one("parameters", "src/base/planted.h",
        header("PLANTED", f"void planted({', '.join(f'int {c}' for c in 'abcdefghi')});\n")),
    one("columns", PLANTED, source(f"#include <{'a' * 100}.h>\n")),
    one("opening", PLANTED, "int planted;\n"),
    one("comments", PLANTED, source("\n/* The same as above. */\nint planted;\n")),
    one("comments", PLANTED, source("\n/* Those of a block. */\nint planted;\n")),
    one("unfinished", PLANTED, source(f"\n/* {LATER}: the rest. */\nint planted;\n")),
    one("unfinished", PLANTED, source("#" + "if 0\nint planted;\n#endif\n")),
    one("formatted", PLANTED, source("int  planted;\n")),
]
