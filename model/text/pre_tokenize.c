/* The steps that cut a text into words. */
#include "base/error.h"
#include "text/normalizer.h"
#include "text/pre_tokenizer.h"
#include "text/unicode.h"

struct cut {
    const struct headwise_pre_step *step;
    struct headwise_pre_room *room;
    const char *text;
    struct headwise_cutter cutter;
};

static bool is_delimiter(const struct headwise_pre_step *step, uint32_t c) {
    switch (step->kind) {
    case HEADWISE_PRE_WHITESPACE_SPLIT:
        return headwise_text_class(c) & HEADWISE_CLASS_SPACE;
    case HEADWISE_PRE_PUNCTUATION:
        return headwise_text_class(c) & HEADWISE_CLASS_PUNCTUATION;
    case HEADWISE_PRE_DIGITS:
        return headwise_text_class(c) & HEADWISE_CLASS_NUMERIC;
    case HEADWISE_PRE_DELIMITER:
    case HEADWISE_PRE_METASPACE:
        return c == step->character;
    case HEADWISE_PRE_BERT:
    case HEADWISE_PRE_BYTE_LEVEL:
    case HEADWISE_PRE_WHITESPACE:
    case HEADWISE_PRE_SPLIT:
    case HEADWISE_PRE_FIXED_LENGTH: /* these are not cut at characters */
        break;
    }
    return false;
}

static void cut_at_characters(struct cut *cut, struct headwise_split split) {
    size_t begin = split.begin, size;
    for (size_t at = begin; at < split.end; at += size) {
        uint32_t c = headwise_utf8_read(cut->text + at, &size);
        if (!is_delimiter(cut->step, c))
            continue;
        if (begin < at)
            headwise_cutter_take(&cut->cutter, begin, at, false);
        begin = at + size;
        headwise_cutter_take(&cut->cutter, at, begin, true);
    }
    if (begin < split.end)
        headwise_cutter_take(&cut->cutter, begin, split.end, false);
}

/* Spaces go, each mark of punctuation stands alone. */
static void cut_bert(struct cut *cut, struct headwise_split split) {
    const unsigned stops = HEADWISE_CLASS_SPACE | HEADWISE_CLASS_PUNCTUATION;
    size_t begin = split.begin, size;
    for (size_t at = begin; at < split.end; at += size) {
        unsigned class = headwise_text_class(headwise_utf8_read(cut->text + at, &size));
        if (!(class & stops))
            continue;
        headwise_cutter_take(&cut->cutter, begin, at, false);
        begin = at + size;
        if (class & HEADWISE_CLASS_PUNCTUATION)
            headwise_cutter_take(&cut->cutter, at, begin, false);
    }
    headwise_cutter_take(&cut->cutter, begin, split.end, false);
}

static enum headwise_status cut_at_matches(struct cut *cut, struct headwise_split split) {
    struct headwise_pattern_matches m = {.pattern = &cut->step->pattern,
                                         .room = cut->room->patterns,
                                         .text = cut->text + split.begin,
                                         .size = split.end - split.begin};
    size_t done = 0;
    bool invert = cut->step->invert, found;
    for (;;) {
        enum headwise_status status = headwise_pattern_next(&m, &found);
        if (status)
            return status;
        if (!found)
            break;
        if (done < m.begin)
            headwise_cutter_take(&cut->cutter, split.begin + done, split.begin + m.begin, invert);
        headwise_cutter_take(&cut->cutter, split.begin + m.begin, split.begin + m.end, !invert);
        done = m.end;
    }
    if (done < m.size)
        headwise_cutter_take(&cut->cutter, split.begin + done, split.end, invert);
    return HEADWISE_OK;
}

static void cut_by_length(struct cut *cut, struct headwise_split split) {
    size_t begin = split.begin, n = 0;
    for (size_t at = begin; at < split.end;) {
        at += headwise_utf8_size((unsigned char)cut->text[at]);
        if (++n == cut->step->length || at == split.end) {
            headwise_cutter_take(&cut->cutter, begin, at, false);
            begin = at;
            n = 0;
        }
    }
}

static enum headwise_status cut_split(struct cut *cut, struct headwise_split split) {
    enum headwise_status status = HEADWISE_OK;
    headwise_cutter_begin(&cut->cutter);
    switch (cut->step->kind) {
    case HEADWISE_PRE_BERT:
        cut_bert(cut, split);
        break;
    case HEADWISE_PRE_WHITESPACE:
    case HEADWISE_PRE_SPLIT:
    case HEADWISE_PRE_BYTE_LEVEL:
        status = cut_at_matches(cut, split);
        break;
    case HEADWISE_PRE_FIXED_LENGTH:
        cut_by_length(cut, split);
        break;
    case HEADWISE_PRE_DELIMITER:
    case HEADWISE_PRE_METASPACE:
    case HEADWISE_PRE_WHITESPACE_SPLIT:
    case HEADWISE_PRE_PUNCTUATION:
    case HEADWISE_PRE_DIGITS:
        cut_at_characters(cut, split);
        break;
    }
    headwise_cutter_end(&cut->cutter);
    return status;
}

/* Cuts every split. */
static enum headwise_status cut_all(const struct headwise_pre_step *step,
                                    struct headwise_pre_room *room,
                                    const struct headwise_aligned *text,
                                    struct headwise_splits *splits) {
    struct headwise_splits *other = &room->other_splits;
    other->n = 0;
    struct cut cut = {.step = step, .room = room, .text = text->text.at};
    cut.cutter = (struct headwise_cutter){
        .memory = text->memory, .splits = other, .behavior = step->behavior};
    for (size_t i = 0; i < splits->n && !cut.cutter.failed; i++) {
        enum headwise_status status = cut_split(&cut, splits->at[i]);
        if (status)
            return status;
    }
    struct headwise_splits before = *splits;
    *splits = *other;
    *other = before;
    return cut.cutter.failed ? headwise_model_no_memory("encode") : HEADWISE_OK;
}

/* Writes one split for a step that changes characters; writing: those of the byte-level alphabet,
 * otherwise what comes before the split and, of Metaspace, instead of spaces. */
static void write_split(struct headwise_aligned *target, const struct headwise_aligned *source,
                        struct headwise_aligned_cursor *cursor,
                        const struct headwise_pre_step *step, struct headwise_split split) {
    const char *text = source->text.at;
    bool metaspace = step->kind == HEADWISE_PRE_METASPACE;
    struct headwise_origin first = headwise_aligned_origin(source, cursor, split.begin);
    size_t size;
    uint32_t c = headwise_utf8_read(text + split.begin, &size);
    bool prefix = metaspace ? step->prepend == HEADWISE_PREPEND_ALWAYS ||
                                  (step->prepend == HEADWISE_PREPEND_FIRST && first.from == 0)
                            : step->add_prefix_space;
    if (prefix && c != ' ' && !(metaspace && c == step->character))
        headwise_aligned_put_character(target, metaspace ? step->character : ' ', first);
    size_t begin = split.begin;
    for (size_t at = begin; metaspace && at < split.end && !target->failed; at++) {
        if (text[at] != ' ')
            continue;
        headwise_aligned_put_part(target, source, cursor, begin, at);
        headwise_aligned_put_character(target, step->character,
                                       headwise_aligned_origin(source, cursor, at));
        begin = at + 1;
    }
    headwise_aligned_put_part(target, source, cursor, begin, split.end);
}

/* Writes every split anew, to the other text. */
static enum headwise_status write_all(const struct headwise_pre_step *step, bool as_characters,
                                      struct headwise_pre_room *room, struct headwise_aligned *text,
                                      struct headwise_splits *splits) {
    struct headwise_aligned *other = &room->other;
    struct headwise_aligned_cursor cursor = {0};
    headwise_aligned_clear(other);
    for (size_t i = 0; i < splits->n && !other->failed; i++) {
        size_t begin = other->text.size;
        if (as_characters)
            headwise_byte_level_write(other, text, &cursor, splits->at[i].begin, splits->at[i].end);
        else
            write_split(other, text, &cursor, step, splits->at[i]);
        splits->at[i] = (struct headwise_split){begin, other->text.size};
    }
    struct headwise_aligned before = *text;
    *text = *other;
    *other = before;
    return text->failed ? headwise_model_no_memory("encode") : HEADWISE_OK;
}

static enum headwise_status run_step(const struct headwise_pre_step *step,
                                     struct headwise_pre_room *room, struct headwise_aligned *text,
                                     struct headwise_splits *splits) {
    bool bytes = step->kind == HEADWISE_PRE_BYTE_LEVEL;
    bool metaspace = step->kind == HEADWISE_PRE_METASPACE;
    enum headwise_status status = HEADWISE_OK;
    if (metaspace || (bytes && step->add_prefix_space))
        status = write_all(step, false, room, text, splits);
    if (!status && (metaspace ? step->split : !bytes || step->use_regex))
        status = cut_all(step, room, text, splits);
    if (!status && bytes && !step->as_bytes)
        status = write_all(step, true, room, text, splits);
    return status;
}

enum headwise_status headwise_pre_tokenize(const struct headwise_pre_tokenizer *pre,
                                           struct headwise_pre_room *room,
                                           struct headwise_aligned *text,
                                           struct headwise_splits *splits) {
    enum headwise_status status = HEADWISE_OK;
    for (size_t i = 0; !status && i < pre->n; i++)
        status = run_step(&pre->steps[i], room, text, splits);
    return status;
}
