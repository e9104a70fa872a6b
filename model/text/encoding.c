/* The object that a text's tokens are in, and the call that fills it. */
#include <string.h>

#include "base/error.h"
#include "text/tokenizer.h"

enum headwise_status headwise_encoding_create(headwise_encoding **encoding,
                                              const struct headwise_allocator *allocator) {
    struct headwise_allocator memory;
    if (!encoding)
        return headwise_model_fail(HEADWISE_ERR_INVALID, "encoding_create: encoding is NULL");
    enum headwise_status status = headwise_memory_set(&memory, "encoding_create", allocator);
    if (status)
        return status;
    headwise_encoding *made = headwise_memory_take(&memory, 1, sizeof *made);
    if (!made)
        return headwise_model_no_memory("encoding_create");
    memset(made, 0, sizeof *made);
    made->memory = memory;
    made->input.memory = made->text.memory = made->part.memory = &made->memory;
    made->normalizer.other.memory = made->normalizer.cleaned.memory = &made->memory;
    made->pre.other.memory = made->patterns.memory = made->pieces_of_word.memory = &made->memory;
    made->model.memory = made->model.bpe.memory = &made->memory;
    made->normalizer.patterns = made->pre.patterns = &made->patterns;
    *encoding = made;
    return HEADWISE_OK;
}

void headwise_encoding_destroy(headwise_encoding *e) {
    if (!e)
        return;
    struct headwise_allocator memory = e->memory;
    headwise_aligned_free(&e->input);
    headwise_aligned_free(&e->text);
    headwise_aligned_free(&e->part);
    headwise_aligned_free(&e->normalizer.other);
    headwise_aligned_free(&e->normalizer.cleaned);
    headwise_form_room_free(&memory, &e->normalizer.form);
    headwise_aligned_free(&e->pre.other);
    headwise_memory_give(&memory, e->pre.other_splits.at, e->pre.other_splits.capacity,
                         sizeof *e->pre.other_splits.at);
    headwise_memory_give(&memory, e->splits.at, e->splits.capacity, sizeof *e->splits.at);
    headwise_model_room_free(&e->model);
    headwise_pattern_room_free(&e->patterns);
    headwise_memory_give(&memory, e->pieces_of_word.at, e->pieces_of_word.capacity,
                         sizeof *e->pieces_of_word.at);
    for (int i = 0; i < 2; i++)
        headwise_memory_give(&memory, e->found[i].at, e->found[i].capacity, sizeof *e->found[i].at);
    headwise_bytes_free(&memory, &e->pieces);
    headwise_memory_give(&memory, e->ids, e->ids_capacity, sizeof *e->ids);
    headwise_memory_give(&memory, e->types, e->types_capacity, sizeof *e->types);
    headwise_memory_give(&memory, e->spans, e->spans_capacity, sizeof *e->spans);
    headwise_memory_give(&memory, e->sources, e->sources_capacity, sizeof *e->sources);
    headwise_memory_give(&memory, e->indices, e->indices_capacity, sizeof *e->indices);
    headwise_memory_give(&memory, e, 1, sizeof *e);
}

const struct headwise_tokens *headwise_encoding_tokens(const headwise_encoding *encoding) {
    return &encoding->tokens;
}

static enum headwise_status check_text(const char *name, const struct headwise_text *text) {
    if (text->bytes || text->size_bytes == 0)
        return HEADWISE_OK;
    return headwise_model_fail(HEADWISE_ERR_INVALID, "encode: %s->bytes is NULL, its size %zu",
                               name, text->size_bytes);
}

static enum headwise_status check(const headwise_encoding *encoding,
                                  const headwise_tokenizer *tokenizer,
                                  const struct headwise_text *text,
                                  const struct headwise_text *pair,
                                  const struct headwise_encode_options *options) {
    if (!encoding || !tokenizer || !text)
        return headwise_model_fail(HEADWISE_ERR_INVALID, "encode: %s is NULL",
                                   !encoding    ? "encoding"
                                   : !tokenizer ? "tokenizer"
                                                : "text");
    if (options->size != sizeof *options)
        return headwise_model_fail(HEADWISE_ERR_INVALID,
                                   "encode: options->size is %zu, expected %zu", options->size,
                                   sizeof *options);
    if ((unsigned)options->truncation > HEADWISE_TRUNCATION_ONLY_SECOND)
        return headwise_model_fail(HEADWISE_ERR_INVALID, "encode: truncation is %d, expected 0..2",
                                   (int)options->truncation);
    enum headwise_status status = check_text("text", text);
    return status || !pair ? status : check_text("pair", pair);
}

/* Words of another tokenizer are forgotten. A cache that cannot be had is done without. */
static void prepare_cache(headwise_encoding *encoding, const headwise_tokenizer *tokenizer) {
    if (encoding->model.cache && encoding->hash != tokenizer->hash) {
        headwise_word_cache_destroy(encoding->model.cache, &encoding->memory);
        encoding->model.cache = NULL;
    }
    if (!encoding->model.cache)
        encoding->model.cache = headwise_word_cache_create(&encoding->memory);
    encoding->hash = tokenizer->hash;
}

enum headwise_status headwise_encode(headwise_encoding *encoding,
                                     const headwise_tokenizer *tokenizer,
                                     const struct headwise_text *text,
                                     const struct headwise_text *pair,
                                     const struct headwise_encode_options *options) {
    const struct headwise_encode_options usual = {.size = sizeof usual, .add_special = true};
    if (!options)
        options = &usual;
    if (encoding)
        encoding->tokens = (struct headwise_tokens){0};
    enum headwise_status status = check(encoding, tokenizer, text, pair, options);
    if (status)
        return status;
    prepare_cache(encoding, tokenizer);
    encoding->tokenizer = tokenizer;
    encoding->pieces.size = 0;
    encoding->found[1].n = 0;
    status = headwise_encode_text(encoding, text, 0, options);
    if (!status && pair)
        status = headwise_encode_text(encoding, pair, 1, options);
    if (!status)
        status = headwise_encode_truncate(encoding, pair != NULL, options);
    if (!status) {
        headwise_encode_trim(encoding, text, 0);
        if (pair)
            headwise_encode_trim(encoding, pair, 1);
        status = headwise_encode_assemble(encoding, pair != NULL, options->add_special);
    }
    if (status)
        encoding->tokens = (struct headwise_tokens){0};
    return status;
}
