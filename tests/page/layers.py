"""Layers for the pages to be looked at, as safetensors files."""
import json
import random
import struct
from array import array


def write(path, tensors, metadata):
    """tensors: {name: (shape, numbers)}, all F32."""
    header, body = {"__metadata__": metadata}, b""
    for name, (shape, numbers) in tensors.items():
        data = array("f", numbers).tobytes()
        header[name] = {"dtype": "F32", "shape": shape,
                        "data_offsets": [len(body), len(body) + len(data)]}
        body += data
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + body)


def random_layer(path, tokens, heads, size, width, first=None):
    """Weights and input of one layer; first, where given, is the input's first number."""
    rng = random.Random(tokens * 1000 + heads)

    def matrix(rows, columns, scale):
        return [rows, columns], [rng.gauss(0, scale) for _ in range(rows * columns)]

    shape, x = matrix(tokens, width, 1.0)
    if first is not None:
        x[0] = first
    scale = width ** -0.5
    write(path, {"X": (shape, x), "W_Q": matrix(width, heads * size, 2 * scale),
                 "W_K": matrix(width, heads * size, 2 * scale),
                 "W_V": matrix(width, heads * size, scale),
                 "W_O": matrix(heads * size, width, scale)}, {"num_heads": str(heads)})
