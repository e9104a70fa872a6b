/* libFuzzer target: any bytes as JSON, read and skipped, which must agree. */
#include <stdint.h>
#include <stdlib.h>

#include "json/reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void take_scalar(struct headwise_json_reader *json) {
    struct headwise_json_text text;
    struct headwise_json_number number;
    int64_t integer;
    double real;
    switch (headwise_json_peek(json)) {
    case HEADWISE_JSON_TEXT:
        if (headwise_json_take_text(json, &text)) {
            char *copy = malloc(text.size + 1);
            if (copy)
                headwise_json_copy(copy, &text);
            free(copy);
        }
        break;
    case HEADWISE_JSON_NUMBER:
        if (headwise_json_take_number(json, &number)) {
            headwise_json_to_int64(&number, &integer);
            headwise_json_to_double(&number, &real);
        }
        break;
    default:
        headwise_json_skip(json, NULL);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    struct headwise_json_reader json, skipping;
    struct headwise_json_text key;
    char line[200];
    headwise_json_begin(&skipping, bytes, size);
    headwise_json_skip(&skipping, NULL);
    headwise_json_end(&skipping);
    headwise_json_begin(&json, bytes, size);
    if (headwise_json_peek(&json) == HEADWISE_JSON_OBJECT) {
        headwise_json_enter_object(&json);
        while (headwise_json_next_key(&json, &key))
            take_scalar(&json);
    } else if (headwise_json_peek(&json) == HEADWISE_JSON_ARRAY) {
        headwise_json_enter_array(&json);
        while (headwise_json_next_item(&json))
            take_scalar(&json);
    } else {
        take_scalar(&json);
    }
    headwise_json_end(&json);
    if (json.error != skipping.error || json.error_at != skipping.error_at)
        abort();
    if (json.error)
        headwise_json_describe(line, sizeof line, &json);
    return 0;
}
