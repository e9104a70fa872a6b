/* Takes a text through the steps of its tokenizer. */
#include <string.h>

#include "base/error.h"
#include "text/tokenizer.h"
#include "text/unicode.h"

static enum headwise_status no_memory(void) {
    return headwise_model_no_memory("encode");
}

/* A text as it is read: bytes are valid UTF-8; input is NULL where they are the caller's. */
struct reading {
    const char *bytes;
    size_t size;
    const struct headwise_aligned *input;
    struct headwise_aligned_cursor cursor;
    struct headwise_found_list *found;
    const struct headwise_encode_options *options;
};

static enum headwise_status add_found(headwise_encoding *encoding, struct headwise_found_list *list,
                                      struct headwise_found found, const char *piece, size_t size) {
    found.piece = encoding->pieces.size;
    found.piece_size = (uint32_t)size;
    if (size > UINT32_MAX ||
        !headwise_bytes_append(&encoding->memory, &encoding->pieces, piece, size) ||
        !headwise_memory_grow(&encoding->memory, &list->at, &list->capacity, list->n + 1,
                              sizeof *list->at))
        return no_memory();
    list->at[list->n++] = found;
    return HEADWISE_OK;
}

/* Cuts a text in which no added token is left. */
static enum headwise_status encode_plain(headwise_encoding *encoding, struct reading *reading,
                                         struct headwise_aligned *text) {
    const struct headwise_tokenizer *tokenizer = encoding->tokenizer;
    struct headwise_splits *splits = &encoding->splits;
    struct headwise_token_list *pieces = &encoding->pieces_of_word;
    struct headwise_aligned_cursor cursor = {0};
    splits->n = 0;
    if (!headwise_splits_add(&encoding->memory, splits, 0, text->text.size))
        return no_memory();
    enum headwise_status status =
        headwise_pre_tokenize(&tokenizer->pre, &encoding->pre, text, splits);
    for (size_t i = 0; !status && i < splits->n; i++) {
        pieces->n = 0;
        status = headwise_model_cut(&tokenizer->model, &encoding->model, text->text.at,
                                    splits->at[i].begin, splits->at[i].end, pieces);
        for (size_t k = 0; !status && k < pieces->n; k++) {
            struct headwise_token token = pieces->at[k];
            struct headwise_origin from = {0, 0}, to = {0, 0};
            if (token.begin < text->text.size)
                from = to = headwise_aligned_origin(text, &cursor, token.begin);
            if (token.end > token.begin + 1)
                to = headwise_aligned_origin(text, &cursor, token.end - 1);
            status =
                add_found(encoding, reading->found,
                          (struct headwise_found){.id = token.id, .span = {from.from, to.to}},
                          text->text.at + token.begin, token.is_text ? token.end - token.begin : 0);
        }
    }
    return status;
}

/* Adds a token that was found in text, as it stands there. */
static enum headwise_status add_match(headwise_encoding *encoding, struct reading *reading,
                                      struct headwise_added_match match, const char *text,
                                      struct headwise_span span) {
    const struct headwise_bytes *content = &match.token->content;
    size_t size = match.end - match.begin;
    bool same = size == content->size && memcmp(text + match.begin, content->at, size) == 0;
    return add_found(encoding, reading->found,
                     (struct headwise_found){.id = match.token->id, .span = span},
                     text + match.begin, same ? 0 : size);
}

/* Normalizes encoding->text, finds normalized added tokens in it, and cuts what is between. */
static enum headwise_status encode_part(headwise_encoding *encoding, struct reading *reading) {
    const struct headwise_tokenizer *tokenizer = encoding->tokenizer;
    struct headwise_aligned *text = &encoding->text, *part = &encoding->part;
    bool special_is_text = reading->options->special_is_text;
    enum headwise_status status =
        text->failed ? no_memory()
                     : headwise_normalize(&tokenizer->normalizer, &encoding->normalizer, text);
    struct headwise_aligned_cursor cursor = {0};
    size_t size = text->text.size, done = 0, from = 0;
    while (!status && (done < size || from < size)) {
        struct headwise_added_match match = headwise_added_find(
            &tokenizer->added, true, special_is_text, text->text.at, size, from, done);
        if (!match.token && done == 0)
            return encode_plain(encoding, reading, text);
        if (done < match.begin) {
            headwise_aligned_clear(part);
            headwise_aligned_put_part(part, text, &cursor, done, match.begin);
            status = part->failed ? no_memory() : encode_plain(encoding, reading, part);
        }
        if (!status && match.token && match.begin < match.end) {
            struct headwise_origin first = headwise_aligned_origin(text, &cursor, match.begin);
            struct headwise_origin last = headwise_aligned_origin(text, &cursor, match.end - 1);
            status = add_match(encoding, reading, match, text->text.at,
                               (struct headwise_span){first.from, last.to});
        }
        done = match.end;
        from = match.next;
    }
    return status;
}

/* The bytes of the original that bytes begin..end of what is read come from. */
static struct headwise_span original_span(struct reading *reading, size_t begin, size_t end) {
    if (!reading->input || begin == end)
        return (struct headwise_span){begin, end};
    size_t from = headwise_aligned_origin(reading->input, &reading->cursor, begin).from;
    size_t to = headwise_aligned_origin(reading->input, &reading->cursor, end - 1).to;
    return (struct headwise_span){from, to};
}

static enum headwise_status encode_reading(headwise_encoding *encoding, struct reading *reading) {
    const struct headwise_tokenizer *tokenizer = encoding->tokenizer;
    size_t done = 0, from = 0, size = reading->size;
    enum headwise_status status = HEADWISE_OK;
    while (!status && (done < size || from < size)) {
        struct headwise_added_match match =
            headwise_added_find(&tokenizer->added, false, reading->options->special_is_text,
                                reading->bytes, size, from, done);
        if (done < match.begin) {
            headwise_aligned_clear(&encoding->text);
            if (reading->input)
                headwise_aligned_put_part(&encoding->text, reading->input, &reading->cursor, done,
                                          match.begin);
            else
                headwise_aligned_put_run(&encoding->text, reading->bytes + done, match.begin - done,
                                         done);
            status = encode_part(encoding, reading);
        }
        if (!status && match.token && match.begin < match.end)
            status = add_match(encoding, reading, match, reading->bytes,
                               original_span(reading, match.begin, match.end));
        done = match.end;
        from = match.next;
    }
    return status;
}

/* Writes the text to encoding->input with U+FFFD instead of what is invalid. */
static enum headwise_status replace_invalid(headwise_encoding *encoding,
                                            const struct headwise_text *text) {
    struct headwise_aligned *input = &encoding->input;
    headwise_aligned_clear(input);
    for (size_t at = 0; at < text->size_bytes && !input->failed;) {
        const char *bytes = text->bytes + at;
        size_t n = headwise_utf8_valid(bytes, text->size_bytes - at);
        headwise_aligned_put_run(input, bytes, n, at);
        at += n;
        if (at == text->size_bytes)
            break;
        n = headwise_utf8_broken(text->bytes + at, text->size_bytes - at);
        headwise_aligned_put_character(input, 0xfffd, (struct headwise_origin){at, at + n});
        at += n;
    }
    return input->failed ? no_memory() : HEADWISE_OK;
}

enum headwise_status headwise_encode_text(headwise_encoding *encoding,
                                          const struct headwise_text *text, int source,
                                          const struct headwise_encode_options *options) {
    struct reading reading = {.bytes = text->bytes,
                              .size = text->size_bytes,
                              .found = &encoding->found[source],
                              .options = options};
    reading.found->n = 0;
    if (text->size_bytes == 0)
        return HEADWISE_OK;
    size_t valid = headwise_utf8_valid(text->bytes, text->size_bytes);
    if (valid < text->size_bytes && !options->replace_invalid)
        return headwise_model_fail(
            HEADWISE_ERR_INVALID, "encode: %s is no UTF-8 at byte %zu (0x%02x)",
            source ? "pair" : "text", valid, (unsigned)(unsigned char)text->bytes[valid]);
    if (valid < text->size_bytes) {
        enum headwise_status status = replace_invalid(encoding, text);
        if (status)
            return status;
        reading.input = &encoding->input;
        reading.bytes = encoding->input.text.at;
        reading.size = encoding->input.text.size;
    }
    return encode_reading(encoding, &reading);
}
