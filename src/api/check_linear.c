/* Checks of calls over rows of f32. */
#include "api/check_linear.h"

#include <math.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/options.h"

enum headwise_status headwise_check_row_view(const char *where, const char *name, const float *data,
                                             bool needed, int64_t *stride, int64_t n_rows,
                                             int64_t n) {
    int64_t end, bytes;
    if (n_rows < 0)
        return headwise_fail(HEADWISE_ERR_INVALID, "%s: n_rows is %lld, expected 0 or more", where,
                             (long long)n_rows);
    if (!data && needed && n_rows > 0)
        return headwise_fail(HEADWISE_ERR_INVALID, "%s: %s is NULL", where, name);
    if (*stride != 0 && *stride < n)
        return headwise_fail(HEADWISE_ERR_INVALID,
                             "%s: %s_stride is %lld, expected at least %lld, or 0", where, name,
                             (long long)*stride, (long long)n);
    *stride = *stride ? *stride : n;
    if (!headwise_mul(&end, n_rows, *stride) || !headwise_mul(&bytes, end, sizeof(float)))
        return headwise_fail(HEADWISE_ERR_INVALID,
                             "%s: %s has %lld rows with a stride of %lld, beyond what can be "
                             "addressed",
                             where, name, (long long)n_rows, (long long)*stride);
    return HEADWISE_OK;
}

enum headwise_status headwise_check_sum(const char *where, const float *y, const float *sum,
                                        int64_t n_rows) {
    if (sum && sum == y && n_rows > 0)
        return headwise_fail(HEADWISE_ERR_INVALID,
                             "%s: sum and y are the same memory, expected two", where);
    return HEADWISE_OK;
}

enum headwise_status headwise_check_row_norm(const char *where, const char *name,
                                             struct headwise_row_norm *copy,
                                             const struct headwise_row_norm **norm) {
    if (!*norm)
        return HEADWISE_OK;
    char place[64];
    snprintf(place, sizeof place, "%s: %s", where, name);
    TRY(HEADWISE_COPY_OPTIONS(copy, *norm, place));
    *norm = copy;
    if ((unsigned)copy->norm > HEADWISE_NORM_LAYER)
        return headwise_fail(HEADWISE_ERR_INVALID, "%s: %s: norm is %d, no headwise_norm", where,
                             name, (int)copy->norm);
    if (!isfinite(copy->eps) || copy->eps < 0)
        return headwise_fail(HEADWISE_ERR_INVALID,
                             "%s: %s: eps is %g, expected a finite number above 0, or 0", where,
                             name, (double)copy->eps);
    return HEADWISE_OK;
}

enum headwise_status headwise_check_activation(const char *where, const char *name,
                                               int activation) {
    if ((unsigned)activation > HEADWISE_ACTIVATION_TANH)
        return headwise_fail(HEADWISE_ERR_INVALID, "%s: %s is %d, no headwise_activation", where,
                             name, activation);
    return HEADWISE_OK;
}

enum headwise_status headwise_check_linear_call(const char *where,
                                                struct headwise_linear_call *call,
                                                struct headwise_row_norm *norms, int64_t n_inputs,
                                                int64_t n_outputs) {
    int64_t n = call->n_rows;
    TRY(headwise_check_row_view(where, "x", call->x, true, &call->x_stride, n, n_inputs));
    TRY(headwise_check_row_view(where, "y", call->y, true, &call->y_stride, n, n_outputs));
    TRY(headwise_check_row_view(where, "residual", call->residual, false, &call->residual_stride, n,
                                n_outputs));
    TRY(headwise_check_row_view(where, "sum", call->sum, false, &call->sum_stride, n, n_outputs));
    TRY(headwise_check_sum(where, call->y, call->sum, n));
    TRY(headwise_check_activation(where, "activation", (int)call->activation));
    TRY(headwise_check_row_norm(where, "input_norm", &norms[0], &call->input_norm));
    TRY(headwise_check_row_norm(where, "output_norm", &norms[1], &call->output_norm));
    if (call->sum && call->norm_before_residual && call->output_norm)
        return headwise_fail(HEADWISE_ERR_INVALID,
                             "%s: sum is given with norm_before_residual, expected NULL", where);
    return HEADWISE_OK;
}
