/* Texts that are worked on together: operands, or some lines of an input. */
#ifndef HEADWISE_TOOLS_TEXT_CHUNK_H
#define HEADWISE_TOOLS_TEXT_CHUNK_H

#include <stdbool.h>
#include <stdio.h>

#include "common/options.h"
#include "headwise-model/tokenizer.h"
#include "json/reader.h"

/* One text of an input. */
struct text_request {
    struct headwise_text text, pair;
    bool has_pair, has_special, special;
    struct headwise_json_slice id; /* as the line of input has it; size 0: none */
};

/* Where texts come from: operands, or the lines of a stream. */
struct text_input {
    struct option_texts texts;
    FILE *stream; /* NULL: the texts */
    const char *name;
    bool is_json; /* lines are objects */
    long long line;
    char *buffer, *decoded[2];
    size_t capacity;
    int next;
};

/* Opens the file at path, "-" being standard input, or, where it is NULL, takes the operands.
 * command begins the line of a failure. Returns an exit code. */
int text_input_open(struct text_input *input, const struct option_texts *texts, const char *path,
                    bool is_json, const char *command);

/* The next request, valid until the one after it; *done where there is none. Returns an exit code.
 */
int text_input_next(struct text_input *input, struct text_request *request, bool *done);
void text_input_close(struct text_input *input);

enum { CHUNK_TEXTS = 1024, CHUNK_BYTES = 1 << 20 };

/* Texts, pairs and ids of requests, copied. Zero at the start. */
struct text_chunk {
    int64_t n, n_pairs;
    struct headwise_text texts[CHUNK_TEXTS], pairs[CHUNK_TEXTS];
    struct headwise_json_slice ids[CHUNK_TEXTS];
    char *bytes;
    size_t n_bytes, capacity;
};

/* Fills the chunk anew, until CHUNK_TEXTS texts or CHUNK_BYTES bytes are in it, or the input ends:
 * n is 0 then. All of them have a pair, or none. Returns an exit code. */
int text_chunk_read(struct text_chunk *chunk, struct text_input *input);

/* Fails with headwise-model's line about a chunk, whose texts it counts from 0: n_before texts of
 * the input came before them. Returns an exit code. */
int text_chunk_fail(const struct text_input *input, int64_t n_before);
void text_chunk_free(struct text_chunk *chunk);

/* Prints a text in quotes, as JSON has it. What is no UTF-8 is printed as it is. */
void text_print_quoted(struct headwise_text text);

#endif
