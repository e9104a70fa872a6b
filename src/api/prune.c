/* Layers without some of their heads, and their weights read back: checks. */
#include <string.h>

#include "api/check_layer.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/options.h"
#include "heads/prune.h"
#include "headwise/heads.h"
#include "kernels/dispatch.h"

static bool is_among(const int64_t *numbers, int64_t n, int64_t number) {
    for (int64_t i = 0; i < n; i++) {
        if (numbers[i] == number)
            return true;
    }
    return false;
}

static enum headwise_status check_heads(const headwise_mha *mha,
                                        const struct headwise_prune_options *options) {
    if (options->n_heads < 0 || options->n_heads > mha->n_heads)
        return headwise_fail(HEADWISE_ERR_INVALID,
                             "mha_prune: %lld heads to drop, expected 0 to %lld",
                             (long long)options->n_heads, (long long)mha->n_heads);
    if (options->n_heads > 0 && !options->heads)
        return headwise_fail(HEADWISE_ERR_INVALID, "mha_prune: heads is NULL");
    for (int64_t i = 0; i < options->n_heads; i++) {
        if (headwise_mha_find_head(mha, options->heads[i]) < 0)
            return headwise_fail(HEADWISE_ERR_INVALID,
                                 "mha_prune: heads[%lld] is %lld, which the layer does not have",
                                 (long long)i, (long long)options->heads[i]);
        if (is_among(options->heads, i, options->heads[i]))
            return headwise_fail(HEADWISE_ERR_INVALID,
                                 "mha_prune: heads[%lld] is %lld, which comes twice", (long long)i,
                                 (long long)options->heads[i]);
    }
    return HEADWISE_OK;
}

static enum headwise_status check_merges(const headwise_mha *mha,
                                         const struct headwise_prune_options *options) {
    for (int64_t i = 0; options->merge_into && i < options->n_heads; i++) {
        int64_t into = options->merge_into[i];
        if (into == -1)
            continue;
        if (into < 0 || headwise_mha_find_head(mha, into) < 0 ||
            is_among(options->heads, options->n_heads, into))
            return headwise_fail(HEADWISE_ERR_INVALID,
                                 "mha_prune: merge_into[%lld] is %lld, expected a head of the "
                                 "layer that stays, or -1",
                                 (long long)i, (long long)into);
    }
    return HEADWISE_OK;
}

enum headwise_status headwise_mha_prune(headwise_mha **pruned, headwise_context *context,
                                        const headwise_mha *mha,
                                        const struct headwise_prune_options *options) {
    struct headwise_prune_options given;
    enum headwise_status status = headwise_check_layer("mha_prune", context, mha);
    if (status == HEADWISE_OK && (!pruned || !options))
        status = headwise_fail(HEADWISE_ERR_INVALID, "mha_prune: %s is NULL",
                               !pruned ? "the place for the layer" : "options");
    if (status == HEADWISE_OK)
        status = HEADWISE_COPY_OPTIONS(&given, options, "mha_prune: options");
    if (status == HEADWISE_OK)
        status = check_heads(mha, &given);
    if (status == HEADWISE_OK)
        status = check_merges(mha, &given);
    return status == HEADWISE_OK ? headwise_mha_prune_run(pruned, context, mha, &given) : status;
}

enum headwise_status headwise_mha_gather_heads(const headwise_mha *mha, float *dst,
                                               const float *src, int64_t columns) {
    int64_t floats;
    if (!mha || !dst || !src)
        return headwise_fail(HEADWISE_ERR_INVALID, "mha_gather_heads: %s is NULL",
                             !mha   ? "the layer"
                             : !dst ? "dst"
                                    : "src");
    int64_t last = mha->n_heads > 0 ? mha->head_numbers[mha->n_heads - 1] : 0;
    if (columns < 0 || !headwise_mul(&floats, columns, last + 1) ||
        floats > (int64_t)(PTRDIFF_MAX / 8))
        return headwise_fail(HEADWISE_ERR_INVALID,
                             "mha_gather_heads: columns is %lld, expected 0 or more, and an array "
                             "that fits memory",
                             (long long)columns);
    for (int64_t h = 0; h < mha->n_heads; h++) /* numbers increase: dst may be src */
        memmove(dst + h * columns, src + mha->head_numbers[h] * columns,
                (size_t)columns * sizeof(float));
    return HEADWISE_OK;
}

static const struct headwise_matrix *part_of(const headwise_mha *mha, enum headwise_mha_part part) {
    const struct headwise_matrix *const matrices[] = {&mha->q, &mha->k, &mha->v, &mha->o};
    return matrices[part];
}

enum headwise_status headwise_mha_weights(const headwise_mha *mha, float *weights, float *bias,
                                          float *scales, enum headwise_mha_part part,
                                          enum headwise_layout layout) {
    if (!mha)
        return headwise_fail(HEADWISE_ERR_INVALID, "mha_weights: the layer is NULL");
    if ((unsigned)part > HEADWISE_MHA_O)
        return headwise_fail(HEADWISE_ERR_INVALID, "mha_weights: part is %d, no headwise_mha_part",
                             (int)part);
    if ((unsigned)layout > HEADWISE_IN_OUT)
        return headwise_fail(HEADWISE_ERR_INVALID, "mha_weights: layout is %d, no headwise_layout",
                             (int)layout);
    const struct headwise_matrix *matrix = part_of(mha, part);
    if (scales && matrix->dtype != HEADWISE_I8)
        return headwise_fail(HEADWISE_ERR_INVALID,
                             "mha_weights: the layer's weights are %s, only i8 has scales",
                             headwise_dtype_name(matrix->dtype));
    if (scales && matrix->group > 0)
        return headwise_fail(
            HEADWISE_ERR_INVALID,
            "mha_weights: scales are of %lld inputs each, which create finds again",
            (long long)matrix->group);
    if (weights)
        headwise_matrix_unpack(weights, matrix, headwise_kernels_get(mha->isa), layout);
    if (bias && matrix->n > 0)
        memcpy(bias, matrix->bias, (size_t)matrix->n * sizeof(float));
    if (scales && matrix->n > 0)
        memcpy(scales, matrix->scales, (size_t)matrix->n * sizeof(float));
    return HEADWISE_OK;
}
