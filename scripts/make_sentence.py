#!/usr/bin/env python3
"""Writes examples/data/sentence.safetensors: a sentence's embeddings and a layer of four heads.

Nothing is trained. Each head is built to do one thing that can be seen in its weights:
  head 0  the token before it     position rotated by one step against position
  head 1  the same word           a word's code against the same code
  head 2  the first token         the constant against the position of token 0
  head 3  everything alike        codes again, so weakly that the softmax stays flat

An embedding of 48 numbers is the word's code (35 signs), the position (cosine and sine of six
frequencies) and a constant 1. Every number is a multiple of 2^-12, so that the file has the same bytes
on every machine.

usage: make_sentence.py [OUT.safetensors]
"""

import json
import math
import os
import struct
import sys

SENTENCE = "the old cat saw the young dog before the dog saw the cat"
N_CODE, N_HEADS, HEAD = 35, 4, 12
WIDTH = N_HEADS * HEAD
POSITION, CONSTANT = N_CODE, WIDTH - 1
# Odd multiples: neighbours differ most in the fast ones, and 32 positions pass before they repeat.
FREQUENCIES = [2 * math.pi * f / 32 for f in (1, 3, 5, 7, 9, 11)]


def rounded(x):
    return round(x * 4096) / 4096


def random_bits(seed):
    """An endless sequence of 0 and 1 from a 64-bit linear congruential generator."""
    state = seed
    while True:
        state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
        yield state >> 63


def position(i):
    return [rounded(f(w * i)) for w in FREQUENCIES for f in (math.cos, math.sin)]


def zeros(rows, columns):
    return [[0.0] * columns for _ in range(rows)]


def embeddings(tokens):
    """Codes by word, drawn until no two words share more than 7 of the 12 signs that head 1 reads."""
    bits = random_bits(3)
    codes = {}
    for word in dict.fromkeys(tokens):
        while True:
            code = [2.0 * next(bits) - 1 for _ in range(N_CODE)]
            shared = [sum(a == b for a, b in zip(code[:HEAD], c)) for c in codes.values()]
            if all(4 <= n <= 7 for n in shared):
                break
        codes[word] = code
    return [codes[word] + position(i) + [1.0] for i, word in enumerate(tokens)]


def queries_and_keys():
    w_q, w_k = zeros(WIDTH, WIDTH), zeros(WIDTH, WIDTH)
    for pair, w in enumerate(FREQUENCIES):
        c, s = rounded(6 * math.cos(w)), rounded(6 * math.sin(w))
        row, column = POSITION + 2 * pair, 2 * pair
        # head 0: the query is the position one step back, six times as long as the key
        w_q[row][column], w_q[row][column + 1] = c, -s
        w_q[row + 1][column], w_q[row + 1][column + 1] = s, c
        w_k[row][column] = w_k[row + 1][column + 1] = 1.0
        # head 2: every query is the position of token 0
        w_q[CONSTANT][2 * HEAD + column] = 2.5
        w_k[row][2 * HEAD + column] = w_k[row + 1][2 * HEAD + column + 1] = 1.0
    for t in range(HEAD):
        w_q[t][HEAD + t] = w_k[t][HEAD + t] = 1.25  # head 1
        w_q[HEAD + t][3 * HEAD + t] = w_k[HEAD + t][3 * HEAD + t] = 0.25  # head 3
    return w_q, w_k


def values_and_output():
    """Values are parts of the code; the output matrix mixes them with signs."""
    w_v, w_o = zeros(WIDTH, WIDTH), zeros(WIDTH, WIDTH)
    bits = random_bits(4)
    for column in range(WIDTH):
        w_v[(7 * column) % N_CODE][column] = 0.5
        for out in range(WIDTH):
            w_o[column][out] = (2 * next(bits) - 1) / 8
    return w_v, w_o


def write(path, tensors, metadata):
    header, data = {"__metadata__": metadata}, b""
    for name, rows in tensors.items():
        flat = [x for row in rows for x in row]
        packed = struct.pack(f"<{len(flat)}f", *flat)
        header[name] = {
            "dtype": "F32",
            "shape": [len(rows), len(rows[0])],
            "data_offsets": [len(data), len(data) + len(packed)],
        }
        data += packed
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    default = os.path.join(here, "..", "examples", "data", "sentence.safetensors")
    w_q, w_k = queries_and_keys()
    w_v, w_o = values_and_output()
    tensors = {"W_Q": w_q, "W_K": w_k, "W_V": w_v, "W_O": w_o, "X": embeddings(SENTENCE.split())}
    metadata = {
        "tokens": SENTENCE,
        "num_heads": str(N_HEADS),
        "heads": "0 the token before, 1 the same word, 2 the first token, 3 everything alike",
        "made_by": "scripts/make_sentence.py",
    }
    write(sys.argv[1] if len(sys.argv) > 1 else default, tensors, metadata)


if __name__ == "__main__":
    main()
