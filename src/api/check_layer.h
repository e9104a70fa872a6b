/* Checks of a layer's calls. Each sets the error text on failure. */
#ifndef HEADWISE_CHECK_LAYER_H
#define HEADWISE_CHECK_LAYER_H

#include "api/check.h"
#include "layer/mha.h"

/* That both are there and for the same tier. */
enum headwise_status headwise_check_layer(const char *where, const headwise_context *context,
                                          const headwise_mha *mha);

/* That, and that x is right, and memory where it is not NULL. needs_keys: without a memory x must
 * do. */
enum headwise_status headwise_check_layer_inputs(const char *where, const headwise_context *context,
                                                 const headwise_mha *mha,
                                                 const struct headwise_tensor *x,
                                                 const struct headwise_tensor *memory,
                                                 bool needs_keys);

/* That context, layer and cache are there and for the same tier, and that the cache holds keys of
 * this layer. */
enum headwise_status headwise_check_layer_cache(const char *where, const headwise_context *context,
                                                const headwise_mha *mha,
                                                const headwise_cache *cache);

/* Types of the weights and scales of a config whose sizes are resolved. */
enum headwise_status headwise_check_mha_weights(const struct headwise_mha_config *config);

/* Rotary and norm of a config whose sizes are resolved; fills in the default of norm_eps. */
enum headwise_status headwise_check_heads_config(struct headwise_mha_config *config);

/* That the positions of the rows that the call projects, n_rows of each batch entry, are in the
 * layer's rotary table. */
enum headwise_status headwise_check_layer_positions(const char *where, const headwise_mha *mha,
                                                    const struct headwise_call *call,
                                                    int64_t n_rows);

/* A call's shape with the sizes of the layer: rows that ask, of each batch entry, and new keys. */
struct headwise_shape headwise_layer_shape(const headwise_mha *mha, int64_t batch,
                                           int64_t n_queries, int64_t n_new_keys);

/* headwise_check_call, and the positions of n_rows of each batch entry. */
enum headwise_status headwise_check_layer_call(struct headwise_call *call, const char *where,
                                               const headwise_mha *mha,
                                               const struct headwise_shape *shape,
                                               const struct headwise_attention_call *given,
                                               int64_t n_rows);

/* That the layer can take keys and values from x. */
enum headwise_status headwise_check_own_keys(const char *where, const headwise_mha *mha);

#endif
