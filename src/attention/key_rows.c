/* Finds rows of keys and values among past and new ones. */
#include "attention/key_rows.h"

#include "base/alloc.h"
#include "tensors/tensor.h"

struct headwise_rows headwise_key_rows(const struct headwise_kernels *kernels,
                                       const struct headwise_call *call,
                                       const struct headwise_tensor *now,
                                       const struct headwise_tensor *past, int64_t b, int64_t h,
                                       int64_t first, int64_t n, float *buffer) {
    bool is_past = first < call->n_past;
    const struct headwise_tensor *src = is_past ? past : now;
    int64_t row = is_past ? first : first - call->n_past;
    if (is_past)
        n = headwise_min(n, call->n_past - first);
    if (src->dtype == HEADWISE_F32)
        return (struct headwise_rows){headwise_tensor_row(src, b, h, row), src->stride[2], n};
    n = headwise_min(n, kernels->nr);
    for (int64_t i = 0; i < n; i++)
        headwise_row_to_f32(kernels, buffer + i * src->size[3], src, b, h, row + i);
    return (struct headwise_rows){buffer, src->size[3], n};
}

struct headwise_rows headwise_gather_rows(const struct headwise_kernels *kernels,
                                          const struct headwise_call *call,
                                          const struct headwise_tensor *now,
                                          const struct headwise_tensor *past, int64_t b, int64_t h,
                                          int64_t first, int64_t n, float *buffer) {
    int64_t columns = now->size[3];
    for (int64_t i = 0; i < n; i++) {
        bool is_past = first + i < call->n_past;
        headwise_row_to_f32(kernels, buffer + i * columns, is_past ? past : now, b, h,
                            is_past ? first + i : first + i - call->n_past);
    }
    return (struct headwise_rows){buffer, columns, n};
}
