/* Checks of the weights that layers are made from. Each sets the error text on failure. */
#ifndef HEADWISE_CHECK_WEIGHTS_H
#define HEADWISE_CHECK_WEIGHTS_H

#include "headwise/common.h"

/* Types of a layer's matrices, as given and as kept. */
struct headwise_weight_types {
    enum headwise_dtype weight_dtype, packed_dtype;
    bool dynamic_int8;
    int64_t dynamic_group;
};

/* That they are allowed and fit one another, for matrices of so many inputs. */
enum headwise_status headwise_check_weight_types(const char *where,
                                                 const struct headwise_weight_types *types,
                                                 int64_t most_inputs);

/* The scales of n outputs, or NULL. */
enum headwise_status headwise_check_scales(const char *where, const char *name, const float *scales,
                                           int64_t n, const struct headwise_weight_types *types);

/* That layout is one. */
enum headwise_status headwise_check_layout(const char *where, int layout);

/* That a size that a caller gives is least to 2^30: two of them multiply without overflow, and so
 * do the bytes of a matrix of them. */
enum headwise_status headwise_check_width(const char *where, const char *name, int64_t size,
                                          int64_t least);

#endif
