/* Lists of texts, and the steps that make texts of bytes. */
#include <string.h>

#include "text/decoder.h"
#include "text/normalizer.h"
#include "text/unicode.h"

static const char replacement[] = "\xEF\xBF\xBD"; /* U+FFFD */

void headwise_parts_clear(struct headwise_parts *parts) {
    parts->text.size = parts->n = 0;
    parts->failed = false;
}

void headwise_parts_free(struct headwise_parts *parts) {
    headwise_bytes_free(parts->memory, &parts->text);
    headwise_memory_give(parts->memory, parts->ends, parts->capacity, sizeof *parts->ends);
}

void headwise_parts_write(struct headwise_parts *parts, const char *bytes, size_t size) {
    if (!parts->failed && !headwise_bytes_append(parts->memory, &parts->text, bytes, size))
        parts->failed = true;
}

void headwise_parts_end(struct headwise_parts *parts) {
    if (parts->failed || !headwise_memory_grow(parts->memory, &parts->ends, &parts->capacity,
                                               parts->n + 1, sizeof *parts->ends))
        parts->failed = true;
    else
        parts->ends[parts->n++] = parts->text.size;
}

struct headwise_text headwise_parts_get(const struct headwise_parts *parts, size_t index) {
    size_t begin = index > 0 ? parts->ends[index - 1] : 0;
    return (struct headwise_text){parts->text.size > 0 ? parts->text.at + begin : "",
                                  parts->ends[index] - begin};
}

/* Writes bytes with U+FFFD instead of each part that is no UTF-8. */
static void write_lossy(struct headwise_parts *to, const char *bytes, size_t size) {
    while (size > 0 && !to->failed) {
        size_t n = headwise_utf8_valid(bytes, size);
        headwise_parts_write(to, bytes, n);
        bytes += n;
        size -= n;
        if (size == 0)
            break;
        n = headwise_utf8_broken(bytes, size);
        headwise_parts_write(to, replacement, 3);
        bytes += n;
        size -= n;
    }
}

bool headwise_decode_byte_level(struct headwise_parts *to, const struct headwise_parts *from,
                                struct headwise_bytes *bytes) {
    bytes->size = 0;
    if (!headwise_bytes_reserve(to->memory, bytes, from->text.size))
        return false;
    for (size_t i = 0; i < from->n; i++) {
        struct headwise_text part = headwise_parts_get(from, i);
        size_t before = bytes->size, size;
        for (size_t at = 0; at < part.size_bytes; at += size) {
            int byte = headwise_byte_of_character(headwise_utf8_read(part.bytes + at, &size));
            if (byte < 0) {
                bytes->size = before;
                memcpy(bytes->at + before, part.bytes, part.size_bytes);
                bytes->size += part.size_bytes;
                break;
            }
            bytes->at[bytes->size++] = (char)byte;
        }
    }
    write_lossy(to, bytes->at, bytes->size);
    headwise_parts_end(to);
    return true;
}

/* The byte of "<0x0A>", -1: the part is no such thing. */
static int byte_of(struct headwise_text part) {
    int value = 0;
    if (part.size_bytes != 6 || memcmp(part.bytes, "<0x", 3) != 0 || part.bytes[5] != '>')
        return -1;
    for (int i = 3; i < 5; i++) {
        char c = part.bytes[i];
        int digit = c >= '0' && c <= '9'   ? c - '0'
                    : c >= 'a' && c <= 'f' ? c - 'a' + 10
                    : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                           : -1;
        /* "+5" is a number where the original reads it. */
        if (digit < 0 && !(i == 3 && c == '+'))
            return -1;
        value = 16 * value + (digit < 0 ? 0 : digit);
    }
    return value;
}

/* Writes bytes that stood in a row: a text, or, if it is none, U+FFFD for each. */
static void end_bytes(struct headwise_parts *to, struct headwise_bytes *bytes) {
    if (headwise_utf8_valid(bytes->at, bytes->size) == bytes->size) {
        headwise_parts_write(to, bytes->at, bytes->size);
        headwise_parts_end(to);
    } else {
        for (size_t i = 0; i < bytes->size; i++) {
            headwise_parts_write(to, replacement, 3);
            headwise_parts_end(to);
        }
    }
    bytes->size = 0;
}

bool headwise_decode_byte_fallback(struct headwise_parts *to, const struct headwise_parts *from,
                                   struct headwise_bytes *bytes) {
    bytes->size = 0;
    for (size_t i = 0; i < from->n; i++) {
        struct headwise_text part = headwise_parts_get(from, i);
        int byte = byte_of(part);
        if (byte >= 0) {
            char c = (char)byte;
            if (!headwise_bytes_append(to->memory, bytes, &c, 1))
                return false;
            continue;
        }
        if (bytes->size > 0)
            end_bytes(to, bytes);
        headwise_parts_write(to, part.bytes, part.size_bytes);
        headwise_parts_end(to);
    }
    if (bytes->size > 0)
        end_bytes(to, bytes);
    return true;
}
