/* Layers with rotary over a cache with a window: rows stand at their place, however far. */
#include "cached.h"
#include "guard.h"
#include "layer.h"
#include "runner.h"

enum { D_MODEL = 24, DIM = 12, VALUE_DIM = 5, ROWS = 1500, WINDOW = 120, FIRST = 3, CHUNK = 137 };

struct scene {
    headwise_context *context;
    headwise_rotary *rotary;
    struct headwise_mha_config config;
    headwise_mha *mha;
    headwise_cache *full, *ring;
    struct headwise_attention_options options;
};

static headwise_cache *cache_of(headwise_context *context, int64_t capacity, int64_t window) {
    return cached_create(context,
                         (struct headwise_cache_config){.n_sequences = 2,
                                                        .n_kv_heads = 2,
                                                        .head_dim = DIM,
                                                        .value_dim = VALUE_DIM,
                                                        .capacity = capacity,
                                                        .window = window,
                                                        .window_first = window > 0 ? FIRST : 0});
}

static struct scene make_scene(enum headwise_isa isa, struct test_rng *rng) {
    const struct headwise_rotary_config rotary_config = {
        .size = sizeof(rotary_config), .rotary_dim = 8, .n_positions = ROWS};
    struct scene scene = {.context = cached_context(isa, 1, 0xff)};
    float *weight = guard_floats(DIM);
    test_rng_fill(rng, weight, DIM, 1);
    cached_expect_ok(headwise_rotary_create(&scene.rotary, scene.context, &rotary_config),
                     "rotary");
    scene.config = (struct headwise_mha_config){.d_model = D_MODEL,
                                                .n_heads = 4,
                                                .n_kv_heads = 2,
                                                .head_dim = DIM,
                                                .value_dim = VALUE_DIM,
                                                .rotary = scene.rotary,
                                                .q_norm = weight};
    layer_fill_weights(rng, &scene.config, true);
    scene.mha = layer_create(scene.context, &scene.config);
    scene.full = cache_of(scene.context, ROWS, 0);
    scene.ring = cache_of(scene.context, FIRST + WINDOW + CHUNK - 1, WINDOW);
    scene.options =
        (struct headwise_attention_options){.size = sizeof(struct headwise_attention_options),
                                            .causal = HEADWISE_CAUSAL_BOTTOM_RIGHT,
                                            .window_is_set = true,
                                            .window_left = WINDOW - 1,
                                            .window_first = FIRST};
    return scene;
}

static void free_scene(struct scene *scene) {
    headwise_cache_destroy(scene->full);
    headwise_cache_destroy(scene->ring);
    headwise_mha_destroy(scene->mha);
    headwise_rotary_destroy(scene->rotary);
    headwise_context_destroy(scene->context);
}

static void forward(struct scene *scene, headwise_cache *cache, const struct headwise_tensor *x,
                    struct headwise_tensor *y, bool in_two_steps) {
    *y = call_tensor(HEADWISE_F32, x->size[0], 1, x->size[2], D_MODEL, NULL);
    struct headwise_attention_call given = cached_given(&scene->options);
    if (in_two_steps)
        cached_expect_ok(cached_try_mha_append(scene->context, scene->mha, cache, 0, x, &given),
                         "append");
    given.attend_only = in_two_steps;
    cached_expect_ok(cached_try_forward(scene->context, scene->mha, y, x, cache, 0, &given),
                     "forward");
}

static void chunks_through_a_ring(enum headwise_isa isa) {
    struct test_rng rng = test_rng_make(490);
    struct scene scene = make_scene(isa, &rng);
    struct headwise_tensor x = call_tensor(HEADWISE_F32, 2, 1, CHUNK, D_MODEL, NULL), y[2];
    call_fill(&rng, &x, 1);
    for (int64_t done = 0, turn = 0; done < ROWS; turn++) {
        static const int64_t sizes[] = {CHUNK, 1, 60, CHUNK - 1, 2};
        struct headwise_tensor rows = x;
        rows.size[2] = sizes[turn % 5] < ROWS - done ? sizes[turn % 5] : ROWS - done;
        forward(&scene, scene.full, &rows, &y[0], false);
        forward(&scene, scene.ring, &rows, &y[1], turn % 2 == 1);
        cached_expect_same(&y[1], &y[0], "ring");
        done += rows.size[2];
    }
    assert_true(headwise_cache_held_from(scene.ring, 1) > 1000);
    free_scene(&scene);
}

static void what_is_too_much_changes_nothing(enum headwise_isa isa) {
    struct test_rng rng = test_rng_make(491);
    struct scene scene = make_scene(isa, &rng);
    struct headwise_tensor x = call_tensor(HEADWISE_F32, 2, 1, CHUNK + 1, D_MODEL, NULL);
    struct headwise_tensor y = call_tensor(HEADWISE_F32, 2, 1, CHUNK + 1, D_MODEL, NULL), rows = x;
    call_fill(&rng, &x, 1);
    rows.size[2] = CHUNK;
    for (int i = 0; i < 8; i++) {
        struct headwise_tensor out;
        forward(&scene, scene.ring, &rows, &out, false);
    }
    struct cached_memory memory = cached_memory_of(scene.context, scene.ring);
    void *before = cached_snapshot(&memory);
    struct headwise_attention_call given = cached_given(&scene.options);
    assert_int_equal(cached_try_forward(scene.context, scene.mha, &y, &x, scene.ring, 0, &given),
                     HEADWISE_ERR_FULL);
    assert_string_equal(headwise_last_error(),
                        "mha_forward: sequence 0 holds 1096 keys and has room for 137 more, "
                        "not 138");
    scene.options.window_left++;
    assert_int_equal(cached_try_forward(scene.context, scene.mha, &y, &x, scene.full, 0, &given),
                     HEADWISE_OK);
    y = call_tensor(HEADWISE_F32, 2, 1, CHUNK, D_MODEL, NULL);
    assert_int_equal(cached_try_forward(scene.context, scene.mha, &y, &rows, scene.ring, 0, &given),
                     HEADWISE_ERR_INVALID);
    scene.options.window_left--;
    const int64_t offsets[2] = {1000, 300}; /* the second sequence looks too far back */
    given.query_offsets = offsets;
    assert_int_equal(cached_try_forward(scene.context, scene.mha, &y, &rows, scene.ring, 0, &given),
                     HEADWISE_ERR_INVALID);
    cached_expect_unchanged(&memory, before, "a refused call");
    guard_expect_untouched(y.data, (size_t)2 * CHUNK * D_MODEL * sizeof(float), "y");
    free_scene(&scene);
}

int main(void) {
    const struct test_case cases[] = {
        TEST_CASE(chunks_through_a_ring),
        TEST_CASE(what_is_too_much_changes_nothing),
    };
    return test_run_tiers(cases, TEST_COUNT(cases));
}
