/* All findings as JSON, and the maps in base64. */
#include "inspect/json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/message.h"
#include "headwise-io/file.h"
#include "headwise/common.h"
#include "inspect/base64.h"

static json_t *number(double value) {
    return isfinite(value) ? json_real(value) : json_null();
}

static json_t *rank(int64_t value) {
    return value >= 0 ? json_integer(value) : json_null();
}

static json_t *describe_layer(const struct findings *f, const headwise_context *context) {
    static const char *const causal[] = {"none", "top-left", "bottom-right"};
    return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:b, s:s, s:s}",
                     "heads", (json_int_t)f->n_heads, "kv_heads", (json_int_t)f->n_kv_heads,
                     "head_dim", (json_int_t)f->head_dim, "value_dim", (json_int_t)f->value_dim,
                     "width", (json_int_t)f->d_model, "out_width", (json_int_t)f->d_out, "batch",
                     (json_int_t)f->batch, "entry", (json_int_t)f->entry, "tokens",
                     (json_int_t)f->n_queries, "keys", (json_int_t)f->n_keys, "offset",
                     (json_int_t)f->offset, "memory", !f->is_self, "causal", causal[f->causal],
                     "isa", headwise_isa_name(headwise_context_describe(context)->isa));
}

static json_t *list_texts(const char *const *texts, int64_t n) {
    if (!texts)
        return json_null();
    json_t *list = json_array();
    for (int64_t i = 0; i < n; i++)
        json_array_append_new(list, json_string(texts[i]));
    return list;
}

static json_t *list_numbers(const double *numbers, int64_t n) {
    json_t *list = json_array();
    for (int64_t i = 0; i < n; i++)
        json_array_append_new(list, number(numbers[i]));
    return list;
}

static json_t *list_rows(const double *matrix, int64_t n) {
    json_t *list = json_array();
    for (int64_t i = 0; i < n; i++)
        json_array_append_new(list, list_numbers(matrix + i * n, n));
    return list;
}

static json_t *list_bins(const struct findings *f) {
    json_t *list = json_array();
    for (int i = 0; i < f->n_bins; i++)
        json_array_append_new(
            list, json_pack("[I, I]", (json_int_t)f->bins[i].low, (json_int_t)f->bins[i].high));
    return list;
}

static json_t *list_strongest(const struct findings *f, int64_t head) {
    json_t *list = json_array();
    for (int64_t i = 0; i < f->n_queries; i++)
        json_array_append_new(list, json_integer(f->strongest[head * f->n_queries + i]));
    return list;
}

static json_t *list_strongest_weights(const struct findings *f, int64_t head) {
    json_t *list = json_array();
    for (int64_t i = 0; i < f->n_queries; i++)
        json_array_append_new(list, number((double)f->strongest_weight[head * f->n_queries + i]));
    return list;
}

static json_t *describe_map(const struct findings *f) {
    const struct grid *grid = &f->grid;
    int64_t size = grid->n_rows * grid->n_columns;
    json_t *cells = json_array();
    char *text = malloc(base64_size((size_t)size));
    for (int64_t h = 0; text && h < f->n_heads; h++) {
        base64_encode(text, f->cells + h * size, (size_t)size);
        json_array_append_new(cells, json_string(text));
    }
    free(text);
    return json_pack("{s:I, s:I, s:I, s:I, s:s, s:o}", "rows", (json_int_t)grid->n_rows, "columns",
                     (json_int_t)grid->n_columns, "row_size", (json_int_t)grid->row_size,
                     "column_size", (json_int_t)grid->column_size, "encoding",
                     "base64 of a byte for each cell: 255 * sqrt(weight)", "cells", cells);
}

static json_t *list_pairs(const struct pair *pairs, int n, bool has_query) {
    json_t *list = json_array();
    for (int i = 0; i < n && pairs[i].key >= 0; i++) {
        json_t *pair = json_object();
        if (has_query)
            json_object_set_new(pair, "query", json_integer(pairs[i].query));
        json_object_set_new(pair, "key", json_integer(pairs[i].key));
        json_object_set_new(pair, "weight", number((double)pairs[i].weight));
        json_array_append_new(list, pair);
    }
    return list;
}

static json_t *describe_head(const struct findings *f, int64_t h) {
    const struct head_findings *head = &f->heads[h];
    const struct {
        const char *name;
        double value;
    } numbers[] = {
        {"entropy", head->entropy},
        {"largest", head->largest},
        {"largest_distance", head->distance},
        {"mean_distance", head->mean_distance},
        {"self", head->self},
        {"first", head->first},
        {"previous", head->previous},
        {"next", head->next},
        {"norm", head->norm},
        {"share", head->share},
        {"alone_off", head->alone},
        {"cost", head->cost},
    };
    json_t *object = json_pack("{s:I, s:I}", "head", (json_int_t)head->number, "kv_head",
                               (json_int_t)head->kv_head);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        json_object_set_new(object, numbers[i].name, number(numbers[i].value));
    json_object_set_new(object, "logit_rank", rank(head->logit_rank));
    json_object_set_new(object, "most_logit_rank", json_integer(head->most_logits));
    json_object_set_new(object, "output_rank", rank(head->output_rank));
    json_object_set_new(object, "most_output_rank", json_integer(head->most_outputs));
    json_object_set_new(object, "profile", list_numbers(head->profile, f->n_bins));
    json_object_set_new(object, "pairs", list_pairs(head->pairs, head->n_pairs, true));
    json_object_set_new(object, "strongest", list_strongest(f, h));
    json_object_set_new(object, "strongest_weight", list_strongest_weights(f, h));
    return object;
}

static json_t *list_heads(const struct findings *f) {
    json_t *list = json_array();
    for (int64_t h = 0; h < f->n_heads; h++)
        json_array_append_new(list, describe_head(f, h));
    return list;
}

static json_t *list_order(const struct findings *f) {
    if (!f->has_order)
        return json_null();
    json_t *list = json_array();
    for (int64_t i = 0; i < f->n_heads; i++) {
        int64_t twin = f->twins[f->order[i]];
        json_array_append_new(
            list, json_pack("{s:I, s:o, s:o}", "head", (json_int_t)f->heads[f->order[i]].number,
                            "change", number(f->order_change[i]), "like",
                            twin < 0 ? json_null() : json_integer(f->heads[twin].number)));
    }
    return list;
}

static json_t *list_links(const struct findings *f) {
    json_t *list = json_array();
    for (int64_t l = 0; l < f->n_links; l++) {
        json_t *heads = json_array();
        for (int64_t h = 0; h < f->n_heads; h++)
            json_array_append_new(heads,
                                  list_pairs(f->links + (l * f->n_heads + h) * LINKS_PER_TOKEN,
                                             LINKS_PER_TOKEN, false));
        json_array_append_new(
            list, json_pack("{s:I, s:o}", "token", (json_int_t)f->link_queries[l], "heads", heads));
    }
    return list;
}

json_t *json_from_findings(const struct findings *f, const headwise_context *context) {
    json_t *root = json_pack("{s:s, s:s, s:o}", "headwise", headwise_version(), "title", f->title,
                             "layer", describe_layer(f, context));
    json_object_set_new(root, "tokens", list_texts(f->query_tokens, f->n_queries));
    json_object_set_new(root, "keys",
                        f->is_self ? json_null() : list_texts(f->key_tokens, f->n_keys));
    json_object_set_new(root, "bins", list_bins(f));
    json_object_set_new(root, "heads", list_heads(f));
    json_object_set_new(root, "output_norm", number(f->output_norm));
    json_object_set_new(root, "gram", list_rows(f->gram, f->n_heads));
    json_object_set_new(root, "cosine", list_rows(f->cosines, f->n_heads));
    json_object_set_new(root, "correlation", list_rows(f->correlation, f->n_heads));
    json_object_set_new(root, "order", list_order(f));
    json_object_set_new(root, "links", list_links(f));
    json_object_set_new(root, "map", describe_map(f));
    return root;
}

int json_write_findings(const char *path, const struct findings *f,
                        const headwise_context *context) {
    json_t *root = json_from_findings(f, context);
    char *text = root ? json_dumps(root, JSON_INDENT(1) | JSON_REAL_PRECISION(9)) : NULL;
    json_decref(root);
    if (!text)
        return fail("%s: out of memory", path);
    const struct headwise_file_part parts[] = {{text, strlen(text)}, {"\n", 1}};
    int code = EXIT_GOOD;
    if (headwise_file_write(path, parts, 2) != HEADWISE_OK)
        code = fail("%s", headwise_io_last_error());
    free(text);
    return code;
}
