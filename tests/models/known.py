"""Checkpoints whose numbers are known by hand: layouts and rotary positions."""
import storage
from case import Case
from tensors import Tensor, matrix, vector

IDENTITY4 = [[1.0 if r == c else 0.0 for c in range(4)] for r in range(4)]


def gpt2(name, c_attn, c_proj, shape):
    """GPT-2's two matrices as given, no bias but zeros."""
    width = len(c_proj)
    case = Case(name, dict(model_type="gpt2", n_embd=width, n_head=2, n_layer=1))
    case.tensors["h.0.attn.c_attn.weight"] = Tensor(shape, c_attn)
    case.tensors["h.0.attn.c_attn.bias"] = vector([0.0] * 3 * width)
    case.tensors["h.0.attn.c_proj.weight"] = matrix(c_proj)
    case.tensors["h.0.attn.c_proj.bias"] = vector([0.0] * width)
    return case


def counted(name, rows, stem, o_name, settings, biased):
    """A fused matrix whose rows give 1, 2, 3, ... for x = (1, 0, 0, ...)."""
    heads = settings.get("num_attention_heads") or settings["n_head"]
    width = settings["hidden_size"]
    case = Case(name, settings)
    weight = [[float(r + 1)] + [0.0] * (width - 1) for r in range(rows)]
    out = [[1.0 if r == c else 0.0 for c in range(heads)] for r in range(width)]
    storage.put(case.tensors, stem, weight, [0.0] * rows if biased else None)
    storage.put(case.tensors, o_name, out, [0.0] * width if biased else None)
    return case


def rotary(name, metadata=None, model_type="llama", o="o_proj", biased=False, **more):
    """All matrices the identity: keys show how x = (1, 2, 3, 4) is turned."""
    case = Case(name, dict(model_type=model_type, hidden_size=4, num_attention_heads=1,
                           num_hidden_layers=1, max_position_embeddings=8, rope_theta=10000.0,
                           **more), metadata)
    for leaf in ("q_proj", "k_proj", "v_proj", o):
        storage.put(case.tensors, "model.layers.0.self_attn." + leaf, IDENTITY4,
                    [0.0] * 4 if biased else None)
    return case


def cases():
    identity = [[1.0, 0.0], [0.0, 1.0]]
    values = [0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]  # q = k = 0, v = x
    square = [[1.0, 2.0], [3.0, 4.0]]
    neox = dict(model_type="gpt_neox", hidden_size=2, num_attention_heads=2, num_hidden_layers=1,
                max_position_embeddings=8)
    bloom = dict(model_type="bloom", hidden_size=2, n_head=2, n_layer=1)
    phi3 = dict(model_type="phi3", hidden_size=2, num_attention_heads=2, num_hidden_layers=1,
                max_position_embeddings=8, partial_rotary_factor=0.5)
    falcon = dict(model_type="falcon", hidden_size=4, num_attention_heads=4, num_hidden_layers=1,
                  alibi=True, bias=False)
    return [
        gpt2("known_conv1d", [float(n) for n in range(1, 13)], identity, [2, 6]),
        gpt2("known_linear", [float(n) for n in range(1, 13)], identity, [6, 2]),
        gpt2("known_conv1d_proj", values, square, [2, 6]),
        gpt2("known_linear_proj", [0.0] * 8 + [1.0, 0.0, 0.0, 1.0], square, [6, 2]),
        counted("known_neox", 6, "gpt_neox.layers.0.attention.query_key_value",
                "gpt_neox.layers.0.attention.dense", neox, True),
        counted("known_bloom", 6, "h.0.self_attention.query_key_value", "h.0.self_attention.dense",
                bloom, True),
        counted("known_phi3", 6, "model.layers.0.self_attn.qkv_proj",
                "model.layers.0.self_attn.o_proj", phi3, False),
        counted("known_falcon_40b", 8, "transformer.h.0.self_attention.query_key_value",
                "transformer.h.0.self_attention.dense",
                dict(falcon, new_decoder_architecture=True, num_kv_heads=2), False),
        counted("known_falcon_7b", 6, "transformer.h.0.self_attention.query_key_value",
                "transformer.h.0.self_attention.dense", dict(falcon, multi_query=True), False),
        rotary("known_half"), rotary("known_interleaved", {"rope": "interleaved"}),
        rotary("known_partial", None, "phi", "dense", True, partial_rotary_factor=0.5),
    ]
