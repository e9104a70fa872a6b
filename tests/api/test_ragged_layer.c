/* Layers over ragged rows: each sequence as the layer alone gives it. */
#include <math.h>
#include <string.h>

#include "compare.h"
#include "guard.h"
#include "layer.h"
#include "ragged.h"
#include "runner.h"

enum { N = 4, HEADS = 4, ROWS = 2 + 5 + 0 + 70 + 1 + 3, D = 24, OUT = 17 };

static const int32_t starts[N + 1] = {2, 7, 7, 77, 78};

struct scene {
    struct headwise_mha_config config;
    struct layer_call call; /* all rows as one batch entry */
    int32_t key_starts[N + 1];
    headwise_rotary *rotary;
};

static void make_scene(struct scene *scene, enum headwise_isa isa, bool cross, bool rotates) {
    struct test_rng rng = test_rng_make(181);
    *scene =
        (struct scene){.config = {.d_model = D, .n_heads = HEADS, .n_kv_heads = 2, .d_out = OUT},
                       .key_starts = {0, 3, 3, 40, 45}};
    const struct headwise_rotary_config table = {
        .size = sizeof(table), .rotary_dim = 4, .n_positions = 90};
    if (rotates) {
        headwise_context *context = call_context(isa, 1);
        assert_int_equal(headwise_rotary_create(&scene->rotary, context, &table), HEADWISE_OK);
        headwise_context_destroy(context);
        scene->config.rotary = scene->rotary;
    }
    layer_fill_weights(&rng, &scene->config, true);
    scene->call = layer_call_make(&rng, &scene->config, 1, ROWS, cross ? 45 : -1, HEADWISE_F32);
    scene->call.options.causal = HEADWISE_CAUSAL_BOTTOM_RIGHT;
}

static void end_scene(struct scene *scene) {
    headwise_rotary_destroy(scene->rotary);
    guard_reset();
}

static void run(headwise_context *context, const headwise_mha *mha, struct scene *scene) {
    struct layer_call call = scene->call;
    call.given.n_sequences = N;
    call.given.query_starts = starts;
    call.given.key_starts = call.has_memory ? scene->key_starts : NULL;
    layer_run_with(context, mha, &call);
}

/* Sequence b alone. */
static struct layer_call alone_of(const struct scene *scene, int64_t b) {
    struct layer_call alone = scene->call;
    alone.x = ragged_rows(&scene->call.x, starts, b);
    if (alone.has_memory)
        alone.memory = ragged_rows(&scene->call.memory, scene->key_starts, b);
    alone.y = call_tensor(HEADWISE_F32, 1, 1, alone.x.size[2], OUT, NULL);
    if (alone.given.positions)
        alone.given.positions += starts[b];
    if (alone.given.head_gates)
        alone.given.head_gates += b * alone.given.gate_batch_stride;
    layer_call_probe(&alone, HEADWISE_SCORES_MASKED);
    return alone;
}

static void expect_rows(const float *got, const float *want, int64_t b, int64_t heads,
                        int64_t columns, const char *what) {
    int64_t n = starts[b + 1] - starts[b];
    for (int64_t h = 0; h < heads; h++)
        compare_same_bits(got + (h * ROWS + starts[b]) * columns, want + h * n * columns,
                          (size_t)(n * columns), "sequence %d: %s", (int)b, what);
}

static void expect_alone(enum headwise_isa isa, struct scene *scene) {
    headwise_context *one = call_context(isa, 1);
    headwise_mha *mha = layer_create(one, &scene->config);
    for (int n_threads = 1; n_threads < 6; n_threads += 2) {
        headwise_context *context = call_context(isa, n_threads);
        layer_call_probe(&scene->call, HEADWISE_SCORES_MASKED);
        scene->call.y = call_tensor(HEADWISE_F32, 1, 1, ROWS, OUT, NULL);
        run(context, mha, scene);
        headwise_context_destroy(context);
        const struct headwise_probe *got = &scene->call.probe;
        int64_t pairs = 0;
        for (int64_t b = 0; b < N; b++) {
            struct layer_call alone = alone_of(scene, b);
            layer_run_with(one, mha, &alone);
            int64_t n = alone.x.size[2] * layer_call_keys(&alone);
            expect_rows(scene->call.y.data, alone.y.data, b, 1, OUT, "y");
            expect_rows(got->contributions, alone.probe.contributions, b, HEADS, OUT,
                        "contributions");
            expect_rows(got->lse, alone.probe.lse, b, HEADS, 1, "log-sum-exp");
            expect_rows(got->head_outputs, alone.probe.head_outputs, b, HEADS, D / HEADS, "heads");
            compare_same_bits(got->weights + HEADS * pairs, alone.probe.weights,
                              (size_t)(HEADS * n), "weights of sequence %d", (int)b);
            compare_same_bits(got->scores + HEADS * pairs, alone.probe.scores, (size_t)(HEADS * n),
                              "scores of sequence %d", (int)b);
            compare_same_bits(got->mean_weights + pairs, alone.probe.mean_weights, (size_t)n,
                              "mean weights of sequence %d", (int)b);
            pairs += n;
        }
    }
    headwise_mha_destroy(mha);
    headwise_context_destroy(one);
}

static void self_attention(enum headwise_isa isa) {
    struct scene scene;
    make_scene(&scene, isa, false, false);
    expect_alone(isa, &scene);
    end_scene(&scene);
}

static void cross_attention(enum headwise_isa isa) {
    struct scene scene;
    make_scene(&scene, isa, true, false);
    float gates[N * HEADS];
    for (int i = 0; i < N * HEADS; i++)
        gates[i] = (float)(i % 5) - 0.5f * (float)(i % 2);
    scene.call.given.head_gates = gates;
    scene.call.given.gate_batch_stride = HEADS;
    expect_alone(isa, &scene);
    end_scene(&scene);
}

/* A row's position is its place in its sequence, or what the caller says. */
static void rotary_positions(enum headwise_isa isa) {
    struct scene scene;
    make_scene(&scene, isa, false, true);
    expect_alone(isa, &scene);
    int64_t *positions = guard_alloc(ROWS * sizeof(*positions), 0);
    for (int64_t r = 0; r < ROWS; r++)
        positions[r] = (r * 29 + 11) % 80;
    scene.call.given.positions = positions;
    expect_alone(isa, &scene);
    end_scene(&scene);
}

/* Rows that belong to no sequence attend to nothing, whatever they hold. */
static void rows_of_no_sequence_give_the_bias(enum headwise_isa isa) {
    struct scene scene;
    make_scene(&scene, isa, false, true);
    const int outside[] = {0, 1, 78, 79, 80};
    float *x = scene.call.x.data;
    const float *y = scene.call.y.data;
    for (size_t i = 0; i < TEST_COUNT(outside); i++)
        x[outside[i] * D] = NAN;
    headwise_context *context = call_context(isa, 2);
    headwise_mha *mha = layer_create(context, &scene.config);
    layer_call_probe(&scene.call, HEADWISE_SCORES_MASKED);
    layer_run_with(context, mha, &scene.call); /* scratch holds NaN in those rows now */
    for (int n = 0; n < 2; n++) {
        run(context, mha, &scene);
        for (size_t i = 0; i < TEST_COUNT(outside); i++)
            compare_same_bits(y + outside[i] * OUT, scene.config.b_o, OUT, "row %d", outside[i]);
        for (int64_t i = 0; i < HEADS * ROWS * OUT; i++) {
            int64_t row = i / OUT % ROWS;
            if (row < starts[0] || row >= starts[N])
                assert_true(scene.call.probe.contributions[i] == 0.0f);
        }
    }
    headwise_mha_destroy(mha);
    headwise_context_destroy(context);
    end_scene(&scene);
}

int main(void) {
    const struct test_case cases[] = {
        TEST_CASE(self_attention),
        TEST_CASE(cross_attention),
        TEST_CASE(rotary_positions),
        TEST_CASE(rows_of_no_sequence_give_the_bias),
    };
    return test_run_tiers(cases, TEST_COUNT(cases));
}
