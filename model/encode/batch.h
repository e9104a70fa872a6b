/* Texts in passes: tokens of whole texts, as many as the budget has room for, through the network.
 */
#ifndef HEADWISE_ENCODE_BATCH_H
#define HEADWISE_ENCODE_BATCH_H

#include "encode/encoder.h"

/* What is wanted, of vectors and of scores alike. */
struct headwise_batch_request {
    const char *where; /* the call's name, for error lines */
    int64_t n_texts;
    const struct headwise_text *texts, *pairs; /* pairs may be NULL */
    struct headwise_text prompt;
    bool refuse_long, special_is_text, replace_invalid;
    int64_t *n_tokens, *n_cut;
    const float *gates;
    int64_t max_pass_tokens;
    void (*progress)(void *user, int64_t n_done);
    void *progress_user;
};

/* A pass: texts first ... first + n - 1, whose tokens lie one after another. */
struct headwise_batch {
    const struct headwise_encoder *encoder;
    const struct headwise_batch_request *request;
    struct headwise_allocator memory;
    headwise_encoding *encoding;
    struct headwise_bytes text, pair; /* with the prompt */
    int64_t first, n;
    int32_t *starts, *ids, *types;
    size_t starts_capacity, ids_capacity, types_capacity;
    size_t n_tokens;
    float *rows; /* what the network gives */
    size_t rows_capacity;
};

/* Makes something of a pass whose tokens are there. */
typedef enum headwise_status headwise_batch_fn(void *user, headwise_context *context,
                                               struct headwise_batch *batch);

/* Cuts all texts into tokens and calls run for each pass. */
enum headwise_status headwise_batch_run(headwise_context *context,
                                        const struct headwise_encoder *encoder,
                                        const struct headwise_batch_request *request,
                                        headwise_batch_fn *run, void *user);

/* Room for n floats at batch->rows. */
enum headwise_status headwise_batch_reserve(struct headwise_batch *batch, size_t n);

/* The pass as a call of the network, without outputs. */
struct headwise_transformer_call headwise_batch_call(const struct headwise_batch *batch);

/* Tokens of a text alone, with special ones, but for a special one at its end: the place where what
 * follows it begins. */
enum headwise_status headwise_batch_measure(int64_t *n, const struct headwise_encoder *encoder,
                                            const struct headwise_text *text);

#endif
