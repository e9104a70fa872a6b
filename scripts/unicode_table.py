#!/usr/bin/env python3
"""Writes model/text/unicode_table.c: where Hugging Face's tokenizers see characters otherwise than
utf8proc does. Run by hand, where the Python package tokenizers 0.23 is installed and libutf8proc 2.8
(Debian 12) can be loaded: scripts/unicode_table.py > model/text/unicode_table.c"""
import ctypes
from tokenizers import Regex, normalizers, pre_tokenizers

NAMES = ["LETTER", "NUMBER", "SPACE", "MARK", "NONSPACING", "PUNCTUATION", "CONTROL", "WORD", "NUMERIC"]
BIT = {name: 1 << i for i, name in enumerate(NAMES)}
ALL = [c for c in range(1, 0x110000) if not 0xD800 <= c < 0xE000]
proc = ctypes.CDLL("libutf8proc.so.2")
proc.utf8proc_category_string.restype = ctypes.c_char_p
proc.utf8proc_decompose_char.restype = ctypes.c_ssize_t


class Property(ctypes.Structure):
    _fields_ = [("category", ctypes.c_int16), ("combining_class", ctypes.c_int16)]


proc.utf8proc_get_property.restype = ctypes.POINTER(Property)


def library_class(c):
    category = proc.utf8proc_category_string(c).decode()
    word = BIT["WORD"]
    bits = {"L": BIT["LETTER"] | word, "N": BIT["NUMBER"] | BIT["NUMERIC"], "M": BIT["MARK"] | word,
            "P": BIT["PUNCTUATION"], "Z": BIT["SPACE"]}.get(category[0], 0)
    if category in ("Nd", "Nl", "Pc"):
        bits |= word
    if category == "Mn":
        bits |= BIT["NONSPACING"]
    if category in ("Cc", "Cf", "Co"):
        bits |= BIT["CONTROL"]
    return bits


def library_parts(c, compat):
    buffer, last = (ctypes.c_int32 * 32)(), ctypes.c_int(0)
    n = proc.utf8proc_decompose_char(c, buffer, 32, (1 << 4) | (1 << 2 if compat else 0), ctypes.byref(last))
    return [buffer[i] for i in range(n)]


def reference_class():
    bert = dict(clean_text=False, handle_chinese_chars=False, strip_accents=False, lowercase=False)
    clean = normalizers.BertNormalizer(**{**bert, "clean_text": True})
    accents = normalizers.BertNormalizer(**{**bert, "strip_accents": True})
    marks = normalizers.StripAccents()
    white, punctuation = pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Punctuation()
    digits, word = pre_tokenizers.Digits(), pre_tokenizers.Whitespace()
    letter = pre_tokenizers.Split(Regex(r"\p{L}"), "isolated")
    number = pre_tokenizers.Split(Regex(r"\p{N}"), "isolated")
    tests = {
        "LETTER": lambda t: len(letter.pre_tokenize_str("\2" + t + "\2")) == 3,
        "NUMBER": lambda t: len(number.pre_tokenize_str("\2" + t + "\2")) == 3,
        "SPACE": lambda t: white.pre_tokenize_str("a" + t) == [("a", (0, 1))],
        "MARK": lambda t: marks.normalize_str("a" + t) == "a",
        "NONSPACING": lambda t: accents.normalize_str("a" + t) == "a",
        "PUNCTUATION": lambda t: len(punctuation.pre_tokenize_str("aa" + t + "a")) == 3,
        "CONTROL": lambda t: clean.normalize_str("a" + t) == "a",
        "WORD": lambda t: len(word.pre_tokenize_str("a" + t)) == 1 and len(word.pre_tokenize_str("a" + t)[0][0]) == 2,
        "NUMERIC": lambda t: len(digits.pre_tokenize_str("aa" + t + "a")) == 3,
    }
    return {c: sum(BIT[name] for name, test in tests.items() if test(chr(c))) for c in ALL}


def ranges(table):
    """(first, last, value) of neighbours with one value."""
    out = []
    for c in sorted(table):
        if out and out[-1][1] == c - 1 and out[-1][2] == table[c]:
            out[-1][1] = c
        else:
            out.append([c, c, table[c]])
    return out


def write(name, comment, rows, form):
    print(f"\n/* {comment} */\nconst struct {form} headwise_text_{name}[] = {{")
    print("    " + ",\n    ".join("{" + ", ".join(hex(v) if v >= 0 else str(v) for v in row) + "}"
                                for row in rows))  # no comma at the end: clang-format fills lines
    print(f"}};\nconst size_t headwise_text_n_{name} = {len(rows)};")


reference = reference_class()
ascii_class = [0] + [reference[c] for c in range(1, 128)]
ascii_class[0] = BIT["CONTROL"]
changed = {}
for c in ALL:
    library = library_class(c)
    if c > 127 and reference[c] != library:
        changed[c] = (reference[c] & ~library, library & ~reference[c])
class_rows = [(a, b, v[0], v[1]) for a, b, v in ranges(changed)]

lower, whole = {}, {}
to_lower = normalizers.Lowercase()
nfd, nfkd = normalizers.NFD(), normalizers.NFKD()
starter = {}
for c in ALL:
    lowered = to_lower.normalize_str(chr(c))
    if len(lowered) == 1 and ord(lowered) != proc.utf8proc_tolower(c):
        lower[c] = ord(lowered) - c
    for form, compat in ((nfd, False), (nfkd, True)):
        found = [ord(x) for x in form.normalize_str(chr(c))]
        if found != library_parts(c, compat):
            assert found == [c], hex(c)
            whole[c] = 0 if compat and c not in whole else 1
    combining = proc.utf8proc_get_property(c)[0].combining_class
    if combining and combining < 240 and nfd.normalize_str("a\u0345" + chr(c)) == "a\u0345" + chr(c):
        starter[c] = 0

print("/* Made by scripts/unicode_table.py: where characters are other than utf8proc says. */")
print('#include "text/unicode_table.h"')
print("\nconst uint16_t headwise_text_ascii_class[128] = {")
for i in range(0, 128, 16):
    print("    " + ", ".join(f"{v:3}" for v in ascii_class[i:i + 16]) + ",")
print("};")
blocks = [0] * 136
for first, last, *_ in class_rows:
    for block in range(first >> 8, (last >> 8) + 1):
        blocks[block >> 5] |= 1 << (block & 31)
print("\n/* Blocks of 256 code points, a bit each, with a row in the next table. */")
print("const uint32_t headwise_text_changed_blocks[136] = {")
for i in range(0, 136, 8):
    print("    " + ", ".join(hex(v) for v in blocks[i:i + 8]) + ",")
print("};")
write("changed", "First, last, classes that they have, classes that they have not.", class_rows,
      "headwise_text_changed")
write("lowered", "First, last, distance to lower case.", ranges(lower), "headwise_text_shift")
write("undivided", "First, last; 1: not decomposed at all, 0: not for compatibility.", ranges(whole),
      "headwise_text_shift")
write("starters", "First, last of marks whose combining class is taken to be 0.", ranges(starter),
      "headwise_text_shift")
