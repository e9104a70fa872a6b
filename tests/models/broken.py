"""Checkpoints with one thing wrong each. The reader's test says what it must answer."""
import json
import os
import struct

import decoders
import encoders
from tensors import Tensor, make_folder, vector, write_json

STEM = "model.layers.0.self_attn."


def llama(root, name, change, config=None):
    """The Llama checkpoint after change(case)."""
    case = decoders.llama()[0]
    case.name = name
    case.layers = []
    case.config.update(config or {})
    change(case)
    case.save(root)


def put(name, value):
    return lambda case: case.tensors.__setitem__(name, value)


def drop(name):
    return lambda case: case.tensors.pop(name)


def drop_layer(case):
    for name in [n for n in case.tensors if n.startswith("model.layers.1.")]:
        del case.tensors[name]


def nothing(case):
    del case


def drop_key(key):
    return lambda case: case.config.pop(key)


def write_llamas(root):
    zeros = [0.0] * 400
    llama(root, "bad_missing", drop(STEM + "k_proj.weight"))
    llama(root, "bad_missing_layer", drop_layer)
    llama(root, "bad_k_shape", put(STEM + "k_proj.weight", Tensor([9, 16], zeros[:144])))
    llama(root, "bad_q_width", put(STEM + "q_proj.weight", Tensor([16, 15], zeros[:240])))
    llama(root, "bad_o_shape", put(STEM + "o_proj.weight", Tensor([15, 16], zeros[:240])))
    llama(root, "bad_rank", put(STEM + "v_proj.weight", Tensor([128], zeros[:128])))
    llama(root, "bad_empty", put(STEM + "v_proj.weight", Tensor([0, 16], [])))
    llama(root, "bad_dtype", put(STEM + "v_proj.weight", Tensor([8, 16], [1] * 128, "I64")))
    llama(root, "bad_bias", put(STEM + "q_proj.bias", vector(zeros[:16])))
    llama(root, "bad_unknown", put(STEM + "q_proj.weight_scale", vector([1.0])))
    llama(root, "bad_heads", nothing, {"num_attention_heads": 7})
    llama(root, "bad_head_dim", nothing, {"head_dim": 5})
    llama(root, "bad_kv_heads", nothing, {"num_key_value_heads": 3})
    llama(root, "bad_width", nothing, {"hidden_size": 20})
    llama(root, "bad_type", nothing, {"model_type": "mamba"})
    llama(root, "bad_text", nothing, {"num_attention_heads": "eight"})
    llama(root, "bad_negative", nothing, {"num_key_value_heads": -2})
    llama(root, "bad_no_heads", drop_key("num_attention_heads"))
    llama(root, "bad_rope_type", nothing, {"rope_scaling": {"type": "dynamic", "factor": 2.0}})
    llama(root, "bad_rope_factor", nothing, {"rope_scaling": {"type": "linear"}})
    llama(root, "bad_rope_list", nothing, {"rope_scaling": {
        "type": "longrope", "short_factor": [1.0], "long_factor": [1.0, 1.0]}})
    llama(root, "bad_rope_base", nothing, {"rope_theta": -1.0})
    llama(root, "bad_rope_part", nothing, {"partial_rotary_factor": 0.75})
    llama(root, "bad_family", nothing, {"model_type": "bloom"})
    llama(root, "bad_layer_types", nothing, {"model_type": "gemma2", "sliding_window": 4,
                                             "layer_types": ["linear_attention"]})


def write_indexes(root):
    """Copies of the sharded Llama whose index is wrong."""
    def sharded(name):
        case = decoders.llama()[1]
        case.name, case.layers = name, []
        case.save(root)
        return os.path.join(root, name), sorted(case.tensors)

    def index(folder, weight_map):
        write_json(os.path.join(folder, "model.safetensors.index.json"), weight_map)

    first, second = "model-00001-of-00004.safetensors", "model-00002-of-00004.safetensors"
    folder, names = sharded("bad_index_objects")
    index(folder, {"weight_map": {name: {"file": first} for name in names}})
    folder, names = sharded("bad_index_file")
    index(folder, {"weight_map": {name: "model-00009-of-00004.safetensors" for name in names}})
    folder, names = sharded("bad_index_place")
    index(folder, {"weight_map": {name: first for name in names}})
    folder, names = sharded("bad_index_path")
    index(folder, {"weight_map": {name: "../llama/model.safetensors" for name in names}})
    folder, names = sharded("bad_index_empty")
    index(folder, {"metadata": {}})
    folder, names = sharded("bad_index_json")
    with open(os.path.join(folder, "model.safetensors.index.json"), "w", encoding="utf-8") as file:
        file.write('{"weight_map": {"%sq_proj.weight": "%s", %s' % (STEM, second, json.dumps({
            name: first for name in names})[1:]) + "}")


def write_others(root):
    make_folder(root, "bad_folder")
    folder = make_folder(root, "bad_header")
    write_json(os.path.join(folder, "config.json"), {"model_type": "llama"})
    with open(os.path.join(folder, "model.safetensors"), "wb") as file:
        file.write(struct.pack("<Q", 2 ** 63))
    case = encoders.bert("bad_positions", "")
    case.layers, case.config["position_embedding_type"] = [], "relative_key"
    case.save(root)
    case = encoders.t5("bad_buckets", 8, 20, 7)
    case.layers, case.config["relative_attention_num_buckets"] = [], 16
    case.save(root)
    case = encoders.t5("bad_no_table", 8, 20, 7)
    case.layers = []
    del case.tensors["encoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight"]
    case.save(root)
    case = encoders.gpt2("bad_no_bias", "")
    case.layers = []
    del case.tensors["h.0.attn.c_attn.bias"]
    case.save(root)
    case = encoders.svtr()
    case.name, case.layers, case.metadata = "bad_no_metadata", [], None
    case.save(root)
    case = encoders.bloom("bad_pruned", "", 4)
    case.layers, case.config["pruned_heads"] = [], {"0": [1, 4]}
    case.save(root)


def write(root):
    write_llamas(root)
    write_indexes(root)
    write_others(root)
