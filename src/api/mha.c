/* Creation of a layer: sizes, groups and weights of its config. */
#include "headwise/mha.h"
#include "api/check_layer.h"
#include "api/check_weights.h"
#include "base/error.h"
#include "base/options.h"
#include "layer/mha.h"

static enum headwise_status check_layer_sizes(const struct headwise_mha_config *config) {
    bool pruned = config->head_numbers != NULL;
    const struct {
        const char *name;
        int64_t size, least;
    } sizes[] = {
        {"d_model", config->d_model, 1},       {"d_memory", config->d_memory, 0},
        {"d_out", config->d_out, 0},           {"n_heads", config->n_heads, pruned ? 0 : 1},
        {"n_kv_heads", config->n_kv_heads, 0}, {"head_dim", config->head_dim, 0},
        {"value_dim", config->value_dim, 0},
    };
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        enum headwise_status status =
            headwise_check_width("mha", sizes[i].name, sizes[i].size, sizes[i].least);
        if (status != HEADWISE_OK)
            return status;
    }
    return HEADWISE_OK;
}

/* Groups and numbers of a layer whose n_kv_heads is filled in. */
static enum headwise_status check_groups(const struct headwise_mha_config *config) {
    int64_t sum = 0;
    if (config->n_kv_heads > config->n_heads ||
        (!config->group_sizes && config->n_heads > 0 && config->n_heads % config->n_kv_heads != 0))
        return headwise_fail(HEADWISE_ERR_INVALID,
                             "mha: %lld query heads are not divisible by %lld kv heads",
                             (long long)config->n_heads, (long long)config->n_kv_heads);
    for (int64_t g = 0; config->group_sizes && g < config->n_kv_heads; g++) {
        if (config->group_sizes[g] < 1 || config->group_sizes[g] > config->n_heads - sum)
            return headwise_fail(
                HEADWISE_ERR_INVALID,
                "mha: group_sizes[%lld] is %lld, expected 1 or more, and %lld in sum", (long long)g,
                (long long)config->group_sizes[g], (long long)config->n_heads);
        sum += config->group_sizes[g];
    }
    if (config->group_sizes && sum != config->n_heads)
        return headwise_fail(HEADWISE_ERR_INVALID,
                             "mha: group_sizes sum to %lld, expected %lld heads", (long long)sum,
                             (long long)config->n_heads);
    for (int64_t h = 0; config->head_numbers && h < config->n_heads; h++) {
        int64_t least = h > 0 ? config->head_numbers[h - 1] + 1 : 0;
        if (config->head_numbers[h] < least || config->head_numbers[h] >= (int64_t)1 << 30)
            return headwise_fail(HEADWISE_ERR_INVALID,
                                 "mha: head_numbers[%lld] is %lld, expected at least %lld (they "
                                 "increase) and below 2^30",
                                 (long long)h, (long long)config->head_numbers[h],
                                 (long long)least);
    }
    return HEADWISE_OK;
}

/* Fills in the sizes that were left 0. */
static enum headwise_status resolve_sizes(struct headwise_mha_config *config) {
    enum headwise_status status = check_layer_sizes(config);
    if (status != HEADWISE_OK)
        return status;
    config->d_memory = config->d_memory ? config->d_memory : config->d_model;
    config->d_out = config->d_out ? config->d_out : config->d_model;
    config->n_kv_heads = config->n_kv_heads ? config->n_kv_heads : config->n_heads;
    status = check_groups(config);
    if (status != HEADWISE_OK)
        return status;
    if (!config->head_dim && (config->head_numbers || config->d_model % config->n_heads != 0))
        return headwise_fail(
            HEADWISE_ERR_INVALID,
            config->head_numbers
                ? "mha: a pruned layer of d_model %lld and %lld heads: set head_dim"
                : "mha: d_model %lld is not divisible by %lld heads: set head_dim",
            (long long)config->d_model, (long long)config->n_heads);
    config->head_dim = config->head_dim ? config->head_dim : config->d_model / config->n_heads;
    config->value_dim = config->value_dim ? config->value_dim : config->head_dim;
    status =
        headwise_check_width("mha", "n_heads * head_dim", config->n_heads * config->head_dim, 0);
    if (status == HEADWISE_OK)
        status = headwise_check_width("mha", "n_heads * value_dim",
                                      config->n_heads * config->value_dim, 0);
    return status;
}

static enum headwise_status check_weights(const struct headwise_mha_config *config) {
    const struct {
        const char *name;
        const void *weights;
    } matrices[] = {
        {"w_q", config->w_q}, {"w_k", config->w_k}, {"w_v", config->w_v}, {"w_o", config->w_o}};
    for (int i = 0; config->n_heads > 0 && i < 4; i++) {
        if (!matrices[i].weights)
            return headwise_fail(HEADWISE_ERR_INVALID, "mha: %s is NULL", matrices[i].name);
    }
    enum headwise_status status = headwise_check_layout("mha", (int)config->layout);
    return status == HEADWISE_OK ? headwise_check_mha_weights(config) : status;
}

enum headwise_status headwise_mha_create(headwise_mha **mha, headwise_context *context,
                                         const struct headwise_mha_config *config) {
    struct headwise_mha_config resolved;
    if (!mha || !context || !config)
        return headwise_fail(HEADWISE_ERR_INVALID, "mha: %s is NULL",
                             !mha       ? "the place for it"
                             : !context ? "context"
                                        : "config");
    enum headwise_status status = HEADWISE_COPY_OPTIONS(&resolved, config, "mha: config");
    if (status == HEADWISE_OK)
        status = resolve_sizes(&resolved);
    if (status == HEADWISE_OK)
        status = check_weights(&resolved);
    if (status == HEADWISE_OK)
        status = headwise_check_heads_config(&resolved);
    if (status != HEADWISE_OK)
        return status;
    return headwise_mha_build(mha, context, &resolved);
}
