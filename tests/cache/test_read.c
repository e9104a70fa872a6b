/* What each type keeps of a row, whatever the chunks, strides and types it arrives in. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "cached.h"
#include "compare.h"
#include "guard.h"
#include "half.h"
#include "oracle.h"
#include "runner.h"

static const enum headwise_dtype types[] = {HEADWISE_F32, HEADWISE_F16, HEADWISE_BF16, HEADWISE_I8};

/* Every row of t, rounded by the formulas of cache.h. */
static void expect_rounded(const struct headwise_tensor *got, const struct headwise_tensor *t,
                           int64_t b, enum headwise_dtype dtype, const char *what) {
    float row[256], want[256];
    for (int64_t h = 0; h < t->size[1]; h++)
        for (int64_t r = 0; r < t->size[2]; r++) {
            for (int64_t c = 0; c < t->size[3]; c++)
                row[c] = (float)oracle_load(t, b, h, r, c);
            cached_round(dtype, want, row, t->size[3]);
            compare_same_bits((const float *)got->data + h * got->stride[1] + r * got->stride[2],
                              want, (size_t)t->size[3], "%s: head %d, row %d", what, (int)h,
                              (int)r);
        }
}

static void expect_rows(enum headwise_isa isa, const struct headwise_tensor *k,
                        const struct headwise_tensor *v, enum headwise_dtype dtype, int64_t chunk) {
    headwise_context *context = cached_context(isa, cached_threads(chunk, (int)k->size[3]), 0xff);
    headwise_cache *cache = cached_create(context, cached_config(k, v, k->size[2] + 3, dtype));
    cached_append(context, cache, 0, k, v, chunk);
    for (int64_t b = 0; b < k->size[0]; b++) {
        struct headwise_tensor got_k, got_v;
        cached_read(cache, b, 0, &got_k, &got_v);
        expect_rounded(&got_k, k, b, dtype, "k");
        expect_rounded(&got_v, v, b, dtype, "v");
    }
    headwise_cache_destroy(cache);
    headwise_context_destroy(context);
}

static void every_type_keeps_what_it_says(enum headwise_isa isa) {
    const int64_t dims[] = {1, 3, 31, 32, 33, 80, 128}, chunks[] = {1, 37, 300};
    const enum headwise_dtype given[] = {HEADWISE_F32, HEADWISE_F16, HEADWISE_BF16};
    struct test_rng rng = test_rng_make(430);
    for (size_t t = 0; t < TEST_COUNT(types); t++)
        for (size_t d = 0; d < TEST_COUNT(dims); d++) {
            if ((int64_t)(t + d * TEST_COUNT(types)) % test_share() != 0)
                continue;
            int64_t value_dim = dims[(d + 3) % TEST_COUNT(dims)];
            enum headwise_dtype type = given[(t + d) % TEST_COUNT(given)];
            struct headwise_tensor k = call_tensor(type, 2, 2, 290, dims[d], NULL);
            struct headwise_tensor v = call_tensor(HEADWISE_F32, 2, 2, 290, value_dim, NULL);
            call_fill(&rng, &k, d % 2 == 0 ? 1.0f : 1e-6f);
            call_fill(&rng, &v, d % 2 == 0 ? 1e6f : 1.0f);
            expect_rows(isa, &k, &v, types[t], chunks[(t + d) % TEST_COUNT(chunks)]);
            guard_reset();
        }
}

/* Rows of several heads side by side, one array for keys and values, read back the same way. */
static void strides_are_the_callers(enum headwise_isa isa) {
    enum { ROWS = 70, HEADS = 3, DIM = 9 };
    struct test_rng rng = test_rng_make(431);
    headwise_context *context = cached_context(isa, 1, 0xff);
    float *x = guard_floats(ROWS * HEADS * DIM), *back = guard_floats(ROWS * HEADS * DIM);
    test_rng_fill(&rng, x, ROWS * HEADS * DIM, 1);
    struct headwise_tensor rows = headwise_tensor_brhc(x, HEADWISE_F32, 1, ROWS, HEADS, DIM);
    struct headwise_tensor got = headwise_tensor_brhc(back, HEADWISE_F32, 1, ROWS, HEADS, DIM);
    headwise_cache *cache = cached_create(context, cached_config(&rows, &rows, ROWS, HEADWISE_F32));
    cached_append(context, cache, 0, &rows, &rows, 33);
    cached_expect_ok(headwise_cache_read(cache, 0, 0, &got, NULL), "read keys");
    compare_same_bits(back, x, ROWS * HEADS * DIM, "keys");
    memset(back, 0, ROWS * HEADS * DIM * sizeof(float));
    cached_expect_ok(headwise_cache_read(cache, 0, 0, NULL, &got), "read values");
    compare_same_bits(back, x, ROWS * HEADS * DIM, "values");
    cached_expect_ok(headwise_cache_read(cache, 0, ROWS, NULL, NULL), "read nothing");
    headwise_cache_destroy(cache);
    headwise_context_destroy(context);
}

/* The ends of each type's range, and what has no number. */
static void extreme_numbers(enum headwise_isa isa) {
    enum { DIM = 40 };
    const float extremes[] = {NAN,   INFINITY, -INFINITY, FLT_MAX, -FLT_MAX,  0x1p-149f, 65504,
                              65519, 65520,    1e-8f,     -0.0f,   0x1p-126f, 3.39e38f,  0x1p-133f};
    struct test_rng rng = test_rng_make(432);
    for (size_t t = 0; t < TEST_COUNT(types); t++) {
        struct headwise_tensor x =
            call_tensor(HEADWISE_F32, 1, 1, (int64_t)TEST_COUNT(extremes), DIM, NULL);
        call_fill(&rng, &x, 1);
        for (size_t i = 0; i < TEST_COUNT(extremes); i++) /* in one of two groups */
            ((float *)x.data)[i * DIM + (i % 2 == 0 ? 31 : 32)] = extremes[i];
        expect_rows(isa, &x, &x, types[t], 5);
    }
}

int main(void) {
    const struct test_case cases[] = {
        TEST_CASE(every_type_keeps_what_it_says),
        TEST_CASE(strides_are_the_callers),
        TEST_CASE(extreme_numbers),
    };
    return test_run_tiers(cases, TEST_COUNT(cases));
}
