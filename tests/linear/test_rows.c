/* headwise_normalize_rows: the contract's bits for every kind of norm, with residual and sum, in
 * place of either, for any number of rows and threads. */
#include <math.h>
#include <string.h>

#include "call.h"
#include "compare.h"
#include "guard.h"
#include "rng.h"
#include "rows.h"
#include "runner.h"

struct arrays {
    int64_t m, n, stride;
    float *x, *residual, *y, *sum;
};

static struct arrays make_arrays(struct test_rng *rng, int64_t m, int64_t n, int64_t gap) {
    struct arrays a = {m, n, n + gap, NULL, NULL, NULL, NULL};
    size_t size = m > 0 ? (size_t)((m - 1) * a.stride + n) : 0;
    a.x = guard_floats(size);
    a.residual = guard_floats(size);
    a.y = guard_floats(size);
    a.sum = guard_floats(size);
    test_rng_fill(rng, a.x, size, 3);
    test_rng_fill(rng, a.residual, size, 2);
    return a;
}

static struct headwise_rows call_of(const struct arrays *a, const struct headwise_row_norm *norm) {
    int64_t stride = a->stride == a->n ? 0 : a->stride;
    return (struct headwise_rows){.size = sizeof(struct headwise_rows),
                                  .n_rows = a->m,
                                  .n = a->n,
                                  .x = a->x,
                                  .x_stride = stride,
                                  .y = a->y,
                                  .y_stride = stride,
                                  .norm = norm};
}

static void run(headwise_context *context, const struct headwise_rows *rows) {
    if (headwise_normalize_rows(context, rows) != HEADWISE_OK)
        fail_msg("%s", headwise_last_error());
}

/* What y and sum must be. */
static void expect_rows(enum headwise_isa isa, const struct arrays *a,
                        const struct headwise_row_norm *norm, const float *x, const float *residual,
                        const float *y, const float *sum) {
    size_t n = (size_t)a->n;
    float *z = guard_plain(n, sizeof(float)), *want = guard_plain(n, sizeof(float));
    for (int64_t i = 0; i < a->m; i++) {
        memcpy(z, x + i * a->stride, n * sizeof(float));
        for (size_t j = 0; residual && j < n; j++)
            z[j] += residual[i * a->stride + (int64_t)j];
        memcpy(want, z, n * sizeof(float));
        if (norm)
            rows_norm(isa, norm, want, z, n);
        compare_same_bits(y + i * a->stride, want, n, "y, row %d of %d", (int)i, (int)a->m);
        if (sum)
            compare_same_bits(sum + i * a->stride, z, n, "sum, row %d", (int)i);
    }
}

/* Way 0: apart; 1: y is x; 2: y is residual; 3: sum is x; 4: sum is residual, y is x. */
static void expect_way(enum headwise_isa isa, headwise_context *context, struct test_rng *rng,
                       int64_t m, int64_t n, int kind, int way) {
    struct arrays a = make_arrays(rng, m, n, kind % 3);
    struct headwise_row_norm norm = rows_random_norm(rng, kind, (size_t)n);
    struct headwise_rows rows = call_of(&a, kind < 8 ? &norm : NULL);
    bool has_residual = way > 0 || kind % 2 == 0, has_sum = way > 2 || kind % 5 == 0;
    size_t size = m > 0 ? (size_t)((m - 1) * a.stride + n) : 0;
    float *x = guard_plain(size + 1, sizeof(float)), *residual = guard_plain(size + 1, 4);
    memcpy(x, a.x, size * sizeof(float));
    memcpy(residual, a.residual, size * sizeof(float));
    rows.residual = has_residual ? a.residual : NULL;
    rows.residual_stride = rows.x_stride;
    rows.sum = has_sum ? a.sum : NULL;
    rows.sum_stride = rows.x_stride;
    rows.y = way == 1 || way == 4 ? a.x : way == 2 ? a.residual : a.y;
    if (way > 2)
        rows.sum = way == 3 ? a.x : a.residual;
    run(context, &rows);
    expect_rows(isa, &a, rows.norm, x, has_residual ? residual : NULL, rows.y, rows.sum);
    guard_reset();
}

static void every_norm_and_place(enum headwise_isa isa) {
    const int64_t sizes[] = {1, 2, 7, 15, 16, 17, 31, 33, 64, 100, 257, 768};
    headwise_context *contexts[] = {call_context(isa, 1), call_context(isa, 3)};
    struct test_rng rng = test_rng_make(301);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        for (int kind = 0; kind < 10; kind++)
            for (int way = 0; way < 5; way++)
                expect_way(isa, contexts[kind % 2], &rng, (kind + way) % 4, sizes[i], kind, way);
    for (int way = 0; way < 5; way++) /* enough for threads */
        expect_way(isa, contexts[1], &rng, 517, 300, 3 + way, way);
    headwise_context_destroy(contexts[0]);
    headwise_context_destroy(contexts[1]);
}

int main(void) {
    const struct test_case cases[] = {TEST_CASE(every_norm_and_place)};
    return test_run_tiers(cases, TEST_COUNT(cases));
}
