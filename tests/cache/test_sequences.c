/* Sequences that grow, shrink and are copied in any order hold what a plain list of rows says. */
#include <math.h>
#include <string.h>

#include "cached.h"
#include "compare.h"
#include "guard.h"
#include "runner.h"

enum {
    SEQUENCES = 5,
    CAPACITY = 600,
    HEADS = 2,
    DIM = 5,
    VALUE_DIM = 3,
    COLUMNS = DIM + VALUE_DIM
};

/* Each row has a number; its components follow from it. */
struct model {
    enum headwise_dtype dtype;
    int64_t n_rows; /* numbers given so far */
    int64_t lengths[SEQUENCES];
    int64_t rows[SEQUENCES][CAPACITY];
};

/* Key and value of a head in row `number`. Every 19th has a value that is not finite. */
static void fill_row(float x[COLUMNS], int64_t number, int64_t head) {
    struct test_rng rng = test_rng_make((uint64_t)(number * HEADS + head) + 100000);
    test_rng_fill(&rng, x, COLUMNS, 1);
    if (number % 19 == 7)
        x[DIM + number % VALUE_DIM] = number % 2 == 0 ? NAN : INFINITY;
}

/* k and v of n sequences with those numbers: row r of entry b has number first + b * n_rows + r. */
static void make_rows(struct headwise_tensor *k, struct headwise_tensor *v, int64_t first,
                      int64_t n, int64_t n_rows) {
    *k = call_tensor(HEADWISE_F32, n, HEADS, n_rows, DIM, NULL);
    *v = call_tensor(HEADWISE_F32, n, HEADS, n_rows, VALUE_DIM, NULL);
    for (int64_t b = 0; b < n; b++)
        for (int64_t h = 0; h < HEADS; h++)
            for (int64_t r = 0; r < n_rows; r++) {
                float x[COLUMNS];
                fill_row(x, first + b * n_rows + r, h);
                memcpy((float *)k->data + ((b * HEADS + h) * n_rows + r) * DIM, x,
                       DIM * sizeof(float));
                memcpy((float *)v->data + ((b * HEADS + h) * n_rows + r) * VALUE_DIM, x + DIM,
                       VALUE_DIM * sizeof(float));
            }
}

static void append_rows(headwise_context *context, headwise_cache *cache, struct model *model,
                        struct test_rng *rng) {
    static const int64_t most[] = {3, 40, 300, 600};
    int64_t first = test_rng_below(rng, SEQUENCES), n = 1 + test_rng_below(rng, SEQUENCES - first);
    int64_t n_rows = test_rng_below(rng, most[test_rng_below(rng, 4)]);
    struct headwise_tensor k, v;
    bool fits = true;
    make_rows(&k, &v, model->n_rows, n, n_rows);
    for (int64_t s = first; s < first + n; s++)
        fits &= model->lengths[s] + n_rows <= CAPACITY;
    enum headwise_status status = headwise_cache_append(context, cache, first, &k, &v);
    assert_int_equal(status, fits ? HEADWISE_OK : HEADWISE_ERR_FULL);
    for (int64_t b = 0; fits && b < n; b++)
        for (int64_t r = 0; r < n_rows; r++)
            model->rows[first + b][model->lengths[first + b]++] = model->n_rows + b * n_rows + r;
    model->n_rows += n * n_rows;
}

static void shorten(headwise_cache *cache, struct model *model, struct test_rng *rng) {
    int64_t s = test_rng_below(rng, SEQUENCES);
    int64_t length = test_rng_below(rng, 4) == 0 ? 0 : test_rng_below(rng, model->lengths[s] + 1);
    cached_expect_ok(headwise_cache_truncate(cache, s, length), "truncate");
    model->lengths[s] = length;
}

static void copy_one(headwise_cache *cache, struct model *model, struct test_rng *rng) {
    int64_t dst = test_rng_below(rng, SEQUENCES), src = test_rng_below(rng, SEQUENCES);
    cached_expect_ok(headwise_cache_copy(cache, dst, src), "copy");
    model->lengths[dst] = model->lengths[src];
    memmove(model->rows[dst], model->rows[src], sizeof(model->rows[src]));
}

static void reorder(headwise_cache *cache, struct model *model, struct test_rng *rng) {
    static struct model before;
    int64_t from[SEQUENCES];
    before = *model;
    for (int s = 0; s < SEQUENCES; s++) {
        from[s] = test_rng_below(rng, SEQUENCES);
        model->lengths[s] = before.lengths[from[s]];
        memcpy(model->rows[s], before.rows[from[s]], sizeof(before.rows[s]));
    }
    cached_expect_ok(headwise_cache_reorder(cache, from), "reorder");
}

static void expect_rows(const headwise_cache *cache, const struct model *model, int64_t s) {
    struct headwise_tensor k, v;
    assert_int_equal(headwise_cache_length(cache, s), model->lengths[s]);
    assert_int_equal(headwise_cache_room(cache, s), CAPACITY - model->lengths[s]);
    cached_read(cache, s, 0, &k, &v);
    for (int64_t h = 0; h < HEADS; h++)
        for (int64_t r = 0; r < model->lengths[s]; r++) {
            float x[COLUMNS];
            fill_row(x, model->rows[s][r], h);
            cached_round(model->dtype, x, x, DIM);
            cached_round(model->dtype, x + DIM, x + DIM, VALUE_DIM);
            compare_same_bits((float *)k.data + h * k.stride[1] + r * DIM, x, DIM,
                              "key %d of sequence %d", (int)r, (int)s);
            compare_same_bits((float *)v.data + h * v.stride[1] + r * VALUE_DIM, x + DIM, VALUE_DIM,
                              "value %d of sequence %d", (int)r, (int)s);
        }
}

/* Attention over a sequence, and over the rows it should hold: the history leaves no bit. */
static void expect_attention(headwise_context *context, const headwise_cache *cache, int64_t s,
                             struct test_rng *rng) {
    enum { QUERIES = 24 };
    struct headwise_attention_options options = {.size = sizeof(options),
                                                 .causal = HEADWISE_CAUSAL_BOTTOM_RIGHT,
                                                 .window_is_set = test_rng_below(rng, 2) == 0,
                                                 .window_left = 30};
    struct headwise_tensor q = call_tensor(HEADWISE_F32, 1, HEADS, QUERIES, DIM, NULL);
    struct headwise_tensor got = call_tensor(HEADWISE_F32, 1, HEADS, QUERIES, VALUE_DIM, NULL);
    struct headwise_tensor want = call_tensor(HEADWISE_F32, 1, HEADS, QUERIES, VALUE_DIM, NULL);
    struct headwise_tensor k, v;
    call_fill(rng, &q, 1);
    cached_read(cache, s, 0, &k, &v);
    cached_expect_ok(headwise_attention_cached(context, &got, &q, cache, s, &options), "cached");
    cached_expect_ok(headwise_attention(context, &want, &q, &k, &v, &options), "attention");
    cached_expect_same(&got, &want, "attention");
}

static void run(enum headwise_isa isa, enum headwise_dtype dtype, int n_steps) {
    static struct model model;
    struct test_rng rng = test_rng_make(440 + (uint64_t)dtype);
    headwise_context *context = cached_context(isa, 2, 0xff);
    headwise_cache *cache =
        cached_create(context, (struct headwise_cache_config){.n_sequences = SEQUENCES,
                                                              .n_kv_heads = HEADS,
                                                              .head_dim = DIM,
                                                              .value_dim = VALUE_DIM,
                                                              .capacity = CAPACITY,
                                                              .dtype = dtype});
    memset(&model, 0, sizeof(model));
    model.dtype = dtype;
    for (int step = 0; step < n_steps; step++) {
        int64_t what = test_rng_below(&rng, 10);
        if (what < 5)
            append_rows(context, cache, &model, &rng);
        else if (what < 7)
            shorten(cache, &model, &rng);
        else if (what < 9)
            copy_one(cache, &model, &rng);
        else
            reorder(cache, &model, &rng);
        for (int64_t s = 0; s < SEQUENCES; s++)
            expect_rows(cache, &model, s);
        guard_reset();
        for (int64_t s = step % 2; s < SEQUENCES; s += 2)
            expect_attention(context, cache, s, &rng);
        guard_reset();
    }
    headwise_cache_destroy(cache);
    headwise_context_destroy(context);
}

static void any_history_leaves_what_it_says(enum headwise_isa isa) {
    const enum headwise_dtype types[] = {HEADWISE_F32, HEADWISE_F16, HEADWISE_BF16, HEADWISE_I8};
    for (size_t t = 0; t < TEST_COUNT(types); t++)
        run(isa, types[t], (int)(80 / test_share()));
}

int main(void) {
    const struct test_case cases[] = {
        TEST_CASE(any_history_leaves_what_it_says),
    };
    return test_run_tiers(cases, TEST_COUNT(cases));
}
