/* Layers that have lost heads: pruned_heads, as BERT models of the transformers library have it. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checkpoint/internal.h"
#include "files/error.h"

static enum headwise_status no_memory(const struct headwise_io_plan *plan) {
    return headwise_io_fail(HEADWISE_ERR_NO_MEMORY, "%s: out of memory",
                            plan->checkpoint->files.name);
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

/* Sets flags[head], each once, for the integers of an array; false where that is not what it is. */
static bool read_heads(struct headwise_json_slice list, bool *flags, int64_t n_all, int64_t *n) {
    struct headwise_json_reader json;
    struct headwise_json_number number;
    headwise_json_begin_slice(&json, list.at, &list);
    headwise_json_enter_array(&json);
    while (headwise_json_next_item(&json)) {
        int64_t head = -1;
        if (!headwise_json_take_number(&json, &number) || !headwise_json_to_int64(&number, &head) ||
            head < 0 || head >= n_all || flags[head])
            return false;
        flags[head] = true;
        ++*n;
    }
    return *n < n_all;
}

static bool is_empty(struct headwise_json_slice list) {
    struct headwise_json_reader json;
    headwise_json_begin_slice(&json, list.at, &list);
    headwise_json_enter_array(&json);
    return !headwise_json_next_item(&json);
}

static enum headwise_status read_list(const struct headwise_io_plan *plan,
                                      const struct headwise_json_slice *lists, int64_t n_all,
                                      bool **flags, int64_t *n) {
    char key[48];
    struct headwise_json_slice list = {NULL, 0};
    headwise_io_pruned_key(key, plan);
    if (headwise_io_value_kind(*lists) != HEADWISE_JSON_OBJECT)
        return fail_list(plan);
    if (headwise_json_find(&list, lists, key) == 0)
        return HEADWISE_OK;
    if (headwise_io_value_kind(list) != HEADWISE_JSON_ARRAY)
        return fail_list(plan);
    if (is_empty(list))
        return HEADWISE_OK;
    if (n_all == 0)
        return headwise_io_config_fail(
            &plan->settings, plan->part->heads_key ? plan->part->heads_key : HEADWISE_IO_HEADS_KEY,
            "the heads before pruning, for pruned_heads");
    *flags = calloc((size_t)n_all, sizeof **flags);
    if (!*flags)
        return no_memory(plan);
    return read_heads(list, *flags, n_all, n) ? HEADWISE_OK : fail_list(plan);
}

enum headwise_status headwise_io_pruned_lists(const struct headwise_io_plan *plan,
                                              struct headwise_json_slice *lists, char **copy) {
    struct headwise_json_reader json;
    struct headwise_json_text text;
    *copy = NULL;
    *lists = headwise_io_config_find(&plan->settings, "pruned_heads");
    if (headwise_io_value_kind(*lists) != HEADWISE_JSON_TEXT) /* of metadata */
        return HEADWISE_OK;
    headwise_json_begin_slice(&json, lists->at, lists);
    headwise_json_take_text(&json, &text);
    *copy = malloc(text.size + 1);
    if (!*copy)
        return no_memory(plan);
    headwise_json_copy(*copy, &text);
    headwise_json_begin(&json, *copy, text.size);
    headwise_json_skip(&json, lists);
    return headwise_json_end(&json) ? HEADWISE_OK : fail_list(plan);
}

enum headwise_status headwise_io_pruned_flags(const struct headwise_io_plan *plan, int64_t n_all,
                                              bool **flags, int64_t *n) {
    struct headwise_json_slice lists;
    char *copy;
    *n = 0;
    enum headwise_status status = headwise_io_pruned_lists(plan, &lists, &copy);
    enum headwise_json_kind kind = status ? HEADWISE_JSON_NULL : headwise_io_value_kind(lists);
    if (kind != HEADWISE_JSON_NOTHING && kind != HEADWISE_JSON_NULL)
        status = read_list(plan, &lists, n_all, flags, n);
    free(copy);
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
