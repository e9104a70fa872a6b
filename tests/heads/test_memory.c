/* Every allocation of the calls that look into heads fails in turn: a status, outputs untouched,
 * nothing lost. */
#include <string.h>

#include "call.h"
#include "counting.h"
#include "guard.h"
#include "layer.h"
#include "runner.h"

enum { MOST_ALLOCATIONS = 100, ROWS = 30, HEADS = 4, DIM = 4 };

struct scene {
    struct headwise_mha_config config;
    struct layer_call call;
    struct headwise_tensor q, k, v;
    float *head_outputs;
    double *correlation, *gram;
};

static struct scene make_scene(void) {
    struct test_rng rng = test_rng_make(401);
    struct scene scene = {.config = {.d_model = 16, .n_heads = HEADS, .n_kv_heads = 2}};
    layer_fill_weights(&rng, &scene.config, true);
    scene.call = layer_call_make(&rng, &scene.config, 1, ROWS, -1, HEADWISE_F32);
    scene.q = call_tensor(HEADWISE_F32, 1, HEADS, ROWS, DIM, NULL);
    scene.k = call_tensor(HEADWISE_F32, 1, 2, ROWS, DIM, NULL);
    scene.v = call_tensor(HEADWISE_F32, 1, 2, ROWS, DIM, NULL);
    scene.head_outputs = guard_plain(HEADS * ROWS * DIM, sizeof(float));
    scene.correlation = guard_alloc(HEADS * HEADS * sizeof(double), 0);
    scene.gram = guard_alloc(HEADS * HEADS * sizeof(double), 0);
    return scene;
}

/* The calls one after the other until one fails. */
static enum headwise_status look(headwise_context *context, const headwise_mha *mha,
                                 struct scene *s, headwise_mha **pruned) {
    const struct headwise_prune_options options = {sizeof options, (const int64_t[]){1}, 1, NULL};
    const struct headwise_attention_call call = {
        .size = sizeof call, .q = &s->q, .k = &s->k, .v = &s->v, .x = &s->call.x};
    const size_t square = HEADS * HEADS * sizeof(double);
    enum headwise_status status = headwise_mha_project(context, mha, &call);
    if (status != HEADWISE_OK) {
        guard_expect_untouched(s->q.data, HEADS * ROWS * DIM * sizeof(float), "q");
        guard_expect_untouched(s->v.data, 2 * ROWS * DIM * sizeof(float), "v");
        return status;
    }
    status = headwise_map_correlation(context, s->correlation, &call);
    if (status != HEADWISE_OK) {
        guard_expect_untouched(s->correlation, square, "correlation");
        return status;
    }
    status = headwise_contribution_gram(context, mha, s->gram, s->head_outputs, 1, ROWS);
    if (status != HEADWISE_OK) {
        guard_expect_untouched(s->gram, square, "gram");
        return status;
    }
    status = headwise_mha_prune(pruned, context, mha, &options);
    assert_int_equal(*pruned != NULL, status == HEADWISE_OK);
    return status;
}

static bool run_with_failure_at(struct counting *counting, enum headwise_isa isa) {
    struct scene scene = make_scene();
    headwise_context *context = NULL;
    headwise_mha *mha = NULL, *pruned = NULL;
    const struct headwise_context_options options = {.size = sizeof options,
                                                     .isa = isa,
                                                     .n_threads = 2,
                                                     .allocator = counting_allocator(counting)};
    enum headwise_status status = headwise_context_create(&context, &options);
    if (status == HEADWISE_OK)
        status = headwise_mha_create(&mha, context, &scene.config);
    if (status == HEADWISE_OK)
        status = look(context, mha, &scene, &pruned);
    if (status != HEADWISE_OK) {
        assert_int_equal(status, HEADWISE_ERR_NO_MEMORY);
        assert_true(strlen(headwise_last_error()) > 0);
    }
    headwise_mha_destroy(pruned);
    headwise_mha_destroy(mha);
    headwise_context_destroy(context);
    counting_expect_balanced(counting);
    guard_check();
    return status == HEADWISE_OK;
}

static void any_allocation_may_fail(enum headwise_isa isa) {
    for (int64_t n = 0; n < MOST_ALLOCATIONS; n++) {
        struct counting counting = {.fail_at = n};
        bool passed = run_with_failure_at(&counting, isa);
        guard_reset();
        if (passed) {
            assert_true(n > 30); /* two layers, scratch three times, maps, contributions, lists */
            return;
        }
        assert_true(counting.n_refused > 0);
    }
    fail_msg("more than %d allocations", MOST_ALLOCATIONS);
}

int main(void) {
    const struct test_case cases[] = {TEST_CASE(any_allocation_may_fail)};
    return test_run_tiers(cases, TEST_COUNT(cases));
}
