/* Finds rows of keys and values among past and new ones. */
#include "attention/key_rows.h"

#include "base/alloc.h"
#include "tensors/tensor.h"

struct headwise_f32_rows headwise_key_rows(const struct headwise_key_source *source, int64_t first,
                                           int64_t n) {
    bool is_past = first < source->n_past;
    const struct headwise_tensor *src = is_past ? source->past : source->now;
    int64_t row = is_past ? first : first - source->n_past;
    int64_t b = source->batch, h = source->head;
    if (is_past)
        n = headwise_min(n, source->n_past - first);
    if (src->dtype == HEADWISE_F32)
        return (struct headwise_f32_rows){headwise_tensor_row(src, b, h, row), src->stride[2], n};
    n = headwise_min(n, source->kernels->nr);
    for (int64_t i = 0; i < n; i++)
        headwise_row_to_f32(source->kernels, source->buffer + i * src->size[3], src, b, h, row + i);
    return (struct headwise_f32_rows){source->buffer, src->size[3], n};
}

struct headwise_f32_rows headwise_gather_rows(const struct headwise_key_source *source,
                                              int64_t first, int64_t n) {
    int64_t columns = source->now->size[3];
    for (int64_t i = 0; i < n; i++) {
        bool is_past = first + i < source->n_past;
        headwise_row_to_f32(source->kernels, source->buffer + i * columns,
                            is_past ? source->past : source->now, source->batch, source->head,
                            is_past ? first + i : first + i - source->n_past);
    }
    return (struct headwise_f32_rows){source->buffer, columns, n};
}
