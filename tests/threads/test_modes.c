/* The caller's floating-point mode changes no bit of a result, whoever runs the tasks, and is the
 * caller's again afterwards. */
#include <fenv.h>
#include <stdlib.h>
#include <string.h>

#include "compare.h"
#include "guard.h"
#include "layer.h"
#include "runner.h"

#ifdef __x86_64__
#include <xmmintrin.h>
#endif

enum mode { DEFAULT, FLUSH, UPWARD, MODES };

/* Flushing of subnormals, in results and in operands. */
static bool set_flushing(bool on) {
#if defined(__x86_64__)
    _mm_setcsr(on ? _mm_getcsr() | 0x8040 : _mm_getcsr() & ~0x8040u);
#elif defined(__aarch64__)
    uint64_t fpcr;
    __asm__ volatile("mrs %0, fpcr" : "=r"(fpcr));
    fpcr = on ? fpcr | UINT64_C(1) << 24 : fpcr & ~(UINT64_C(1) << 24);
    __asm__ volatile("msr fpcr, %0" : : "r"(fpcr));
#else
    (void)on;
    return false;
#endif
    return true;
}

static uint64_t read_mode(void) {
#if defined(__x86_64__)
    return _mm_getcsr() & ~UINT64_C(0x3f);
#elif defined(__aarch64__)
    uint64_t fpcr;
    __asm__ volatile("mrs %0, fpcr" : "=r"(fpcr));
    return fpcr;
#else
    return (uint64_t)fegetround();
#endif
}

/* False where this processor has no such mode. */
static bool set_mode(enum mode mode) {
    fesetround(mode == UPWARD ? FE_UPWARD : FE_TONEAREST);
    return set_flushing(mode == FLUSH) || mode != FLUSH;
}

enum runner { ALONE, OPENMP, POOL, LOOP, RUNNERS };

static void backwards(void *user, int64_t n_tasks, headwise_task_fn *task, void *arg) {
    (void)user;
    for (int64_t i = n_tasks - 1; i >= 0; i--)
        task(arg, i, (int)(i % 2));
}

/* Values so small that a layer's products and attention's sums are subnormal. */
static void shrink(struct headwise_tensor *t, float factor) {
    float *x = t->data;
    for (int64_t i = 0; i < t->size[0] * t->size[1] * t->size[2] * t->size[3]; i++)
        x[i] *= factor;
}

/* Everything that computes: the operator, layers with weights of two types, caches, tables, and
 * what is said of heads. */
struct things {
    struct call call;
    struct headwise_mha_config config;
    struct layer_call layer;
    struct headwise_tensor rows, read;
};

static struct things make_things(void) {
    struct test_rng rng = test_rng_make(261);
    const struct call_shape shape = {1, 4, 2, 40, 300, 32, 32};
    struct things things = {.call = call_make(&rng, &shape, HEADWISE_F32, 0),
                            .config = {.d_model = 48, .n_heads = 4}};
    shrink(&things.call.v, 2e-38f);
    layer_fill_weights(&rng, &things.config, true);
    things.layer = layer_call_make(&rng, &things.config, 1, 70, -1, HEADWISE_F32);
    things.rows = call_tensor(HEADWISE_F32, 1, 2, 9, 12, NULL);
    things.read = call_tensor(HEADWISE_F32, 1, 2, 9, 12, NULL);
    call_fill(&rng, &things.rows, 1);
    return things;
}

static uint64_t hash_layer(uint64_t hash, headwise_context *context, struct things *things,
                           enum headwise_dtype packed) {
    double gram[16], correlation[16];
    struct headwise_mha_config config = things->config;
    config.packed_dtype = packed;
    struct layer_call call = things->layer;
    call.config = &things->config;
    headwise_mha *mha = layer_create(context, &config);
    call.y = call_tensor(HEADWISE_F32, 1, 1, 70, 48, NULL);
    layer_call_probe(&call, HEADWISE_SCORES_MASKED);
    layer_run_with(context, mha, &call);
    hash = call_hash_tensor(hash, &call.y);
    assert_int_equal(headwise_contribution_gram(context, mha, gram, call.probe.head_outputs, 1, 70),
                     HEADWISE_OK);
    hash = compare_hash(hash, gram, sizeof(gram));
    double change = headwise_gram_change(gram, 4, (const int64_t[]){0, 2}, 2);
    hash = compare_hash(hash, &change, sizeof(change));
    headwise_gram_cosines(gram, gram, 4);
    hash = compare_hash(hash, gram, sizeof(gram));
    headwise_mha_destroy(mha);
    const struct headwise_attention_call maps = {
        .size = sizeof(maps), .q = &things->call.q, .k = &things->call.k};
    assert_int_equal(headwise_map_correlation(context, correlation, &maps), HEADWISE_OK);
    return compare_hash(hash, correlation, sizeof(correlation));
}

static uint64_t hash_tables(uint64_t hash, headwise_context *context) {
    float slopes[7], sinusoids[9 * 6];
    headwise_rotary *rotary = NULL;
    const struct headwise_rotary_config config = {
        .size = sizeof(config), .rotary_dim = 20, .n_positions = 200};
    assert_int_equal(headwise_rotary_create(&rotary, context, &config), HEADWISE_OK);
    hash = compare_hash(hash, headwise_rotary_describe(rotary)->cos, 200 * 10 * sizeof(float));
    hash = compare_hash(hash, headwise_rotary_describe(rotary)->sin, 200 * 10 * sizeof(float));
    headwise_rotary_destroy(rotary);
    assert_int_equal(headwise_alibi_slopes(slopes, 7), HEADWISE_OK);
    assert_int_equal(headwise_sinusoidal_table(sinusoids, 9, 6), HEADWISE_OK);
    hash = compare_hash(hash, slopes, sizeof(slopes));
    return compare_hash(hash, sinusoids, sizeof(sinusoids));
}

static uint64_t hash_cache(uint64_t hash, headwise_context *context, struct things *things) {
    headwise_cache *cache = NULL;
    const struct headwise_cache_config config = {.size = sizeof(config),
                                                 .n_sequences = 1,
                                                 .n_kv_heads = 2,
                                                 .head_dim = 12,
                                                 .capacity = 20,
                                                 .dtype = HEADWISE_I8};
    assert_int_equal(headwise_cache_create(&cache, context, &config), HEADWISE_OK);
    const struct headwise_attention_call append = {
        .size = sizeof(append), .cache = cache, .k = &things->rows, .v = &things->rows};
    assert_int_equal(headwise_cache_append(context, &append), HEADWISE_OK);
    assert_int_equal(headwise_cache_read(cache, 0, 0, &things->read, NULL), HEADWISE_OK);
    headwise_cache_destroy(cache);
    return call_hash_tensor(hash, &things->read);
}

static uint64_t hash_everything(enum headwise_isa isa, enum runner runner, struct things *things) {
    const struct headwise_pool_options pool_options = {.size = sizeof(pool_options),
                                                       .n_threads = 3};
    struct headwise_context_options options = {
        .size = sizeof(options), .isa = isa, .n_threads = runner == ALONE ? 1 : 3};
    headwise_pool *pool = NULL;
    headwise_context *context = NULL;
    if (runner == POOL)
        assert_int_equal(headwise_pool_create(&pool, &pool_options), HEADWISE_OK);
    options.pool = pool;
    options.parallel_for = runner == LOOP ? backwards : NULL;
    assert_int_equal(headwise_context_create(&context, &options), HEADWISE_OK);
    call_run_with(context, &things->call);
    uint64_t hash = call_hash_tensor(COMPARE_HASH_BASIS, &things->call.y);
    hash = hash_layer(hash, context, things, HEADWISE_F32);
    hash = hash_layer(hash, context, things, HEADWISE_I8);
    hash = hash_cache(hash, context, things);
    hash = hash_tables(hash, context);
    headwise_context_destroy(context);
    headwise_pool_destroy(pool);
    return hash;
}

static void the_callers_mode_changes_no_bit(enum headwise_isa isa) {
    struct things things = make_things();
    uint64_t want = hash_everything(isa, ALONE, &things);
    int n_modes = 0;
    for (int mode = DEFAULT; mode < MODES; mode++)
        for (int runner = ALONE; runner < RUNNERS; runner++) {
            uint64_t hash = 0, before = 0, after = 0;
            bool has = set_mode((enum mode)mode);
            if (has) {
                before = read_mode();
                hash = hash_everything(isa, (enum runner)runner, &things);
                after = read_mode();
            }
            set_mode(DEFAULT);
            if (!has)
                continue;
            n_modes++;
            if (hash != want)
                fail_msg("mode %d, runner %d: other bits", mode, runner);
            assert_int_equal(before, after);
        }
    assert_true(n_modes >= 2 * RUNNERS);
}

/* The inputs are such that the modes would matter. */
static void subnormals_are_in_the_result(enum headwise_isa isa) {
    struct things things = make_things();
    call_run(isa, &things.call);
    const float *y = things.call.y.data;
    int n = 0;
    for (int i = 0; i < 4 * 40 * 32; i++)
        n += y[i] != 0 && y[i] < 1.17549435e-38f && y[i] > -1.17549435e-38f;
    assert_true(n > 1000);
}

int main(void) {
    const struct test_case cases[] = {
        TEST_CASE(the_callers_mode_changes_no_bit),
        TEST_CASE(subnormals_are_in_the_result),
    };
    return test_run_tiers(cases, TEST_COUNT(cases));
}
