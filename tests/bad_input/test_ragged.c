/* Ragged calls with one argument wrong at a time: a status, a line that names it, no output
 * touched.
 */
#include <math.h>
#include <string.h>

#include "guard.h"
#include "layer.h"
#include "ragged.h"
#include "runner.h"

enum { N = 3, D = 8, ROWS = 2 + 4 + 0 + 3 + 3 };

/* A valid call of the operator and one of a layer; each case spoils one thing in both. */
struct attempt {
    struct ragged_call operator_call;
    struct headwise_mha_config config;
    struct layer_call layer_call;
    headwise_context *context;
    const headwise_mha *mha;
    struct headwise_attention_options options;
    struct headwise_attention_call given; /* what both calls have in common */
    struct headwise_tensor mask, past;
    int64_t lengths[N];
};

static void make_attempt(struct attempt *a, headwise_context *context, const headwise_mha *mha,
                         const struct headwise_mha_config *config) {
    static const int64_t lengths[N] = {4, 0, 3};
    const struct call_shape shape = {.heads = 2, .kv_heads = 1, .dim = 4, .value_dim = 4};
    struct test_rng rng = test_rng_make(211);
    *a = (struct attempt){.context = context, .mha = mha, .config = *config};
    a->operator_call = ragged_make(&rng, shape, HEADWISE_F32, N, lengths, lengths, true);
    a->layer_call = layer_call_make(&rng, config, 1, ROWS, -1, HEADWISE_F32);
    a->mask = call_tensor(HEADWISE_BOOL, 1, 1, 1, 4, NULL);
    a->past = call_tensor(HEADWISE_F32, 1, 1, 2, 4, NULL);
    memcpy(a->lengths, lengths, sizeof(lengths));
    a->options.size = sizeof(a->options);
    a->given = (struct headwise_attention_call){.size = sizeof(a->given),
                                                .n_sequences = N,
                                                .query_starts = a->operator_call.query_starts,
                                                .key_starts = a->operator_call.key_starts,
                                                .options = &a->options,
                                                .key_lengths = a->lengths};
}

static enum headwise_status run_operator(const struct attempt *a) {
    const struct call *c = &a->operator_call.call;
    struct headwise_attention_call call = a->given;
    call.y = &c->y;
    call.q = &c->q;
    call.k = &c->k;
    call.v = &c->v;
    return headwise_attention(a->context, &call);
}

static enum headwise_status run_layer(const struct attempt *a) {
    struct headwise_attention_call call = a->given;
    call.y = &a->layer_call.y;
    call.x = &a->layer_call.x;
    return headwise_mha_forward(a->context, a->mha, &call);
}

typedef void spoil_fn(struct attempt *a);

static void cache_sequences(struct attempt *a) {
    a->given.cache_sequences = a->lengths;
}
static void first_sequence(struct attempt *a) {
    a->given.first_sequence = 1;
}
static void starts_of_no_sequences(struct attempt *a) {
    a->given.query_starts = NULL;
    a->given.n_sequences = 0;
}
static void negative_sequences(struct attempt *a) {
    a->given.n_sequences = -1;
}
static void too_many_sequences(struct attempt *a) {
    a->given.n_sequences = (int64_t)1 << 40;
}
static void null_query_starts(struct attempt *a) {
    a->given.query_starts = NULL;
}
static void decreasing_starts(struct attempt *a) {
    a->operator_call.query_starts[2] = 5;
    a->operator_call.key_starts[2] = 5;
}
static void negative_start(struct attempt *a) {
    a->operator_call.query_starts[0] = -1;
}
static void start_beyond_the_rows(struct attempt *a) {
    a->operator_call.query_starts[N] = ROWS + 1;
}
static void start_far_beyond(struct attempt *a) {
    a->operator_call.query_starts[N] = INT32_MAX;
}
static void key_starts_decrease(struct attempt *a) {
    a->operator_call.key_starts[1] = 1;
}
static void key_start_beyond_the_rows(struct attempt *a) {
    a->operator_call.key_starts[N] = ROWS + 1;
}
static void mask(struct attempt *a) {
    a->given.mask = &a->mask;
}
static void past_key(struct attempt *a) {
    a->given.past_key = a->given.past_value = &a->past;
}
static void present_key(struct attempt *a) {
    a->given.present_key = &a->past;
}
static void key_length_of_the_sequence(struct attempt *a) {
    a->lengths[2] = 4; /* 9 rows of k, but 3 keys */
}
static void negative_key_length(struct attempt *a) {
    a->lengths[1] = -1;
}
static void scale(struct attempt *a) {
    a->options.scale_is_set = true;
    a->options.scale = NAN;
}

#define SPOIL(function, text)                                                                      \
    { #function, function, text }

static const struct {
    const char *name;
    spoil_fn *spoil;
    const char *text; /* part of the line */
} cases_of_both[] = {
    SPOIL(cache_sequences, "cache_sequences is given, expected NULL"),
    SPOIL(first_sequence, "first_sequence is 1, expected 0"),
    SPOIL(starts_of_no_sequences, "query_starts is NULL"),
    SPOIL(negative_sequences, "n_sequences is -1, expected 0 to 2147483647"),
    SPOIL(too_many_sequences, "n_sequences is 1099511627776"),
    SPOIL(null_query_starts, "query_starts is NULL"),
    SPOIL(decreasing_starts, "query_starts[2] is 5, expected 6 to 12"),
    SPOIL(negative_start, "query_starts[0] is -1, expected 0 to 12"),
    SPOIL(start_beyond_the_rows, "query_starts[3] is 13, expected 6 to 12"),
    SPOIL(start_far_beyond, "query_starts[3] is 2147483647"),
    SPOIL(key_starts_decrease, "key_starts[1] is 1, expected"),
    SPOIL(key_start_beyond_the_rows, "key_starts[3] is 13, expected"),
    SPOIL(mask, "mask has no ragged shape"),
    SPOIL(past_key, "past_key has no ragged shape"),
    SPOIL(present_key, "present_key has no ragged shape"),
    SPOIL(key_length_of_the_sequence, "key_lengths[2] is 4, expected 0 to 3"),
    SPOIL(negative_key_length, "key_lengths[1] is -1"),
    SPOIL(scale, "scale is"),
};

static void expect_refused(enum headwise_status status, const char *where, const char *text,
                           const char *name) {
    if (status != HEADWISE_ERR_INVALID || strstr(headwise_last_error(), text) == NULL ||
        strstr(headwise_last_error(), where) != headwise_last_error())
        fail_msg("%s of %s: status %d, \"%s\"", name, where, (int)status, headwise_last_error());
}

/* A layer of D = 8, and a context, for one case. */
struct bench {
    headwise_context *context;
    headwise_mha *mha;
    headwise_rotary *rotary;
    struct headwise_mha_config config;
};

static struct bench make_bench(enum headwise_isa isa, int64_t n_positions) {
    struct bench bench = {.context = call_context(isa, 2),
                          .config = {.d_model = D, .n_heads = 2, .n_kv_heads = 1}};
    const struct headwise_rotary_config table = {
        .size = sizeof(table), .rotary_dim = 4, .n_positions = n_positions};
    struct test_rng rng = test_rng_make(212);
    assert_int_equal(headwise_rotary_create(&bench.rotary, bench.context, &table), HEADWISE_OK);
    bench.config.rotary = bench.rotary;
    layer_fill_weights(&rng, &bench.config, false);
    bench.mha = layer_create(bench.context, &bench.config);
    return bench;
}

static void end_bench(struct bench *bench) {
    headwise_mha_destroy(bench->mha);
    headwise_rotary_destroy(bench->rotary);
    headwise_context_destroy(bench->context);
    guard_reset();
}

static void expect_untouched(const struct attempt *a) {
    guard_expect_untouched(a->operator_call.call.y.data, (size_t)ROWS * 2 * 4 * sizeof(float), "y");
    guard_expect_untouched(a->layer_call.y.data, (size_t)ROWS * D * sizeof(float), "layer's y");
}

static void one_wrong_argument(enum headwise_isa isa) {
    for (size_t i = 0; i < TEST_COUNT(cases_of_both); i++) {
        struct bench bench = make_bench(isa, 10);
        struct attempt a;
        make_attempt(&a, bench.context, bench.mha, &bench.config);
        cases_of_both[i].spoil(&a);
        expect_refused(run_operator(&a), "attention: ", cases_of_both[i].text,
                       cases_of_both[i].name);
        expect_refused(run_layer(&a), "mha_forward: ", cases_of_both[i].text,
                       cases_of_both[i].name);
        expect_untouched(&a);
        end_bench(&bench);
    }
}

/* The attempt is valid before it is spoilt. */
static void the_attempt_is_good(enum headwise_isa isa) {
    struct bench bench = make_bench(isa, 4);
    struct attempt a;
    make_attempt(&a, bench.context, bench.mha, &bench.config);
    assert_int_equal(run_operator(&a), HEADWISE_OK);
    assert_int_equal(run_layer(&a), HEADWISE_OK);
    end_bench(&bench);
}

static void what_only_one_of_them_refuses(enum headwise_isa isa) {
    struct bench bench = make_bench(isa, 3); /* the longest sequence has 4 rows */
    struct attempt a;
    const int64_t positions[ROWS] = {0, 1, 2, 0, 1, 3};
    make_attempt(&a, bench.context, bench.mha, &bench.config);
    expect_refused(run_layer(&a),
                   "mha_forward: ", "sequence 0: rows stand at positions 0 to 3, expected 0 to 2",
                   "short table");
    a.given.positions = positions;
    expect_refused(run_layer(&a), "mha_forward: ", "positions[0][5] is 3", "position");
    expect_refused(run_operator(&a), "attention: ", "positions are for layers", "positions");
    a.given.positions = NULL;
    a.operator_call.key_starts[N]--;
    expect_refused(run_layer(&a),
                   "mha_forward: ", "key_starts[3] is 8, expected 9 as in query_starts",
                   "other keys");
    a.operator_call.key_starts[N]++;
    a.layer_call.x.size[0] = 2;
    expect_refused(run_layer(&a), "mha_forward: ", "x has size 2 on its batch axis", "batch of x");
    a.operator_call.call.q.size[0] = 2;
    expect_refused(run_operator(&a), "attention: ", "q has size 2 on its batch axis", "batch of q");
    a.operator_call.call.q.size[0] = 1;
    a.context = NULL;
    expect_refused(run_operator(&a), "attention: ", "context is NULL", "context");
    expect_untouched(&a);
    end_bench(&bench);
}

/* Offsets within the rows whose maps no array can hold. */
static void too_many_pairs(enum headwise_isa isa) {
    const int32_t starts[] = {0, INT32_MAX};
    const int64_t rows = INT32_MAX, heads = (int64_t)1 << 20;
    float one[8] = {0};
    headwise_context *context = call_context(isa, 1);
    struct headwise_tensor q = headwise_tensor_bhrc(one, HEADWISE_F32, 1, heads, rows, 1), k = q;
    struct headwise_tensor y = q;
    const struct headwise_attention_call call = {.size = sizeof(call),
                                                 .y = &y,
                                                 .q = &q,
                                                 .k = &k,
                                                 .v = &k,
                                                 .n_sequences = 1,
                                                 .query_starts = starts};
    q.stride[1] = q.stride[2] = k.stride[1] = k.stride[2] = 0;
    /* Where objects have less than 2^31 bytes, y is refused before. */
    expect_refused(headwise_attention(context, &call), "attention: ",
                   PTRDIFF_MAX < INT64_MAX ? "the extent of y overflows"
                                           : "the number of scores overflows",
                   "pairs");
    headwise_context_destroy(context);
}

int main(void) {
    const struct test_case cases[] = {
        TEST_CASE(the_attempt_is_good),
        TEST_CASE(one_wrong_argument),
        TEST_CASE(what_only_one_of_them_refuses),
        TEST_CASE(too_many_pairs),
    };
    return test_run_tiers(cases, TEST_COUNT(cases));
}
