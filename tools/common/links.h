/* What each token looks at most. */
#ifndef HEADWISE_TOOLS_LINKS_H
#define HEADWISE_TOOLS_LINKS_H

#include <stdbool.h>

#include "common/arena.h"

struct links {
    const float *weights; /* [batch][heads][queries][keys] */
    int64_t batch, n_heads, n_queries, n_keys;
    const char *const *query_tokens; /* [queries] */
    const char *const *key_tokens;   /* [keys], or NULL: keys go by their number */
    bool is_self;                    /* keys are the queries: each one's own is left out */
};

/* Prints a table: a row for each token, a column for each head, in it the key with the largest
 * weight
 * ('-' where no other key has any). */
int links_print(const struct links *links, struct arena *arena);

#endif
