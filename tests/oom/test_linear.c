/* The n-th allocation of linear layers and MLPs fails: a status, nothing is made, outputs
 * untouched, and the same call passes once memory is there. */
#include "counting.h"
#include "dense.h"
#include "guard.h"
#include "runner.h"

enum { D = 40, HIDDEN = 70, M = 20, MOST_ALLOCATIONS = 50 };

static enum headwise_status create_and_run(headwise_context *context,
                                           const struct headwise_linear_config *layer,
                                           const struct headwise_mlp_config *config, float *x,
                                           float *y) {
    const struct headwise_row_norm norm = {.size = sizeof norm};
    const struct headwise_mlp_call call = {
        .size = sizeof call, .n_rows = M, .x = x, .y = y, .input_norm = &norm};
    const struct headwise_linear_call linear_call = {
        .size = sizeof linear_call, .n_rows = M, .x = x, .y = y, .output_norm = &norm};
    headwise_linear *linear = NULL;
    headwise_mlp *mlp = NULL;
    enum headwise_status status = headwise_linear_create(&linear, context, layer);
    if (status == HEADWISE_OK)
        status = headwise_mlp_create(&mlp, context, config);
    if (status == HEADWISE_OK)
        status = headwise_linear_forward(context, linear, &linear_call);
    if (status != HEADWISE_OK)
        guard_expect_untouched(y, M * D * sizeof(float), "y");
    else
        status = headwise_mlp_forward(context, mlp, &call);
    headwise_mlp_destroy(mlp);
    headwise_linear_destroy(linear);
    return status;
}

/* Lets allocation n fail. Returns whether there is such a one. */
static bool fails_at(enum headwise_isa isa, int64_t n, enum dense_kind kind) {
    struct test_rng rng = test_rng_make(341);
    struct counting counting = COUNTING_UNLIMITED;
    struct headwise_context_options options = {.size = sizeof(options),
                                               .isa = isa,
                                               .n_threads = 3,
                                               .allocator = counting_allocator(&counting)};
    struct dense_matrix up = dense_make(&rng, kind, HEADWISE_OUT_IN, D, HIDDEN);
    struct dense_matrix gate = dense_make(&rng, kind, HEADWISE_OUT_IN, D, HIDDEN);
    struct dense_matrix down = dense_make(&rng, kind, HEADWISE_OUT_IN, HIDDEN, D);
    struct dense_matrix square = dense_make(&rng, kind, HEADWISE_OUT_IN, D, D);
    const struct headwise_linear_config layer = dense_config(&square);
    const struct headwise_mlp_config config =
        dense_mlp_config(&up, &gate, &down, HEADWISE_ACTIVATION_SILU);
    float *x = dense_rows(&rng, M, D, 0), *y = dense_no_rows(M, D, 0);
    headwise_context *context = NULL;
    assert_int_equal(headwise_context_create(&context, &options), HEADWISE_OK);
    counting.fail_at = counting.n_calls + n;
    enum headwise_status status = create_and_run(context, &layer, &config, x, y);
    if (status != HEADWISE_OK) {
        assert_int_equal(status, HEADWISE_ERR_NO_MEMORY);
        assert_true(counting.n_refused > 0);
        counting.fail_at = INT64_MAX;
        assert_int_equal(create_and_run(context, &layer, &config, x, y), HEADWISE_OK);
    }
    headwise_context_destroy(context);
    counting_expect_balanced(&counting);
    guard_reset();
    return status != HEADWISE_OK;
}

static void any_allocation_may_fail(enum headwise_isa isa) {
    for (int kind = 0; kind < DENSE_KINDS; kind++) {
        int64_t n = 0;
        while (n < MOST_ALLOCATIONS && fails_at(isa, n, (enum dense_kind)kind))
            n++;
        assert_in_range(n, 10, MOST_ALLOCATIONS - 1);
    }
}

int main(void) {
    const struct test_case cases[] = {TEST_CASE(any_allocation_may_fail)};
    return test_run_tiers(cases, TEST_COUNT(cases));
}
