/* The JSON reader: every kind of value, every error with its place, and what Python reads in
 * mutated texts. */
#include "json_tokens.h"

#include <locale.h>

/* An array exactly as long as the text, so that a checker of memory sees a read beyond its end. */
static char *exact(const char *text, size_t size) {
    char *bytes = malloc(size > 0 ? size : 1);
    assert_non_null(bytes);
    memcpy(bytes, text, size);
    return bytes;
}

static void compare_with_python(const char *text, size_t size, const char *expected) {
    static struct tokens tokens;
    char *bytes = exact(text, size);
    struct headwise_json_reader json, skipping;
    tokens.n = 0;
    tokens.text[0] = '\0';
    headwise_json_begin(&json, bytes, size);
    add_value(&tokens, &json);
    bool is_read = headwise_json_end(&json);
    headwise_json_begin(&skipping, bytes, size);
    headwise_json_skip(&skipping, NULL);
    /* Skipping refuses what reading refuses, at the same place. */
    assert_int_equal(headwise_json_end(&skipping), is_read);
    assert_ptr_equal(skipping.error, json.error);
    assert_ptr_equal(skipping.error_at, json.error_at);
    if (!is_read && (json.error_at < bytes || json.error_at > bytes + size))
        fail_msg("an error at byte %td of %zu", json.error_at - bytes, size);
    if (strcmp(is_read ? tokens.text : "bad", expected) != 0)
        fail_msg("\"%.*s\": %s, Python reads %s", (int)size, bytes,
                 is_read ? tokens.text : json.error, expected);
    free(bytes);
}

static void reads_what_python_reads(void **state) {
    (void)state;
    static char line[200000], text[100000];
    FILE *stream = fopen(getenv("HEADWISE_JSON_CASES"), "r");
    int n = 0, n_bad = 0;
    assert_non_null(stream);
    while (fgets(line, sizeof line, stream)) {
        char *space = strchr(line, ' ');
        size_t size = 0;
        line[strcspn(line, "\n")] = '\0';
        assert_non_null(space);
        *space = '\0';
        for (const char *c = line; c[0] != '\0' && c[0] != '-'; c += 2) {
            unsigned byte;
            assert_int_equal(sscanf(c, "%2x", &byte), 1);
            text[size++] = (char)byte;
        }
        compare_with_python(text, size, space + 1);
        n_bad += strcmp(space + 1, "bad") == 0;
        n++;
    }
    fclose(stream);
    assert_true(n > 6000 && n_bad > 3000 && n_bad < n - 1000);
}

static void says_what_is_wrong_where(void **state) {
    (void)state;
    static const struct {
        const char *text, *expected;
    } cases[] = {
        {"", "line 1, column 1 (byte 0): the text ends too early"},
        {"{\n \"a\":\n\t}", "line 3, column 2 (byte 9): expected a value"},
        {"{\"\xc3\xa9\" 1}", "line 1, column 6 (byte 6): expected ':'"},
        {"{\"a\":1 \"b\"}", "line 1, column 8 (byte 7): expected ',' or '}'"},
        {"[1 2]", "line 1, column 4 (byte 3): expected ',' or ']'"},
        {"[1,]", "line 1, column 4 (byte 3): expected a value"},
        {"{\"a\":1,}", "line 1, column 8 (byte 7): expected a key in quotes"},
        {"{1:1}", "line 1, column 2 (byte 1): expected a key in quotes"},
        {"[1,", "line 1, column 4 (byte 3): the text ends too early"},
        {"{}\n{}", "line 2, column 1 (byte 3): expected nothing more"},
        {"\"a", "line 1, column 3 (byte 2): the text ends before the closing quote"},
        {"\"a\\x\"", "line 1, column 3 (byte 2): an unknown escape"},
        {"\"a\\u12g4\"", "line 1, column 3 (byte 2): an unknown escape"},
        {"\"a\nb\"", "line 1, column 3 (byte 2): a control character in text, expected an escape"},
        {"\"a\xe9\"", "line 1, column 3 (byte 2): bytes that are not UTF-8"},
        {"[01]", "line 1, column 2 (byte 1): a number begins with a superfluous 0"},
        {"[1.]", "line 1, column 4 (byte 3): expected a digit"},
        {"[-]", "line 1, column 3 (byte 2): expected a digit"},
        {"[nul]", "line 1, column 2 (byte 1): expected null"},
        {"[True]", "line 1, column 2 (byte 1): expected a value"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct headwise_json_reader json;
        char line[200];
        char *bytes = exact(cases[i].text, strlen(cases[i].text));
        headwise_json_begin(&json, bytes, strlen(cases[i].text));
        headwise_json_skip(&json, NULL);
        assert_false(headwise_json_end(&json));
        headwise_json_describe(line, sizeof line, &json);
        assert_string_equal(line, cases[i].expected);
        free(bytes);
    }
}

static void keeps_the_first_error(void **state) {
    (void)state;
    static const char text[] = "{\"a\": 1, \"b\": [true]}";
    struct headwise_json_reader json;
    struct headwise_json_text found;
    bool value = true;
    headwise_json_begin(&json, text, strlen(text));
    assert_false(headwise_json_enter_array(&json));
    assert_string_equal(json.error, "expected an array");
    assert_false(headwise_json_enter_object(&json));
    assert_false(headwise_json_next_key(&json, &found));
    assert_false(headwise_json_next_item(&json));
    assert_false(headwise_json_take_text(&json, &found));
    assert_false(headwise_json_take_bool(&json, &value));
    assert_false(headwise_json_take_null(&json));
    assert_false(headwise_json_skip(&json, NULL));
    assert_false(headwise_json_end(&json));
    assert_int_equal(headwise_json_peek(&json), HEADWISE_JSON_NOTHING);
    assert_string_equal(json.error, "expected an array");
    assert_ptr_equal(json.at, text);

    headwise_json_begin(&json, text, strlen(text));
    assert_true(headwise_json_enter_object(&json));
    assert_true(headwise_json_next_key(&json, &found));
    assert_false(headwise_json_fail(&json, found.raw.at, "is too small"));
    assert_int_equal(headwise_json_place(&json, json.error_at).byte, 2);
    headwise_json_begin(&json, text, strlen(text));
    assert_false(headwise_json_next_item(&json));
    assert_false(headwise_json_next_key(&json, &found));
}

/* Each level deeper than the limit is refused, as deep as the text may be, and nothing recurses. */
static void bounds_the_depth(void **state) {
    (void)state;
    enum { N = 1000000 };
    char *text = malloc(2 * N);
    assert_non_null(text);
    for (int object = 0; object < 2; object++) {
        for (int depth = HEADWISE_JSON_MAX_DEPTH; depth <= HEADWISE_JSON_MAX_DEPTH + 1; depth++) {
            size_t n = 0;
            for (int i = 0; i < depth; i++)
                n += (size_t)sprintf(text + n, "%s", object && i % 2 ? "{\"\":" : "[");
            text[n++] = '1';
            for (int i = depth - 1; i >= 0; i--)
                text[n++] = object && i % 2 ? '}' : ']';
            struct headwise_json_reader json;
            headwise_json_begin(&json, text, n);
            headwise_json_skip(&json, NULL);
            assert_int_equal(headwise_json_end(&json), depth == HEADWISE_JSON_MAX_DEPTH);
        }
    }
    memset(text, '[', N);
    struct headwise_json_reader json;
    headwise_json_begin(&json, text, N);
    assert_false(headwise_json_skip(&json, NULL));
    assert_string_equal(json.error, "arrays and objects nest deeper than 512 levels");
    free(text);
}

static void finds_the_last_of_equal_keys(void **state) {
    (void)state;
    static const char text[] =
        "\n {\"a\": 1, \"b\": [2, \"a\"], \"\\u0061\" : {\"x\" : NaN} , \"c\":0}";
    struct headwise_json_reader json, inner;
    struct headwise_json_slice object, value = {NULL, 7};
    struct headwise_json_text key;
    struct headwise_json_number number;
    headwise_json_begin(&json, text, strlen(text));
    assert_true(headwise_json_skip(&json, &object));
    assert_int_equal(headwise_json_find(&value, &object, "d"), 0);
    assert_int_equal(value.size, 7);
    assert_int_equal(headwise_json_find(&value, &object, "b"), 1);
    assert_memory_equal(value.at, "[2, \"a\"]", value.size);
    assert_int_equal(headwise_json_find(&value, &object, "a"), 2);
    assert_int_equal(value.size, strlen("{\"x\" : NaN}"));
    assert_memory_equal(value.at, "{\"x\" : NaN}", value.size);
    headwise_json_begin_slice(&inner, text, &value);
    assert_true(headwise_json_enter_object(&inner));
    assert_true(headwise_json_next_key(&inner, &key));
    assert_true(headwise_json_take_number(&inner, &number));
    assert_false(headwise_json_take_null(&inner));
    assert_int_equal(headwise_json_place(&inner, inner.error_at).line, 2);
    assert_int_equal(headwise_json_place(&inner, inner.error_at).byte,
                     (size_t)(strchr(text, 'N') + 3 - text));
}

static void orders_texts_by_their_bytes(void **state) {
    (void)state;
    /* increasing; equal ones side by side */
    static const char *const texts[] = {"",
                                        "\\u0000",
                                        "\\n",
                                        "a",
                                        "\\u0061",
                                        "ab",
                                        "b",
                                        "\\u00e9",
                                        "\xc3\xa9",
                                        "\\ud83d\\ude00",
                                        "\xf0\x9f\x98\x80"};
    static const int ranks[] = {0, 1, 2, 3, 3, 4, 5, 6, 6, 7, 7};
    enum { N = sizeof ranks / sizeof *ranks };
    struct headwise_json_text read[N];
    char quoted[N][40];
    for (int i = 0; i < N; i++) {
        struct headwise_json_reader json;
        int size = snprintf(quoted[i], sizeof quoted[i], "\"%s\"", texts[i]);
        headwise_json_begin(&json, quoted[i], (size_t)size);
        assert_true(headwise_json_take_text(&json, &read[i]));
    }
    for (int i = 0; i < N; i++) {
        for (int j = 0; j < N; j++) {
            int order = headwise_json_compare(&read[i], &read[j]);
            assert_int_equal((order > 0) - (order < 0),
                             (ranks[i] > ranks[j]) - (ranks[i] < ranks[j]));
        }
    }
}

static void reads_numbers_in_any_locale(void **state) {
    (void)state;
    if (!setlocale(LC_NUMERIC, "de_DE.UTF-8") && !setlocale(LC_NUMERIC, "fr_FR.UTF-8"))
        skip(); /* none with a comma is installed */
    compare_with_python("1.5", 3, "i x d 3ff8000000000000");
    setlocale(LC_NUMERIC, "C");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_what_python_reads),
        cmocka_unit_test(says_what_is_wrong_where),
        cmocka_unit_test(keeps_the_first_error),
        cmocka_unit_test(bounds_the_depth),
        cmocka_unit_test(finds_the_last_of_equal_keys),
        cmocka_unit_test(orders_texts_by_their_bytes),
        cmocka_unit_test(reads_numbers_in_any_locale),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
