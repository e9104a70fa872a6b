/* headwise_rotate(): numbers, every form of tensor, positions, bad input. */
#include <math.h>
#include <string.h>

#include "bounds.h"
#include "call.h"
#include "compare.h"
#include "guard.h"
#include "half.h"
#include "oracle.h"
#include "runner.h"

#define HALF HEADWISE_PAIRS_HALF
#define INTERLEAVED HEADWISE_PAIRS_INTERLEAVED

/* x = 1, 2, 3, 4, base 10000. */
struct number_case {
    enum headwise_pairs pairs;
    int64_t rotary_dim, position;
    double y[4];
};

static const struct number_case number_cases[] = {
    {HALF, 4, 0, {1, 2, 3, 4}},
    {HALF, 4, 1, {-1.984111, 1.959901, 2.462378, 4.0198}},
    {INTERLEAVED, 4, 1, {-1.14264, 1.922076, 2.959851, 4.0298}},
    {HALF, 4, 3, {-1.413353, 1.879118, -2.828857, 4.058191}},
    {INTERLEAVED, 4, 3, {-1.272233, -1.838865, 2.878668, 4.088187}},
    {HALF, 2, 1, {-1.14264, 1.922076, 3, 4}},
    {INTERLEAVED, 2, 1, {-1.14264, 1.922076, 3, 4}},
};

static headwise_rotary *make_table(headwise_context *context, int64_t rotary_dim,
                                   int64_t n_positions, enum headwise_pairs pairs) {
    const struct headwise_rotary_config config = {.size = sizeof(config),
                                                  .rotary_dim = rotary_dim,
                                                  .n_positions = n_positions,
                                                  .pairs = pairs};
    headwise_rotary *rotary = NULL;
    assert_int_equal(headwise_rotary_create(&rotary, context, &config), HEADWISE_OK);
    return rotary;
}

static void rotate(headwise_context *context, const struct headwise_tensor *y,
                   const struct headwise_tensor *x, const struct headwise_rotate_options *options) {
    if (headwise_rotate(context, y, x, options) != HEADWISE_OK)
        fail_msg("headwise_rotate: %s", headwise_last_error());
    guard_check();
}

static void numbers(enum headwise_isa isa) {
    headwise_context *context = call_context(isa, 1);
    for (size_t i = 0; i < TEST_COUNT(number_cases); i++) {
        const struct number_case *c = &number_cases[i];
        headwise_rotary *rotary = make_table(context, c->rotary_dim, 4, c->pairs);
        struct headwise_tensor x = call_tensor(HEADWISE_F32, 1, 1, 1, 4, (float[]){1, 2, 3, 4});
        const struct headwise_rotate_options options = {
            .size = sizeof(options), .rotary = rotary, .positions = &c->position};
        rotate(context, &x, &x, &options);
        for (int j = 0; j < 4; j++)
            compare_expect((double)((float *)x.data)[j], c->y[j], 1e-6 * fabs(c->y[j]),
                           "case %d, y[%d]", (int)i, j);
        headwise_rotary_destroy(rotary);
    }
    headwise_context_destroy(context);
}

/* A call with random tables of the caller. */
struct rotate_call {
    struct headwise_tensor x, y;
    struct headwise_rotate_options options;
    int64_t positions[4 * 80];
};

enum { N_ROWS = 97 };

static struct headwise_tensor any_view(struct test_rng *rng, enum headwise_dtype dtype,
                                       const int64_t size[4], bool rows_hold_all_heads) {
    struct headwise_tensor t = call_tensor(dtype, size[0], size[1], size[2], size[3], NULL);
    if (rows_hold_all_heads)
        t = headwise_tensor_brhc(t.data, dtype, size[0], size[2], size[1], size[3]);
    call_fill(rng, &t, 2);
    return t;
}

static void make_call(struct rotate_call *c, struct test_rng *rng, int64_t rotary_dim,
                      const int64_t size[4], enum headwise_dtype x_type,
                      enum headwise_dtype y_type) {
    int64_t n = N_ROWS * (rotary_dim / 2);
    float *cosines = guard_floats((size_t)n), *sines = guard_floats((size_t)n);
    test_rng_fill(rng, cosines, (size_t)n, 1);
    test_rng_fill(rng, sines, (size_t)n, 1);
    *c = (struct rotate_call){.options = {.size = sizeof(c->options),
                                          .cos = cosines,
                                          .sin = sines,
                                          .n_rows = N_ROWS,
                                          .rotary_dim = rotary_dim}};
    c->options.pairs = test_rng_below(rng, 2) ? INTERLEAVED : HALF;
    c->x = any_view(rng, x_type, size, test_rng_below(rng, 2) == 0);
    c->y = any_view(rng, y_type, size, test_rng_below(rng, 2) == 0);
    for (int64_t at = 0; at < size[0] * size[2]; at++)
        c->positions[at] = test_rng_below(rng, N_ROWS);
    if (size[0] * size[2] > N_ROWS || test_rng_below(rng, 2))
        c->options.positions = c->positions;
}

/* Two products and a sum, each rounded once at most, then to y's type. */
static void expect_call(const struct rotate_call *c, const struct headwise_tensor *y,
                        const struct headwise_tensor *x) {
    const struct headwise_rotate_options *o = &c->options;
    int64_t n = o->rotary_dim / 2, rows = x->size[2];
    for (int64_t b = 0; b < x->size[0]; b++)
        for (int64_t h = 0; h < x->size[1]; h++)
            for (int64_t r = 0; r < rows; r++)
                for (int64_t d = 0; d < x->size[3]; d++) {
                    double want = oracle_load(x, b, h, r, d), size = 0;
                    if (d < o->rotary_dim) {
                        int64_t j = o->pairs == HALF ? d % n : d / 2;
                        bool second = o->pairs == HALF ? d >= n : d % 2 == 1;
                        int64_t other = o->pairs == HALF ? (second ? d - n : d + n) : (d ^ 1);
                        int64_t row =
                            o->positions != NULL ? o->positions[b * rows + r] : b * rows + r;
                        double turn = oracle_load(x, b, h, r, other) * (double)o->sin[row * n + j];
                        want *= (double)o->cos[row * n + j];
                        size = fabs(want) + fabs(turn);
                        want += second ? turn : -turn;
                    }
                    double bound = bound_gamma(2) * size + (size > 0 ? BOUND_TINY : 0);
                    if (y->dtype != HEADWISE_F32)
                        bound += bound_rounding(y->dtype, fabs(want) + bound);
                    compare_expect(oracle_load(y, b, h, r, d), want, bound, "y[%d][%d][%d][%d]",
                                   (int)b, (int)h, (int)r, (int)d);
                }
}

static enum headwise_dtype random_type(struct test_rng *rng) {
    const enum headwise_dtype types[] = {HEADWISE_F32, HEADWISE_F32, HEADWISE_F16, HEADWISE_BF16};
    return types[test_rng_below(rng, 4)];
}

static void random_calls(enum headwise_isa isa) {
    struct test_rng rng = test_rng_make(201);
    headwise_context *context = call_context(isa, 3);
    for (int i = 0; i < 300; i++) {
        struct rotate_call c;
        const int64_t size[4] = {1 + test_rng_below(&rng, 3), 1 + test_rng_below(&rng, 9),
                                 1 + test_rng_below(&rng, 70), 2 + test_rng_below(&rng, 140)};
        int64_t rotary_dim =
            i % 3 == 0 ? size[3] / 2 * 2 : 2 + 2 * test_rng_below(&rng, size[3] / 2);
        make_call(&c, &rng, rotary_dim, size, random_type(&rng), random_type(&rng));
        rotate(context, &c.y, &c.x, &c.options);
        expect_call(&c, &c.y, &c.x);
        guard_reset();
    }
    headwise_context_destroy(context);
}

/* In place, with any number of threads, and over an input that is broadcast. */
static void the_same_bits_every_way(enum headwise_isa isa) {
    const int threads[] = {1, 2, 5, 16};
    const int64_t size[4] = {2, 8, 70, 80};
    struct test_rng rng = test_rng_make(202);
    for (int partial = 0; partial < 2; partial++) {
        struct rotate_call c;
        make_call(&c, &rng, partial ? 32 : 80, size, HEADWISE_F32, HEADWISE_F32);
        c.options.positions = c.positions;
        c.y.stride[0] = c.x.stride[0]; /* y where x is */
        c.y.stride[1] = c.x.stride[1];
        c.y.stride[2] = c.x.stride[2];
        size_t n = (size_t)(2 * 8 * 70 * 80);
        for (size_t t = 0; t < TEST_COUNT(threads); t++) {
            headwise_context *context = call_context(isa, threads[t]);
            struct headwise_tensor copy = c.x;
            copy.data = guard_floats(n);
            memcpy(copy.data, c.x.data, n * sizeof(float));
            rotate(context, &c.y, &c.x, &c.options);
            rotate(context, &copy, &copy, &c.options);
            compare_same_bits(copy.data, c.y.data, n, "in place, %d threads", threads[t]);
            headwise_context_destroy(context);
        }
        expect_call(&c, &c.y, &c.x);
        struct headwise_tensor one = c.x;
        one.stride[0] = one.stride[1] = 0;
        headwise_context *context = call_context(isa, 2);
        rotate(context, &c.y, &one, &c.options);
        expect_call(&c, &c.y, &one);
        headwise_context_destroy(context);
        guard_reset();
    }
}

/* rotary's own rows begin at 0 for every batch entry, the caller's tables go on. */
static void rows_without_positions(enum headwise_isa isa) {
    const int64_t size[4] = {2, 3, 5, 8}, positions[] = {0, 1, 2, 3, 4, 0, 1, 2, 3, 4};
    const int64_t running[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
    struct test_rng rng = test_rng_make(203);
    headwise_context *context = call_context(isa, 1);
    headwise_rotary *rotary = make_table(context, 6, 10, INTERLEAVED);
    struct headwise_tensor x = any_view(&rng, HEADWISE_F32, size, false);
    struct headwise_tensor a = any_view(&rng, HEADWISE_F32, size, false);
    struct headwise_tensor b = any_view(&rng, HEADWISE_F32, size, false);
    struct headwise_rotate_options by_rotary = {.size = sizeof(by_rotary), .rotary = rotary};
    struct headwise_rotate_options by_tables = {.size = sizeof(by_tables),
                                                .cos = headwise_rotary_describe(rotary)->cos,
                                                .sin = headwise_rotary_describe(rotary)->sin,
                                                .n_rows = 10,
                                                .rotary_dim = 6,
                                                .pairs = INTERLEAVED};
    rotate(context, &a, &x, &by_rotary);
    by_rotary.positions = positions;
    rotate(context, &b, &x, &by_rotary);
    compare_same_bits(a.data, b.data, 2 * 3 * 5 * 8, "rows of rotary");
    rotate(context, &a, &x, &by_tables);
    by_tables.positions = running;
    rotate(context, &b, &x, &by_tables);
    compare_same_bits(a.data, b.data, 2 * 3 * 5 * 8, "rows of tables");
    headwise_rotary_destroy(rotary);
    headwise_context_destroy(context);
}

static void expect_refused(headwise_context *context, const struct headwise_tensor *y,
                           const struct headwise_tensor *x,
                           const struct headwise_rotate_options *options, const char *text) {
    assert_int_equal(headwise_rotate(context, y, x, options), HEADWISE_ERR_INVALID);
    if (strncmp(headwise_last_error(), text, strlen(text)) != 0)
        fail_msg("error \"%s\", expected \"%s...\"", headwise_last_error(), text);
}

static void bad_options_are_refused(enum headwise_isa isa) {
    static const float table[64];
    const int64_t below[] = {0, -1, 2}, beyond[] = {0, 1, 4};
    headwise_context *context = call_context(isa, 1);
    headwise_rotary *rotary = make_table(context, 8, 2, HALF);
    struct headwise_tensor x = call_tensor(HEADWISE_F32, 1, 2, 3, 8, NULL), y = x;
    y.data = guard_floats(48);
    const struct headwise_rotate_options good = {
        .size = sizeof(good), .cos = table, .sin = table, .n_rows = 4};
    struct headwise_rotate_options o = good;
    o.positions = below;
    expect_refused(context, &y, &x, &o, "rotate: positions[0][1] is -1, expected 0 to 3");
    o.positions = beyond;
    expect_refused(context, &y, &x, &o, "rotate: positions[0][2] is 4, expected 0 to 3");
    o = good;
    o.n_rows = 2;
    expect_refused(context, &y, &x, &o, "rotate: rows stand at positions 0 to 2, expected 0 to 1");
    o.n_rows = -1;
    expect_refused(context, &y, &x, &o, "rotate: n_rows is -1,");
    o = good;
    o.rotary_dim = 7;
    expect_refused(context, &y, &x, &o, "rotate: rotary_dim is 7, expected an even number from 2");
    o.rotary_dim = 10;
    expect_refused(context, &y, &x, &o, "rotate: rotary_dim is 10, expected an even number from 2");
    o.rotary_dim = -2;
    expect_refused(context, &y, &x, &o, "rotate: rotary_dim is -2,");
    o = good;
    o.pairs = 2;
    expect_refused(context, &y, &x, &o, "rotate: pairs is 2,");
    o = good;
    o.sin = NULL;
    expect_refused(context, &y, &x, &o, "rotate: sin is NULL");
    o = good;
    o.rotary = rotary;
    expect_refused(context, &y, &x, &o, "rotate: both rotary and tables are given");
    o.cos = o.sin = NULL;
    expect_refused(context, &y, &x, &o, "rotate: rows stand at positions 0 to 2, expected 0 to 1");
    o.size = 0;
    expect_refused(context, &y, &x, &o, "rotate: options: size is 0");
    expect_refused(context, &y, &x, NULL, "rotate: options is NULL");
    expect_refused(NULL, &y, &x, &good, "rotate: context is NULL");
    expect_refused(context, NULL, &x, &good, "rotate: y is NULL");
    guard_expect_untouched(y.data, 48 * sizeof(float), "y");
    headwise_rotary_destroy(rotary);
    headwise_context_destroy(context);
}

static void bad_tensors_are_refused(enum headwise_isa isa) {
    static const float table[64];
    headwise_context *context = call_context(isa, 1);
    struct headwise_tensor x = call_tensor(HEADWISE_F32, 1, 2, 3, 8, NULL), y = x, z = x;
    const struct headwise_rotate_options good = {
        .size = sizeof(good), .cos = table, .sin = table, .n_rows = 4};
    z.size[2] = 2;
    expect_refused(context, &z, &x, &good, "rotate: y has size 2 on its row axis, expected 3");
    z = headwise_tensor_brhc(x.data, HEADWISE_F32, 1, 3, 2, 8);
    expect_refused(context, &z, &x, &good, "rotate: y is x's memory in another type");
    z = x;
    z.dtype = HEADWISE_BF16;
    expect_refused(context, &z, &x, &good, "rotate: y is x's memory in another type");
    z.dtype = HEADWISE_I8;
    expect_refused(context, &y, &z, &good, "rotate: x has type i8");
    z = headwise_tensor_bhrc(x.data, HEADWISE_F32, 1, 2, 3, 7);
    y = z;
    expect_refused(context, &y, &z, &good, "rotate: rotary_dim is 7,");
    x.size[2] = y.size[2] = 0;
    y.size[3] = 8;
    assert_int_equal(headwise_rotate(context, &y, &x, &good), HEADWISE_OK); /* no rows, no work */
    headwise_context_destroy(context);
}

int main(void) {
    const struct test_case cases[] = {
        TEST_CASE(numbers),
        TEST_CASE(random_calls),
        TEST_CASE(the_same_bits_every_way),
        TEST_CASE(rows_without_positions),
        TEST_CASE(bad_options_are_refused),
        TEST_CASE(bad_tensors_are_refused),
    };
    return test_run_tiers(cases, TEST_COUNT(cases));
}
