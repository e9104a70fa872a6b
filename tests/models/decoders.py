"""Checkpoints of families with rotary positions: Llama and its relatives, Phi, GPT-NeoX, Falcon."""
import math

import storage
from case import Case
from layers import (Layer, alibi_slopes, f32, rope, rope_linear, rope_llama3, rope_longrope,
                    rope_yarn)
from tensors import Tensor, matrix, vector

NAMES = ("q_proj", "k_proj", "v_proj", "o_proj")


def decoder(case, count, seed, sizes, prefix="model.", biases="", names=NAMES, setup=None,
            dtypes=("F32",) * 4):
    """count layers with Llama's names; sizes = heads, kv heads, head size, width."""
    for i in range(count):
        layer = case.add("self", i, Layer(seed + i, *sizes, biases=biases))
        layer.causal = True
        layer.frequencies = rope(sizes[2])
        if setup:
            setup(layer, i)
        stem = prefix + "layers.%d.self_attn." % i
        storage.separate(case.tensors, stem, names, layer, dtypes)
        if layer.q_norm:
            norms = ("q_norm", "k_norm") if names is NAMES else ("q_layernorm", "k_layernorm")
            storage.add_norms(case.tensors, stem, norms, layer)
        if layer.sinks:
            case.tensors[stem + "sinks"] = vector(layer.sinks)
    return case


def config(model_type, sizes, layers, **more):
    return dict(model_type=model_type, hidden_size=sizes[3], num_attention_heads=sizes[0],
                num_key_value_heads=sizes[1], num_hidden_layers=layers,
                max_position_embeddings=64, **dict({"rms_norm_eps": 1e-5}, **more))


def llama():
    sizes = (4, 2, 4, 16)
    plain = decoder(Case("llama", config("llama", sizes, 2, rope_theta=10000.0)), 2, 200, sizes)
    plain.tensors["model.layers.0.self_attn.rotary_emb.inv_freq"] = vector(rope(4))
    # q, k, v and o of a layer in different files
    kinds = ["q_proj", "k_proj", "v_proj", "o_proj"]
    sharded = decoder(Case("llama_shards", config("llama", sizes, 2, rope_theta=500.0, head_dim=4)),
                      2, 210, sizes, setup=lambda l, i: setattr(l, "frequencies", rope(4, 500.0)),
                      dtypes=("BF16",) * 4)
    sharded.shards = lambda name: next(n for n, k in enumerate(kinds) if k in name)
    biased = decoder(Case("llama_bias", config("llama", sizes, 1, attention_bias=True)), 1, 220,
                     sizes, prefix="", biases="qkvo", dtypes=("F16", "F32", "BF16", "F64"))
    return [plain, sharded, biased]


def llama_interleaved():
    """Rows as Meta's files have them; the metadata says so."""
    case = Case("llama_interleaved", config("llama", (4, 2, 4, 16), 1),
                {"format": "pt", "rope": "interleaved pairs (2i, 2i+1)"})
    return decoder(case, 1, 230, (4, 2, 4, 16), setup=lambda l, i: setattr(l, "interleaved", True))


def scalings():
    """The same layer under each scaling, in the old form and in the new one."""
    sizes, d = (2, 1, 16, 8), 16
    yarn = 0.1 * math.log(8.0) + 1
    known = {
        "linear": ({"type": "linear", "factor": 4.0}, rope_linear(d, 1e4, 4.0), 1.0),
        "llama3": ({"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 0.5,
                    "high_freq_factor": 2.5, "original_max_position_embeddings": 32},
                   rope_llama3(d, 1e4, 8.0, 0.5, 2.5, 32), 1.0),
        "yarn": ({"rope_type": "yarn", "factor": 8.0, "original_max_position_embeddings": 32},
                 rope_yarn(d, 1e4, 8.0, 32), yarn),
        "yarn_ramp": ({"rope_type": "yarn", "factor": 8.0, "original_max_position_embeddings": 32,
                       "beta_fast": 8.0, "beta_slow": 0.5, "attention_factor": 1.25,
                       "truncate": False},
                      rope_yarn(d, 1e4, 8.0, 32, 8.0, 0.5, False), 1.25),
    }
    out = []
    for name, (parameters, frequencies, factor) in known.items():
        def setup(layer, i, frequencies=frequencies, factor=factor):
            layer.frequencies, layer.rope_factor = frequencies, factor
        old = config("llama", sizes, 1, head_dim=d, rope_theta=1e4, rope_scaling=parameters)
        new = config("llama", sizes, 1, head_dim=d, rope_parameters=dict(
            {"rope_theta": 1e4}, **{k.replace("rope_type", "type").replace("type", "rope_type"): v
                                    for k, v in parameters.items()}))
        for form, settings in (("", old), ("_new", new)):
            out.append(decoder(Case("llama_" + name + form, settings), 1, 240, sizes, setup=setup))
    return out


def windowed(layer, window):
    layer.left, layer.right = window - 1, 0


def mistral():
    sizes = (4, 2, 4, 16)
    return [
        decoder(Case("mistral", config("mistral", sizes, 1, sliding_window=3)), 1, 300, sizes,
                setup=lambda l, i: windowed(l, 3)),
        decoder(Case("mistral_null", config("mistral", sizes, 1, sliding_window=None)), 1, 300, sizes),
    ]


def qwen():
    sizes, wide = (4, 2, 4, 16), (3, 1, 8, 16)

    def upper(layer, i):
        if i >= 1:
            windowed(layer, 3)

    def normed(layer, i):
        layer.add_norms(0.125)  # so large that it counts
    return [
        decoder(Case("qwen2", config("qwen2", sizes, 2, use_sliding_window=True, sliding_window=3,
                                     max_window_layers=1)), 2, 310, sizes, biases="qkv", setup=upper),
        decoder(Case("qwen2_full", config("qwen2", sizes, 1, sliding_window=3,
                                          use_sliding_window=False,
                                          max_window_layers=0)), 1, 310, sizes, biases="qkv"),
        decoder(Case("qwen3", config("qwen3", wide, 2, head_dim=8, sliding_window=None,
                                     rms_norm_eps=0.125)), 2, 320, wide,
                setup=normed),
    ]


def gemma2():
    sizes = (4, 2, 8, 12)  # head size not width / heads

    def setup(layer, i):
        layer.scale, layer.cap = f32(1 / math.sqrt(6.0)), 5.0
        if i % 2 == 0:
            windowed(layer, 3)
    settings = config("gemma2", sizes, 2, head_dim=8, query_pre_attn_scalar=6,
                      attn_logit_softcapping=5.0, sliding_window=3)
    case = decoder(Case("gemma2", settings), 2, 330, sizes, setup=setup, dtypes=("BF16",) * 4)
    for i in range(2):
        case.tensors["model.layers.%d.pre_feedforward_layernorm.weight" % i] = vector([0.0])
    return case


def gemma3():
    sizes = (4, 2, 8, 12)

    def setup(layer, i, both_ways=False):
        layer.add_norms(0.125, adds_one=True)
        layer.scale = f32(1 / math.sqrt(32.0))
        layer.causal = not both_ways
        if (i + 1) % 3:
            layer.frequencies = rope(8, 100.0)
            layer.left = layer.right = 2  # five keys: half of four to each side, and itself
            if not both_ways:
                windowed(layer, 4)
        else:
            layer.frequencies = rope_linear(8, 5000.0, 2.0)
    old = config("gemma3_text", sizes, 3, head_dim=8, query_pre_attn_scalar=32, sliding_window=4,
                 sliding_window_pattern=3, rms_norm_eps=0.125, rope_theta=5000.0, rope_local_base_freq=100.0,
                 rope_scaling={"rope_type": "linear", "factor": 2.0})
    del old["hidden_size"]
    inner = dict(old)
    del inner["num_attention_heads"], inner["num_key_value_heads"], inner["head_dim"]
    new = config("gemma3_text", sizes, 3, head_dim=8, query_pre_attn_scalar=32, sliding_window=4,
                 layer_types=["sliding_attention", "sliding_attention", "full_attention"],
                 rms_norm_eps=0.125, rope_parameters={
                     "full_attention": {"rope_type": "linear", "factor": 2.0, "rope_theta": 5000.0},
                     "sliding_attention": {"rope_type": "default", "rope_theta": 100.0}})
    both = dict(old, use_bidirectional_attention=True)
    return [
        decoder(Case("gemma3", old), 3, 340, sizes, setup=setup),
        decoder(Case("gemma3_inner", dict(model_type="gemma3", text_config=inner)), 3, 340, sizes,
                prefix="language_model.model.", setup=setup),
        decoder(Case("gemma3_new", new), 3, 340, sizes, prefix="model.language_model.", setup=setup),
        decoder(Case("gemma3_both_ways", both), 3, 340, sizes,
                setup=lambda l, i: setup(l, i, True)),
    ]


def phi():
    sizes = (2, 2, 10, 16)
    names = ("q_proj", "k_proj", "v_proj", "dense")

    def setup(layer, i):
        layer.frequencies = rope(4)  # int(0.4 * 10)

    def normed(layer, i):
        setup(layer, i)
        layer.add_norms(0.25, with_bias=True)
    settings = config("phi", sizes, 1, layer_norm_eps=0.25, head_dim=10)
    del settings["rms_norm_eps"]
    new = dict(settings, qk_layernorm=True,
               rope_parameters={"rope_type": "default", "partial_rotary_factor": 0.4})
    settings["partial_rotary_factor"] = 0.4
    return [
        decoder(Case("phi", settings), 1, 350, sizes, biases="qkvo", names=names, setup=setup),
        decoder(Case("phi_norm", new), 1, 350, sizes, biases="qkvo",
                names=names, setup=normed),
    ]


def phi3():
    heads, kv_heads, dim, width = 4, 2, 8, 16
    short, long = [1.0, 1.25, 1.5], [2.0, 3.0, 4.0]
    out = []
    for name, positions, factors in (("phi3", 64, long), ("phi3_short", 16, short)):
        settings = config("phi3", (heads, kv_heads, dim, width), 1, original_max_position_embeddings=16,
                          partial_rotary_factor=0.75, rope_scaling={"type": "su", "short_factor": short, "long_factor": long})
        settings["max_position_embeddings"] = positions
        case = Case(name, settings)
        layer = case.add("self", 0, Layer(360, heads, kv_heads, dim, width))
        layer.causal = True
        layer.frequencies = rope_longrope(6, 1e4, factors)  # 0.75 of 8
        ratio = positions / 16
        layer.rope_factor = math.sqrt(1 + math.log(ratio) / math.log(16)) if ratio > 1 else 1.0
        stem = "model.layers.0.self_attn."
        storage.fused(case.tensors, stem + "qkv_proj", stem + "o_proj", storage.plain, layer)
        out.append(case)
    return out


def gpt_neox():
    case = Case("gpt_neox", dict(model_type="gpt_neox", hidden_size=24, num_attention_heads=3,
                                 num_hidden_layers=2, rotary_pct=0.25, rotary_emb_base=1000,
                                 max_position_embeddings=32))
    for i in range(2):
        layer = case.add("self", i, Layer(370 + i, 3, 3, 8, 24, biases="qkvo"))
        layer.causal, layer.frequencies = True, rope(2, 1000.0)
        stem = "gpt_neox.layers.%d.attention." % i
        storage.fused(case.tensors, stem + "query_key_value", stem + "dense", storage.triples, layer)
        case.tensors[stem + "bias"] = Tensor([1, 1, 4, 4], [1] * 16, "U8")
        case.tensors[stem + "masked_bias"] = Tensor([], [-1e9])
        case.tensors[stem + "rotary_emb.inv_freq"] = vector(rope(2, 1000.0))
    return case


def falcon(name, kv_heads, order, biases="", prefix="transformer.", **settings):
    heads, dim = 4, 4
    case = Case(name, dict(model_type="falcon", hidden_size=16, num_attention_heads=heads,
                           num_hidden_layers=1, max_position_embeddings=32, bias=bool(biases),
                           **settings))
    layer = case.add("self", 0, Layer(380, heads, kv_heads, dim, 16, biases=biases))
    layer.causal = True
    if settings.get("alibi"):  # added before the scale 1/sqrt(d)
        layer.slopes = [f32(s) * layer.scale for s in alibi_slopes(heads)]
    else:
        layer.frequencies = rope(dim)
    stem = prefix + "h.0.self_attention."
    storage.fused(case.tensors, stem + "query_key_value", stem + "dense", order, layer)
    return case


def gpt_oss():
    sizes = (4, 2, 8, 16)

    def setup(layer, i):
        layer.frequencies = rope_yarn(8, 1000.0, 4.0, 32, truncate=False)
        layer.rope_factor = 0.1 * math.log(4.0) + 1
        layer.sinks = layer.rng.vector(4, 2.0)
        if i == 0:
            windowed(layer, 3)
    settings = config("gpt_oss", sizes, 2, head_dim=8, sliding_window=3, rope_theta=1000.0,
                      layer_types=["sliding_attention", "full_attention"],
                      rope_scaling={"rope_type": "yarn", "factor": 4.0, "beta_fast": 32.0,
                                    "beta_slow": 1.0, "truncate": False,
                                    "original_max_position_embeddings": 32})
    return decoder(Case("gpt_oss", settings), 2, 390, sizes, biases="qkvo", setup=setup)


def cases():
    return (llama() + [llama_interleaved()] + scalings() + mistral() + qwen() + [gemma2()] + gemma3() +
            phi() + phi3() + [gpt_neox()] + [
                falcon("falcon_7b", 1, storage.plain, multi_query=True, new_decoder_architecture=False),
                falcon("falcon_40b", 2, storage.groups, new_decoder_architecture=True, num_kv_heads=2),
                falcon("falcon_rw", 4, storage.triples, "qkvo", "", multi_query=False, alibi=True),
            ] + [gpt_oss()])
