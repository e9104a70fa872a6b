/* Compiles patterns and finds their matches. */
#include "text/pattern.h"

#include <string.h>

#include "base/error.h"
#include "text/unicode.h"

/* Steps of one match: far above what splitting a text into words takes, and a fraction of a second
 * where an expression would never end. */
enum { MATCH_LIMIT = 10000000, JIT_STACK_FIRST = 32 << 10, JIT_STACK_LAST = 8 << 20 };

/* PCRE2 gives back without a size, the allocator wants one: it is kept before each block. */
enum { HEADER = 16 };

static void *take(PCRE2_SIZE size, void *user) {
    char *block = size > SIZE_MAX - HEADER ? NULL : headwise_memory_take(user, size + HEADER, 1);
    if (!block)
        return NULL;
    memcpy(block, &size, sizeof size);
    return block + HEADER;
}

static void give(void *memory, void *user) {
    if (!memory)
        return;
    char *block = (char *)memory - HEADER;
    PCRE2_SIZE size;
    memcpy(&size, block, sizeof size);
    headwise_memory_give(user, block, size + HEADER, 1);
}

pcre2_general_context *headwise_pattern_general(const struct headwise_allocator *memory) {
    return pcre2_general_context_create(take, give, (void *)memory);
}

struct known {
    const char *source;
    enum headwise_pattern_kind kind;
    size_t n_digits;
};

#define CL100K(digits)                                                                             \
    "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|" digits                           \
    "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"

static const struct known known_patterns[] = {
    {"'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+",
     HEADWISE_PATTERN_GPT2, 0},
    {CL100K("\\p{N}{1,3}"), HEADWISE_PATTERN_CL100K, 3},
    {CL100K("\\p{N}"), HEADWISE_PATTERN_CL100K, 1},
    {"<\\|startoftext\\|>|<\\|endoftext\\|>|'s|'t|'re|'ve|'m|'ll|'d|[\\p{L}]+|[\\p{N}]|"
     "[^\\s\\p{L}\\p{N}]+",
     HEADWISE_PATTERN_CLIP, 0},
    {"\\w+|[^\\w\\s]+", HEADWISE_PATTERN_WORDS, 0},
};

static enum headwise_status compile(struct headwise_pattern *pattern) {
    struct headwise_bytes pcre = {0};
    struct headwise_text source = {pattern->source.at, pattern->source.size};
    pcre2_general_context *general = headwise_pattern_general(pattern->memory);
    pcre2_compile_context *context = general ? pcre2_compile_context_create(general) : NULL;
    enum headwise_status status = HEADWISE_OK;
    if (!context || !headwise_pattern_translate(pattern->memory, &pcre, source)) {
        status = headwise_model_no_memory("pattern");
    } else {
        int error = 0;
        PCRE2_SIZE at = 0;
        pcre2_set_newline(context, PCRE2_NEWLINE_LF);
        pattern->code = pcre2_compile((PCRE2_SPTR)pcre.at, pcre.size,
                                      PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NO_UTF_CHECK,
                                      &error, &at, context);
        char text[128] = "";
        if (!pattern->code && error == PCRE2_ERROR_HEAP_FAILED) {
            status = headwise_model_no_memory("pattern");
        } else if (!pattern->code) {
            pcre2_get_error_message(error, (PCRE2_UCHAR *)text, sizeof text);
            status = headwise_model_fail(HEADWISE_ERR_UNSUPPORTED,
                                         "the regular expression '%.*s' is not supported: %s",
                                         (int)source.size_bytes, source.bytes, text);
        } else {
            pcre2_jit_compile(pattern->code, PCRE2_JIT_COMPLETE); /* or interpreted, as slow */
        }
    }
    headwise_bytes_free(pattern->memory, &pcre);
    pcre2_compile_context_free(context);
    pcre2_general_context_free(general);
    return status;
}

enum headwise_status headwise_pattern_set(struct headwise_pattern *pattern,
                                          const struct headwise_allocator *memory,
                                          struct headwise_text source, bool is_regex) {
    *pattern = (struct headwise_pattern){.memory = memory, .kind = HEADWISE_PATTERN_TEXT};
    if (!headwise_bytes_append(memory, &pattern->source, source.bytes, source.size_bytes))
        return headwise_model_no_memory("pattern");
    if (!is_regex)
        return HEADWISE_OK;
    for (size_t i = 0; i < sizeof known_patterns / sizeof *known_patterns; i++) {
        const struct known *known = &known_patterns[i];
        if (strlen(known->source) == source.size_bytes &&
            memcmp(known->source, source.bytes, source.size_bytes) == 0) {
            pattern->kind = known->kind;
            pattern->n_digits = known->n_digits;
            return HEADWISE_OK;
        }
    }
    pattern->kind = HEADWISE_PATTERN_REGEX;
    enum headwise_status status = compile(pattern);
    if (status)
        headwise_pattern_free(pattern);
    return status;
}

void headwise_pattern_free(struct headwise_pattern *pattern) {
    pcre2_code_free(pattern->code);
    headwise_bytes_free(pattern->memory, &pattern->source);
    *pattern = (struct headwise_pattern){.memory = pattern->memory};
}

void headwise_pattern_room_free(struct headwise_pattern_room *room) {
    pcre2_jit_stack_free(room->stack);
    pcre2_match_data_free(room->data);
    pcre2_match_context_free(room->context);
    pcre2_general_context_free(room->general);
    *room = (struct headwise_pattern_room){.memory = room->memory};
}

static bool make_room(struct headwise_pattern_room *room) {
    if (room->stack)
        return true;
    headwise_pattern_room_free(room);
    room->general = headwise_pattern_general(room->memory);
    if (room->general)
        room->context = pcre2_match_context_create(room->general);
    if (room->context)
        room->data = pcre2_match_data_create(1, room->general);
    if (room->data)
        room->stack = pcre2_jit_stack_create(JIT_STACK_FIRST, JIT_STACK_LAST, room->general);
    if (!room->stack)
        return false;
    pcre2_set_match_limit(room->context, MATCH_LIMIT);
    pcre2_jit_stack_assign(room->context, NULL, room->stack);
    return true;
}

static enum headwise_status find_regex(const struct headwise_pattern *pattern,
                                       struct headwise_pattern_room *room, const char *text,
                                       size_t size, size_t from, size_t *begin, size_t *end) {
    if (!make_room(room))
        return headwise_model_no_memory("pattern");
    int found = pcre2_match(pattern->code, (PCRE2_SPTR)text, size, from, PCRE2_NO_UTF_CHECK,
                            room->data, room->context);
    if (found == PCRE2_ERROR_NOMATCH)
        return HEADWISE_OK;
    if (found == PCRE2_ERROR_NOMEMORY)
        return headwise_model_no_memory("pattern");
    if (found < 0)
        return headwise_model_fail(
            HEADWISE_ERR_UNSUPPORTED,
            "the regular expression '%.*s' takes too many steps on this text",
            (int)pattern->source.size, pattern->source.at);
    const PCRE2_SIZE *places = pcre2_get_ovector_pointer(room->data);
    if (places[0] <= places[1]) { /* \K in a look-ahead turns them round */
        *begin = places[0];
        *end = places[1];
    }
    return HEADWISE_OK;
}

enum headwise_status headwise_pattern_find(const struct headwise_pattern *pattern,
                                           struct headwise_pattern_room *room, const char *text,
                                           size_t size, size_t from, size_t *begin, size_t *end) {
    *begin = size + 1;
    if (pattern->kind == HEADWISE_PATTERN_REGEX)
        return find_regex(pattern, room, text, size, from, begin, end);
    if (pattern->kind == HEADWISE_PATTERN_TEXT) {
        const char *found =
            pattern->source.size == 0
                ? NULL
                : memmem(text + from, size - from, pattern->source.at, pattern->source.size);
        if (found) {
            *begin = (size_t)(found - text);
            *end = *begin + pattern->source.size;
        }
        return HEADWISE_OK;
    }
    while (from < size) {
        *end = headwise_pattern_scan(pattern, text, size, from);
        if (*end > from) {
            *begin = from;
            break;
        }
        from += headwise_utf8_size((unsigned char)text[from]);
    }
    return HEADWISE_OK;
}

enum headwise_status headwise_pattern_next(struct headwise_pattern_matches *m, bool *found) {
    *found = false;
    while (m->from <= m->size) {
        size_t begin, end = 0;
        enum headwise_status status =
            headwise_pattern_find(m->pattern, m->room, m->text, m->size, m->from, &begin, &end);
        if (status || begin > m->size)
            return status;
        if (begin == end && m->has_one && end == m->end) {
            m->from += m->from < m->size ? headwise_utf8_size((unsigned char)m->text[m->from]) : 1;
            continue;
        }
        m->from = m->end = end;
        m->begin = begin;
        m->has_one = *found = true;
        return HEADWISE_OK;
    }
    return HEADWISE_OK;
}
