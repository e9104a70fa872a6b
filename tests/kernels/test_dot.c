/* Sums of products of bytes, on processors that have them: exact, whatever the bytes. */
#include <string.h>

#include "guard.h"
#include "rng.h"
#include "runner.h"
#include "tier.h"

static int8_t random_byte(struct test_rng *rng) {
    int64_t kind = test_rng_below(rng, 4);
    return (int8_t)(kind == 0 ? -128 : kind == 1 ? 127 : test_rng_below(rng, 256) - 128);
}

/* m x n sums of k products, the second call going on where the first ended. */
static void check_dot(const struct headwise_dot *dot, struct test_rng *rng, ptrdiff_t m, int n,
                      ptrdiff_t k) {
    ptrdiff_t n_quads = (k + 3) / 4, a_stride = 4 * n_quads + 3, c_stride = n + 2;
    int8_t *b = guard_alloc((size_t)(k * n), 0), *quads = guard_alloc((size_t)(4 * n_quads * n), 0);
    uint8_t *a = guard_alloc((size_t)((m - 1) * a_stride + 4 * n_quads), 0);
    float *c = guard_alloc((size_t)((m - 1) * c_stride + n) * sizeof(float), 0);
    for (ptrdiff_t i = 0; i < k * n; i++)
        b[i] = random_byte(rng);
    for (ptrdiff_t i = 0; i < m; i++)
        for (ptrdiff_t t = 0; t < 4 * n_quads; t++) /* beyond k anything may stand */
            a[i * a_stride + t] = (uint8_t)(random_byte(rng) + dot->offset);
    dot->interleave(quads, b, n, k);
    dot->dot(c, c_stride, a, a_stride, quads, m, n, n_quads, false);
    dot->dot(c, c_stride, a, a_stride, quads, m, n, n_quads, true);
    for (ptrdiff_t i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            int64_t want = 0;
            int32_t got;
            for (ptrdiff_t t = 0; t < k; t++)
                want += (int64_t)(int8_t)(a[i * a_stride + t] - dot->offset) * b[t * n + j];
            memcpy(&got, c + i * c_stride + j, sizeof got);
            if (got != 2 * want)
                fail_msg("m %td n %d k %td, element %td %d: %d, expected %lld", m, n, k, i, j, got,
                         (long long)(2 * want));
        }
    guard_check();
}

static void sums_are_exact(enum headwise_isa isa) {
    static const ptrdiff_t ks[] = {1, 3, 4, 5, 16, 17, 63, 256, 1024};
    const struct headwise_kernels *kernels = tier_kernels(isa);
    const struct headwise_dot *dot = headwise_dot_get(isa);
    const ptrdiff_t ms[] = {
        1, 2, 3, kernels->mr - 1, kernels->mr, kernels->mr + 1, 2 * kernels->mr + 3};
    struct test_rng rng = test_rng_make(961);
    if (isa == HEADWISE_ISA_SCALAR || isa == HEADWISE_ISA_AVX2) { /* nothing is built for them */
        assert_null(dot);
        return;
    }
    if (dot == NULL) {
        test_skip("this processor does not multiply bytes");
        return;
    }
    for (size_t ik = 0; ik < TEST_COUNT(ks); ik++)
        for (size_t im = 0; im < TEST_COUNT(ms); im++)
            for (int n = kernels->nr_min; n <= kernels->nr; n += kernels->nr_min) {
                check_dot(dot, &rng, ms[im], n, ks[ik]);
                guard_release();
            }
}

int main(void) {
    const struct test_case cases[] = {TEST_CASE(sums_are_exact)};
    return test_run_tiers(cases, TEST_COUNT(cases));
}
