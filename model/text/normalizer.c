/* Reads the steps that change characters, and runs them one after the other. */
#include "text/normalizer.h"

#include <string.h>

#include "base/error.h"

static const char *const kinds[] = {
    [HEADWISE_NORMALIZER_BERT] = "BertNormalizer",
    [HEADWISE_NORMALIZER_STRIP] = "Strip",
    [HEADWISE_NORMALIZER_STRIP_ACCENTS] = "StripAccents",
    [HEADWISE_NORMALIZER_NFC] = "NFC",
    [HEADWISE_NORMALIZER_NFD] = "NFD",
    [HEADWISE_NORMALIZER_NFKC] = "NFKC",
    [HEADWISE_NORMALIZER_NFKD] = "NFKD",
    [HEADWISE_NORMALIZER_LOWERCASE] = "Lowercase",
    [HEADWISE_NORMALIZER_NMT] = "Nmt",
    [HEADWISE_NORMALIZER_PRECOMPILED] = "Precompiled",
    [HEADWISE_NORMALIZER_REPLACE] = "Replace",
    [HEADWISE_NORMALIZER_PREPEND] = "Prepend",
    [HEADWISE_NORMALIZER_BYTE_LEVEL] = "ByteLevel",
    NULL,
};

static enum headwise_status read_bert(struct headwise_normalizer_step *step,
                                      const struct headwise_config_object *object) {
    enum headwise_status status = headwise_config_bool(object, "clean_text", true, &step->clean);
    if (!status)
        status = headwise_config_bool(object, "handle_chinese_chars", true, &step->chinese);
    if (!status)
        status = headwise_config_bool(object, "lowercase", true, &step->lower);
    step->accents = step->lower; /* where nothing is said */
    return status ? status : headwise_config_bool(object, "strip_accents", false, &step->accents);
}

static enum headwise_status read_map(struct headwise_normalizer_step *step,
                                     const struct headwise_config_object *object) {
    const struct headwise_allocator *memory = object->file->memory;
    struct headwise_bytes base64 = {0};
    enum headwise_status status =
        headwise_config_bytes(object, "precompiled_charsmap", true, &base64);
    if (!status) {
        status = headwise_charsmap_read(&step->map, memory, base64.at, base64.size);
        if (status == HEADWISE_ERR_NO_MEMORY)
            headwise_model_no_memory(object->file->name);
        else if (status)
            headwise_config_fail(object, "precompiled_charsmap", "is no map of characters");
    }
    headwise_bytes_free(memory, &base64);
    return status;
}

static enum headwise_status read_replace(struct headwise_normalizer_step *step,
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

static enum headwise_status read_step(void *user, const struct headwise_config_object *object) {
    struct headwise_normalizer *normalizer = user;
    size_t kind = 0;
    enum headwise_status status = headwise_config_word(object, "type", kinds, &kind);
    if (status)
        return status;
    if (!headwise_memory_grow(normalizer->memory, &normalizer->steps, &normalizer->capacity,
                              normalizer->n + 1, sizeof *normalizer->steps))
        return headwise_model_no_memory(object->file->name);
    struct headwise_normalizer_step *step = &normalizer->steps[normalizer->n++];
    *step = (struct headwise_normalizer_step){.kind = (enum headwise_normalizer_kind)kind,
                                              .pattern.memory = normalizer->memory};
    switch (step->kind) {
    case HEADWISE_NORMALIZER_BERT:
        return read_bert(step, object);
    case HEADWISE_NORMALIZER_STRIP:
        status = headwise_config_bool(object, "strip_left", true, &step->left);
        return status ? status : headwise_config_bool(object, "strip_right", true, &step->right);
    case HEADWISE_NORMALIZER_PRECOMPILED:
        return read_map(step, object);
    case HEADWISE_NORMALIZER_REPLACE:
        return read_replace(step, object);
    case HEADWISE_NORMALIZER_PREPEND:
        return headwise_config_bytes(object, "prepend", true, &step->content);
    default:
        return HEADWISE_OK;
    }
}

enum headwise_status headwise_normalizer_read(struct headwise_normalizer *normalizer,
                                              const struct headwise_config_object *part) {
    return headwise_config_steps(part, "normalizers", read_step, normalizer);
}

bool headwise_normalizer_add_bert(struct headwise_normalizer *normalizer, bool cased) {
    if (!headwise_memory_grow(normalizer->memory, &normalizer->steps, &normalizer->capacity,
                              normalizer->n + 1, sizeof *normalizer->steps))
        return false;
    normalizer->steps[normalizer->n++] =
        (struct headwise_normalizer_step){.kind = HEADWISE_NORMALIZER_BERT,
                                          .clean = true,
                                          .chinese = true,
                                          .accents = !cased,
                                          .lower = !cased,
                                          .pattern.memory = normalizer->memory};
    return true;
}

void headwise_normalizer_free(struct headwise_normalizer *normalizer) {
    const struct headwise_allocator *memory = normalizer->memory;
    for (size_t i = 0; i < normalizer->n; i++) {
        headwise_pattern_free(&normalizer->steps[i].pattern);
        headwise_bytes_free(memory, &normalizer->steps[i].content);
        headwise_charsmap_free(&normalizer->steps[i].map, memory);
    }
    headwise_memory_give(memory, normalizer->steps, normalizer->capacity,
                         sizeof *normalizer->steps);
    *normalizer = (struct headwise_normalizer){.memory = memory};
}
