#!/usr/bin/env python3
"""Writes SmolLM2's tokenizer.json out of the tables of its GGUF: gguf_tokenizer.py FILE.gguf OUT.json"""
import json
import struct
import sys

NUMBERS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}


def number(file, form):
    return struct.unpack("<" + form, file.read(struct.calcsize("<" + form)))[0]


def value(file, kind):
    if kind == 8:
        return file.read(number(file, "Q")).decode()
    if kind == 9:
        inner, n = number(file, "I"), number(file, "Q")
        return [value(file, inner) for _ in range(n)]
    return number(file, NUMBERS[kind])


with open(sys.argv[1], "rb") as file:
    assert file.read(4) == b"GGUF" and number(file, "I") == 3
    _, n_keys = number(file, "Q"), number(file, "Q")
    keys = {}
    for _ in range(n_keys):
        key = value(file, 8)
        keys[key] = value(file, number(file, "I"))
pieces, kinds = keys["tokenizer.ggml.tokens"], keys["tokenizer.ggml.token_type"]
added = [{"id": i, "content": pieces[i], "single_word": False, "lstrip": False, "rstrip": False,
          "normalized": False, "special": True} for i, kind in enumerate(kinds) if kind == 3]
level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
digits = {"type": "Digits", "individual_digits": True}
tokenizer = {
    "added_tokens": added, "normalizer": None, "post_processor": None, "decoder": level,
    "pre_tokenizer": {"type": "Sequence", "pretokenizers": [digits, level]},
    "model": {"type": "BPE", "vocab": {piece: i for i, piece in enumerate(pieces)},
              "merges": keys["tokenizer.ggml.merges"]}}
with open(sys.argv[2], "w", encoding="utf-8") as out:
    json.dump(tokenizer, out, ensure_ascii=False)
