/* Layers that have lost heads: pruned_heads, as BERT models of the transformers library have it. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checkpoint/internal.h"
#include "files/error.h"

static enum headwise_status no_memory(const struct headwise_io_plan *plan) {
    return headwise_io_fail(HEADWISE_ERR_NO_MEMORY, "%s: out of memory", plan->model->files.name);
}

void headwise_io_pruned_key(char key[48], const struct headwise_io_plan *plan) {
    bool is_first = plan->part == &plan->family->parts[0];
    snprintf(key, 48, "%s%s%" PRId64, is_first ? "" : plan->part->name, is_first ? "" : ".",
             plan->index);
}

static enum headwise_status fail_list(const struct headwise_io_plan *plan) {
    return headwise_io_config_fail(
        &plan->settings, "pruned_heads",
        "for each layer number a list of heads, each once, that leaves at least one");
}

static enum headwise_status read_list(const struct headwise_io_plan *plan, const json_t *lists,
                                      int64_t n_all, bool **flags, int64_t *n) {
    char key[48];
    headwise_io_pruned_key(key, plan);
    const json_t *list = json_object_get(lists, key), *item;
    size_t i;
    if (!json_is_object(lists) || (list && !json_is_array(list)))
        return fail_list(plan);
    if (json_array_size(list) == 0)
        return HEADWISE_OK;
    if (n_all == 0)
        return headwise_io_config_fail(
            &plan->settings, plan->part->heads_key ? plan->part->heads_key : HEADWISE_IO_HEADS_KEY,
            "the heads before pruning, for pruned_heads");
    if (json_array_size(list) >= (size_t)n_all)
        return fail_list(plan);
    *flags = calloc((size_t)n_all, sizeof **flags);
    if (!*flags)
        return no_memory(plan);
    json_array_foreach(list, i, item) {
        int64_t head = json_is_integer(item) ? json_integer_value(item) : -1;
        if (head < 0 || head >= n_all || (*flags)[head])
            return fail_list(plan);
        (*flags)[head] = true;
        ++*n;
    }
    return HEADWISE_OK;
}

enum headwise_status headwise_io_pruned_flags(const struct headwise_io_plan *plan, int64_t n_all,
                                              bool **flags, int64_t *n) {
    const json_t *lists = headwise_io_config_find(&plan->settings, "pruned_heads", NULL);
    json_t *parsed = NULL;
    *n = 0;
    if (!lists || json_is_null(lists))
        return HEADWISE_OK;
    if (json_is_string(lists)) /* metadata */
        parsed = json_loads(json_string_value(lists), 0, NULL);
    enum headwise_status status = read_list(plan, parsed ? parsed : lists, n_all, flags, n);
    json_decref(parsed);
    return status;
}

static void fill_groups(struct headwise_io_plan *plan, const bool *flags) {
    struct headwise_io_heads *heads = &plan->heads;
    int64_t n_group = heads->n_all / heads->n_all_kv;
    plan->n_heads = plan->n_kv_heads = 0;
    for (int64_t h = 0; h < heads->n_all; h++) {
        if (flags[h])
            continue;
        int64_t kv = h / n_group;
        if (plan->n_kv_heads == 0 || heads->kv_numbers[plan->n_kv_heads - 1] != kv)
            heads->kv_numbers[plan->n_kv_heads++] = kv;
        heads->numbers[plan->n_heads++] = h;
        heads->group_sizes[plan->n_kv_heads - 1]++;
        heads->ends[plan->n_kv_heads - 1] = plan->n_heads;
    }
}

enum headwise_status headwise_io_plan_keep(struct headwise_io_plan *plan, int64_t n_all,
                                           int64_t n_all_kv, const bool *flags) {
    struct headwise_io_heads *heads = &plan->heads;
    heads->n_all = n_all;
    heads->n_all_kv = n_all_kv;
    if (!flags)
        return HEADWISE_OK;
    heads->numbers = calloc((size_t)n_all, sizeof *heads->numbers);
    heads->kv_numbers = calloc((size_t)n_all_kv, sizeof *heads->kv_numbers);
    heads->group_sizes = calloc((size_t)n_all_kv, sizeof *heads->group_sizes);
    heads->ends = calloc((size_t)n_all_kv, sizeof *heads->ends);
    if (!heads->numbers || !heads->kv_numbers || !heads->group_sizes || !heads->ends)
        return no_memory(plan);
    fill_groups(plan, flags);
    return HEADWISE_OK;
}

void headwise_io_heads_free(struct headwise_io_heads *heads) {
    free(heads->numbers);
    free(heads->kv_numbers);
    free(heads->group_sizes);
    free(heads->ends);
    *heads = (struct headwise_io_heads){0};
}
