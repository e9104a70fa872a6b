/* The layer: W_Q, W_K, W_V and W_O around the attention operator. */
#ifndef HEADWISE_MHA_H
#define HEADWISE_MHA_H

#include "cache.h"
#include "linear.h"
#include "positions.h"

#ifdef __cplusplus
extern "C" {
#endif

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
    enum headwise_dtype weight_dtype; /* of all four matrices as given: F32, F16, BF16, I8 */

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

    /* Turns queries and keys by their positions, after bias and norm. The same table may serve any
     * number of layers; it is not copied and must outlive the layer. rotary_dim is at most D;
     * d_memory must be d_model. NULL: none. */
    const headwise_rotary *rotary;

    /* Norm of each head (rows.h): weights [D], shared by the heads, NULL: none; biases [D] or NULL.
     */
    const float *q_norm;
    const float *k_norm;
    const float *q_norm_bias;
    const float *k_norm_bias;
    enum headwise_norm norm; /* of both */
    float norm_eps;          /* > 0; 0: 1e-6 */
    bool norm_adds_one;      /* the weights are 1 + q_norm, 1 + k_norm (Gemma) */

    /* Of a layer whose heads were pruned (heads.h), each NULL for none. head_dim is then required,
     * and n_heads may be 0 (n_kv_heads and w_* 0 and NULL too): y = b_o.
     * group_sizes [Hkv]: query heads that read each kv head, consecutive, 1 or more, H in sum;
     * NULL: H / Hkv each. head_numbers [H]: 0 or more, increasing; NULL: 0, 1, 2 ... */
    const int64_t *group_sizes;
    const int64_t *head_numbers;

    /* The type in which the layer keeps all four matrices, whatever they are given in:
     *   F32        as they are
     *   F16, BF16  rounded once, to nearest even
     *   I8         per output (a row of the matrix as out x in) one f32 scale and integers
     *              weight / scale rounded to nearest even: the weight that is kept is integer *
     *              scale, off by at most scale / 2. scale = largest magnitude / 127, rounded up to
     *              16 significant bits, so that integer * scale is an f32 and exact.
     * Weights are widened to f32 on the way into the products, x and sums stay f32: the bits are
     * those of an F32 layer with the weights that are kept, on every tier but scalar the same. In
     * an I8 layer a sum is of x * integer; times scale, then plus bias.
     * What few rows cost is reading the weights: with 16 bits, or 8, one token takes less time
     * nearly as much as it reads less. Many rows take as long as with F32. */
    enum headwise_dtype packed_dtype;

    /* For I8, f32, one per output, each positive and finite: the scales of weights that are given
     * as I8 (integer * scale, integers -128 to 127; required then), or to be used for others, whose
     * magnitudes must be below 127.5 * scale. NULL: as said above. */
    const float *scales_q;
    const float *scales_k;
    const float *scales_v;
    const float *scales_o;

    /* packed_dtype I8 only: what is multiplied with the weights (x, memory, the heads' outputs) is
     * rounded to bytes too, each row with a scale and an integer zero point of its own, so that
     * products and sums are those of integers, exact and the same on every tier. Of a row from low
     * to high, 0 among them:
     *   scale = max(high / 255 - low / 255, 2^-126);  inverse = 1 / scale
     *   zero = 0 - low * inverse, to nearest even
     *   u = fma(x, inverse, zero), to nearest even, held from 0 to 255
     *   y = fma(float(sum of (u - zero) * integer) * output's scale, scale, bias)
     * (in the scalar tier a product and a sum instead of fma). A component is off by at most
     * (1/2 + 2^-12) scale, and 0 stays 0; a row that is not finite gives NaN. One row and many are
     * faster than with F32 wherever the processor multiplies bytes (AMX, AVX-512 VNNI, AVX-VNNI,
     * NEON's dot product), many rows elsewhere too. At most 65536 inputs. Contributions are of
     * rounded outputs, so that they sum to y; headwise_contribution_gram() takes outputs as they
     * are. */
    bool dynamic_int8;

    /* dynamic_int8 only, with weights that are no I8 and without scales: so many inputs are rounded
     * together, a multiple of 64 up to 512 (the last of a row may be fewer): each such group of a
     * row has a scale and a zero of its own, and in each output integers with a scale of their own.
     * Sums of groups join in increasing order, y = fma(float(group's sum) * output's scale, scale,
     * y), from the bias on. Closer to f32 than whole rows, as a large component spoils its own
     * group alone; 128 is a good choice. 0: all inputs are one group. */
    int64_t dynamic_group;
};

typedef struct headwise_mha headwise_mha;

/* Packs the weights for the context's tier, with the context's allocator and threads, and stores
 * the layer in *mha. Arrays are copied and may be freed afterwards. The layer is immutable: any
 * number of threads may use it at once, each with its own context of the same tier. It does not
 * refer to the context afterwards, but its allocator must stay usable.
 * HEADWISE_ERR_INVALID: a pointer is NULL that may not be, a size is negative, required and 0, or
 * overflows, H is not divisible by Hkv, d_model not by H where head_dim is 0, a type is not
 * allowed, rotary or norm do not fit as said above, a norm has a bias but no weights, weights are
 * I8 but packed_dtype is not, a scale is not as said, a weight does not fit packed_dtype (beyond
 * 65504 in F16, beyond f32's range once rounded in BF16, not finite in I8), dynamic_int8 without
 * I8 or with more than 65536 inputs, dynamic_group not as said.
 * HEADWISE_ERR_NO_MEMORY. On failure *mha is unchanged. */
HEADWISE_API enum headwise_status headwise_mha_create(headwise_mha **mha, headwise_context *context,
                                                      const struct headwise_mha_config *config);

/* Frees the layer. NULL is allowed. */
HEADWISE_API void headwise_mha_destroy(headwise_mha *mha);

/* y = concat over heads (gate_h * attention_h(q, k, v)) W_O + b_O
 *   q = rotary(norm(x W_Q + b_Q)), k = rotary(norm(m W_K + b_K)), v = m W_V + b_V
 *   x (B, 1, S, d_model), y (B, 1, S, d_out), memory m (B, 1, L, d_memory), or NULL: m = x, which
 *   needs d_memory = d_model. F32, F16 or BF16, each on its own. A layer with rotary takes no
 *   memory: there are no positions for it.
 * The rest of call as in headwise_attention(), with H, Hkv, D, Dv of the layer; q, k and v must be
 * NULL; past_* and present_* are in the form of k and v, after norm and rotary. y may not overlap x
 * or memory.
 *
 * With a cache x's keys are appended to its sequences, then every row of x attends as
 * headwise_attention() says; memory must be NULL. Sequences may have different lengths: each row's
 * position is its place in its own sequence. A prompt in one call, in chunks or token by token
 * gives the same bits (set causal: without it a row sees everything up to the end of its chunk).
 * With attend_only nothing is appended and the cache is not changed: cross attention appends the
 * memory's keys once, by headwise_mha_append(), and attends for every step of the decoder.
 *
 * With starts all rows are projected together: x (1, 1, R, d_model), y (1, 1, R, d_out), memory
 * (1, 1, Rk, d_memory). Over a cache this is a step of all that a server has at work: chunks of new
 * prompts beside single tokens, in whatever places of the cache they are. Rows of x that belong to
 * no sequence attend to nothing: their y is b_O and their contributions, [H][R][d_out], are 0; the
 * other outputs of the probe are not written there.
 *
 * HEADWISE_ERR_FULL: a sequence has no room for its rows. HEADWISE_ERR_INVALID as in
 * headwise_attention(), and: the context's or the cache's tier is not the layer's, the cache's Hkv,
 * D or Dv are not, a layer with rotary gets a memory or a position outside its table, attend_only
 * without a cache. HEADWISE_ERR_NO_MEMORY: scratch could not grow. On failure neither an output nor
 * the cache has changed. */
HEADWISE_API enum headwise_status headwise_mha_forward(headwise_context *context,
                                                       const headwise_mha *mha,
                                                       const struct headwise_attention_call *call);

/* Projects call's memory (n, 1, L, d_memory) to keys and values and appends them to the n sequences
 * of call's cache from first_sequence on; or rows query_starts[b] ... query_starts[b + 1] - 1 of
 * memory (1, 1, R, d_memory) to sequence cache_sequences[b]. With rotary memory is the sequence
 * itself, and its rows stand at their places in it, or where positions says. Nothing else of call
 * is read. Errors as in headwise_mha_forward(); on failure the cache has not changed. */
HEADWISE_API enum headwise_status headwise_mha_append(headwise_context *context,
                                                      const headwise_mha *mha,
                                                      const struct headwise_attention_call *call);

/* What a layer is: its config with defaults filled in, and what its weights take. */
struct headwise_mha_info {
    size_t size; /* sizeof(struct headwise_mha_info) of the library */
    int64_t d_model, d_memory, d_out;
    int64_t n_heads, n_kv_heads, head_dim, value_dim;
    const int64_t *group_sizes;  /* [n_kv_heads]: query heads that read each kv head */
    const int64_t *head_numbers; /* [n_heads], increasing: 0, 1, 2 ... unless heads were pruned */
    enum headwise_dtype packed_dtype;
    bool dynamic_int8;
    int64_t dynamic_group;
    size_t weight_bytes; /* of the four matrices with their scales */
};

/* Lives as long as the layer, which must not be NULL. */
HEADWISE_API const struct headwise_mha_info *headwise_mha_describe(const headwise_mha *mha);

#ifdef __cplusplus
}
#endif
#endif
