/* What the head makes of the rows behind the last norm: pooled vectors and logits. */
#include <string.h>

#include "base/float_mode.h"
#include "stack/transformer.h"

/* One step for n rows; NULL as y is not allowed. */
static enum headwise_status run_step(headwise_context *context, const struct headwise_step *step,
                                     int64_t n, const float *x, int64_t width, float *y) {
    const struct headwise_row_norm *norm = step->has_norm ? &step->norm : NULL;
    if (step->linear) {
        const struct headwise_linear_call call = {.size = sizeof call,
                                                  .n_rows = n,
                                                  .x = x,
                                                  .y = y,
                                                  .activation = step->activation,
                                                  .output_norm = norm};
        return headwise_stack_core(headwise_linear_forward(context, step->linear, &call));
    }
    const struct headwise_rows call = {
        .size = sizeof call, .n_rows = n, .n = width, .x = x, .y = y, .norm = norm};
    return headwise_stack_core(headwise_normalize_rows(context, &call));
}

/* dst = factor * src; dst may be src. */
static void scale(float *dst, const float *src, int64_t n, float factor) {
    HEADWISE_FLOAT_SCOPE();
    for (int64_t i = 0; i < n; i++)
        dst[i] = src[i] * factor;
}

/* Runs the head on n rows; pooled and logits, where not NULL, get a row for each. */
static enum headwise_status run_head(const struct headwise_pass *pass, int64_t n, const float *x,
                                     float *pooled, float *logits) {
    const headwise_transformer *network = pass->network;
    const struct headwise_description *description = &network->description;
    int64_t width = network->info.d_model;
    enum headwise_status status = HEADWISE_OK;
    for (int i = 0; !status && i < network->n_steps; i++) {
        const struct headwise_step *step = &network->steps[i];
        bool is_last = i + 1 == network->n_steps,
             is_pooled = i + 1 == description->head.pooled_step;
        float *y = pass->made[i % 2];
        if (is_last && description->head.gives_logits && !logits)
            break;
        if (is_last)
            y = description->head.gives_logits ? logits : pooled;
        status = run_step(pass->context, step, n, x, width, y);
        if (!status && is_pooled && pooled && y != pooled)
            memcpy(pooled, y, (size_t)(n * step->width) * sizeof *y);
        x = y;
        width = step->width;
    }
    if (!status && logits && network->logit_factor != 1)
        scale(logits, logits, n * network->info.n_labels, network->logit_factor);
    return status;
}

/* The mean of rows begin ... end-1: sums in double, in their order, rounded once. */
static void mean_rows(float *mean, const float *rows, int64_t n, int64_t width) {
    HEADWISE_FLOAT_SCOPE();
    for (int64_t i = 0; i < width; i++) {
        double sum = 0;
        for (int64_t r = 0; r < n; r++)
            sum += (double)rows[r * width + i];
        mean[i] = (float)(sum / (double)n);
    }
}

/* The row whose vector stands for a text of CLIP. */
static int64_t find_end(const int32_t *ids, int64_t n, int64_t end_id) {
    int64_t largest = 0;
    for (int64_t i = 0; i < n; i++) {
        if (ids[i] == end_id)
            return i;
        largest = ids[i] > ids[largest] ? i : largest;
    }
    return end_id < 0 ? largest : 0;
}

/* What the head reads of sequence s of the pass, which is not empty. */
static void gather(const struct headwise_pass *pass, int64_t s, const float *last, float *row) {
    const struct headwise_description *description = &pass->network->description;
    int64_t width = pass->network->info.d_model, begin = pass->starts[s];
    int64_t n = pass->starts[s + 1] - begin, at = 0;
    switch (description->head.rows) {
    case HEADWISE_HEAD_MEAN:
        mean_rows(row, last + begin * width, n, width);
        return;
    case HEADWISE_HEAD_LAST:
        at = n - 1;
        break;
    case HEADWISE_HEAD_END:
        at = find_end(pass->call->ids + pass->first_row + begin, n, description->end_id);
        break;
    case HEADWISE_HEAD_EACH:
    case HEADWISE_HEAD_FIRST:
        break;
    }
    memcpy(row, last + (begin + at) * width, (size_t)width * sizeof *row);
}

/* Zeros for the sequences from..., n of them, that are empty. */
static void clear_empty(const struct headwise_pass *pass, int64_t first, int64_t n, float *outputs,
                        int64_t width) {
    for (int64_t i = 0; outputs && i < n; i++) {
        if (pass->starts[first + i] == pass->starts[first + i + 1])
            memset(outputs + i * width, 0, (size_t)width * sizeof *outputs);
    }
}

static enum headwise_status head_of_sequences(const struct headwise_pass *pass, const float *last) {
    const struct headwise_transformer_info *info = &pass->network->info;
    const struct headwise_transformer_call *call = pass->call;
    enum headwise_status status = HEADWISE_OK;
    for (int64_t first = 0; !status && first < pass->n_sequences; first += HEADWISE_HEAD_ROWS) {
        int64_t n = pass->n_sequences - first, at = pass->first_sequence + first;
        n = n < HEADWISE_HEAD_ROWS ? n : HEADWISE_HEAD_ROWS;
        float *pooled = call->pooled ? call->pooled + at * info->d_pooled : NULL;
        float *logits = call->logits ? call->logits + at * info->n_labels : NULL;
        for (int64_t i = 0; i < n; i++) {
            float *row = pass->gathered + i * info->d_model;
            if (pass->starts[first + i] < pass->starts[first + i + 1])
                gather(pass, first + i, last, row);
            else
                memset(row, 0, (size_t)info->d_model * sizeof *row);
        }
        status = run_head(pass, n, pass->gathered, pooled, logits);
        clear_empty(pass, first, n, pooled, info->d_pooled);
        clear_empty(pass, first, n, logits, info->n_labels);
    }
    return status;
}

/* Logits of rows that were chosen: those of this pass that follow one another in the list, a run of
 * them at a time. */
static enum headwise_status head_of_chosen(const struct headwise_pass *pass, const float *last) {
    const struct headwise_transformer_call *call = pass->call;
    int64_t d = pass->network->info.d_model, n = 0;
    enum headwise_status status = HEADWISE_OK;
    for (int64_t i = 0; !status && i <= call->n_logit_rows; i++) {
        int64_t row = i < call->n_logit_rows ? call->logit_rows[i] - pass->first_row : -1;
        bool is_here = row >= 0 && row < pass->n_rows;
        if (n > 0 && (!is_here || n == HEADWISE_HEAD_ROWS)) {
            status = run_head(pass, n, pass->gathered, NULL,
                              call->logits + (i - n) * pass->network->info.n_labels);
            n = 0;
        }
        if (is_here)
            scale(pass->gathered + n++ * d, last + row * d, d, pass->network->head_factor);
    }
    return status;
}

static enum headwise_status head_of_rows(const struct headwise_pass *pass, const float *last) {
    const struct headwise_transformer_info *info = &pass->network->info;
    enum headwise_status status = HEADWISE_OK;
    for (int64_t first = 0; !status && first < pass->n_rows; first += HEADWISE_HEAD_ROWS) {
        int64_t n = pass->n_rows - first;
        n = n < HEADWISE_HEAD_ROWS ? n : HEADWISE_HEAD_ROWS;
        const float *x = last + first * info->d_model;
        if (pass->network->head_factor != 1) {
            scale(pass->gathered, x, n * info->d_model, pass->network->head_factor);
            x = pass->gathered;
        }
        status = run_head(pass, n, x, NULL,
                          pass->call->logits + (pass->first_row + first) * info->n_labels);
    }
    return status;
}

enum headwise_status headwise_stack_head(const struct headwise_pass *pass, const float *last) {
    const struct headwise_transformer_call *call = pass->call;
    if (!call->pooled && !call->logits)
        return HEADWISE_OK;
    if (!pass->network->info.logits_of_rows)
        return head_of_sequences(pass, last);
    return call->logit_rows ? head_of_chosen(pass, last) : head_of_rows(pass, last);
}
