"""Numbers that are the same on every machine, and safetensors files made of them."""
import json
import math
import os
import struct

FORMATS = {"F64": "d", "F32": "f", "F16": "e", "I64": "q", "U8": "B"}
SIZES = {"F64": 8, "F32": 4, "F16": 2, "BF16": 2, "I64": 8, "U8": 1}


class Random:
    """A 64-bit linear congruential generator (Knuth's MMIX constants), upper bits used."""

    def __init__(self, seed):
        self.state = seed * 2654435761 % 2 ** 64

    def below(self, n):
        self.state = (self.state * 6364136223846793005 + 1442695040888963407) % 2 ** 64
        return (self.state >> 33) * n >> 31

    def number(self, reach=0.5):
        """A multiple of reach / 32 in [-reach, reach): 6 bits, so exact in every float type."""
        return (self.below(64) - 32) * reach / 32

    def vector(self, n, reach=0.5):
        return [self.number(reach) for _ in range(n)]

    def matrix(self, rows, columns, reach=0.5):
        return [self.vector(columns, reach) for _ in range(rows)]


class Tensor:
    """A named array: flat values in row-major order."""

    def __init__(self, shape, values, dtype="F32"):
        assert math.prod(shape) == len(values), (shape, len(values))
        self.shape, self.values, self.dtype = list(shape), values, dtype

    def data(self):
        if self.dtype == "BF16":  # exact for these numbers: the upper half of the f32
            floats = struct.pack("<%df" % len(self.values), *self.values)
            return b"".join(floats[i + 2:i + 4] for i in range(0, len(floats), 4))
        return struct.pack("<%d%s" % (len(self.values), FORMATS[self.dtype]), *self.values)


def matrix(rows, dtype="F32"):
    return Tensor([len(rows), len(rows[0])], [v for row in rows for v in row], dtype)


def vector(values, dtype="F32"):
    return Tensor([len(values)], list(values), dtype)


def transposed(tensor):
    rows, columns = tensor.shape
    return Tensor([columns, rows],
                  [tensor.values[r * columns + c] for c in range(columns) for r in range(rows)],
                  tensor.dtype)


def write_safetensors(path, tensors, metadata=None):
    header, data, at = {}, b"", 0
    if metadata:
        header["__metadata__"] = metadata
    for name, tensor in tensors.items():
        raw = tensor.data()
        header[name] = {"dtype": tensor.dtype, "shape": tensor.shape, "data_offsets": [at, at + len(raw)]}
        data += raw
        at += len(raw)
    text = json.dumps(header, separators=(",", ":")).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)


def write_json(path, value):
    with open(path, "w", encoding="utf-8") as file:
        json.dump(value, file, indent=1)
        file.write("\n")


def make_folder(*names):
    path = os.path.join(*names)
    os.makedirs(path, exist_ok=True)
    return path
