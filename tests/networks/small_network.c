/* Writes small networks with weights that are integers times a power of two. */
#define _GNU_SOURCE
#include "small_network.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "guard.h"
#include "networks_support.h"
#include "rng.h"

const char *const small_network_names[N_SMALL_NETWORKS] = {"bert", "modernbert", "llama", "vit"};

/* A tensor of the network, or, with {i}, one of each layer; columns 0: a vector, of weights around
 * 1 where it is a norm's. */
struct tensor {
    const char *name;
    int64_t rows, columns;
    bool is_norm;
};

#define MATRIX(name, rows, columns)                                                                \
    { name, rows, columns, false }
#define VECTOR(name, n)                                                                            \
    { name, n, 0, false }
#define NORM(name, n)                                                                              \
    { name, n, 0, true }
#define LINEAR(name, out, in) MATRIX(name ".weight", out, in), VECTOR(name ".bias", out)
#define LAYER_NORM(name, n) NORM(name ".weight", n), VECTOR(name ".bias", n)

static const struct tensor bert[] = {
    MATRIX("bert.embeddings.word_embeddings.weight", SMALL_IDS, 48),
    MATRIX("bert.embeddings.position_embeddings.weight", 80, 48),
    MATRIX("bert.embeddings.token_type_embeddings.weight", 2, 48),
    LAYER_NORM("bert.embeddings.LayerNorm", 48),
    LINEAR("bert.encoder.layer.{i}.attention.self.query", 48, 48),
    LINEAR("bert.encoder.layer.{i}.attention.self.key", 48, 48),
    LINEAR("bert.encoder.layer.{i}.attention.self.value", 48, 48),
    LINEAR("bert.encoder.layer.{i}.attention.output.dense", 48, 48),
    LAYER_NORM("bert.encoder.layer.{i}.attention.output.LayerNorm", 48),
    LINEAR("bert.encoder.layer.{i}.intermediate.dense", 100, 48),
    LINEAR("bert.encoder.layer.{i}.output.dense", 48, 100),
    LAYER_NORM("bert.encoder.layer.{i}.output.LayerNorm", 48),
    LINEAR("bert.pooler.dense", 48, 48),
    LINEAR("classifier", 3, 48),
};
static const struct tensor modernbert[] = {
    MATRIX("model.embeddings.tok_embeddings.weight", SMALL_IDS, 48),
    NORM("model.embeddings.norm.weight", 48),
    NORM("model.layers.{i}.attn_norm.weight", 48),
    MATRIX("model.layers.{i}.attn.Wqkv.weight", 144, 48),
    MATRIX("model.layers.{i}.attn.Wo.weight", 48, 48),
    NORM("model.layers.{i}.mlp_norm.weight", 48),
    MATRIX("model.layers.{i}.mlp.Wi.weight", 140, 48),
    MATRIX("model.layers.{i}.mlp.Wo.weight", 48, 70),
    NORM("model.final_norm.weight", 48),
    MATRIX("head.dense.weight", 48, 48),
    NORM("head.norm.weight", 48),
    LINEAR("classifier", 1, 48),
};
static const struct tensor llama[] = {
    MATRIX("model.embed_tokens.weight", SMALL_IDS, 48),
    NORM("model.layers.{i}.input_layernorm.weight", 48),
    MATRIX("model.layers.{i}.self_attn.q_proj.weight", 64, 48),
    MATRIX("model.layers.{i}.self_attn.k_proj.weight", 32, 48),
    MATRIX("model.layers.{i}.self_attn.v_proj.weight", 32, 48),
    MATRIX("model.layers.{i}.self_attn.o_proj.weight", 48, 64),
    NORM("model.layers.{i}.post_attention_layernorm.weight", 48),
    MATRIX("model.layers.{i}.mlp.gate_proj.weight", 100, 48),
    MATRIX("model.layers.{i}.mlp.up_proj.weight", 100, 48),
    MATRIX("model.layers.{i}.mlp.down_proj.weight", 48, 100),
    NORM("model.norm.weight", 48),
    MATRIX("lm_head.weight", SMALL_IDS, 48),
};
static const struct tensor vit[] = {
    VECTOR("embeddings.cls_token", 32),
    MATRIX("embeddings.position_embeddings", 17, 32),
    LINEAR("embeddings.patch_embeddings.projection", 32, 48),
    LINEAR("encoder.layer.{i}.attention.attention.query", 32, 32),
    LINEAR("encoder.layer.{i}.attention.attention.key", 32, 32),
    LINEAR("encoder.layer.{i}.attention.attention.value", 32, 32),
    LINEAR("encoder.layer.{i}.attention.output.dense", 32, 32),
    LAYER_NORM("encoder.layer.{i}.layernorm_before", 32),
    LAYER_NORM("encoder.layer.{i}.layernorm_after", 32),
    LINEAR("encoder.layer.{i}.intermediate.dense", 64, 32),
    LINEAR("encoder.layer.{i}.output.dense", 32, 64),
    LAYER_NORM("layernorm", 32),
    LINEAR("pooler.dense", 32, 32),
};

#define TENSORS(array) array, sizeof array / sizeof *array
static const struct {
    const struct tensor *tensors;
    size_t n_tensors;
    int n_layers;
    const char *config;
} networks[N_SMALL_NETWORKS] = {
    {TENSORS(bert), 2,
     "{\"model_type\": \"bert\", \"architectures\": [\"BertForSequenceClassification\"], "
     "\"hidden_size\": 48, \"num_attention_heads\": 4, \"num_hidden_layers\": 2, "
     "\"hidden_act\": \"gelu\", \"max_position_embeddings\": 80}"},
    {TENSORS(modernbert), 3,
     "{\"model_type\": \"modernbert\", \"architectures\": "
     "[\"ModernBertForSequenceClassification\"], "
     "\"hidden_size\": 48, \"num_attention_heads\": 4, \"num_hidden_layers\": 3, "
     "\"local_attention\": 10, \"max_position_embeddings\": 700, \"classifier_pooling\": "
     "\"mean\"}"},
    {TENSORS(llama), 2,
     "{\"model_type\": \"llama\", \"architectures\": [\"LlamaForCausalLM\"], \"hidden_size\": 48, "
     "\"num_attention_heads\": 4, \"num_key_value_heads\": 2, \"head_dim\": 16, "
     "\"num_hidden_layers\": 2, \"hidden_act\": \"silu\", \"max_position_embeddings\": 700}"},
    {TENSORS(vit), 2,
     "{\"model_type\": \"vit\", \"architectures\": [\"ViTModel\"], \"hidden_size\": 32, "
     "\"num_attention_heads\": 2, \"num_hidden_layers\": 2, \"image_size\": 16, "
     "\"patch_size\": 4, \"num_channels\": 3}"},
};

enum { MOST_TENSORS = 80, NAME_SIZE = 100 };

struct writing {
    struct headwise_file_tensor tensors[MOST_TENSORS];
    char names[MOST_TENSORS][NAME_SIZE];
    size_t n;
    struct test_rng rng;
};

static void add(struct writing *writing, const struct tensor *tensor, int layer) {
    const char *mark = strstr(tensor->name, "{i}");
    size_t n = (size_t)(tensor->rows * (tensor->columns > 0 ? tensor->columns : 1));
    float *data = guard_plain(n, sizeof *data);
    assert_true(writing->n < MOST_TENSORS);
    char *name = writing->names[writing->n];
    if (mark != NULL)
        snprintf(name, NAME_SIZE, "%.*s%d%s", (int)(mark - tensor->name), tensor->name, layer,
                 mark + 3);
    else
        snprintf(name, NAME_SIZE, "%s", tensor->name);
    test_rng_fill(&writing->rng, data, n, tensor->columns > 0 ? 0.5f : 0.25f);
    for (size_t i = 0; tensor->is_norm && i < n; i++)
        data[i] += 1;
    writing->tensors[writing->n++] = (struct headwise_file_tensor){
        .name = name,
        .dtype = HEADWISE_FILE_F32,
        .rank = tensor->columns > 0 ? 2 : 1,
        .shape = {tensor->rows, tensor->columns},
        .data = data,
    };
}

void small_network_configure(const char *folder, const char *text) {
    FILE *file = fopen(networks_path(folder, "config.json"), "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

const char *small_network_config(enum small_network network) {
    return networks[network].config;
}

void small_network_write(const char *folder, enum small_network network) {
    struct writing *writing = guard_plain(1, sizeof *writing);
    writing->rng = test_rng_fixed(700 + (uint64_t)network);
    for (size_t i = 0; i < networks[network].n_tensors; i++) {
        const struct tensor *tensor = &networks[network].tensors[i];
        bool is_first_norm = strstr(tensor->name, "attn_norm") != NULL;
        if (strstr(tensor->name, "{i}") == NULL)
            add(writing, tensor, 0);
        for (int layer = is_first_norm; layer < networks[network].n_layers; layer++) {
            if (strstr(tensor->name, "{i}") != NULL)
                add(writing, tensor, layer);
        }
    }
    small_network_configure(folder, networks[network].config);
    assert_int_equal(headwise_safetensors_write(networks_path(folder, "model.safetensors"),
                                                writing->tensors, writing->n, NULL, 0),
                     HEADWISE_OK);
}

const char *small_network_make(enum small_network network) {
    static const char pattern[] = "/tmp/headwise-network-XXXXXX";
    char *folder = guard_plain(sizeof pattern, 1);
    assert_non_null(mkdtemp(strcpy(folder, pattern)));
    small_network_write(folder, network);
    return folder;
}

void small_network_remove(const char *folder) {
    unlink(networks_path(folder, "config.json"));
    unlink(networks_path(folder, "model.safetensors"));
    rmdir(folder);
}
