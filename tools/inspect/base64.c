/* Bytes as base64, for the page. */
#include "inspect/base64.h"

#include <stdint.h>

size_t base64_size(size_t n) {
    return (n + 2) / 3 * 4 + 1;
}

void base64_encode(char *text, const unsigned char *bytes, size_t n) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < n; i += 3) {
        size_t left = n - i;
        uint32_t bits = (uint32_t)bytes[i] << 16 | (left > 1 ? (uint32_t)bytes[i + 1] << 8 : 0) |
                        (left > 2 ? bytes[i + 2] : 0);
        *text++ = digits[bits >> 18];
        *text++ = digits[bits >> 12 & 63];
        *text++ = '=';
        *text++ = '=';
        if (left > 1)
            text[-2] = digits[bits >> 6 & 63];
        if (left > 2)
            text[-1] = digits[bits & 63];
    }
    *text = '\0';
}
