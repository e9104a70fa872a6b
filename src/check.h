/* Checks of arguments. Each sets the error text on failure. */
#ifndef HEADWISE_CHECK_H
#define HEADWISE_CHECK_H

#include "call.h"

/* Fills call's options, probe, and every size from the shapes below, checking all of them.
 * where begins the error text ("attention"). k_type and v_type are the types of past and present.
 */
struct headwise_shape {
    int64_t batch, n_heads, n_kv_heads, n_queries, n_new_keys, head_dim, value_dim;
    enum headwise_dtype k_type, v_type;
};

enum headwise_status headwise_check_call(struct headwise_call *call, const char *where,
                                         const struct headwise_shape *shape,
                                         const struct headwise_attention_options *options);

/* One tensor: types F32, F16, BF16; expected sizes, -1 where any is allowed; data, strides, extent.
 */
enum headwise_status headwise_check_tensor(const char *where, const char *name,
                                           const struct headwise_tensor *t, bool is_output,
                                           int64_t batch, int64_t heads, int64_t rows,
                                           int64_t columns);

#endif
