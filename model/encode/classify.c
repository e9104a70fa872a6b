/* Texts, or pairs of them, to scores. */
#include <sleef.h>
#include <string.h>

#include "base/error.h"
#include "base/float_mode.h"
#include "encode/batch.h"

struct scoring {
    const struct headwise_classify_call *call;
    enum headwise_score score;
    int64_t n_labels;
};

/* Plain arithmetic without fused operations: the bits are those of any machine. */
static double exponential(double x) {
    return Sleef_cinz_expd1_u10purec(x);
}

static void finish(float *scores, int64_t n, enum headwise_score score) {
    double largest = (double)scores[0], sum = 0;
    for (int64_t i = 1; i < n; i++)
        largest = (double)scores[i] > largest ? (double)scores[i] : largest;
    for (int64_t i = 0; i < n; i++)
        sum += exponential((double)scores[i] - largest);
    for (int64_t i = 0; i < n; i++) {
        double x = (double)scores[i];
        if (score == HEADWISE_SCORE_SIGMOID)
            scores[i] = (float)(1 / (1 + exponential(-x)));
        else if (score == HEADWISE_SCORE_SOFTMAX)
            scores[i] = (float)(exponential(x - largest) / sum);
    }
}

static enum headwise_status run_pass(void *user, headwise_context *context,
                                     struct headwise_batch *batch) {
    const struct scoring *scoring = user;
    size_t n = (size_t)(batch->n * scoring->n_labels);
    enum headwise_status status = headwise_batch_reserve(batch, n);
    if (status)
        return status;
    struct headwise_transformer_call call = headwise_batch_call(batch);
    call.logits = batch->rows;
    status = headwise_transformer_forward(context, batch->encoder->transformer, &call);
    if (status)
        return status;
    HEADWISE_FLOAT_SCOPE();
    for (int64_t i = 0; i < batch->n; i++)
        finish(batch->rows + i * scoring->n_labels, scoring->n_labels, scoring->score);
    memcpy(scoring->call->scores + batch->first * scoring->n_labels, batch->rows,
           n * sizeof(float));
    return HEADWISE_OK;
}

static enum headwise_status check(const headwise_encoder *encoder,
                                  const struct headwise_classify_call *call) {
    if (encoder->info.n_labels == 0)
        return headwise_model_fail(HEADWISE_ERR_INVALID,
                                   "classify: the folder gives vectors, expected scores of texts: "
                                   "see headwise_embed()");
    if ((unsigned)call->score > HEADWISE_SCORE_SOFTMAX)
        return headwise_model_fail(HEADWISE_ERR_INVALID, "classify: score is %d, no headwise_score",
                                   (int)call->score);
    if (call->n_texts > 0 && !call->scores)
        return headwise_model_fail(HEADWISE_ERR_INVALID, "classify: scores is NULL");
    return HEADWISE_OK;
}

enum headwise_status headwise_classify(headwise_context *context, const headwise_encoder *encoder,
                                       const struct headwise_classify_call *call) {
    if (!context || !encoder || !call)
        return headwise_model_fail(HEADWISE_ERR_INVALID, "classify: %s is NULL",
                                   !context   ? "context"
                                   : !encoder ? "encoder"
                                              : "call");
    if (call->size != sizeof *call)
        return headwise_model_fail(HEADWISE_ERR_INVALID, "classify: call.size is %zu, expected %zu",
                                   call->size, sizeof *call);
    struct scoring scoring = {.call = call,
                              .score = call->score_is_set ? call->score : encoder->info.score,
                              .n_labels = encoder->info.n_labels};
    const struct headwise_batch_request request = {.where = "classify",
                                                   .n_texts = call->n_texts,
                                                   .texts = call->texts,
                                                   .pairs = call->pairs,
                                                   .prompt = {"", 0},
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
    return status ? status : headwise_batch_run(context, encoder, &request, run_pass, &scoring);
}
