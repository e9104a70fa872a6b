/* One call of a kernel that multiplies rows of A by panels of B, with its buffers and what exact
 * arithmetic says about it. */
#ifndef TESTS_PRODUCT_H
#define TESTS_PRODUCT_H

#include <stddef.h>

#include "rng.h"

#include "kernels/kernels.h"

struct product {
    const struct headwise_kernels *kernels;
    ptrdiff_t m, n, k;
    ptrdiff_t a_stride; /* > k; what lies between the rows is NaN */
    int a_rows;         /* rows of A's row panels */
    ptrdiff_t c_stride; /* > n; what lies between the rows must stay */
    float *a;           /* every buffer ends shift_bytes before an unreadable page */
    float *b;
    float *c;
    size_t b_size;                   /* elements of b; what lies between two panels is NaN */
    struct headwise_columns columns; /* b */
};

/* Random A and B in [-1, 1), A in plain rows; C holds GUARD_BYTE. */
struct product product_make(struct test_rng *rng, const struct headwise_kernels *kernels,
                            ptrdiff_t m, ptrdiff_t n, ptrdiff_t k, size_t shift_bytes);

/* Lays B as rows in place, row_stride elements apart: n or more; what lies between them is NaN. */
void product_lay_rows(struct product *p, ptrdiff_t row_stride);

/* Packs A in row panels of the tier, where it has any: what of a_stride is not used is NaN. */
void product_pack_rows(struct product *p);

/* Element t of row i of A. */
float product_a(const struct product *p, ptrdiff_t i, ptrdiff_t t);

/* Number of B(t, j) in b. */
ptrdiff_t product_b_at(const struct product *p, ptrdiff_t t, ptrdiff_t j);

/* Sum over t of a[i][t] b[t][j] in float64, and the sum of the absolute values. */
double product_exact(const struct product *p, ptrdiff_t i, ptrdiff_t j, double *magnitude);

/* The chain of the contract in f32, from start: fma in increasing t, or multiply and add where the
 * tier is scalar. It is what every tier must give, bit for bit. */
float product_chain(const struct product *p, ptrdiff_t i, ptrdiff_t j, float start);

/* Fails the test where C changed between its rows, or GUARD_BYTE around a buffer. */
void product_check_gaps(const struct product *p);

/* The tier's fma(a, b, c). */
float product_fma(const struct headwise_kernels *kernels, float a, float b, float c);

/* Calls visit for row counts around the tile height, every panel width and several panels,
 * and every k of the list, with bases aligned and shifted by 4 bytes in turn. */
void product_for_grid(const struct headwise_kernels *kernels, uint64_t stream, const int64_t *ks,
                      size_t n_ks, void (*visit)(struct product *p, struct test_rng *rng));

#endif
