/* Builds layers from checked configs. */
#include "layer/mha.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/float_mode.h"

/* A copy of n floats, each plus added; NULL stays NULL. */
static enum headwise_status copy_row(float **copy, const struct headwise_allocator *allocator,
                                     const float *row, int64_t n, float added) {
    if (!row)
        return HEADWISE_OK;
    *copy = headwise_alloc(allocator, headwise_bytes(n, sizeof(float)));
    if (!*copy)
        return headwise_fail(HEADWISE_ERR_NO_MEMORY, "mha: no memory for a norm of %lld",
                             (long long)n);
    for (int64_t j = 0; j < n; j++)
        (*copy)[j] = row[j] + added;
    return HEADWISE_OK;
}

static enum headwise_status copy_norms(headwise_mha *mha,
                                       const struct headwise_mha_config *config) {
    const struct {
        float **copy;
        const float *row;
        float added;
    } rows[] = {
        {&mha->q_norm.weight, config->q_norm, config->norm_adds_one ? 1.0f : 0.0f},
        {&mha->k_norm.weight, config->k_norm, config->norm_adds_one ? 1.0f : 0.0f},
        {&mha->q_norm.bias, config->q_norm_bias, 0.0f},
        {&mha->k_norm.bias, config->k_norm_bias, 0.0f},
    };
    enum headwise_status status = HEADWISE_OK;
    for (int i = 0; i < 4 && status == HEADWISE_OK; i++)
        status = copy_row(rows[i].copy, &mha->allocator, rows[i].row, mha->head_dim, rows[i].added);
    return status;
}

static void release_norm(const headwise_mha *mha, const struct headwise_head_norm *norm) {
    size_t bytes = (size_t)mha->head_dim * sizeof(float);
    headwise_release(&mha->allocator, norm->weight, bytes);
    headwise_release(&mha->allocator, norm->bias, bytes);
}

static size_t numbers_bytes(const headwise_mha *mha) {
    return (size_t)(mha->n_heads + 2 * mha->n_kv_heads + 1) * sizeof(int64_t);
}

/* Numbers and groups, from the config or as they are without pruning. */
static void number_heads(headwise_mha *mha, const struct headwise_mha_config *config) {
    int64_t group = mha->n_kv_heads > 0 ? mha->n_heads / mha->n_kv_heads : 0;
    for (int64_t h = 0; h < mha->n_heads; h++)
        mha->head_numbers[h] = config->head_numbers ? config->head_numbers[h] : h;
    mha->group_starts = mha->head_numbers + mha->n_heads;
    mha->group_sizes = mha->group_starts + mha->n_kv_heads + 1;
    mha->group_starts[0] = 0;
    for (int64_t g = 0; g < mha->n_kv_heads; g++) {
        int64_t size = config->group_sizes ? config->group_sizes[g] : group;
        mha->group_sizes[g] = size;
        mha->group_starts[g + 1] = mha->group_starts[g] + size;
        mha->uneven = mha->uneven || size != group;
    }
}

static enum headwise_status pack_matrices(headwise_mha *mha, const headwise_context *context,
                                          const struct headwise_mha_config *config) {
    const struct {
        struct headwise_matrix *matrix;
        const char *name;
        const void *weights;
        const float *scales, *bias;
        int64_t inputs, outputs;
    } parts[] = {
        {&mha->q, "w_q", config->w_q, config->scales_q, config->b_q, config->d_model,
         config->n_heads * config->head_dim},
        {&mha->k, "w_k", config->w_k, config->scales_k, config->b_k, config->d_memory,
         config->n_kv_heads * config->head_dim},
        {&mha->v, "w_v", config->w_v, config->scales_v, config->b_v, config->d_memory,
         config->n_kv_heads * config->value_dim},
        {&mha->o, "w_o", config->w_o, config->scales_o, config->b_o,
         config->n_heads * config->value_dim, config->d_out},
    };
    enum headwise_status status = HEADWISE_OK;
    for (int i = 0; i < 4 && status == HEADWISE_OK; i++) {
        const struct headwise_matrix_source source = {"mha",
                                                      parts[i].name,
                                                      parts[i].weights,
                                                      config->weight_dtype,
                                                      config->layout,
                                                      parts[i].scales,
                                                      parts[i].bias,
                                                      config->dynamic_int8 ? context->dot : NULL,
                                                      config->dynamic_group};
        status =
            headwise_matrix_create(parts[i].matrix, context->kernels, &context->allocator, &source,
                                   config->packed_dtype, parts[i].inputs, parts[i].outputs);
    }
    return status;
}

static struct headwise_mha_info info_of(const headwise_mha *mha) {
    const struct headwise_matrix *matrices[] = {&mha->q, &mha->k, &mha->v, &mha->o};
    struct headwise_mha_info info = {
        .size = sizeof info,
        .d_model = mha->d_model,
        .d_memory = mha->d_memory,
        .d_out = mha->d_out,
        .n_heads = mha->n_heads,
        .n_kv_heads = mha->n_kv_heads,
        .head_dim = mha->head_dim,
        .value_dim = mha->value_dim,
        .group_sizes = mha->group_sizes,
        .head_numbers = mha->head_numbers,
        .packed_dtype = mha->o.dtype,
        .dynamic_int8 = mha->o.together > 0,
        .dynamic_group = mha->o.group,
    };
    for (int i = 0; i < 4; i++)
        info.weight_bytes +=
            matrices[i]->panels_bytes + (matrices[i]->scales ? matrices[i]->scales_bytes : 0);
    return info;
}

enum headwise_status headwise_mha_build(headwise_mha **mha, headwise_context *context,
                                        const struct headwise_mha_config *config) {
    HEADWISE_FLOAT_SCOPE();
    headwise_mha *created = headwise_alloc(&context->allocator, sizeof *created);
    if (!created)
        return headwise_fail(HEADWISE_ERR_NO_MEMORY, "mha: out of memory");
    *created = (headwise_mha){
        .isa = context->kernels->isa,
        .d_model = config->d_model,
        .d_memory = config->d_memory,
        .d_out = config->d_out,
        .n_heads = config->n_heads,
        .n_kv_heads = config->n_kv_heads,
        .head_dim = config->head_dim,
        .value_dim = config->value_dim,
        .rotary = config->rotary,
        .norm = config->norm,
        .norm_eps = config->norm_eps,
        .allocator = context->allocator,
    };
    created->head_numbers = headwise_alloc(&context->allocator, numbers_bytes(created));
    if (!created->head_numbers) {
        headwise_mha_destroy(created);
        return headwise_fail(HEADWISE_ERR_NO_MEMORY, "mha: out of memory");
    }
    number_heads(created, config);
    enum headwise_status status = copy_norms(created, config);
    if (status == HEADWISE_OK)
        status = pack_matrices(created, context, config);
    if (status != HEADWISE_OK) {
        headwise_mha_destroy(created);
        return status;
    }
    created->info = info_of(created);
    *mha = created;
    return HEADWISE_OK;
}

void headwise_mha_destroy(headwise_mha *mha) {
    if (!mha)
        return;
    struct headwise_allocator allocator = mha->allocator;
    headwise_matrix_destroy(&mha->q, &allocator);
    headwise_matrix_destroy(&mha->k, &allocator);
    headwise_matrix_destroy(&mha->v, &allocator);
    headwise_matrix_destroy(&mha->o, &allocator);
    release_norm(mha, &mha->q_norm);
    release_norm(mha, &mha->k_norm);
    headwise_release(&allocator, mha->head_numbers, numbers_bytes(mha));
    headwise_release(&allocator, mha, sizeof *mha);
}

const struct headwise_mha_info *headwise_mha_describe(const headwise_mha *mha) {
    return &mha->info;
}
