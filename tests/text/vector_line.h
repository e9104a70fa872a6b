/* A line of cases.jsonl: what Hugging Face's tokenizers make of a text. */
#ifndef TESTS_VECTOR_LINE_H
#define TESTS_VECTOR_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "headwise-model/tokenizer.h"

enum { LINE_TOKENS = 4096, LINE_BYTES = 1 << 17 };

struct vector_line {
    struct headwise_text text, pair, decoded, decoded_all, strategy;
    bool has_pair, special, has_error, has_decoded, has_limit;
    int64_t limit;
    size_t n_ids, n_types, n_tokens, n_offsets;
    int64_t ids[LINE_TOKENS], types[LINE_TOKENS], offsets[LINE_TOKENS][2];
    struct headwise_text tokens[LINE_TOKENS];
    char bytes[LINE_BYTES]; /* of all texts */
    size_t n_bytes;
};

/* Fails the test where the line is not of that form. */
void vector_line_read(struct vector_line *line, const char *json, size_t size);

#endif
