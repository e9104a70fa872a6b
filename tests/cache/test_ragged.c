/* A server's steps: prompts in chunks beside single tokens, in any places of a cache, have the bits
 * of separate calls. */
#include "cached.h"
#include "compare.h"
#include "guard.h"
#include "layer.h"
#include "runner.h"

enum { SEQUENCES = 7, CAPACITY = 900, MOST_ROWS = 300, STEPS = 8, D = 24, OUT = 20, HEADS = 4 };

/* Two caches of the same kind: one gets ragged calls, the other separate ones. */
struct pair {
    headwise_context *context;
    const headwise_mha *mha;
    headwise_cache *ragged, *separate;
    struct headwise_attention_options options;
};

/* The rows of a step. */
struct step {
    int64_t n, sequences[SEQUENCES];
    int32_t starts[SEQUENCES + 1];
    int64_t rows; /* with some that belong to no sequence */
};

/* Rows that may come to the sequence, or ask it without being appended: they then stand on its last
 * keys, of which a ring has as many as a chunk may have. */
static int64_t most_rows(const struct pair *p, int64_t sequence, bool appends) {
    int64_t length = headwise_cache_length(p->ragged, sequence);
    int64_t window = headwise_cache_describe(p->ragged)->window;
    int64_t chunk = headwise_cache_describe(p->ragged)->capacity -
                    headwise_cache_describe(p->ragged)->window_first - window + 1;
    if (appends)
        return headwise_cache_room(p->ragged, sequence);
    return window > 0 && chunk < length ? chunk : length;
}

/* Some sequences in any order: mostly a token each, sometimes a chunk of a prompt, sometimes none.
 */
static struct step make_step(struct test_rng *rng, const struct pair *p, bool appends) {
    struct step step = {.starts = {2}};
    int64_t order[SEQUENCES];
    for (int64_t s = 0; s < SEQUENCES; s++) {
        int64_t other = test_rng_below(rng, s + 1);
        order[s] = order[other];
        order[other] = s;
    }
    int64_t most = 1 + test_rng_below(rng, SEQUENCES);
    for (int64_t i = 0; i < most; i++) {
        int64_t kind = test_rng_below(rng, 5), n = kind == 0 ? 0 : kind == 1 ? 90 : 1;
        n = kind == 1 ? test_rng_below(rng, 90) : n;
        int64_t limit = most_rows(p, order[i], appends);
        n = n < limit ? n : limit;
        if (step.starts[i] + n > MOST_ROWS)
            n = 0;
        step.sequences[i] = order[i];
        step.starts[i + 1] = step.starts[i] + (int32_t)n;
        step.n++;
    }
    step.rows = step.starts[step.n] + 3;
    return step;
}

static void expect_rows(const float *got, const float *want, const struct step *step, int64_t b,
                        int64_t heads, int64_t columns, const char *what) {
    int64_t first = step->starts[b], n = step->starts[b + 1] - first;
    for (int64_t h = 0; h < heads; h++)
        compare_same_bits(got + (h * step->rows + first) * columns, want + h * n * columns,
                          (size_t)(n * columns), "sequence %d: %s", (int)b, what);
}

/* One sequence of the step by a call of its own. */
static void expect_separate(const struct pair *p, const struct layer_call *call,
                            const struct step *step, int64_t b, bool appends) {
    struct layer_call one = *call;
    int64_t first = step->starts[b], n = step->starts[b + 1] - first;
    one.x = cached_view(&call->x, 0, 1, first, n);
    one.y = call_tensor(HEADWISE_F32, 1, 1, n, OUT, NULL);
    one.probe = (struct headwise_probe){
        .size = sizeof(one.probe),
        .lse = guard_floats((size_t)(HEADS * n)),
        .contributions = guard_floats((size_t)(HEADS * n * OUT)),
    };
    one.given.attend_only = !appends;
    struct headwise_attention_call given = layer_call_arguments(&one);
    cached_expect_ok(cached_try_forward(p->context, p->mha, &one.y, &one.x, p->separate,
                                        step->sequences[b], &given),
                     "alone");
    expect_rows(call->y.data, one.y.data, step, b, 1, OUT, "y");
    expect_rows(call->probe.lse, one.probe.lse, step, b, HEADS, 1, "log-sum-exp");
    expect_rows(call->probe.contributions, one.probe.contributions, step, b, HEADS, OUT,
                "contributions");
}

static void run_step(struct test_rng *rng, const struct pair *p,
                     const struct headwise_mha_config *config, bool appends) {
    struct step step = make_step(rng, p, appends);
    struct layer_call call = layer_call_make(rng, config, 1, step.rows, -1, HEADWISE_F32);
    call.options = p->options;
    call.probe = (struct headwise_probe){
        .size = sizeof(call.probe),
        .lse = guard_floats((size_t)(HEADS * step.rows)),
        .contributions = guard_floats((size_t)(HEADS * step.rows * OUT)),
    };
    struct headwise_attention_call given = layer_call_arguments(&call);
    given.cache = p->ragged;
    given.attend_only = !appends;
    given.n_sequences = step.n;
    given.query_starts = step.starts;
    given.cache_sequences = step.sequences;
    cached_expect_ok(headwise_mha_forward(p->context, p->mha, &given), "ragged");
    guard_check();
    for (int64_t b = 0; b < step.n; b++)
        expect_separate(p, &call, &step, b, appends);
}

static void expect_same_keys(const struct pair *p, int64_t sequence) {
    int64_t length = headwise_cache_length(p->ragged, sequence);
    int64_t from = headwise_cache_held_from(p->ragged, sequence);
    assert_int_equal(length, headwise_cache_length(p->separate, sequence));
    assert_int_equal(from, headwise_cache_held_from(p->separate, sequence));
    struct headwise_tensor k[2], v[2];
    for (int i = 0; i < 2; i++) {
        k[i] = call_tensor(HEADWISE_F32, 1, 2, length - from, D / HEADS, NULL);
        v[i] = call_tensor(HEADWISE_F32, 1, 2, length - from, D / HEADS, NULL);
        cached_read(i ? p->separate : p->ragged, sequence, from, &k[i], &v[i]);
    }
    cached_expect_same(&k[0], &k[1], "keys");
    cached_expect_same(&v[0], &v[1], "values");
}

/* Some sequences hold many keys already, up to near the end of a block: a ring dropped some. */
static void begin(struct test_rng *rng, const struct pair *p) {
    enum { CHUNK = 90 };
    int64_t keys = headwise_cache_describe(p->ragged)->window > 0 ? 1260 : 720;
    struct headwise_tensor k = call_tensor(HEADWISE_F32, 1, 2, CHUNK, D / HEADS, NULL);
    call_fill(rng, &k, 1);
    for (int64_t s = 0; s < SEQUENCES; s += 2)
        for (int64_t r = 0; r < keys; r += CHUNK) {
            cached_append(p->context, p->ragged, s, &k, &k, CHUNK);
            cached_append(p->context, p->separate, s, &k, &k, CHUNK);
        }
    if (headwise_cache_describe(p->ragged)->window > 0)
        assert_true(headwise_cache_held_from(p->ragged, 0) > 0);
}

/* What a server does: steps, and now and then a sequence ends and another one takes its place. */
static void serve(enum headwise_isa isa, struct headwise_cache_config cache_config, int n_threads,
                  const struct headwise_mha_config *config,
                  const struct headwise_attention_options *options) {
    struct test_rng rng = test_rng_make(430 + (uint64_t)n_threads);
    struct pair p = {.context = cached_context(isa, n_threads, 0xff), .options = *options};
    headwise_mha *mha = layer_create(p.context, config);
    p.mha = mha;
    p.ragged = cached_create(p.context, cache_config);
    p.separate = cached_create(p.context, cache_config);
    begin(&rng, &p);
    for (int i = 0; i<STEPS; i += (int)test_share()> 1 ? 2 : 1) {
        run_step(&rng, &p, config, i % 5 != 4);
        int64_t ended = test_rng_below(&rng, 3 * SEQUENCES);
        if (ended < SEQUENCES) {
            cached_expect_ok(headwise_cache_truncate(p.ragged, ended, 0), "truncate");
            cached_expect_ok(headwise_cache_truncate(p.separate, ended, 0), "truncate");
        }
    }
    for (int64_t s = 0; s < SEQUENCES; s++)
        expect_same_keys(&p, s);
    headwise_cache_destroy(p.ragged);
    headwise_cache_destroy(p.separate);
    headwise_mha_destroy(mha);
    headwise_context_destroy(p.context);
}

static const enum headwise_dtype types[] = {HEADWISE_F32, HEADWISE_F16, HEADWISE_BF16, HEADWISE_I8};

static struct headwise_cache_config cache_config(enum headwise_dtype dtype, int64_t window) {
    return (struct headwise_cache_config){.n_sequences = SEQUENCES,
                                          .n_kv_heads = 2,
                                          .head_dim = D / HEADS,
                                          .capacity = CAPACITY,
                                          .dtype = dtype,
                                          .window = window,
                                          .window_first = window > 0 ? 3 : 0};
}

static struct headwise_attention_options causal(void) {
    return (struct headwise_attention_options){.size = sizeof(struct headwise_attention_options),
                                               .causal = HEADWISE_CAUSAL_BOTTOM_RIGHT};
}

static void steps_have_the_bits_of_separate_calls(enum headwise_isa isa) {
    struct test_rng rng = test_rng_make(431);
    headwise_context *context = call_context(isa, 1);
    headwise_rotary *rotary = NULL;
    const struct headwise_rotary_config table = {
        .size = sizeof(table), .rotary_dim = 4, .n_positions = CAPACITY};
    assert_int_equal(headwise_rotary_create(&rotary, context, &table), HEADWISE_OK);
    struct headwise_mha_config config = {
        .d_model = D, .n_heads = HEADS, .n_kv_heads = 2, .d_out = OUT, .rotary = rotary};
    const struct headwise_attention_options options = causal();
    layer_fill_weights(&rng, &config, true);
    for (size_t t = 0; t < TEST_COUNT(types); t++)
        serve(isa, cache_config(types[t], 0), 1 + (int)t, &config, &options);
    headwise_rotary_destroy(rotary);
    headwise_context_destroy(context);
}

static void rings_serve_too(enum headwise_isa isa) {
    struct test_rng rng = test_rng_make(432);
    struct headwise_mha_config config = {
        .d_model = D, .n_heads = HEADS, .n_kv_heads = 2, .d_out = OUT};
    struct headwise_attention_options options = causal();
    struct headwise_cache_config ring = cache_config(HEADWISE_F16, 60);
    ring.capacity = 3 + 60 + 90;
    options.window_is_set = true;
    options.window_left = 59;
    options.window_first = 3;
    layer_fill_weights(&rng, &config, true);
    for (int n_threads = 1; n_threads < 5; n_threads += 3)
        serve(isa, ring, n_threads, &config, &options);
}

/* Enough keys in one sequence for several threads, beside short ones. */
static void a_long_sequence_is_shared(enum headwise_isa isa) {
    enum { LONG = 5000, N = 3, DIM = 64 };
    const int32_t starts[] = {0, LONG, LONG, LONG + 40}, queries[] = {0, 1, 2, 5};
    const int64_t sequences[] = {2, 0, 1};
    struct test_rng rng = test_rng_make(433);
    struct headwise_tensor k = call_tensor(HEADWISE_F32, 1, 1, LONG + 40, DIM, NULL), v, q, want;
    v = call_tensor(HEADWISE_F32, 1, 1, LONG + 40, DIM, NULL);
    q = call_tensor(HEADWISE_F32, 1, 2, 5, DIM, NULL);
    call_fill(&rng, &k, 1);
    call_fill(&rng, &v, 1);
    call_fill(&rng, &q, 1);
    for (int n_threads = 1; n_threads < 9; n_threads += 3) {
        headwise_context *context = cached_context(isa, n_threads, 0xff);
        headwise_cache *cache = cached_create(
            context, (struct headwise_cache_config){
                         .n_sequences = N, .n_kv_heads = 1, .head_dim = DIM, .capacity = LONG});
        struct headwise_tensor y = call_tensor(HEADWISE_F32, 1, 2, 5, DIM, NULL);
        struct headwise_attention_call append = {.size = sizeof(append),
                                                 .k = &k,
                                                 .v = &v,
                                                 .cache = cache,
                                                 .n_sequences = N,
                                                 .query_starts = starts,
                                                 .cache_sequences = sequences};
        cached_expect_ok(headwise_cache_append(context, &append), "append");
        struct headwise_attention_call attend = append;
        attend.k = attend.v = NULL;
        attend.y = &y;
        attend.q = &q;
        attend.query_starts = queries;
        cached_expect_ok(headwise_attention(context, &attend), "attention");
        guard_check();
        if (n_threads == 1)
            want = y;
        cached_expect_same(&y, &want, "threads");
        for (int b = 0; b < N; b++) {
            struct headwise_tensor part =
                cached_view(&q, 0, 1, queries[b], queries[b + 1] - queries[b]);
            struct headwise_tensor rows =
                cached_view(&y, 0, 1, queries[b], queries[b + 1] - queries[b]);
            struct headwise_tensor alone =
                call_tensor(HEADWISE_F32, 1, 2, queries[b + 1] - queries[b], DIM, NULL);
            cached_expect_ok(
                cached_try_attention(context, &alone, &part, cache, sequences[b], NULL), "alone");
            cached_expect_same(&rows, &alone, "alone");
        }
        headwise_cache_destroy(cache);
        headwise_context_destroy(context);
    }
}

int main(void) {
    const struct test_case cases[] = {
        TEST_CASE(steps_have_the_bits_of_separate_calls),
        TEST_CASE(rings_serve_too),
        TEST_CASE(a_long_sequence_is_shared),
    };
    return test_run_tiers(cases, TEST_COUNT(cases));
}
