/* Writes a layer of a weights file without some of its heads. */
#include "calls/prune_layer.h"

#include "common/arrays.h"
#include "common/message.h"
#include "headwise/common.h"

enum { N_TENSORS = 8 };

/* "0,2,3" */
static const char *join(struct arena *arena, const char *head, const int64_t *numbers, int64_t n) {
    char *text = arena_text(arena, "%s", head ? head : "");
    for (int64_t i = 0; text && i < n; i++)
        text = arena_text(arena, "%s%s%lld", text, *text ? "," : "", (long long)numbers[i]);
    return text;
}

/* The weights of a part in the type that the layer was given in, which has their bits. */
static int take_weights(struct headwise_file_tensor *tensor, struct arena *arena,
                        const headwise_mha *mha, enum headwise_mha_part part,
                        enum headwise_dtype dtype) {
    size_t n = (size_t)(tensor->shape[0] * tensor->shape[1]);
    float *wide = arena_take(arena, (int64_t)n, sizeof *wide);
    uint16_t *narrow = dtype == HEADWISE_F32 ? NULL : arena_take(arena, (int64_t)n, sizeof *narrow);
    if (!wide || (dtype != HEADWISE_F32 && !narrow))
        return EXIT_UNUSABLE;
    if (headwise_mha_weights(mha, wide, NULL, NULL, part, HEADWISE_IN_OUT) != HEADWISE_OK)
        return fail("%s", headwise_last_error());
    if (dtype == HEADWISE_F16)
        headwise_f16_from_f32(narrow, wide, n);
    else if (dtype == HEADWISE_BF16)
        headwise_bf16_from_f32(narrow, wide, n);
    tensor->dtype = file_dtype(dtype);
    tensor->data = narrow ? (void *)narrow : (void *)wide;
    return EXIT_GOOD;
}

static int take_bias(struct headwise_file_tensor *tensor, struct arena *arena,
                     const headwise_mha *mha, enum headwise_mha_part part, int64_t n) {
    float *bias = arena_take(arena, n, sizeof *bias);
    if (!bias)
        return EXIT_UNUSABLE;
    if (headwise_mha_weights(mha, NULL, bias, NULL, part, HEADWISE_IN_OUT) != HEADWISE_OK)
        return fail("%s", headwise_last_error());
    *tensor = (struct headwise_file_tensor){
        .name = tensor->name, .dtype = HEADWISE_FILE_F32, .rank = 1, .shape = {n}, .data = bias};
    return EXIT_GOOD;
}

static int take_tensors(struct headwise_file_tensor *tensors, size_t *n, struct arena *arena,
                        const headwise_mha *mha, const struct headwise_mha_config *config) {
    int64_t q = headwise_mha_describe(mha)->n_heads * config->head_dim;
    int64_t k = headwise_mha_describe(mha)->n_kv_heads * config->head_dim;
    int64_t v = headwise_mha_describe(mha)->n_kv_heads * config->value_dim;
    int64_t o = headwise_mha_describe(mha)->n_heads * config->value_dim;
    const struct {
        const char *name, *bias_name;
        const float *bias; /* NULL: there was none */
        int64_t in, out;
    } parts[] = {{"W_Q", "b_Q", config->b_q, config->d_model, q},
                 {"W_K", "b_K", config->b_k, config->d_memory, k},
                 {"W_V", "b_V", config->b_v, config->d_memory, v},
                 {"W_O", "b_O", config->b_o, o, config->d_out}};
    *n = 0;
    for (int i = 0; i < 4; i++) {
        struct headwise_file_tensor *tensor = &tensors[(*n)++];
        *tensor = (struct headwise_file_tensor){
            .name = parts[i].name, .rank = 2, .shape = {parts[i].in, parts[i].out}};
        int code =
            take_weights(tensor, arena, mha, (enum headwise_mha_part)i, config->weight_dtype);
        if (!code && parts[i].bias) {
            tensors[*n].name = parts[i].bias_name;
            code = take_bias(&tensors[(*n)++], arena, mha, (enum headwise_mha_part)i, parts[i].out);
        }
        if (code)
            return code;
    }
    return EXIT_GOOD;
}

static int write_layer(const char *path, struct arena *arena, const struct layer_opened *opened,
                       const headwise_mha *mha, const struct headwise_prune_options *options) {
    struct headwise_file_tensor tensors[N_TENSORS];
    size_t n;
    int64_t n_heads = headwise_mha_describe(mha)->n_heads,
            n_kv_heads = headwise_mha_describe(mha)->n_kv_heads;
    int code = take_tensors(tensors, &n, arena, mha, &opened->layer.config);
    int64_t *sizes = arena_take(arena, n_kv_heads, sizeof *sizes);
    if (code || !sizes)
        return EXIT_UNUSABLE;
    for (int64_t g = 0; g < n_kv_heads; g++)
        sizes[g] = headwise_mha_describe(mha)->group_sizes[g];
    const char *before = headwise_safetensors_metadata(opened->weights, "pruned_heads");
    const struct headwise_file_metadata metadata[] = {
        {"num_heads", arena_text(arena, "%lld", (long long)n_heads)},
        {"num_kv_heads", arena_text(arena, "%lld", (long long)n_kv_heads)},
        {"head_numbers", join(arena, NULL, headwise_mha_describe(mha)->head_numbers, n_heads)},
        {"group_sizes", join(arena, NULL, sizes, n_kv_heads)},
        {"pruned_heads", join(arena, before, options->heads, options->n_heads)},
        {"headwise", headwise_version()},
    };
    for (size_t i = 0; i < sizeof metadata / sizeof *metadata; i++) {
        if (!metadata[i].value)
            return EXIT_UNUSABLE;
    }
    if (headwise_safetensors_write(path, tensors, n, metadata,
                                   sizeof metadata / sizeof *metadata) != HEADWISE_OK)
        return fail("%s", headwise_io_last_error());
    return EXIT_GOOD;
}

int prune_layer_write(const char *path, struct arena *arena, const struct layer_opened *opened,
                      const char *weights_path, const struct headwise_prune_options *options) {
    headwise_mha *mha = NULL, *pruned = NULL;
    int code = EXIT_GOOD;
    if (headwise_mha_create(&mha, opened->context, &opened->layer.config) != HEADWISE_OK ||
        headwise_mha_prune(&pruned, opened->context, mha, options) != HEADWISE_OK)
        code = fail("%s: %s", weights_path, headwise_last_error());
    if (!code && headwise_mha_describe(pruned)->n_heads == 0)
        code = fail("%s: no head would be left, expected one or more", weights_path);
    if (!code)
        code = write_layer(path, arena, opened, pruned, options);
    headwise_mha_destroy(pruned);
    headwise_mha_destroy(mha);
    return code;
}
