"""The same checkpoint said in other ways, each beside a plain one that must give the same bits."""
import copy
import json
import os
import struct

import decoders
import storage
from case import Case
from layers import Layer
from tensors import make_folder, write_json, write_safetensors


def llama(name, sizes=(2, 1, 16, 8), **settings):
    """The layer of the llama_linear checkpoints under other settings."""
    case = decoders.decoder(Case(name, decoders.config("llama", sizes, 1, head_dim=16)), 1, 240, sizes)
    case.layers = []
    case.config.update(settings)
    return case


def save_text(root, case, text):
    """A checkpoint whose config.json is this text."""
    config, case.config = case.config, None
    case.save(root)
    with open(os.path.join(root, case.name, "config.json"), "wb") as file:
        file.write(text(json.dumps(config)).encode())


def write_ropes(root):
    linear = {"rope_type": "linear", "factor": 4.0}
    for case in [
            llama("form_old", rope_theta=1e6, rope_scaling={"type": "linear", "factor": 4.0}),
            llama("form_old_plain", rope_theta=1e6),
            llama("form_new", rope_parameters=dict(linear, rope_theta=1e6)),
            llama("form_new_plain", rope_parameters={"rope_type": "default", "rope_theta": 1e6}),
            llama("form_both", rope_scaling=linear, rope_parameters={"rope_type": "default", "rope_theta": 1e6}),
            llama("form_null", rope_theta=1e6, rope_scaling=None, rope_parameters=None),
            llama("form_part", rope_theta=1e6, partial_rotary_factor=0.5),
            llama("form_part_old", rotary_emb_base=1e6, rotary_pct=0.5),
            llama("form_part_new", rope_parameters={"rope_theta": 1e6, "partial_rotary_factor": 0.5})]:
        case.save(root)


def write_json_forms(root):
    """Values that nobody needs."""
    odd = ('"max_length": 1000000000000000019884624838656, "time_step_limit": [0.0, Infinity, -Infinity, NaN], '
           '"nul": "\\u0000", "half": "\\ud800", "two": 1, "two": {"a": 1, "a": 2}, "\\u0000": 1, ')
    save_text(root, llama("form_odd", rope_theta=1e6), lambda text: "\ufeff{" + odd + text[1:])
    save_text(root, llama("form_bad_needed"), lambda text: text[:-1] + ', "rope_theta": Infinity}')
    save_text(root, llama("form_bad_integer"),
              lambda text: text[:-1] + ', "num_attention_heads": 100000000000000000000}')
    save_text(root, llama("form_twice"), lambda text: '{"rope_theta": 7.0, ' + text[1:-1] + ', "rope_theta": 1e6}')


def clip(name, **settings):
    """Heads of size 2: 8 of text and 12 of vision, CLIP's defaults."""
    case = Case(name, dict(model_type="clip", **settings))
    for part, heads in (("text", 8), ("vision", 12)):
        layer = Layer(110 + heads, heads, heads, 2, 2 * heads, biases="qkvo")
        storage.separate(case.tensors, part + "_model.encoder.layers.0.self_attn.",
                                  ("q_proj", "k_proj", "v_proj", "out_proj"), layer)
    return case


def write_clips(root):
    full = {part + "_config": {"num_attention_heads": heads, "hidden_size": 2 * heads}
            for part, heads in (("text", 8), ("vision", 12))}
    other = {"num_attention_heads": 4, "hidden_size": 16}
    dicts = {name + "_dict": value for name, value in full.items()}
    for case in [clip("form_clip", **full),
                 clip("form_clip_sparse", text_config={"model_type": "clip_text_model"},
                      vision_config={"model_type": "clip_vision_model"}),
                 clip("form_clip_dict", text_config=other, vision_config=dict(other, hidden_size=24), **dicts),
                 clip("form_clip_null", text_config_dict=None, vision_config_dict=None, **full)]:
        case.save(root)


def write_windows(root):
    """A window that is switched off, and names of classes."""
    sizes = (4, 2, 4, 16)
    for name, model_type, more in [
            ("form_window_none", "mistral", {"sliding_window": None}),
            ("form_window_0", "mistral", {"sliding_window": 0, "use_sliding_window": False}),
            ("form_window_minus", "mistral", {"sliding_window": -1, "use_sliding_window": False}),
            ("form_window_on", "mistral", {"sliding_window": 0}),
            ("form_window_3", "mistral", {"sliding_window": 3}),
            ("form_class", None, {"sliding_window": 3, "architectures": ["MistralForCausalLM"]}),
            ("form_class_unknown", None, {"sliding_window": 3, "architectures": ["Mistral9ForCausalLM"]})]:
        case = decoders.decoder(Case(name, decoders.config(model_type, sizes, 1, **more)), 1, 300, sizes)
        case.layers = []
        if model_type is None:
            del case.config["model_type"]
        case.save(root)


def write_prefixes(root):
    for number, prefix in enumerate(["base_model.model.", "module.", "_orig_mod.", "language_model.",
                                     "module._orig_mod."]):
        case = llama("form_prefix_%d" % number, rope_theta=1e6)
        case.tensors = {prefix + name: tensor for name, tensor in case.tensors.items()}
        case.save(root)


def add_entries(path, entries, data):
    """Entries of a header as they are, for data behind that of the file's tensors."""
    with open(path, "rb") as file:
        raw = file.read()
    size, = struct.unpack("<Q", raw[:8])
    begin = len(raw) - 8 - size
    more = "".join(",%s:%s" % (json.dumps(name), json.dumps(dict(
        entry, data_offsets=[begin + at for at in entry["data_offsets"]]))) for name, entry in entries)
    text = raw[8:8 + size].rstrip()[:-1] + more.encode() + b"}"
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + raw[8 + size:] + data)


def write_unusable(root):
    q = "model.layers.0.self_attn.q_proj.weight"
    entries = {
        "form_f8": [("model.norm.weight", {"dtype": "F8_E4M3", "shape": [3], "data_offsets": [0, 3]})],
        "form_rank": [("model.norm.weight", {"dtype": "U8", "shape": [1] * 9, "data_offsets": [0, 1]})],
        "form_repeated": [("a", {"dtype": "U8", "shape": [1], "data_offsets": [n, n + 1]}) for n in (0, 1)],
        "form_bad_f8": [("model.layers.0.self_attn.k_proj.weight_scale",
                         {"dtype": "F8_E4M3", "shape": [3], "data_offsets": [0, 3]})],
        "form_bad_repeated": [(q, {"dtype": "U8", "shape": [1], "data_offsets": [0, 1]})],
    }
    for name, more in entries.items():
        llama(name, rope_theta=1e6).save(root)
        add_entries(os.path.join(root, name, "model.safetensors"), more,
                    bytes(max(entry["data_offsets"][1] for _, entry in more)))


def write_indexes(root):
    """A stray file beside an index; entries of an index that are not there."""
    good = llama("form_stray", rope_theta=1e6)
    stray = copy.deepcopy(good)
    for tensor in stray.tensors.values():
        tensor.values = [0.0] * len(tensor.values)
    good.shards = lambda name: 0
    good.save(root)
    write_safetensors(os.path.join(root, "form_stray", "model.safetensors"), stray.tensors)
    for name, entry in [("form_index_absent", {"lm_head.weight": "model-00001-of-00001.safetensors"}),
                        ("form_index_shard", {"lm_head.weight": "model-00002-of-00002.safetensors"}),
                        ("form_bad_shard", {"model.layers.0.self_attn.q_proj.bias": "model-00009.safetensors"})]:
        good.name = name
        good.save(root)
        path = os.path.join(make_folder(root, name), "model.safetensors.index.json")
        with open(path, encoding="utf-8") as file:
            index = json.load(file)
        index["weight_map"].update(entry)
        write_json(path, index)


def write(root):
    write_ropes(root)
    write_json_forms(root)
    write_clips(root)
    write_windows(root)
    write_prefixes(root)
    write_unusable(root)
    write_indexes(root)
