/* Calls of expected.json: texts or pairs, and what encode() of sentence-transformers was told. */
#ifndef TESTS_ENCODE_CASES_H
#define TESTS_ENCODE_CASES_H

#include "headwise-model/encoder.h"

enum { CASES = 8, CASE_TEXTS = 16, CASE_BYTES = 1 << 17 };

struct encode_case {
    int64_t number, n_texts;
    bool has_pairs;
    struct headwise_text texts[CASE_TEXTS], pairs[CASE_TEXTS];
    struct headwise_text prompt, prompt_name; /* bytes NULL: not given */
    int64_t truncate_dim;
    bool normalize;
};

struct encode_cases {
    size_t n, n_bytes;
    struct encode_case at[CASES];
    char bytes[CASE_BYTES]; /* texts, each with a NUL behind it */
};

/* Reads the file at path, which must be of that form. */
void encode_cases_read(struct encode_cases *cases, const char *path);

#endif
