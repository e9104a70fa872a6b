/* Texts to vectors. */
#include <string.h>

#include "base/error.h"
#include "base/float_mode.h"
#include "encode/batch.h"

struct embedding {
    const struct headwise_embed_call *call;
    int64_t columns;   /* of a vector that is given back */
    int64_t first_row; /* rows before it are not pooled: the prompt's */
    int64_t d_model;
};

static enum headwise_status run_linear(headwise_context *context,
                                       const struct headwise_encode_step *step, const float *x,
                                       float *y, int64_t n_rows, int64_t width) {
    const struct headwise_linear_call call = {.size = sizeof call,
                                              .n_rows = n_rows,
                                              .x = x,
                                              .x_stride = width,
                                              .y = y,
                                              .y_stride = width,
                                              .activation = step->activation};
    enum headwise_status status = headwise_linear_forward(context, step->linear, &call);
    return status ? headwise_model_fail(status, "embed: %s", headwise_last_error()) : HEADWISE_OK;
}

/* What follows the pooling, of rows at a, width apart, with b for every second one. Returns where
 * the result is. */
static enum headwise_status run_steps(headwise_context *context, const headwise_encoder *encoder,
                                      float **a, float *b, int64_t n_rows) {
    enum headwise_status status = HEADWISE_OK;
    int64_t width = encoder->width, n = encoder->info.d_vector;
    n = encoder->n_poolings * headwise_transformer_describe(encoder->transformer)->d_model;
    for (int i = 0; !status && i < encoder->n_steps; i++) {
        const struct headwise_encode_step *step = &encoder->steps[i];
        for (int64_t r = 0; !step->linear && r < n_rows; r++)
            headwise_encoder_normalize(*a + r * width, n);
        if (!step->linear)
            continue;
        status = run_linear(context, step, *a, b, n_rows, width);
        float *result = b;
        b = *a;
        *a = result;
        n = step->n_outputs;
    }
    return status;
}

enum headwise_status headwise_encoder_vectors(headwise_context *context,
                                              const headwise_encoder *encoder, float **vectors,
                                              const float *rows, const int32_t *starts, int64_t n,
                                              int64_t first_row) {
    HEADWISE_FLOAT_SCOPE();
    int64_t d_model = headwise_transformer_describe(encoder->transformer)->d_model;
    for (int64_t i = 0; i < n; i++)
        headwise_encoder_pool(encoder, *vectors + i * encoder->width, rows + starts[i] * d_model,
                              starts[i + 1] - starts[i], d_model, first_row);
    return run_steps(context, encoder, vectors, *vectors + n * encoder->width, n);
}

/* Memory of a pass: hidden rows, then twice the vectors. */
static enum headwise_status run_pass(void *user, headwise_context *context,
                                     struct headwise_batch *batch) {
    const struct embedding *embedding = user;
    const headwise_encoder *encoder = batch->encoder;
    int64_t d_model = embedding->d_model, width = encoder->width;
    size_t n_hidden = batch->n_tokens * (size_t)d_model, n_pooled = (size_t)(batch->n * width);
    enum headwise_status status = headwise_batch_reserve(batch, n_hidden + 2 * n_pooled);
    if (status)
        return status;
    struct headwise_transformer_call call = headwise_batch_call(batch);
    call.last_hidden = batch->rows;
    status = headwise_transformer_forward(context, encoder->transformer, &call);
    if (status)
        return status;
    HEADWISE_FLOAT_SCOPE();
    float *vectors = batch->rows + n_hidden;
    status = headwise_encoder_vectors(context, encoder, &vectors, batch->rows, batch->starts,
                                      batch->n, embedding->first_row);
    for (int64_t i = 0; !status && i < batch->n; i++) {
        float *dst = embedding->call->vectors + (batch->first + i) * embedding->columns;
        memcpy(dst, vectors + i * width, (size_t)embedding->columns * sizeof *dst);
        if (embedding->call->normalize)
            headwise_encoder_normalize(dst, embedding->columns);
    }
    return status;
}

static enum headwise_status check(const headwise_encoder *encoder,
                                  const struct headwise_embed_call *call) {
    int64_t d_vector = encoder->info.d_vector;
    if (encoder->n_poolings == 0)
        return headwise_model_fail(HEADWISE_ERR_INVALID,
                                   "embed: the folder gives scores, expected vectors: see "
                                   "headwise_classify()");
    if (call->truncate_dim < 0 || call->truncate_dim > d_vector)
        return headwise_model_fail(HEADWISE_ERR_INVALID,
                                   "embed: truncate_dim is %lld, expected 0 to %lld",
                                   (long long)call->truncate_dim, (long long)d_vector);
    if (call->n_texts > 0 && !call->vectors)
        return headwise_model_fail(HEADWISE_ERR_INVALID, "embed: vectors is NULL");
    return HEADWISE_OK;
}

enum headwise_status headwise_embed(headwise_context *context, const headwise_encoder *encoder,
                                    const struct headwise_embed_call *call) {
    if (!context || !encoder || !call)
        return headwise_model_fail(HEADWISE_ERR_INVALID, "embed: %s is NULL",
                                   !context   ? "context"
                                   : !encoder ? "encoder"
                                              : "call");
    if (call->size != sizeof *call)
        return headwise_model_fail(HEADWISE_ERR_INVALID, "embed: call.size is %zu, expected %zu",
                                   call->size, sizeof *call);
    struct embedding embedding = {
        .call = call,
        .columns = call->truncate_dim > 0 ? call->truncate_dim : encoder->info.d_vector,
        .d_model = headwise_transformer_describe(encoder->transformer)->d_model};
    struct headwise_batch_request request = {.where = "embed",
                                             .n_texts = call->n_texts,
                                             .texts = call->texts,
                                             .refuse_long = call->refuse_long,
                                             .special_is_text = call->special_is_text,
                                             .replace_invalid = call->replace_invalid,
                                             .n_tokens = call->n_tokens,
                                             .n_cut = call->n_cut,
                                             .gates = call->gates,
                                             .max_pass_tokens = call->max_pass_tokens,
                                             .progress = call->progress,
                                             .progress_user = call->progress_user};
    enum headwise_status status = check(encoder, call);
    if (!status)
        status = headwise_encoder_find_prompt(encoder, call, &request.prompt);
    if (!status && encoder->leaves_prompt_out && request.prompt.size_bytes > 0)
        status = headwise_batch_measure(&embedding.first_row, encoder, &request.prompt);
    return status ? status : headwise_batch_run(context, encoder, &request, run_pass, &embedding);
}
