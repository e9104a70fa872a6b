/* Sums of products of bytes. */
#include "kernels/dot.h"
#include "vec.h"

/* Unsigned, since 32 bits wrap around. */
static uint32_t sum_of(const uint8_t *bytes, const int8_t *weights, int n, ptrdiff_t k) {
    uint32_t sum = 0;
    for (ptrdiff_t t = 0; t < k; t++)
        sum += (uint32_t)(bytes[t] * weights[t / 4 * n * 4 + t % 4]);
    return sum;
}

/* Inputs of one group, or all. */
static void multiply_group(float *restrict y, ptrdiff_t y_stride,
                           const struct headwise_dot_rows *rows,
                           const struct headwise_dot_columns *columns, bool resume) {
    for (ptrdiff_t i = 0; i < rows->m; i++) {
        const struct headwise_rounding *rounding = rows->roundings + i;
        for (int j = 0; j < columns->n; j++) {
            float *to = y + i * y_stride + j;
            float before = columns->adds ? *to : columns->bias ? columns->bias[j] : 0.0f;
            uint32_t sum = 0;
            if (resume)
                memcpy(&sum, to, sizeof sum);
            if (columns->sums)
                sum -= (uint32_t)rounding->zero_byte * (uint32_t)columns->sums[j];
            sum += sum_of(rows->bytes + i * rows->stride, columns->panel + (ptrdiff_t)j * 4,
                          columns->n, columns->k);
            memcpy(to, &sum, sizeof sum);
            if (columns->scales)
                *to =
                    multiply_add((float)(int32_t)sum * columns->scales[j], rounding->scale, before);
        }
    }
}

static void multiply_bytes(float *restrict y, ptrdiff_t y_stride,
                           const struct headwise_dot_rows *rows,
                           const struct headwise_dot_columns *columns, bool resume) {
    struct headwise_dot_rows bytes = *rows;
    struct headwise_dot_columns part = *columns;
    ptrdiff_t k = columns->k, step = columns->group ? columns->group : k;
    for (ptrdiff_t begin = 0;;) { /* once without inputs */
        part.k = step < k - begin ? step : k - begin;
        multiply_group(y, y_stride, &bytes, &part, resume);
        begin += step;
        if (begin >= k)
            return;
        bytes.bytes += step;
        bytes.roundings += rows->groups_apart;
        part.panel += step * columns->n;
        part.sums += columns->groups_apart;
        part.scales += columns->groups_apart;
        part.adds = true;
    }
}

const struct headwise_dot headwise_dot_scalar = {"scalar", 4, multiply_bytes, NULL, NULL};
