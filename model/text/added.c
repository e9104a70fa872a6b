/* Finds added tokens: the leftmost, of those the longest. */
#include "text/added.h"

#include <string.h>

#include "base/error.h"
#include "text/unicode.h"

static enum headwise_status add(struct headwise_added *added, struct headwise_added_token *token,
                                const struct headwise_model *model, size_t *next_id) {
    const struct headwise_bytes *content = &token->content;
    struct headwise_text text = {content->at, content->size};
    int32_t id = headwise_vocabulary_find(&added->contents, content->at, content->size);
    if (id < 0)
        id = headwise_vocabulary_find(&model->vocabulary, content->at, content->size);
    if (id < 0) {
        if (*next_id > HEADWISE_VOCABULARY_MAX_ID)
            return headwise_model_fail(HEADWISE_ERR_FORMAT, "added_tokens: more than 4194304 ids");
        id = (int32_t)(*next_id)++;
    }
    token->id = id;
    size_t i = 0;
    if (headwise_added_of(added, id))
        i = (size_t)added->index_of_id[id];
    else
        i = added->n;
    size_t n_before = added->n_index;
    if (!headwise_memory_grow(added->memory, &added->index_of_id, &added->n_index, (size_t)id + 1,
                              sizeof *added->index_of_id))
        return headwise_model_no_memory("added_tokens");
    for (size_t k = n_before; k < added->n_index; k++)
        added->index_of_id[k] = -1;
    if (!headwise_memory_grow(added->memory, &added->tokens, &added->capacity, added->n + 1,
                              sizeof *added->tokens) ||
        !headwise_vocabulary_add(&added->contents, text, (uint32_t)id))
        return headwise_model_no_memory("added_tokens");
    if (i < added->n)
        headwise_bytes_free(added->memory, &added->tokens[i].content);
    else
        added->n++;
    added->tokens[i] = *token;
    added->index_of_id[id] = (int32_t)i;
    token->content = (struct headwise_bytes){0}; /* it is the list's now */
    return HEADWISE_OK;
}

static enum headwise_status read_token(struct headwise_added *added,
                                       const struct headwise_config_object *object,
                                       const struct headwise_model *model, size_t *next_id) {
    struct headwise_added_token token = {0};
    enum headwise_status status = headwise_config_bytes(object, "content", true, &token.content);
    if (!status)
        status = headwise_config_bool(object, "special", false, &token.special);
    token.normalized = !token.special;
    if (!status)
        status = headwise_config_bool(object, "single_word", false, &token.single_word);
    if (!status)
        status = headwise_config_bool(object, "lstrip", false, &token.lstrip);
    if (!status)
        status = headwise_config_bool(object, "rstrip", false, &token.rstrip);
    if (!status)
        status = headwise_config_bool(object, "normalized", false, &token.normalized);
    if (!status && token.content.size > 0)
        status = add(added, &token, model, next_id);
    headwise_bytes_free(added->memory, &token.content);
    return status;
}

static size_t first_id(const struct headwise_model *model) {
    return model->vocabulary.n_pieces;
}

enum headwise_status headwise_added_read(struct headwise_added *added,
                                         const struct headwise_config_object *file,
                                         const struct headwise_model *model) {
    struct headwise_json_slice slice;
    struct headwise_json_reader json;
    struct headwise_config_object item = {.file = file->file, .part = "added_tokens"};
    size_t next_id = first_id(model);
    if (!headwise_config_get(file, "added_tokens", &slice))
        return HEADWISE_OK;
    if (headwise_config_kind(&slice) != HEADWISE_JSON_ARRAY)
        return headwise_config_fail(file, "added_tokens", "is no list");
    headwise_config_read(file, &json, &slice);
    headwise_json_enter_array(&json);
    enum headwise_status status = HEADWISE_OK;
    while (!status && headwise_json_next_item(&json)) {
        headwise_json_skip(&json, &item.slice);
        status = read_token(added, &item, model, &next_id);
    }
    return status;
}

enum headwise_status headwise_added_special(struct headwise_added *added,
                                            const struct headwise_model *model,
                                            const char *content) {
    size_t next_id = first_id(model), size = strlen(content);
    struct headwise_added_token token = {.special = true};
    if (headwise_vocabulary_find(&model->vocabulary, content, size) < 0)
        return HEADWISE_OK;
    if (!headwise_bytes_append(added->memory, &token.content, content, size))
        return headwise_model_no_memory("added_tokens");
    enum headwise_status status = add(added, &token, model, &next_id);
    headwise_bytes_free(added->memory, &token.content);
    return status;
}

/* What is looked for in normalized text. */
static enum headwise_status normalize(struct headwise_added *added,
                                      struct headwise_added_token *token,
                                      const struct headwise_normalizer *normalizer,
                                      struct headwise_normalizer_room *room) {
    struct headwise_aligned text = {.memory = added->memory};
    enum headwise_status status = HEADWISE_OK;
    headwise_aligned_put_run(&text, token->content.at, token->content.size, 0);
    if (token->normalized)
        status = headwise_normalize(normalizer, room, &text);
    if (!status && (text.failed || !headwise_bytes_append(added->memory, &token->normalized_content,
                                                          text.text.at, text.text.size)))
        status = headwise_model_no_memory("added_tokens");
    headwise_aligned_free(&text);
    return status;
}

enum headwise_status headwise_added_finish(struct headwise_added *added,
                                           const struct headwise_normalizer *normalizer,
                                           struct headwise_normalizer_room *room) {
    struct headwise_trie_key *keys =
        headwise_memory_take(added->memory, added->n + 1, sizeof *keys);
    enum headwise_status status = keys ? HEADWISE_OK : headwise_model_no_memory("added_tokens");
    for (size_t i = 0; !status && i < added->n; i++)
        status = normalize(added, &added->tokens[i], normalizer, room);
    for (int which = 0; !status && which < 2; which++) {
        size_t n = 0;
        for (size_t i = 0; i < added->n; i++) {
            const struct headwise_added_token *token = &added->tokens[i];
            if (token->normalized != (which == 1) || token->normalized_content.size == 0)
                continue;
            const struct headwise_bytes *bytes = &token->normalized_content;
            keys[n++] = (struct headwise_trie_key){{bytes->at, bytes->size}, (int32_t)i};
            added->begins[which][(unsigned char)bytes->at[0]] = true;
        }
        if (n > 0 && !headwise_trie_build(&added->tries[which], keys, n))
            status = headwise_model_no_memory("added_tokens");
    }
    headwise_memory_give(added->memory, keys, added->n + 1, sizeof *keys);
    return status;
}

void headwise_added_free(struct headwise_added *added) {
    for (size_t i = 0; i < added->n; i++) {
        headwise_bytes_free(added->memory, &added->tokens[i].content);
        headwise_bytes_free(added->memory, &added->tokens[i].normalized_content);
    }
    headwise_memory_give(added->memory, added->tokens, added->capacity, sizeof *added->tokens);
    headwise_memory_give(added->memory, added->index_of_id, added->n_index,
                         sizeof *added->index_of_id);
    headwise_vocabulary_free(&added->contents);
    headwise_trie_free(&added->tries[0]);
    headwise_trie_free(&added->tries[1]);
}

const struct headwise_added_token *headwise_added_of(const struct headwise_added *added,
                                                     int32_t id) {
    if (id < 0 || (size_t)id >= added->n_index || added->index_of_id[id] < 0)
        return NULL;
    return &added->tokens[added->index_of_id[id]];
}

/* Whether a character of class stands before end or, forwards, at begin. */
static bool class_before(const char *text, size_t end, unsigned class, size_t *begin) {
    size_t size;
    if (end == 0)
        return false;
    do
        end--;
    while (headwise_utf8_continues(text[end]));
    *begin = end;
    return headwise_text_class(headwise_utf8_read(text + end, &size)) & class;
}

static bool class_at(const char *text, size_t size, size_t at, unsigned class, size_t *end) {
    size_t step;
    if (at == size)
        return false;
    bool has = headwise_text_class(headwise_utf8_read(text + at, &step)) & class;
    *end = at + step;
    return has;
}

static bool is_inside_word(const char *text, size_t size, size_t begin, size_t end) {
    size_t place;
    return class_before(text, begin, HEADWISE_CLASS_WORD, &place) ||
           class_at(text, size, end, HEADWISE_CLASS_WORD, &place);
}

struct headwise_added_match headwise_added_find(const struct headwise_added *added, bool normalized,
                                                bool special_is_text, const char *text, size_t size,
                                                size_t from, size_t done) {
    const struct headwise_trie *trie = &added->tries[normalized];
    struct headwise_added_match match = {size, size, NULL, size};
    for (size_t at = from; trie->nodes && at < size; at++) {
        if (!added->begins[normalized][(unsigned char)text[at]])
            continue;
        size_t length = 0, place;
        int32_t index = headwise_trie_longest(trie, 0, text + at, size - at, &length);
        if (index < 0)
            continue;
        const struct headwise_added_token *token = &added->tokens[index];
        if ((special_is_text && token->special) ||
            (token->single_word && is_inside_word(text, size, at, at + length))) {
            at += length - 1;
            continue;
        }
        match = (struct headwise_added_match){at, at + length, token, at + length};
        while (token->lstrip && match.begin > done &&
               class_before(text, match.begin, HEADWISE_CLASS_SPACE, &place))
            match.begin = place;
        if (token->lstrip && match.begin < done)
            match.begin = done; /* the one before took these spaces */
        while (token->rstrip && class_at(text, size, match.end, HEADWISE_CLASS_SPACE, &place))
            match.end = place;
        if (match.end < match.begin)
            match.end = match.begin;
        break;
    }
    return match;
}
