/* All findings as JSON, and the maps in base64. */
#include "inspect/json.h"

#include <stdlib.h>

#include "common/message.h"
#include "headwise-io/file.h"
#include "headwise/common.h"
#include "inspect/base64.h"

static void add_rank(struct json *json, const char *key, int64_t value) {
    if (value >= 0)
        json_integer(json, key, value);
    else
        json_null(json, key);
}

static void add_layer(struct json *json, const struct findings *f,
                      const headwise_context *context) {
    static const char *const causal[] = {"none", "top-left", "bottom-right"};
    const struct {
        const char *name;
        int64_t value;
    } sizes[] = {
        {"heads", f->n_heads},       {"kv_heads", f->n_kv_heads}, {"head_dim", f->head_dim},
        {"value_dim", f->value_dim}, {"width", f->d_model},       {"out_width", f->d_out},
        {"batch", f->batch},         {"entry", f->entry},         {"tokens", f->n_queries},
        {"keys", f->n_keys},         {"offset", f->offset},
    };
    json_begin_object(json, "layer");
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        json_integer(json, sizes[i].name, sizes[i].value);
    json_bool(json, "memory", !f->is_self);
    json_text(json, "causal", causal[f->causal]);
    json_text(json, "isa", headwise_isa_name(headwise_context_describe(context)->isa));
    json_end_object(json);
}

static void add_texts(struct json *json, const char *key, const char *const *texts, int64_t n) {
    if (!texts) {
        json_null(json, key);
        return;
    }
    json_begin_array(json, key);
    for (int64_t i = 0; i < n; i++)
        json_text(json, NULL, texts[i]);
    json_end_array(json);
}

static void add_numbers(struct json *json, const char *key, const double *numbers, int64_t n) {
    json_begin_array(json, key);
    for (int64_t i = 0; i < n; i++)
        json_number(json, NULL, numbers[i]);
    json_end_array(json);
}

static void add_rows(struct json *json, const char *key, const double *matrix, int64_t n) {
    json_begin_array(json, key);
    for (int64_t i = 0; i < n; i++)
        add_numbers(json, NULL, matrix + i * n, n);
    json_end_array(json);
}

static void add_bins(struct json *json, const struct findings *f) {
    json_begin_array(json, "bins");
    for (int i = 0; i < f->n_bins; i++) {
        json_begin_array(json, NULL);
        json_integer(json, NULL, f->bins[i].low);
        json_integer(json, NULL, f->bins[i].high);
        json_end_array(json);
    }
    json_end_array(json);
}

static void add_strongest(struct json *json, const struct findings *f, int64_t head) {
    json_begin_array(json, "strongest");
    for (int64_t i = 0; i < f->n_queries; i++)
        json_integer(json, NULL, f->strongest[head * f->n_queries + i]);
    json_end_array(json);
    json_begin_array(json, "strongest_weight");
    for (int64_t i = 0; i < f->n_queries; i++)
        json_number(json, NULL, (double)f->strongest_weight[head * f->n_queries + i]);
    json_end_array(json);
}

static void add_map(struct json *json, const struct findings *f) {
    const struct grid *grid = &f->grid;
    int64_t size = grid->n_rows * grid->n_columns;
    char *text = malloc(base64_size((size_t)size));
    json_begin_object(json, "map");
    json_integer(json, "rows", grid->n_rows);
    json_integer(json, "columns", grid->n_columns);
    json_integer(json, "row_size", grid->row_size);
    json_integer(json, "column_size", grid->column_size);
    json_text(json, "encoding", "base64 of a byte for each cell: 255 * sqrt(weight)");
    json_begin_array(json, "cells");
    for (int64_t h = 0; text && h < f->n_heads; h++) {
        base64_encode(text, f->cells + h * size, (size_t)size);
        json_text(json, NULL, text);
    }
    json_end_array(json);
    json_end_object(json);
    if (!text)
        json->writer.is_out_of_memory = true;
    free(text);
}

static void add_pairs(struct json *json, const char *key, const struct pair *pairs, int n,
                      bool has_query) {
    json_begin_array(json, key);
    for (int i = 0; i < n && pairs[i].key >= 0; i++) {
        json_begin_object(json, NULL);
        if (has_query)
            json_integer(json, "query", pairs[i].query);
        json_integer(json, "key", pairs[i].key);
        json_number(json, "weight", (double)pairs[i].weight);
        json_end_object(json);
    }
    json_end_array(json);
}

static void add_head(struct json *json, const struct findings *f, int64_t h) {
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
    json_begin_object(json, NULL);
    json_integer(json, "head", head->number);
    json_integer(json, "kv_head", head->kv_head);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        json_number(json, numbers[i].name, numbers[i].value);
    add_rank(json, "logit_rank", head->logit_rank);
    json_integer(json, "most_logit_rank", head->most_logits);
    add_rank(json, "output_rank", head->output_rank);
    json_integer(json, "most_output_rank", head->most_outputs);
    add_numbers(json, "profile", head->profile, f->n_bins);
    add_pairs(json, "pairs", head->pairs, head->n_pairs, true);
    add_strongest(json, f, h);
    json_end_object(json);
}

static void add_order(struct json *json, const struct findings *f) {
    if (!f->has_order) {
        json_null(json, "order");
        return;
    }
    json_begin_array(json, "order");
    for (int64_t i = 0; i < f->n_heads; i++) {
        int64_t twin = f->twins[f->order[i]];
        json_begin_object(json, NULL);
        json_integer(json, "head", f->heads[f->order[i]].number);
        json_number(json, "change", f->order_change[i]);
        add_rank(json, "like", twin < 0 ? -1 : f->heads[twin].number);
        json_end_object(json);
    }
    json_end_array(json);
}

static void add_links(struct json *json, const struct findings *f) {
    json_begin_array(json, "links");
    for (int64_t l = 0; l < f->n_links; l++) {
        json_begin_object(json, NULL);
        json_integer(json, "token", f->link_queries[l]);
        json_begin_array(json, "heads");
        for (int64_t h = 0; h < f->n_heads; h++)
            add_pairs(json, NULL, f->links + (l * f->n_heads + h) * LINKS_PER_TOKEN,
                      LINKS_PER_TOKEN, false);
        json_end_array(json);
        json_end_object(json);
    }
    json_end_array(json);
}

void json_add_findings(struct json *json, const struct findings *f,
                       const headwise_context *context) {
    json_begin_object(json, NULL);
    json_text(json, "headwise", headwise_version());
    json_text(json, "title", f->title);
    add_layer(json, f, context);
    add_texts(json, "tokens", f->query_tokens, f->n_queries);
    add_texts(json, "keys", f->is_self ? NULL : f->key_tokens, f->n_keys);
    add_bins(json, f);
    json_begin_array(json, "heads");
    for (int64_t h = 0; h < f->n_heads; h++)
        add_head(json, f, h);
    json_end_array(json);
    json_number(json, "output_norm", f->output_norm);
    add_rows(json, "gram", f->gram, f->n_heads);
    add_rows(json, "cosine", f->cosines, f->n_heads);
    add_rows(json, "correlation", f->correlation, f->n_heads);
    add_order(json, f);
    add_links(json, f);
    add_map(json, f);
    json_end_object(json);
}

int json_write_findings(const char *path, const struct findings *f,
                        const headwise_context *context) {
    struct json json = {.indent = 1, .digits = 9};
    json_add_findings(&json, f, context);
    const struct headwise_file_part parts[] = {{json.writer.text, json.writer.size}, {"\n", 1}};
    int code = json_end(&json, path);
    if (!code && headwise_file_write(path, parts, 2) != HEADWISE_OK)
        code = fail("%s", headwise_io_last_error());
    free(json.writer.text);
    return code;
}
