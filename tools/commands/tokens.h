/* The parts of headwise tokens: texts one after the other, and lines of output. */
#ifndef HEADWISE_TOOLS_TOKENS_H
#define HEADWISE_TOOLS_TOKENS_H

#include <stdio.h>

#include "common/options.h"
#include "headwise-model/tokenizer.h"
#include "json/reader.h"

/* One text to be encoded. */
struct tokens_request {
    struct headwise_text text, pair;
    bool has_pair, has_special, special;
    struct headwise_json_slice id; /* as the line of input has it; size 0: none */
};

/* Where texts come from: operands, or the lines of a stream. */
struct tokens_input {
    struct option_texts texts;
    FILE *stream; /* NULL: the texts */
    const char *name;
    bool is_json; /* lines are objects */
    long long line;
    char *buffer, *decoded[2];
    size_t capacity;
    int next;
};

/* The next request; *done where there is none. Returns an exit code. */
int tokens_input_next(struct tokens_input *input, struct tokens_request *request, bool *done);
void tokens_input_close(struct tokens_input *input);

/* Prints the encoding's tokens: a table for people, or one JSON object a line. */
void tokens_print_table(const headwise_encoding *encoding, const struct tokens_request *request);
void tokens_print_json(const headwise_encoding *encoding, const struct tokens_request *request);

#endif
