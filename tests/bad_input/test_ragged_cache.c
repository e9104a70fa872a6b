/* Ragged calls over a cache with one argument wrong at a time: a status, a line that names it, no
 * output touched and the cache as it was; and the same where memory runs out. */
#include <math.h>
#include <string.h>

#include "counting.h"
#include "guard.h"
#include "layer.h"
#include "runner.h"

enum { N = 3, SEQUENCES = 4, HELD = 5, CAPACITY = 256, D = 8, ROWS = 2 + 4 + 0 + 3 + 2 };

static const int32_t starts[N + 1] = {2, 6, 6, 9};
static const int64_t numbers[N] = {3, 0, 1};

/* Valid calls of all four kinds; each case spoils one thing in them. */
struct attempt {
    headwise_context *context;
    const headwise_mha *mha;
    headwise_cache *cache;
    struct headwise_tensor q, k, v, y, x, layer_y;
    int32_t starts[N + 1], key_starts[N + 1];
    int64_t numbers[N];
    struct headwise_attention_options options;
    struct headwise_attention_call given; /* what all of them have in common */
    struct headwise_tensor mask;
    int64_t lengths[N];
};

enum { APPEND = 1, ATTENTION = 2, FORWARD = 4, ATTEND = 8, ALL = 15, LAYER = FORWARD | ATTEND };

static enum headwise_status run(struct attempt *a, int kind) {
    struct headwise_attention_call call = a->given;
    call.cache = a->cache;
    switch (kind) {
    case APPEND:
        call.k = &a->k;
        call.v = &a->v;
        return headwise_cache_append(a->context, &call);
    case ATTENTION:
        call.y = &a->y;
        call.q = &a->q;
        return headwise_attention(a->context, &call);
    default:
        call.y = &a->layer_y;
        call.x = &a->x;
        call.attend_only = kind == ATTEND;
        return headwise_mha_forward(a->context, a->mha, &call);
    }
}

static void make_attempt(struct attempt *a, headwise_context *context, headwise_mha *mha,
                         headwise_cache *cache) {
    *a = (struct attempt){
        .context = context,
        .mha = mha,
        .cache = cache,
        .q = call_tensor(HEADWISE_F32, 1, 2, ROWS, 4, NULL),
        .k = call_tensor(HEADWISE_F32, 1, 1, ROWS, 4, NULL),
        .v = call_tensor(HEADWISE_F32, 1, 1, ROWS, 4, NULL),
        .y = call_tensor(HEADWISE_F32, 1, 2, ROWS, 4, NULL),
        .x = call_tensor(HEADWISE_F32, 1, 1, ROWS, D, NULL),
        .layer_y = call_tensor(HEADWISE_F32, 1, 1, ROWS, D, NULL),
        .given = {.size = sizeof(a->given), .n_sequences = N},
        .options = {.size = sizeof(a->options)},
        .mask = call_tensor(HEADWISE_BOOL, 1, 1, 1, 4, NULL),
        .lengths = {1, 2, 3},
    };
    struct test_rng rng = test_rng_make(251);
    call_fill(&rng, &a->q, 1);
    call_fill(&rng, &a->k, 1);
    call_fill(&rng, &a->v, 1);
    call_fill(&rng, &a->x, 1);
    memcpy(a->starts, starts, sizeof(starts));
    memcpy(a->key_starts, starts, sizeof(starts));
    memcpy(a->numbers, numbers, sizeof(numbers));
    a->given.query_starts = a->starts;
    a->given.cache_sequences = a->numbers;
    a->given.key_lengths = a->lengths;
    a->given.options = &a->options;
}

#define SPOILS                                                                                     \
    SPOIL(null_context, ALL, "context is NULL", a->context = NULL)                                 \
    SPOIL(null_cache, APPEND, "cache is NULL", a->cache = NULL)                                    \
    SPOIL(no_keys, ATTENTION, "k is NULL", a->cache = NULL)                                        \
    SPOIL(numbers_alone, FORWARD, "cache_sequences is given, expected NULL", a->cache = NULL)      \
    SPOIL(attend_alone, ATTEND, "attend_only is set without a cache", a->cache = NULL)             \
    SPOIL(null_layer, LAYER, "the layer is NULL", a->mha = NULL)                                   \
    SPOIL(first_sequence, ALL, "first_sequence is 1, expected 0", a->given.first_sequence = 1)     \
    SPOIL(future_size, ALL, "call: size is", a->given.size = 4104)                                 \
    SPOIL(negative_count, ALL, "n_sequences is -1", a->given.n_sequences = -1)                     \
    SPOIL(null_starts, ALL, "query_starts is NULL", a->given.query_starts = NULL)                  \
    SPOIL(decreasing, ALL, "query_starts[2] is 5, expected 6 to 11", a->starts[2] = 5)             \
    SPOIL(beyond_rows, ALL, "query_starts[3] is 12, expected 6 to 11", a->starts[3] = 12)          \
    SPOIL(other_keys, ALL, "key_starts[1] is 7, expected 6", a->given.key_starts = a->key_starts,  \
          a->key_starts[1] = 7)                                                                    \
    SPOIL(number_beyond, ALL, "cache_sequences[1] is 4, expected 0 to 3", a->numbers[1] = 4)       \
    SPOIL(number_negative, ALL, "cache_sequences[0] is -1, expected 0 to 3", a->numbers[0] = -1)   \
    SPOIL(number_twice, APPEND | FORWARD, "cache_sequences[2] is 3 as cache_sequences[0]",         \
          a->numbers[2] = 3)                                                                       \
    SPOIL(a_mask, ALL & ~APPEND, "mask has no ragged shape", a->given.mask = &a->mask)             \
    SPOIL(a_past, ALL & ~APPEND, "past_key has no ragged", a->given.past_key = &a->k)              \
    SPOIL(a_present, ALL & ~APPEND, "present_value has", a->given.present_value = &a->v)           \
    SPOIL(long_length, ATTENTION | ATTEND, "key_lengths[1] is 6, expected 0 to 5",                 \
          a->lengths[1] = 6)                                                                       \
    SPOIL(length_after, FORWARD, "key_lengths[0] is 10, expected 0 to 9", a->lengths[0] = 10)      \
    SPOIL(batch_of_q, ATTENTION, "q has size 2 on its batch axis, expected 1", a->q.size[0] = 2)   \
    SPOIL(batch_of_k, APPEND, "k has size 2 on its batch axis, expected 1", a->k.size[0] = 2)      \
    SPOIL(batch_of_x, LAYER, "x has size 2 on its batch axis, expected 1", a->x.size[0] = 2)       \
    SPOIL(rows_of_v, APPEND, "v has size 10 on its row axis, expected 11", a->v.size[2] = 10)      \
    SPOIL(rows_of_y, ALL & ~APPEND, "y has size 10 on its row axis, expected 11",                  \
          a->y.size[2] = a->layer_y.size[2] = 10)                                                  \
    SPOIL(nan_scale, ALL & ~APPEND, "scale is nan", a->options.scale_is_set = true,                \
          a->options.scale = NAN)                                                                  \
    SPOIL(positions, ATTENTION, "positions are for layers", a->given.positions = a->lengths)

#define SPOIL(name, kinds, text, ...)                                                              \
    static void name(struct attempt *a) {                                                          \
        __VA_ARGS__;                                                                               \
    }
SPOILS
#undef SPOIL

#define SPOIL(name, kinds, text, ...) {#name, kinds, text, name},
static const struct {
    const char *name;
    int kinds;
    const char *text;
    void (*run)(struct attempt *a);
} spoils[] = {SPOILS};
#undef SPOIL

static void expect_untouched(const struct headwise_tensor *t, const char *name) {
    guard_expect_untouched(t->data, (size_t)(t->size[1] * t->size[2] * t->size[3]) * 4, name);
}

/* A cache of which sequence s holds HELD keys, and its sequences as bytes. */
static headwise_cache *make_cache(headwise_context *context) {
    struct headwise_cache_config config = {.size = sizeof(config),
                                           .n_sequences = SEQUENCES,
                                           .n_kv_heads = 1,
                                           .head_dim = 4,
                                           .capacity = CAPACITY};
    struct test_rng rng = test_rng_make(252);
    headwise_cache *cache = NULL;
    assert_int_equal(headwise_cache_create(&cache, context, &config), HEADWISE_OK);
    struct headwise_tensor k = call_tensor(HEADWISE_F32, SEQUENCES, 1, HELD, 4, NULL);
    call_fill(&rng, &k, 1);
    const struct headwise_attention_call rows = {
        .size = sizeof(rows), .k = &k, .v = &k, .cache = cache};
    assert_int_equal(headwise_cache_append(context, &rows), HEADWISE_OK);
    return cache;
}

static char *save(const headwise_cache *cache, size_t *bytes) {
    assert_int_equal(headwise_cache_saved_bytes(cache, 0, bytes), HEADWISE_OK);
    char *all = guard_plain(SEQUENCES * *bytes, 1);
    for (int64_t s = 0; s < SEQUENCES; s++) {
        assert_int_equal(headwise_cache_length(cache, s), HELD);
        assert_int_equal(headwise_cache_save(cache, s, all + s * (int64_t)*bytes, *bytes),
                         HEADWISE_OK);
    }
    return all;
}

static void expect_unchanged(const headwise_cache *cache, const char *before, const char *name) {
    size_t bytes;
    const char *after = save(cache, &bytes);
    if (memcmp(after, before, SEQUENCES * bytes) != 0)
        fail_msg("%s: the cache has changed", name);
}

static headwise_mha *make_layer(headwise_context *context, struct headwise_mha_config *config) {
    struct test_rng rng = test_rng_make(253);
    *config = (struct headwise_mha_config){.d_model = D, .n_heads = 2, .n_kv_heads = 1};
    layer_fill_weights(&rng, config, true);
    return layer_create(context, config);
}

static void expect_refused(headwise_context *context, headwise_mha *mha, size_t i, int kind) {
    struct attempt a, kept;
    size_t bytes;
    headwise_cache *cache = make_cache(context);
    const char *before = save(cache, &bytes);
    make_attempt(&a, context, mha, cache);
    kept = a;
    spoils[i].run(&a);
    assert_int_equal(run(&a, kind), HEADWISE_ERR_INVALID);
    if (strstr(headwise_last_error(), spoils[i].text) == NULL)
        fail_msg("%s: \"%s\" does not say \"%s\"", spoils[i].name, headwise_last_error(),
                 spoils[i].text);
    expect_unchanged(cache, before, spoils[i].name);
    expect_untouched(&kept.y, spoils[i].name);
    expect_untouched(&kept.layer_y, spoils[i].name);
    headwise_cache_destroy(cache);
}

static void every_wrong_argument_is_refused(enum headwise_isa isa) {
    struct headwise_mha_config config;
    headwise_context *context = call_context(isa, 2);
    headwise_mha *mha = make_layer(context, &config);
    for (size_t i = 0; i < TEST_COUNT(spoils); i++)
        for (int kind = APPEND; kind <= ATTEND; kind *= 2)
            if (spoils[i].kinds & kind)
                expect_refused(context, mha, i, kind);
    headwise_mha_destroy(mha);
    headwise_context_destroy(context);
}

/* One row too many for one of them: all stay as they were. And more than the cache has. */
static void a_full_sequence_stops_all(enum headwise_isa isa) {
    struct headwise_mha_config config;
    headwise_context *context = call_context(isa, 2);
    headwise_mha *mha = make_layer(context, &config);
    struct attempt a;
    for (int kind = APPEND; kind <= FORWARD; kind += FORWARD - APPEND) {
        headwise_cache *cache = make_cache(context);
        struct headwise_tensor k = call_tensor(HEADWISE_F32, 1, 1, CAPACITY - HELD - 2, 4, NULL);
        struct test_rng rng = test_rng_make(254);
        call_fill(&rng, &k, 1);
        const struct headwise_attention_call rows = {
            .size = sizeof(rows), .k = &k, .v = &k, .cache = cache, .first_sequence = numbers[2]};
        assert_int_equal(headwise_cache_append(context, &rows), HEADWISE_OK);
        make_attempt(&a, context, mha, cache);
        a.given.key_lengths = NULL;
        assert_int_equal(run(&a, kind), HEADWISE_ERR_FULL);
        assert_non_null(strstr(headwise_last_error(),
                               "sequence 1 holds 254 keys and has room for 2 more, not 3"));
        assert_int_equal(headwise_cache_length(cache, numbers[0]), HELD);
        a.starts[3]--;
        assert_int_equal(run(&a, kind), HEADWISE_OK);
        assert_int_equal(headwise_cache_length(cache, numbers[0]), HELD + 4);
        assert_int_equal(headwise_cache_length(cache, numbers[1]), HELD);
        assert_int_equal(headwise_cache_length(cache, numbers[2]), CAPACITY);
        assert_int_equal(headwise_cache_length(cache, 2), HELD);
        headwise_cache_destroy(cache);
    }
    headwise_mha_destroy(mha);
    headwise_context_destroy(context);
}

/* Without numbers sequence b is number b; without sequences nothing happens. */
static void numbers_may_be_left_out(enum headwise_isa isa) {
    struct headwise_mha_config config;
    headwise_context *context = call_context(isa, 1);
    headwise_mha *mha = make_layer(context, &config);
    headwise_cache *cache = make_cache(context);
    int32_t many[SEQUENCES + 2] = {0};
    struct attempt a;
    make_attempt(&a, context, mha, cache);
    a.given.cache_sequences = NULL;
    for (int kind = APPEND; kind <= ATTEND; kind *= 2) {
        a.given.key_lengths = NULL;
        assert_int_equal(run(&a, kind), HEADWISE_OK);
    }
    assert_int_equal(headwise_cache_length(cache, 0), HELD + 2 * 4); /* append and forward */
    assert_int_equal(headwise_cache_length(cache, 2), HELD + 2 * 3);
    a.given.query_starts = many;
    a.given.n_sequences = 0;
    for (int kind = APPEND; kind <= ATTEND; kind *= 2)
        assert_int_equal(run(&a, kind), HEADWISE_OK);
    a.given.n_sequences = SEQUENCES + 1;
    for (int kind = APPEND; kind <= ATTEND; kind *= 2) {
        assert_int_equal(run(&a, kind), HEADWISE_ERR_INVALID);
        assert_non_null(strstr(headwise_last_error(), "n_sequences is 5, but the cache has 4"));
    }
    headwise_cache_destroy(cache);
    headwise_mha_destroy(mha);
    headwise_context_destroy(context);
}

/* Allocation n, from 0, fails. Returns whether there is such a one. */
static bool fails_at(enum headwise_isa isa, int64_t n, int kind) {
    struct counting counting = COUNTING_UNLIMITED;
    struct headwise_context_options options = {.size = sizeof(options),
                                               .isa = isa,
                                               .n_threads = 3,
                                               .allocator = counting_allocator(&counting)};
    struct headwise_mha_config config;
    headwise_context *context = NULL;
    struct attempt a;
    size_t bytes;
    assert_int_equal(headwise_context_create(&context, &options), HEADWISE_OK);
    headwise_mha *mha = make_layer(context, &config);
    headwise_context *other = call_context(isa, 1); /* fills the cache with scratch of its own */
    headwise_cache *cache = make_cache(other);
    const char *before = save(cache, &bytes);
    make_attempt(&a, context, mha, cache);
    counting.fail_at = counting.n_calls + n;
    enum headwise_status status = run(&a, kind);
    if (status != HEADWISE_OK) {
        assert_int_equal(status, HEADWISE_ERR_NO_MEMORY);
        assert_true(counting.n_refused > 0);
        expect_unchanged(cache, before, "no memory");
        expect_untouched(&a.y, "y");
        expect_untouched(&a.layer_y, "y");
        counting.fail_at = INT64_MAX;
        assert_int_equal(run(&a, kind), HEADWISE_OK);
    }
    headwise_cache_destroy(cache);
    headwise_mha_destroy(mha);
    headwise_context_destroy(other);
    headwise_context_destroy(context);
    return status != HEADWISE_OK;
}

static void memory_may_run_out(enum headwise_isa isa) {
    for (int kind = APPEND; kind <= ATTEND; kind *= 2) {
        int64_t n = 0;
        while (fails_at(isa, n, kind))
            n++;
        assert_true(n > 0 && n < 50);
    }
}

int main(void) {
    const struct test_case cases[] = {
        TEST_CASE(every_wrong_argument_is_refused),
        TEST_CASE(a_full_sequence_stops_all),
        TEST_CASE(numbers_may_be_left_out),
        TEST_CASE(memory_may_run_out),
    };
    return test_run_once(cases, TEST_COUNT(cases));
}
