/* A call that is stopped at its first task, its second, and so on: caches are as they were, and the
 * same call gives its bits afterwards. */
#include <limits.h>
#include <stdatomic.h>
#include <string.h>

#include "compare.h"
#include "guard.h"
#include "layer.h"
#include "runner.h"

enum { WIDTH = 48, HEADS = 4, KV_HEADS = 2, DIM = 12, ROWS = 70, KEYS = 250, WINDOW = 200 };
enum { N_SEQUENCES = 2 };

enum kind {
    ATTENTION,
    SPLIT_KEYS,
    LAYER,
    APPEND,
    CACHED,
    RAGGED,
    RING, /* rows that make it drop others */
    ROTARY,
    ROTATE,
    GRAM,
    CORRELATION,
    KINDS
};

static const char *const kind_names[KINDS] = {"attention", "split keys", "layer",      "append",
                                              "cached",    "ragged",     "ring",       "rotary",
                                              "rotate",    "gram",       "correlation"};

enum runner { ALONE, OPENMP, POOL, LOOP, RUNNERS };

static void backwards(void *user, int64_t n_tasks, headwise_task_fn *task, void *arg) {
    (void)user;
    for (int64_t i = n_tasks - 1; i >= 0; i--)
        task(arg, i, (int)(i % 2));
}

struct scene {
    enum headwise_isa isa;
    enum kind kind;
    atomic_int asks_left;
    headwise_pool *pool;
    headwise_context *context;
    headwise_mha *mha;
    headwise_cache *cache;
    struct headwise_mha_config config;
    struct call call;
    struct layer_call prompt, layer;
    int64_t length;
};

static bool is_enough(void *user) {
    return atomic_fetch_sub(&((struct scene *)user)->asks_left, 1) <= 0;
}

static bool uses_cache(enum kind kind) {
    return kind >= APPEND && kind <= RING;
}

static void open_context(struct scene *scene, enum runner runner) {
    const struct headwise_pool_options pool = {.size = sizeof(pool), .n_threads = 3};
    struct headwise_context_options options = {.size = sizeof(options),
                                               .isa = scene->isa,
                                               .n_threads = runner == ALONE ? 1 : 3,
                                               .parallel_for = runner == LOOP ? backwards : NULL,
                                               .cancelled = is_enough,
                                               .cancel_user = scene};
    if (runner == POOL)
        assert_int_equal(headwise_pool_create(&scene->pool, &pool), HEADWISE_OK);
    options.pool = scene->pool;
    assert_int_equal(headwise_context_create(&scene->context, &options), HEADWISE_OK);
}

/* A ring's queries see its window. */
static struct headwise_attention_options cached_options(const struct scene *scene) {
    return (struct headwise_attention_options){.size = sizeof(struct headwise_attention_options),
                                               .causal = HEADWISE_CAUSAL_BOTTOM_RIGHT,
                                               .window_is_set = scene->kind == RING,
                                               .window_left = WINDOW - 1};
}

/* Two sequences of KEYS rows. A ring gets more, in chunks that it has room for: at 509 rows, the
 * next ones come to its third block, of which there are two. */
static void fill_cache(struct scene *scene) {
    static const int64_t chunks[] = {KEYS, 57, 57, 57, 57, 31};
    bool ring = scene->kind == RING;
    const struct headwise_cache_config config = {.size = sizeof(config),
                                                 .n_sequences = N_SEQUENCES,
                                                 .n_kv_heads = KV_HEADS,
                                                 .head_dim = DIM,
                                                 .capacity = ring ? 256 : KEYS + ROWS,
                                                 .window = ring ? WINDOW : 0};
    struct headwise_tensor x = scene->prompt.x;
    struct headwise_attention_call append = {.size = sizeof(append), .memory = &x};
    assert_int_equal(headwise_cache_create(&scene->cache, scene->context, &config), HEADWISE_OK);
    append.cache = scene->cache;
    for (size_t i = 0; i < (ring ? TEST_COUNT(chunks) : 1); i++) {
        x.size[2] = chunks[i];
        assert_int_equal(headwise_mha_append(scene->context, scene->mha, &append), HEADWISE_OK);
    }
    scene->length = headwise_cache_length(scene->cache, 0);
}

static void open_scene(struct scene *scene, enum runner runner) {
    const struct call_shape shape = {2, HEADS, KV_HEADS, 20, 300, DIM, DIM},
                            one = {1, 1, 1, 1, 4097, 64, 64};
    struct test_rng rng = test_rng_make(271);
    atomic_store(&scene->asks_left, INT_MAX);
    scene->config = (struct headwise_mha_config){
        .d_model = WIDTH, .n_heads = HEADS, .n_kv_heads = KV_HEADS, .head_dim = DIM};
    open_context(scene, runner);
    layer_fill_weights(&rng, &scene->config, true);
    scene->mha = layer_create(scene->context, &scene->config);
    scene->call = call_make(&rng, scene->kind == SPLIT_KEYS ? &one : &shape, HEADWISE_F32, 0);
    int64_t rows = scene->kind == RING ? 50 : ROWS, batch = scene->kind == RAGGED ? 1 : N_SEQUENCES;
    scene->prompt = layer_call_make(&rng, &scene->config, N_SEQUENCES, KEYS, -1, HEADWISE_F32);
    scene->layer = layer_call_make(&rng, &scene->config, batch, rows, -1, HEADWISE_F16);
    if (uses_cache(scene->kind))
        fill_cache(scene);
}

static void close_scene(struct scene *scene) {
    headwise_cache_destroy(scene->cache);
    headwise_mha_destroy(scene->mha);
    headwise_context_destroy(scene->context);
    headwise_pool_destroy(scene->pool);
}

/* The layer's rows of both sequences, packed one after the other. */
static enum headwise_status run_ragged(struct scene *scene) {
    static const int32_t starts[] = {0, ROWS - 30, ROWS};
    struct headwise_attention_call call = layer_call_arguments(&scene->layer);
    call.cache = scene->cache;
    call.n_sequences = 2;
    call.query_starts = starts;
    return headwise_mha_forward(scene->context, scene->mha, &call);
}

static enum headwise_status run_rotary(struct scene *scene, uint64_t *hash) {
    headwise_rotary *rotary = NULL;
    const struct headwise_rotary_config config = {
        .size = sizeof(config), .rotary_dim = DIM, .n_positions = 1000};
    enum headwise_status status = headwise_rotary_create(&rotary, scene->context, &config);
    assert_int_equal(rotary != NULL, status == HEADWISE_OK);
    if (status == HEADWISE_OK)
        *hash = compare_hash(*hash, headwise_rotary_describe(rotary)->cos,
                             1000 * DIM / 2 * sizeof(float));
    if (status != HEADWISE_OK || scene->kind == ROTARY) {
        headwise_rotary_destroy(rotary);
        return status;
    }
    struct headwise_tensor y = call_tensor(HEADWISE_F32, 2, HEADS, 20, DIM, NULL);
    struct headwise_tensor x = scene->call.q;
    const struct headwise_rotate_options options = {.size = sizeof(options), .rotary = rotary};
    status = headwise_rotate(scene->context, &y, &x, &options);
    headwise_rotary_destroy(rotary);
    *hash = call_hash_tensor(*hash, &y);
    return status;
}

static enum headwise_status run_heads(struct scene *scene, uint64_t *hash) {
    static float outputs[HEADS * 100 * DIM];
    double gram[HEADS * HEADS] = {0};
    const struct headwise_attention_call maps = {
        .size = sizeof(maps), .q = &scene->call.q, .k = &scene->call.k};
    for (int i = 0; i < HEADS * 100 * DIM; i++)
        outputs[i] = (float)(i % 11) - 5;
    enum headwise_status status =
        scene->kind == GRAM
            ? headwise_contribution_gram(scene->context, scene->mha, gram, outputs, 1, 100)
            : headwise_map_correlation(scene->context, gram, &maps);
    *hash = compare_hash(*hash, gram, sizeof(gram));
    return status;
}

static enum headwise_status run_layer(struct scene *scene) {
    struct layer_call *l = &scene->layer;
    struct headwise_tensor *k = &scene->call.k, *v = &scene->call.v;
    struct headwise_tensor few_k = *k, few_v = *v;
    few_k.size[2] = few_v.size[2] = ROWS;
    if (scene->kind == RAGGED)
        return run_ragged(scene);
    if (scene->kind == LAYER)
        return layer_try(scene->context, scene->mha, l);
    const struct headwise_attention_options options = cached_options(scene);
    struct headwise_attention_call call = {
        .size = sizeof(call), .cache = scene->cache, .options = &options};
    if (scene->kind == APPEND) {
        call.k = &few_k;
        call.v = &few_v;
        return headwise_cache_append(scene->context, &call);
    }
    call.y = &l->y;
    call.x = &l->x;
    return headwise_mha_forward(scene->context, scene->mha, &call);
}

/* What sequence 1 holds, as its next query sees it. */
static uint64_t hash_cache(struct scene *scene, uint64_t hash) {
    struct headwise_tensor y = call_tensor(HEADWISE_F32, 1, HEADS, 1, DIM, NULL);
    struct headwise_tensor q = scene->call.q;
    q.size[0] = q.size[2] = 1;
    const struct headwise_attention_options options = cached_options(scene);
    struct headwise_attention_call call = {
        .size = sizeof(call), .y = &y, .q = &q, .cache = scene->cache, .options = &options};
    call.first_sequence = 1;
    assert_int_equal(headwise_attention(scene->context, &call), HEADWISE_OK);
    return call_hash_tensor(hash, &y);
}

static enum headwise_status run(struct scene *scene, uint64_t *hash) {
    enum headwise_status status;
    *hash = COMPARE_HASH_BASIS;
    if (scene->kind == ATTENTION || scene->kind == SPLIT_KEYS)
        status = call_try(scene->context, &scene->call);
    else if (scene->kind >= GRAM)
        status = run_heads(scene, hash);
    else if (scene->kind >= ROTARY)
        status = run_rotary(scene, hash);
    else
        status = run_layer(scene);
    if (status == HEADWISE_OK && scene->kind <= SPLIT_KEYS)
        *hash = call_hash_tensor(*hash, &scene->call.y);
    if (status == HEADWISE_OK && scene->kind >= LAYER && scene->kind <= RING &&
        scene->kind != APPEND)
        *hash = call_hash_tensor(*hash, &scene->layer.y);
    return status;
}

static uint64_t run_to_the_end(struct scene *scene) {
    uint64_t hash;
    atomic_store(&scene->asks_left, INT_MAX);
    assert_int_equal(run(scene, &hash), HEADWISE_OK);
    return uses_cache(scene->kind) ? hash_cache(scene, hash) : hash;
}

/* Stops at the ask number n. Returns whether the call came to its end before. */
static bool stop_at(enum headwise_isa isa, enum kind kind, enum runner runner, int n,
                    uint64_t want) {
    struct scene scene = {.isa = isa, .kind = kind};
    uint64_t hash, before = 0;
    open_scene(&scene, runner);
    if (uses_cache(kind))
        before = hash_cache(&scene, COMPARE_HASH_BASIS);
    atomic_store(&scene.asks_left, n);
    enum headwise_status status = run(&scene, &hash);
    atomic_store(&scene.asks_left, INT_MAX);
    if (status == HEADWISE_OK) {
        assert_true(n > 0);
        hash = uses_cache(kind) ? hash_cache(&scene, hash) : hash;
    } else {
        assert_int_equal(status, HEADWISE_ERR_CANCELLED);
        assert_non_null(strstr(headwise_last_error(), "cancelled"));
        for (int64_t s = 0; uses_cache(kind) && s < N_SEQUENCES; s++)
            assert_int_equal(headwise_cache_length(scene.cache, s), scene.length);
        if (uses_cache(kind))
            assert_true(hash_cache(&scene, COMPARE_HASH_BASIS) == before);
        hash = run_to_the_end(&scene);
    }
    if (hash != want)
        fail_msg("%s, runner %d, stopped at %d: other bits", kind_names[kind], runner, n);
    if (uses_cache(kind))
        assert_int_equal(
            headwise_cache_truncate(scene.cache, 0, headwise_cache_length(scene.cache, 0)),
            HEADWISE_OK);
    close_scene(&scene);
    return status == HEADWISE_OK;
}

static void any_task_may_be_the_last(enum headwise_isa isa) {
    for (int kind = 0; kind < KINDS; kind++) {
        struct scene scene = {.isa = isa, .kind = (enum kind)kind};
        open_scene(&scene, ALONE);
        uint64_t want = run_to_the_end(&scene);
        close_scene(&scene);
        for (int runner = 0; runner < RUNNERS; runner++) {
            int n = 0, n_stopped = 0;
            while (!stop_at(isa, (enum kind)kind, (enum runner)runner, n, want)) {
                n += 1 + n / 4 * (int)test_share();
                n_stopped++;
                guard_reset();
            }
            guard_reset();
            assert_true(n_stopped >= 1);
        }
    }
}

int main(void) {
    const struct test_case cases[] = {
        TEST_CASE(any_task_may_be_the_last),
    };
    return test_run_tiers(cases, TEST_COUNT(cases));
}
