/* Decodes lists of ids, and streams of them by a window that is decoded with and without its new
 * tokens. */
#include <string.h>

#include "base/error.h"
#include "text/tokenizer.h"
#include "text/unicode.h"

enum { MOST_HELD = 64 }; /* tokens that are held back */

struct headwise_decoding {
    struct headwise_allocator memory;
    const struct headwise_tokenizer *tokenizer;
    bool skip_special;
    struct headwise_parts parts;
    struct headwise_decoder_room room;
    /* The window: ids whose text was said, which what comes next depends on, then those held. */
    int32_t *window;
    size_t n_said, n_window, window_capacity;
    size_t said_size; /* bytes of the said ids' text */
};

enum headwise_status headwise_decoding_create(headwise_decoding **decoding,
                                              const headwise_tokenizer *tokenizer,
                                              bool skip_special,
                                              const struct headwise_allocator *allocator) {
    struct headwise_allocator memory;
    if (!decoding || !tokenizer)
        return headwise_model_fail(HEADWISE_ERR_INVALID, "decoding_create: %s is NULL",
                                   decoding ? "tokenizer" : "decoding");
    enum headwise_status status = headwise_memory_set(&memory, "decoding_create", allocator);
    if (status)
        return status;
    headwise_decoding *made = headwise_memory_take(&memory, 1, sizeof *made);
    if (!made)
        return headwise_model_no_memory("decoding_create");
    memset(made, 0, sizeof *made);
    made->memory = memory;
    made->tokenizer = tokenizer;
    made->skip_special = skip_special;
    made->parts.memory = made->room.other.memory = made->room.patterns.memory = &made->memory;
    *decoding = made;
    return HEADWISE_OK;
}

void headwise_decoding_destroy(headwise_decoding *decoding) {
    if (!decoding)
        return;
    struct headwise_allocator memory = decoding->memory;
    headwise_parts_free(&decoding->parts);
    headwise_parts_free(&decoding->room.other);
    headwise_bytes_free(&memory, &decoding->room.scratch[0]);
    headwise_bytes_free(&memory, &decoding->room.scratch[1]);
    headwise_pattern_room_free(&decoding->room.patterns);
    headwise_memory_give(&memory, decoding->window, decoding->window_capacity,
                         sizeof *decoding->window);
    headwise_memory_give(&memory, decoding, 1, sizeof *decoding);
}

static enum headwise_status decode(headwise_decoding *decoding, const int32_t *ids, size_t n,
                                   struct headwise_text *text) {
    struct headwise_parts *parts = &decoding->parts;
    headwise_parts_clear(parts);
    for (size_t i = 0; i < n; i++) {
        struct headwise_text piece = headwise_tokenizer_written(decoding->tokenizer, ids[i]);
        if (!piece.bytes ||
            (decoding->skip_special && headwise_tokenizer_is_special(decoding->tokenizer, ids[i])))
            continue;
        headwise_parts_write(parts, piece.bytes, piece.size_bytes);
        headwise_parts_end(parts);
    }
    enum headwise_status status =
        parts->failed ? headwise_model_no_memory("decode")
                      : headwise_decoder_run(&decoding->tokenizer->decoder, &decoding->room, parts);
    if (!status)
        *text =
            (struct headwise_text){parts->text.size > 0 ? parts->text.at : "", parts->text.size};
    return status;
}

static void forget(headwise_decoding *decoding) {
    decoding->n_said = decoding->n_window = decoding->said_size = 0;
}

enum headwise_status headwise_decode(headwise_decoding *decoding, const int32_t *ids, size_t n,
                                     struct headwise_text *text) {
    if (!decoding || !text || (!ids && n > 0))
        return headwise_model_fail(HEADWISE_ERR_INVALID, "decode: %s is NULL",
                                   !decoding ? "decoding"
                                   : !text   ? "text"
                                             : "ids");
    forget(decoding);
    return decode(decoding, ids, n, text);
}

/* Whether the text may end inside a character whose other bytes are still to come. */
static bool ends_open(struct headwise_text text) {
    return text.size_bytes >= 3 && memcmp(text.bytes + text.size_bytes - 3, "\xEF\xBF\xBD", 3) == 0;
}

/* Says what the window has beyond what was said: where its ids are all said, the said ones before
 * are let go. */
static enum headwise_status say(headwise_decoding *decoding, struct headwise_text *text) {
    struct headwise_text whole, kept;
    size_t n_new = decoding->n_window - decoding->n_said;
    enum headwise_status status =
        decode(decoding, decoding->window + decoding->n_said, n_new, &kept);
    size_t kept_size = kept.size_bytes;
    if (!status)
        status = decode(decoding, decoding->window, decoding->n_window, &whole);
    if (status)
        return status;
    size_t said = decoding->said_size < whole.size_bytes ? decoding->said_size : whole.size_bytes;
    while (said > 0 && said < whole.size_bytes && headwise_utf8_continues(whole.bytes[said]))
        said--;
    *text = (struct headwise_text){whole.bytes + said, whole.size_bytes - said};
    memmove(decoding->window, decoding->window + decoding->n_said, n_new * sizeof(int32_t));
    decoding->n_said = decoding->n_window = n_new;
    decoding->said_size = kept_size;
    return HEADWISE_OK;
}

enum headwise_status headwise_decode_next(headwise_decoding *decoding, int32_t id,
                                          struct headwise_text *text) {
    if (!decoding || !text)
        return headwise_model_fail(HEADWISE_ERR_INVALID, "decode_next: %s is NULL",
                                   decoding ? "text" : "decoding");
    if (!headwise_memory_grow(&decoding->memory, &decoding->window, &decoding->window_capacity,
                              decoding->n_window + 1, sizeof *decoding->window))
        return headwise_model_no_memory("decode_next");
    decoding->window[decoding->n_window++] = id;
    struct headwise_text whole;
    enum headwise_status status = decode(decoding, decoding->window, decoding->n_window, &whole);
    bool hold = !status && decoding->n_window - decoding->n_said < MOST_HELD &&
                (whole.size_bytes <= decoding->said_size || ends_open(whole));
    if (hold)
        *text = (struct headwise_text){"", 0};
    else if (!status)
        status = say(decoding, text);
    if (status)
        decoding->n_window--;
    return status;
}

enum headwise_status headwise_decode_end(headwise_decoding *decoding, struct headwise_text *text) {
    if (!decoding || !text)
        return headwise_model_fail(HEADWISE_ERR_INVALID, "decode_end: %s is NULL",
                                   decoding ? "text" : "decoding");
    enum headwise_status status = say(decoding, text);
    if (!status)
        forget(decoding);
    return status;
}
