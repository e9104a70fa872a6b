/* Bytes as text (RFC 4648, section 4). */
#ifndef HEADWISE_TOOLS_INSPECT_BASE64_H
#define HEADWISE_TOOLS_INSPECT_BASE64_H

#include <stddef.h>

/* Of the text of n bytes, the NUL at its end included. */
size_t base64_size(size_t n);

void base64_encode(char *text, const unsigned char *bytes, size_t n);

#endif
