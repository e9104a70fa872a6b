/* Names of the input's rows. */
#ifndef HEADWISE_TOOLS_TOKENS_H
#define HEADWISE_TOOLS_TOKENS_H

#include "common/arena.h"

/* How they are given, for a command's help. */
#define TOKENS_DETAILS                                                                             \
    "A FILE of tokens has one on each line, or is a JSON array of texts (for tokens with line "    \
    "ends).\n"

/* Cuts text at spaces and stores the n tokens in *tokens; source begins the line where there are
 * more or fewer. Returns an exit code. */
int tokens_split(const char ***tokens, struct arena *arena, const char *text, int64_t n,
                 const char *source);

/* Cuts text, but where it names a file its n tokens are read: a JSON array of texts where it
 * begins with '[', else a token on each line (without the line's end; "\r\n" is one end). A file
 * without tokens is an error. Bytes of lines that are no UTF-8 become U+FFFD. */
int tokens_read(const char ***tokens, struct arena *arena, const char *text, int64_t n,
                const char *source);

#endif
