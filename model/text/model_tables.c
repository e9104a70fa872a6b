/* Reads tables of ids and of merges. */
#include <string.h>

#include "base/error.h"
#include "text/model.h"

/* {"piece": id, ...} */
enum headwise_status headwise_model_read_vocabulary(struct headwise_model *model,
                                                    const struct headwise_config_object *vocab) {
    const struct headwise_config_object *object = vocab;
    struct headwise_json_reader json;
    struct headwise_json_text key;
    struct headwise_json_number number;
    struct headwise_bytes piece = {0};
    int64_t id = 0;
    if (headwise_config_kind(&vocab->slice) != HEADWISE_JSON_OBJECT)
        return headwise_config_fail(object, "vocab", "is no object of pieces and ids");
    headwise_config_read(object, &json, &vocab->slice);
    headwise_json_enter_object(&json);
    enum headwise_status status = HEADWISE_OK;
    while (!status && headwise_json_next_key(&json, &key)) {
        piece.size = 0;
        if (!headwise_json_take_number(&json, &number))
            break;
        if (!headwise_json_to_int64(&number, &id) || id < 0 || id > HEADWISE_VOCABULARY_MAX_ID)
            status = headwise_config_fail(object, "vocab", "has an id that is not in 0..4194303");
        if (!status)
            status = headwise_config_text(object, &key, &piece);
        if (!status &&
            !headwise_vocabulary_add(&model->vocabulary,
                                     (struct headwise_text){piece.at, piece.size}, (uint32_t)id))
            status = headwise_model_no_memory(object->file->name);
    }
    headwise_bytes_free(model->memory, &piece);
    return status || !json.error ? status : headwise_config_broken(object, &json);
}

/* Takes one item of merges: ["a", "b"], or "a b" as older files have it. */
static enum headwise_status read_pair(const struct headwise_config_object *object,
                                      struct headwise_json_reader *json,
                                      struct headwise_bytes *pair, size_t *middle) {
    struct headwise_json_text text;
    enum headwise_status status = HEADWISE_OK;
    pair->size = 0;
    if (headwise_json_peek(json) == HEADWISE_JSON_TEXT) {
        headwise_json_take_text(json, &text);
        status = headwise_config_text(object, &text, pair);
        char *space = !status && pair->size > 0 ? memchr(pair->at, ' ', pair->size) : NULL;
        if (!status && !space)
            return headwise_config_fail(object, "merges", "has an item without a space");
        if (space) {
            *middle = (size_t)(space - pair->at);
            memmove(space, space + 1, --pair->size - *middle);
        }
        return status;
    }
    for (int i = 0; i < 2 && !status; i++) {
        *middle = pair->size;
        if ((i == 0 && !headwise_json_enter_array(json)) || !headwise_json_next_item(json) ||
            !headwise_json_take_text(json, &text))
            return headwise_config_fail(object, "merges", "has an item that is no pair of pieces");
        status = headwise_config_text(object, &text, pair);
    }
    if (!status && headwise_json_next_item(json))
        return headwise_config_fail(object, "merges", "has an item that is no pair of pieces");
    return status;
}

static enum headwise_status add_merge(struct headwise_model *model,
                                      const struct headwise_config_object *object,
                                      struct headwise_bytes *pair, size_t middle) {
    const struct headwise_vocabulary *vocabulary = &model->vocabulary;
    size_t n_prefix = model->prefix.size, n_right = pair->size - middle;
    int32_t left = headwise_vocabulary_find(vocabulary, pair->at, middle);
    int32_t right = headwise_vocabulary_find(vocabulary, pair->at + middle, n_right);
    int32_t both = -1;
    headwise_bpe_note_merge(model, (struct headwise_text){pair->at, middle},
                            (struct headwise_text){pair->at + middle, n_right});
    if (left >= 0 && right >= 0 && n_right >= n_prefix) {
        memmove(pair->at + middle, pair->at + middle + n_prefix, n_right - n_prefix);
        both = headwise_vocabulary_find(vocabulary, pair->at, pair->size - n_prefix);
    }
    if (both < 0)
        return headwise_model_fail(
            HEADWISE_ERR_FORMAT,
            "%s: %s: merges join '%.*s' and '%.*s', expected both and '%s' "
            "in the vocabulary",
            object->file->name, object->part, (int)(middle < 40 ? middle : 40), pair->at,
            (int)(n_right < 40 ? n_right : 40), pair->at + middle, "what they become");
    struct headwise_merge merge = {(uint32_t)left, (uint32_t)right, (uint32_t)model->merges.rank++,
                                   (uint32_t)both};
    return headwise_merges_add(&model->merges, merge)
               ? HEADWISE_OK
               : headwise_model_no_memory(object->file->name);
}

enum headwise_status headwise_model_read_merges(struct headwise_model *model,
                                                const struct headwise_config_object *object) {
    struct headwise_json_reader json;
    struct headwise_json_slice slice;
    struct headwise_bytes pair = {0};
    size_t middle = 0;
    if (!headwise_config_get(object, "merges", &slice) ||
        headwise_config_kind(&slice) != HEADWISE_JSON_ARRAY)
        return headwise_config_fail(object, "merges", "is no list");
    headwise_config_read(object, &json, &slice);
    headwise_json_enter_array(&json);
    enum headwise_status status = headwise_bytes_reserve(model->memory, &pair, 1)
                                      ? HEADWISE_OK
                                      : headwise_model_no_memory(object->file->name);
    while (!status && headwise_json_next_item(&json)) {
        status = read_pair(object, &json, &pair, &middle);
        if (!status)
            status = add_merge(model, object, &pair, middle);
    }
    headwise_bytes_free(model->memory, &pair);
    return status;
}

enum headwise_status headwise_model_add_merge_line(struct headwise_model *model,
                                                   const struct headwise_config_object *object,
                                                   struct headwise_text line) {
    struct headwise_bytes pair = {0};
    const char *space = memchr(line.bytes, ' ', line.size_bytes);
    if (!space)
        return headwise_config_fail(object, "merges", "has a line without a space");
    size_t middle = (size_t)(space - line.bytes);
    enum headwise_status status = HEADWISE_OK;
    if (!headwise_bytes_append(model->memory, &pair, line.bytes, middle) ||
        !headwise_bytes_append(model->memory, &pair, space + 1, line.size_bytes - middle - 1))
        status = headwise_model_no_memory(object->file->name);
    if (!status)
        status = add_merge(model, object, &pair, middle);
    headwise_bytes_free(model->memory, &pair);
    return status;
}
