/* The call that adds residuals to rows and normalizes them. */
#include "api/check_linear.h"
#include "api/check_weights.h"
#include "base/error.h"
#include "base/options.h"
#include "rows/normalize.h"

enum headwise_status headwise_normalize_rows(headwise_context *context,
                                             const struct headwise_rows *rows) {
    static const char where[] = "rows";
    struct headwise_rows given;
    struct headwise_row_norm norm;
    if (!context || !rows)
        return headwise_fail(HEADWISE_ERR_INVALID, "%s: %s is NULL", where,
                             !context ? "context" : "the argument rows");
    TRY(HEADWISE_COPY_OPTIONS(&given, rows, where));
    TRY(headwise_check_width(where, "n", given.n, 1));
    int64_t n_rows = given.n_rows, n = given.n;
    TRY(headwise_check_row_view(where, "x", given.x, true, &given.x_stride, n_rows, n));
    TRY(headwise_check_row_view(where, "residual", given.residual, false, &given.residual_stride,
                                n_rows, n));
    TRY(headwise_check_row_view(where, "y", given.y, true, &given.y_stride, n_rows, n));
    TRY(headwise_check_row_view(where, "sum", given.sum, false, &given.sum_stride, n_rows, n));
    TRY(headwise_check_sum(where, given.y, given.sum, n_rows));
    TRY(headwise_check_row_norm(where, "norm", &norm, &given.norm));
    return headwise_normalize_run(context, &given);
}
