/* Reads lines of cases.jsonl. */
#include "vector_line.h"

#include "cmocka_headers.h"
#include "json/reader.h"

static struct headwise_text take_text(struct vector_line *line, struct headwise_json_reader *json) {
    struct headwise_json_text text;
    assert_true(headwise_json_take_text(json, &text));
    assert_true(line->n_bytes + text.size <= LINE_BYTES);
    char *at = line->bytes + line->n_bytes;
    headwise_json_copy(at, &text);
    line->n_bytes += text.size;
    return (struct headwise_text){at, text.size};
}

static int64_t take_integer(struct headwise_json_reader *json) {
    struct headwise_json_number number;
    int64_t value;
    assert_true(headwise_json_take_number(json, &number));
    assert_true(headwise_json_to_int64(&number, &value));
    return value;
}

static void take_integers(struct headwise_json_reader *json, int64_t *values, size_t *n) {
    assert_true(headwise_json_enter_array(json));
    for (*n = 0; headwise_json_next_item(json); (*n)++) {
        assert_true(*n < LINE_TOKENS);
        values[*n] = take_integer(json);
    }
}

static void take_tokens(struct vector_line *line, struct headwise_json_reader *json) {
    assert_true(headwise_json_enter_array(json));
    while (headwise_json_next_item(json)) {
        assert_true(line->n_tokens < LINE_TOKENS);
        line->tokens[line->n_tokens++] = take_text(line, json);
    }
}

static void take_offsets(struct vector_line *line, struct headwise_json_reader *json) {
    assert_true(headwise_json_enter_array(json));
    while (headwise_json_next_item(json)) {
        size_t n;
        assert_true(line->n_offsets < LINE_TOKENS);
        int64_t pair[LINE_TOKENS];
        take_integers(json, pair, &n);
        assert_int_equal(n, 2);
        line->offsets[line->n_offsets][0] = pair[0];
        line->offsets[line->n_offsets++][1] = pair[1];
    }
}

static void take_value(struct vector_line *line, struct headwise_json_reader *json,
                       const struct headwise_json_text *key) {
    if (headwise_json_equals(key, "text")) {
        line->text = take_text(line, json);
    } else if (headwise_json_equals(key, "pair")) {
        line->pair = take_text(line, json);
        line->has_pair = true;
    } else if (headwise_json_equals(key, "special")) {
        assert_true(headwise_json_take_bool(json, &line->special));
    } else if (headwise_json_equals(key, "ids")) {
        take_integers(json, line->ids, &line->n_ids);
    } else if (headwise_json_equals(key, "types")) {
        take_integers(json, line->types, &line->n_types);
    } else if (headwise_json_equals(key, "tokens")) {
        take_tokens(line, json);
    } else if (headwise_json_equals(key, "offsets")) {
        take_offsets(line, json);
    } else if (headwise_json_equals(key, "decoded")) {
        line->decoded = take_text(line, json);
        line->has_decoded = true;
    } else if (headwise_json_equals(key, "decoded_all")) {
        line->decoded_all = take_text(line, json);
    } else if (headwise_json_equals(key, "max_length")) {
        line->limit = take_integer(json);
        line->has_limit = true;
    } else if (headwise_json_equals(key, "strategy")) {
        line->strategy = take_text(line, json);
    } else if (headwise_json_equals(key, "error")) {
        line->has_error = true;
        headwise_json_skip(json, NULL);
    } else {
        fail_msg("a key that is not known: %.*s", (int)key->raw.size, key->raw.at);
    }
}

void vector_line_read(struct vector_line *line, const char *json, size_t size) {
    struct headwise_json_reader reader;
    struct headwise_json_text key;
    line->has_pair = line->special = line->has_error = line->has_decoded = line->has_limit = false;
    line->n_ids = line->n_types = line->n_tokens = line->n_offsets = line->n_bytes = 0;
    line->strategy = (struct headwise_text){"", 0};
    headwise_json_begin(&reader, json, size);
    assert_true(headwise_json_enter_object(&reader));
    while (headwise_json_next_key(&reader, &key))
        take_value(line, &reader, &key);
    assert_true(headwise_json_end(&reader));
}
