/* The steps that change characters. */
#include <string.h>

#include "base/error.h"
#include "text/normalizer.h"
#include "text/unicode.h"

static void put_same(struct headwise_aligned *target, const struct headwise_aligned *source,
                     size_t begin, size_t end) {
    struct headwise_aligned_cursor cursor = {0};
    headwise_aligned_put_part(target, source, &cursor, begin, end);
}

static void strip(struct headwise_aligned *target, const struct headwise_aligned *source,
                  const struct headwise_normalizer_step *step) {
    const char *text = source->text.at;
    size_t begin = 0, end = source->text.size, size;
    while (step->left && begin < end &&
           headwise_text_class(headwise_utf8_read(text + begin, &size)) & HEADWISE_CLASS_SPACE)
        begin += size;
    while (step->right && end > begin) {
        size_t last = end - 1;
        while (headwise_utf8_continues(text[last]))
            last--;
        if (!(headwise_text_class(headwise_utf8_read(text + last, &size)) & HEADWISE_CLASS_SPACE))
            break;
        end = last;
    }
    put_same(target, source, begin, end);
}

/* Nmt: what it drops and what becomes a space. */
static uint32_t nmt(uint32_t c) {
    if ((c >= 1 && c <= 8) || c == 0xb || (c >= 0xe && c <= 0x1f) || c == 0x7f || c == 0x8f ||
        c == 0x9f)
        return 0x110000;
    bool space = c == 9 || c == 0xa || c == 0xc || c == 0xd || c == 0x1680 ||
                 (c >= 0x200b && c <= 0x200f) || c == 0x2028 || c == 0x2029 || c == 0x2581 ||
                 c == 0xfeff || c == 0xfffd;
    return space ? ' ' : c;
}

/* Steps that look at one character after the other. */
static void by_character(struct headwise_aligned *target, const struct headwise_aligned *source,
                         enum headwise_normalizer_kind kind) {
    struct headwise_aligned_change change = {
        .source = source, .target = target, .end = source->text.size};
    size_t size;
    for (size_t at = 0; at < source->text.size && !target->failed; at += size) {
        uint32_t c = headwise_utf8_read(source->text.at + at, &size), lower[2] = {c};
        size_t n = 1;
        if (kind == HEADWISE_NORMALIZER_LOWERCASE)
            n = headwise_text_lower(lower, c);
        else if (kind == HEADWISE_NORMALIZER_NMT)
            lower[0] = nmt(c);
        else if (headwise_text_class(c) & HEADWISE_CLASS_MARK)
            lower[0] = 0x110000;
        if (lower[0] == 0x110000)
            headwise_aligned_skip(&change, 1);
        else
            headwise_aligned_change(&change, lower[0], 1);
        if (n == 2)
            headwise_aligned_change(&change, lower[1], 0);
    }
}

void headwise_normalizer_lower(struct headwise_aligned *target,
                               const struct headwise_aligned *source) {
    by_character(target, source, HEADWISE_NORMALIZER_LOWERCASE);
}

/* What replaces a match has the origin of the match's last character. */
static enum headwise_status replace(struct headwise_aligned *target,
                                    const struct headwise_aligned *source,
                                    const struct headwise_normalizer_step *step,
                                    struct headwise_normalizer_room *room) {
    struct headwise_aligned_cursor cursor = {0};
    struct headwise_pattern_matches m = {.pattern = &step->pattern,
                                         .room = room->patterns,
                                         .text = source->text.at,
                                         .size = source->text.size};
    size_t done = 0;
    bool found = true;
    while (!target->failed) {
        enum headwise_status status = headwise_pattern_next(&m, &found);
        if (status)
            return status;
        if (!found)
            break;
        headwise_aligned_put_part(target, source, &cursor, done, m.begin);
        struct headwise_aligned_change change = {
            .source = source, .target = target, .cursor = cursor, .at = m.end, .end = m.size};
        for (size_t i = 0, size; i < step->content.size; i += size)
            headwise_aligned_change(&change, headwise_utf8_read(step->content.at + i, &size), 0);
        done = m.end;
    }
    headwise_aligned_put_part(target, source, &cursor, done, m.size);
    return HEADWISE_OK;
}

/* What is prepended has the origin of the first character. */
static void prepend(struct headwise_aligned *target, const struct headwise_aligned *source,
                    const struct headwise_bytes *content) {
    struct headwise_aligned_cursor cursor = {0};
    struct headwise_origin first = headwise_aligned_origin(source, &cursor, 0);
    for (size_t i = 0, size; i < content->size; i += size)
        headwise_aligned_put_character(target, headwise_utf8_read(content->at + i, &size), first);
    put_same(target, source, 0, source->text.size);
}

static enum headwise_status run_step(struct headwise_aligned *target,
                                     const struct headwise_aligned *source,
                                     const struct headwise_normalizer_step *step,
                                     struct headwise_normalizer_room *room) {
    struct headwise_form form = {
        .compat = step->kind == HEADWISE_NORMALIZER_NFKC || step->kind == HEADWISE_NORMALIZER_NFKD,
        .compose = step->kind == HEADWISE_NORMALIZER_NFC || step->kind == HEADWISE_NORMALIZER_NFKC};
    struct headwise_aligned_cursor cursor = {0};
    switch (step->kind) {
    case HEADWISE_NORMALIZER_BERT:
        headwise_normalizer_bert(target, source, step, room);
        break;
    case HEADWISE_NORMALIZER_STRIP:
        strip(target, source, step);
        break;
    case HEADWISE_NORMALIZER_STRIP_ACCENTS:
    case HEADWISE_NORMALIZER_LOWERCASE:
    case HEADWISE_NORMALIZER_NMT:
        by_character(target, source, step->kind);
        break;
    case HEADWISE_NORMALIZER_NFC:
    case HEADWISE_NORMALIZER_NFD:
    case HEADWISE_NORMALIZER_NFKC:
    case HEADWISE_NORMALIZER_NFKD:
        headwise_normal_form(target, source, form, &room->form);
        break;
    case HEADWISE_NORMALIZER_PRECOMPILED:
        headwise_charsmap_apply(target, source, &step->map);
        break;
    case HEADWISE_NORMALIZER_REPLACE:
        return replace(target, source, step, room);
    case HEADWISE_NORMALIZER_PREPEND:
        prepend(target, source, &step->content);
        break;
    case HEADWISE_NORMALIZER_BYTE_LEVEL:
        headwise_byte_level_write(target, source, &cursor, 0, source->text.size);
        break;
    }
    return HEADWISE_OK;
}

enum headwise_status headwise_normalize(const struct headwise_normalizer *normalizer,
                                        struct headwise_normalizer_room *room,
                                        struct headwise_aligned *text) {
    for (size_t i = 0; i < normalizer->n && text->text.size > 0; i++) {
        headwise_aligned_clear(&room->other);
        enum headwise_status status = run_step(&room->other, text, &normalizer->steps[i], room);
        if (status)
            return status;
        struct headwise_aligned before = *text;
        *text = room->other;
        room->other = before;
    }
    return text->failed ? headwise_model_no_memory("encode") : HEADWISE_OK;
}
