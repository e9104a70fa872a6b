/* Rows of the caller's tensors as f32, and back. */
#include "tensors/rows.h"

#include <string.h>

#include "tensors/tensor.h"

void headwise_row_to_f32(const struct headwise_kernels *kernels, float *dst,
                         const struct headwise_tensor *src, int64_t b, int64_t h, int64_t r) {
    kernels->widen[src->dtype](dst, headwise_tensor_row(src, b, h, r), src->size[3]);
}

void headwise_row_from_f32(const struct headwise_kernels *kernels, void *dst,
                           enum headwise_dtype dtype, const float *src, int64_t n) {
    if (dst != src)
        kernels->narrow[dtype](dst, src, n);
}

void headwise_round_row(const struct headwise_kernels *kernels, enum headwise_dtype dtype, float *s,
                        int64_t n, float *buffer) {
    if (dtype != HEADWISE_F32) {
        kernels->narrow[dtype](buffer, s, n);
        kernels->widen[dtype](s, buffer, n);
    }
}
