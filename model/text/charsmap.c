/* Reads SentencePiece's map of characters and applies it as Hugging Face's library does. */
#include "text/charsmap.h"

#include <string.h>
#include <utf8proc.h>

#include "text/unicode.h"

static int digit_value(char c) {
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

/* Writes the bytes of a base64 text; false: it is none. */
static bool decode_base64(unsigned char *bytes, size_t *n_bytes, const char *base64, size_t size) {
    uint32_t bits = 0;
    int n_bits = 0;
    *n_bytes = 0;
    while (size > 0 && base64[size - 1] == '=')
        size--;
    for (size_t i = 0; i < size; i++) {
        int value = digit_value(base64[i]);
        if (value < 0)
            return false;
        bits = (bits << 6 | (uint32_t)value) & 0xffffff;
        n_bits += 6;
        if (n_bits >= 8) {
            n_bits -= 8;
            bytes[(*n_bytes)++] = (unsigned char)(bits >> n_bits);
        }
    }
    return true;
}

static uint32_t read_u32(const unsigned char *bytes) {
    return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 |
           (uint32_t)bytes[3] << 24;
}

/* The array's size in bytes, the array, then the texts. */
static enum headwise_status take_apart(struct headwise_charsmap *map,
                                       const struct headwise_allocator *memory,
                                       const unsigned char *bytes, size_t n) {
    uint32_t array_bytes = n >= 4 ? read_u32(bytes) : UINT32_MAX;
    if (n < 4 || array_bytes > n - 4 || array_bytes % 4 != 0 || array_bytes == 0)
        return HEADWISE_ERR_FORMAT;
    map->n_units = array_bytes / 4;
    map->texts_size = n - 4 - array_bytes + 1;
    map->units = headwise_memory_take(memory, map->n_units, sizeof *map->units);
    map->texts = headwise_memory_take(memory, map->texts_size, 1);
    if (!map->units || !map->texts)
        return HEADWISE_ERR_NO_MEMORY;
    for (size_t i = 0; i < map->n_units; i++)
        map->units[i] = read_u32(bytes + 4 + 4 * i);
    memcpy(map->texts, bytes + 4 + array_bytes, map->texts_size - 1);
    map->texts[map->texts_size - 1] = '\0';
    bool valid = headwise_utf8_valid(map->texts, map->texts_size) == map->texts_size;
    return valid ? HEADWISE_OK : HEADWISE_ERR_FORMAT;
}

enum headwise_status headwise_charsmap_read(struct headwise_charsmap *map,
                                            const struct headwise_allocator *memory,
                                            const char *base64, size_t size) {
    size_t n, room = size / 4 * 3 + 3;
    unsigned char *bytes = headwise_memory_take(memory, room, 1);
    if (!bytes)
        return HEADWISE_ERR_NO_MEMORY;
    enum headwise_status status = HEADWISE_ERR_FORMAT;
    if (decode_base64(bytes, &n, base64, size))
        status = take_apart(map, memory, bytes, n);
    headwise_memory_give(memory, bytes, room, 1);
    return status; /* what it has of the map is freed with it */
}

void headwise_charsmap_free(struct headwise_charsmap *map,
                            const struct headwise_allocator *memory) {
    headwise_memory_give(memory, map->units, map->n_units, sizeof *map->units);
    headwise_memory_give(memory, map->texts, map->texts_size, 1);
    *map = (struct headwise_charsmap){0};
}

/* Where the children of a unit are, relative to it, in darts-clone's form. */
static size_t unit_offset(uint32_t unit) {
    return (size_t)(unit >> 10) << ((unit & 1u << 9) >> 6);
}

/* What the shortest key that begins bytes becomes; NULL: none does. */
static const char *find(const struct headwise_charsmap *map, const char *bytes, size_t size) {
    size_t at = unit_offset(map->units[0]);
    for (size_t i = 0; i < size && bytes[i] != '\0'; i++) {
        unsigned char byte = (unsigned char)bytes[i];
        at ^= byte;
        if (at >= map->n_units || (map->units[at] & (1u << 31 | 0xff)) != byte)
            return NULL;
        uint32_t unit = map->units[at];
        at ^= unit_offset(unit);
        if (unit >> 8 & 1) {
            size_t text = at < map->n_units ? map->units[at] & 0x7fffffff : SIZE_MAX;
            return text < map->texts_size && !headwise_utf8_continues(map->texts[text])
                       ? map->texts + text
                       : NULL;
        }
    }
    return NULL;
}

struct mapping {
    struct headwise_aligned_change change;
    const struct headwise_charsmap *map;
    uint32_t waiting; /* written when it is known that nothing is dropped after it */
    size_t waiting_taken;
    bool has_waiting;
};

static void put(struct mapping *mapping, uint32_t c, size_t taken) {
    if (mapping->has_waiting)
        headwise_aligned_change(&mapping->change, mapping->waiting, mapping->waiting_taken);
    mapping->waiting = c;
    mapping->waiting_taken = taken;
    mapping->has_waiting = true;
}

static size_t count_characters(const char *text, size_t size) {
    size_t n = 0;
    for (size_t i = 0; i < size; i++)
        n += !headwise_utf8_continues(text[i]);
    return n;
}

/* Writes text for n characters of the source: the first ones take their places, those that are left
 * over stand beside the last, those that are missing are dropped with it. */
static void replace(struct mapping *mapping, const char *text, size_t n) {
    size_t size = strlen(text), n_new = count_characters(text, size), step, i = 0;
    for (size_t at = 0; at < size; at += step, i++) {
        uint32_t c = headwise_utf8_read(text + at, &step);
        put(mapping, c, i >= n ? 0 : i + 1 == n_new ? n - i : 1);
    }
    if (n_new == 0 && mapping->has_waiting)
        mapping->waiting_taken += n;
}

/* The end of the extended grapheme that begins at at. */
static size_t grapheme_end(const char *text, size_t size, size_t at) {
    size_t step;
    uint32_t c = headwise_utf8_read(text + at, &step);
    utf8proc_int32_t state = 0;
    for (at += step; at < size; at += step) {
        uint32_t next = headwise_utf8_read(text + at, &step);
        bool plain = c >= 0x20 && c < 0x7f && next >= 0x20 && next < 0x7f;
        if (plain ||
            utf8proc_grapheme_break_stateful((utf8proc_int32_t)c, (utf8proc_int32_t)next, &state))
            break;
        c = next;
    }
    return at;
}

void headwise_charsmap_apply(struct headwise_aligned *target, const struct headwise_aligned *source,
                             const struct headwise_charsmap *map) {
    const char *text = source->text.at;
    size_t size = source->text.size;
    struct mapping mapping = {.change = {.source = source, .target = target, .end = size},
                              .map = map};
    for (size_t at = 0, end; at < size && !target->failed; at = end) {
        end = grapheme_end(text, size, at);
        const char *whole = end - at < 6 ? find(map, text + at, end - at) : NULL;
        if (whole) {
            replace(&mapping, whole, count_characters(text + at, end - at));
            continue;
        }
        for (size_t i = at, step; i < end; i += step) {
            uint32_t c = headwise_utf8_read(text + i, &step);
            const char *part = find(map, text + i, step);
            if (part)
                replace(&mapping, part, 1);
            else
                put(&mapping, c, 1);
        }
    }
    if (mapping.has_waiting)
        headwise_aligned_change(&mapping.change, mapping.waiting, mapping.waiting_taken);
}
