/* Heads and widths of a layer, and the shapes that follow from them. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checkpoint/internal.h"
#include "files/error.h"

#define WIDTH_KEY "hidden_size|n_embd|n_embed|d_model|dim"

/* "[64, 32]" */
static void print_shape(char *text, size_t size, int rank, const int64_t *shape) {
    size_t used = (size_t)snprintf(text, size, "[");
    for (int i = 0; i < rank && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%" PRId64, i ? ", " : "", shape[i]);
    if (used < size)
        snprintf(text + used, size - used, "]");
}

static enum headwise_status fail_shape(const headwise_checkpoint *checkpoint,
                                       const struct headwise_io_tensor *tensor,
                                       const char *expected, const char *why) {
    char found[200];
    print_shape(found, sizeof found, tensor->tensor->rank, tensor->tensor->shape);
    return headwise_io_fail(HEADWISE_ERR_FORMAT, "%s: tensor \"%s\": shape %s, expected %s%s%s%s",
                            headwise_io_files_path(&checkpoint->files, tensor),
                            tensor->tensor->name, found, expected, *why ? " (" : "", why,
                            *why ? ")" : "");
}

enum headwise_status headwise_io_expect_shape(const headwise_checkpoint *checkpoint,
                                              const struct headwise_io_tensor *tensor, int rank,
                                              const int64_t *shape, const char *why) {
    char expected[200];
    if (rank < 0)
        return fail_shape(checkpoint, tensor, why, "");
    bool same = tensor->tensor->rank == rank;
    for (int i = 0; same && i < rank; i++)
        same = tensor->tensor->shape[i] == shape[i];
    if (same)
        return HEADWISE_OK;
    print_shape(expected, sizeof expected, rank, shape);
    return fail_shape(checkpoint, tensor, expected, why);
}

static int64_t rows_of(const struct headwise_io_plan *plan, int m) {
    return plan->w[m].tensor->shape[plan->family->conv1d ? 1 : 0];
}

static int64_t columns_of(const struct headwise_io_plan *plan, int m) {
    return plan->w[m].tensor->shape[plan->family->conv1d ? 0 : 1];
}

static enum headwise_status check_ranks(const struct headwise_io_plan *plan) {
    for (int m = 0; m < 4; m++) {
        const struct headwise_file_tensor *tensor = plan->w[m].tensor;
        if (tensor->rank != 2 || tensor->n_elements == 0)
            return fail_shape(plan->checkpoint, &plan->w[m], "a matrix", "");
    }
    return HEADWISE_OK;
}

/* The head size where only the width of all heads tells it: pruning does not change that. */
static enum headwise_status size_pruned_heads(struct headwise_io_plan *plan) {
    int64_t width = 0;
    if (plan->head_dim > 0)
        return HEADWISE_OK;
    enum headwise_status status = headwise_io_config_integer(&plan->settings, WIDTH_KEY, 1, &width);
    if (!status && (width == 0 || width % plan->n_heads != 0))
        status = headwise_io_config_fail(&plan->settings, WIDTH_KEY,
                                         "a width that the heads divide, for pruned_heads");
    plan->head_dim = width / plan->n_heads;
    return status;
}

/* What options, config.json and one-dimensional tensors say of n_heads and head_dim; 0: nothing.
 * n_heads are those that are left, n_all all. */
static enum headwise_status ask_heads(struct headwise_io_plan *plan, int64_t *n_all,
                                      bool **pruned) {
    const struct headwise_checkpoint_options *options = &plan->checkpoint->options;
    const char *key = plan->part->heads_key ? plan->part->heads_key : HEADWISE_IO_HEADS_KEY;
    int64_t n_pruned = 0;
    if (plan->checkpoint->has_config)
        plan->n_heads = plan->part->n_heads;
    enum headwise_status status =
        headwise_io_config_integer(&plan->settings, key, 1, &plan->n_heads);
    if (!status)
        status = headwise_io_config_integer(&plan->settings, "head_dim|d_kv", 1, &plan->head_dim);
    if (status)
        return status;
    if (options->n_heads > 0)
        plan->n_heads = options->n_heads;
    if (options->head_dim > 0)
        plan->head_dim = options->head_dim;
    if (plan->head_dim == 0 && plan->q_norm.tensor)
        plan->head_dim = (int64_t)plan->q_norm.tensor->n_elements;
    bool knows_all = plan->n_heads > 0;
    if (plan->n_heads == 0 && plan->sinks.tensor)
        plan->n_heads = (int64_t)plan->sinks.tensor->n_elements;
    *n_all = plan->n_heads;
    status = headwise_io_pruned_flags(plan, knows_all ? plan->n_heads : 0, pruned, &n_pruned);
    if (!status && n_pruned > 0)
        status = size_pruned_heads(plan);
    plan->n_heads -= n_pruned;
    return status;
}

static enum headwise_status fail_no_heads(const struct headwise_io_plan *plan, int64_t width) {
    return headwise_io_fail(HEADWISE_ERR_FORMAT,
                            "%s: tensor \"%s\": its width %" PRId64
                            " does not tell how many heads share it, expected %s in config.json "
                            "or the option n_heads",
                            headwise_io_files_path(&plan->checkpoint->files, &plan->w[3]),
                            plan->w[3].tensor->name, width,
                            plan->part->heads_key ? plan->part->heads_key : "num_attention_heads");
}

/* W_O's input width is not heads * head_dim: says so with what of both is known. */
static enum headwise_status fail_heads(const struct headwise_io_plan *plan) {
    char why[120], expected[80];
    const int64_t *found = plan->w[3].tensor->shape;
    bool conv1d = plan->family->conv1d;
    int64_t width;
    if (plan->head_dim == 0 || plan->n_heads == 0 ||
        __builtin_mul_overflow(plan->n_heads, plan->head_dim, &width)) {
        int64_t known = plan->n_heads > 0 ? plan->n_heads : plan->head_dim;
        snprintf(why, sizeof why, "%" PRId64 "%s", known,
                 plan->n_heads > 0 ? " heads" : " of head_dim");
        snprintf(expected, sizeof expected, "an input width that is a multiple of %" PRId64, known);
    } else {
        int64_t shape[2] = {conv1d ? width : found[0], conv1d ? found[1] : width};
        snprintf(why, sizeof why, "%" PRId64 " heads of %" PRId64, plan->n_heads, plan->head_dim);
        print_shape(expected, sizeof expected, 2, shape);
    }
    return fail_shape(plan->checkpoint, &plan->w[3], expected, why);
}

/* n_heads and head_dim, with the width of all heads, which W_O reads. */
static enum headwise_status settle_heads(struct headwise_io_plan *plan, int64_t *n_all,
                                         bool **pruned) {
    int64_t width = columns_of(plan, 3);
    enum headwise_status status = ask_heads(plan, n_all, pruned);
    if (status)
        return status;
    if (plan->n_heads == 0 && plan->head_dim == 0)
        return fail_no_heads(plan, width);
    int64_t known = plan->n_heads > 0 ? plan->n_heads : plan->head_dim;
    bool both = plan->n_heads > 0 && plan->head_dim > 0;
    if (width % known != 0 || (both && width / known != plan->head_dim))
        return fail_heads(plan);
    if (plan->n_heads == 0)
        plan->n_heads = width / plan->head_dim;
    plan->head_dim = width / plan->n_heads;
    if (!*pruned)
        *n_all = plan->n_heads;
    return HEADWISE_OK;
}

/* The kv heads as the shape of k, or of the fused tensor, has them; 0: not a whole number. */
static int64_t kv_heads_of_shape(const struct headwise_io_plan *plan) {
    bool fused =
        plan->part->fusion == HEADWISE_IO_PLAIN || plan->part->fusion == HEADWISE_IO_GROUPED;
    int64_t rows = rows_of(plan, fused ? 0 : 1);
    int64_t n = rows % plan->head_dim == 0 ? rows / plan->head_dim : 0;
    if (!fused)
        return n;
    n -= plan->n_heads;
    return n > 0 && n % 2 == 0 ? n / 2 : 0;
}

/* Falcon: one kv head, one per head, or as the key says. The first 40B files have n_head_kv but not
 * new_decoder_architecture. */
static enum headwise_status ask_multi_query(struct headwise_io_plan *plan, int64_t n_all,
                                            bool *by_key) {
    bool is_new = headwise_io_config_has(&plan->settings, "n_head_kv"), multi_query = true;
    enum headwise_status status =
        headwise_io_config_bool(&plan->settings, "new_decoder_architecture", &is_new);
    if (!status)
        status = headwise_io_config_bool(&plan->settings, "multi_query", &multi_query);
    *by_key = is_new;
    if (!is_new)
        plan->n_kv_heads = multi_query ? 1 : n_all;
    return status;
}

/* n_kv_heads, before pruning, of n_all heads. */
static enum headwise_status settle_kv_heads(struct headwise_io_plan *plan, int64_t n_all) {
    bool by_key = true;
    enum headwise_status status = HEADWISE_OK;
    if (!plan->family->grouped_heads) {
        plan->n_kv_heads = n_all;
        return HEADWISE_OK;
    }
    if (plan->family->multi_query_key && plan->checkpoint->has_config)
        status = ask_multi_query(plan, n_all, &by_key);
    if (!status && by_key)
        status = headwise_io_config_integer(&plan->settings, HEADWISE_IO_KV_HEADS_KEY, 1,
                                            &plan->n_kv_heads);
    if (status)
        return status;
    if (plan->checkpoint->options.n_kv_heads > 0)
        plan->n_kv_heads = plan->checkpoint->options.n_kv_heads;
    if (plan->n_kv_heads == 0 && n_all != plan->n_heads && kv_heads_of_shape(plan) != plan->n_heads)
        return headwise_io_config_fail(&plan->settings, HEADWISE_IO_KV_HEADS_KEY,
                                       "the kv heads before pruning, for pruned_heads");
    if (plan->n_kv_heads == 0)
        plan->n_kv_heads = n_all != plan->n_heads ? n_all : kv_heads_of_shape(plan);
    if (plan->n_kv_heads == 0 || n_all % plan->n_kv_heads != 0) {
        char expected[120];
        snprintf(expected, sizeof expected,
                 "kv heads of %" PRId64 " that divide %" PRId64 " heads, found %" PRId64,
                 plan->head_dim, n_all, plan->n_kv_heads);
        return fail_shape(plan->checkpoint, &plan->w[1], expected, "");
    }
    return HEADWISE_OK;
}

/* Whether matrix m, and its bias, have the shape out x in. */
static enum headwise_status expect_matrix(const struct headwise_io_plan *plan, int m, int64_t out,
                                          int64_t in) {
    char why[120];
    int64_t shape[2] = {plan->family->conv1d ? in : out, plan->family->conv1d ? out : in};
    snprintf(why, sizeof why,
             "%" PRId64 " heads, %" PRId64 " kv heads of %" PRId64 ", width %" PRId64,
             plan->n_heads, plan->n_kv_heads, plan->head_dim, plan->d_model);
    enum headwise_status status =
        headwise_io_expect_shape(plan->checkpoint, &plan->w[m], 2, shape, why);
    if (!status && plan->b[m].tensor)
        status = headwise_io_expect_shape(plan->checkpoint, &plan->b[m], 1, &out, why);
    return status;
}

static enum headwise_status check_matrices(const struct headwise_io_plan *plan) {
    int64_t d = plan->head_dim, q = plan->n_heads * d, kv = plan->n_kv_heads * d;
    bool pair = plan->part->fusion == HEADWISE_IO_PAIR;
    enum headwise_status status;
    if (plan->part->fusion == HEADWISE_IO_PLAIN || plan->part->fusion == HEADWISE_IO_GROUPED) {
        status = expect_matrix(plan, 0, q + 2 * kv, plan->d_model);
    } else {
        status = expect_matrix(plan, 0, q, plan->d_model);
        if (!status)
            status = expect_matrix(plan, 1, pair ? 2 * kv : kv, plan->d_memory);
        if (!status && !pair)
            status = expect_matrix(plan, 2, kv, plan->d_memory);
    }
    return status ? status : expect_matrix(plan, 3, plan->d_out, q);
}

static enum headwise_status check_vectors(const struct headwise_io_plan *plan) {
    const struct headwise_io_tensor *of_head[] = {&plan->q_norm, &plan->k_norm, &plan->q_norm_bias,
                                                  &plan->k_norm_bias};
    for (int i = 0; i < 4; i++) {
        enum headwise_status status =
            of_head[i]->tensor ? headwise_io_expect_shape(plan->checkpoint, of_head[i], 1,
                                                          &plan->head_dim, "the head size")
                               : HEADWISE_OK;
        if (status)
            return status;
    }
    return plan->sinks.tensor ? headwise_io_expect_shape(plan->checkpoint, &plan->sinks, 1,
                                                         &plan->n_heads, "one for each head")
                              : HEADWISE_OK;
}

enum headwise_status headwise_io_plan_sizes(struct headwise_io_plan *plan) {
    int64_t n_all = 0;
    bool *pruned = NULL;
    enum headwise_status status = check_ranks(plan);
    if (!status)
        status = settle_heads(plan, &n_all, &pruned);
    if (!status)
        status = settle_kv_heads(plan, n_all);
    if (!status)
        status = headwise_io_plan_keep(plan, n_all, plan->n_kv_heads, pruned);
    free(pruned);
    if (status)
        return status;
    plan->d_model = columns_of(plan, 0);
    status = headwise_io_config_integer(&plan->settings, WIDTH_KEY, 1, &plan->d_model);
    plan->d_memory = plan->part->cross ? columns_of(plan, 1) : plan->d_model;
    plan->d_out = plan->d_model;
    if (!status)
        status = check_matrices(plan);
    return status ? status : check_vectors(plan);
}
