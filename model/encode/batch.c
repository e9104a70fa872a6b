/* Cuts texts into tokens and gathers them in passes. */
#include "encode/batch.h"

#include <string.h>

#include "base/error.h"
#include "stack/transformer.h"

/* The line of an error about a text gets the text's number. */
static enum headwise_status name_text(enum headwise_status status,
                                      const struct headwise_batch *batch, int64_t i) {
    char line[400];
    strncpy(line, headwise_model_last_error(), sizeof line - 1);
    line[sizeof line - 1] = '\0';
    return headwise_model_fail(status, "%s: text %lld: %s", batch->request->where, (long long)i,
                               line);
}

static enum headwise_status check_bytes(const struct headwise_batch_request *request,
                                        const struct headwise_text *text, const char *what,
                                        int64_t i) {
    if (!text->bytes && text->size_bytes > 0)
        return headwise_model_fail(HEADWISE_ERR_INVALID, "%s: the bytes of %s[%lld] are NULL",
                                   request->where, what, (long long)i);
    return HEADWISE_OK;
}

/* The prompt and the text, joined only where there is a prompt. */
static enum headwise_status prepare(struct headwise_batch *batch, struct headwise_bytes *room,
                                    const struct headwise_text *prompt,
                                    const struct headwise_text *given, struct headwise_text *text) {
    *text = *given;
    if (!text->bytes)
        text->bytes = "";
    room->size = 0;
    if (prompt->size_bytes > 0) {
        if (!headwise_bytes_append(&batch->memory, room, prompt->bytes, prompt->size_bytes) ||
            !headwise_bytes_append(&batch->memory, room, text->bytes, text->size_bytes))
            return headwise_model_no_memory(batch->request->where);
        *text = (struct headwise_text){room->at, room->size};
    }
    return HEADWISE_OK;
}

static enum headwise_status encode(struct headwise_batch *batch, int64_t i) {
    const struct headwise_batch_request *request = batch->request;
    const struct headwise_text none = {"", 0};
    const struct headwise_encode_options options = {
        .size = sizeof options,
        .add_special = true,
        .special_is_text = request->special_is_text,
        .max_tokens = request->refuse_long ? 0 : (size_t)batch->encoder->info.max_tokens,
        .replace_invalid = request->replace_invalid};
    struct headwise_text text, pair;
    enum headwise_status status =
        prepare(batch, &batch->text, &request->prompt, &request->texts[i], &text);
    if (!status && request->pairs)
        status = prepare(batch, &batch->pair, &none, &request->pairs[i], &pair);
    if (!status)
        status = headwise_encode(batch->encoding, batch->encoder->tokenizer, &text,
                                 request->pairs ? &pair : NULL, &options);
    if (status)
        return name_text(status, batch, i);
    size_t n = headwise_encoding_tokens(batch->encoding)->n;
    if (n > (size_t)batch->encoder->info.max_tokens)
        return headwise_model_fail(
            HEADWISE_ERR_INVALID, "%s: text %lld has %zu tokens, expected at most %lld",
            request->where, (long long)i, n, (long long)batch->encoder->info.max_tokens);
    return HEADWISE_OK;
}

/* Appends the encoding's tokens as the next text of the pass. */
static enum headwise_status add(struct headwise_batch *batch, int64_t i) {
    const struct headwise_tokens *tokens = headwise_encoding_tokens(batch->encoding);
    const struct headwise_allocator *memory = &batch->memory;
    size_t at = batch->n_tokens, total = at + tokens->n;
    if (!headwise_memory_grow(memory, &batch->ids, &batch->ids_capacity, total, sizeof(int32_t)) ||
        !headwise_memory_grow(memory, &batch->types, &batch->types_capacity, total,
                              sizeof(int32_t)) ||
        !headwise_memory_grow(memory, &batch->starts, &batch->starts_capacity, (size_t)batch->n + 2,
                              sizeof(int32_t)))
        return headwise_model_no_memory(batch->request->where);
    if (tokens->n > 0) {
        memcpy(batch->ids + at, tokens->ids, tokens->n * sizeof(int32_t));
        memcpy(batch->types + at, tokens->types, tokens->n * sizeof(int32_t));
    }
    batch->n_tokens = total;
    batch->starts[0] = 0;
    batch->starts[++batch->n] = (int32_t)total;
    if (batch->request->n_tokens)
        batch->request->n_tokens[i] = (int64_t)tokens->n;
    if (batch->request->n_cut)
        batch->request->n_cut[i] = (int64_t)(tokens->n_cut[0] + tokens->n_cut[1]);
    return HEADWISE_OK;
}

static enum headwise_status end_pass(headwise_context *context, struct headwise_batch *batch,
                                     headwise_batch_fn *run, void *user) {
    if (batch->n == 0)
        return HEADWISE_OK;
    enum headwise_status status = run(user, context, batch);
    batch->first += batch->n;
    batch->n = 0;
    batch->n_tokens = 0;
    if (!status && batch->request->progress)
        batch->request->progress(batch->request->progress_user, batch->first);
    return status;
}

static enum headwise_status run_all(headwise_context *context, struct headwise_batch *batch,
                                    headwise_batch_fn *run, void *user) {
    const struct headwise_batch_request *request = batch->request;
    size_t budget = (size_t)headwise_stack_pass_tokens(context, request->max_pass_tokens);
    enum headwise_status status = HEADWISE_OK;
    for (int64_t i = 0; !status && i < request->n_texts; i++) {
        status = encode(batch, i);
        if (!status && batch->n_tokens + headwise_encoding_tokens(batch->encoding)->n > budget)
            status = end_pass(context, batch, run, user);
        if (!status)
            status = add(batch, i);
    }
    return status ? status : end_pass(context, batch, run, user);
}

static enum headwise_status check(const struct headwise_batch_request *request) {
    enum headwise_status status = HEADWISE_OK;
    if (request->n_texts < 0 || (request->n_texts > 0 && !request->texts))
        return headwise_model_fail(HEADWISE_ERR_INVALID, "%s: n_texts is %lld and texts %s",
                                   request->where, (long long)request->n_texts,
                                   request->texts ? "is given" : "is NULL");
    if (request->max_pass_tokens < 0 || request->max_pass_tokens > INT32_MAX / 2)
        return headwise_model_fail(HEADWISE_ERR_INVALID,
                                   "%s: max_pass_tokens is %lld, expected 0 to %ld", request->where,
                                   (long long)request->max_pass_tokens, (long)(INT32_MAX / 2));
    for (int64_t i = 0; !status && i < request->n_texts; i++) {
        status = check_bytes(request, &request->texts[i], "texts", i);
        if (!status && request->pairs)
            status = check_bytes(request, &request->pairs[i], "pairs", i);
    }
    return status;
}

enum headwise_status headwise_batch_run(headwise_context *context,
                                        const struct headwise_encoder *encoder,
                                        const struct headwise_batch_request *request,
                                        headwise_batch_fn *run, void *user) {
    struct headwise_batch batch = {
        .encoder = encoder, .request = request, .memory = encoder->memory};
    const struct headwise_allocator *memory = &batch.memory;
    enum headwise_status status = check(request);
    if (!status)
        status = headwise_encoding_create(&batch.encoding, memory);
    if (status)
        return status;
    status = run_all(context, &batch, run, user);
    headwise_encoding_destroy(batch.encoding);
    headwise_bytes_free(memory, &batch.text);
    headwise_bytes_free(memory, &batch.pair);
    headwise_memory_give(memory, batch.ids, batch.ids_capacity, sizeof(int32_t));
    headwise_memory_give(memory, batch.types, batch.types_capacity, sizeof(int32_t));
    headwise_memory_give(memory, batch.starts, batch.starts_capacity, sizeof(int32_t));
    headwise_memory_give(memory, batch.rows, batch.rows_capacity, sizeof(float));
    return status;
}

enum headwise_status headwise_batch_reserve(struct headwise_batch *batch, size_t n) {
    return headwise_memory_grow(&batch->memory, &batch->rows, &batch->rows_capacity, n,
                                sizeof(float))
               ? HEADWISE_OK
               : headwise_model_no_memory(batch->request->where);
}

struct headwise_transformer_call headwise_batch_call(const struct headwise_batch *batch) {
    return (struct headwise_transformer_call){.size = sizeof(struct headwise_transformer_call),
                                              .n_sequences = batch->n,
                                              .starts = batch->starts,
                                              .ids = batch->ids,
                                              .types =
                                                  batch->encoder->gives_types ? batch->types : NULL,
                                              .gates = batch->request->gates,
                                              .max_pass_tokens = INT32_MAX};
}

enum headwise_status headwise_batch_measure(int64_t *n, const struct headwise_encoder *encoder,
                                            const struct headwise_text *text) {
    headwise_encoding *encoding;
    enum headwise_status status = headwise_encoding_create(&encoding, &encoder->memory);
    if (status)
        return status;
    status = headwise_encode(encoding, encoder->tokenizer, text, NULL, NULL);
    const struct headwise_tokens *tokens = headwise_encoding_tokens(encoding);
    *n = (int64_t)tokens->n;
    if (!status && *n > 0 && headwise_tokenizer_is_special(encoder->tokenizer, tokens->ids[*n - 1]))
        --*n;
    headwise_encoding_destroy(encoding);
    return status;
}
