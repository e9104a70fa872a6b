/* BERT's step: controls dropped, spaces around Chinese characters, accents stripped, lower case. */
#include <string.h>

#include "text/normalizer.h"
#include "text/unicode.h"

/* Blocks of ideographs as the original code has them: not those of Unicode 10 and later. */
static bool is_chinese(uint32_t c) {
    return (c >= 0x3400 && c <= 0x4dbf) || (c >= 0x4e00 && c <= 0x9fff) ||
           (c >= 0xf900 && c <= 0xfaff) || (c >= 0x20000 && c <= 0x2a6df) ||
           (c >= 0x2a700 && c <= 0x2b73f) || (c >= 0x2b740 && c <= 0x2b81f) ||
           (c >= 0x2b920 && c <= 0x2ceaf) || (c >= 0x2f800 && c <= 0x2fa1f);
}

/* What an ASCII character becomes; -1: it is dropped. */
static int ascii(const struct headwise_normalizer_step *step, unsigned char c) {
    if (step->clean && (c < 0x20 || c == 0x7f))
        return c == '\t' || c == '\n' || c == '\r' ? ' ' : -1;
    return step->lower && c >= 'A' && c <= 'Z' ? c | 0x20 : c;
}

/* Takes a run of ASCII from at on; returns its end. */
static size_t take_ascii(struct headwise_aligned *target, const struct headwise_aligned *source,
                         const struct headwise_normalizer_step *step,
                         struct headwise_aligned_cursor *cursor, size_t at) {
    const char *text = source->text.at;
    size_t end = at, size = source->text.size;
    while (end < size && (unsigned char)text[end] < 0x80)
        end++;
    while (at < end) {
        size_t begin = at;
        while (at < end && ascii(step, (unsigned char)text[at]) >= 0)
            at++;
        size_t written = target->text.size;
        headwise_aligned_put_part(target, source, cursor, begin, at);
        if (target->failed)
            return size;
        for (; written < target->text.size; written++)
            target->text.at[written] = (char)ascii(step, (unsigned char)target->text.at[written]);
        while (at < end && ascii(step, (unsigned char)text[at]) < 0)
            at++;
    }
    return end;
}

/* Cleans, and puts spaces around Chinese characters; ASCII is already as it will be. */
static void clean(struct headwise_aligned *target, const struct headwise_aligned *source,
                  const struct headwise_normalizer_step *step, bool *is_plain) {
    struct headwise_aligned_cursor cursor = {0};
    const char *text = source->text.at;
    size_t size;
    for (size_t at = 0; at < source->text.size && !target->failed; at += size) {
        if ((unsigned char)text[at] < 0x80) {
            size = take_ascii(target, source, step, &cursor, at) - at;
            continue;
        }
        uint32_t c = headwise_utf8_read(text + at, &size);
        unsigned class = headwise_text_class(c);
        if (step->clean && class & HEADWISE_CLASS_CONTROL)
            continue;
        struct headwise_origin origin = headwise_aligned_origin(source, &cursor, at);
        bool chinese = step->chinese && is_chinese(c);
        if (step->clean && class & HEADWISE_CLASS_SPACE)
            c = ' ';
        if (chinese)
            headwise_aligned_put_character(target, ' ', origin);
        headwise_aligned_put_character(target, c, origin);
        if (chinese)
            headwise_aligned_put_character(target, ' ', origin);
        *is_plain = *is_plain && (c == ' ' || (chinese && c < 0xf900));
    }
}

void headwise_normalizer_bert(struct headwise_aligned *target,
                              const struct headwise_aligned *source,
                              const struct headwise_normalizer_step *step,
                              struct headwise_normalizer_room *room) {
    bool is_plain = true; /* nothing is left that accents or case could change */
    if (!step->accents && !step->lower) {
        clean(target, source, step, &is_plain);
        return;
    }
    struct headwise_aligned *cleaned = &room->cleaned;
    headwise_aligned_clear(cleaned);
    clean(cleaned, source, step, &is_plain);
    if (is_plain) {
        struct headwise_aligned before = *target;
        *target = *cleaned;
        *cleaned = before;
    } else if (step->accents) {
        struct headwise_form form = {.drop_accents = true, .lower = step->lower};
        headwise_normal_form(target, cleaned, form, &room->form);
        target->failed = target->failed || cleaned->failed;
    } else {
        headwise_normalizer_lower(target, cleaned);
        target->failed = target->failed || cleaned->failed;
    }
}
