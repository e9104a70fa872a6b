"""Checkpoints of families without rotary positions: BERT, DistilBERT, GPT-2, Bloom, T5, ..."""
import storage
from case import Case
from layers import Layer, alibi_slopes, f32, t5_bucket
from tensors import Random, Tensor, matrix, vector

BERT = ("self.query", "self.key", "self.value", "output.dense")


def bert(name, prefix, model_type="bert", pruned=None, **config):
    heads, dim, width = 4, 4, 16
    case = Case(name, dict(model_type=model_type, hidden_size=width, num_attention_heads=heads,
                           num_hidden_layers=2, max_position_embeddings=64,
                           position_embedding_type="absolute", **config))
    if pruned:
        case.config["pruned_heads"] = pruned
    for i in range(2):
        lost = len((pruned or {}).get(str(i), []))
        layer = case.add("self", i, Layer(10 + i, heads - lost, heads - lost, dim, width, biases="qkvo"))
        layer.causal = config.get("is_decoder", False)
        stem = prefix + "encoder.layer.%d.attention." % i
        storage.separate(case.tensors, stem, BERT, layer)
        for leaf in ("weight", "bias"):
            case.tensors[stem + "output.LayerNorm." + leaf] = vector([1.0] * width)
    return case


def distilbert(name, prefix):
    case = Case(name, dict(model_type="distilbert", dim=12, n_heads=3, n_layers=2))
    for i in range(2):
        layer = case.add("self", i, Layer(20 + i, 3, 3, 4, 12, biases="qkvo"))
        storage.separate(case.tensors, prefix + "transformer.layer.%d.attention." % i,
                         ("q_lin", "k_lin", "v_lin", "out_lin"), layer, ("F16",) * 4)
    return case


def gpt2(name, prefix, unscaled=False, inverse=False, cross=False):
    heads, dim, width = 3, 4, 12
    case = Case(name, dict(model_type="gpt2", n_embd=width, n_head=heads, n_layer=2, n_positions=32,
                           scale_attn_weights=not unscaled, scale_attn_by_inverse_layer_idx=inverse))
    for i in range(2):
        layer = case.add("self", i, Layer(30 + i, heads, heads, dim, width, biases="qkvo"))
        layer.causal = True
        layer.scale = (1.0 if unscaled else layer.scale) / (i + 1 if inverse else 1)
        stem = prefix + "h.%d." % i
        storage.fused(case.tensors, stem + "attn.c_attn", stem + "attn.c_proj", storage.plain, layer,
                      conv1d=True)
        case.tensors[stem + "attn.bias"] = Tensor([1, 1, 8, 8], [1] * 64, "U8")
        case.tensors[stem + "attn.masked_bias"] = Tensor([], [-1e4])
        if cross:
            other = case.add("cross", i, Layer(40 + i, heads, heads, dim, width, biases="qkvo"), 5)
            other.scale = layer.scale
            stem += "crossattention."
            storage.put(case.tensors, stem + "q_attn", storage.rows(other.q),
                        storage.joined(other.bq), conv1d=True)
            storage.put(case.tensors, stem + "c_attn", storage.rows(other.k + other.v),
                        storage.joined(other.bk + other.bv), conv1d=True)
            storage.put(case.tensors, stem + "c_proj", other.o, other.bo, conv1d=True)
    return case


def mingpt():
    """GPT-2's names and model_type with Linear matrices, and no bias on c_attn."""
    case = Case("mingpt", dict(model_type="gpt2", n_embd=12, n_head=3, n_layer=1, block_size=16))
    layer = case.add("self", 0, Layer(50, 3, 3, 4, 12, biases="o"))
    layer.causal = True
    stem = "transformer.h.0.attn."
    storage.fused(case.tensors, stem + "c_attn", stem + "c_proj", storage.plain, layer)
    case.tensors[stem + "bias"] = Tensor([1, 1, 4, 4], [1.0] * 16)
    return case


def bloom(name, prefix, heads):
    dim = 4
    case = Case(name, dict(model_type="bloom", hidden_size=heads * dim, n_head=heads, n_layer=2))
    case.tensors[prefix + "word_embeddings_layernorm.weight"] = vector([1.0])
    for i in range(2):
        layer = case.add("self", i, Layer(60 + i, heads, heads, dim, heads * dim, biases="qkvo"))
        layer.causal = True
        layer.slopes = [f32(s) for s in alibi_slopes(heads)]
        stem = prefix + "h.%d.self_attention." % i
        storage.fused(case.tensors, stem + "query_key_value", stem + "dense", storage.triples, layer)
    return case


def t5(name, buckets, max_distance, rows, prefix=""):
    """head size 4, not width / heads; the decoder has a layer more than the encoder."""
    heads, dim, width = 3, 4, 8
    case = Case(name, dict(model_type="t5", d_model=width, d_kv=dim, num_heads=heads, num_layers=1,
                           num_decoder_layers=2, relative_attention_num_buckets=buckets,
                           relative_attention_max_distance=max_distance), rows=rows)
    names = ("q", "k", "v", "o")

    def stack(part, i, path, table, both_ways, memory=0):
        layer = case.add(part, i, Layer(70 + len(case.layers), heads, heads, dim, width), memory)
        layer.scale, layer.causal = 1.0, part == "decoder"
        if table:
            layer.relative = lambda head, distance: \
                table[t5_bucket(distance, both_ways, buckets, max_distance)][head]
        storage.separate(case.tensors, prefix + path, names, layer)

    for part, count in (("encoder", 1), ("decoder", 2)):
        table = Random(80 + count).matrix(buckets, heads, 2.0)
        path = part + ".block.0.layer.0.SelfAttention.relative_attention_bias.weight"
        case.tensors[prefix + path] = matrix(table)
        for i in range(count):
            stack(part, i, part + ".block.%d.layer.0.SelfAttention." % i, table, part == "encoder")
            if part == "decoder":
                stack("cross", i, "decoder.block.%d.layer.1.EncDecAttention." % i, None, True, 5)
    return case


def whisper(name, prefix):
    case = Case(name, dict(model_type="whisper", d_model=12, encoder_attention_heads=3,
                           decoder_attention_heads=2, encoder_layers=1, decoder_layers=1,
                           num_hidden_layers=1))
    for part, heads, path in (("encoder", 3, "encoder.layers.0.self_attn."),
                              ("decoder", 2, "decoder.layers.0.self_attn."),
                              ("cross", 2, "decoder.layers.0.encoder_attn.")):
        layer = Layer(90 + len(case.layers), heads, heads, 12 // heads, 12, biases="qvo")
        layer.causal = part == "decoder"
        case.add(part, 0, layer, 5 if part == "cross" else 0)
        storage.separate(case.tensors, prefix + path, ("q_proj", "k_proj", "v_proj", "out_proj"), layer)
    return case


def vit(name, prefix, qkv_bias):
    case = Case(name, dict(model_type="vit", hidden_size=12, num_attention_heads=3,
                           num_hidden_layers=1, qkv_bias=qkv_bias))
    layer = case.add("self", 0, Layer(100, 3, 3, 4, 12, biases="qkvo" if qkv_bias else "o"))
    storage.separate(case.tensors, prefix + "encoder.layer.0.attention.",
                     ("attention.query", "attention.key", "attention.value", "output.dense"), layer)
    return case


def clip():
    sizes = {"text": (3, 12), "vision": (4, 16)}
    case = Case("clip", dict(model_type="clip", projection_dim=8, **{
        part + "_config": dict(hidden_size=width, num_attention_heads=heads, num_hidden_layers=1)
        for part, (heads, width) in sizes.items()}))
    for part, (heads, width) in sizes.items():
        layer = case.add(part, 0, Layer(110 + width, heads, heads, 4, width, biases="qkvo"))
        layer.causal = part == "text"
        storage.separate(case.tensors, part + "_model.encoder.layers.0.self_attn.",
                         ("q_proj", "k_proj", "v_proj", "out_proj"), layer)
    return case


def svtr():
    """A single file whose metadata gives the heads; head size 3."""
    case = Case("svtr", None, {"num_heads": "4", "head_dim": "3", "hidden_size": "12"})
    for i in range(2):
        layer = case.add("self", i, Layer(120 + i, 4, 4, 3, 12, biases="qkvo"))
        stem = "svtr_block.%d.mixer." % i
        storage.fused(case.tensors, stem + "qkv", stem + "proj", storage.plain, layer)
    return case


def cases():
    return [
        bert("bert", ""), bert("bert_prefix", "bert.", is_decoder=True),
        bert("bert_pruned", "roberta.", "roberta", {"1": [0, 2]}),
        distilbert("distilbert", ""), distilbert("distilbert_prefix", "distilbert."),
        gpt2("gpt2", ""), gpt2("gpt2_prefix", "transformer.", inverse=True, cross=True),
        gpt2("gpt2_unscaled", "transformer.", unscaled=True), mingpt(),
        bloom("bloom", "", 6), bloom("bloom_prefix", "transformer.", 4),
        t5("t5", 8, 20, 30), t5("t5_long", 32, 128, 140, "transformer."),
        whisper("whisper", "model."), whisper("whisper_base", ""),
        vit("vit", "vit.", True), vit("vit_base", "", False), clip(), svtr(),
    ]
