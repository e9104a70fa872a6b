/* The tokens of a model. */
#ifndef LLAMA_VOCABULARY_H
#define LLAMA_VOCABULARY_H

#include <stddef.h>
#include <stdint.h>

struct token {
    char *bytes;
    size_t length;
    double score;
};

struct vocabulary {
    int64_t n_tokens, bos; /* set before it is loaded */
    struct token *tokens;
};

/* Reads folder/vocab.json, which must have n_tokens tokens, or ends the program. */
void vocabulary_load(struct vocabulary *v, const char *folder);

/* The tokens of text after the beginning-of-text token: characters, then the neighbours whose
 * joined token has the best score are joined until none can be. ids has room for strlen(text) + 2.
 */
int64_t vocabulary_encode(const struct vocabulary *v, const char *text, int64_t *ids);

#endif
