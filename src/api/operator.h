/* What the calls of the operator share: over tensors, ragged, over a cache. */
#ifndef HEADWISE_OPERATOR_H
#define HEADWISE_OPERATOR_H

#include "api/check.h"

/* Checks q, k, v and y, of batch entries (-1: any number), and sets the sizes and types that follow
 * from them; the rest of shape stays. */
enum headwise_status headwise_operator_shape(struct headwise_shape *shape, const char *where,
                                             int64_t batch, const struct headwise_tensor *y,
                                             const struct headwise_tensor *q,
                                             const struct headwise_tensor *k,
                                             const struct headwise_tensor *v);

/* Checks options, which must ask for nothing that only a layer has, and runs the call; k and v are
 * NULL over a cache. */
enum headwise_status headwise_operator_run(headwise_context *context, const char *where,
                                           const struct headwise_shape *shape,
                                           const struct headwise_tensor *y,
                                           const struct headwise_tensor *q,
                                           const struct headwise_tensor *k,
                                           const struct headwise_tensor *v,
                                           const struct headwise_attention_options *options);

#endif
