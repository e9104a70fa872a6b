/* Prints tokens, for people and for programs. */
#include "commands/tokens.h"

#include <stdio.h>

void tokens_print_table(const headwise_encoding *encoding, const struct text_request *request) {
    const struct headwise_tokens *tokens = headwise_encoding_tokens(encoding);
    (void)request;
    printf("%8s %4s %13s  piece\n", "id", "type", "bytes");
    for (size_t i = 0; i < tokens->n; i++) {
        printf("%8d %4d ", (int)tokens->ids[i], (int)tokens->types[i]);
        if (tokens->sources[i] < 0)
            printf("%13s  ", "-");
        else
            printf("%6zu %6zu  ", tokens->spans[i].begin, tokens->spans[i].end);
        text_print_quoted(headwise_encoding_piece(encoding, i));
        putchar('\n');
    }
    printf("%zu tokens\n", tokens->n);
}

void tokens_print_json(const headwise_encoding *encoding, const struct text_request *request) {
    const struct headwise_tokens *tokens = headwise_encoding_tokens(encoding);
    putchar('{');
    if (request->id.size > 0)
        printf("\"id\": %.*s, ", (int)request->id.size, request->id.at);
    printf("\"ids\": [");
    for (size_t i = 0; i < tokens->n; i++)
        printf("%s%d", i ? ", " : "", (int)tokens->ids[i]);
    printf("], \"types\": [");
    for (size_t i = 0; i < tokens->n; i++)
        printf("%s%d", i ? ", " : "", (int)tokens->types[i]);
    printf("], \"pieces\": [");
    for (size_t i = 0; i < tokens->n; i++) {
        printf("%s", i ? ", " : "");
        text_print_quoted(headwise_encoding_piece(encoding, i));
    }
    printf("], \"offsets\": [");
    for (size_t i = 0; i < tokens->n; i++)
        printf("%s[%zu, %zu]", i ? ", " : "", tokens->spans[i].begin, tokens->spans[i].end);
    printf("]}\n");
}
