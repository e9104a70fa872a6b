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

/* What the inputs of a group, or all, end with. */
struct dot_group {
    const struct headwise_rounding *roundings;
    const int32_t *sums;
    const float *scales;
    bool adds;
};

DOT_TILE dot_first_group(struct dot_group *group, const struct dot *d) {
    *group = (struct dot_group){d->rows->roundings, d->columns->sums, d->columns->scales,
                                d->columns->adds};
}

DOT_TILE dot_next_group(struct dot_group *group, const struct dot *d) {
    group->roundings += d->rows->groups_apart;
    group->sums += d->columns->groups_apart;
    group->scales += d->columns->groups_apart;
    group->adds = true;
}

/* LANES sums of row i, from column j on, become what the call gives. */
DOT_TILE dot_end(const struct dot *d, const struct dot_group *group, ptrdiff_t i, int j, ints s) {
    const struct headwise_rounding *rounding = group->roundings + i;
    const struct headwise_dot_columns *columns = d->columns;
    float *y = d->y + i * d->y_stride + j;
    if (group->sums)
        s = subtract_ints(
            s, multiply_ints(broadcast_int(rounding->zero_byte), load_ints(group->sums + j)));
    if (d->resume)
        s = add_ints(s, load_ints(y));
    if (!group->scales) {
        store_ints(y, s);
        return;
    }
    vec scaled = multiply(floats_of(s), load(group->scales + j));
    vec before = group->adds ? load(y) : columns->bias ? load(columns->bias + j) : broadcast(0.0f);
    store(y, multiply_add(scaled, broadcast(rounding->scale), before));
}

#endif
