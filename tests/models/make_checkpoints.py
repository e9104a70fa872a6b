#!/usr/bin/env python3
"""Writes a small checkpoint of every family, with what its layers give, into a folder.

    make_checkpoints.py FOLDER

Standard library only; the same bytes on every run. Each checkpoint is a folder with config.json and
model.safetensors (or shards), as the hub keeps them, and expected.safetensors with inputs, outputs in
float64 and error bounds (case.py). The weights of a layer are made head by head (layers.py), laid out
as the family's files have them (storage.py), and its output is computed from the heads (bounded.py):
neither knows of the other.
"""
import sys

sys.dont_write_bytecode = True  # the sources may be read-only

import broken  # noqa: E402
import decoders  # noqa: E402
import encoders  # noqa: E402
import forms  # noqa: E402
import known  # noqa: E402
import relatives  # noqa: E402


def main(folder):
    good = encoders.cases() + decoders.cases() + relatives.cases()
    for case in good + known.cases():
        case.save(folder)
    broken.write(folder)
    forms.write(folder)
    with open(folder + "/cases.txt", "w", encoding="utf-8") as file:
        file.write("".join(case.name + "\n" for case in good))


if __name__ == "__main__":
    main(sys.argv[1])
