/* The steps that make a text out of pieces. */
#include <string.h>

#include "base/error.h"
#include "text/decoder.h"

/* Appends a text with another instead of each old one. */
static bool replace(const struct headwise_allocator *memory, struct headwise_bytes *to,
                    struct headwise_text text, struct headwise_text old, struct headwise_text new) {
    size_t at = 0;
    bool good = true;
    while (good && old.size_bytes > 0) {
        const char *found =
            memmem(text.bytes + at, text.size_bytes - at, old.bytes, old.size_bytes);
        if (!found)
            break;
        size_t begin = (size_t)(found - text.bytes);
        good = headwise_bytes_append(memory, to, text.bytes + at, begin - at) &&
               headwise_bytes_append(memory, to, new.bytes, new.size_bytes);
        at = begin + old.size_bytes;
    }
    return good && headwise_bytes_append(memory, to, text.bytes + at, text.size_bytes - at);
}

/* Replaces in bytes, in place, by way of other. */
static bool replace_in(const struct headwise_allocator *memory, struct headwise_bytes *bytes,
                       struct headwise_bytes *other, struct headwise_text old,
                       struct headwise_text new) {
    struct headwise_text text = {bytes->size > 0 ? bytes->at : "", bytes->size};
    other->size = 0;
    bool good = replace(memory, other, text, old, new);
    struct headwise_bytes before = *bytes;
    *bytes = *other;
    *other = before;
    return good;
}

/* Takes back what splitting English made. */
static bool clean_up(const struct headwise_allocator *memory, struct headwise_bytes scratch[2]) {
    static const char *const changes[][2] = {
        {" .", "."},   {" ?", "?"},     {" !", "!"},     {" ,", ","},
        {" ' ", "'"},  {" n't", "n't"}, {" 'm", "'m"},   {" do not", " don't"},
        {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"},
    };
    bool good = true;
    for (size_t i = 0; good && i < sizeof changes / sizeof *changes; i++)
        good = replace_in(memory, &scratch[0], &scratch[1],
                          (struct headwise_text){changes[i][0], strlen(changes[i][0])},
                          (struct headwise_text){changes[i][1], strlen(changes[i][1])});
    return good;
}

static bool wordpiece(struct headwise_parts *to, struct headwise_text part, size_t index,
                      const struct headwise_decoder_step *step, struct headwise_bytes *scratch) {
    const struct headwise_bytes *prefix = &step->content;
    bool good = true;
    scratch->size = 0;
    if (index > 0 && part.size_bytes >= prefix->size &&
        (prefix->size == 0 || memcmp(part.bytes, prefix->at, prefix->size) == 0)) {
        part.bytes += prefix->size;
        part.size_bytes -= prefix->size;
    } else if (index > 0) {
        good = headwise_bytes_append(to->memory, scratch, " ", 1);
    }
    good = good && headwise_bytes_append(to->memory, scratch, part.bytes, part.size_bytes) &&
           (!step->cleanup || clean_up(to->memory, scratch));
    if (good)
        headwise_parts_write(to, scratch->at, scratch->size);
    return good;
}

static bool metaspace(struct headwise_parts *to, struct headwise_text part, size_t index,
                      const struct headwise_decoder_step *step, struct headwise_bytes *scratch) {
    scratch->size = 0;
    struct headwise_text space = {" ", index == 0 && step->prefix ? 0 : 1};
    bool good = replace(to->memory, scratch, part,
                        (struct headwise_text){step->content.at, step->content.size}, space);
    headwise_parts_write(to, scratch->at, scratch->size);
    return good;
}

static void strip(struct headwise_parts *to, struct headwise_text part,
                  const struct headwise_decoder_step *step) {
    size_t n = step->content.size, begin = 0, end = part.size_bytes;
    const char *character = step->content.at;
    for (size_t i = 0; n > 0 && i < step->start && end - begin >= n &&
                       memcmp(part.bytes + begin, character, n) == 0;
         i++)
        begin += n;
    for (size_t i = 0; n > 0 && i < step->stop && end - begin >= n &&
                       memcmp(part.bytes + end - n, character, n) == 0;
         i++)
        end -= n;
    headwise_parts_write(to, part.bytes + begin, end - begin);
}

static enum headwise_status replace_pattern(struct headwise_parts *to, struct headwise_text part,
                                            const struct headwise_decoder_step *step,
                                            struct headwise_pattern_room *room) {
    struct headwise_pattern_matches m = {
        .pattern = &step->pattern, .room = room, .text = part.bytes, .size = part.size_bytes};
    size_t done = 0;
    bool found;
    for (;;) {
        enum headwise_status status = headwise_pattern_next(&m, &found);
        if (status)
            return status;
        if (!found)
            break;
        headwise_parts_write(to, part.bytes + done, m.begin - done);
        headwise_parts_write(to, step->content.at, step->content.size);
        done = m.end;
    }
    headwise_parts_write(to, part.bytes + done, part.size_bytes - done);
    return HEADWISE_OK;
}

/* Repeated parts become one, padding goes. */
static bool ctc(struct headwise_parts *to, const struct headwise_parts *from, size_t index,
                const struct headwise_decoder_step *step, struct headwise_bytes scratch[2]) {
    struct headwise_text part = headwise_parts_get(from, index);
    struct headwise_text before = index > 0 ? headwise_parts_get(from, index - 1) : part;
    if (index > 0 && before.size_bytes == part.size_bytes &&
        memcmp(before.bytes, part.bytes, part.size_bytes) == 0)
        return true;
    scratch[0].size = 0;
    bool good = replace(to->memory, &scratch[0], part,
                        (struct headwise_text){step->content.at, step->content.size},
                        (struct headwise_text){"", 0});
    if (good && step->cleanup)
        good = clean_up(to->memory, scratch) &&
               replace_in(to->memory, &scratch[0], &scratch[1],
                          (struct headwise_text){step->delimiter.at, step->delimiter.size},
                          (struct headwise_text){" ", 1});
    if (good && scratch[0].size > 0) {
        headwise_parts_write(to, scratch[0].at, scratch[0].size);
        headwise_parts_end(to);
    }
    return good;
}

/* A step that looks at one part after the other. */
static enum headwise_status by_part(struct headwise_parts *to, const struct headwise_parts *from,
                                    const struct headwise_decoder_step *step,
                                    struct headwise_decoder_room *room) {
    enum headwise_status status = HEADWISE_OK;
    for (size_t i = 0; !status && !to->failed && i < from->n; i++) {
        struct headwise_text part = headwise_parts_get(from, i);
        struct headwise_text suffix = {step->content.at, step->content.size};
        struct headwise_text space = {" ", i + 1 < from->n};
        bool good = true;
        if (step->kind == HEADWISE_DECODER_WORDPIECE) {
            good = wordpiece(to, part, i, step, room->scratch);
        } else if (step->kind == HEADWISE_DECODER_METASPACE) {
            good = metaspace(to, part, i, step, room->scratch);
        } else if (step->kind == HEADWISE_DECODER_STRIP) {
            strip(to, part, step);
        } else if (step->kind == HEADWISE_DECODER_REPLACE) {
            status = replace_pattern(to, part, step, &room->patterns);
        } else {
            room->scratch[0].size = 0;
            good = replace(to->memory, &room->scratch[0], part, suffix, space);
            headwise_parts_write(to, room->scratch[0].at, room->scratch[0].size);
        }
        to->failed = to->failed || !good;
        headwise_parts_end(to);
    }
    return status;
}

static enum headwise_status run_step(struct headwise_parts *to, const struct headwise_parts *from,
                                     const struct headwise_decoder_step *step,
                                     struct headwise_decoder_room *room) {
    bool good = true;
    switch (step->kind) {
    case HEADWISE_DECODER_BYTE_LEVEL:
        good = headwise_decode_byte_level(to, from, &room->scratch[0]);
        break;
    case HEADWISE_DECODER_BYTE_FALLBACK:
        good = headwise_decode_byte_fallback(to, from, &room->scratch[0]);
        break;
    case HEADWISE_DECODER_FUSE:
        headwise_parts_write(to, from->text.at, from->text.size);
        headwise_parts_end(to);
        break;
    case HEADWISE_DECODER_CTC:
        for (size_t i = 0; good && i < from->n; i++)
            good = ctc(to, from, i, step, room->scratch);
        break;
    default:
        return by_part(to, from, step, room);
    }
    to->failed = to->failed || !good;
    return HEADWISE_OK;
}

enum headwise_status headwise_decoder_run(const struct headwise_decoder *decoder,
                                          struct headwise_decoder_room *room,
                                          struct headwise_parts *parts) {
    for (size_t i = 0; i <= decoder->n && !parts->failed; i++) {
        struct headwise_parts *other = &room->other;
        enum headwise_status status = HEADWISE_OK;
        if (i == decoder->n && i > 0)
            break;
        headwise_parts_clear(other);
        for (size_t k = 0; decoder->n == 0 && k < parts->n; k++) {
            struct headwise_text part = headwise_parts_get(parts, k);
            headwise_parts_write(other, " ", k > 0);
            headwise_parts_write(other, part.bytes, part.size_bytes);
        }
        if (decoder->n > 0)
            status = run_step(other, parts, &decoder->steps[i], room);
        if (status)
            return status;
        struct headwise_parts before = *parts;
        *parts = *other;
        *other = before;
    }
    return parts->failed ? headwise_model_no_memory("decode") : HEADWISE_OK;
}
