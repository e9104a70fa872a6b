/* Addressing in views. */
#ifndef HEADWISE_SRC_TENSOR_H
#define HEADWISE_SRC_TENSOR_H

#include "headwise/tensor.h"

/* Address of element (b, h, r, 0). */
static inline void *headwise_tensor_row(const struct headwise_tensor *t, int64_t b, int64_t h,
                                        int64_t r) {
    int64_t offset = b * t->stride[0] + h * t->stride[1] + r * t->stride[2];
    return (char *)t->data + offset * (int64_t)headwise_dtype_size(t->dtype);
}

static inline bool headwise_tensor_empty(const struct headwise_tensor *t) {
    return t->size[0] == 0 || t->size[1] == 0 || t->size[2] == 0 || t->size[3] == 0;
}

#endif
