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
    MOST_ROWS = 4000, /* of a ring's sequence */
    HEADS = 2,
    DIM = 5,
    VALUE_DIM = 3,
    COLUMNS = DIM + VALUE_DIM
};

/* Each row has a number; its components follow from it. */
struct model {
    enum headwise_dtype dtype;
    int64_t window, first;
    int64_t n_rows; /* numbers given so far */
    int64_t lengths[SEQUENCES];
    int64_t lost[SEQUENCES]; /* rows from here on must be held, and the first ones */
    int64_t rows[SEQUENCES][MOST_ROWS];
};

static int64_t room_of(const struct model *model, int64_t s) {
    int64_t room = CAPACITY - model->lengths[s];
    int64_t least = CAPACITY - model->first - model->window + 1;
    return model->window > 0 && room < least ? least : room;
}

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
        if (model->lengths[s] + n_rows > MOST_ROWS)
            return;
    for (int64_t s = first; s < first + n; s++)
        fits &= n_rows <= room_of(model, s);
    enum headwise_status status = cached_try_append(context, cache, first, &k, &v);
    assert_int_equal(status, fits ? HEADWISE_OK : HEADWISE_ERR_FULL);
    for (int64_t s = first; fits && s < first + n; s++) {
        for (int64_t r = 0; r < n_rows; r++)
            model->rows[s][model->lengths[s]++] = model->n_rows + (s - first) * n_rows + r;
        int64_t lost = model->lengths[s] - (CAPACITY - model->first);
        if (model->window > 0 && model->lost[s] < lost)
            model->lost[s] = lost;
    }
    model->n_rows += n * n_rows;
}

static void shorten(headwise_cache *cache, struct model *model, struct test_rng *rng) {
    int64_t s = test_rng_below(rng, SEQUENCES);
    int64_t length = test_rng_below(rng, 4) == 0 ? 0 : test_rng_below(rng, model->lengths[s] + 1);
    if (model->window > 0 && test_rng_below(rng, 4) > 0) /* far back is not possible */
        length = model->lengths[s] - test_rng_below(rng, model->lengths[s] / 10 + 1);
    bool promised = length <= model->first || length - model->window + 1 >= model->lost[s];
    enum headwise_status status = headwise_cache_truncate(cache, s, length);
    if (promised || model->window == 0)
        cached_expect_ok(status, "truncate");
    if (status != HEADWISE_OK) /* expect_rows sees that nothing has changed */
        return;
    model->lengths[s] = length;
    if (length <= model->first)
        model->lost[s] = 0;
}

static void copy_one(headwise_cache *cache, struct model *model, struct test_rng *rng) {
    int64_t dst = test_rng_below(rng, SEQUENCES), src = test_rng_below(rng, SEQUENCES);
    cached_expect_ok(headwise_cache_copy(cache, dst, src), "copy");
    model->lengths[dst] = model->lengths[src];
    model->lost[dst] = model->lost[src];
    memmove(model->rows[dst], model->rows[src], sizeof(model->rows[src]));
}

static void reorder(headwise_cache *cache, struct model *model, struct test_rng *rng) {
    static struct model before;
    int64_t from[SEQUENCES];
    before = *model;
    for (int s = 0; s < SEQUENCES; s++) {
        from[s] = test_rng_below(rng, SEQUENCES);
        model->lengths[s] = before.lengths[from[s]];
        model->lost[s] = before.lost[from[s]];
        memcpy(model->rows[s], before.rows[from[s]], sizeof(before.rows[s]));
    }
    cached_expect_ok(headwise_cache_reorder(cache, from), "reorder");
}

/* Rows `from` ... to-1 of a sequence, as they should be read. */
static void make_stored(const struct model *model, int64_t s, int64_t from, int64_t to,
                        struct headwise_tensor *k, struct headwise_tensor *v) {
    *k = call_tensor(HEADWISE_F32, 1, HEADS, to - from, DIM, NULL);
    *v = call_tensor(HEADWISE_F32, 1, HEADS, to - from, VALUE_DIM, NULL);
    for (int64_t h = 0; h < HEADS; h++)
        for (int64_t r = from; r < to; r++) {
            float x[COLUMNS];
            fill_row(x, model->rows[s][r], h);
            cached_round(model->dtype, x, x, DIM);
            cached_round(model->dtype, x + DIM, x + DIM, VALUE_DIM);
            memcpy((float *)k->data + (h * (to - from) + r - from) * DIM, x, DIM * sizeof(float));
            memcpy((float *)v->data + (h * (to - from) + r - from) * VALUE_DIM, x + DIM,
                   VALUE_DIM * sizeof(float));
        }
}

static void expect_range(const headwise_cache *cache, const struct model *model, int64_t s,
                         int64_t from, int64_t to) {
    struct headwise_tensor want_k, want_v;
    struct headwise_tensor k = call_tensor(HEADWISE_F32, 1, HEADS, to - from, DIM, NULL);
    struct headwise_tensor v = call_tensor(HEADWISE_F32, 1, HEADS, to - from, VALUE_DIM, NULL);
    cached_expect_ok(headwise_cache_read(cache, s, from, &k, &v), "read");
    make_stored(model, s, from, to, &want_k, &want_v);
    cached_expect_same(&k, &want_k, "keys");
    cached_expect_same(&v, &want_v, "values");
}

static void expect_rows(const headwise_cache *cache, const struct model *model, int64_t s) {
    int64_t length = model->lengths[s], held_from = headwise_cache_held_from(cache, s);
    assert_int_equal(headwise_cache_length(cache, s), length);
    assert_int_equal(headwise_cache_room(cache, s), room_of(model, s));
    assert_true(held_from >= 0 && held_from <= model->lost[s]);
    expect_range(cache, model, s, held_from, length);
    if (held_from > 0)
        expect_range(cache, model, s, 0, model->first);
}

/* Attention over a sequence, and over the rows it should hold: the history leaves no bit. */
static void expect_attention(headwise_context *context, headwise_cache *cache,
                             const struct model *model, int64_t s, struct test_rng *rng) {
    struct headwise_attention_options options = {.size = sizeof(options),
                                                 .causal = HEADWISE_CAUSAL_BOTTOM_RIGHT,
                                                 .window_is_set = test_rng_below(rng, 2) == 0 ||
                                                                  model->window > 0,
                                                 .window_left = model->window - 1,
                                                 .window_first = model->first};
    int64_t n = 24, oldest = model->lengths[s] - model->window + 1 - model->lost[s];
    if (model->window == 0)
        options.window_left = 30;
    else if (model->lost[s] > 0 && n > oldest) /* keys of earlier queries were dropped */
        n = oldest > 0 ? oldest : 0;
    struct headwise_tensor q = call_tensor(HEADWISE_F32, 1, HEADS, n, DIM, NULL);
    struct headwise_tensor got = call_tensor(HEADWISE_F32, 1, HEADS, n, VALUE_DIM, NULL);
    struct headwise_tensor want = call_tensor(HEADWISE_F32, 1, HEADS, n, VALUE_DIM, NULL);
    struct headwise_tensor k, v;
    call_fill(rng, &q, 1);
    make_stored(model, s, 0, model->lengths[s], &k, &v);
    struct headwise_attention_call given = cached_given(&options);
    cached_expect_ok(cached_try_attention(context, &got, &q, cache, s, &given), "cached");
    given.y = &want;
    given.q = &q;
    given.k = &k;
    given.v = &v;
    cached_expect_ok(headwise_attention(context, &given), "attention");
    cached_expect_same(&got, &want, "attention");
}

static void run(enum headwise_isa isa, struct headwise_cache_config sizes, int n_steps) {
    static struct model model;
    enum headwise_dtype dtype = sizes.dtype;
    struct test_rng rng = test_rng_make(440 + (uint64_t)dtype);
    headwise_context *context = cached_context(isa, 2, 0xff);
    sizes.n_sequences = SEQUENCES;
    sizes.n_kv_heads = HEADS;
    sizes.head_dim = DIM;
    sizes.value_dim = VALUE_DIM;
    sizes.capacity = CAPACITY;
    headwise_cache *cache = cached_create(context, sizes);
    memset(&model, 0, sizeof(model));
    model.dtype = dtype;
    model.window = sizes.window;
    model.first = sizes.window_first;
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
        int64_t s = test_rng_below(&rng, SEQUENCES);
        expect_rows(cache, &model, s);
        expect_attention(context, cache, &model, s, &rng);
        guard_reset();
    }
    for (int64_t s = 0; s < SEQUENCES; s++)
        expect_rows(cache, &model, s);
    headwise_cache_destroy(cache);
    headwise_context_destroy(context);
}

static void any_history_leaves_what_it_says(enum headwise_isa isa) {
    const enum headwise_dtype types[] = {HEADWISE_F32, HEADWISE_F16, HEADWISE_BF16, HEADWISE_I8};
    for (size_t t = 0; t < TEST_COUNT(types); t++)
        run(isa, (struct headwise_cache_config){.dtype = types[t]}, (int)(80 / test_share()));
}

static void and_any_history_of_a_ring(enum headwise_isa isa) {
    const struct headwise_cache_config rings[] = {
        {.window = 100, .window_first = 0, .dtype = HEADWISE_F32},
        {.window = 300, .window_first = 4, .dtype = HEADWISE_I8},
        {.window = 20, .window_first = 300, .dtype = HEADWISE_F16},
        {.window = 1, .window_first = 1, .dtype = HEADWISE_BF16},
    };
    for (size_t i = 0; i < TEST_COUNT(rings); i++)
        run(isa, rings[i], (int)(70 / test_share()));
}

int main(void) {
    const struct test_case cases[] = {
        TEST_CASE(any_history_leaves_what_it_says),
        TEST_CASE(and_any_history_of_a_ring),
    };
    return test_run_tiers(cases, TEST_COUNT(cases));
}
