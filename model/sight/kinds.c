/* Scores of all heads for the known kinds, over texts. */
#include <math.h>

#include "base/error.h"
#include "base/float_mode.h"
#include "sight/sight.h"

static enum headwise_status check(const headwise_context *context, const headwise_encoder *encoder,
                                  const struct headwise_kinds_call *call) {
    if (!context || !encoder || !call)
        return headwise_model_fail(HEADWISE_ERR_INVALID, "kinds: %s is NULL",
                                   !context   ? "context"
                                   : !encoder ? "encoder"
                                              : "call");
    if (call->size != sizeof *call)
        return headwise_model_fail(HEADWISE_ERR_INVALID, "kinds: call.size is %zu, expected %zu",
                                   call->size, sizeof *call);
    if (call->n_texts < 0 || (call->n_texts > 0 && !call->texts) || !call->means || !call->spreads)
        return headwise_model_fail(HEADWISE_ERR_INVALID,
                                   "kinds: texts, means or spreads is NULL, or n_texts negative");
    return HEADWISE_OK;
}

/* Adds a text's score to the mean and to the sum of squares about it (Welford's way). */
static void add(double *mean, double *squares, int64_t *count, double score) {
    double apart = score - *mean;
    ++*count;
    *mean += apart / (double)*count;
    *squares += apart * (score - *mean);
}

static enum headwise_status add_text(headwise_context *context, const headwise_encoder *encoder,
                                     const struct headwise_kinds_call *call, int64_t *counts,
                                     int64_t i) {
    const struct headwise_sight_call seeing = {.size = sizeof seeing,
                                               .text = &call->texts[i],
                                               .special_is_text = call->special_is_text,
                                               .replace_invalid = call->replace_invalid,
                                               .without_change = true,
                                               .without_twins = true,
                                               .most_cells = 1};
    headwise_sight *sight;
    enum headwise_status status = headwise_sight_create(&sight, context, encoder, &seeing);
    if (status)
        return status;
    HEADWISE_FLOAT_SCOPE();
    const struct headwise_sight_info *info = headwise_sight_describe(sight);
    for (int64_t h = 0; h < info->n_heads * HEADWISE_KINDS; h++) {
        double score = info->heads[h / HEADWISE_KINDS].kinds[h % HEADWISE_KINDS];
        if (!isnan(score))
            add(&call->means[h], &call->spreads[h], &counts[h], score);
    }
    headwise_sight_destroy(sight);
    return HEADWISE_OK;
}

enum headwise_status headwise_kinds(headwise_context *context, const headwise_encoder *encoder,
                                    const struct headwise_kinds_call *call) {
    enum headwise_status status = check(context, encoder, call);
    if (status)
        return status;
    const struct headwise_transformer_info *network =
        headwise_transformer_describe(encoder->transformer);
    struct headwise_sight_room room = {.memory = &encoder->memory};
    int64_t n = 0;
    for (int64_t i = 0; i < network->n_layers; i++)
        n += network->n_heads[i] * HEADWISE_KINDS;
    int64_t *counts = headwise_sight_take(&room, n, sizeof *counts);
    if (!counts)
        return headwise_model_no_memory("kinds");
    for (int64_t h = 0; h < n; h++)
        call->means[h] = call->spreads[h] = 0;
    for (int64_t i = 0; !status && i < call->n_texts; i++) {
        status = add_text(context, encoder, call, counts, i);
        if (!status && call->progress)
            call->progress(call->progress_user, i + 1);
    }
    HEADWISE_FLOAT_SCOPE();
    for (int64_t h = 0; h < n; h++) {
        call->spreads[h] = counts[h] > 1 ? sqrt(call->spreads[h] / (double)(counts[h] - 1)) : 0;
        if (counts[h] == 0)
            call->means[h] = call->spreads[h] = (double)NAN;
        if (call->counts)
            call->counts[h] = counts[h];
    }
    headwise_sight_give(&room);
    return status;
}
