/* Steps that make a text out of pieces. */
#ifndef HEADWISE_TEXT_DECODER_H
#define HEADWISE_TEXT_DECODER_H

#include "text/config.h"
#include "text/pattern.h"

enum headwise_decoder_kind {
    HEADWISE_DECODER_BYTE_LEVEL,
    HEADWISE_DECODER_WORDPIECE,
    HEADWISE_DECODER_METASPACE,
    HEADWISE_DECODER_BYTE_FALLBACK,
    HEADWISE_DECODER_FUSE,
    HEADWISE_DECODER_STRIP,
    HEADWISE_DECODER_REPLACE,
    HEADWISE_DECODER_BPE,
    HEADWISE_DECODER_CTC
};

struct headwise_decoder_step {
    enum headwise_decoder_kind kind;
    struct headwise_bytes content;   /* WORDPIECE's prefix, BPE's suffix, STRIP's and METASPACE's
                                        character, REPLACE's text, CTC's padding */
    struct headwise_bytes delimiter; /* CTC */
    struct headwise_pattern pattern; /* REPLACE */
    bool cleanup;                    /* WORDPIECE, CTC: spaces before punctuation go */
    bool prefix;                     /* METASPACE: the first one was put before the text */
    size_t start, stop;              /* STRIP: at most so many at each end */
};

struct headwise_decoder {
    const struct headwise_allocator *memory;
    struct headwise_decoder_step *steps;
    size_t n, capacity; /* no steps: pieces with spaces between */
};

enum headwise_status headwise_decoder_read(struct headwise_decoder *decoder,
                                           const struct headwise_config_object *part);
enum headwise_status headwise_decoder_add(struct headwise_decoder *decoder,
                                          enum headwise_decoder_kind kind);
void headwise_decoder_free(struct headwise_decoder *decoder);

/* A list of texts, one after the other. */
struct headwise_parts {
    const struct headwise_allocator *memory;
    struct headwise_bytes text;
    size_t *ends;
    size_t n, capacity;
    bool failed;
};
void headwise_parts_clear(struct headwise_parts *parts);
void headwise_parts_free(struct headwise_parts *parts);
void headwise_parts_write(struct headwise_parts *parts, const char *bytes, size_t size);
void headwise_parts_end(struct headwise_parts *parts);
struct headwise_text headwise_parts_get(const struct headwise_parts *parts, size_t index);

/* Pieces in the byte-level alphabet become one text; one with another character is taken as it is.
 * Pieces "<0x0A>" become the bytes' text. False: no memory. */
bool headwise_decode_byte_level(struct headwise_parts *to, const struct headwise_parts *from,
                                struct headwise_bytes *bytes);
bool headwise_decode_byte_fallback(struct headwise_parts *to, const struct headwise_parts *from,
                                   struct headwise_bytes *bytes);

struct headwise_decoder_room {
    struct headwise_parts other;
    struct headwise_bytes scratch[2];
    struct headwise_pattern_room patterns;
};

/* Makes one text of the parts. */
enum headwise_status headwise_decoder_run(const struct headwise_decoder *decoder,
                                          struct headwise_decoder_room *room,
                                          struct headwise_parts *parts);

#endif
