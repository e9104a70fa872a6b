/* Reads the steps that make a text out of pieces. */
#include "text/decoder.h"

#include <string.h>

#include "base/error.h"

static const char *const kinds[] = {
    [HEADWISE_DECODER_BYTE_LEVEL] = "ByteLevel",
    [HEADWISE_DECODER_WORDPIECE] = "WordPiece",
    [HEADWISE_DECODER_METASPACE] = "Metaspace",
    [HEADWISE_DECODER_BYTE_FALLBACK] = "ByteFallback",
    [HEADWISE_DECODER_FUSE] = "Fuse",
    [HEADWISE_DECODER_STRIP] = "Strip",
    [HEADWISE_DECODER_REPLACE] = "Replace",
    [HEADWISE_DECODER_BPE] = "BPEDecoder",
    [HEADWISE_DECODER_CTC] = "CTC",
    NULL,
};

enum headwise_status headwise_decoder_add(struct headwise_decoder *decoder,
                                          enum headwise_decoder_kind kind) {
    if (!headwise_memory_grow(decoder->memory, &decoder->steps, &decoder->capacity, decoder->n + 1,
                              sizeof *decoder->steps))
        return headwise_model_no_memory("decoder");
    struct headwise_decoder_step *step = &decoder->steps[decoder->n++];
    *step = (struct headwise_decoder_step){.kind = kind, .pattern.memory = decoder->memory};
    if (kind == HEADWISE_DECODER_WORDPIECE) {
        step->cleanup = true;
        if (!headwise_bytes_append(decoder->memory, &step->content, "##", 2))
            return headwise_model_no_memory("decoder");
    }
    return HEADWISE_OK;
}

static enum headwise_status read_replace(struct headwise_decoder_step *step,
                                         const struct headwise_config_object *object) {
    struct headwise_bytes source = {0};
    bool is_regex = false;
    enum headwise_status status = headwise_config_pattern(object, &source, &is_regex);
    if (!status)
        status = headwise_pattern_set(&step->pattern, object->file->memory,
                                      (struct headwise_text){source.at, source.size}, is_regex);
    headwise_bytes_free(object->file->memory, &source);
    return status ? status : headwise_config_bytes(object, "content", true, &step->content);
}

static enum headwise_status read_metaspace(struct headwise_decoder_step *step,
                                           const struct headwise_config_object *object) {
    static const char *const schemes[] = {"first", "always", "never", NULL};
    struct headwise_json_slice slice;
    size_t scheme = 0;
    step->prefix = true;
    enum headwise_status status =
        headwise_config_bytes(object, "replacement", true, &step->content);
    if (!status && headwise_config_get(object, "prepend_scheme", &slice)) {
        status = headwise_config_word(object, "prepend_scheme", schemes, &scheme);
        step->prefix = scheme != 2;
    } else if (!status) {
        status = headwise_config_bool(object, "add_prefix_space", false, &step->prefix);
    }
    return status;
}

static enum headwise_status read_options(struct headwise_decoder_step *step,
                                         const struct headwise_config_object *object) {
    enum headwise_status status = HEADWISE_OK;
    switch (step->kind) {
    case HEADWISE_DECODER_WORDPIECE:
        step->content.size = 0;
        status = headwise_config_bytes(object, "prefix", true, &step->content);
        return status ? status : headwise_config_bool(object, "cleanup", true, &step->cleanup);
    case HEADWISE_DECODER_METASPACE:
        return read_metaspace(step, object);
    case HEADWISE_DECODER_STRIP:
        status = headwise_config_bytes(object, "content", true, &step->content);
        if (!status)
            status = headwise_config_size(object, "start", true, &step->start);
        return status ? status : headwise_config_size(object, "stop", true, &step->stop);
    case HEADWISE_DECODER_REPLACE:
        return read_replace(step, object);
    case HEADWISE_DECODER_BPE:
        return headwise_config_bytes(object, "suffix", true, &step->content);
    case HEADWISE_DECODER_CTC:
        status = headwise_config_bytes(object, "pad_token", true, &step->content);
        if (!status)
            status = headwise_config_bytes(object, "word_delimiter_token", true, &step->delimiter);
        return status ? status : headwise_config_bool(object, "cleanup", true, &step->cleanup);
    default:
        return HEADWISE_OK;
    }
}

static enum headwise_status read_step(void *user, const struct headwise_config_object *object) {
    struct headwise_decoder *decoder = user;
    size_t kind = 0;
    enum headwise_status status = headwise_config_word(object, "type", kinds, &kind);
    if (!status)
        status = headwise_decoder_add(decoder, (enum headwise_decoder_kind)kind);
    return status ? status : read_options(&decoder->steps[decoder->n - 1], object);
}

enum headwise_status headwise_decoder_read(struct headwise_decoder *decoder,
                                           const struct headwise_config_object *part) {
    return headwise_config_steps(part, "decoders", read_step, decoder);
}

void headwise_decoder_free(struct headwise_decoder *decoder) {
    for (size_t i = 0; i < decoder->n; i++) {
        headwise_pattern_free(&decoder->steps[i].pattern);
        headwise_bytes_free(decoder->memory, &decoder->steps[i].content);
        headwise_bytes_free(decoder->memory, &decoder->steps[i].delimiter);
    }
    headwise_memory_give(decoder->memory, decoder->steps, decoder->capacity,
                         sizeof *decoder->steps);
}
