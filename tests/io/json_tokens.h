/* What the JSON reader reads, as the tokens of make_json.py. */
#ifndef HEADWISE_TESTS_JSON_TOKENS_H
#define HEADWISE_TESTS_JSON_TOKENS_H

#include "io_support.h"

#include <stdbool.h>

#include "json/reader.h"

/* Tokens of a text, as make_json.py writes them. */
struct tokens {
    char text[200000];
    size_t n;
};

static inline void add(struct tokens *t, const char *word) {
    size_t n = strlen(word);
    assert_true(t->n + n + 2 < sizeof t->text);
    if (t->n > 0)
        t->text[t->n++] = ' ';
    memcpy(t->text + t->n, word, n + 1);
    t->n += n;
}

static inline void add_text(struct tokens *t, const char *kind,
                            const struct headwise_json_text *text) {
    char *bytes = malloc(text->size + 1);
    assert_non_null(bytes);
    bytes[text->size] = '\x7e'; /* is not written to */
    headwise_json_copy(bytes, text);
    assert_int_equal(bytes[text->size], '\x7e');
    add(t, kind);
    for (size_t i = 0; i < text->size; i++)
        t->n += (size_t)sprintf(t->text + t->n, "%02x", (unsigned char)bytes[i]);
    assert_int_equal(text->has_nul, memchr(bytes, 0, text->size) != NULL);
    bytes[text->size] = '\0';
    assert_int_equal(headwise_json_equals(text, bytes), !text->has_nul && !text->is_broken);
    free(bytes);
}

static inline void add_number(struct tokens *t, struct headwise_json_reader *json) {
    struct headwise_json_number number;
    int64_t integer = -77;
    double real = -77;
    char word[80];
    uint64_t bits;
    if (!headwise_json_take_number(json, &number))
        return;
    bool is_integer = headwise_json_to_int64(&number, &integer);
    bool is_real = headwise_json_to_double(&number, &real);
    memcpy(&bits, &real, sizeof bits);
    if (!number.is_finite) {
        assert_false(is_integer || is_real);
        add(t, "w");
        return;
    }
    snprintf(word, sizeof word, "i %lld", (long long)integer);
    add(t, is_integer ? word : "i x");
    snprintf(word, sizeof word, "d %016llx", (unsigned long long)bits);
    add(t, is_real ? word : "d x");
    assert_true(is_integer || integer == -77);
    assert_true(is_real || real == -77);
}

static inline void add_value(struct tokens *t, struct headwise_json_reader *json) {
    struct headwise_json_text text;
    bool value;
    switch (headwise_json_peek(json)) {
    case HEADWISE_JSON_NULL:
        if (headwise_json_take_null(json))
            add(t, "n");
        break;
    case HEADWISE_JSON_BOOL:
        if (headwise_json_take_bool(json, &value))
            add(t, value ? "t" : "f");
        break;
    case HEADWISE_JSON_NUMBER:
        add_number(t, json);
        break;
    case HEADWISE_JSON_TEXT:
        if (headwise_json_take_text(json, &text))
            add_text(t, "s", &text);
        break;
    case HEADWISE_JSON_ARRAY:
        add(t, "[");
        headwise_json_enter_array(json);
        while (headwise_json_next_item(json))
            add_value(t, json);
        add(t, "]");
        break;
    case HEADWISE_JSON_OBJECT:
        add(t, "{");
        headwise_json_enter_object(json);
        while (headwise_json_next_key(json, &text)) {
            add_text(t, "k", &text);
            add_value(t, json);
        }
        add(t, "}");
        break;
    case HEADWISE_JSON_NOTHING:
        headwise_json_skip(json, NULL); /* says what is wrong */
    }
}

#endif
