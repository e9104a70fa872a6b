/* Linear layers, and the block of two or three matrices between attentions (MLP). */
#ifndef HEADWISE_LINEAR_H
#define HEADWISE_LINEAR_H

#include "rows.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How a weight matrix lies in memory. */
enum headwise_layout {
    HEADWISE_OUT_IN = 0, /* [out][in], y = W x: PyTorch's Linear */
    HEADWISE_IN_OUT = 1  /* [in][out], y = x W: GPT-2's Conv1D, most papers */
};

/* One matrix. */
struct headwise_linear_config {
    size_t size;                      /* sizeof(struct headwise_linear_config) */
    int64_t n_inputs, n_outputs;      /* 1 to 2^30 */
    enum headwise_layout layout;      /* of weights */
    enum headwise_dtype weight_dtype; /* of weights: F32, F16, BF16, I8 */
    const void *weights;              /* contiguous; out x in: n_outputs x n_inputs */
    const float *bias;                /* [n_outputs], or NULL: 0 */

    /* As in struct headwise_mha_config (mha.h): the type that the weights are kept in, whether
     * inputs are rounded to 8 bits row by row, scales [n_outputs] of I8, or NULL, and inputs that
     * are rounded together. */
    enum headwise_dtype packed_dtype;
    bool dynamic_int8;
    const float *scales;
    int64_t dynamic_group;
};

typedef struct headwise_linear headwise_linear;

/* Packs the weights for the context's tier, with its allocator, and stores the layer in *linear.
 * Arrays are copied and may be freed afterwards. The layer is immutable: any number of threads may
 * use it at once, each with its own context of the same tier. It does not refer to the context
 * afterwards, but its allocator must stay usable.
 * HEADWISE_ERR_INVALID: a pointer is NULL that may not be, a size is out of range, a type is not
 * allowed, weights are I8 but packed_dtype is not, a scale is not positive and finite or missing, a
 * weight does not fit packed_dtype, dynamic_int8 without I8 or with more than 65536 inputs,
 * dynamic_group not as there.
 * HEADWISE_ERR_NO_MEMORY. On failure *linear is unchanged. */
HEADWISE_API enum headwise_status
headwise_linear_create(headwise_linear **linear, headwise_context *context,
                       const struct headwise_linear_config *config);

/* Frees the layer. NULL is allowed. */
HEADWISE_API void headwise_linear_destroy(headwise_linear *linear);

/* What a layer is, and what its weights take. */
struct headwise_linear_info {
    size_t size; /* sizeof(struct headwise_linear_info) of the library */
    int64_t n_inputs, n_outputs;
    enum headwise_dtype packed_dtype;
    bool dynamic_int8;
    int64_t dynamic_group;
    size_t weight_bytes; /* with their scales */
};

/* Lives as long as the layer, which must not be NULL. */
HEADWISE_API const struct headwise_linear_info *
headwise_linear_describe(const headwise_linear *linear);

/* Rows for a layer: f32, strides as in struct headwise_rows (0: contiguous). */
struct headwise_linear_call {
    size_t size;    /* sizeof(struct headwise_linear_call) */
    int64_t n_rows; /* 0 or more */
    const float *x; /* [n_rows][n_inputs] */
    int64_t x_stride;
    float *y; /* [n_rows][n_outputs] */
    int64_t y_stride;

    const struct headwise_row_norm *input_norm; /* or NULL */
    enum headwise_activation activation;
    const float *residual; /* [n_rows][n_outputs], or NULL: 0 */
    int64_t residual_stride;
    const struct headwise_row_norm *output_norm; /* or NULL */
    bool norm_before_residual; /* output_norm does not see the residual (Gemma 2) */
    float *sum; /* where what output_norm is given goes (pre-norm blocks), or NULL; not with
                 * norm_before_residual */
    int64_t sum_stride;
};

/* t = activation(input_norm(x) W + bias)
 *   y = output_norm(t + residual), sum = t + residual; or, with norm_before_residual,
 *   y = output_norm(t) + residual
 * The order of a row's operations is fixed: it has the same bits alone and among any others, on any
 * number of threads, on every tier but scalar. Each element of a product is one chain of fused
 * multiply-adds over increasing inputs, the bias added last.
 * y and sum may each be x or residual, with the same stride and width, but not one another; nothing
 * else may overlap.
 * HEADWISE_ERR_INVALID: a pointer is NULL that may not be, a stride, the activation or a norm is
 * not as said, the context's tier is not the layer's. HEADWISE_ERR_NO_MEMORY: scratch could not
 * grow. Failure leaves y and sum untouched. HEADWISE_ERR_CANCELLED: what they hold is unspecified.
 */
HEADWISE_API enum headwise_status headwise_linear_forward(headwise_context *context,
                                                          const headwise_linear *linear,
                                                          const struct headwise_linear_call *call);

/* Two matrices with an activation between them, or three with a gate. */
struct headwise_mlp_config {
    size_t size;      /* sizeof(struct headwise_mlp_config) */
    int64_t d_model;  /* width of x; 1 to 2^30 */
    int64_t d_hidden; /* width between the matrices; 1 to 2^30 */
    int64_t d_out;    /* width of y; 0: d_model */
    enum headwise_activation activation;

    enum headwise_layout layout;      /* of all matrices */
    enum headwise_dtype weight_dtype; /* of all matrices: F32, F16, BF16, I8 */
    /* Contiguous matrices; out x in: up and gate (d_hidden x d_model), down (d_out x d_hidden). */
    const void *w_up;
    const void *w_gate; /* or NULL: no gate */
    const void *w_down;
    const float *b_up; /* [d_hidden], each bias NULL for 0 */
    const float *b_gate;
    const float *b_down; /* [d_out] */

    /* Of all matrices, as in struct headwise_mha_config (mha.h). */
    enum headwise_dtype packed_dtype;
    bool dynamic_int8;
    const float *scales_up; /* one per output, or NULL */
    const float *scales_gate;
    const float *scales_down;
    int64_t dynamic_group;
};

typedef struct headwise_mlp headwise_mlp;

/* Creates an MLP as headwise_linear_create() does a layer, with the same errors; also
 * HEADWISE_ERR_INVALID: activation is none of the enum, or a bias or scales are given for a gate
 * that is not there. */
HEADWISE_API enum headwise_status headwise_mlp_create(headwise_mlp **mlp, headwise_context *context,
                                                      const struct headwise_mlp_config *config);

/* Frees the MLP. NULL is allowed. */
HEADWISE_API void headwise_mlp_destroy(headwise_mlp *mlp);

/* What an MLP is: its config with defaults filled in, and what its weights take. */
struct headwise_mlp_info {
    size_t size; /* sizeof(struct headwise_mlp_info) of the library */
    int64_t d_model, d_hidden, d_out;
    enum headwise_activation activation;
    bool gated;
    enum headwise_dtype packed_dtype;
    bool dynamic_int8;
    int64_t dynamic_group;
    size_t weight_bytes; /* of all matrices with their scales */
};

/* Lives as long as the MLP, which must not be NULL. */
HEADWISE_API const struct headwise_mlp_info *headwise_mlp_describe(const headwise_mlp *mlp);

/* Rows for an MLP, as in struct headwise_linear_call. */
struct headwise_mlp_call {
    size_t size;    /* sizeof(struct headwise_mlp_call) */
    int64_t n_rows; /* 0 or more */
    const float *x; /* [n_rows][d_model] */
    int64_t x_stride;
    float *y; /* [n_rows][d_out] */
    int64_t y_stride;

    const struct headwise_row_norm *input_norm; /* or NULL */
    const float *residual;                      /* [n_rows][d_out], or NULL: 0 */
    int64_t residual_stride;
    const struct headwise_row_norm *output_norm; /* or NULL */
    bool norm_before_residual;
    float *sum; /* [n_rows][d_out], or NULL; not with norm_before_residual */
    int64_t sum_stride;
};

/* n = input_norm(x)
 * h = activation(n W_up + b_up), or activation(n W_gate + b_gate) * (n W_up + b_up) with a gate
 * t = h W_down + b_down, and y and sum as in headwise_linear_forward().
 * Rows run in blocks, whose hidden rows stay in a processor's cache: scratch memory does not grow
 * with the number of rows. residual may be x: with input_norm that is a pre-norm block, with
 * output_norm a post-norm block. Bits, overlap and errors are as in headwise_linear_forward(). */
HEADWISE_API enum headwise_status headwise_mlp_forward(headwise_context *context,
                                                       const headwise_mlp *mlp,
                                                       const struct headwise_mlp_call *call);

#ifdef __cplusplus
}
#endif
#endif
