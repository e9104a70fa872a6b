/* Reads expected.json. */
#include "cases.h"

#include <stdio.h>

#include "cmocka_headers.h"
#include "json/reader.h"

static struct headwise_text take_text(struct encode_cases *cases,
                                      struct headwise_json_reader *json) {
    struct headwise_json_text text;
    assert_true(headwise_json_take_text(json, &text));
    assert_true(cases->n_bytes + text.size + 1 <= CASE_BYTES);
    char *at = cases->bytes + cases->n_bytes;
    headwise_json_copy(at, &text);
    at[text.size] = '\0';
    cases->n_bytes += text.size + 1;
    return (struct headwise_text){at, text.size};
}

static void take_texts(struct encode_cases *cases, struct encode_case *at,
                       struct headwise_json_reader *json, bool pairs) {
    assert_true(headwise_json_enter_array(json));
    while (headwise_json_next_item(json)) {
        assert_true(at->n_texts < CASE_TEXTS);
        if (pairs) {
            assert_true(headwise_json_enter_array(json) && headwise_json_next_item(json));
            at->texts[at->n_texts] = take_text(cases, json);
            assert_true(headwise_json_next_item(json));
            at->pairs[at->n_texts] = take_text(cases, json);
            assert_false(headwise_json_next_item(json));
        } else {
            at->texts[at->n_texts] = take_text(cases, json);
        }
        at->n_texts++;
    }
}

static int64_t take_integer(struct headwise_json_reader *json) {
    struct headwise_json_number number;
    int64_t value;
    assert_true(headwise_json_take_number(json, &number));
    assert_true(headwise_json_to_int64(&number, &value));
    return value;
}

static void take_arguments(struct encode_cases *cases, struct encode_case *at,
                           struct headwise_json_reader *json) {
    struct headwise_json_text key;
    assert_true(headwise_json_enter_object(json));
    while (headwise_json_next_key(json, &key)) {
        if (headwise_json_equals(&key, "prompt"))
            at->prompt = take_text(cases, json);
        else if (headwise_json_equals(&key, "prompt_name"))
            at->prompt_name = take_text(cases, json);
        else if (headwise_json_equals(&key, "truncate_dim"))
            at->truncate_dim = take_integer(json);
        else if (headwise_json_equals(&key, "normalize_embeddings"))
            assert_true(headwise_json_take_bool(json, &at->normalize));
        else
            fail_msg("an argument that is not known: %.*s", (int)key.raw.size, key.raw.at);
    }
}

static void take_case(struct encode_cases *cases, struct headwise_json_reader *json) {
    struct headwise_json_text key;
    assert_true(cases->n < CASES);
    struct encode_case *at = &cases->at[cases->n++];
    *at = (struct encode_case){0};
    assert_true(headwise_json_enter_object(json));
    while (headwise_json_next_key(json, &key)) {
        if (headwise_json_equals(&key, "call"))
            at->number = take_integer(json);
        else if (headwise_json_equals(&key, "arguments"))
            take_arguments(cases, at, json);
        else if (headwise_json_equals(&key, "texts"))
            take_texts(cases, at, json, false);
        else if (headwise_json_equals(&key, "pairs"))
            take_texts(cases, at, json, at->has_pairs = true);
        else
            fail_msg("a key that is not known: %.*s", (int)key.raw.size, key.raw.at);
    }
}

void encode_cases_read(struct encode_cases *cases, const char *path) {
    static char text[CASE_BYTES];
    struct headwise_json_reader json;
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    size_t n = fread(text, 1, sizeof text, file);
    fclose(file);
    assert_true(n < sizeof text);
    cases->n = cases->n_bytes = 0;
    headwise_json_begin(&json, text, n);
    assert_true(headwise_json_enter_array(&json));
    while (headwise_json_next_item(&json))
        take_case(cases, &json);
    assert_true(headwise_json_end(&json));
}
