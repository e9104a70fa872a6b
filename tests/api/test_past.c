/* Past keys and values, and the present ones that are handed back. */
#include <string.h>

#include "call.h"
#include "guard.h"
#include "oracle.h"
#include "runner.h"

struct cached {
    struct call call;  /* with a past */
    struct call whole; /* the same keys in one array */
    struct headwise_tensor past_key, past_value, present_key, present_value;
};

static struct headwise_tensor rows_of(const struct headwise_tensor *t, int64_t first, int64_t n) {
    struct headwise_tensor part =
        call_tensor(t->dtype, t->size[0], t->size[1], n, t->size[3], NULL);
    size_t size = headwise_dtype_size(t->dtype), row_bytes = (size_t)t->size[3] * size;
    char *to = part.data;
    for (int64_t b = 0; b < t->size[0]; b++)
        for (int64_t h = 0; h < t->size[1]; h++)
            for (int64_t r = first; r < first + n; r++, to += row_bytes) {
                int64_t at = b * t->stride[0] + h * t->stride[1] + r * t->stride[2];
                memcpy(to, (const char *)t->data + at * (int64_t)size, row_bytes);
            }
    return part;
}

/* shape.keys counts all keys, of which the first n_past are past. */
static void make_cached(struct cached *c, struct test_rng *rng, const struct call_shape *shape,
                        int64_t n_past, enum headwise_dtype dtype) {
    c->whole = call_make(rng, shape, dtype, 0);
    c->call = c->whole;
    c->call.shape.keys = shape->keys - n_past;
    c->call.k = rows_of(&c->whole.k, n_past, shape->keys - n_past);
    c->call.v = rows_of(&c->whole.v, n_past, shape->keys - n_past);
    c->past_key = rows_of(&c->whole.k, 0, n_past);
    c->past_value = rows_of(&c->whole.v, 0, n_past);
    c->present_key = rows_of(&c->whole.k, 0, shape->keys);
    c->present_value = rows_of(&c->whole.v, 0, shape->keys);
    memset(c->present_key.data, GUARD_BYTE,
           (size_t)(shape->batch * c->present_key.stride[0]) * headwise_dtype_size(dtype));
    memset(c->present_value.data, GUARD_BYTE,
           (size_t)(shape->batch * c->present_value.stride[0]) * headwise_dtype_size(dtype));
    c->call.given.past_key = &c->past_key;
    c->call.given.past_value = &c->past_value;
    c->call.given.present_key = &c->present_key;
    c->call.given.present_value = &c->present_value;
    call_new_outputs(&c->call);
}

static void expect_equal_arrays(const struct headwise_tensor *got,
                                const struct headwise_tensor *want) {
    size_t bytes = (size_t)(want->size[0] * want->stride[0]) * headwise_dtype_size(want->dtype);
    assert_memory_equal(got->data, want->data, bytes);
}

/* The split between past and new keys changes no bit, and present is their concatenation. */
static void past_and_new_keys_are_one_axis(enum headwise_isa isa) {
    const int64_t pasts[] = {0, 1, 7, 255, 256, 257, 299, 300};
    const enum headwise_dtype types[] = {HEADWISE_F32, HEADWISE_F16, HEADWISE_BF16};
    const struct call_shape shape = {2, 4, 2, 3, 300, 9, 17};
    struct test_rng rng = test_rng_make(141);
    for (size_t p = 0; p < TEST_COUNT(pasts); p++)
        for (size_t t = 0; t < TEST_COUNT(types); t++)
            for (int causal = HEADWISE_CAUSAL_NONE; causal <= HEADWISE_CAUSAL_BOTTOM_RIGHT;
                 causal++) {
                struct cached c;
                const int64_t offsets[] = {pasts[p], pasts[p]};
                make_cached(&c, &rng, &shape, pasts[p], types[t]);
                c.call.options.causal = c.whole.options.causal = causal;
                if (causal == HEADWISE_CAUSAL_TOP_LEFT) /* whole has no past to count from */
                    c.whole.given.query_offsets = offsets;
                call_run(isa, &c.call);
                call_run(isa, &c.whole);
                call_expect_same(&c.call, &c.whole, "past");
                expect_equal_arrays(&c.present_key, &c.whole.k);
                expect_equal_arrays(&c.present_value, &c.whole.v);
                guard_reset();
            }
}

/* One key at a time, each present the next call's past, against all queries at once. */
static void decoding_gives_the_bits_of_the_prompt(enum headwise_isa isa) {
    enum { N = 20 };
    const struct call_shape prompt = {1, 2, 1, N, N, 16, 16};
    struct test_rng rng = test_rng_make(142);
    struct call whole = call_make(&rng, &prompt, HEADWISE_F32, 0);
    whole.options.causal = HEADWISE_CAUSAL_TOP_LEFT;
    call_run(isa, &whole);
    struct headwise_tensor past_key = rows_of(&whole.k, 0, 0), past_value = rows_of(&whole.v, 0, 0);
    for (int64_t i = 0; i < N; i++) {
        struct call step = whole, row = whole;
        struct headwise_tensor present_key = rows_of(&whole.k, 0, i + 1);
        struct headwise_tensor present_value = rows_of(&whole.v, 0, i + 1);
        step.shape.queries = row.shape.queries = step.shape.keys = 1;
        step.q = rows_of(&whole.q, i, 1);
        step.k = rows_of(&whole.k, i, 1);
        step.v = rows_of(&whole.v, i, 1);
        row.y = rows_of(&whole.y, i, 1);
        step.y = rows_of(&whole.y, i, 1);
        memset(step.y.data, GUARD_BYTE, (size_t)(2 * 16) * sizeof(float));
        step.given.past_key = &past_key;
        step.given.past_value = &past_value;
        step.given.present_key = &present_key;
        step.given.present_value = &present_value;
        call_run(isa, &step);
        call_expect_same(&step, &row, "decoding");
        past_key = present_key;
        past_value = present_value;
    }
}

/* Strided views of a larger buffer as past and present: only their elements are touched. */
static void past_and_present_may_be_strided(enum headwise_isa isa) {
    const struct call_shape shape = {2, 2, 2, 3, 40, 8, 8};
    struct test_rng rng = test_rng_make(143);
    struct cached c;
    make_cached(&c, &rng, &shape, 33, HEADWISE_F32);
    struct headwise_tensor room = call_tensor(HEADWISE_F32, 2, 2, 64, 8, NULL);
    struct headwise_tensor view = room;
    view.size[2] = 40; /* of 64 rows */
    c.call.given.present_key = &view;
    call_run(isa, &c.call);
    call_run(isa, &c.whole);
    call_expect_same(&c.call, &c.whole, "strided present");
    for (int64_t bh = 0; bh < 4; bh++) {
        const float *row = (const float *)room.data + bh * 64 * 8;
        assert_memory_equal(row, (const float *)c.whole.k.data + bh * 40 * 8,
                            40 * 8 * sizeof(float));
        guard_expect_untouched(row + 40 * 8, 24 * 8 * sizeof(float), "rows beyond present");
    }
}

/* Key lengths count past keys too; present holds everything, hidden or not. */
static void lengths_count_from_the_first_past_key(enum headwise_isa isa) {
    const int64_t lengths[] = {35, 12};
    const struct call_shape shape = {2, 2, 2, 3, 40, 8, 8};
    struct test_rng rng = test_rng_make(144);
    struct cached c;
    make_cached(&c, &rng, &shape, 33, HEADWISE_F32);
    c.call.given.key_lengths = c.whole.given.key_lengths = lengths;
    c.call.options.causal = c.whole.options.causal = HEADWISE_CAUSAL_BOTTOM_RIGHT;
    call_expect_oracle(isa, &c.call);
    call_run(isa, &c.whole);
    call_expect_same(&c.call, &c.whole, "lengths");
    expect_equal_arrays(&c.present_value, &c.whole.v);
}

int main(void) {
    const struct test_case cases[] = {
        TEST_CASE(past_and_new_keys_are_one_axis),
        TEST_CASE(decoding_gives_the_bits_of_the_prompt),
        TEST_CASE(past_and_present_may_be_strided),
        TEST_CASE(lengths_count_from_the_first_past_key),
    };
    return test_run_tiers(cases, TEST_COUNT(cases));
}
