/* Makes norms of rows ready for the kernels. */
#include "rows/norm.h"

/* What a norm without eps adds to the mean of squares. */
static const float default_eps = 1e-6f;

int64_t headwise_norm_floats(const struct headwise_row_norm *norm, int64_t n) {
    return norm && (norm->adds_one || !norm->weights) ? n : 0;
}

struct headwise_norm_ready headwise_norm_prepare(const struct headwise_row_norm *norm,
                                                 const struct headwise_kernels *kernels, int64_t n,
                                                 float *floats) {
    if (!norm)
        return (struct headwise_norm_ready){0};
    const float *weight = norm->weights;
    if (headwise_norm_floats(norm, n) > 0) {
        for (int64_t j = 0; j < n; j++)
            floats[j] = weight ? 1.0f + weight[j] : 1.0f;
        weight = floats;
    }
    return (struct headwise_norm_ready){
        .kernel = norm->norm == HEADWISE_NORM_RMS ? kernels->norm_rms : kernels->norm_layer,
        .weight = weight,
        .bias = norm->bias,
        .n = n,
        .eps = norm->eps > 0 ? norm->eps : default_eps,
    };
}

void headwise_norm_run(const struct headwise_norm_ready *norm, float *y, int64_t y_stride,
                       const float *x, int64_t x_stride, int64_t m) {
    norm->kernel(y, y_stride, x, x_stride, norm->weight, norm->bias, m, norm->n, norm->eps);
}
