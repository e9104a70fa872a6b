"""Checkpoints of relatives of BERT and Llama: MPNet, ModernBERT, NomicBERT; Gemma, Granite, SmolLM3,
StableLM, StarCoder 2, OPT."""
import storage
from case import Case
from decoders import config, decoder, windowed
from layers import Layer, f32, rope, t5_bucket
from tensors import Random, matrix, vector


def mpnet(name, prefix):
    """One table of biases for all layers; scores are scaled, unlike T5's."""
    case = Case(name, dict(model_type="mpnet", hidden_size=12, num_attention_heads=3,
                           num_hidden_layers=2, relative_attention_num_buckets=8), rows=30)
    table = Random(400).matrix(8, 3, 2.0)
    case.tensors[prefix + "encoder.relative_attention_bias.weight"] = matrix(table)
    for i in range(2):
        layer = case.add("self", i, Layer(401 + i, 3, 3, 4, 12, biases="qkvo"))
        layer.relative = lambda head, distance: table[t5_bucket(distance, True, 8, 128)][head]
        stem = prefix + "encoder.layer.%d.attention." % i
        storage.separate(case.tensors, stem, ("attn.q", "attn.k", "attn.v", "attn.o"), layer)
        case.tensors[stem + "LayerNorm.weight"] = vector([1.0] * 12)
    return case


def modernbert(name, prefix, biases="", **more):
    """The first of every two layers sees all; the others two keys to each side, and turn otherwise."""
    case = Case(name, dict(model_type="modernbert", hidden_size=16, num_attention_heads=4,
                           num_hidden_layers=3, max_position_embeddings=64, local_attention=4,
                           attention_bias=bool(biases), **more))
    for i in range(3):
        layer = case.add("self", i, Layer(410 + i, 4, 4, 4, 16, biases=biases))
        layer.frequencies = rope(4, 100.0 if i % 2 else 5000.0)
        if i % 2:
            layer.left = layer.right = 2
        stem = prefix + "layers.%d.attn." % i
        storage.fused(case.tensors, stem + "Wqkv", stem + "Wo", storage.plain, layer)
    return case


def nomic_bert(name, prefix, **more):
    case = Case(name, dict(model_type="nomic_bert", hidden_size=12, num_attention_heads=3,
                           num_hidden_layers=1, max_position_embeddings=64, **more))
    layer = case.add("self", 0, Layer(420, 3, 3, 4, 12))
    layer.frequencies = rope(4, 1000.0)
    stem = prefix + "encoder.layers.0.attn."
    storage.fused(case.tensors, stem + "Wqkv", stem + "out_proj", storage.plain, layer)
    return case


def smollm3(name, **more):
    """The last of every four layers, or those that are listed, have no positions."""
    sizes = (4, 2, 4, 16)

    def setup(layer, i):
        listed = more.get("no_rope_layers", [1, 1, 1, 0])
        layer.frequencies = rope(4, 2e6) if listed[i] else []
    return decoder(Case(name, config("smollm3", sizes, 4, use_sliding_window=False, **more)), 4, 430,
                   sizes, setup=setup)


def decoders():
    sizes, wide = (4, 2, 4, 16), (4, 1, 8, 12)

    def scaled(layer, i):
        layer.scale = f32(0.3)

    def partial(layer, i):
        layer.frequencies = rope(2)  # a quarter of 8
    opt = decoder(Case("opt", dict(model_type="opt", hidden_size=16, num_attention_heads=4,
                                   num_hidden_layers=1)), 1, 480, (4, 4, 4, 16), biases="qkvo",
                  prefix="model.decoder.", names=("q_proj", "k_proj", "v_proj", "out_proj"),
                  setup=lambda l, i: setattr(l, "frequencies", []))
    return [
        decoder(Case("gemma", config("gemma", wide, 1, head_dim=8)), 1, 440, wide),
        decoder(Case("granite", config("granite", sizes, 1, attention_multiplier=0.3)), 1, 450, sizes,
                setup=scaled),
        decoder(Case("stablelm", config("stablelm", (2, 1, 8, 16), 1, use_qkv_bias=True)), 1, 460,
                (2, 1, 8, 16), biases="qkv", setup=partial),
        decoder(Case("starcoder2", config("starcoder2", sizes, 1, sliding_window=3)), 1, 470, sizes,
                biases="qkvo", setup=lambda l, i: windowed(l, 3)),
        opt,
    ]


def cases():
    both = {kind + "_attention": {"rope_type": "default", "rope_theta": base}
            for kind, base in (("full", 5000.0), ("sliding", 100.0))}
    return [
        mpnet("mpnet", ""), mpnet("mpnet_prefix", "mpnet."),
        modernbert("modernbert", "", global_attn_every_n_layers=2, global_rope_theta=5000.0,
                   local_rope_theta=100.0),
        modernbert("modernbert_prefix", "model.", "qkvo", rope_parameters=both,
                   layer_types=["full_attention", "sliding_attention", "full_attention"]),
        nomic_bert("nomic_bert", "", rope_parameters={"rope_type": "default", "rope_theta": 1000.0}),
        nomic_bert("nomic_bert_prefix", "bert.", rotary_emb_base=1000, rotary_emb_fraction=1.0),
        smollm3("smollm3"), smollm3("smollm3_listed", no_rope_layers=[0, 1, 0, 1]),
    ] + decoders()
