"""A checkpoint: files, and beside them what its layers give for some input."""
import os

import bounded
from tensors import Random, Tensor, make_folder, write_json, write_safetensors

ROWS = 7  # of the input; more than every window of the checkpoints


class Case:
    def __init__(self, name, config=None, metadata=None, rows=ROWS):
        self.name, self.config, self.metadata, self.rows = name, config, metadata, rows
        self.tensors = {}
        self.layers = []  # (part, index, layer, rows of its memory or 0)
        self.shards = None  # function from tensor name to shard number

    def add(self, part, index, layer, memory_rows=0):
        self.layers.append((part, index, layer, memory_rows))
        return layer

    def files(self, folder):
        """Writes model.safetensors, or shards with their index."""
        if not self.shards:
            write_safetensors(os.path.join(folder, "model.safetensors"), self.tensors, self.metadata)
            return
        count = 1 + max(self.shards(name) for name in self.tensors)
        called = {name: "model-%05d-of-%05d.safetensors" % (self.shards(name) + 1, count)
                  for name in self.tensors}
        for file in sorted(set(called.values())):
            part = {name: t for name, t in self.tensors.items() if called[name] == file}
            write_safetensors(os.path.join(folder, file), part, {"format": "pt"})
        write_json(os.path.join(folder, "model.safetensors.index.json"),
                   {"metadata": {"total_size": sum(len(t.data()) for t in self.tensors.values())},
                    "weight_map": called})

    def expected(self, folder):
        """x, memory, y and bound of every layer, called PART.INDEX.WHAT."""
        out = {}
        for number, (part, index, layer, memory_rows) in enumerate(self.layers):
            rng = Random(1000 + number)
            x = rng.matrix(self.rows, layer.width, 2.0)
            width = len(layer.k[0][0])
            memory = rng.matrix(memory_rows, width, 2.0) if memory_rows else x
            y = bounded.attention(layer, x, memory)
            stem = "%s.%d." % (part, index)
            flat = [v for row in y for v in row]
            out[stem + "x"] = Tensor([self.rows, layer.width], [v for row in x for v in row])
            if memory_rows:
                out[stem + "memory"] = Tensor([memory_rows, width], [v for row in memory for v in row])
            out[stem + "y"] = Tensor([self.rows, layer.width], [v for v, _ in flat], "F64")
            out[stem + "bound"] = Tensor([self.rows, layer.width], [b for _, b in flat], "F64")
        write_safetensors(os.path.join(folder, "expected.safetensors"), out)

    def save(self, root):
        folder = make_folder(root, self.name)
        if self.config is not None:
            write_json(os.path.join(folder, "config.json"), self.config)
        self.files(folder)
        if self.layers:
            self.expected(folder)
