/* The layer: W_Q, W_K, W_V and W_O around the attention operator. */
#ifndef HEADWISE_MHA_H
#define HEADWISE_MHA_H

#include "attention.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How a weight matrix lies in memory. */
enum headwise_layout {
    HEADWISE_OUT_IN = 0, /* [out][in], y = W x: PyTorch's Linear */
    HEADWISE_IN_OUT = 1  /* [in][out], y = x W: GPT-2's Conv1D, most papers */
};

/* Zero in a size means the default behind it. Sizes are in elements. */
struct headwise_mha_config {
    size_t size;        /* sizeof(struct headwise_mha_config) */
    int64_t d_model;    /* width of x; required */
    int64_t d_memory;   /* width of the memory that keys and values come from; d_model */
    int64_t d_out;      /* width of y; d_model */
    int64_t n_heads;    /* H; required */
    int64_t n_kv_heads; /* Hkv, a divisor of H; H */
    int64_t head_dim;   /* D of queries and keys; d_model / H, which must then divide */
    int64_t value_dim;  /* Dv; head_dim */

    enum headwise_layout layout;      /* of all four matrices */
    enum headwise_dtype weight_dtype; /* of all four matrices as given: F32, F16, BF16 */

    /* Contiguous matrices; out x in: W_Q (H*D x d_model), W_K (Hkv*D x d_memory),
     * W_V (Hkv*Dv x d_memory), W_O (d_out x H*Dv). All required. Head h owns rows h*D ... of W_Q
     * and columns h*Dv ... of W_O (as out x in). */
    const void *w_q;
    const void *w_k;
    const void *w_v;
    const void *w_o;
    /* f32, one per output, each NULL for none. */
    const float *b_q;
    const float *b_k;
    const float *b_v;
    const float *b_o;
};

typedef struct headwise_mha headwise_mha;

/* Packs the weights for the context's tier, with the context's allocator and threads, and stores
 * the layer in *mha. Everything is copied: the caller's arrays may be freed afterwards. The layer
 * is immutable: any number of threads may use it at once, each with its own context of the same
 * tier. It does not refer to the context afterwards, but its allocator must stay usable.
 * HEADWISE_ERR_INVALID: a pointer is NULL that may not be, a size is negative, required and 0, or
 * overflows, H is not divisible by Hkv, d_model not by H where head_dim is 0, a type is not
 * allowed. HEADWISE_ERR_NO_MEMORY. On failure *mha is unchanged. */
HEADWISE_API enum headwise_status headwise_mha_create(headwise_mha **mha, headwise_context *context,
                                                      const struct headwise_mha_config *config);

/* Frees the layer. NULL is allowed. */
HEADWISE_API void headwise_mha_destroy(headwise_mha *mha);

/* y = concat over heads (gate_h * attention_h(x W_Q + b_Q, m W_K + b_K, m W_V + b_V)) W_O + b_O
 *   x (B, 1, S, d_model), y (B, 1, S, d_out), memory m (B, 1, L, d_memory), or NULL: m = x, which
 *   needs d_memory = d_model. F32, F16 or BF16, each on its own.
 * options as in headwise_attention, with H, Hkv, D, Dv of the layer; past_key, past_value and
 * present_* are in the form after the projection. options may be NULL.
 * y may not overlap x or memory.
 * HEADWISE_ERR_INVALID as in headwise_attention, and where the context's tier is not the layer's.
 * HEADWISE_ERR_NO_MEMORY: scratch could not grow. Failure leaves every output untouched. */
HEADWISE_API enum headwise_status
headwise_mha_forward(headwise_context *context, const headwise_mha *mha,
                     const struct headwise_tensor *y, const struct headwise_tensor *x,
                     const struct headwise_tensor *memory,
                     const struct headwise_attention_options *options);

/* Sizes of the layer as resolved at creation; mha must not be NULL. */
HEADWISE_API int64_t headwise_mha_d_model(const headwise_mha *mha);
HEADWISE_API int64_t headwise_mha_d_memory(const headwise_mha *mha);
HEADWISE_API int64_t headwise_mha_d_out(const headwise_mha *mha);
HEADWISE_API int64_t headwise_mha_n_heads(const headwise_mha *mha);
HEADWISE_API int64_t headwise_mha_n_kv_heads(const headwise_mha *mha);
HEADWISE_API int64_t headwise_mha_head_dim(const headwise_mha *mha);
HEADWISE_API int64_t headwise_mha_value_dim(const headwise_mha *mha);

#ifdef __cplusplus
}
#endif
#endif
