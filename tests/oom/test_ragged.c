/* The n-th allocation of a ragged call fails: a status, outputs untouched, and the same call passes
 * once memory is there. */
#include "counting.h"
#include "guard.h"
#include "layer.h"
#include "ragged.h"
#include "runner.h"

enum { N = 3, MOST_ALLOCATIONS = 50 };

static const int64_t queries[N] = {300, 0, 1}, keys[N] = {300, 4, 2000};

/* The operator, or a layer with a memory. */
static enum headwise_status run(headwise_context *context, const headwise_mha *mha,
                                struct ragged_call *operator_call, struct layer_call *layer) {
    struct headwise_attention_call arguments = ragged_arguments(operator_call);
    if (mha == NULL)
        return headwise_attention(context, &arguments);
    struct layer_call of_layer = *layer;
    of_layer.given.n_sequences = arguments.n_sequences;
    of_layer.given.query_starts = arguments.query_starts;
    of_layer.given.key_starts = arguments.key_starts;
    return layer_try(context, mha, &of_layer);
}

static void expect_untouched(const struct ragged_call *ragged, const struct layer_call *layer) {
    const struct headwise_tensor *y = &ragged->call.y;
    guard_expect_untouched(y->data, (size_t)(y->size[1] * y->size[2] * y->size[3]) * 4, "y");
    guard_expect_untouched(ragged->call.probe.lse, (size_t)(y->size[1] * y->size[2]) * 4, "lse");
    guard_expect_untouched(layer->y.data, (size_t)(layer->y.size[2] * layer->y.size[3]) * 4,
                           "layer's y");
}

/* Lets allocation n of the ragged call fail. Returns whether there is such a one. */
static bool fails_at(enum headwise_isa isa, int64_t n, bool is_layer) {
    const struct call_shape shape = {.heads = 4, .kv_heads = 2, .dim = 8, .value_dim = 8};
    struct headwise_mha_config config = {.d_model = 32, .n_heads = 4, .n_kv_heads = 2};
    struct test_rng rng = test_rng_make(222);
    struct counting counting = COUNTING_UNLIMITED;
    struct headwise_context_options options = {.size = sizeof(options),
                                               .isa = isa,
                                               .n_threads = 3,
                                               .allocator = counting_allocator(&counting)};
    struct ragged_call ragged = ragged_make(&rng, shape, HEADWISE_F32, N, queries, keys, true);
    ragged_probe(&ragged, CALL_ALL, false, HEADWISE_SCORES_MASKED);
    layer_fill_weights(&rng, &config, true);
    struct layer_call layer = layer_call_make(&rng, &config, 1, ragged.call.shape.queries,
                                              ragged.call.shape.keys, HEADWISE_F32);
    headwise_context *context = NULL;
    assert_int_equal(headwise_context_create(&context, &options), HEADWISE_OK);
    headwise_mha *mha = is_layer ? layer_create(context, &config) : NULL;
    counting.fail_at = counting.n_calls + n;
    enum headwise_status status = run(context, mha, &ragged, &layer);
    if (status != HEADWISE_OK) {
        assert_int_equal(status, HEADWISE_ERR_NO_MEMORY);
        assert_true(counting.n_refused > 0);
        expect_untouched(&ragged, &layer);
        counting.fail_at = INT64_MAX;
        assert_int_equal(run(context, mha, &ragged, &layer), HEADWISE_OK);
    }
    headwise_mha_destroy(mha);
    headwise_context_destroy(context);
    counting_expect_balanced(&counting);
    guard_reset();
    return status != HEADWISE_OK;
}

static void any_allocation_may_fail(enum headwise_isa isa) {
    for (int is_layer = 0; is_layer < 2; is_layer++) {
        int64_t n = 0;
        while (n < MOST_ALLOCATIONS && fails_at(isa, n, is_layer))
            n++;
        assert_in_range(n, 1, MOST_ALLOCATIONS - 1);
    }
}

int main(void) {
    const struct test_case cases[] = {TEST_CASE(any_allocation_may_fail)};
    return test_run_tiers(cases, TEST_COUNT(cases));
}
