/* Small tokenizers of the tests' own. */
#ifndef TESTS_SMALL_H
#define TESTS_SMALL_H

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "cmocka_headers.h"

#include "headwise-model/tokenizer.h"

/* tokenizer.json of each kind of model, with many kinds of steps. */
extern const char small_wordpiece[], small_unigram[], small_wordlevel[];

/* Byte-level BPE whose pieces are the 256 bytes (ids by byte), "aa", "aaaa" and so on to 16 times
 * the letter, "Ġa", and one added token. To be freed. */
char *small_bpe(void);

/* Opens one, which must be good. */
headwise_tokenizer *small_open(const char *json);

/* Encodes a C string, without special tokens where options is NULL, and expects these ids, -1 at
 * their end. */
void small_expect(headwise_encoding *encoding, const headwise_tokenizer *tokenizer,
                  const char *text, const struct headwise_encode_options *options,
                  const int32_t *expected);
#define EXPECT_IDS(encoding, tokenizer, text, options, ...)                                        \
    small_expect(encoding, tokenizer, text, options, (const int32_t[]){__VA_ARGS__, -1})

#endif
