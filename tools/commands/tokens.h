/* Lines of output of headwise tokens. */
#ifndef HEADWISE_TOOLS_TOKENS_H
#define HEADWISE_TOOLS_TOKENS_H

#include "calls/text_chunk.h"
#include "headwise-model/tokenizer.h"

/* Prints the encoding's tokens: a table for people, or one JSON object a line. */
void tokens_print_table(const headwise_encoding *encoding, const struct text_request *request);
void tokens_print_json(const headwise_encoding *encoding, const struct text_request *request);

#endif
