/* Rotary tables: every scaling against its formula, the same bits on every machine, bad configs. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bounds.h"
#include "call.h"
#include "compare.h"
#include "guard.h"
#include "runner.h"

static const double pi = 3.14159265358979323846;

static const double short_list[] = {1, 1.05, 1.2, 1.5, 2, 2.5};
static const double long_list[] = {1, 1.5, 4, 9, 20, 55};

#define ROTARY(...)                                                                                \
    { .size = sizeof(struct headwise_rotary_config), __VA_ARGS__ }

struct table_case {
    const char *name;
    struct headwise_rotary_config config;
    double attention_factor;
    uint64_t hash; /* FNV-1a of cosines and sines: the same on every machine */
};

static const struct table_case table_cases[] = {
    {"default base", ROTARY(.rotary_dim = 4, .n_positions = 9), 1, 0x9dd4a1f81d1acaec},
    {"base", ROTARY(.rotary_dim = 128, .n_positions = 3000, .base = 500000), 1, 0xcb875e3a2cd58618},
    {"one pair", ROTARY(.rotary_dim = 2, .n_positions = 600, .base = 0.5), 1, 0xf3c7bfb923b7510c},
    {"linear",
     ROTARY(.rotary_dim = 36, .n_positions = 700, .scaling = HEADWISE_SCALING_LINEAR, .factor = 8),
     1, 0x9a2fd423993b8fb3},
    {"given attention factor",
     ROTARY(.rotary_dim = 8, .n_positions = 40, .scaling = HEADWISE_SCALING_LINEAR, .factor = 2.5,
            .attention_factor = 1.25),
     1.25, 0x7486700d72a7f5f1},
    {"llama 3.1",
     ROTARY(.rotary_dim = 128, .n_positions = 9000, .base = 500000,
            .scaling = HEADWISE_SCALING_LLAMA3, .factor = 8, .original_positions = 8192),
     1, 0x7ca4713660e22ad8},
    {"llama 3.2",
     ROTARY(.rotary_dim = 64, .n_positions = 400, .base = 500000,
            .scaling = HEADWISE_SCALING_LLAMA3, .factor = 32, .original_positions = 8192,
            .low_freq_factor = 2, .high_freq_factor = 9),
     1, 0xf41f04ba107a2579},
    {"yarn",
     ROTARY(.rotary_dim = 64, .n_positions = 5000, .scaling = HEADWISE_SCALING_YARN, .factor = 16,
            .original_positions = 4096),
     1.2772588722239782, 0x67cda6f6c21b7cf9},
    {"gpt-oss",
     ROTARY(.rotary_dim = 64, .n_positions = 300, .base = 150000, .scaling = HEADWISE_SCALING_YARN,
            .factor = 32, .original_positions = 4096, .beta_fast = 32, .beta_slow = 1,
            .keep_fractions = true),
     1.3465735902799727, 0xea10124b65d4ec11},
    {"yarn, factor below 1",
     ROTARY(.rotary_dim = 16, .n_positions = 30, .base = 1.5, .scaling = HEADWISE_SCALING_YARN,
            .factor = 0.5, .original_positions = 100),
     1, 0x8624da24ce882bdf},
    {"longrope, short",
     ROTARY(.rotary_dim = 12, .n_positions = 100, .scaling = HEADWISE_SCALING_LONGROPE,
            .factor = 32, .original_positions = 100, .short_factors = short_list),
     1.3238485521992132, 0x376cdb23fc06009d},
    {"longrope, long",
     ROTARY(.rotary_dim = 12, .n_positions = 101, .scaling = HEADWISE_SCALING_LONGROPE,
            .attention_factor = 1.19, .original_positions = 100, .long_factors = long_list),
     1.19, 0x8a1307e6c2c5c1b6},
};

static double or_default(double x, double default_value) {
    return x == 0 ? default_value : x;
}

/* As the transformers library writes it: by wavelengths. */
static double llama3(const struct headwise_rotary_config *c, double f) {
    double low = or_default(c->low_freq_factor, 1), high = or_default(c->high_freq_factor, 4);
    double original = (double)c->original_positions, wavelength = 2 * pi / f;
    if (wavelength < original / high)
        return f;
    if (wavelength > original / low)
        return f / c->factor;
    double smooth = (original / wavelength - low) / (high - low);
    return (1 - smooth) * f / c->factor + smooth * f;
}

static double correction_dim(const struct headwise_rotary_config *c, double rotations) {
    return (double)c->rotary_dim * log((double)c->original_positions / (rotations * 2 * pi)) /
           (2 * log(or_default(c->base, 10000)));
}

static double yarn(const struct headwise_rotary_config *c, double f, int64_t j) {
    double low = correction_dim(c, or_default(c->beta_fast, 32));
    double high = correction_dim(c, or_default(c->beta_slow, 1));
    if (!c->keep_fractions) {
        low = floor(low);
        high = ceil(high);
    }
    if (low < 0)
        low = 0;
    if (high > (double)c->rotary_dim - 1)
        high = (double)c->rotary_dim - 1;
    if (low == high)
        high += 0.001;
    double ramp = ((double)j - low) / (high - low);
    double extrapolation = 1 - (ramp < 0 ? 0 : ramp > 1 ? 1 : ramp);
    return f / c->factor * (1 - extrapolation) + f * extrapolation;
}

static double frequency(const struct headwise_rotary_config *c, int64_t j) {
    double f = 1 / pow(or_default(c->base, 10000), 2 * (double)j / (double)c->rotary_dim);
    switch (c->scaling) {
    case HEADWISE_SCALING_LINEAR:
        return f / c->factor;
    case HEADWISE_SCALING_LLAMA3:
        return llama3(c, f);
    case HEADWISE_SCALING_YARN:
        return yarn(c, f, j);
    case HEADWISE_SCALING_LONGROPE:
        return f / (c->n_positions > c->original_positions ? long_list : short_list)[j];
    default:
        return f;
    }
}

static headwise_rotary *make_table(headwise_context *context,
                                   const struct headwise_rotary_config *config) {
    headwise_rotary *rotary = NULL;
    if (headwise_rotary_create(&rotary, context, config) != HEADWISE_OK)
        fail_msg("headwise_rotary_create: %s", headwise_last_error());
    return rotary;
}

/* An angle of p * f has an error of a few ULP of float64, which cosine and sine pass on; then one
 * rounding to f32. */
static void expect_table(const struct table_case *c, const headwise_rotary *rotary) {
    int64_t pairs = c->config.rotary_dim / 2;
    const float *cosines = headwise_rotary_describe(rotary)->cos,
                *sines = headwise_rotary_describe(rotary)->sin;
    for (int64_t p = 0; p < c->config.n_positions; p++)
        for (int64_t j = 0; j < pairs; j++) {
            double angle = (double)p * frequency(&c->config, j);
            double loose = c->attention_factor * (angle + 1) * 0x1p-49;
            double want = c->attention_factor * cos(angle);
            compare_expect((double)cosines[p * pairs + j], want, BOUND_U * fabs(want) + loose,
                           "%s: cos[%d][%d]", c->name, (int)p, (int)j);
            want = c->attention_factor * sin(angle);
            compare_expect((double)sines[p * pairs + j], want, BOUND_U * fabs(want) + loose,
                           "%s: sin[%d][%d]", c->name, (int)p, (int)j);
        }
}

static void tables_follow_their_formulas(enum headwise_isa isa) {
    headwise_context *context = call_context(isa, 2);
    for (size_t i = 0; i < TEST_COUNT(table_cases); i++) {
        const struct table_case *c = &table_cases[i];
        headwise_rotary *rotary = make_table(context, &c->config);
        expect_table(c, rotary);
        compare_expect(headwise_rotary_describe(rotary)->attention_factor, c->attention_factor,
                       1e-15, "%s: attention factor", c->name);
        assert_int_equal(headwise_rotary_describe(rotary)->rotary_dim, c->config.rotary_dim);
        assert_int_equal(headwise_rotary_describe(rotary)->n_positions, c->config.n_positions);
        assert_int_equal(headwise_rotary_describe(rotary)->pairs, HEADWISE_PAIRS_HALF);
        headwise_rotary_destroy(rotary);
    }
    headwise_context_destroy(context);
}

static void tables_are_the_same_everywhere(enum headwise_isa isa) {
    const int threads[] = {1, 3, 8};
    bool same = true;
    for (size_t i = 0; i < TEST_COUNT(table_cases); i++)
        for (size_t t = 0; t < TEST_COUNT(threads); t++) {
            const struct table_case *c = &table_cases[i];
            headwise_context *context = call_context(isa, threads[t]);
            headwise_rotary *rotary = make_table(context, &c->config);
            headwise_context_destroy(context);
            size_t bytes =
                (size_t)(c->config.n_positions * (c->config.rotary_dim / 2)) * sizeof(float);
            uint64_t hash =
                compare_hash(COMPARE_HASH_BASIS, headwise_rotary_describe(rotary)->cos, bytes);
            hash = compare_hash(hash, headwise_rotary_describe(rotary)->sin, bytes);
            headwise_rotary_destroy(rotary);
            if (hash != c->hash) {
                print_error("%s: hash is 0x%016llx\n", c->name, (unsigned long long)hash);
                same = false;
            }
        }
    assert_true(same);
}

struct bad_config {
    const char *text; /* how the error begins */
    struct headwise_rotary_config config;
};

static const double negative_list[] = {1, 1, -2, 1};

static const struct bad_config bad_configs[] = {
    {"rotary: config: size is 0", {.rotary_dim = 8, .n_positions = 4}},
    {"rotary: config: size is", {.size = sizeof(struct headwise_rotary_config) + 8}},
    {"rotary: rotary_dim is 0,", ROTARY(.n_positions = 4)},
    {"rotary: rotary_dim is 7,", ROTARY(.rotary_dim = 7, .n_positions = 4)},
    {"rotary: rotary_dim is -2,", ROTARY(.rotary_dim = -2, .n_positions = 4)},
    {"rotary: n_positions is 0,", ROTARY(.rotary_dim = 8)},
    {"rotary: n_positions is -1,", ROTARY(.rotary_dim = 8, .n_positions = -1)},
    {"rotary: the table of", ROTARY(.rotary_dim = 8, .n_positions = INT64_MAX / 8)},
    {"rotary: the table of", ROTARY(.rotary_dim = INT64_MAX - 1, .n_positions = INT64_MAX)},
    {"rotary: pairs is 2,", ROTARY(.rotary_dim = 8, .n_positions = 4, .pairs = 2)},
    {"rotary: scaling is 5,", ROTARY(.rotary_dim = 8, .n_positions = 4, .scaling = 5)},
    {"rotary: base is -1,", ROTARY(.rotary_dim = 8, .n_positions = 4, .base = -1)},
    {"rotary: base is inf,", ROTARY(.rotary_dim = 8, .n_positions = 4, .base = INFINITY)},
    {"rotary: base is nan,", ROTARY(.rotary_dim = 8, .n_positions = 4, .base = NAN)},
    {"rotary: base is 1,",
     ROTARY(.rotary_dim = 8, .n_positions = 4, .base = 1, .scaling = HEADWISE_SCALING_YARN)},
    {"rotary: factor is 0,",
     ROTARY(.rotary_dim = 8, .n_positions = 4, .scaling = HEADWISE_SCALING_LINEAR)},
    {"rotary: factor is -2,",
     ROTARY(.rotary_dim = 8, .n_positions = 4, .scaling = HEADWISE_SCALING_YARN, .factor = -2)},
    {"rotary: original_positions is 0,",
     ROTARY(.rotary_dim = 8, .n_positions = 4, .scaling = HEADWISE_SCALING_YARN, .factor = 2)},
    {"rotary: original_positions is 1,",
     ROTARY(.rotary_dim = 8, .n_positions = 4, .scaling = HEADWISE_SCALING_LONGROPE, .factor = 2,
            .original_positions = 1)},
    {"rotary: low_freq_factor is -1,",
     ROTARY(.rotary_dim = 8, .n_positions = 4, .scaling = HEADWISE_SCALING_LLAMA3, .factor = 2,
            .original_positions = 9, .low_freq_factor = -1)},
    {"rotary: high_freq_factor is 3, expected a finite number above 3",
     ROTARY(.rotary_dim = 8, .n_positions = 4, .scaling = HEADWISE_SCALING_LLAMA3, .factor = 2,
            .original_positions = 9, .low_freq_factor = 3, .high_freq_factor = 3)},
    {"rotary: beta_fast is -1,",
     ROTARY(.rotary_dim = 8, .n_positions = 4, .scaling = HEADWISE_SCALING_YARN, .factor = 2,
            .original_positions = 9, .beta_fast = -1)},
    {"rotary: beta_slow is inf,",
     ROTARY(.rotary_dim = 8, .n_positions = 4, .scaling = HEADWISE_SCALING_YARN, .factor = 2,
            .original_positions = 9, .beta_slow = INFINITY)},
    {"rotary: short_factors is NULL,",
     ROTARY(.rotary_dim = 8, .n_positions = 4, .scaling = HEADWISE_SCALING_LONGROPE, .factor = 2,
            .original_positions = 9, .long_factors = long_list)},
    {"rotary: long_factors[2] is -2,",
     ROTARY(.rotary_dim = 8, .n_positions = 10, .scaling = HEADWISE_SCALING_LONGROPE, .factor = 2,
            .original_positions = 9, .long_factors = negative_list)},
    {"rotary: factor is 0,",
     ROTARY(.rotary_dim = 8, .n_positions = 10, .scaling = HEADWISE_SCALING_LONGROPE,
            .original_positions = 9, .long_factors = long_list)},
    {"rotary: attention_factor is -1,",
     ROTARY(.rotary_dim = 8, .n_positions = 4, .attention_factor = -1)},
};

static void bad_configs_are_refused(enum headwise_isa isa) {
    headwise_context *context = call_context(isa, 1);
    headwise_rotary *rotary = NULL, **none = NULL;
    for (size_t i = 0; i < TEST_COUNT(bad_configs); i++) {
        const char *text = bad_configs[i].text;
        assert_int_equal(headwise_rotary_create(&rotary, context, &bad_configs[i].config),
                         HEADWISE_ERR_INVALID);
        if (strncmp(headwise_last_error(), text, strlen(text)) != 0)
            fail_msg("error \"%s\", expected \"%s...\"", headwise_last_error(), text);
    }
    const struct headwise_rotary_config *good = &table_cases[0].config;
    assert_int_equal(headwise_rotary_create(none, context, good), HEADWISE_ERR_INVALID);
    assert_int_equal(headwise_rotary_create(&rotary, NULL, good), HEADWISE_ERR_INVALID);
    assert_int_equal(headwise_rotary_create(&rotary, context, NULL), HEADWISE_ERR_INVALID);
    assert_null(rotary);
    headwise_rotary_destroy(NULL);
    headwise_context_destroy(context);
}

static int allocations_left, allocations_alive;

static void *failing_alloc(void *user, size_t size_bytes, size_t alignment) {
    (void)user;
    if (allocations_left-- <= 0)
        return NULL;
    allocations_alive++;
    return aligned_alloc(alignment, (size_bytes + alignment - 1) / alignment * alignment);
}

static void counted_release(void *user, void *memory, size_t size_bytes) {
    (void)user;
    (void)size_bytes;
    allocations_alive--;
    free(memory);
}

/* Each allocation fails once; then there are enough of them. */
static void no_memory(enum headwise_isa isa) {
    struct headwise_context_options options = {.size = sizeof(options),
                                               .isa = isa,
                                               .n_threads = 1,
                                               .allocator = {failing_alloc, counted_release, NULL}};
    headwise_context *context = NULL;
    headwise_rotary *rotary = NULL;
    int failures = 0;
    allocations_left = 1;
    assert_int_equal(headwise_context_create(&context, &options), HEADWISE_OK);
    for (;; failures++) {
        allocations_left = failures;
        if (headwise_rotary_create(&rotary, context, &table_cases[1].config) == HEADWISE_OK)
            break;
        assert_null(rotary);
        assert_int_equal(allocations_alive, 1);
    }
    assert_int_equal(failures, 4);
    headwise_rotary_destroy(rotary);
    headwise_context_destroy(context);
    assert_int_equal(allocations_alive, 0);
}

int main(void) {
    const struct test_case cases[] = {
        TEST_CASE(tables_follow_their_formulas),
        TEST_CASE(tables_are_the_same_everywhere),
        TEST_CASE(bad_configs_are_refused),
        TEST_CASE(no_memory),
    };
    return test_run_tiers(cases, TEST_COUNT(cases));
}
