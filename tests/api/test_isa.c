/* Names, the choice of a tier, versions, statuses, tensor constructors. */
#define _DEFAULT_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "headwise/headwise.h"

#include "runner.h"

static const char *const names[] = {"auto", "scalar", "avx2", "avx512", "neon"};

static void names_round_trip(enum headwise_isa unused) {
    (void)unused;
    for (int i = HEADWISE_ISA_AUTO; i <= HEADWISE_ISA_NEON; i++) {
        enum headwise_isa isa = HEADWISE_ISA_SCALAR;
        assert_string_equal(headwise_isa_name((enum headwise_isa)i), names[i]);
        assert_int_equal(headwise_isa_from_name(&isa, names[i]), HEADWISE_OK);
        assert_int_equal(isa, i);
    }
    assert_string_equal(headwise_isa_name((enum headwise_isa)77), "?");
    assert_string_equal(headwise_isa_name((enum headwise_isa) - 1), "?");
}

static void other_names_are_refused(enum headwise_isa unused) {
    const char *const wrong[] = {"", "AVX2", "avx", "avx2 ", " avx2", "sse2", "avx5123", NULL};
    (void)unused;
    for (size_t i = 0; i < TEST_COUNT(wrong); i++) {
        enum headwise_isa isa = HEADWISE_ISA_NEON;
        assert_int_equal(headwise_isa_from_name(&isa, wrong[i]), HEADWISE_ERR_INVALID);
        assert_int_equal(isa, HEADWISE_ISA_NEON);
    }
    assert_int_equal(headwise_isa_from_name(NULL, "avx2"), HEADWISE_ERR_INVALID);
}

static void the_best_tier_is_usable(enum headwise_isa unused) {
    (void)unused;
    enum headwise_isa best = headwise_isa_best();
    assert_true(headwise_isa_built(HEADWISE_ISA_SCALAR));
    assert_true(headwise_isa_usable(HEADWISE_ISA_SCALAR));
    assert_true(headwise_isa_usable(best));
    assert_false(headwise_isa_built(HEADWISE_ISA_AUTO));
    assert_false(headwise_isa_usable(HEADWISE_ISA_AUTO));
    for (int i = HEADWISE_ISA_SCALAR; i <= HEADWISE_ISA_NEON; i++) {
        enum headwise_isa isa = (enum headwise_isa)i;
        assert_false(headwise_isa_usable(isa) && !headwise_isa_built(isa));
        assert_false(headwise_isa_usable(isa) && isa > best);
    }
    assert_false(headwise_isa_built((enum headwise_isa)77));
    assert_false(headwise_isa_usable((enum headwise_isa)77));
    print_message("best tier: %s\n", headwise_isa_name(best));
}

/* On a known processor (under emulation, in the project's checks) the choice is known. */
static void the_expected_tier_is_chosen(enum headwise_isa unused) {
    const char *expected = getenv("HEADWISE_EXPECT_ISA");
    (void)unused;
    assert_string_equal(headwise_isa_name(headwise_isa_best()), expected);
}

static enum headwise_status create(enum headwise_isa isa, headwise_context **context) {
    struct headwise_context_options options = {.size = sizeof(options), .isa = isa, .n_threads = 1};
    return headwise_context_create(context, &options);
}

/* Option, then HEADWISE_ISA, then the best: and never a stand-in for what cannot run. */
static void a_context_has_the_tier_it_was_asked_for(enum headwise_isa unused) {
    (void)unused;
    for (int i = HEADWISE_ISA_AUTO; i <= HEADWISE_ISA_NEON; i++) {
        enum headwise_isa isa = (enum headwise_isa)i;
        headwise_context *context = NULL;
        bool usable = isa == HEADWISE_ISA_AUTO || headwise_isa_usable(isa);
        assert_int_equal(create(isa, &context), usable ? HEADWISE_OK : HEADWISE_ERR_UNSUPPORTED);
        assert_int_equal(context != NULL, usable);
        if (isa != HEADWISE_ISA_AUTO && usable)
            assert_int_equal(headwise_context_describe(context)->isa, isa);
        headwise_context_destroy(context);
    }
}

static void the_environment_decides_for_auto(enum headwise_isa unused) {
    const char *before = getenv("HEADWISE_ISA");
    char *saved = before != NULL ? strdup(before) : NULL;
    headwise_context *context = NULL;
    (void)unused;
    for (int i = HEADWISE_ISA_AUTO; i <= HEADWISE_ISA_NEON; i++) {
        enum headwise_isa isa = (enum headwise_isa)i;
        bool usable = isa == HEADWISE_ISA_AUTO || headwise_isa_usable(isa);
        setenv("HEADWISE_ISA", names[i], 1);
        assert_int_equal(create(HEADWISE_ISA_AUTO, &context),
                         usable ? HEADWISE_OK : HEADWISE_ERR_UNSUPPORTED);
        if (usable)
            assert_int_equal(headwise_context_describe(context)->isa,
                             isa == HEADWISE_ISA_AUTO ? headwise_isa_best() : isa);
        headwise_context_destroy(context);
        context = NULL;
    }
    setenv("HEADWISE_ISA", "pentium", 1);
    assert_int_equal(create(HEADWISE_ISA_AUTO, &context), HEADWISE_ERR_INVALID);
    assert_non_null(strstr(headwise_last_error(), "pentium"));
    assert_int_equal(create(HEADWISE_ISA_SCALAR, &context), HEADWISE_OK); /* not consulted */
    headwise_context_destroy(context);
    setenv("HEADWISE_ISA", "", 1);
    assert_int_equal(create(HEADWISE_ISA_AUTO, &context), HEADWISE_OK); /* as if not set */
    assert_int_equal(headwise_context_describe(context)->isa, headwise_isa_best());
    headwise_context_destroy(context);
    if (saved != NULL)
        setenv("HEADWISE_ISA", saved, 1);
    else
        unsetenv("HEADWISE_ISA");
    free(saved);
}

static void version_and_names(enum headwise_isa unused) {
    char version[32];
    (void)unused;
    snprintf(version, sizeof(version), "%d.%d.%d", HEADWISE_VERSION_MAJOR, HEADWISE_VERSION_MINOR,
             HEADWISE_VERSION_PATCH);
    assert_string_equal(version, HEADWISE_VERSION);
    assert_string_equal(headwise_version(), HEADWISE_VERSION);
    assert_int_equal(HEADWISE_VERSION_NUMBER, 100);
    assert_int_equal(headwise_version_number(), HEADWISE_VERSION_NUMBER);
    const size_t sizes[] = {4, 2, 2, 1, 1};
    const char *const types[] = {"f32", "f16", "bf16", "bool", "i8"};
    for (int i = 0; i < 5; i++) {
        assert_int_equal(headwise_dtype_size((enum headwise_dtype)i), sizes[i]);
        assert_string_equal(headwise_dtype_name((enum headwise_dtype)i), types[i]);
    }
    assert_int_equal(headwise_dtype_size((enum headwise_dtype)99), 0);
    assert_string_equal(headwise_dtype_name((enum headwise_dtype)99), "?");
    for (int i = -1; i < 100; i++)
        assert_true(strlen(headwise_status_name((enum headwise_status)i)) > 0);
    assert_string_equal(headwise_status_name(HEADWISE_OK), "ok");
    assert_string_equal(headwise_status_name(HEADWISE_ERR_INVALID), "invalid argument");
}

static void tensor_constructors(enum headwise_isa unused) {
    float data[1] = {0};
    const int64_t size[] = {2, 3, 4, 5}, bhrc[] = {60, 20, 5, 1}, brhc[] = {60, 5, 15, 1};
    (void)unused;
    struct headwise_tensor a = headwise_tensor_bhrc(data, HEADWISE_F16, 2, 3, 4, 5);
    struct headwise_tensor b = headwise_tensor_brhc(data, HEADWISE_BF16, 2, 4, 3, 5);
    assert_ptr_equal(a.data, data);
    assert_ptr_equal(b.data, data);
    assert_int_equal(a.dtype, HEADWISE_F16);
    assert_int_equal(b.dtype, HEADWISE_BF16);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(a.size[i], size[i]);
        assert_int_equal(b.size[i], size[i]);
        assert_int_equal(a.stride[i], bhrc[i]);
        assert_int_equal(b.stride[i], brhc[i]);
    }
}

/* Strides are 64-bit products, without any memory behind them. */
static void large_tensors_have_large_strides(enum headwise_isa unused) {
    (void)unused;
    struct headwise_tensor a = headwise_tensor_bhrc(NULL, HEADWISE_F32, 32, 20, 2000, 2000);
    assert_int_equal(a.size[0] * a.stride[0], 2560000000);
    struct headwise_tensor b = headwise_tensor_bhrc(NULL, HEADWISE_F32, 1, 32, 16384, 16384);
    assert_int_equal(b.stride[0], 8589934592);
    struct headwise_tensor c = headwise_tensor_brhc(NULL, HEADWISE_F32, 32, 2000, 20, 2000);
    assert_int_equal(c.size[0] * c.stride[0], 2560000000);
}

int main(void) {
    const struct test_case cases[] = {
        TEST_CASE(names_round_trip),
        TEST_CASE(other_names_are_refused),
        TEST_CASE(the_best_tier_is_usable),
        TEST_CASE(a_context_has_the_tier_it_was_asked_for),
        TEST_CASE(the_environment_decides_for_auto),
        TEST_CASE(version_and_names),
        TEST_CASE(tensor_constructors),
        TEST_CASE(large_tensors_have_large_strides),
        TEST_CASE(the_expected_tier_is_chosen), /* last: only where one is expected */
    };
    bool expects = getenv("HEADWISE_EXPECT_ISA") != NULL;
    return test_run_once(cases, TEST_COUNT(cases) - (expects ? 0 : 1));
}
