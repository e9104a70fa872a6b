/* What becomes of rows between matrices: residuals, norms, activations. */
#ifndef HEADWISE_ROWS_H
#define HEADWISE_ROWS_H

#include "context.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A function of each element of a row. NaN gives NaN, an infinity the function's limit. */
enum headwise_activation {
    HEADWISE_ACTIVATION_NONE = 0,      /* x */
    HEADWISE_ACTIVATION_RELU = 1,      /* max(x, 0) */
    HEADWISE_ACTIVATION_GELU = 2,      /* x/2 (1 + erf(x / sqrt(2))) */
    HEADWISE_ACTIVATION_GELU_TANH = 3, /* x/2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))): gelu_new,
                                        * gelu_fast, gelu_pytorch_tanh */
    HEADWISE_ACTIVATION_GELU_QUICK = 4, /* x / (1 + exp(-1.702 x)): CLIP */
    HEADWISE_ACTIVATION_SILU = 5,       /* x / (1 + exp(-x)): swish */
    HEADWISE_ACTIVATION_TANH = 6        /* tanh(x): poolers */
};

/* What becomes of n components x, weight w (1 where there is none), bias b (0 where there is none).
 *   RMS    x / sqrt(mean(x^2) + eps) * w + b
 *   LAYER  (x - mean(x)) / sqrt(mean((x - mean(x))^2) + eps) * w + b */
enum headwise_norm {
    HEADWISE_NORM_RMS = 0,  /* of heads: Qwen 3, Gemma 3; of rows: Llama, T5 */
    HEADWISE_NORM_LAYER = 1 /* of heads: Phi with qk_layernorm; of rows: BERT, GPT-2 */
};

/* The norm of rows of n numbers. Calls that are given one read it until they return. */
struct headwise_row_norm {
    size_t size; /* sizeof(struct headwise_row_norm) */
    enum headwise_norm norm;
    const float *weights; /* [n], or NULL: 1 (0 where adds_one is set) */
    const float *bias;    /* [n], or NULL: 0 */
    float eps;            /* > 0; 0: 1e-6 */
    bool adds_one;        /* the weights are 1 + weights (Gemma) */
};

/* Rows of n numbers. A stride is the distance between two rows in elements, at least n; 0: n. */
struct headwise_rows {
    size_t size; /* sizeof(struct headwise_rows) */
    int64_t n_rows, n;
    const float *x;
    int64_t x_stride;
    const float *residual; /* or NULL */
    int64_t residual_stride;
    float *y;
    int64_t y_stride;
    float *sum; /* where x + residual goes, which the next residual needs; or NULL */
    int64_t sum_stride;
    const struct headwise_row_norm *norm; /* NULL: none, y = x + residual */
};

/* y = norm(x + residual), sum = x + residual, row by row: a row's bits depend on nothing but that
 * row. n_rows may be 0. y and sum may each be x or residual, with the same stride, but not one
 * another; nothing else may overlap.
 * HEADWISE_ERR_INVALID: context or rows is NULL, a size, a stride, a pointer or the norm is not as
 * said, n is 0 or above 2^30. HEADWISE_ERR_NO_MEMORY: scratch could not grow. Failure leaves y and
 * sum untouched. HEADWISE_ERR_CANCELLED: what they hold is unspecified. */
HEADWISE_API enum headwise_status headwise_normalize_rows(headwise_context *context,
                                                          const struct headwise_rows *rows);

#ifdef __cplusplus
}
#endif
#endif
