/* pack_rows, pack_transposed and pack_columns: copies into panels, padded with zeros. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "compare.h"
#include "guard.h"
#include "rng.h"
#include "runner.h"
#include "shapes.h"
#include "tier.h"

/* Random bits: every kind of f32, NaN with payloads too, must arrive as it is. With finite set the
 * top exponent bit is 0. */
static void fill_bits(struct test_rng *rng, float *x, size_t n, bool finite) {
    for (size_t i = 0; i < n; i++) {
        uint32_t bits = (uint32_t)(test_rng_next(rng) >> 32) & (finite ? 0xbfffffff : 0xffffffff);
        memcpy(x + i, &bits, sizeof(bits));
    }
}

static uint32_t bits_of(const float *x) {
    uint32_t bits;
    memcpy(&bits, x, sizeof(bits));
    return bits;
}

/* Between the panels of rows nothing may change. */
static void expect_rows(const struct headwise_kernels *kernels, struct test_rng *rng, ptrdiff_t m,
                        ptrdiff_t k, size_t shift_bytes) {
    ptrdiff_t stride = k + m % 3, a_stride = k + k % 5, height = kernels->row_panel;
    ptrdiff_t last = m > 0 ? (m - 1) / height * height : 0;
    size_t src_size = m > 0 ? (size_t)((m - 1) * stride + k) : 0;
    float *src = guard_alloc(src_size * sizeof(float), shift_bytes);
    float *a = guard_alloc((size_t)(last * a_stride + (m - last) * k) * sizeof(float), shift_bytes);
    fill_bits(rng, src, src_size, false);
    kernels->pack_rows(a, a_stride, src, stride, m, k);
    for (ptrdiff_t i = 0; i < m; i++) {
        ptrdiff_t first = i / height * height, rows = m - first < height ? m - first : height;
        for (ptrdiff_t t = 0; t < k; t++)
            if (bits_of(a + first * a_stride + t * rows + i - first) !=
                bits_of(src + i * stride + t))
                fail_msg("m %td k %td: row %td step %td", m, k, i, t);
        if (first + height < m)
            guard_expect_untouched(a + first * a_stride + rows * k,
                                   (size_t)(rows * (a_stride - k)) * sizeof(float),
                                   "between panels");
    }
    guard_reset();
}

static void rows_copy_every_bit(enum headwise_isa isa) {
    const struct headwise_kernels *kernels = tier_kernels(isa);
    struct test_rng rng = test_rng_make(33);
    for (size_t d = 0; d < SHAPE_DIMS; d++)
        for (ptrdiff_t m = 0; m <= 2 * kernels->mr + 1; m++)
            expect_rows(kernels, &rng, m, shape_dims[d], (size_t)(m % 2) * sizeof(float));
    expect_rows(kernels, &rng, 3, 0, 0);
}

static void expect_transposed(const struct headwise_kernels *kernels, struct test_rng *rng, int n,
                              int n_rows, ptrdiff_t k, size_t shift_bytes) {
    ptrdiff_t stride = k + (n_rows % 3);
    size_t src_size = n_rows > 0 ? (size_t)((n_rows - 1) * stride + k) : 0;
    float *src = guard_alloc(src_size * sizeof(float), shift_bytes);
    float *panel = guard_alloc((size_t)(n * k) * sizeof(float), shift_bytes);
    fill_bits(rng, src, src_size, false);
    kernels->pack_transposed(panel, n, src, stride, n_rows, k);
    for (ptrdiff_t t = 0; t < k; t++)
        for (int j = 0; j < n; j++) {
            uint32_t want = j < n_rows ? bits_of(src + j * stride + t) : 0;
            if (bits_of(panel + t * n + j) != want)
                fail_msg("n %d n_rows %d k %td: panel[%td][%d]", n, n_rows, k, t, j);
        }
    guard_reset();
}

static void transposed_copies_every_bit(enum headwise_isa isa) {
    const struct headwise_kernels *kernels = tier_kernels(isa);
    struct test_rng rng = test_rng_make(31);
    for (size_t d = 0; d < SHAPE_DIMS; d++)
        for (int n = kernels->nr_min; n <= kernels->nr; n += kernels->nr_min)
            for (int n_rows = 0; n_rows <= n; n_rows++)
                expect_transposed(kernels, &rng, n, n_rows, shape_dims[d],
                                  (size_t)(n_rows % 2) * sizeof(float));
    expect_transposed(kernels, &rng, kernels->nr, kernels->nr, 0, 0);
}

static void expect_columns(const struct headwise_kernels *kernels, struct test_rng *rng, int n,
                           int n_columns, ptrdiff_t k, size_t shift_bytes) {
    ptrdiff_t stride = n_columns + (k % 3);
    size_t src_size = k > 0 ? (size_t)((k - 1) * stride + n_columns) : 0;
    float *src = guard_alloc(src_size * sizeof(float), shift_bytes);
    float *panel = guard_alloc((size_t)(n * k) * sizeof(float), shift_bytes);
    fill_bits(rng, src, src_size, shift_bytes == 0);
    bool finite = kernels->pack_columns(panel, n, src, stride, n_columns, k);
    bool want_finite = true;
    for (ptrdiff_t t = 0; t < k; t++)
        for (int j = 0; j < n; j++) {
            uint32_t want = j < n_columns ? bits_of(src + t * stride + j) : 0;
            if (bits_of(panel + t * n + j) != want)
                fail_msg("n %d n_columns %d k %td: panel[%td][%d]", n, n_columns, k, t, j);
            want_finite = want_finite && (want & 0x7f800000) != 0x7f800000;
        }
    if (finite != want_finite)
        fail_msg("n %d n_columns %d k %td: finite is %d", n, n_columns, k, finite);
    guard_reset();
}

static void columns_copies_every_bit(enum headwise_isa isa) {
    const struct headwise_kernels *kernels = tier_kernels(isa);
    struct test_rng rng = test_rng_make(32);
    for (size_t s = 0; s < SHAPE_KEYS; s++)
        for (int n = kernels->nr_min; n <= kernels->nr; n += kernels->nr_min)
            for (int n_columns = 0; n_columns <= n; n_columns++)
                expect_columns(kernels, &rng, n, n_columns, shape_keys[s],
                               (size_t)(n_columns % 2) * sizeof(float));
    expect_columns(kernels, &rng, kernels->nr, kernels->nr, 0, 0);
}

/* One odd element anywhere decides; what lies between the rows of src does not. */
static void columns_sees_every_non_finite_element(enum headwise_isa isa) {
    const struct headwise_kernels *kernels = tier_kernels(isa);
    const float odd[] = {NAN, INFINITY, -INFINITY, 3.4028235e38f, -3.4028235e38f, 0x1p-149f};
    const ptrdiff_t k = 5;
    for (int n_columns = 1; n_columns <= kernels->nr; n_columns++) {
        int n = (n_columns + kernels->nr_min - 1) / kernels->nr_min * kernels->nr_min;
        ptrdiff_t stride = n_columns + 2;
        float *src = guard_floats((size_t)((k - 1) * stride + n_columns));
        float *panel = guard_floats((size_t)(k * n));
        for (ptrdiff_t i = 0; i < (k - 1) * stride + n_columns; i++)
            src[i] = i % stride < n_columns ? 1 : NAN;
        assert_true(kernels->pack_columns(panel, n, src, stride, n_columns, k));
        for (ptrdiff_t t = 0; t < k; t++)
            for (int j = 0; j < n_columns; j++)
                for (size_t o = 0; o < TEST_COUNT(odd); o++) {
                    src[t * stride + j] = odd[o];
                    bool finite = kernels->pack_columns(panel, n, src, stride, n_columns, k);
                    if (finite != (isfinite(odd[o]) != 0))
                        fail_msg("%g at row %td column %d of %d: finite is %d", (double)odd[o], t,
                                 j, n_columns, finite);
                    src[t * stride + j] = 1;
                }
        guard_reset();
    }
}

int main(void) {
    const struct test_case cases[] = {
        TEST_CASE(rows_copy_every_bit),
        TEST_CASE(transposed_copies_every_bit),
        TEST_CASE(columns_copies_every_bit),
        TEST_CASE(columns_sees_every_non_finite_element),
    };
    return test_run_tiers(cases, TEST_COUNT(cases));
}
