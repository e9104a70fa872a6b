/* The table of families. */
#include "checkpoint/family.h"

#include <stdio.h>
#include <string.h>

#define PARTS(array) .parts = array, .n_parts = sizeof array / sizeof *array
#define MODEL "model.|"
#define ROTARY_BUFFERS "rotary_emb.inv_freq|rotary_emb.cos_cached|rotary_emb.sin_cached"
#define MASK_BUFFERS "bias|masked_bias"

enum {
    Q = HEADWISE_IO_Q,
    V = HEADWISE_IO_V,
    O = HEADWISE_IO_O,
    QKV = HEADWISE_IO_QKV,
    QKVO = HEADWISE_IO_QKVO
};

/* A row is easier to read in lines than in columns. */
/* clang-format off */
static const struct headwise_io_part bert[] = {
    {.name = "self", .stem = "encoder.layer.{i}.attention.", .q = "self.query", .k = "self.key",
     .v = "self.value", .o = "output.dense", .causal_key = "is_decoder"},
};
static const struct headwise_io_part mpnet[] = {
    {.name = "self", .stem = "encoder.layer.{i}.attention.", .q = "attn.q", .k = "attn.k",
     .v = "attn.v", .o = "attn.o", .relative = "encoder.relative_attention_bias.weight"},
};
static const struct headwise_io_part modernbert[] = {
    {.name = "self", .stem = "layers.{i}.attn.", .fusion = HEADWISE_IO_PLAIN, .q = "Wqkv",
     .o = "Wo"},
};
static const struct headwise_io_part nomic_bert[] = {
    {.name = "self", .stem = "encoder.layers.{i}.attn.", .fusion = HEADWISE_IO_PLAIN, .q = "Wqkv",
     .o = "out_proj"},
};
static const struct headwise_io_part distilbert[] = {
    {.name = "self", .stem = "transformer.layer.{i}.attention.", .q = "q_lin", .k = "k_lin",
     .v = "v_lin", .o = "out_lin"},
};
static const struct headwise_io_part gpt2[] = {
    {.name = "self", .stem = "h.{i}.attn.", .fusion = HEADWISE_IO_PLAIN, .q = "c_attn",
     .o = "c_proj", .causal = true},
    {.name = "cross", .stem = "h.{i}.crossattention.", .fusion = HEADWISE_IO_PAIR, .q = "q_attn",
     .k = "c_attn", .o = "c_proj", .cross = true},
};
static const struct headwise_io_part llama[] = {
    {.name = "self", .section = "text_config", .stem = "layers.{i}.self_attn.", .q = "q_proj",
     .k = "k_proj", .v = "v_proj", .o = "o_proj", .causal = true},
};
static const struct headwise_io_part opt[] = {
    {.name = "self", .stem = "decoder.layers.{i}.self_attn.", .q = "q_proj", .k = "k_proj",
     .v = "v_proj", .o = "out_proj", .causal = true},
};
static const struct headwise_io_part phi[] = {
    {.name = "self", .stem = "layers.{i}.self_attn.", .q = "q_proj", .k = "k_proj", .v = "v_proj",
     .o = "dense", .causal = true},
};
static const struct headwise_io_part phi3[] = {
    {.name = "self", .stem = "layers.{i}.self_attn.", .fusion = HEADWISE_IO_PLAIN, .q = "qkv_proj",
     .o = "o_proj", .causal = true},
};
static const struct headwise_io_part gpt_neox[] = {
    {.name = "self", .stem = "layers.{i}.attention.", .fusion = HEADWISE_IO_GROUPED,
     .q = "query_key_value", .o = "dense", .causal = true},
};
static const struct headwise_io_part bloom[] = { /* and Falcon */
    {.name = "self", .stem = "h.{i}.self_attention.", .fusion = HEADWISE_IO_GROUPED,
     .q = "query_key_value", .o = "dense", .causal = true},
};
static const struct headwise_io_part t5[] = {
    {.name = "encoder", .stem = "encoder.block.{i}.layer.0.SelfAttention.", .q = "q", .k = "k",
     .v = "v", .o = "o",
     .relative = "encoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight"},
    {.name = "decoder", .stem = "decoder.block.{i}.layer.0.SelfAttention.", .q = "q", .k = "k",
     .v = "v", .o = "o",
     .relative = "decoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight",
     .layers_key = "num_decoder_layers|num_layers", .causal = true},
    {.name = "cross", .stem = "decoder.block.{i}.layer.1.EncDecAttention.", .q = "q", .k = "k",
     .v = "v", .o = "o", .layers_key = "num_decoder_layers|num_layers", .cross = true},
};
static const struct headwise_io_part whisper[] = {
    {.name = "encoder", .stem = "encoder.layers.{i}.self_attn.", .q = "q_proj", .k = "k_proj",
     .v = "v_proj", .o = "out_proj", .layers_key = "encoder_layers",
     .heads_key = "encoder_attention_heads"},
    {.name = "decoder", .stem = "decoder.layers.{i}.self_attn.", .q = "q_proj", .k = "k_proj",
     .v = "v_proj", .o = "out_proj", .layers_key = "decoder_layers",
     .heads_key = "decoder_attention_heads", .causal = true},
    {.name = "cross", .stem = "decoder.layers.{i}.encoder_attn.", .q = "q_proj", .k = "k_proj",
     .v = "v_proj", .o = "out_proj", .layers_key = "decoder_layers",
     .heads_key = "decoder_attention_heads", .cross = true},
};
static const struct headwise_io_part vit[] = {
    {.name = "self", .stem = "encoder.layer.{i}.attention.", .q = "attention.query",
     .k = "attention.key", .v = "attention.value", .o = "output.dense"},
};
static const struct headwise_io_part clip[] = {
    {.name = "text", .section = "text_config", .stem = "text_model.encoder.layers.{i}.self_attn.",
     .q = "q_proj", .k = "k_proj", .v = "v_proj", .o = "out_proj", .n_heads = 8, .causal = true},
    {.name = "vision", .section = "vision_config",
     .stem = "vision_model.encoder.layers.{i}.self_attn.", .q = "q_proj", .k = "k_proj",
     .v = "v_proj", .o = "out_proj", .n_heads = 12},
};
static const struct headwise_io_part svtr[] = {
    {.name = "self", .stem = "svtr_block.{i}.mixer.", .fusion = HEADWISE_IO_PLAIN, .q = "qkv",
     .o = "proj"},
};

/* Where there is no model_type the first row whose names fit is taken: of rows with the same parts
 * the one with the most telling marks comes first. */
const struct headwise_io_family headwise_io_families[] = {
    {.name = "bert", .model_types = "bert|roberta|xlm-roberta|camembert|electra",
     .prefixes = "bert.|roberta.|electra.|", PARTS(bert), .biases = QKVO,
     .buffers = "output.LayerNorm.weight|output.LayerNorm.bias|output.LayerNorm.gamma|"
                "output.LayerNorm.beta",
     .must_key = "position_embedding_type", .must_value = "absolute"},
    {.name = "mpnet", .model_types = "mpnet", .prefixes = "mpnet.|", PARTS(mpnet), .biases = QKVO,
     .buffers = "LayerNorm.weight|LayerNorm.bias", .positions = HEADWISE_IO_RELATIVE},
    {.name = "modernbert", .model_types = "modernbert", .prefixes = MODEL, PARTS(modernbert),
     .bias_key = "attention_bias", .key_biases = QKVO, .positions = HEADWISE_IO_ROTARY,
     .rope_base = 160000, .rope_local_base = 1e4, .windows = HEADWISE_IO_BUT_FIRST, .window = 128,
     .window_pattern = 3, .window_key = "local_attention", .window_halved = true},
    {.name = "nomic_bert", .model_types = "nomic_bert", .prefixes = "nomic_bert.|bert.|",
     PARTS(nomic_bert), .bias_key = "qkv_proj_bias", .key_biases = QKVO,
     .positions = HEADWISE_IO_ROTARY, .rope_base = 1000},
    {.name = "distilbert", .model_types = "distilbert", .prefixes = "distilbert.|",
     PARTS(distilbert), .biases = QKVO},
    {.name = "gpt2", .model_types = "gpt2", .prefixes = "transformer.|", PARTS(gpt2),
     .buffers = MASK_BUFFERS, .conv1d = true, .twin = "mingpt", .biases = QKVO,
     .scaled_key = "scale_attn_weights",
     .inverse_key = "scale_attn_by_inverse_layer_idx"},
    {.name = "mingpt", .model_types = "mingpt", .prefixes = "transformer.|", PARTS(gpt2),
     .buffers = MASK_BUFFERS, .maybe_biases = QKVO},

    {.name = "gpt_oss", .model_types = "gpt_oss", .prefixes = MODEL,
     .marks = "layers.0.self_attn.sinks", PARTS(llama), .buffers = ROTARY_BUFFERS,
     .grouped_heads = true, .bias_key = "attention_bias", .key_biases = QKVO, .key_default = true,
     .sinks = "sinks", .positions = HEADWISE_IO_ROTARY, .rope_base = 150000,
     .windows = HEADWISE_IO_ALTERNATING, .window = 128, .window_pattern = 2},
    {.name = "gemma3", .model_types = "gemma3_text|gemma3",
     .prefixes = MODEL "language_model.model.|model.language_model.",
     .marks = "layers.0.pre_feedforward_layernorm.weight|layers.0.self_attn.q_norm.weight",
     PARTS(llama), .buffers = ROTARY_BUFFERS, .grouped_heads = true, .bias_key = "attention_bias",
     .key_biases = QKVO, .q_norm = "q_norm", .k_norm = "k_norm", .norm_adds_one = true,
     .positions = HEADWISE_IO_ROTARY, .rope_base = 1e6, .rope_local_base = 1e4,
     .windows = HEADWISE_IO_ALTERNATING, .window = 4096, .window_pattern = 6, .query_scalar = 256,
     .capped = true, .both_ways_key = "use_bidirectional_attention", .window_halved = true},
    {.name = "gemma2", .model_types = "gemma2", .prefixes = MODEL,
     .marks = "layers.0.pre_feedforward_layernorm.weight", PARTS(llama), .buffers = ROTARY_BUFFERS,
     .grouped_heads = true, .bias_key = "attention_bias", .key_biases = QKVO,
     .positions = HEADWISE_IO_ROTARY, .rope_base = 1e4, .windows = HEADWISE_IO_ALTERNATING,
     .window = 4096, .window_pattern = 2, .query_scalar = 256, .capped = true, .softcap = 50,
     .both_ways_key = "use_bidirectional_attention"},
    {.name = "qwen3", .model_types = "qwen3", .prefixes = MODEL,
     .marks = "layers.0.self_attn.q_norm.weight", PARTS(llama), .buffers = ROTARY_BUFFERS,
     .grouped_heads = true, .bias_key = "attention_bias", .key_biases = QKVO, .q_norm = "q_norm",
     .k_norm = "k_norm", .positions = HEADWISE_IO_ROTARY, .rope_base = 1e4,
     .windows = HEADWISE_IO_UPPER_LAYERS, .window = 4096},
    {.name = "phi3", .model_types = "phi3", .prefixes = MODEL, PARTS(phi3),
     .buffers = ROTARY_BUFFERS, .grouped_heads = true, .positions = HEADWISE_IO_ROTARY,
     .rope_base = 1e4, .always_longrope = true, .windows = HEADWISE_IO_ALL_LAYERS},
    {.name = "phi", .model_types = "phi", .prefixes = MODEL,
     .marks = "layers.0.self_attn.dense.weight", PARTS(phi), .buffers = ROTARY_BUFFERS,
     .grouped_heads = true, .biases = QKVO, .q_norm = "q_layernorm", .k_norm = "k_layernorm",
     .norm_key = "qk_layernorm", .norm_is_layer = true, .positions = HEADWISE_IO_ROTARY,
     .rope_base = 1e4, .rotary_factor = 0.5},
    {.name = "qwen2", .model_types = "qwen2", .prefixes = MODEL,
     .marks = "layers.0.self_attn.q_proj.bias", PARTS(llama), .buffers = ROTARY_BUFFERS,
     .grouped_heads = true, .biases = QKV, .positions = HEADWISE_IO_ROTARY, .rope_base = 1e4,
     .windows = HEADWISE_IO_UPPER_LAYERS, .window = 4096},
    {.name = "llama", .model_types = "llama", .prefixes = MODEL, PARTS(llama),
     .buffers = ROTARY_BUFFERS, .grouped_heads = true, .bias_key = "attention_bias",
     .key_biases = QKVO, .positions = HEADWISE_IO_ROTARY, .rope_base = 1e4},
    {.name = "mistral", .model_types = "mistral", .prefixes = MODEL, PARTS(llama),
     .buffers = ROTARY_BUFFERS, .grouped_heads = true, .positions = HEADWISE_IO_ROTARY,
     .rope_base = 1e4, .windows = HEADWISE_IO_ALL_LAYERS, .window = 4096},

    {.name = "gemma", .model_types = "gemma", .prefixes = MODEL, PARTS(llama),
     .buffers = ROTARY_BUFFERS, .grouped_heads = true, .bias_key = "attention_bias",
     .key_biases = QKVO, .positions = HEADWISE_IO_ROTARY, .rope_base = 1e4,
     .both_ways_key = "use_bidirectional_attention"},
    {.name = "granite", .model_types = "granite", .prefixes = MODEL, PARTS(llama),
     .buffers = ROTARY_BUFFERS, .grouped_heads = true, .bias_key = "attention_bias",
     .key_biases = QKVO, .positions = HEADWISE_IO_ROTARY, .rope_base = 1e4,
     .scale_key = "attention_multiplier"},
    {.name = "smollm3", .model_types = "smollm3", .prefixes = MODEL, PARTS(llama),
     .buffers = ROTARY_BUFFERS, .grouped_heads = true, .bias_key = "attention_bias",
     .key_biases = QKVO, .positions = HEADWISE_IO_ROTARY, .rope_base = 2e6,
     .rotary_layers_key = "no_rope_layers", .rotary_pattern = 4,
     .windows = HEADWISE_IO_UPPER_LAYERS},
    {.name = "stablelm", .model_types = "stablelm|stablelm_epoch", .prefixes = MODEL, PARTS(llama),
     .buffers = ROTARY_BUFFERS, .grouped_heads = true, .bias_key = "use_qkv_bias",
     .key_biases = QKV, .positions = HEADWISE_IO_ROTARY, .rope_base = 1e4, .rotary_factor = 0.25},
    {.name = "starcoder2", .model_types = "starcoder2", .prefixes = MODEL, PARTS(llama),
     .buffers = ROTARY_BUFFERS, .grouped_heads = true, .bias_key = "use_bias", .key_biases = QKVO,
     .key_default = true, .positions = HEADWISE_IO_ROTARY, .rope_base = 1e4,
     .windows = HEADWISE_IO_ALL_LAYERS},
    {.name = "opt", .model_types = "opt", .prefixes = MODEL, PARTS(opt), .bias_key = "enable_bias",
     .key_biases = QKVO, .key_default = true},

    {.name = "gpt_neox", .model_types = "gpt_neox", .prefixes = "gpt_neox.|", PARTS(gpt_neox),
     .buffers = MASK_BUFFERS "|" ROTARY_BUFFERS, .bias_key = "attention_bias", .key_biases = QKVO,
     .key_default = true, .positions = HEADWISE_IO_ROTARY, .rope_base = 1e4,
     .rotary_factor = 0.25},
    {.name = "bloom", .model_types = "bloom", .prefixes = "transformer.|",
     .marks = "word_embeddings_layernorm.weight", PARTS(bloom), .biases = QKVO,
     .positions = HEADWISE_IO_ALIBI},
    {.name = "falcon", .model_types = "falcon|RefinedWeb|RefinedWebModel",
     .prefixes = "transformer.|", PARTS(bloom), .buffers = "rotary.inv_freq|" ROTARY_BUFFERS,
     .grouped_heads = true, .multi_query_key = true, .bias_key = "bias", .key_biases = QKVO,
     .positions = HEADWISE_IO_ROTARY_OR_ALIBI, .rope_base = 1e4, .slopes_scaled = true},
    {.name = "t5", .model_types = "t5|mt5", .prefixes = "|transformer.", PARTS(t5),
     .buffers = "relative_attention_bias.weight", .positions = HEADWISE_IO_RELATIVE,
     .unscaled = true},
    {.name = "whisper", .model_types = "whisper", .prefixes = MODEL, PARTS(whisper),
     .biases = Q | V | O},
    {.name = "vit", .model_types = "vit", .prefixes = "vit.|", PARTS(vit), .biases = O,
     .bias_key = "qkv_bias", .key_biases = QKV, .key_default = true},
    {.name = "clip", .model_types = "clip|clip_text_model|clip_vision_model", .prefixes = "|clip.",
     PARTS(clip), .biases = QKVO},
    {.name = "svtr", .model_types = "svtr", .prefixes = "", PARTS(svtr), .biases = O,
     .bias_key = "qkv_bias", .key_biases = QKV, .key_default = true},
};

/* clang-format on */

const size_t headwise_io_n_families = sizeof headwise_io_families / sizeof *headwise_io_families;

int headwise_io_list_next(const char **at, const char **next) {
    if (!*next)
        return -1;
    *at = *next;
    size_t length = strcspn(*at, "|");
    *next = (*at)[length] ? *at + length + 1 : NULL;
    return (int)length;
}

static bool contains(const char *list, const char *word) {
    const char *at, *next = list;
    for (int length; (length = headwise_io_list_next(&at, &next)) >= 0;) {
        if (strlen(word) == (size_t)length && memcmp(word, at, (size_t)length) == 0)
            return true;
    }
    return false;
}

const struct headwise_io_family *headwise_io_family_by_name(const char *name) {
    for (size_t i = 0; i < headwise_io_n_families; i++) {
        if (strcmp(headwise_io_families[i].name, name) == 0)
            return &headwise_io_families[i];
    }
    return NULL;
}

const struct headwise_io_family *headwise_io_family_by_type(const char *model_type) {
    for (size_t i = 0; i < headwise_io_n_families; i++) {
        if (contains(headwise_io_families[i].model_types, model_type))
            return &headwise_io_families[i];
    }
    return NULL;
}

void headwise_io_family_list(char *text, size_t size, bool types) {
    size_t used = 0;
    text[0] = '\0';
    for (size_t i = 0; i < headwise_io_n_families && used < size; i++) {
        const struct headwise_io_family *family = &headwise_io_families[i];
        const char *at, *next = types ? family->model_types : family->name;
        for (int length; used < size && (length = headwise_io_list_next(&at, &next)) >= 0;)
            used +=
                (size_t)snprintf(text + used, size - used, "%s%.*s", used ? ", " : "", length, at);
    }
}
