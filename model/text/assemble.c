/* Cuts the tokens of two texts to a limit, trims their spans, and joins them with what is added. */
#include <string.h>

#include "base/error.h"
#include "text/normalizer.h"
#include "text/tokenizer.h"
#include "text/unicode.h"

static void cut_to(headwise_encoding *encoding, int source, size_t n, bool left) {
    struct headwise_found_list *found = &encoding->found[source];
    if (found->n <= n)
        return;
    size_t n_cut = found->n - n;
    if (left)
        memmove(found->at, found->at + n_cut, n * sizeof *found->at);
    found->n = n;
    encoding->tokens.n_cut[source] = n_cut;
}

/* The longer text first; both to halves where the shorter one is longer than half, too. */
static void cut_longest(headwise_encoding *encoding, bool pair, size_t limit, bool left) {
    size_t n[2] = {encoding->found[0].n, encoding->found[1].n};
    if (!pair) {
        cut_to(encoding, 0, limit, left);
        return;
    }
    int shorter = n[0] > n[1];
    size_t few = n[shorter], many = few;
    if (few <= limit && limit - few > few)
        many = limit - few;
    if (few + many > limit) {
        few = limit / 2;
        many = few + limit % 2;
    }
    cut_to(encoding, shorter, few, left);
    cut_to(encoding, 1 - shorter, many, left);
}

enum headwise_status headwise_encode_truncate(headwise_encoding *encoding, bool pair,
                                              const struct headwise_encode_options *options) {
    size_t limit = options->max_tokens, n_added = 0;
    if (limit == 0)
        return HEADWISE_OK;
    if (options->add_special)
        n_added = headwise_post_processor_n_added(&encoding->tokenizer->post, pair);
    if (n_added > limit)
        return headwise_model_fail(HEADWISE_ERR_INVALID,
                                   "encode: max_tokens is %zu, less than %zu tokens that are added",
                                   limit, n_added);
    limit -= n_added;
    size_t total = encoding->found[0].n + (pair ? encoding->found[1].n : 0);
    if (limit == 0) {
        cut_to(encoding, 0, 0, options->cut_left);
        cut_to(encoding, 1, 0, options->cut_left);
        return HEADWISE_OK;
    }
    if (total <= limit)
        return HEADWISE_OK;
    if (options->truncation == HEADWISE_TRUNCATION_LONGEST_FIRST) {
        cut_longest(encoding, pair, limit, options->cut_left);
        return HEADWISE_OK;
    }
    int source = options->truncation == HEADWISE_TRUNCATION_ONLY_SECOND;
    if (source == 1 && !pair)
        return headwise_model_fail(HEADWISE_ERR_INVALID,
                                   "encode: the second text is to be cut and there is none");
    size_t n = encoding->found[source].n;
    if (n <= total - limit)
        return headwise_model_fail(
            HEADWISE_ERR_INVALID,
            "encode: %zu tokens are too many by %zu, more than the %s text has to cut (%zu)",
            total + n_added, total - limit, source ? "second" : "first", n);
    cut_to(encoding, source, n - (total - limit), options->cut_left);
    return HEADWISE_OK;
}

static struct headwise_text piece_of(const headwise_encoding *encoding,
                                     const struct headwise_found *found) {
    if (found->piece_size > 0)
        return (struct headwise_text){encoding->pieces.at + found->piece, found->piece_size};
    return headwise_tokenizer_piece(encoding->tokenizer, found->id);
}

static bool is_blank(uint32_t c) {
    return c == headwise_byte_character(' ') || headwise_text_class(c) & HEADWISE_CLASS_SPACE;
}

/* How many characters at the beginning and at the end of a piece are blank. */
static void count_blanks(struct headwise_text piece, size_t *n_leading, size_t *n_trailing) {
    size_t size, at = 0;
    *n_leading = *n_trailing = 0;
    for (; at < piece.size_bytes && is_blank(headwise_utf8_read(piece.bytes + at, &size));
         at += size)
        (*n_leading)++;
    for (size_t end = piece.size_bytes; end > 0; (*n_trailing)++) {
        do
            end--;
        while (headwise_utf8_continues(piece.bytes[end]));
        if (!is_blank(headwise_utf8_read(piece.bytes + end, &size)))
            break;
    }
}

/* The place n characters before at; SIZE_MAX: there are less. */
static size_t step_back(const char *bytes, size_t at, size_t n) {
    for (; n > 0; n--) {
        if (at == 0)
            return SIZE_MAX;
        do
            at--;
        while (at > 0 && headwise_utf8_continues(bytes[at]));
    }
    return at;
}

void headwise_encode_trim(headwise_encoding *encoding, const struct headwise_text *text,
                          int source) {
    const struct headwise_post_processor *post = &encoding->tokenizer->post;
    struct headwise_found_list *list = &encoding->found[source];
    for (size_t i = 0; post->trim_offsets && i < list->n; i++) {
        struct headwise_span *span = &list->at[i].span;
        size_t n_leading, n_trailing;
        count_blanks(piece_of(encoding, &list->at[i]), &n_leading, &n_trailing);
        /* A space that was put before the text is no part of it. */
        if ((i == 0 || span->begin == 0) && post->add_prefix_space && n_leading == 1)
            n_leading = 0;
        for (; n_leading > 0 && span->begin < span->end; n_leading--) {
            do
                span->begin++;
            while (span->begin < span->end && headwise_utf8_continues(text->bytes[span->begin]));
        }
        size_t end = n_trailing > 0 ? step_back(text->bytes, span->end, n_trailing) : SIZE_MAX;
        if (end != SIZE_MAX)
            span->end = end > span->begin ? end : span->begin;
    }
}

static bool have_room(headwise_encoding *e, size_t n) {
    const struct headwise_allocator *memory = &e->memory;
    return headwise_memory_grow(memory, &e->ids, &e->ids_capacity, n, sizeof *e->ids) &&
           headwise_memory_grow(memory, &e->types, &e->types_capacity, n, sizeof *e->types) &&
           headwise_memory_grow(memory, &e->spans, &e->spans_capacity, n, sizeof *e->spans) &&
           headwise_memory_grow(memory, &e->sources, &e->sources_capacity, n, sizeof *e->sources) &&
           headwise_memory_grow(memory, &e->indices, &e->indices_capacity, n, sizeof *e->indices);
}

/* Appends what one piece of a template stands for. */
static enum headwise_status add_piece(headwise_encoding *e,
                                      const struct headwise_template_piece *piece) {
    const struct headwise_post_processor *post = &e->tokenizer->post;
    bool special = piece->kind == HEADWISE_TEMPLATE_SPECIAL;
    int source = piece->kind == HEADWISE_TEMPLATE_SECOND;
    const struct headwise_found_list *found = &e->found[source];
    size_t n = special ? piece->n_ids : found->n, at = e->tokens.n;
    if (n > SIZE_MAX - at || n > UINT32_MAX || !have_room(e, at + n))
        return headwise_model_no_memory("encode");
    for (size_t i = 0; i < n; i++, at++) {
        e->types[at] = piece->type;
        e->sources[at] = special ? -1 : (int8_t)source;
        e->ids[at] = special ? post->ids[piece->first_id + i] : found->at[i].id;
        e->spans[at] = special ? (struct headwise_span){0, 0} : found->at[i].span;
        e->indices[at] = (uint32_t)i;
    }
    e->tokens.n = at;
    return HEADWISE_OK;
}

enum headwise_status headwise_encode_assemble(headwise_encoding *encoding, bool pair,
                                              bool add_special) {
    const struct headwise_template *template = &encoding->tokenizer->post.templates[pair];
    enum headwise_status status = HEADWISE_OK;
    for (size_t i = 0; !status && i < template->n; i++) {
        if (add_special || template->pieces[i].kind != HEADWISE_TEMPLATE_SPECIAL)
            status = add_piece(encoding, &template->pieces[i]);
    }
    if (status)
        encoding->tokens.n = 0;
    encoding->tokens.ids = encoding->ids;
    encoding->tokens.types = encoding->types;
    encoding->tokens.spans = encoding->spans;
    encoding->tokens.sources = encoding->sources;
    return status;
}

struct headwise_text headwise_encoding_piece(const headwise_encoding *encoding, size_t index) {
    if (index >= encoding->tokens.n)
        return (struct headwise_text){NULL, 0};
    int source = encoding->sources[index];
    if (source < 0)
        return headwise_tokenizer_piece(encoding->tokenizer, encoding->ids[index]);
    return piece_of(encoding, &encoding->found[source].at[encoding->indices[index]]);
}
