/* One answer: the bits do not depend on how queries are split over calls, or on the batch. */
#include <string.h>

#include "compare.h"
#include "guard.h"
#include "layer.h"
#include "runner.h"

enum { QUERIES = 150, DIM = 16, VALUE_DIM = 12, HEADS = 4 };

/* Rows first ... first+n-1 of the queries, at their positions. */
static void expect_chunk(headwise_context *context, const struct call *whole, int64_t first,
                         int64_t n) {
    struct call chunk = *whole;
    const int64_t offset = first + 140;
    chunk.shape.queries = n;
    chunk.q.data = (float *)whole->q.data + first * DIM;
    chunk.q.size[2] = n;
    chunk.y = call_tensor(HEADWISE_F32, 1, HEADS, n, VALUE_DIM, NULL);
    chunk.given.query_offsets = &offset;
    call_run_with(context, &chunk);
    for (int64_t h = 0; h < HEADS; h++)
        compare_same_bits((float *)chunk.y.data + h * n * VALUE_DIM,
                          (float *)whole->y.data + (h * QUERIES + first) * VALUE_DIM,
                          (size_t)(n * VALUE_DIM), "queries %d to %d of head %d", (int)first,
                          (int)(first + n - 1), (int)h);
}

static void queries_in_any_chunks(enum headwise_isa isa) {
    const struct call_shape shape = {1, HEADS, 2, QUERIES, 600, DIM, VALUE_DIM};
    const int64_t sizes[] = {1, 2, 7, 48, 64, 149, 150}, offset = 140;
    struct test_rng rng = test_rng_make(321);
    headwise_context *context = call_context(isa, 2);
    for (int causal = 0; causal < 2; causal++) {
        struct call whole = call_make(&rng, &shape, HEADWISE_F32, 0);
        whole.given.query_offsets = &offset;
        whole.options.causal = causal ? HEADWISE_CAUSAL_TOP_LEFT : HEADWISE_CAUSAL_NONE;
        whole.options.window_is_set = causal;
        whole.options.window_left = 200;
        whole.options.window_right = -1;
        call_run_with(context, &whole);
        for (size_t s = 0; s < TEST_COUNT(sizes); s++)
            for (int64_t first = 0; first < QUERIES; first += sizes[s])
                expect_chunk(context, &whole, first,
                             first + sizes[s] < QUERIES ? sizes[s] : QUERIES - first);
        guard_reset();
    }
    headwise_context_destroy(context);
}

/* Keys that nobody sees, appended, change no bit: neither as rows nor as a longer buffer. */
static void hidden_keys_in_any_number(enum headwise_isa isa) {
    const struct call_shape shape = {1, HEADS, 2, 5, 700, DIM, VALUE_DIM};
    struct test_rng rng = test_rng_make(322);
    for (int64_t length = 1; length <= 700; length += 43) {
        struct call longer = call_make(&rng, &shape, HEADWISE_F32, 0), exact = longer;
        longer.given.key_lengths = &length;
        call_new_outputs(&exact);
        exact.k.size[2] = exact.v.size[2] = exact.shape.keys = length;
        call_run(isa, &longer);
        call_run(isa, &exact);
        call_expect_same(&exact, &longer, "keys beyond the length");
        guard_reset();
    }
}

/* An entry of a batch, and a row of a layer, are as if they were alone. */
static void layers_in_any_batch(enum headwise_isa isa) {
    struct test_rng rng = test_rng_make(323);
    struct headwise_mha_config config = {.d_model = 40, .n_heads = 4};
    layer_fill_weights(&rng, &config, true);
    struct layer_call all = layer_call_make(&rng, &config, 5, 33, -1, HEADWISE_F32);
    headwise_context *context = call_context(isa, 2);
    headwise_mha *mha = layer_create(context, &config);
    layer_run_with(context, mha, &all);
    for (int64_t b = 0; b < 5; b++) {
        struct layer_call one = layer_call_make(&rng, &config, 1, 33, -1, HEADWISE_F32);
        memcpy(one.x.data, (float *)all.x.data + b * 33 * 40, 33 * 40 * sizeof(float));
        layer_run_with(context, mha, &one);
        compare_same_bits(one.y.data, (float *)all.y.data + b * 33 * 40, 33 * 40, "entry %d",
                          (int)b);
    }
    /* Queries against a memory: any split of the rows. */
    struct layer_call cross = layer_call_make(&rng, &config, 1, 33, 50, HEADWISE_F32);
    layer_run_with(context, mha, &cross);
    for (int64_t i = 0; i < 33; i++) {
        struct layer_call row = cross;
        row.x.data = (float *)cross.x.data + i * 40;
        row.y = call_tensor(HEADWISE_F32, 1, 1, 1, 40, NULL);
        row.x.size[2] = 1;
        layer_run_with(context, mha, &row);
        compare_same_bits(row.y.data, (float *)cross.y.data + i * 40, 40, "row %d", (int)i);
    }
    headwise_mha_destroy(mha);
    headwise_context_destroy(context);
}

int main(void) {
    const struct test_case cases[] = {
        TEST_CASE(queries_in_any_chunks),
        TEST_CASE(hidden_keys_in_any_number),
        TEST_CASE(layers_in_any_batch),
    };
    return test_run_tiers(cases, TEST_COUNT(cases));
}
