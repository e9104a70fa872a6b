/* Reads tokenizers from before tokenizer.json: BERT's list of pieces, GPT-2's pieces and merges. */
#include <string.h>

#include "base/error.h"
#include "text/tokenizer.h"
#include "text/unicode.h"

/* The next line, without the blanks at its end. False: there is none. */
static bool next_line(const char *text, size_t size, size_t *at, struct headwise_text *line) {
    if (*at >= size)
        return false;
    const char *begin = text + *at, *end = memchr(begin, '\n', size - *at);
    size_t n = end ? (size_t)(end - begin) : size - *at;
    *at += n + 1;
    while (n > 0) {
        size_t last = n - 1, step;
        while (last > 0 && headwise_utf8_continues(begin[last]))
            last--;
        if (!(headwise_text_class(headwise_utf8_read(begin + last, &step)) & HEADWISE_CLASS_SPACE))
            break;
        n = last;
    }
    *line = (struct headwise_text){begin, n};
    return true;
}

static enum headwise_status check_text(const char *name, const char *text, size_t size) {
    size_t valid = headwise_utf8_valid(text, size);
    return valid == size ? HEADWISE_OK
                         : headwise_model_fail(HEADWISE_ERR_FORMAT, "%s: is no UTF-8 at byte %zu",
                                               name, valid);
}

static enum headwise_status add_steps(headwise_tokenizer *tokenizer, bool cased, const char *name) {
    static const char *const special[] = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"};
    const struct headwise_vocabulary *vocabulary = &tokenizer->model.vocabulary;
    enum headwise_status status = headwise_normalizer_add_bert(&tokenizer->normalizer, cased)
                                      ? HEADWISE_OK
                                      : headwise_model_no_memory(name);
    if (!status)
        status = headwise_pre_tokenizer_add(&tokenizer->pre, HEADWISE_PRE_BERT);
    for (size_t i = 0; !status && i < sizeof special / sizeof *special; i++)
        status = headwise_added_special(&tokenizer->added, &tokenizer->model, special[i]);
    int32_t cls = headwise_vocabulary_find(vocabulary, "[CLS]", 5);
    int32_t sep = headwise_vocabulary_find(vocabulary, "[SEP]", 5);
    if (!status && (cls < 0 || sep < 0))
        status = headwise_model_fail(HEADWISE_ERR_FORMAT, "%s: has no %s, as a BERT's pieces have",
                                     name, cls < 0 ? "[CLS]" : "[SEP]");
    if (!status)
        status = headwise_post_processor_bert(&tokenizer->post, cls, sep, false);
    return status ? status : headwise_decoder_add(&tokenizer->decoder, HEADWISE_DECODER_WORDPIECE);
}

enum headwise_status headwise_tokenizer_read_lines(headwise_tokenizer *tokenizer, const char *text,
                                                   size_t size, bool cased, const char *name) {
    struct headwise_model *model = &tokenizer->model;
    struct headwise_text line;
    enum headwise_status status = check_text(name, text, size);
    uint32_t id = 0;
    for (size_t at = 0; !status && next_line(text, size, &at, &line); id++) {
        if (id > HEADWISE_VOCABULARY_MAX_ID)
            status =
                headwise_model_fail(HEADWISE_ERR_FORMAT, "%s: has more than 4194304 lines", name);
        else if (!headwise_vocabulary_add(&model->vocabulary, line, id))
            status = headwise_model_no_memory(name);
    }
    model->kind = HEADWISE_MODEL_WORDPIECE;
    model->max_characters = 100;
    if (!status && (!headwise_bytes_append(model->memory, &model->prefix, "##", 2) ||
                    !headwise_bytes_append(model->memory, &model->unknown, "[UNK]", 5)))
        status = headwise_model_no_memory(name);
    if (!status)
        status = add_steps(tokenizer, cased, name);
    tokenizer->hash = headwise_text_hash(text, size) + cased;
    return status ? status : headwise_tokenizer_finish(tokenizer, name);
}

enum headwise_status headwise_tokenizer_read_merges(headwise_tokenizer *tokenizer,
                                                    const char *vocab, size_t vocab_size,
                                                    const char *merges, size_t merges_size,
                                                    const char *name) {
    struct headwise_model *model = &tokenizer->model;
    struct headwise_config config = {&tokenizer->memory, name, vocab_size > 0 ? vocab : ""};
    struct headwise_config_object object = {.file = &config, .part = "vocabulary"};
    struct headwise_json_reader json;
    struct headwise_text line;
    headwise_json_begin(&json, vocab, vocab_size);
    headwise_json_skip(&json, &object.slice);
    headwise_json_end(&json);
    if (json.error)
        return headwise_config_broken(&object, &json);
    model->kind = HEADWISE_MODEL_BPE;
    enum headwise_status status = check_text("merges.txt", merges, merges_size);
    if (!status)
        status = headwise_model_read_vocabulary(model, &object);
    for (size_t at = 0; !status && next_line(merges, merges_size, &at, &line);) {
        if (line.size_bytes == 0 ||
            (line.size_bytes >= 8 && memcmp(line.bytes, "#version", 8) == 0))
            continue;
        status = headwise_model_add_merge_line(model, &object, line);
    }
    if (!status)
        status = headwise_added_special(&tokenizer->added, model, "<|endoftext|>");
    if (!status)
        status = headwise_pre_tokenizer_add(&tokenizer->pre, HEADWISE_PRE_BYTE_LEVEL);
    if (!status)
        status = headwise_decoder_add(&tokenizer->decoder, HEADWISE_DECODER_BYTE_LEVEL);
    tokenizer->hash =
        headwise_text_hash(vocab, vocab_size) ^ headwise_text_hash(merges, merges_size);
    return status ? status : headwise_tokenizer_finish(tokenizer, name);
}
