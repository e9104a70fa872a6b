/* Views of the caller's arrays. */
#ifndef HEADWISE_TENSOR_H
#define HEADWISE_TENSOR_H

#include "common.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A view of an array with four axes, in this order: batch, head, row, column. A row is a token, a
 * column a component of its vector (in a mask: a key).
 *
 * Element (b, h, r, c) lies at data + b*stride[0] + h*stride[1] + r*stride[2] + c*stride[3],
 * counted in elements of dtype. Strides are 0 (the axis is broadcast: every index reads the same
 * element) or positive. The last axis of everything but masks has stride 1. Outputs must not be
 * broadcast. No alignment beyond that of the element type is required, and nothing outside the
 * elements named by the sizes is read or written. An axis of size 0 makes the tensor empty; data
 * may then be NULL.
 *
 * Where a function says that arrays may not overlap, it does not look: views may interleave without
 * sharing an element. If they share one, the numbers that come out mean nothing, and no more than
 * that happens.
 *
 * Inputs are never written; data is not const only so that one type serves both directions. */
struct headwise_tensor {
    void *data;
    enum headwise_dtype dtype;
    int64_t size[4];
    int64_t stride[4];
};

/* A contiguous (batch, head, row, column) array. */
HEADWISE_API struct headwise_tensor headwise_tensor_bhrc(const void *data,
                                                         enum headwise_dtype dtype, int64_t batch,
                                                         int64_t heads, int64_t rows,
                                                         int64_t columns);

/* A contiguous (batch, row, head * columns) array seen as (batch, head, row, column): what a linear
 * projection writes. With heads = 1 it is an ordinary (batch, row, column) array, the form of a
 * layer's x, memory and y. */
HEADWISE_API struct headwise_tensor headwise_tensor_brhc(const void *data,
                                                         enum headwise_dtype dtype, int64_t batch,
                                                         int64_t rows, int64_t heads,
                                                         int64_t columns);

#ifdef __cplusplus
}
#endif
#endif
