/* A call of the operator as a file states it. */
#ifndef HEADWISE_TOOLS_ATTENTION_CALL_H
#define HEADWISE_TOOLS_ATTENTION_CALL_H

#include "calls/attributes.h"
#include "common/arena.h"
#include "headwise/attention.h"

struct attention_call {
    int rank; /* of Q, K, V and Y: 4, or 3 with the heads side by side in a row */
    int64_t batch, n_heads, n_kv_heads, n_queries, n_new_keys, n_past, head_dim, value_dim;
    int64_t n_keys; /* n_past + n_new_keys */
    struct headwise_tensor q, k, v;
    struct headwise_tensor past_key, past_value, mask;
    int64_t *key_lengths; /* [batch], or NULL */
    int64_t *offsets;     /* [batch]: position of query 0 on the axis of the keys */
    bool is_causal;
    bool narrowed; /* Q, K, V, a past or a mask was F64 and has been rounded to f32 */
    enum headwise_score_stage stage;
    struct headwise_attention_options options;
    struct headwise_attention_call call; /* its tensors, lengths and offsets are those above */
};

/* Reads Q K V [attn_mask] [past_key past_value] [nonpad_kv_seqlen]; attributes are complete.
 * Shapes, types and lengths are checked. Returns an exit code. */
int attention_call_read(struct attention_call *call, struct arena *arena,
                        const headwise_safetensors *file, const struct attributes *attributes);

/* A view of an array in the form of Q and Y (rank 4, or 3 with heads side by side). */
struct headwise_tensor attention_view(int rank, const void *data, enum headwise_dtype dtype,
                                      int64_t batch, int64_t heads, int64_t rows, int64_t columns);

#endif
