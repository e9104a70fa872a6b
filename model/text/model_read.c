/* Reads the model of tokenizer.json: its vocabulary, merges, scores and options. */
#include "base/error.h"
#include "text/model.h"

static const char *const kinds[] = {
    [HEADWISE_MODEL_WORDPIECE] = "WordPiece",
    [HEADWISE_MODEL_BPE] = "BPE",
    [HEADWISE_MODEL_UNIGRAM] = "Unigram",
    [HEADWISE_MODEL_WORDLEVEL] = "WordLevel",
    NULL,
};

static enum headwise_status read_vocabulary(struct headwise_model *model,
                                            const struct headwise_config_object *object) {
    struct headwise_config_object vocab = *object;
    if (!headwise_config_get(object, "vocab", &vocab.slice))
        return headwise_config_fail(object, "vocab", "is missing");
    return headwise_model_read_vocabulary(model, &vocab);
}

/* Takes ["piece", score]. */
static enum headwise_status read_scored(struct headwise_model *model,
                                        const struct headwise_config_object *object,
                                        struct headwise_json_reader *json,
                                        struct headwise_bytes *piece, size_t *capacity) {
    struct headwise_json_text text;
    struct headwise_json_number number;
    double score = 0;
    uint32_t id = (uint32_t)model->n_scores;
    piece->size = 0;
    if (!headwise_json_enter_array(json) || !headwise_json_next_item(json) ||
        !headwise_json_take_text(json, &text) || !headwise_json_next_item(json) ||
        !headwise_json_take_number(json, &number) || headwise_json_next_item(json) || json->error)
        return headwise_config_fail(object, "vocab", "has an item that is no [piece, score]");
    if (!headwise_json_to_double(&number, &score))
        return headwise_config_fail(object, "vocab", "has a score out of range");
    if (id > HEADWISE_VOCABULARY_MAX_ID)
        return headwise_config_fail(object, "vocab", "has more than 4194304 pieces");
    enum headwise_status status = headwise_config_text(object, &text, piece);
    if (status)
        return status;
    if (!headwise_memory_grow(model->memory, &model->scores, capacity, (size_t)id + 1,
                              sizeof *model->scores) ||
        !headwise_vocabulary_add(&model->vocabulary, (struct headwise_text){piece->at, piece->size},
                                 id))
        return headwise_model_no_memory(object->file->name);
    model->scores[model->n_scores++] = score;
    if (model->n_scores == 1 || score < model->unknown_score)
        model->unknown_score = score;
    return HEADWISE_OK;
}

/* [["piece", score], ...] */
static enum headwise_status read_scores(struct headwise_model *model,
                                        const struct headwise_config_object *object) {
    struct headwise_json_reader json;
    struct headwise_json_slice slice;
    struct headwise_bytes piece = {0};
    size_t capacity = 0;
    if (!headwise_config_get(object, "vocab", &slice) ||
        headwise_config_kind(&slice) != HEADWISE_JSON_ARRAY)
        return headwise_config_fail(object, "vocab", "is no list of pieces and scores");
    headwise_config_read(object, &json, &slice);
    headwise_json_enter_array(&json);
    enum headwise_status status = HEADWISE_OK;
    while (!status && headwise_json_next_item(&json))
        status = read_scored(model, object, &json, &piece, &capacity);
    headwise_bytes_free(model->memory, &piece);
    size_t n = model->n_scores, unknown = SIZE_MAX;
    model->n_scores = capacity; /* what the array was taken with */
    model->unknown_score -= 10; /* the original's penalty beside the least score */
    if (!status)
        status = headwise_config_size(object, "unk_id", false, &unknown);
    if (!status && unknown != SIZE_MAX && unknown >= n)
        status = headwise_config_fail(object, "unk_id", "is not in the vocabulary");
    if (!status && unknown != SIZE_MAX)
        model->unknown_id = (int32_t)unknown;
    return status;
}

static enum headwise_status read_bpe(struct headwise_model *model,
                                     const struct headwise_config_object *object) {
    struct headwise_json_slice slice;
    struct headwise_json_reader json;
    struct headwise_json_number number;
    double dropout = 0;
    if (headwise_config_get(object, "dropout", &slice)) {
        headwise_config_read(object, &json, &slice);
        if (!headwise_json_take_number(&json, &number) ||
            !headwise_json_to_double(&number, &dropout))
            return headwise_config_fail(object, "dropout", "is no number");
        if (dropout != 0)
            return headwise_model_fail(HEADWISE_ERR_UNSUPPORTED,
                                       "%s: %s: dropout %g is not supported, expected 0 or null",
                                       object->file->name, object->part, dropout);
    }
    model->has_unknown = headwise_config_get(object, "unk_token", &slice);
    enum headwise_status status =
        headwise_config_bytes(object, "unk_token", false, &model->unknown);
    if (!status)
        status = headwise_config_bytes(object, "continuing_subword_prefix", false, &model->prefix);
    if (!status)
        status = headwise_config_bytes(object, "end_of_word_suffix", false, &model->suffix);
    if (!status)
        status = headwise_config_bool(object, "fuse_unk", false, &model->fuse_unknown);
    if (!status)
        status = headwise_config_bool(object, "byte_fallback", false, &model->byte_fallback);
    if (!status)
        status = headwise_config_bool(object, "ignore_merges", false, &model->ignore_merges);
    if (!status)
        status = read_vocabulary(model, object);
    return status ? status : headwise_model_read_merges(model, object);
}

/* The kind of a file from before it was written in it. */
static enum headwise_status find_kind(struct headwise_model *model,
                                      const struct headwise_config_object *object) {
    struct headwise_json_slice slice;
    size_t kind = HEADWISE_MODEL_WORDLEVEL;
    enum headwise_status status = HEADWISE_OK;
    if (headwise_config_get(object, "type", &slice))
        status = headwise_config_word(object, "type", kinds, &kind);
    else if (headwise_config_get(object, "merges", &slice))
        kind = HEADWISE_MODEL_BPE;
    else if (headwise_config_get(object, "max_input_chars_per_word", &slice))
        kind = HEADWISE_MODEL_WORDPIECE;
    else if (headwise_config_get(object, "vocab", &slice) &&
             headwise_config_kind(&slice) == HEADWISE_JSON_ARRAY)
        kind = HEADWISE_MODEL_UNIGRAM;
    model->kind = (enum headwise_model_kind)kind;
    return status;
}

enum headwise_status headwise_model_read(struct headwise_model *model,
                                         const struct headwise_config_object *object) {
    enum headwise_status status = find_kind(model, object);
    model->unknown_id = -1;
    if (status)
        return status;
    if (model->kind == HEADWISE_MODEL_BPE)
        return read_bpe(model, object);
    if (model->kind == HEADWISE_MODEL_UNIGRAM) {
        status = headwise_config_bool(object, "byte_fallback", false, &model->byte_fallback);
        return status ? status : read_scores(model, object);
    }
    status = headwise_config_bytes(object, "unk_token", true, &model->unknown);
    if (!status && model->kind == HEADWISE_MODEL_WORDPIECE) {
        model->max_characters = 100;
        status = headwise_config_bytes(object, "continuing_subword_prefix", true, &model->prefix);
        if (!status)
            status = headwise_config_size(object, "max_input_chars_per_word", false,
                                          &model->max_characters);
    }
    return status ? status : read_vocabulary(model, object);
}
