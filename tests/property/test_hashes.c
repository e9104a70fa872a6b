/* One answer: the bits of a fixed set of calls, on every tier but scalar and on every machine, are
 * those whose hashes are stored. Inputs are integers times a power of two, so they are the same
 * everywhere.
 *
 * test_property_hashes FILE compares; test_property_hashes FILE N does so with a pool of N threads;
 * test_property_hashes --print writes the file. The scalar tier's bits are its own, the same on
 * every machine too: --scalar FILE compares them, --print-scalar writes them. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compare.h"
#include "guard.h"
#include "half.h"
#include "hash_dense.h"
#include "layer.h"
#include "runner.h"

struct hash_case {
    const char *name;
    struct call_shape shape;
    enum headwise_dtype dtype;
    enum headwise_causal causal;
    int64_t window; /* to the left, with 3 to the right; 0: none */
    int64_t past;
    float q_scale, softcap;
    int mask; /* 0: none, 1: bool, 2: f32 */
    enum headwise_score_stage stage;
    int biases; /* bits: 1 sinks, 2 ALiBi, 4 relative bias, 8 the first keys in sight */
};

#define F32 HEADWISE_F32
#define F16 HEADWISE_F16
#define BF16 HEADWISE_BF16
#define NONE HEADWISE_CAUSAL_NONE
#define TOP HEADWISE_CAUSAL_TOP_LEFT
#define BOTTOM HEADWISE_CAUSAL_BOTTOM_RIGHT

static const struct hash_case hash_cases[] = {
    {"plain", {1, 2, 2, 17, 33, 16, 16}, F32, NONE, 0, 0, 1, 0, 0, 0, 0},
    {"heads64", {2, 4, 4, 65, 300, 64, 64}, F32, NONE, 0, 0, 1, 0, 0, 3, 0},
    {"peaky", {1, 4, 4, 40, 513, 64, 64}, F32, NONE, 0, 0, 30, 0, 0, 2, 0},
    {"causal", {1, 3, 3, 130, 130, 32, 32}, F32, TOP, 0, 0, 4, 0, 0, 2, 0},
    {"bottom", {2, 2, 2, 70, 600, 32, 48}, F32, BOTTOM, 0, 0, 4, 0, 0, 2, 0},
    {"past", {1, 4, 2, 5, 40, 24, 24}, F32, BOTTOM, 0, 270, 4, 0, 0, 1, 0},
    {"window", {1, 2, 2, 300, 300, 16, 16}, F32, TOP, 60, 0, 4, 0, 0, 2, 0},
    {"gqa", {2, 8, 2, 33, 290, 40, 40}, F32, NONE, 0, 0, 4, 0, 0, 0, 0},
    {"mqa", {1, 16, 1, 9, 520, 64, 32}, F32, BOTTOM, 0, 0, 4, 0, 0, 2, 0},
    {"boolmask", {2, 3, 3, 20, 280, 33, 17}, F32, NONE, 0, 0, 4, 0, 1, 2, 0},
    {"floatmask", {2, 3, 3, 20, 280, 33, 17}, F32, NONE, 0, 0, 4, 0, 2, 2, 0},
    {"softcap", {1, 4, 4, 19, 270, 64, 64}, F32, TOP, 0, 0, 20, 15, 2, 1, 0},
    {"f16", {1, 4, 2, 30, 300, 64, 64}, F16, BOTTOM, 0, 0, 4, 0, 0, 2, 0},
    {"bf16", {1, 4, 2, 30, 300, 64, 64}, BF16, BOTTOM, 0, 0, 4, 0, 0, 2, 0},
    {"odd", {3, 5, 5, 11, 261, 37, 13}, F32, NONE, 0, 0, 4, 0, 0, 3, 0},
    {"one", {1, 1, 1, 1, 1, 1, 1}, F32, NONE, 0, 0, 1, 0, 0, 2, 0},
    {"dim1", {1, 2, 1, 7, 77, 1, 3}, F32, NONE, 0, 0, 9, 0, 0, 2, 0},
    {"dim512", {1, 1, 1, 3, 70, 512, 160}, F32, NONE, 0, 0, 1, 0, 0, 2, 0},
    {"decode4097", {1, 2, 1, 1, 4097, 64, 64}, F32, BOTTOM, 0, 0, 4, 0, 0, 2, 0},
    {"decode_f16", {2, 8, 2, 1, 2000, 128, 128}, F16, BOTTOM, 0, 0, 4, 0, 0, 2, 0},
    {"sinks", {2, 8, 2, 20, 530, 32, 24}, F32, BOTTOM, 0, 0, 4, 0, 0, 3, 1},
    {"alibi", {2, 8, 2, 20, 530, 32, 24}, F32, BOTTOM, 0, 0, 4, 0, 0, 2, 2},
    {"relative", {2, 8, 2, 20, 530, 32, 24}, F32, NONE, 0, 0, 4, 0, 0, 2, 4},
    {"window_first", {2, 8, 2, 20, 900, 32, 24}, F32, BOTTOM, 60, 0, 4, 0, 0, 3, 8},
    {"biases", {1, 6, 3, 30, 700, 40, 40}, F16, TOP, 300, 70, 4, 20, 2, 2, 15},
};

static uint64_t hash_floats(uint64_t hash, const float *x, size_t n) {
    return x == NULL ? hash : compare_hash(hash, x, n * sizeof(float));
}

static struct headwise_tensor make_mask(struct test_rng *rng, const struct hash_case *c) {
    const struct call_shape *s = &c->shape;
    enum headwise_dtype dtype = c->mask == 1 ? HEADWISE_BOOL : HEADWISE_F32;
    struct headwise_tensor mask =
        call_tensor(dtype, 1, s->heads, s->queries, s->keys + c->past, NULL);
    for (int64_t i = 0; i < mask.stride[0]; i++) {
        bool hides = test_rng_below(rng, 4) == 0;
        double x = (double)test_rng_float(rng);
        half_store(dtype, mask.data, i, c->mask == 1 ? !hides : hides ? -(double)INFINITY : x);
    }
    return mask;
}

enum { REACH = 100 };

static void add_biases(struct test_rng *rng, struct call *call, int biases) {
    struct headwise_attention_options *o = &call->options;
    size_t heads = (size_t)call->shape.heads, n = heads * (2 * REACH + 1);
    float *sinks = guard_floats(heads), *slopes = guard_floats(heads), *table = guard_floats(n);
    test_rng_fill(rng, sinks, heads, 8);
    test_rng_fill(rng, table, n, 4);
    headwise_alibi_slopes(slopes, (int64_t)heads);
    o->sinks = biases & 1 ? sinks : NULL;
    o->alibi_slopes = biases & 2 ? slopes : NULL;
    o->relative_bias = biases & 4 ? table : NULL;
    o->relative_reach = REACH;
    o->window_first = biases & 8 ? 5 : 0;
}

static headwise_pool *pool; /* or NULL: two threads of OpenMP's */

static headwise_context *make_context(enum headwise_isa isa) {
    headwise_context *context = NULL;
    struct headwise_context_options options = {
        .size = sizeof(options), .isa = isa, .n_threads = pool != NULL ? 0 : 2, .pool = pool};
    assert_int_equal(headwise_context_create(&context, &options), HEADWISE_OK);
    return context;
}

static uint64_t hash_call(enum headwise_isa isa, const struct hash_case *c, uint64_t stream) {
    const struct call_shape *s = &c->shape;
    struct test_rng rng = test_rng_fixed(stream);
    struct call call = call_make(&rng, s, c->dtype, 0);
    struct headwise_tensor past_key =
        call_tensor(c->dtype, s->batch, s->kv_heads, c->past, s->dim, NULL);
    struct headwise_tensor past_value =
        call_tensor(c->dtype, s->batch, s->kv_heads, c->past, s->value_dim, NULL);
    call_fill(&rng, &call.q, c->q_scale);
    call_fill(&rng, &past_key, 1);
    call_fill(&rng, &past_value, 1);
    struct headwise_tensor mask = make_mask(&rng, c);
    struct headwise_attention_options *o = &call.options;
    struct headwise_attention_call *g = &call.given;
    o->causal = c->causal;
    o->softcap = c->softcap;
    o->window_is_set = c->window > 0;
    o->window_left = c->window;
    o->window_right = 3;
    g->mask = c->mask != 0 ? &mask : NULL;
    g->past_key = c->past > 0 ? &past_key : NULL;
    g->past_value = c->past > 0 ? &past_value : NULL;
    add_biases(&rng, &call, c->biases);
    call_probe(&call, CALL_ALL, c->stage);
    headwise_context *context = make_context(isa);
    call_run_with(context, &call);
    headwise_context_destroy(context);
    size_t rows = (size_t)(s->batch * s->heads * s->queries), keys = (size_t)call_keys(&call);
    uint64_t hash = call_hash_tensor(COMPARE_HASH_BASIS, &call.y);
    hash = hash_floats(hash, call.probe.weights, rows * keys);
    hash = hash_floats(hash, call.probe.mean_weights, (size_t)(s->batch * s->queries) * keys);
    hash = hash_floats(hash, call.probe.scores, rows * keys);
    return hash_floats(hash, call.probe.lse, rows);
}

static headwise_rotary *make_rotary(enum headwise_isa isa, enum headwise_pairs pairs) {
    const struct headwise_rotary_config config = {.size = sizeof(config),
                                                  .rotary_dim = 20,
                                                  .pairs = pairs,
                                                  .n_positions = 70,
                                                  .scaling = HEADWISE_SCALING_YARN,
                                                  .factor = 4,
                                                  .original_positions = 16};
    headwise_context *context = call_context(isa, 1);
    headwise_rotary *rotary = NULL;
    assert_int_equal(headwise_rotary_create(&rotary, context, &config), HEADWISE_OK);
    headwise_context_destroy(context);
    return rotary;
}

/* Grouped heads with rotary and norms of both kinds. */
static struct headwise_mha_config rotary_config(struct test_rng *rng, headwise_rotary *rotary) {
    float *norms = guard_floats(4 * 24);
    test_rng_fill(rng, norms, 4 * 24, 1);
    bool half = headwise_rotary_describe(rotary)->pairs == HEADWISE_PAIRS_HALF;
    return (struct headwise_mha_config){.d_model = 64,
                                        .n_heads = 4,
                                        .n_kv_heads = 2,
                                        .head_dim = 24,
                                        .rotary = rotary,
                                        .q_norm = norms,
                                        .k_norm = norms + 24,
                                        .q_norm_bias = half ? NULL : norms + 48,
                                        .k_norm_bias = half ? NULL : norms + 72,
                                        .norm = half ? HEADWISE_NORM_RMS : HEADWISE_NORM_LAYER,
                                        .norm_adds_one = half};
}

/* Layer number 0 to 9: self, shared heads with f16 weights, cross, rotary with half-split pairs and
 * with interleaved ones, weights kept as f16, bf16 and integers,
 * x rounded too, and both in groups. */
static uint64_t hash_layer(enum headwise_isa isa, int number) {
    static const enum headwise_dtype kept_types[] = {F16, BF16, HEADWISE_I8, HEADWISE_I8,
                                                     HEADWISE_I8};
    struct test_rng rng = test_rng_fixed(1000 + (uint64_t)number);
    struct headwise_mha_config config = {.d_model = 64, .n_heads = 8};
    headwise_rotary *rotary =
        number < 3 || number > 4
            ? NULL
            : make_rotary(isa, number == 3 ? HEADWISE_PAIRS_HALF : HEADWISE_PAIRS_INTERLEAVED);
    if (rotary != NULL)
        config = rotary_config(&rng, rotary);
    if (number == 1)
        config = (struct headwise_mha_config){.d_model = 60,
                                              .d_out = 33,
                                              .n_heads = 6,
                                              .n_kv_heads = 2,
                                              .head_dim = 15,
                                              .value_dim = 7,
                                              .weight_dtype = F16,
                                              .layout = HEADWISE_IN_OUT};
    if (number == 2)
        config = (struct headwise_mha_config){.d_model = 48, .d_memory = 300, .n_heads = 3};
    if (number > 4)
        config = (struct headwise_mha_config){.d_model = 290,
                                              .d_out = 50,
                                              .n_heads = 5,
                                              .packed_dtype = kept_types[number - 5],
                                              .dynamic_int8 = number >= 8,
                                              .dynamic_group = number == 9 ? 64 : 0};
    layer_fill_weights(&rng, &config, true);
    struct layer_call call = layer_call_make(&rng, &config, 2, 70, number == 2 ? 290 : -1, F32);
    call.options.causal = number == 2 ? NONE : TOP;
    layer_call_probe(&call, HEADWISE_SCORES_MASKED);
    headwise_context *context = make_context(isa);
    headwise_mha *mha = layer_create(context, &config);
    layer_run_with(context, mha, &call);
    size_t rows = (size_t)(2 * config.n_heads * 70);
    uint64_t hash = call_hash_tensor(COMPARE_HASH_BASIS, &call.y);
    hash = hash_floats(hash, call.probe.weights, rows * (size_t)layer_call_keys(&call));
    hash = hash_floats(hash, call.probe.contributions,
                       rows * (size_t)headwise_mha_describe(mha)->d_out);
    headwise_mha_destroy(mha);
    headwise_rotary_destroy(rotary);
    headwise_context_destroy(context);
    return hash;
}

enum {
    N_CALLS = sizeof(hash_cases) / sizeof(hash_cases[0]),
    N_LAYER_ENDS = N_CALLS + 10,
    N_HASHES = N_LAYER_ENDS + HASH_DENSE_CASES
};

static const char *name_of(size_t i) {
    static const char *const layers[] = {
        "layer",          "layer_f16_gqa",   "layer_cross",   "layer_rotary",  "layer_interleaved",
        "layer_kept_f16", "layer_kept_bf16", "layer_kept_i8", "layer_dynamic", "layer_groups"};
    return i < N_CALLS        ? hash_cases[i].name
           : i < N_LAYER_ENDS ? layers[i - N_CALLS]
                              : hash_dense_name((int)(i - N_LAYER_ENDS));
}

static uint64_t hash_of(enum headwise_isa isa, size_t i) {
    uint64_t hash;
    if (i < N_CALLS) {
        hash = hash_call(isa, &hash_cases[i], 500 + i);
    } else if (i < N_LAYER_ENDS) {
        hash = hash_layer(isa, (int)(i - N_CALLS));
    } else {
        headwise_context *context = make_context(isa);
        hash = hash_dense(context, (int)(i - N_LAYER_ENDS));
        headwise_context_destroy(context);
    }
    guard_reset();
    return hash;
}

static const char *file_name;

/* The stored hash of a name; the test fails where the file has none. */
static uint64_t stored_hash(const char *name) {
    char line[256], word[64];
    uint64_t hash;
    FILE *file = fopen(file_name, "r");
    if (file == NULL)
        fail_msg("%s cannot be read", file_name);
    while (fgets(line, sizeof(line), file) != NULL)
        if (sscanf(line, "%63s %" SCNx64, word, &hash) == 2 && strcmp(word, name) == 0) {
            fclose(file);
            return hash;
        }
    fclose(file);
    fail_msg("%s has no hash of %s", file_name, name);
    return 0;
}

static void bits_are_the_stored_ones(enum headwise_isa isa) {
    int n_wrong = 0;
    for (size_t i = 0; i < N_HASHES; i++) {
        uint64_t got = hash_of(isa, i), want = stored_hash(name_of(i));
        if (got != want) {
            print_message("%s: %016" PRIx64 ", stored %016" PRIx64 "\n", name_of(i), got, want);
            n_wrong++;
        }
    }
    if (n_wrong > 0)
        fail_msg("%d of %d hashes differ", n_wrong, N_HASHES);
}

static void scalar_bits_are_the_stored_ones(enum headwise_isa isa) {
    (void)isa;
    bits_are_the_stored_ones(HEADWISE_ISA_SCALAR);
}

static int print_hashes(enum headwise_isa isa, const char *tiers) {
    printf("# FNV-1a of the outputs of the calls in test_hashes.c, the same on every %s.\n", tiers);
    for (size_t i = 0; i < N_HASHES; i++)
        printf("%s %016" PRIx64 "\n", name_of(i), hash_of(isa, i));
    return 0;
}

int main(int argc, char **argv) {
    const struct test_case cases[] = {TEST_CASE(bits_are_the_stored_ones)};
    const struct test_case scalar_cases[] = {TEST_CASE(scalar_bits_are_the_stored_ones)};
    struct headwise_pool_options options = {.size = sizeof(options)};
    if (argc < 2 || argc > 3) {
        fprintf(stderr, "usage: %s FILE [POOL_THREADS] | --scalar FILE | --print[-scalar]\n",
                argv[0]);
        return 2;
    }
    if (strcmp(argv[1], "--print-scalar") == 0)
        return print_hashes(HEADWISE_ISA_SCALAR, "machine's scalar tier");
    if (strcmp(argv[1], "--print") == 0 && headwise_isa_best() != HEADWISE_ISA_SCALAR)
        return print_hashes(headwise_isa_best(), "tier but scalar");
    if (strcmp(argv[1], "--print") == 0) {
        fprintf(stderr, "hashes: this machine has only the scalar tier\n");
        return 1;
    }
    file_name = argv[argc - 1];
    if (strcmp(argv[1], "--scalar") == 0)
        return test_run_once(scalar_cases, TEST_COUNT(scalar_cases));
    file_name = argv[1];
    options.n_threads = argc == 3 ? atoi(argv[2]) : 0;
    if (argc == 3 && headwise_pool_create(&pool, &options) != HEADWISE_OK)
        return 2;
    int result = test_run_simd_tiers(cases, TEST_COUNT(cases));
    headwise_pool_destroy(pool);
    return result;
}
