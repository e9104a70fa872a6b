/* Rows of the caller's tensors as f32, and back. */
#ifndef HEADWISE_SRC_ROWS_H
#define HEADWISE_SRC_ROWS_H

#include "headwise/tensor.h"
#include "kernels/kernels.h"

/* n rows of f32, stride floats apart. */
struct headwise_f32_rows {
    const float *data;
    int64_t stride;
    int64_t n;
};

/* Copies row (b, h, r) to dst as f32. */
void headwise_row_to_f32(const struct headwise_kernels *kernels, float *dst,
                         const struct headwise_tensor *src, int64_t b, int64_t h, int64_t r);

/* Writes n f32 to dst in its type, one rounding. dst and src may be the same for f32. */
void headwise_row_from_f32(const struct headwise_kernels *kernels, void *dst,
                           enum headwise_dtype dtype, const float *src, int64_t n);

/* Rounds n scores to a type and back, through buffer (n floats). F32: nothing. */
void headwise_round_row(const struct headwise_kernels *kernels, enum headwise_dtype dtype, float *s,
                        int64_t n, float *buffer);

#endif
