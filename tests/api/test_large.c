/* More than 2^31 elements behind one tensor: keys and values of f16 in a sparse mapping. */
#define _GNU_SOURCE
#include <math.h>
#include <string.h>
#include <sys/mman.h>

#include "call.h"
#include "compare.h"
#include "half.h"
#include "runner.h"

enum { DIM = 64 };

/* n_rows rows of DIM halves that take no memory until they are written. */
static struct headwise_tensor sparse_rows(int64_t batch, int64_t n_rows) {
    struct headwise_tensor t = headwise_tensor_bhrc(NULL, HEADWISE_F16, batch, 1, n_rows, DIM);
    int64_t bytes = batch * n_rows * DIM * (int64_t)sizeof(uint16_t);
    if (bytes > PTRDIFF_MAX)
        test_skip("no tensor of more than 2^31 elements where an object has less than 2^31 bytes");
    t.data = mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (t.data == MAP_FAILED)
        test_skip("no address space for a tensor of more than 2^31 elements");
    return t;
}

static void unmap_rows(struct headwise_tensor *t) {
    munmap(t->data, (size_t)(t->size[0] * t->stride[0]) * sizeof(uint16_t));
}

static uint16_t *row_of(const struct headwise_tensor *t, int64_t b, int64_t r) {
    return (uint16_t *)t->data + b * t->stride[0] + r * t->stride[2];
}

/* The last row of keys and values beyond 2^31 elements, seen through a window. */
static void the_last_token_of_a_long_cache(enum headwise_isa isa) {
    const int64_t n_rows = (INT64_C(1) << 31) / DIM + 5;
    const struct call_shape shape = {1, 1, 1, 1, 1, DIM, DIM};
    struct test_rng rng = test_rng_make(331);
    struct call call = call_make(&rng, &shape, HEADWISE_F16, 0);
    call.k = sparse_rows(1, n_rows);
    call.v = sparse_rows(1, n_rows);
    call.shape.keys = n_rows;
    for (int64_t r = n_rows - 3; r < n_rows; r++)
        for (int64_t d = 0; d < DIM; d++) {
            half_store(HEADWISE_F16, row_of(&call.k, 0, r), d, (double)test_rng_float(&rng));
            half_store(HEADWISE_F16, row_of(&call.v, 0, r), d, (double)test_rng_float(&rng));
        }
    call.options.causal = HEADWISE_CAUSAL_BOTTOM_RIGHT;
    call.options.window_is_set = true;
    call.options.window_left = 2;
    call_run(isa, &call);

    const struct call_shape short_shape = {1, 1, 1, 1, 3, DIM, DIM};
    struct call last = call;
    last.shape = short_shape;
    last.k = call_tensor(HEADWISE_F16, 1, 1, 3, DIM, NULL);
    last.v = call_tensor(HEADWISE_F16, 1, 1, 3, DIM, NULL);
    memcpy(last.k.data, row_of(&call.k, 0, n_rows - 3), 3 * DIM * sizeof(uint16_t));
    memcpy(last.v.data, row_of(&call.v, 0, n_rows - 3), 3 * DIM * sizeof(uint16_t));
    call_new_outputs(&last);
    call_expect_oracle(isa, &last);
    unmap_rows(&call.k);
    unmap_rows(&call.v);
    /* The blocks begin at other keys, so the sums may round differently: one ulp of f16. */
    for (int64_t d = 0; d < DIM; d++) {
        double want = half_load(HEADWISE_F16, last.y.data, d);
        compare_expect(half_load(HEADWISE_F16, call.y.data, d), want, 0x1p-10 * fabs(want),
                       "column %d", (int)d);
    }
}

/* Batch entries more than 2^31 elements apart. */
static void batch_entries_far_apart(enum headwise_isa isa) {
    const struct call_shape shape = {2, 1, 1, 2, 40, DIM, DIM};
    const int64_t n_rows = (INT64_C(1) << 31) / DIM + 7;
    struct test_rng rng = test_rng_make(332);
    struct call near = call_make(&rng, &shape, HEADWISE_F16, 0), far = near;
    call_new_outputs(&far);
    far.k = sparse_rows(2, n_rows);
    struct headwise_tensor whole = far.k;
    far.k.size[2] = 40;
    for (int64_t b = 0; b < 2; b++)
        memcpy(row_of(&far.k, b, 0), row_of(&near.k, b, 0), 40 * DIM * sizeof(uint16_t));
    call_expect_oracle(isa, &near);
    call_run(isa, &far);
    unmap_rows(&whole);
    call_expect_same(&far, &near, "far apart");
}

int main(void) {
    const struct test_case cases[] = {
        TEST_CASE(the_last_token_of_a_long_cache),
        TEST_CASE(batch_entries_far_apart),
    };
    return test_run_tiers(cases, TEST_COUNT(cases));
}
