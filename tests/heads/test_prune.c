/* Pruned layers: the bits of gated ones, with the numbers their heads were born with. */
#include <math.h>
#include <string.h>

#include "bounds.h"
#include "call.h"
#include "compare.h"
#include "guard.h"
#include "half.h"
#include "layer.h"
#include "oracle.h"
#include "runner.h"

enum { MOST_HEADS = 12 };

static headwise_mha *prune(headwise_context *context, const headwise_mha *mha, const int64_t *heads,
                           int64_t n, const int64_t *merge_into) {
    const struct headwise_prune_options options = {sizeof options, heads, n, merge_into};
    headwise_mha *pruned = NULL;
    if (headwise_mha_prune(&pruned, context, mha, &options) != HEADWISE_OK)
        fail_msg("headwise_mha_prune: %s", headwise_last_error());
    return pruned;
}

static void expect_numbers(const headwise_mha *mha, const int64_t *numbers, int64_t n) {
    assert_int_equal(headwise_mha_describe(mha)->n_heads, n);
    assert_memory_equal(headwise_mha_describe(mha)->head_numbers, numbers,
                        (size_t)n * sizeof(int64_t));
}

/* What a call gives for every head of the whole layer: a mask, sinks, slopes, T5's biases. */
struct by_head {
    struct headwise_tensor mask;
    float *sinks, *slopes, *relative;
};

enum { REACH = 5 };

static struct by_head make_by_head(struct test_rng *rng, int64_t heads, int64_t rows,
                                   int64_t keys) {
    struct by_head by_head = {call_tensor(HEADWISE_F32, 1, heads, rows, keys, NULL),
                              guard_floats((size_t)heads), guard_floats((size_t)heads),
                              guard_floats((size_t)heads * (2 * REACH + 1))};
    call_fill(rng, &by_head.mask, 2);
    for (int64_t i = 0; i < heads * rows * keys; i++)
        if (test_rng_below(rng, 5) == 0)
            ((float *)by_head.mask.data)[i] = -INFINITY;
    test_rng_fill(rng, by_head.sinks, (size_t)heads, 1);
    test_rng_fill(rng, by_head.slopes, (size_t)heads, 1);
    test_rng_fill(rng, by_head.relative, (size_t)heads * (2 * REACH + 1), 1);
    return by_head;
}

static void use_by_head(struct layer_call *call, struct by_head *by_head, int variant) {
    struct headwise_attention_options *options = &call->options;
    options->causal = (enum headwise_causal)(variant % 3);
    call->given.mask = variant & 1 ? &by_head->mask : NULL;
    options->sinks = variant & 2 ? by_head->sinks : NULL;
    options->alibi_slopes = variant & 4 ? by_head->slopes : NULL;
    options->relative_bias = variant & 1 ? by_head->relative : NULL;
    options->relative_reach = variant & 1 ? REACH : 0;
}

/* What by_head holds, of the heads alone that a pruned layer still has. */
static struct by_head gather(const headwise_mha *pruned, const struct by_head *whole) {
    size_t heads = (size_t)headwise_mha_describe(pruned)->n_heads;
    int64_t rows = whole->mask.size[2], keys = whole->mask.size[3];
    struct by_head rest = {call_tensor(HEADWISE_F32, 1, (int64_t)heads, rows, keys, NULL),
                           guard_floats(heads), guard_floats(heads),
                           guard_floats(heads * (2 * REACH + 1))};
    const struct {
        float *dst;
        const float *src;
        int64_t columns;
    } arrays[] = {{rest.mask.data, whole->mask.data, rows * keys},
                  {rest.sinks, whole->sinks, 1},
                  {rest.slopes, whole->slopes, 1},
                  {rest.relative, whole->relative, 2 * REACH + 1}};
    for (size_t i = 0; i < TEST_COUNT(arrays); i++)
        assert_int_equal(
            headwise_mha_gather_heads(pruned, arrays[i].dst, arrays[i].src, arrays[i].columns),
            HEADWISE_OK);
    return rest;
}

/* Log-sum-exp and head outputs of the heads that stay. */
static void expect_same_heads(const headwise_mha *pruned, const struct layer_call *got,
                              const struct layer_call *want, int64_t heads) {
    int64_t batch = got->x.size[0], rows = got->x.size[2],
            left = headwise_mha_describe(pruned)->n_heads;
    int64_t dim = headwise_mha_describe(pruned)->value_dim;
    for (int64_t b = 0; b < batch; b++)
        for (int64_t i = 0; i < left; i++) {
            int64_t number = headwise_mha_describe(pruned)->head_numbers[i];
            int64_t at = (b * left + i) * rows, from = (b * heads + number) * rows;
            compare_same_bits(got->probe.lse + at, want->probe.lse + from, (size_t)rows, "lse");
            compare_same_bits(got->probe.head_outputs + at * dim,
                              want->probe.head_outputs + from * dim, (size_t)(rows * dim),
                              "output of head %d", (int)number);
        }
}

static struct headwise_probe new_probe(int64_t batch, int64_t heads, int64_t rows, int64_t dim) {
    size_t n = (size_t)(batch * heads * rows);
    return (struct headwise_probe){.size = sizeof(struct headwise_probe),
                                   .lse = guard_floats(n),
                                   .head_outputs = guard_floats(n * (size_t)dim)};
}

/* A layer with n of its heads gated off, and the layer without them. */
static void expect_gated_is_pruned(enum headwise_isa isa, struct test_rng *rng,
                                   const struct headwise_mha_config *config, const int64_t *drop,
                                   int64_t n, int variant) {
    float gates[MOST_HEADS];
    int64_t heads = config->n_heads, rows = 1 + 37 * (variant % 3), keys = rows;
    headwise_context *context = call_context(isa, variant % 2 ? 3 : 1);
    headwise_mha *whole = layer_create(context, config);
    headwise_mha *pruned = prune(context, whole, drop, n, NULL);
    struct layer_call gated = layer_call_make(rng, config, 2, rows, -1, HEADWISE_F32);
    struct by_head by_head = make_by_head(rng, heads, rows, keys), rest = gather(pruned, &by_head);
    struct layer_call call = gated;
    for (int64_t h = 0; h < heads; h++)
        gates[h] = 1;
    for (int64_t i = 0; i < n; i++)
        gates[drop[i]] = 0;
    use_by_head(&gated, &by_head, variant);
    gated.given.head_gates = gates;
    gated.probe = new_probe(2, heads, rows, headwise_mha_describe(whole)->value_dim);
    use_by_head(&call, &rest, variant);
    call.y = call_tensor(HEADWISE_F32, 2, 1, rows, headwise_mha_describe(whole)->d_out, NULL);
    call.probe = new_probe(2, heads - n, rows, headwise_mha_describe(whole)->value_dim);
    layer_run_with(context, whole, &gated);
    layer_run_with(context, pruned, &call);
    compare_same_bits(call.y.data, gated.y.data,
                      (size_t)(2 * rows * headwise_mha_describe(whole)->d_out),
                      "%d of %d heads on %d, variant %d", (int)(heads - n), (int)heads,
                      (int)config->n_kv_heads, variant);
    expect_same_heads(pruned, &call, &gated, heads);
    headwise_mha_destroy(pruned);
    headwise_mha_destroy(whole);
    headwise_context_destroy(context);
}

static headwise_rotary *make_table(void) {
    const struct headwise_rotary_config form = {
        .size = sizeof form, .rotary_dim = 4, .n_positions = 100};
    headwise_context *context = call_context(HEADWISE_ISA_SCALAR, 1);
    headwise_rotary *rotary = NULL;
    assert_int_equal(headwise_rotary_create(&rotary, context, &form), HEADWISE_OK);
    headwise_context_destroy(context);
    return rotary;
}

/* Norms of queries and keys, or a rotation, or both, or neither. */
static void add_positions(struct test_rng *rng, struct headwise_mha_config *config,
                          const headwise_rotary *rotary, int variant) {
    float *norms = guard_floats((size_t)config->head_dim * 2);
    test_rng_fill(rng, norms, (size_t)config->head_dim * 2, 1);
    config->rotary = variant & 1 ? rotary : NULL;
    config->q_norm = variant & 2 ? norms : NULL;
    config->k_norm = variant & 4 ? norms + config->head_dim : NULL;
    config->k_norm_bias = variant & 4 ? norms : NULL;
    config->norm = variant & 1 ? HEADWISE_NORM_LAYER : HEADWISE_NORM_RMS;
    config->norm_adds_one = variant & 4;
    config->norm_eps = variant & 2 ? 0.1f : 0;
}

/* Random sets of heads of layers of many forms. */
static void pruned_has_the_bits_of_gated(enum headwise_isa isa) {
    const struct headwise_mha_config forms[] = {
        {.d_model = 40, .n_heads = 8, .n_kv_heads = 8, .head_dim = 5},
        {.d_model = 24, .n_heads = 6, .n_kv_heads = 2, .head_dim = 8, .value_dim = 3},
        {.d_model = 33, .n_heads = 12, .n_kv_heads = 3, .head_dim = 16, .d_out = 50},
        {.d_model = 16, .n_heads = 7, .n_kv_heads = 1, .head_dim = 40, .value_dim = 41},
    };
    static const enum headwise_dtype kept_types[] = {HEADWISE_F32, HEADWISE_I8, HEADWISE_F16,
                                                     HEADWISE_BF16};
    struct test_rng rng = test_rng_make(361);
    headwise_rotary *rotary = make_table();
    for (size_t f = 0; f < TEST_COUNT(forms); f++)
        for (int variant = 0; variant < 8; variant++) {
            struct headwise_mha_config config = forms[f];
            int64_t drop[MOST_HEADS], n = 0;
            config.weight_dtype = variant == 3 ? HEADWISE_BF16 : HEADWISE_F32;
            config.packed_dtype = kept_types[variant % 4];
            config.dynamic_int8 = variant == 5;
            layer_fill_weights(&rng, &config, variant % 2 == 0);
            add_positions(&rng, &config, rotary, variant);
            for (int64_t h = config.n_heads - 1; h >= 0; h--) /* any order will do */
                if (test_rng_below(&rng, 2) == 0)
                    drop[n++] = h;
            expect_gated_is_pruned(isa, &rng, &config, drop, n, variant);
            guard_reset();
        }
    headwise_rotary_destroy(rotary);
}

static struct headwise_mha_config four_heads(struct test_rng *rng, int64_t kv_heads) {
    struct headwise_mha_config config = {.d_model = 16, .n_heads = 4, .n_kv_heads = kv_heads};
    layer_fill_weights(rng, &config, true);
    return config;
}

/* {1}, later {2}: the number 2 means the head that was number 2 at first. */
static void numbers_are_those_of_the_first_layer(enum headwise_isa isa) {
    struct test_rng rng = test_rng_make(362);
    struct headwise_mha_config config = four_heads(&rng, 4);
    headwise_context *context = call_context(isa, 1);
    headwise_mha *whole = layer_create(context, &config);
    headwise_mha *first = prune(context, whole, (const int64_t[]){1}, 1, NULL);
    headwise_mha *second = prune(context, first, (const int64_t[]){2}, 1, NULL);
    headwise_mha *both = prune(context, whole, (const int64_t[]){2, 1}, 2, NULL);
    expect_numbers(whole, (const int64_t[]){0, 1, 2, 3}, 4);
    expect_numbers(first, (const int64_t[]){0, 2, 3}, 3);
    expect_numbers(second, (const int64_t[]){0, 3}, 2);
    struct layer_call steps = layer_call_make(&rng, &config, 1, 9, -1, HEADWISE_F32);
    struct layer_call once = steps;
    once.y = call_tensor(HEADWISE_F32, 1, 1, 9, 16, NULL);
    layer_run_with(context, second, &steps);
    layer_run_with(context, both, &once);
    compare_same_bits(steps.y.data, once.y.data, 9 * 16, "in two steps");
    const struct headwise_prune_options gone = {sizeof gone, (const int64_t[]){1}, 1, NULL};
    headwise_mha *none = NULL;
    assert_int_equal(headwise_mha_prune(&none, context, first, &gone), HEADWISE_ERR_INVALID);
    assert_null(none);
    headwise_mha_destroy(both);
    headwise_mha_destroy(second);
    headwise_mha_destroy(first);
    headwise_mha_destroy(whole);
    headwise_context_destroy(context);
}

/* Four heads on two kv heads: a kv head goes with the last head that reads it. */
static void a_kv_head_goes_with_its_group(enum headwise_isa isa) {
    struct test_rng rng = test_rng_make(363);
    struct headwise_mha_config config = four_heads(&rng, 2);
    headwise_context *context = call_context(isa, 1);
    headwise_mha *whole = layer_create(context, &config);
    headwise_mha *one = prune(context, whole, (const int64_t[]){0}, 1, NULL);
    headwise_mha *two = prune(context, one, (const int64_t[]){1}, 1, NULL);
    assert_int_equal(headwise_mha_describe(one)->n_kv_heads, 2);
    assert_int_equal(headwise_mha_describe(one)->group_sizes[0], 1);
    assert_int_equal(headwise_mha_describe(one)->group_sizes[1], 2);
    assert_int_equal(headwise_mha_describe(two)->n_kv_heads, 1);
    expect_numbers(two, (const int64_t[]){2, 3}, 2);
    headwise_mha_destroy(two);
    headwise_mha_destroy(one);
    headwise_mha_destroy(whole);
    headwise_context_destroy(context);
}

/* Nothing is left but the bias of W_O. */
static void without_heads_the_bias_is_left(enum headwise_isa isa) {
    struct test_rng rng = test_rng_make(364);
    for (int64_t kv_heads = 1; kv_heads <= 4; kv_heads *= 2) {
        struct headwise_mha_config config = four_heads(&rng, kv_heads);
        headwise_context *context = call_context(isa, 2);
        headwise_mha *whole = layer_create(context, &config);
        headwise_mha *empty = prune(context, whole, (const int64_t[]){3, 0, 2, 1}, 4, NULL);
        headwise_mha *again = prune(context, empty, NULL, 0, NULL);
        struct layer_call call = layer_call_make(&rng, &config, 2, 300, -1, HEADWISE_F32);
        call.probe.size = sizeof(call.probe);
        call.probe.mean_weights = guard_floats(2 * 300 * 300);
        layer_run_with(context, again, &call);
        for (int64_t i = 0; i < 600; i++)
            compare_same_bits((float *)call.y.data + i * 16, config.b_o, 16, "row %d", (int)i);
        for (int64_t i = 0; i < 2 * 300 * 300; i++)
            assert_true(call.probe.mean_weights[i] == 0);
        expect_numbers(again, NULL, 0);
        assert_int_equal(headwise_mha_describe(again)->n_kv_heads, 0);
        headwise_mha_destroy(again);
        headwise_mha_destroy(empty);
        headwise_mha_destroy(whole);
        headwise_context_destroy(context);
        guard_reset();
    }
}

/* Head 3 is made a twin of head 1, but for W_O: when it goes, head 1 speaks for both. The sum of
 * two rows of W_O is rounded once, less than the roundings of a chain that became shorter. */
static void a_twin_takes_over(enum headwise_isa isa) {
    struct test_rng rng = test_rng_make(365);
    struct headwise_mha_config config = {.d_model = 24, .n_heads = 4, .n_kv_heads = 4};
    layer_fill_weights(&rng, &config, false);
    const void *const matrices[] = {config.w_q, config.w_k, config.w_v};
    for (int i = 0; i < 3; i++) {
        float *rows = (float *)(uintptr_t)matrices[i];
        memcpy(rows + (ptrdiff_t)3 * 6 * 24, rows + (ptrdiff_t)1 * 6 * 24, 6 * 24 * sizeof(float));
    }
    headwise_context *context = call_context(isa, 1);
    headwise_mha *whole = layer_create(context, &config);
    headwise_mha *merged = prune(context, whole, (const int64_t[]){3}, 1, (const int64_t[]){1});
    struct layer_call call = layer_call_make(&rng, &config, 1, 20, -1, HEADWISE_F32);
    layer_run_with(context, merged, &call);
    const struct oracle_result *want = layer_oracle(&config, &call);
    for (int64_t i = 0; i < 20 * 24; i++)
        compare_expect((double)((float *)call.y.data)[i], want->out[i], want->out_bound[i],
                       "element %d", (int)i);
    headwise_mha_destroy(merged);
    headwise_mha_destroy(whole);
    headwise_context_destroy(context);
}

static struct headwise_mha_config unpack(const headwise_mha *mha, enum headwise_layout layout) {
    int64_t q = headwise_mha_describe(mha)->n_heads * headwise_mha_describe(mha)->head_dim;
    int64_t k = headwise_mha_describe(mha)->n_kv_heads * headwise_mha_describe(mha)->head_dim;
    int64_t v = headwise_mha_describe(mha)->n_kv_heads * headwise_mha_describe(mha)->value_dim;
    int64_t o = headwise_mha_describe(mha)->n_heads * headwise_mha_describe(mha)->value_dim;
    const int64_t in[] = {headwise_mha_describe(mha)->d_model, headwise_mha_describe(mha)->d_memory,
                          headwise_mha_describe(mha)->d_memory, o};
    const int64_t out[] = {q, k, v, headwise_mha_describe(mha)->d_out};
    float *weights[4], *biases[4];
    for (int i = 0; i < 4; i++) {
        weights[i] = guard_floats((size_t)(in[i] * out[i]));
        biases[i] = guard_floats((size_t)out[i]);
        assert_int_equal(headwise_mha_weights(mha, weights[i], biases[i], NULL,
                                              (enum headwise_mha_part)i, layout),
                         HEADWISE_OK);
    }
    int64_t *sizes = guard_plain(MOST_HEADS, sizeof(int64_t));
    for (int64_t g = 0; g < headwise_mha_describe(mha)->n_kv_heads; g++)
        sizes[g] = headwise_mha_describe(mha)->group_sizes[g];
    return (struct headwise_mha_config){
        .size = sizeof(struct headwise_mha_config),
        .d_model = in[0],
        .d_memory = in[1],
        .d_out = out[3],
        .n_heads = headwise_mha_describe(mha)->n_heads,
        .n_kv_heads = headwise_mha_describe(mha)->n_kv_heads,
        .head_dim = headwise_mha_describe(mha)->head_dim,
        .value_dim = headwise_mha_describe(mha)->value_dim,
        .layout = layout,
        .w_q = weights[0],
        .w_k = weights[1],
        .w_v = weights[2],
        .w_o = weights[3],
        .b_q = biases[0],
        .b_k = biases[1],
        .b_v = biases[2],
        .b_o = biases[3],
        .group_sizes = sizes,
        .head_numbers = headwise_mha_describe(mha)->head_numbers,
    };
}

/* What a file would hold gives the same layer again, uneven groups and no heads included. */
static void weights_make_the_layer_again(enum headwise_isa isa) {
    const int64_t drop[] = {0, 5, 4, 1, 2, 3};
    const int64_t counts[] = {0, 2, 4, 6};
    struct test_rng rng = test_rng_make(366);
    for (size_t n = 0; n < TEST_COUNT(counts); n++)
        for (int layout = HEADWISE_OUT_IN; layout <= HEADWISE_IN_OUT; layout++) {
            struct headwise_mha_config config = {
                .d_model = 21, .n_heads = 6, .n_kv_heads = 2, .head_dim = 7, .value_dim = 9};
            layer_fill_weights(&rng, &config, true);
            headwise_context *context = call_context(isa, 1);
            headwise_mha *whole = layer_create(context, &config);
            headwise_mha *pruned = prune(context, whole, drop, counts[n], NULL);
            struct headwise_mha_config stored = unpack(pruned, (enum headwise_layout)layout);
            headwise_mha *again = layer_create(context, &stored);
            struct layer_call call = layer_call_make(&rng, &config, 1, 13, -1, HEADWISE_F32);
            struct layer_call second = call;
            second.y = call_tensor(HEADWISE_F32, 1, 1, 13, 21, NULL);
            layer_run_with(context, pruned, &call);
            layer_run_with(context, again, &second);
            compare_same_bits(second.y.data, call.y.data, 13 * 21, "layer made again");
            expect_numbers(again, headwise_mha_describe(pruned)->head_numbers, 6 - counts[n]);
            headwise_mha_destroy(again);
            headwise_mha_destroy(pruned);
            headwise_mha_destroy(whole);
            headwise_context_destroy(context);
            guard_reset();
        }
}

/* The caller's numbers come back, whichever layout they came in. */
static void weights_are_those_given(enum headwise_isa isa) {
    struct test_rng rng = test_rng_make(367);
    struct headwise_mha_config config = {
        .d_model = 37, .n_heads = 3, .head_dim = 13, .weight_dtype = HEADWISE_F16};
    layer_fill_weights(&rng, &config, true);
    headwise_context *context = call_context(isa, 1);
    headwise_mha *mha = layer_create(context, &config);
    float *rows = guard_floats(39 * 37), *columns = guard_floats(39 * 37), *bias = guard_floats(39);
    assert_int_equal(headwise_mha_weights(mha, rows, bias, NULL, HEADWISE_MHA_Q, HEADWISE_OUT_IN),
                     HEADWISE_OK);
    assert_int_equal(
        headwise_mha_weights(mha, columns, NULL, NULL, HEADWISE_MHA_Q, HEADWISE_IN_OUT),
        HEADWISE_OK);
    compare_same_bits(bias, config.b_q, 39, "bias");
    for (int64_t i = 0; i < 39 * 37; i++) {
        assert_true((double)rows[i] == half_load(HEADWISE_F16, config.w_q, i));
        assert_true(columns[i % 37 * 39 + i / 37] == rows[i]);
    }
    headwise_mha_destroy(mha);
    headwise_context_destroy(context);
}

/* A prompt and then single tokens over caches of the pruned and of the whole layer. */
static void over_caches_too(enum headwise_isa isa) {
    const float gates[] = {1, 0, 0, 0, 1, 1};
    const int64_t drop[] = {1, 2, 3};
    struct test_rng rng = test_rng_make(368);
    struct headwise_mha_config config = {
        .d_model = 24, .n_heads = 6, .n_kv_heads = 3, .head_dim = 8};
    layer_fill_weights(&rng, &config, true);
    headwise_context *context = call_context(isa, 2);
    headwise_mha *whole = layer_create(context, &config);
    headwise_mha *pruned = prune(context, whole, drop, 3, NULL);
    headwise_cache *caches[2] = {NULL, NULL};
    for (int i = 0; i < 2; i++) {
        struct headwise_cache_config form = {.size = sizeof form,
                                             .n_sequences = 1,
                                             .n_kv_heads = i == 0 ? 3 : 2,
                                             .head_dim = 8,
                                             .capacity = 300};
        assert_int_equal(headwise_cache_create(&caches[i], context, &form), HEADWISE_OK);
    }
    for (int step = 0; step < 4; step++) {
        int64_t rows = step == 0 ? 260 : 1;
        struct layer_call call = layer_call_make(&rng, &config, 1, rows, -1, HEADWISE_F32);
        call.options.causal = HEADWISE_CAUSAL_BOTTOM_RIGHT;
        struct layer_call gated = call;
        call.given.cache = caches[1];
        gated.y = call_tensor(HEADWISE_F32, 1, 1, rows, 24, NULL);
        gated.given.cache = caches[0];
        gated.given.head_gates = gates;
        layer_run_with(context, pruned, &call);
        layer_run_with(context, whole, &gated);
        compare_same_bits(call.y.data, gated.y.data, (size_t)rows * 24, "step %d", step);
    }
    headwise_cache_destroy(caches[0]);
    headwise_cache_destroy(caches[1]);
    headwise_mha_destroy(pruned);
    headwise_mha_destroy(whole);
    headwise_context_destroy(context);
}

/* W_O of an i8 layer after head 2 of 3 was merged into head 0: the sums, in integers anew. */
static void merged_integers_are_rounded_anew(enum headwise_isa isa) {
    enum { D = 12, OUT = 5 };
    struct test_rng rng = test_rng_make(371);
    struct headwise_mha_config config = {
        .d_model = D, .d_out = OUT, .n_heads = 3, .packed_dtype = HEADWISE_I8};
    float w[D * OUT], merged_w[8 * OUT], scales[OUT];
    layer_fill_weights(&rng, &config, true);
    headwise_context *context = call_context(isa, 1);
    headwise_mha *whole = layer_create(context, &config);
    headwise_mha *merged = prune(context, whole, (const int64_t[]){2}, 1, (const int64_t[]){0});
    headwise_mha_weights(whole, w, NULL, NULL, HEADWISE_MHA_O, HEADWISE_IN_OUT);
    headwise_mha_weights(merged, merged_w, NULL, NULL, HEADWISE_MHA_O, HEADWISE_IN_OUT);
    assert_int_equal(
        headwise_mha_weights(merged, NULL, NULL, scales, HEADWISE_MHA_O, HEADWISE_OUT_IN),
        HEADWISE_OK);
    for (int t = 0; t < 8; t++)
        for (int j = 0; j < OUT; j++) {
            double want = (double)w[t * OUT + j] + (t < 4 ? (double)w[(t + 8) * OUT + j] : 0);
            assert_true(fabs((double)merged_w[t * OUT + j] - want) <= 0.501 * (double)scales[j]);
        }
    headwise_mha_destroy(merged);
    headwise_mha_destroy(whole);
    headwise_context_destroy(context);
}

int main(void) {
    const struct test_case cases[] = {
        TEST_CASE(pruned_has_the_bits_of_gated),
        TEST_CASE(numbers_are_those_of_the_first_layer),
        TEST_CASE(a_kv_head_goes_with_its_group),
        TEST_CASE(without_heads_the_bias_is_left),
        TEST_CASE(a_twin_takes_over),
        TEST_CASE(weights_make_the_layer_again),
        TEST_CASE(weights_are_those_given),
        TEST_CASE(over_caches_too),
        TEST_CASE(merged_integers_are_rounded_anew),
    };
    return test_run_tiers(cases, TEST_COUNT(cases));
}
