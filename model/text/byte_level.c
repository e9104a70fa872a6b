/* The alphabet of byte-level tokenizers: a printable character for each byte. */
#include "text/normalizer.h"

/* Bytes that are printable in Latin-1 stand for themselves, the others in their order for
 * characters from U+0100 on. */
static bool is_itself(unsigned c) {
    return (c >= 0x21 && c <= 0x7e) || (c >= 0xa1 && c <= 0xac) || (c >= 0xae && c <= 0xff);
}

uint32_t headwise_byte_character(unsigned char byte) {
    if (is_itself(byte))
        return byte;
    if (byte <= 0x20)
        return 0x100u + byte;
    return byte == 0xad ? 0x143u : 0x100u + 33u + (byte - 0x7fu);
}

int headwise_byte_of_character(uint32_t c) {
    if (c < 0x100)
        return is_itself(c) ? (int)c : -1;
    if (c <= 0x120)
        return (int)(c - 0x100);
    if (c <= 0x142)
        return (int)(c - 0x121 + 0x7f);
    return c == 0x143 ? 0xad : -1;
}

void headwise_byte_level_write(struct headwise_aligned *target,
                               const struct headwise_aligned *source,
                               struct headwise_aligned_cursor *cursor, size_t begin, size_t end) {
    for (size_t at = begin; at < end && !target->failed; at++) {
        struct headwise_origin origin = headwise_aligned_origin(source, cursor, at);
        headwise_aligned_put_character(
            target, headwise_byte_character((unsigned char)source->text.at[at]), origin);
    }
}
