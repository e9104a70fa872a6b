/* Files that lie: an error line, never a crash, for every cut and every change of a good file. */
#include "small.h"

#include <stdio.h>

static int n_refused, n_opened;

/* Opens a copy exactly as long as the text, and encodes with what can be opened. */
static void try_file(const char *json, size_t size) {
    static const char text[] =
        "Playing  caf\xC3\xA9 <new> 12 quaz [SEP] aaaaa \xE4\xB8\xAD\xCC\x81";
    char *copy = malloc(size > 0 ? size : 1);
    assert_non_null(copy);
    memcpy(copy, json, size);
    headwise_tokenizer *tokenizer = NULL;
    enum headwise_status status = headwise_tokenizer_parse(&tokenizer, copy, size, "hostile", NULL);
    free(copy);
    if (status) {
        assert_null(tokenizer);
        assert_true(status == HEADWISE_ERR_FORMAT || status == HEADWISE_ERR_UNSUPPORTED);
        assert_true(strlen(headwise_model_last_error()) > 10);
        n_refused++;
        return;
    }
    n_opened++;
    headwise_encoding *encoding;
    headwise_decoding *decoding;
    struct headwise_text input = {text, sizeof text - 1}, output;
    assert_int_equal(headwise_encoding_create(&encoding, NULL), HEADWISE_OK);
    assert_int_equal(headwise_decoding_create(&decoding, tokenizer, false, NULL), HEADWISE_OK);
    status = headwise_encode(encoding, tokenizer, &input, &input, NULL);
    const struct headwise_tokens *tokens = headwise_encoding_tokens(encoding);
    if (!status)
        status = headwise_decode(decoding, tokens->ids, tokens->n, &output);
    for (size_t i = 0; i < tokens->n; i++) {
        assert_true(tokens->spans[i].begin <= tokens->spans[i].end);
        assert_true(tokens->spans[i].end <= input.size_bytes);
    }
    headwise_decoding_destroy(decoding);
    headwise_encoding_destroy(encoding);
    headwise_tokenizer_destroy(tokenizer);
}

static void with_every(void (*change)(const char *json)) {
    char *bpe = small_bpe();
    n_refused = n_opened = 0;
    change(small_wordpiece);
    change(small_unigram);
    change(small_wordlevel);
    change(bpe);
    free(bpe);
}

static void cut_everywhere(const char *json) {
    for (size_t i = 0; i < strlen(json); i++)
        try_file(json, i);
}

static void cuts_are_refused(void **state) {
    (void)state;
    with_every(cut_everywhere);
    assert_true(n_refused > 3000);
    assert_int_equal(n_opened, 0);
}

/* Replaces, one after the other, each value: from behind a colon, comma or bracket. */
static void replace_values(const char *json) {
    static const char *const values[] = {"null", "true", "-1",          "4e9",    "\"\"",
                                         "[]",   "{}",   "\"\\u0000\"", "4194304"};
    size_t size = strlen(json);
    char *changed = malloc(size + 32);
    assert_non_null(changed);
    for (size_t i = 1; i < size; i++) {
        if (!strchr(":,[", json[i - 1]) || !strchr("\"0123456789tfn-", json[i]))
            continue;
        size_t end = i + 1;
        while (json[i] == '"' && json[end] != '"')
            end++;
        while (json[i] != '"' && !strchr(",]}", json[end]))
            end++;
        end += json[i] == '"';
        for (size_t k = 0; k < sizeof values / sizeof *values; k++) {
            size_t n = strlen(values[k]);
            memcpy(changed, json, i);
            memcpy(changed + i, values[k], n);
            memcpy(changed + i + n, json + end, size - end);
            try_file(changed, i + n + size - end);
        }
    }
    free(changed);
}

static void values_of_other_kinds(void **state) {
    (void)state;
    with_every(replace_values);
    assert_true(n_refused > 1000 && n_opened > 100);
}

static void flip_bytes(const char *json) {
    size_t size = strlen(json);
    char *changed = malloc(size);
    uint32_t random = 12345;
    assert_non_null(changed);
    for (int i = 0; i < 2000; i++) {
        memcpy(changed, json, size);
        for (int k = 0; k < 2; k++) {
            random = random * 1664525 + 1013904223;
            changed[random % size] = "\"{}[],:0a\x80"[random >> 16 & 7];
        }
        try_file(changed, size);
    }
    free(changed);
}

static void bytes_of_other_kinds(void **state) {
    (void)state;
    with_every(flip_bytes);
    assert_true(n_refused > 1000 && n_opened > 100);
}

static void expect(const char *json, const char *text) {
    headwise_tokenizer *tokenizer = NULL;
    assert_int_not_equal(headwise_tokenizer_parse(&tokenizer, json, strlen(json), "f", NULL),
                         HEADWISE_OK);
    if (!strstr(headwise_model_last_error(), text))
        fail_msg("\"%s\", expected \"%s\"", headwise_model_last_error(), text);
}

static void lines_name_what_is_wrong(void **state) {
    (void)state;
    char deep[4096] = "";
    expect("", "line 1");
    expect("[]", "f: tokenizer: the file is no object");
    expect("{}", "model is missing");
    expect("{\"model\":{\"type\":\"Neural\"}}", "type 'Neural' is not supported");
    expect("{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0},\"merges\":[\"a b\"]}}",
           "merges join 'a' and 'b'");
    expect("{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0},\"merges\":[\"a a\"]}}",
           "merges join");
    expect("{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":4194304},\"merges\":[]}}",
           "id that is not in 0..4194303");
    expect("{\"model\":{\"type\":\"BPE\",\"dropout\":0.1,\"vocab\":{},\"merges\":[]}}",
           "dropout 0.1");
    expect("{\"model\":{\"type\":\"Unigram\",\"unk_id\":1,\"vocab\":[[\"a\",0]]}}", "unk_id");
    expect("{\"model\":{\"type\":\"WordLevel\",\"unk_token\":\"a\",\"vocab\":{}},\"normalizer\":{"
           "\"type\":\"Magic\"}}",
           "f: normalizer: type 'Magic' is not supported");
    expect(
        "{\"model\":{\"type\":\"WordLevel\",\"unk_token\":\"a\",\"vocab\":{}},\"pre_tokenizer\":{"
        "\"type\":\"Split\",\"pattern\":{\"Regex\":\"(\"},\"behavior\":\"Isolated\",\"invert\":"
        "false}}",
        "the regular expression '(' is not supported");
    strcpy(deep, "{\"model\":{\"type\":\"WordLevel\",\"unk_token\":\"a\",\"vocab\":{}},"
                 "\"decoder\":");
    for (int i = 0; i < 20; i++)
        strcat(deep, "{\"type\":\"Sequence\",\"decoders\":[");
    strcat(deep, "{\"type\":\"Fuse\"}");
    for (int i = 0; i < 20; i++)
        strcat(deep, "]}");
    strcat(deep, "}");
    expect(deep, "nested more than 8 deep");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cuts_are_refused),
        cmocka_unit_test(values_of_other_kinds),
        cmocka_unit_test(bytes_of_other_kinds),
        cmocka_unit_test(lines_name_what_is_wrong),
    };
    return cmocka_run_group_tests_name("text/hostile", tests, NULL, NULL);
}
