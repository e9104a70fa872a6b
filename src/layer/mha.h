/* The layer's inside. */
#ifndef HEADWISE_SRC_MHA_H
#define HEADWISE_SRC_MHA_H

#include "attention/call.h"
#include "context/context.h"
#include "headwise/mha.h"
#include "linear/matrix.h"

/* Norm of each head; weight NULL: none. Copies, [head_dim]. */
struct headwise_head_norm {
    float *weight, *bias;
};

struct headwise_mha {
    enum headwise_isa isa; /* the tier that the weights are packed for */
    int64_t d_model, d_memory, d_out;
    int64_t n_heads, n_kv_heads, head_dim, value_dim;
    int64_t *head_numbers; /* [n_heads]: of the layer before any pruning, increasing */
    int64_t *group_starts; /* [n_kv_heads + 1]: kv head g is read by heads group_starts[g] up to the
                            * next one's. In the memory of head_numbers. */
    int64_t *group_sizes;  /* [n_kv_heads], in the same memory */
    bool uneven;           /* groups of different sizes */
    struct headwise_matrix q, k, v, o;
    const headwise_rotary *rotary; /* the caller's, or NULL */
    struct headwise_head_norm q_norm, k_norm;
    enum headwise_norm norm;
    float norm_eps;
    struct headwise_allocator allocator;
    struct headwise_mha_info info; /* what a caller sees of it */
};

/* What a call is told of uneven groups: NULL where they are even. */
static inline const int64_t *headwise_mha_groups(const headwise_mha *mha) {
    return mha->uneven ? mha->group_starts : NULL;
}

/* Creates a layer from a checked config whose defaults are filled in. n_heads may be 0. */
enum headwise_status headwise_mha_build(headwise_mha **mha, headwise_context *context,
                                        const struct headwise_mha_config *config);

/* The tensors of a layer's call. */
struct headwise_mha_io {
    const struct headwise_tensor *y;      /* NULL: keys and values are appended, nothing attends */
    const struct headwise_tensor *x;      /* queries; keys and values too where memory is NULL */
    const struct headwise_tensor *memory; /* or NULL; without queries it alone */
    headwise_cache *appended;             /* where keys and values go, or NULL */
    /* Without y and appended: what is projected goes here, each or NULL, and nothing attends. */
    const struct headwise_tensor *q, *k, *v;
};

/* Runs a checked call. call has every size and option, but no q, k, v and y yet: those are scratch.
 * With call->cache keys and values come from the cache, after those of this call were appended
 * (io->appended, the same cache, with room for them), or without (NULL). HEADWISE_ERR_NO_MEMORY:
 * nothing was written. */
enum headwise_status headwise_mha_run(headwise_context *context, const headwise_mha *mha,
                                      const struct headwise_mha_io *io, struct headwise_call *call);

#endif
