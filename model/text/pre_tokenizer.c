/* Reads the steps that cut a text into words. */
#include "text/pre_tokenizer.h"

#include <string.h>

#include "base/error.h"
#include "text/unicode.h"

static const char *const kinds[] = {
    [HEADWISE_PRE_BERT] = "BertPreTokenizer",
    [HEADWISE_PRE_BYTE_LEVEL] = "ByteLevel",
    [HEADWISE_PRE_DELIMITER] = "CharDelimiterSplit",
    [HEADWISE_PRE_METASPACE] = "Metaspace",
    [HEADWISE_PRE_WHITESPACE] = "Whitespace",
    [HEADWISE_PRE_WHITESPACE_SPLIT] = "WhitespaceSplit",
    [HEADWISE_PRE_SPLIT] = "Split",
    [HEADWISE_PRE_PUNCTUATION] = "Punctuation",
    [HEADWISE_PRE_DIGITS] = "Digits",
    [HEADWISE_PRE_FIXED_LENGTH] = "FixedLength",
    NULL,
};

static const char *const behaviors[] = {
    [HEADWISE_SPLIT_REMOVED] = "Removed",
    [HEADWISE_SPLIT_ISOLATED] = "Isolated",
    [HEADWISE_SPLIT_MERGED_WITH_PREVIOUS] = "MergedWithPrevious",
    [HEADWISE_SPLIT_MERGED_WITH_NEXT] = "MergedWithNext",
    [HEADWISE_SPLIT_CONTIGUOUS] = "Contiguous",
    NULL,
};

static const char *const schemes[] = {
    [HEADWISE_PREPEND_FIRST] = "first",
    [HEADWISE_PREPEND_NEVER] = "never",
    [HEADWISE_PREPEND_ALWAYS] = "always",
    NULL,
};

static const char gpt2[] =
    "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+";

static enum headwise_status read_behavior(struct headwise_pre_step *step,
                                          const struct headwise_config_object *object) {
    size_t index = 0;
    enum headwise_status status = headwise_config_word(object, "behavior", behaviors, &index);
    step->behavior = (enum headwise_split_behavior)index;
    return status;
}

static enum headwise_status read_split(struct headwise_pre_step *step,
                                       const struct headwise_config_object *object) {
    struct headwise_bytes source = {0};
    bool is_regex = false;
    enum headwise_status status = headwise_config_pattern(object, &source, &is_regex);
    if (!status)
        status = headwise_pattern_set(&step->pattern, object->file->memory,
                                      (struct headwise_text){source.at, source.size}, is_regex);
    headwise_bytes_free(object->file->memory, &source);
    if (!status)
        status = read_behavior(step, object);
    return status ? status : headwise_config_bool(object, "invert", true, &step->invert);
}

/* One character. */
static enum headwise_status read_character(uint32_t *c, const struct headwise_config_object *object,
                                           const char *key) {
    struct headwise_bytes bytes = {0};
    enum headwise_status status = headwise_config_bytes(object, key, true, &bytes);
    size_t size = 0;
    if (!status) {
        if (bytes.size > 0)
            *c = headwise_utf8_read(bytes.at, &size);
        if (bytes.size == 0 || size != bytes.size)
            status = headwise_config_fail(object, key, "is not one character");
    }
    headwise_bytes_free(object->file->memory, &bytes);
    return status;
}

static enum headwise_status read_metaspace(struct headwise_pre_step *step,
                                           const struct headwise_config_object *object) {
    struct headwise_json_slice slice;
    bool prefix = true;
    size_t scheme = HEADWISE_PREPEND_ALWAYS;
    step->split = true;
    enum headwise_status status = read_character(&step->character, object, "replacement");
    if (!status)
        status = headwise_config_bool(object, "split", false, &step->split);
    if (!status)
        status = headwise_config_bool(object, "add_prefix_space", false, &prefix);
    if (!status && headwise_config_get(object, "prepend_scheme", &slice)) {
        status = headwise_config_word(object, "prepend_scheme", schemes, &scheme);
        if (!status && !prefix && scheme != HEADWISE_PREPEND_NEVER)
            status =
                headwise_config_fail(object, "add_prefix_space", "does not fit to prepend_scheme");
    } else if (!prefix) {
        scheme = HEADWISE_PREPEND_NEVER;
    }
    step->prepend = (enum headwise_prepend)scheme;
    step->behavior = HEADWISE_SPLIT_MERGED_WITH_NEXT;
    return status;
}

static enum headwise_status read_byte_level(struct headwise_pre_step *step,
                                            const struct headwise_config_object *object) {
    step->use_regex = true;
    enum headwise_status status =
        headwise_config_bool(object, "add_prefix_space", true, &step->add_prefix_space);
    return status ? status : headwise_config_bool(object, "use_regex", false, &step->use_regex);
}

static enum headwise_status read_options(struct headwise_pre_step *step,
                                         const struct headwise_config_object *object) {
    struct headwise_json_slice slice;
    bool single = false;
    enum headwise_status status = HEADWISE_OK;
    switch (step->kind) {
    case HEADWISE_PRE_BYTE_LEVEL:
        return read_byte_level(step, object);
    case HEADWISE_PRE_DELIMITER:
        return read_character(&step->character, object, "delimiter");
    case HEADWISE_PRE_METASPACE:
        return read_metaspace(step, object);
    case HEADWISE_PRE_SPLIT:
        return read_split(step, object);
    case HEADWISE_PRE_PUNCTUATION:
        return headwise_config_get(object, "behavior", &slice) ? read_behavior(step, object)
                                                               : HEADWISE_OK;
    case HEADWISE_PRE_DIGITS:
        status = headwise_config_bool(object, "individual_digits", true, &single);
        step->behavior = single ? HEADWISE_SPLIT_ISOLATED : HEADWISE_SPLIT_CONTIGUOUS;
        return status;
    case HEADWISE_PRE_FIXED_LENGTH:
        step->length = 5;
        status = headwise_config_size(object, "length", false, &step->length);
        return status || step->length > 0 ? status : headwise_config_fail(object, "length", "is 0");
    default:
        return HEADWISE_OK;
    }
}

enum headwise_status headwise_pre_tokenizer_add(struct headwise_pre_tokenizer *pre,
                                                enum headwise_pre_tokenizer_kind kind) {
    if (!headwise_memory_grow(pre->memory, &pre->steps, &pre->capacity, pre->n + 1,
                              sizeof *pre->steps))
        return headwise_model_no_memory("pre_tokenizer");
    struct headwise_pre_step *step = &pre->steps[pre->n++];
    *step = (struct headwise_pre_step){.kind = kind, .pattern.memory = pre->memory};
    step->behavior = kind == HEADWISE_PRE_WHITESPACE_SPLIT || kind == HEADWISE_PRE_DELIMITER ||
                             kind == HEADWISE_PRE_WHITESPACE
                         ? HEADWISE_SPLIT_REMOVED
                         : HEADWISE_SPLIT_ISOLATED;
    step->use_regex = true;
    step->invert = kind == HEADWISE_PRE_WHITESPACE;
    if (kind == HEADWISE_PRE_WHITESPACE)
        return headwise_pattern_set(&step->pattern, pre->memory,
                                    (struct headwise_text){"\\w+|[^\\w\\s]+", 12}, true);
    if (kind == HEADWISE_PRE_BYTE_LEVEL)
        return headwise_pattern_set(&step->pattern, pre->memory,
                                    (struct headwise_text){gpt2, sizeof gpt2 - 1}, true);
    return HEADWISE_OK;
}

static enum headwise_status read_step(void *user, const struct headwise_config_object *object) {
    struct headwise_pre_tokenizer *pre = user;
    size_t kind = 0;
    enum headwise_status status = headwise_config_word(object, "type", kinds, &kind);
    if (!status)
        status = headwise_pre_tokenizer_add(pre, (enum headwise_pre_tokenizer_kind)kind);
    return status ? status : read_options(&pre->steps[pre->n - 1], object);
}

enum headwise_status headwise_pre_tokenizer_read(struct headwise_pre_tokenizer *pre,
                                                 const struct headwise_config_object *part) {
    return headwise_config_steps(part, "pretokenizers", read_step, pre);
}

void headwise_pre_tokenizer_free(struct headwise_pre_tokenizer *pre) {
    for (size_t i = 0; i < pre->n; i++)
        headwise_pattern_free(&pre->steps[i].pattern);
    headwise_memory_give(pre->memory, pre->steps, pre->capacity, sizeof *pre->steps);
    *pre = (struct headwise_pre_tokenizer){.memory = pre->memory};
}
