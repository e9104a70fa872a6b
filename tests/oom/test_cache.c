/* The n-th allocation fails, for every n: a cache is made or not, appended to or unchanged. */
#include <string.h>

#include "call.h"
#include "counting.h"
#include "guard.h"
#include "layer.h"
#include "runner.h"

enum {
    MOST_ALLOCATIONS = 40,
    HEADS = 2,
    DIM = 9,
    VALUE_DIM = 17,
    KEYS = 270,
    QUERIES = 5,
    ROWS = 40
};

struct scene {
    headwise_context *context;
    headwise_cache *cache;
    headwise_mha *mha;
    struct call call;
    struct headwise_mha_config config;
    struct layer_call layer;
};

static void make_scene(struct scene *scene, enum headwise_dtype dtype) {
    const struct call_shape shape = {2, 2 * HEADS, HEADS, QUERIES, KEYS, DIM, VALUE_DIM};
    struct test_rng rng = test_rng_make(222);
    memset(scene, 0, sizeof(*scene));
    scene->call = call_make(&rng, &shape, dtype, 0);
    scene->config = (struct headwise_mha_config){.d_model = 36,
                                                 .n_heads = 2 * HEADS,
                                                 .n_kv_heads = HEADS,
                                                 .head_dim = DIM,
                                                 .value_dim = VALUE_DIM};
    layer_fill_weights(&rng, &scene->config, true);
    scene->layer = layer_call_make(&rng, &scene->config, 2, ROWS, -1, HEADWISE_F16);
}

static enum headwise_status create(struct scene *scene, enum headwise_isa isa,
                                   struct counting *counting, enum headwise_dtype dtype) {
    struct headwise_context_options options = {.size = sizeof(options),
                                               .isa = isa,
                                               .n_threads = 3,
                                               .allocator = counting_allocator(counting)};
    struct headwise_cache_config config = {.size = sizeof(config),
                                           .n_sequences = 2,
                                           .n_kv_heads = HEADS,
                                           .head_dim = DIM,
                                           .value_dim = VALUE_DIM,
                                           .capacity = 2 * KEYS,
                                           .dtype = dtype};
    enum headwise_status status = headwise_context_create(&scene->context, &options);
    if (status == HEADWISE_OK)
        status = headwise_cache_create(&scene->cache, scene->context, &config);
    assert_int_equal(scene->cache != NULL, status == HEADWISE_OK);
    return status;
}

static void expect_lengths(const struct scene *scene, int64_t length) {
    assert_int_equal(headwise_cache_length(scene->cache, 0), length);
    assert_int_equal(headwise_cache_length(scene->cache, 1), length);
}

/* Append, attend, and a layer's step, each of which needs scratch. */
static enum headwise_status use(struct scene *scene) {
    struct call *c = &scene->call;
    struct layer_call *l = &scene->layer;
    const struct headwise_attention_call rows = {
        .size = sizeof(rows), .k = &c->k, .v = &c->v, .cache = scene->cache};
    const struct headwise_attention_call attend = {
        .size = sizeof(attend), .y = &c->y, .q = &c->q, .cache = scene->cache};
    const struct headwise_attention_call step = {
        .size = sizeof(step), .y = &l->y, .x = &l->x, .cache = scene->cache};
    enum headwise_status status = headwise_cache_append(scene->context, &rows);
    expect_lengths(scene, status == HEADWISE_OK ? KEYS : 0);
    if (status != HEADWISE_OK)
        return status;
    status = headwise_attention(scene->context, &attend);
    if (status != HEADWISE_OK) {
        guard_expect_untouched(c->y.data, (size_t)2 * 4 * QUERIES * VALUE_DIM * 2, "y");
        return status;
    }
    status = headwise_mha_create(&scene->mha, scene->context, &scene->config);
    if (status != HEADWISE_OK)
        return status;
    status = headwise_mha_forward(scene->context, scene->mha, &step);
    expect_lengths(scene, status == HEADWISE_OK ? KEYS + ROWS : KEYS);
    if (status != HEADWISE_OK)
        guard_expect_untouched(l->y.data, (size_t)2 * ROWS * 36 * 2, "y of the layer");
    return status;
}

/* Runs until something fails. Returns whether everything passed. */
static bool run_with_failure_at(struct counting *counting, enum headwise_isa isa,
                                enum headwise_dtype dtype) {
    struct scene scene;
    make_scene(&scene, dtype == HEADWISE_I8 ? HEADWISE_BF16 : HEADWISE_F16);
    enum headwise_status status = create(&scene, isa, counting, dtype);
    if (status == HEADWISE_OK)
        status = use(&scene);
    if (status != HEADWISE_OK) {
        assert_int_equal(status, HEADWISE_ERR_NO_MEMORY);
        assert_true(strlen(headwise_last_error()) > 0);
    }
    if (status != HEADWISE_OK && scene.cache != NULL) { /* memory is back */
        int64_t n_refused = counting->n_refused;
        counting->fail_at = INT64_MAX;
        headwise_mha_destroy(scene.mha);
        scene.mha = NULL;
        for (int64_t s = 0; s < 2; s++)
            assert_int_equal(headwise_cache_truncate(scene.cache, s, 0), HEADWISE_OK);
        assert_int_equal(use(&scene), HEADWISE_OK);
        counting->n_refused = n_refused;
    }
    headwise_mha_destroy(scene.mha);
    headwise_cache_destroy(scene.cache);
    headwise_context_destroy(scene.context);
    counting_expect_balanced(counting);
    return status == HEADWISE_OK;
}

static void any_allocation_may_fail(enum headwise_isa isa) {
    const enum headwise_dtype types[] = {HEADWISE_F32, HEADWISE_F16, HEADWISE_I8};
    for (size_t t = 0; t < TEST_COUNT(types); t++) {
        bool passed = false;
        int64_t n = 0;
        for (; n < MOST_ALLOCATIONS && !passed; n++) {
            struct counting counting = {.fail_at = n};
            passed = run_with_failure_at(&counting, isa, types[t]);
            assert_true(passed || counting.n_refused > 0);
            guard_reset();
        }
        print_message("%d allocations, each failed in turn\n", (int)n - 1);
        assert_true(passed && n > 4); /* context, cache, scratch, layer, its scratch */
    }
}

int main(void) {
    const struct test_case cases[] = {
        TEST_CASE(any_allocation_may_fail),
    };
    return test_run_tiers(cases, TEST_COUNT(cases));
}
