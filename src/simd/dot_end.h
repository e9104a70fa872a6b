/* What products of bytes do with their sums. */
#ifndef HEADWISE_SIMD_DOT_END_H
#define HEADWISE_SIMD_DOT_END_H

#include "kernels/dot.h"
#include "vec.h"

#define DOT_TILE ALWAYS_INLINE void

struct dot {
    float *y;
    ptrdiff_t y_stride;
    const struct headwise_dot_rows *rows;
    const struct headwise_dot_columns *columns;
    bool resume;
    ptrdiff_t ahead; /* bytes from what is read of the panel to what is asked for */
};

/* LANES sums of row i, from column j on, become what the call gives. */
DOT_TILE dot_end(const struct dot *d, ptrdiff_t i, int j, ints s) {
    const struct headwise_rounding *rounding = d->rows->roundings + i;
    const struct headwise_dot_columns *columns = d->columns;
    float *y = d->y + i * d->y_stride + j;
    if (columns->sums)
        s = subtract_ints(
            s, multiply_ints(broadcast_int(rounding->zero_byte), load_ints(columns->sums + j)));
    if (d->resume)
        s = add_ints(s, load_ints(y));
    if (!columns->scales) {
        store_ints(y, s);
        return;
    }
    vec bias = columns->bias ? load(columns->bias + j) : broadcast(0.0f);
    vec scaled = multiply(floats_of(s), load(columns->scales + j));
    store(y, multiply_add(scaled, broadcast(rounding->scale), bias));
}

#endif
