/* Reads what is added to texts. */
#include "text/post_processor.h"

#include <string.h>

#include "base/error.h"

enum kind { BERT, ROBERTA, BYTE_LEVEL, TEMPLATE };

static const char *const kinds[] = {
    [BERT] = "BertProcessing",
    [ROBERTA] = "RobertaProcessing",
    [BYTE_LEVEL] = "ByteLevel",
    [TEMPLATE] = "TemplateProcessing",
    NULL,
};

static enum headwise_status add_piece(struct headwise_post_processor *post, bool pair,
                                      struct headwise_template_piece piece) {
    struct headwise_template *template = &post->templates[pair];
    if (!headwise_memory_grow(post->memory, &template->pieces, &template->capacity, template->n + 1,
                              sizeof piece))
        return headwise_model_no_memory("post_processor");
    template->pieces[template->n++] = piece;
    return HEADWISE_OK;
}

static enum headwise_status add_id(struct headwise_post_processor *post, int32_t id) {
    if (!headwise_memory_grow(post->memory, &post->ids, &post->ids_capacity, post->n_ids + 1,
                              sizeof *post->ids))
        return headwise_model_no_memory("post_processor");
    post->ids[post->n_ids++] = id;
    return HEADWISE_OK;
}

enum headwise_status headwise_post_processor_plain(struct headwise_post_processor *post) {
    const struct headwise_template_piece first = {HEADWISE_TEMPLATE_FIRST, 0, 0, 0};
    const struct headwise_template_piece second = {HEADWISE_TEMPLATE_SECOND, 1, 0, 0};
    enum headwise_status status = add_piece(post, false, first);
    if (!status)
        status = add_piece(post, true, first);
    return status ? status : add_piece(post, true, second);
}

enum headwise_status headwise_post_processor_bert(struct headwise_post_processor *post, int32_t cls,
                                                  int32_t sep, bool roberta) {
    const int32_t type = roberta ? 0 : 1;
    size_t at = post->n_ids;
    const struct headwise_template_piece pieces[] = {
        {HEADWISE_TEMPLATE_SPECIAL, 0, at, 1},     {HEADWISE_TEMPLATE_FIRST, 0, 0, 0},
        {HEADWISE_TEMPLATE_SPECIAL, 0, at + 1, 1}, {HEADWISE_TEMPLATE_SPECIAL, 0, at + 1, 1},
        {HEADWISE_TEMPLATE_SECOND, type, 0, 0},    {HEADWISE_TEMPLATE_SPECIAL, type, at + 1, 1},
    };
    enum headwise_status status = add_id(post, cls);
    if (!status)
        status = add_id(post, sep);
    for (size_t i = 0; !status && i < sizeof pieces / sizeof *pieces; i++) {
        if (i < 3)
            status = add_piece(post, false, pieces[i]);
        if (!status && (i != 3 || roberta))
            status = add_piece(post, true, pieces[i]);
    }
    post->has_template = true;
    return status;
}

/* An id out of a list or a pair ["[SEP]", 102]. */
static enum headwise_status take_id(const struct headwise_config_object *object, const char *key,
                                    struct headwise_json_reader *json, int32_t *id) {
    struct headwise_json_number number;
    int64_t value;
    if (!headwise_json_take_number(json, &number) || !headwise_json_to_int64(&number, &value) ||
        value < 0 || value > INT32_MAX)
        return headwise_config_fail(object, key, "has an id that is no whole number from 0");
    *id = (int32_t)value;
    return HEADWISE_OK;
}

static enum headwise_status read_named(const struct headwise_config_object *object, const char *key,
                                       int32_t *id) {
    struct headwise_json_slice slice;
    struct headwise_json_reader json;
    struct headwise_json_text text;
    if (!headwise_config_get(object, key, &slice))
        return headwise_config_fail(object, key, "is missing");
    headwise_config_read(object, &json, &slice);
    if (!headwise_json_enter_array(&json) || !headwise_json_next_item(&json) ||
        !headwise_json_take_text(&json, &text) || !headwise_json_next_item(&json))
        return headwise_config_fail(object, key, "is no [piece, id]");
    return take_id(object, key, &json, id);
}

static enum headwise_status read_trim(struct headwise_post_processor *post,
                                      const struct headwise_config_object *object) {
    bool trim = true, prefix = true;
    enum headwise_status status = headwise_config_bool(object, "trim_offsets", true, &trim);
    if (!status)
        status = headwise_config_bool(object, "add_prefix_space", true, &prefix);
    if (!status && trim) {
        post->trim_offsets = true;
        post->add_prefix_space = prefix;
    }
    return status;
}

/* The ids of special_tokens' entry of that name. */
static enum headwise_status read_special(struct headwise_post_processor *post,
                                         const struct headwise_config_object *object,
                                         const struct headwise_bytes *name,
                                         struct headwise_template_piece *piece) {
    struct headwise_config_object tokens = *object;
    struct headwise_json_reader json;
    struct headwise_json_text key;
    struct headwise_json_slice slice;
    piece->first_id = post->n_ids;
    if (!headwise_config_get(object, "special_tokens", &tokens.slice) ||
        headwise_config_kind(&tokens.slice) != HEADWISE_JSON_OBJECT)
        return headwise_config_fail(object, "special_tokens", "is no object");
    headwise_config_read(object, &json, &tokens.slice);
    headwise_json_enter_object(&json);
    while (headwise_json_next_key(&json, &key)) {
        bool is_it = headwise_json_equals(&key, name->at);
        headwise_json_skip(&json, &slice);
        if (!is_it)
            continue;
        struct headwise_config_object entry = {
            .file = object->file, .part = object->part, .slice = slice};
        if (!headwise_config_get(&entry, "ids", &slice) ||
            headwise_config_kind(&slice) != HEADWISE_JSON_ARRAY)
            return headwise_config_fail(object, "special_tokens", "has an entry without ids");
        headwise_config_read(object, &json, &slice);
        headwise_json_enter_array(&json);
        int32_t id = 0;
        enum headwise_status status = HEADWISE_OK;
        while (!status && headwise_json_next_item(&json)) {
            status = take_id(object, "special_tokens", &json, &id);
            if (!status)
                status = add_id(post, id);
        }
        piece->n_ids = post->n_ids - piece->first_id;
        return status;
    }
    return headwise_config_fail(object, "special_tokens", "lacks a token of the template");
}

static enum headwise_status read_piece(struct headwise_post_processor *post, bool pair,
                                       const struct headwise_config_object *object,
                                       const struct headwise_json_slice *slice) {
    struct headwise_config_object item = {
        .file = object->file, .part = object->part, .slice = *slice};
    struct headwise_config_object inner = item;
    struct headwise_template_piece piece = {0};
    struct headwise_bytes name = {0};
    size_t type = 0;
    bool special = headwise_config_get(&item, "SpecialToken", &inner.slice);
    if (!special && !headwise_config_get(&item, "Sequence", &inner.slice))
        return headwise_config_fail(object, pair ? "pair" : "single",
                                    "has an item that is no SpecialToken or Sequence");
    enum headwise_status status = headwise_config_bytes(&inner, "id", true, &name);
    if (!status && !headwise_bytes_append(post->memory, &name, "", 1)) /* as a C string */
        status = headwise_model_no_memory(object->file->name);
    if (!status)
        status = headwise_config_size(&inner, "type_id", true, &type);
    if (!status && type > INT32_MAX)
        status = headwise_config_fail(object, "type_id", "is too large");
    piece.type = (int32_t)type;
    if (!status && special) {
        piece.kind = HEADWISE_TEMPLATE_SPECIAL;
        status = read_special(post, object, &name, &piece);
    } else if (!status) {
        bool second = strcmp(name.at, "B") == 0;
        piece.kind = second ? HEADWISE_TEMPLATE_SECOND : HEADWISE_TEMPLATE_FIRST;
        if ((!second && strcmp(name.at, "A") != 0) || (second && !pair))
            status = headwise_config_fail(object, "Sequence", "is not A or, in a pair, B");
    }
    headwise_bytes_free(post->memory, &name);
    return status ? status : add_piece(post, pair, piece);
}

static enum headwise_status read_template(struct headwise_post_processor *post, bool pair,
                                          const struct headwise_config_object *object) {
    struct headwise_json_slice slice;
    struct headwise_json_reader json;
    const char *key = pair ? "pair" : "single";
    if (!headwise_config_get(object, key, &slice) ||
        headwise_config_kind(&slice) != HEADWISE_JSON_ARRAY)
        return headwise_config_fail(object, key, "is no list");
    headwise_config_read(object, &json, &slice);
    headwise_json_enter_array(&json);
    enum headwise_status status = HEADWISE_OK;
    while (!status && headwise_json_next_item(&json)) {
        headwise_json_skip(&json, &slice);
        status = read_piece(post, pair, object, &slice);
    }
    post->has_template = true;
    return status;
}

static enum headwise_status read_step(void *user, const struct headwise_config_object *object) {
    struct headwise_post_processor *post = user;
    size_t kind = 0;
    int32_t sep = 0, cls = 0;
    enum headwise_status status = headwise_config_word(object, "type", kinds, &kind);
    if (status)
        return status;
    if (kind != BYTE_LEVEL && post->has_template)
        return headwise_model_fail(HEADWISE_ERR_UNSUPPORTED,
                                   "%s: %s: more than one step adds tokens", object->file->name,
                                   object->part);
    if (kind == BYTE_LEVEL || kind == ROBERTA)
        status = read_trim(post, object);
    if (status || kind == BYTE_LEVEL)
        return status;
    if (kind == TEMPLATE) {
        status = read_template(post, false, object);
        return status ? status : read_template(post, true, object);
    }
    status = read_named(object, "sep", &sep);
    if (!status)
        status = read_named(object, "cls", &cls);
    return status ? status : headwise_post_processor_bert(post, cls, sep, kind == ROBERTA);
}

enum headwise_status headwise_post_processor_read(struct headwise_post_processor *post,
                                                  const struct headwise_config_object *part) {
    return headwise_config_steps(part, "processors", read_step, post);
}

void headwise_post_processor_free(struct headwise_post_processor *post) {
    for (int i = 0; i < 2; i++)
        headwise_memory_give(post->memory, post->templates[i].pieces, post->templates[i].capacity,
                             sizeof *post->templates[i].pieces);
    headwise_memory_give(post->memory, post->ids, post->ids_capacity, sizeof *post->ids);
}

size_t headwise_post_processor_n_added(const struct headwise_post_processor *post, bool pair) {
    size_t n = 0;
    for (size_t i = 0; i < post->templates[pair].n; i++)
        n += post->templates[pair].pieces[i].n_ids;
    return n;
}
