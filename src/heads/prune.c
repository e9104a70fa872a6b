/* Builds the layer that is left when heads are pruned. */
#include "heads/prune.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/float_mode.h"
#include "base/scratch.h"

/* What stays of a layer, and its weights while the new one is made from them. */
struct rest {
    const headwise_mha *mha;
    const struct headwise_kernels *kernels;
    int64_t n_heads, n_kv_heads;
    int64_t *heads, *kv_heads; /* places in the layer of those that stay */
    int64_t *numbers, *group_sizes;
    float *w_q, *w_k, *w_v, *w_o, *b_q, *b_k, *b_v, *row;
    float *scales_q, *scales_k, *scales_v; /* I8 only */
    bool merges;
};

int64_t headwise_mha_find_head(const headwise_mha *mha, int64_t number) {
    for (int64_t h = 0; h < mha->n_heads; h++) {
        if (mha->head_numbers[h] == number)
            return h;
    }
    return -1;
}

static bool is_dropped(const struct headwise_prune_options *options, int64_t number) {
    for (int64_t i = 0; i < options->n_heads; i++) {
        if (options->heads[i] == number)
            return true;
    }
    return false;
}

static void list_rest(struct rest *rest, const struct headwise_prune_options *options) {
    const headwise_mha *mha = rest->mha;
    for (int64_t g = 0; g < mha->n_kv_heads; g++) {
        int64_t before = rest->n_heads;
        for (int64_t h = mha->group_starts[g]; h < mha->group_starts[g + 1]; h++) {
            if (is_dropped(options, mha->head_numbers[h]))
                continue;
            rest->numbers[rest->n_heads] = mha->head_numbers[h];
            rest->heads[rest->n_heads++] = h;
        }
        if (rest->n_heads == before)
            continue;
        rest->group_sizes[rest->n_kv_heads] = rest->n_heads - before;
        rest->kv_heads[rest->n_kv_heads++] = g;
    }
}

/* Places for n heads of dim columns of every row of a matrix, of its bias and scales, [in][out]. */
static void take_columns(const struct rest *rest, float *weights, float *bias, float *scales,
                         const struct headwise_matrix *matrix, const int64_t *heads, int64_t n,
                         int64_t dim) {
    size_t bytes = (size_t)dim * sizeof(float);
    for (int64_t t = 0; t < matrix->k; t++) {
        headwise_matrix_row(rest->row, matrix, rest->kernels, t);
        for (int64_t i = 0; i < n; i++)
            memcpy(weights + (t * n + i) * dim, rest->row + heads[i] * dim, bytes);
    }
    for (int64_t i = 0; i < n; i++)
        memcpy(bias + i * dim, matrix->bias + heads[i] * dim, bytes);
    for (int64_t i = 0; matrix->scales && i < n; i++)
        memcpy(scales + i * dim, matrix->scales + heads[i] * dim, bytes);
}

static void take_output(const struct rest *rest) {
    const struct headwise_matrix *o = &rest->mha->o;
    int64_t dim = rest->mha->value_dim;
    for (int64_t i = 0; i < rest->n_heads; i++)
        for (int64_t t = 0; t < dim; t++)
            headwise_matrix_row(rest->w_o + (i * dim + t) * o->n, o, rest->kernels,
                                rest->heads[i] * dim + t);
}

/* Adds the rows of W_O of a dropped head to those of the one that takes over. */
static void merge_head(const struct rest *rest, int64_t dropped, int64_t into) {
    const struct headwise_matrix *o = &rest->mha->o;
    int64_t dim = rest->mha->value_dim, from = headwise_mha_find_head(rest->mha, dropped), to = 0;
    while (rest->numbers[to] != into)
        to++;
    for (int64_t t = 0; t < dim; t++) {
        headwise_matrix_row(rest->row, o, rest->kernels, from * dim + t);
        rest->kernels->add(rest->w_o + (to * dim + t) * o->n, rest->row, o->n);
    }
}

/* Memory for everything in rest, once its numbers are known; NULL in *memory where there is none.
 */
static size_t place_weights(struct rest *rest, const struct headwise_allocator *allocator,
                            float **memory) {
    const headwise_mha *mha = rest->mha;
    int64_t q = rest->n_heads * mha->head_dim, k = rest->n_kv_heads * mha->head_dim;
    int64_t v = rest->n_kv_heads * mha->value_dim, o = rest->n_heads * mha->value_dim;
    int64_t widest =
        headwise_max(headwise_max(mha->q.n, mha->k.n), headwise_max(mha->v.n, mha->o.n));
    const struct {
        float **at;
        int64_t rows, columns;
    } parts[] = {{&rest->w_q, mha->d_model, q},
                 {&rest->w_k, mha->d_memory, k},
                 {&rest->w_v, mha->d_memory, v},
                 {&rest->w_o, o, mha->d_out},
                 {&rest->b_q, 1, q},
                 {&rest->b_k, 1, k},
                 {&rest->b_v, 1, v},
                 {&rest->scales_q, 1, q},
                 {&rest->scales_k, 1, k},
                 {&rest->scales_v, 1, v},
                 {&rest->row, 1, widest}};
    enum { N_PARTS = sizeof parts / sizeof parts[0] };
    int64_t total = 0, at[N_PARTS];
    for (int i = 0; i < N_PARTS; i++)
        at[i] = headwise_take(&total, parts[i].rows, parts[i].columns);
    *memory = NULL;
    int64_t bytes = headwise_float_bytes(total);
    if (bytes >= 0)
        *memory = headwise_alloc(allocator, (size_t)bytes);
    for (int i = 0; *memory && i < N_PARTS; i++)
        *parts[i].at = *memory + at[i];
    return (size_t)bytes;
}

static enum headwise_status build(headwise_mha **pruned, headwise_context *context,
                                  const struct rest *rest) {
    const headwise_mha *mha = rest->mha;
    struct headwise_mha_config config = {
        .size = sizeof config,
        .d_model = mha->d_model,
        .d_memory = mha->d_memory,
        .d_out = mha->d_out,
        .n_heads = rest->n_heads,
        .n_kv_heads = rest->n_kv_heads,
        .head_dim = mha->head_dim,
        .value_dim = mha->value_dim,
        .layout = HEADWISE_IN_OUT,
        .weight_dtype = HEADWISE_F32,
        .w_q = rest->w_q,
        .w_k = rest->w_k,
        .w_v = rest->w_v,
        .w_o = rest->w_o,
        .b_q = rest->b_q,
        .b_k = rest->b_k,
        .b_v = rest->b_v,
        .b_o = mha->o.bias,
        .rotary = mha->rotary,
        .q_norm = mha->q_norm.weight, /* what norm_adds_one adds is in there */
        .k_norm = mha->k_norm.weight,
        .q_norm_bias = mha->q_norm.bias,
        .k_norm_bias = mha->k_norm.bias,
        .norm = mha->norm,
        .norm_eps = mha->norm_eps,
        .group_sizes = rest->group_sizes,
        .head_numbers = rest->numbers,
        .packed_dtype = mha->o.dtype,
        .dynamic_int8 = mha->o.together > 0,
        .dynamic_group = mha->o.group,
    };
    if (mha->o.dtype == HEADWISE_I8 && !mha->o.group) { /* groups find the scales they had */
        config.scales_q = rest->scales_q;
        config.scales_k = rest->scales_k;
        config.scales_v = rest->scales_v;
        config.scales_o = rest->merges ? NULL : mha->o.scales;
    }
    return headwise_mha_build(pruned, context, &config);
}

static enum headwise_status build_rest(headwise_mha **pruned, headwise_context *context,
                                       struct rest *rest,
                                       const struct headwise_prune_options *options) {
    const headwise_mha *mha = rest->mha;
    float *memory;
    list_rest(rest, options);
    size_t bytes = place_weights(rest, &context->allocator, &memory);
    if (!memory)
        return headwise_fail(HEADWISE_ERR_NO_MEMORY, "mha_prune: out of memory");
    take_columns(rest, rest->w_q, rest->b_q, rest->scales_q, &mha->q, rest->heads, rest->n_heads,
                 mha->head_dim);
    take_columns(rest, rest->w_k, rest->b_k, rest->scales_k, &mha->k, rest->kv_heads,
                 rest->n_kv_heads, mha->head_dim);
    take_columns(rest, rest->w_v, rest->b_v, rest->scales_v, &mha->v, rest->kv_heads,
                 rest->n_kv_heads, mha->value_dim);
    take_output(rest);
    for (int64_t i = 0; options->merge_into && i < options->n_heads; i++) {
        if (options->merge_into[i] < 0)
            continue;
        merge_head(rest, options->heads[i], options->merge_into[i]);
        rest->merges = true;
    }
    enum headwise_status status = build(pruned, context, rest);
    headwise_release(&context->allocator, memory, bytes);
    return status;
}

enum headwise_status headwise_mha_prune_run(headwise_mha **pruned, headwise_context *context,
                                            const headwise_mha *mha,
                                            const struct headwise_prune_options *options) {
    HEADWISE_FLOAT_SCOPE();
    size_t bytes = (size_t)(2 * (mha->n_heads + mha->n_kv_heads) + 1) * sizeof(int64_t);
    int64_t *lists = headwise_alloc(&context->allocator, bytes);
    if (!lists)
        return headwise_fail(HEADWISE_ERR_NO_MEMORY, "mha_prune: out of memory");
    struct rest rest = {
        .mha = mha,
        .kernels = context->kernels,
        .heads = lists,
        .numbers = lists + mha->n_heads,
        .kv_heads = lists + 2 * mha->n_heads,
        .group_sizes = lists + 2 * mha->n_heads + mha->n_kv_heads,
    };
    enum headwise_status status = build_rest(pruned, context, &rest, options);
    headwise_release(&context->allocator, lists, bytes);
    return status;
}
