/* What was found about a model's heads, as JSON. */
#include <math.h>
#include <string.h>

#include "common/message.h"
#include "common/text.h"
#include "inspect/base64.h"
#include "sight/report.h"

static int add_text(struct json *json, struct arena *arena, const char *key,
                    struct headwise_text text) {
    const char *clean = text.bytes ? text_clean(arena, text.bytes, text.size_bytes) : NULL;
    if (text.bytes && !clean)
        return EXIT_UNUSABLE;
    if (clean)
        json_text(json, key, clean);
    else
        json_null(json, key);
    return EXIT_GOOD;
}

/* The bytes that a token was made from; of added ones and of ids the piece. */
static struct headwise_text token_text(const struct headwise_sight_info *info,
                                       const struct headwise_sight_token *token) {
    if (token->source < 0)
        return token->piece;
    return (struct headwise_text){info->texts[token->source].bytes + token->span.begin,
                                  token->span.end - token->span.begin};
}

static int add_tokens(struct json *json, struct arena *arena,
                      const struct headwise_sight_info *info) {
    int code = EXIT_GOOD;
    json_begin_array(json, "tokens");
    for (int64_t i = 0; !code && i < info->n_tokens; i++) {
        const struct headwise_sight_token *token = &info->tokens[i];
        json_begin_object(json, NULL);
        json_integer(json, "id", token->id);
        code = add_text(json, arena, "piece", token->piece);
        if (!code)
            code = add_text(json, arena, "text", token_text(info, token));
        json_integer(json, "source", token->source);
        json_bool(json, "special", token->is_special);
        json_bool(json, "punctuation", token->is_punctuation);
        json_integer(json, "word", token->word);
        json_integer(json, "begin", (int64_t)token->span.begin);
        json_integer(json, "end", (int64_t)token->span.end);
        json_end_object(json);
    }
    json_end_array(json);
    return code;
}

static void add_kinds(struct json *json, const char *key, const double *kinds) {
    json_begin_object(json, key);
    for (int k = 0; k < HEADWISE_KINDS; k++)
        json_number(json, headwise_head_kind_name((enum headwise_head_kind)k), kinds[k]);
    json_end_object(json);
}

static void add_twin(struct json *json, const struct headwise_sight_info *info,
                     const struct headwise_sight_head *head) {
    if (head->twin < 0) {
        json_null(json, "twin");
        return;
    }
    json_begin_array(json, "twin");
    json_integer(json, NULL, info->heads[head->twin].layer);
    json_integer(json, NULL, info->heads[head->twin].head);
    json_end_array(json);
}

static void add_head(struct json *json, const struct sight_report *report, int64_t h) {
    const struct headwise_sight_head *head = &report->info->heads[h];
    json_begin_object(json, NULL);
    json_integer(json, "layer", head->layer);
    json_integer(json, "head", head->head);
    json_number(json, "entropy", head->entropy);
    json_number(json, "largest", head->largest);
    json_number(json, "distance", head->distance);
    json_number(json, "self", head->self);
    json_number(json, "previous", head->previous);
    json_number(json, "next", head->next);
    json_number(json, "first", head->first);
    json_number(json, "separator", head->separator);
    json_number(json, "norm", head->norm);
    json_number(json, "share", head->share);
    json_number(json, "residual", head->residual);
    json_number(json, "change", head->change);
    json_number(json, "cosine", head->cosine);
    json_number(json, "delta", head->delta);
    add_twin(json, report->info, head);
    json_number(json, "correlation", head->correlation);
    add_kinds(json, "kinds", head->kinds);
    if (report->n_texts > 0) {
        add_kinds(json, "kinds_mean", report->means + h * HEADWISE_KINDS);
        add_kinds(json, "kinds_spread", report->spreads + h * HEADWISE_KINDS);
        json_begin_object(json, "kinds_texts");
        for (int k = 0; k < HEADWISE_KINDS; k++)
            json_integer(json, headwise_head_kind_name((enum headwise_head_kind)k),
                         report->counts[h * HEADWISE_KINDS + k]);
        json_end_object(json);
    }
    json_end_object(json);
}

/* n weights as base64 of bytes. */
static int add_bytes(struct json *json, struct arena *arena, const char *key, const float *weights,
                     int64_t n) {
    unsigned char *bytes = arena_take(arena, n, 1);
    char *text = arena_take(arena, (int64_t)base64_size((size_t)n), 1);
    if (!bytes || !text)
        return EXIT_UNUSABLE;
    for (int64_t i = 0; i < n; i++) {
        double level = 255 * sqrt((double)weights[i]);
        bytes[i] = level < 255 ? (unsigned char)(level > 0 ? level + 0.5 : 0) : 255;
    }
    base64_encode(text, bytes, (size_t)n);
    json_text(json, key, text);
    return EXIT_GOOD;
}

static int add_maps(struct json *json, struct arena *arena, const struct sight_report *report) {
    const struct headwise_sight_info *info = report->info;
    int64_t n = info->n_cells * info->n_cells;
    int code = EXIT_GOOD;
    json_begin_array(json, "maps");
    for (int64_t h = 0; !code && h < info->n_heads; h++)
        code = add_bytes(json, arena, NULL, info->maps + h * n, n);
    json_end_array(json);
    if (report->chosen >= 0) {
        json_integer(json, "chosen", report->chosen);
        if (!code)
            code = add_bytes(json, arena, "chosen_map", report->chosen_map,
                             info->n_tokens * info->n_tokens);
    }
    return code;
}

int sight_json_add(struct json *json, struct arena *arena, const struct sight_report *report,
                   bool with_maps) {
    const struct headwise_sight_info *info = report->info;
    json_begin_object(json, NULL);
    json_text(json, "model", report->title);
    json_text(json, "family",
              headwise_transformer_describe(headwise_encoder_describe(report->encoder)->transformer)
                  ->family);
    json_integer(json, "layers", info->n_layers);
    json_integer(json, "n_tokens", info->n_tokens);
    json_integer(json, "n_cut", info->n_cut);
    json_integer(json, "n_texts", report->n_texts);
    json_text(json, "result", info->is_logits ? "logits" : "vector");
    json_integer(json, "result_size", info->n_result);
    json_integer(json, "cell_tokens", info->cell_tokens);
    json_integer(json, "cells", info->n_cells);
    int code = add_text(json, arena, "text", info->texts[0]);
    if (!code)
        code = add_text(json, arena, "pair", info->texts[1]);
    if (!code)
        code = add_tokens(json, arena, info);
    json_begin_array(json, "heads");
    for (int64_t h = 0; !code && h < info->n_heads; h++)
        add_head(json, report, h);
    json_end_array(json);
    if (!code && with_maps)
        code = add_maps(json, arena, report);
    json_end_object(json);
    return code;
}
