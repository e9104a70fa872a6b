/* What products of the SIMD tiers are made of: the panels and their elements, how a call walks
 * along them, and what becomes of a tile's accumulators. */
#ifndef HEADWISE_PRODUCT_H
#define HEADWISE_PRODUCT_H

#include "vec.h"

/* A tile is inlined once for each number of rows, so that its accumulators are registers. */
#define TILE ALWAYS_INLINE void

/* What the elements of B are and which scales they have, F32_ROWS being rows in place: a constant
 * in every tile. */
enum element { F32, F32_ROWS, F16, BF16, I8, KEYS_I8, VALUES_I8 };

ALWAYS_INLINE int element_bytes(enum element element) {
    return element == F32 || element == F32_ROWS ? 4 : element == F16 || element == BF16 ? 2 : 1;
}

/* The product over the panels from b on. Beyond k, each kernel sets what its formula names. */
struct product {
    float *c;
    ptrdiff_t c_stride;
    const float *a;
    ptrdiff_t a_stride;
    const char *b;
    ptrdiff_t row_stride, panel_bytes;
    const float *scales;
    ptrdiff_t scales_stride;
    ptrdiff_t k;
    float scale;
    const float *alpha;
    const float *beta;
    bool resume;
    const float *bias;
    ptrdiff_t follow_bytes; /* of what follows the panel: asked for in each turn of a full tile */
};

static inline struct product make_product(float *c, ptrdiff_t c_stride, const float *a,
                                          ptrdiff_t a_stride, const struct headwise_columns *b,
                                          ptrdiff_t k, enum element element) {
    return (struct product){
        .c = c,
        .c_stride = c_stride,
        .a = a,
        .a_stride = a_stride,
        .b = b->data,
        .row_stride = b->row_stride,
        .panel_bytes = b->panel_stride * element_bytes(element),
        .scales = b->scales,
        .scales_stride = b->scales_stride,
        .k = k,
    };
}

/* Moves on by n columns, the first of which is number `column`. */
TILE next_columns(struct product *p, ptrdiff_t column, ptrdiff_t n, enum element element) {
    p->c += n;
    p->b += n / NR * p->panel_bytes;
    if (element == KEYS_I8)
        p->scales += n / NR * p->scales_stride;
    if (element == VALUES_I8)
        p->scales += (column % HEADWISE_SCALE_GROUP + n) / HEADWISE_SCALE_GROUP * p->scales_stride;
    if (element == I8 && p->scales)
        p->scales += n;
    if (p->bias)
        p->bias += n;
}

/* The ends of the three kernels, for the chains of rows from `first` on. */

TILE end_scores(const vec *acc, const struct product *p, ptrdiff_t first, int rows, int vecs) {
    vec scale = broadcast(p->scale);
    UNROLLED
    for (int i = 0; i < rows; i++) {
        float *row = p->c + (first + i) * p->c_stride;
        UNROLLED
        for (int v = 0; v < vecs; v++)
            store(row + v * LANES, multiply(scale, acc[i * vecs + v]));
    }
}

TILE end_values(const vec *acc, const struct product *p, ptrdiff_t first, int rows, int vecs) {
    UNROLLED
    for (int i = 0; i < rows; i++) {
        float *row = p->c + (first + i) * p->c_stride;
        vec alpha = broadcast(p->alpha[first + i]);
        vec beta = broadcast(p->beta[first + i]);
        UNROLLED
        for (int v = 0; v < vecs; v++) {
            vec block = multiply(beta, acc[i * vecs + v]);
            store(row + v * LANES, multiply_add(load(row + v * LANES), alpha, block));
        }
    }
}

TILE end_projection(vec *acc, const struct product *p, ptrdiff_t first, int rows, int vecs,
                    enum element element) {
    float *c = p->c + first * p->c_stride;
    if (element == I8 && p->scales != NULL) {
        UNROLLED
        for (int v = 0; v < vecs; v++) {
            vec scale = load(p->scales + v * LANES);
            UNROLLED
            for (int i = 0; i < rows; i++)
                acc[i * vecs + v] = multiply(acc[i * vecs + v], scale);
        }
    }
    if (p->bias != NULL) {
        UNROLLED
        for (int v = 0; v < vecs; v++) {
            vec bias = load(p->bias + v * LANES);
            UNROLLED
            for (int i = 0; i < rows; i++)
                acc[i * vecs + v] = add(acc[i * vecs + v], bias);
        }
    }
    UNROLLED
    for (int i = 0; i < rows * vecs; i++)
        store(c + i / vecs * p->c_stride + i % vecs * LANES, acc[i]);
}

/* Entry points: name is a kernel of the table, which makes its product p and runs it. */
#define DEFINE_SCORES(name, element, run)                                                          \
    void name(float *restrict c, ptrdiff_t c_stride, const float *restrict a, ptrdiff_t a_stride,  \
              int a_rows, const struct headwise_columns *b, ptrdiff_t m, ptrdiff_t n, ptrdiff_t k, \
              float scale) {                                                                       \
        struct product p = make_product(c, c_stride, a, a_stride, b, k, element);                  \
        p.scale = scale;                                                                           \
        (void)a_rows; /* 1 where run does not ask */                                               \
        run;                                                                                       \
    }

#define DEFINE_VALUES(name, element, run)                                                          \
    void name(float *restrict c, ptrdiff_t c_stride, const float *restrict a, ptrdiff_t a_stride,  \
              const struct headwise_columns *b, ptrdiff_t m, ptrdiff_t n, ptrdiff_t k,             \
              const float *restrict alpha, const float *restrict beta) {                           \
        struct product p = make_product(c, c_stride, a, a_stride, b, k, element);                  \
        p.alpha = alpha;                                                                           \
        p.beta = beta;                                                                             \
        run;                                                                                       \
    }

#define DEFINE_PROJECT(name, element, run)                                                         \
    void name(float *restrict c, ptrdiff_t c_stride, const float *restrict a, ptrdiff_t a_stride,  \
              int a_rows, const struct headwise_columns *b, ptrdiff_t m, ptrdiff_t n, ptrdiff_t k, \
              bool resume, const float *restrict bias) {                                           \
        struct product p = make_product(c, c_stride, a, a_stride, b, k, element);                  \
        p.resume = resume;                                                                         \
        p.bias = bias;                                                                             \
        (void)a_rows; /* 1 where run does not ask */                                               \
        run;                                                                                       \
    }

#endif
