/* Weights, biases and rows of a layer from files, each shape against the others. */
#include "calls/layer_input.h"

#include <string.h>

#include "calls/metadata.h"
#include "common/arrays.h"
#include "common/message.h"

struct reader {
    struct layer_input *layer;
    struct arena *arena;
    const headwise_safetensors *weights, *input;
    const struct layer_request *request;
    struct array w_q, w_k, w_v, w_o;
};

/* All four as they are where they share a type that the library packs, else as f32. */
static enum array_kind weights_kind(const headwise_safetensors *file, const char *const names[4]) {
    const struct headwise_file_tensor *first = headwise_safetensors_find(file, names[0]);
    for (int i = 0; i < 4; i++) {
        const struct headwise_file_tensor *tensor = headwise_safetensors_find(file, names[i]);
        if (!tensor || tensor->dtype != first->dtype)
            return ARRAY_F32;
    }
    return ARRAY_FLOAT;
}

static int load_weights(struct reader *reader) {
    static const char *const plain[4] = {"W_Q", "W_K", "W_V", "W_O"};
    struct array *const arrays[4] = {&reader->w_q, &reader->w_k, &reader->w_v, &reader->w_o};
    const char *prefix = reader->request->prefix ? reader->request->prefix : "";
    const char *names[4];
    for (int i = 0; i < 4; i++) {
        names[i] = arena_text(reader->arena, "%s%s", prefix, plain[i]);
        if (!names[i])
            return EXIT_UNUSABLE;
    }
    enum array_kind kind = weights_kind(reader->weights, names);
    for (int i = 0; i < 4; i++) {
        const int64_t any[2] = {-1, -1};
        const char *meaning =
            reader->request->layout == HEADWISE_IN_OUT ? "(inputs, outputs)" : "(outputs, inputs)";
        int code = array_load(arrays[i], reader->arena, reader->weights, names[i], kind, true);
        if (!code)
            code = array_expect(arrays[i], reader->weights, 2, any, meaning);
        if (code)
            return code;
    }
    return EXIT_GOOD;
}

static int64_t n_outputs(const struct reader *reader, const struct array *weight) {
    return weight->shape[reader->request->layout == HEADWISE_IN_OUT ? 1 : 0];
}

static int expect_weight(const struct reader *reader, const struct array *weight, int64_t inputs,
                         int64_t outputs, const char *meaning) {
    const int64_t sizes[2] = {inputs, outputs}, turned[2] = {outputs, inputs};
    return array_expect(weight, reader->weights, 2,
                        reader->request->layout == HEADWISE_IN_OUT ? sizes : turned, meaning);
}

/* rows * heads = width, or a failure that names the tensor. */
static int split(int64_t *size, const struct reader *reader, const struct array *weight,
                 int64_t heads, const char *what) {
    int64_t width = n_outputs(reader, weight);
    if (heads < 1 || width % heads != 0 || width == 0)
        return fail("%s: tensor \"%s\": %lld outputs, expected a multiple of its %lld %s",
                    headwise_safetensors_path(reader->weights), weight->name, (long long)width,
                    (long long)heads, what);
    *size = width / heads;
    return EXIT_GOOD;
}

/* The file's num_kv_heads belongs to its num_heads: another --heads reads the same matrices anew.
 */
static int read_kv_heads(const struct reader *reader) {
    struct headwise_mha_config *config = &reader->layer->config;
    int64_t stated = config->n_heads;
    int code = EXIT_GOOD;
    if (reader->request->n_heads)
        code = metadata_read_heads(&stated, reader->weights, 0, "num_heads", "--heads");
    if (code)
        return code;
    if (reader->request->n_kv_heads || stated == config->n_heads || stated == 0)
        code = metadata_read_heads(&config->n_kv_heads, reader->weights,
                                   reader->request->n_kv_heads, "num_kv_heads", "--kv-heads");
    if (!config->n_kv_heads)
        config->n_kv_heads = config->n_heads;
    return code;
}

/* What is left of a pruned layer, as the file has it: other --heads read the matrices anew. */
static int read_pruned(const struct reader *reader) {
    struct headwise_mha_config *config = &reader->layer->config;
    if (reader->request->n_heads || reader->request->n_kv_heads)
        return EXIT_GOOD;
    int code = metadata_read_list(&config->group_sizes, reader->arena, reader->weights,
                                  "group_sizes", config->n_kv_heads);
    if (!code)
        code = metadata_read_list(&config->head_numbers, reader->arena, reader->weights,
                                  "head_numbers", config->n_heads);
    int64_t sum = 0;
    for (int64_t g = 0; !code && config->group_sizes && g < config->n_kv_heads; g++) {
        int64_t size = config->group_sizes[g];
        sum += size > 0 && size <= config->n_heads ? size : config->n_heads + 1;
    }
    if (!code && config->group_sizes && sum != config->n_heads)
        code =
            fail("%s: metadata group_sizes is \"%s\", expected sizes of 1 or more that add up to "
                 "%lld heads",
                 headwise_safetensors_path(reader->weights),
                 headwise_safetensors_metadata(reader->weights, "group_sizes"),
                 (long long)config->n_heads);
    return code;
}

static int find_sizes(struct reader *reader) {
    struct headwise_mha_config *config = &reader->layer->config;
    const char *path = headwise_safetensors_path(reader->weights);
    int code = metadata_read_heads(&config->n_heads, reader->weights, reader->request->n_heads,
                                   "num_heads", "--heads");
    if (!code && !config->n_heads)
        code = fail("%s: option --heads is missing, and there is no metadata num_heads", path);
    if (!code)
        code = read_kv_heads(reader);
    if (!code)
        code = read_pruned(reader);
    if (!code && !config->group_sizes && config->n_heads % config->n_kv_heads != 0)
        code = fail("%s: %lld heads and %lld kv heads, expected a multiple", path,
                    (long long)config->n_heads, (long long)config->n_kv_heads);
    config->head_dim = reader->request->head_dim;
    if (!code && !config->head_dim)
        code = split(&config->head_dim, reader, &reader->w_q, config->n_heads, "heads");
    if (!code)
        code = split(&config->value_dim, reader, &reader->w_v, config->n_kv_heads, "kv heads");
    return code;
}

/* X [S,d] or [B,S,d], and the memory of the same rank. */
static int load_rows(struct array *array, struct arena *arena, const headwise_safetensors *input,
                     const char *name, int rank, int64_t batch) {
    int code = array_load(array, arena, input, name, ARRAY_FLOAT, true);
    const int64_t sizes2[2] = {-1, -1}, sizes3[3] = {batch, -1, -1};
    if (code)
        return code;
    if (rank == 3 || (rank == 0 && array->rank == 3))
        return array_expect(array, input, 3, sizes3, "(batch, tokens, width)");
    return array_expect(array, input, 2, sizes2, "(tokens, width)");
}

static struct headwise_tensor view_rows(const struct array *array) {
    const int64_t *sizes = array->shape + array->rank - 2;
    return headwise_tensor_brhc(array->data, array->dtype, array->rank == 3 ? array->shape[0] : 1,
                                sizes[0], 1, sizes[1]);
}

int layer_input_read_rows(struct layer_input *layer, struct arena *arena,
                          const headwise_safetensors *input, const char *x, const char *memory) {
    struct array rows;
    int code = load_rows(&rows, arena, input, x ? x : "X", 0, -1);
    if (code)
        return code;
    layer->rank = rows.rank;
    layer->x = view_rows(&rows);
    layer->batch = layer->x.size[0];
    layer->n_queries = layer->x.size[2];
    layer->n_keys = layer->n_queries;
    if (!memory)
        return EXIT_GOOD;
    code = load_rows(&rows, arena, input, memory, layer->rank, layer->batch);
    if (code)
        return code;
    layer->has_memory = true;
    layer->memory = view_rows(&rows);
    layer->n_keys = layer->memory.size[2];
    return EXIT_GOOD;
}

static int load_input(struct reader *reader) {
    return layer_input_read_rows(reader->layer, reader->arena, reader->input, reader->request->x,
                                 reader->request->memory);
}

/* Every weight against the widths of the input and the heads. */
static int check_weights(struct reader *reader) {
    struct layer_input *layer = reader->layer;
    struct headwise_mha_config *config = &layer->config;
    config->d_model = layer->x.size[3];
    config->d_memory = layer->has_memory ? layer->memory.size[3] : config->d_model;
    config->d_out = n_outputs(reader, &reader->w_o);
    int64_t q, k, v, o;
    if (__builtin_mul_overflow(config->n_heads, config->head_dim, &q) ||
        __builtin_mul_overflow(config->n_kv_heads, config->head_dim, &k) ||
        __builtin_mul_overflow(config->n_heads, config->value_dim, &o))
        return fail("option --head-dim is too large");
    v = config->n_kv_heads * config->value_dim;
    const char *of_memory = layer->has_memory ? "(memory's width, kv heads * size)"
                                              : "(X's width, kv heads * head size)";
    int code =
        expect_weight(reader, &reader->w_q, config->d_model, q, "(X's width, heads * head size)");
    if (!code)
        code = expect_weight(reader, &reader->w_k, config->d_memory, k, of_memory);
    if (!code)
        code = expect_weight(reader, &reader->w_v, config->d_memory, v, of_memory);
    if (!code)
        code = expect_weight(reader, &reader->w_o, o, -1, "(heads * value size, any)");
    if (!code && (config->d_model == 0 || config->d_out == 0))
        code =
            fail("%s: widths of 0, expected 1 or more", headwise_safetensors_path(reader->weights));
    return code;
}

static int load_bias(struct reader *reader, const float **bias, const char *name, int64_t size) {
    const char *prefix = reader->request->prefix ? reader->request->prefix : "";
    const char *full = arena_text(reader->arena, "%s%s", prefix, name);
    struct array array;
    if (!full)
        return EXIT_UNUSABLE;
    int code = array_load(&array, reader->arena, reader->weights, full, ARRAY_F32, false);
    if (!code && array.data)
        code = array_expect(&array, reader->weights, 1, &size, "(outputs of its matrix)");
    *bias = array.data;
    return code;
}

static int load_biases(struct reader *reader) {
    struct headwise_mha_config *config = &reader->layer->config;
    int code = load_bias(reader, &config->b_q, "b_Q", config->n_heads * config->head_dim);
    if (!code)
        code = load_bias(reader, &config->b_k, "b_K", config->n_kv_heads * config->head_dim);
    if (!code)
        code = load_bias(reader, &config->b_v, "b_V", config->n_kv_heads * config->value_dim);
    if (!code)
        code = load_bias(reader, &config->b_o, "b_O", config->d_out);
    return code;
}

static int fill_config(struct reader *reader) {
    struct layer_input *layer = reader->layer;
    struct headwise_mha_config *config = &layer->config;
    config->size = sizeof *config;
    config->layout = reader->request->layout;
    config->weight_dtype = reader->w_q.dtype;
    config->w_q = reader->w_q.data;
    config->w_k = reader->w_k.data;
    config->w_v = reader->w_v.data;
    config->w_o = reader->w_o.data;
    struct array w_o;
    int code = array_load(&w_o, reader->arena, reader->weights, reader->w_o.name, ARRAY_F32, true);
    layer->w_o = w_o.data;
    return code;
}

int layer_input_read(struct layer_input *layer, struct arena *arena,
                     const headwise_safetensors *weights, const headwise_safetensors *input,
                     const struct layer_request *request) {
    struct reader reader = {layer, arena, weights, input, request, {0}, {0}, {0}, {0}};
    int (*const steps[])(struct reader *) = {load_weights,  load_input,  find_sizes,
                                             check_weights, load_biases, fill_config};
    *layer = (struct layer_input){0};
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        int code = steps[i](&reader);
        if (code)
            return code;
    }
    return EXIT_GOOD;
}

int layer_input_keep(struct layer_input *layer, struct arena *arena, const headwise_mha *mha) {
    const struct headwise_mha_config *config = &layer->config;
    float *w_o =
        arena_take(arena, config->d_out * config->n_heads * config->value_dim, sizeof *w_o);
    if (!w_o)
        return EXIT_UNUSABLE;
    layer->w_o = w_o;
    if (headwise_mha_weights(mha, w_o, NULL, NULL, HEADWISE_MHA_O, config->layout) != HEADWISE_OK)
        return fail("%s", headwise_last_error());
    return EXIT_GOOD;
}
