"""Writes a small encoder's folder: a BERT of two layers with random weights, and what
sentence-transformers puts beside it. Of the standard library alone."""
import json
import os
import random
import struct

WIDTH, HIDDEN, HEADS, LAYERS, POSITIONS = 32, 64, 4, 2, 40
WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "man", "is", "eating", "food", "##s", "two",
         "dog", "run", ".", "query", ":", "the", "girl", "carries", "bread"]


def write_safetensors(path, tensors):
    header, data = {}, b""
    for name, (shape, values) in tensors.items():
        packed = struct.pack(f"<{len(values)}f", *values)
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [len(data), len(data) + len(packed)]}
        data += packed
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)


def weights(draw, prefix, n_labels):
    tensors = {}

    def add(name, *shape, scale=0.2, around=0.0):
        count = 1
        for n in shape:
            count *= n
        tensors[name] = (list(shape), [around + scale * (draw.random() * 2 - 1) for _ in range(count)])

    def norm(name):
        add(name + ".weight", WIDTH, around=1.0)
        add(name + ".bias", WIDTH)

    def dense(name, rows, columns):
        add(name + ".weight", rows, columns)
        add(name + ".bias", rows)

    embeddings = prefix + "embeddings."
    add(embeddings + "word_embeddings.weight", len(WORDS), WIDTH, scale=1)
    add(embeddings + "position_embeddings.weight", POSITIONS, WIDTH)
    add(embeddings + "token_type_embeddings.weight", 2, WIDTH)
    norm(embeddings + "LayerNorm")
    for i in range(LAYERS):
        layer = f"{prefix}encoder.layer.{i}."
        for name in ("query", "key", "value"):
            dense(f"{layer}attention.self.{name}", WIDTH, WIDTH)
        dense(layer + "attention.output.dense", WIDTH, WIDTH)
        norm(layer + "attention.output.LayerNorm")
        dense(layer + "intermediate.dense", HIDDEN, WIDTH)
        dense(layer + "output.dense", WIDTH, HIDDEN)
        norm(layer + "output.LayerNorm")
    if n_labels:
        dense(prefix + "pooler.dense", WIDTH, WIDTH)
        dense("classifier", n_labels, WIDTH)
    return tensors


def write(folder, name, value):
    os.makedirs(os.path.dirname(os.path.join(folder, name)), exist_ok=True)
    with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
        json.dump(value, file, indent=1)


def make(folder, labels=()):
    """An embedder, or, with labels, a classifier."""
    config = {"model_type": "bert", "hidden_size": WIDTH, "intermediate_size": HIDDEN, "hidden_act": "gelu",
              "num_attention_heads": HEADS, "num_hidden_layers": LAYERS, "max_position_embeddings": POSITIONS,
              "type_vocab_size": 2, "vocab_size": len(WORDS), "layer_norm_eps": 1e-12,
              "architectures": ["BertForSequenceClassification" if labels else "BertModel"]}
    if labels:
        config["id2label"] = {str(i): label for i, label in enumerate(labels)}
    write(folder, "config.json", config)
    with open(os.path.join(folder, "vocab.txt"), "w", encoding="utf-8") as file:
        file.write("\n".join(WORDS) + "\n")
    write_safetensors(os.path.join(folder, "model.safetensors"),
                      weights(random.Random(7), "bert." if labels else "", len(labels)))
    if labels:
        return
    modules = ["Transformer", "Pooling", "Normalize"]
    write(folder, "modules.json", [{"idx": i, "name": str(i), "path": f"{i}_{kind}" if i else "",
                                    "type": "sentence_transformers.models." + kind}
                                   for i, kind in enumerate(modules)])
    write(folder, "1_Pooling/config.json", {"word_embedding_dimension": WIDTH, "pooling_mode_cls_token": False,
                                            "pooling_mode_mean_tokens": True})
    write(folder, "sentence_bert_config.json", {"max_seq_length": 16, "do_lower_case": False})
    write(folder, "config_sentence_transformers.json", {"prompts": {"query": "query: "}})
