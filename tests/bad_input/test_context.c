/* headwise_context_create() with wrong options, and the error text. */
#include <pthread.h>
#include <string.h>

#include "call.h"
#include "counting.h"
#include "guard.h"
#include "runner.h"

static void expect_refused(struct headwise_context_options options, const char *what) {
    headwise_context *const unchanged = (headwise_context *)&options;
    headwise_context *context = unchanged;
    enum headwise_status status = headwise_context_create(&context, &options);
    if (status != HEADWISE_ERR_INVALID)
        fail_msg("%s: status %s", what, headwise_status_name(status));
    assert_ptr_equal(context, unchanged);
    assert_int_equal(strncmp(headwise_last_error(), "context: ", 9), 0);
}

static void wrong_options_are_refused(enum headwise_isa unused) {
    struct counting counting = COUNTING_UNLIMITED;
    const struct headwise_context_options valid = {.size = sizeof(valid)};
    struct headwise_context_options o = valid;
    (void)unused;
    o.size = 0;
    expect_refused(o, "size 0");
    o.size = sizeof(o) - 1;
    expect_refused(o, "size in the middle of a field");
    o = valid;
    o.n_threads = -1;
    expect_refused(o, "negative threads");
    o.n_threads = 1025;
    expect_refused(o, "too many threads");
    o = valid;
    o.allocator = counting_allocator(&counting);
    o.allocator.release = NULL;
    expect_refused(o, "allocator without release");
    o.allocator = counting_allocator(&counting);
    o.allocator.alloc = NULL;
    expect_refused(o, "allocator without alloc");
    assert_int_equal(headwise_context_create(NULL, &valid), HEADWISE_ERR_INVALID);
    assert_int_equal(counting.n_calls, 0);
}

static void a_value_that_is_no_tier_is_refused(enum headwise_isa unused) {
    const int values[] = {-1, 5, 77};
    (void)unused;
    for (size_t i = 0; i < TEST_COUNT(values); i++) {
        headwise_context *context = NULL;
        struct headwise_context_options options = {.size = sizeof(options),
                                                   .isa = (enum headwise_isa)values[i]};
        assert_int_equal(headwise_context_create(&context, &options), HEADWISE_ERR_INVALID);
        assert_null(context);
    }
}

static void *fail_elsewhere(void *text) {
    strcpy(text, headwise_last_error()); /* empty: this thread has not failed yet */
    headwise_context_create(NULL, NULL);
    return NULL;
}

/* The text belongs to the thread, and a successful call leaves it. */
static void the_error_text_is_the_threads_own(enum headwise_isa isa) {
    struct headwise_context_options options = {.size = sizeof(options), .n_threads = -7};
    headwise_context *context = NULL;
    char other[256] = "?", mine[256];
    pthread_t thread;
    assert_int_equal(headwise_context_create(&context, &options), HEADWISE_ERR_INVALID);
    assert_non_null(strstr(headwise_last_error(), "-7"));
    strcpy(mine, headwise_last_error());
    assert_int_equal(pthread_create(&thread, NULL, fail_elsewhere, other), 0);
    pthread_join(thread, NULL);
    assert_string_equal(other, "");
    assert_string_equal(headwise_last_error(), mine);
    headwise_context_destroy(call_context(isa, 1));
    assert_string_equal(headwise_last_error(), mine);
}

int main(void) {
    const struct test_case cases[] = {
        TEST_CASE(wrong_options_are_refused),
        TEST_CASE(a_value_that_is_no_tier_is_refused),
        TEST_CASE(the_error_text_is_the_threads_own),
    };
    return test_run_once(cases, TEST_COUNT(cases));
}
