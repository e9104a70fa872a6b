/* Joining the softmax of key blocks, and ending it. */
#include "vec.h"

/* What is subtracted from scores: rows that see no key must not compute inf - inf. */
static inline vec bases_of(vec max) {
    return select_equal(max, broadcast(-INFINITY), broadcast(0.0f), max);
}

static inline vec exp2_above(vec max, vec base) {
    return exp2_vec(multiply(subtract(max, base), broadcast(LOG2E)));
}

void TIER(headwise_merge)(float *restrict alpha, float *restrict beta, float *restrict max,
                          float *restrict sum, const float *restrict block_max,
                          const float *restrict block_sum, ptrdiff_t n) {
    for (ptrdiff_t i = 0; i < n; i += LANES) {
        vec old_max = load_first(max + i, n - i);
        vec new_max = select_max(load_first(block_max + i, n - i), old_max);
        vec base = bases_of(new_max);
        vec old_scale = exp2_above(old_max, base);
        vec block_scale = exp2_above(load_first(block_max + i, n - i), base);
        vec block = multiply(load_first(block_sum + i, n - i), block_scale);
        store_first(alpha + i, old_scale, n - i);
        store_first(beta + i, block_scale, n - i);
        store_first(sum + i, multiply_add(load_first(sum + i, n - i), old_scale, block), n - i);
        store_first(max + i, new_max, n - i);
    }
}

void TIER(headwise_finish)(float *restrict inverse, float *restrict lse, const float *restrict max,
                           const float *restrict sum, ptrdiff_t n) {
    vec zero = broadcast(0.0f);
    for (ptrdiff_t i = 0; i < n; i += LANES) {
        vec total = load_first(sum + i, n - i);
        vec reciprocal = divide(broadcast(1.0f), total);
        vec log_sum = add(load_first(max + i, n - i), log_vec(total));
        store_first(inverse + i, select_equal(total, zero, zero, reciprocal), n - i);
        store_first(lse + i, select_equal(total, zero, broadcast(-INFINITY), log_sum), n - i);
    }
}

void TIER(headwise_factors)(float *restrict factor, const float *restrict block_max, float max,
                            float inverse, ptrdiff_t n) {
    vec base = broadcast(base_of(max));
    for (ptrdiff_t i = 0; i < n; i += LANES) {
        vec weight = exp2_above(load_first(block_max + i, n - i), base);
        store_first(factor + i, multiply(weight, broadcast(inverse)), n - i);
    }
}

static inline vec normalize_vec(vec o, float inverse, float gate) {
    vec x = multiply_add(multiply(o, broadcast(inverse)), broadcast(gate), broadcast(0.0f));
    return select_nan(x, broadcast(NAN), x);
}

void TIER(headwise_normalize)(float *y, const float *o, float inverse, float gate, ptrdiff_t n) {
    ptrdiff_t j = 0;
#pragma GCC unroll 4
    for (; n - j >= LANES; j += LANES)
        store(y + j, normalize_vec(load(o + j), inverse, gate));
    if (j < n)
        store_first(y + j, normalize_vec(load_first(o + j, n - j), inverse, gate), n - j);
}
