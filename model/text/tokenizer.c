/* Opens tokenizers out of bytes and answers about their ids. */
#include "text/tokenizer.h"

#include <string.h>

#include "base/error.h"

enum headwise_status headwise_tokenizer_new(headwise_tokenizer **tokenizer, const char *where,
                                            const struct headwise_tokenizer_options *options) {
    struct headwise_allocator memory;
    if (options && options->size != sizeof *options)
        return headwise_model_fail(HEADWISE_ERR_INVALID, "%s: options->size is %zu, expected %zu",
                                   where, options->size, sizeof *options);
    enum headwise_status status =
        headwise_memory_set(&memory, where, options ? options->allocator : NULL);
    if (status)
        return status;
    headwise_tokenizer *made = headwise_memory_take(&memory, 1, sizeof *made);
    if (!made)
        return headwise_model_no_memory(where);
    memset(made, 0, sizeof *made);
    made->memory = memory;
    made->normalizer.memory = made->pre.memory = made->model.memory = &made->memory;
    made->model.vocabulary.memory = made->model.trie.memory = &made->memory;
    made->model.merges.memory = made->added.memory = made->added.contents.memory = &made->memory;
    made->added.tries[0].memory = made->added.tries[1].memory = &made->memory;
    made->post.memory = made->decoder.memory = &made->memory;
    made->model.unknown_id = -1;
    *tokenizer = made;
    return HEADWISE_OK;
}

void headwise_tokenizer_destroy(headwise_tokenizer *tokenizer) {
    if (!tokenizer)
        return;
    headwise_normalizer_free(&tokenizer->normalizer);
    headwise_pre_tokenizer_free(&tokenizer->pre);
    headwise_model_free(&tokenizer->model);
    headwise_added_free(&tokenizer->added);
    headwise_post_processor_free(&tokenizer->post);
    headwise_decoder_free(&tokenizer->decoder);
    struct headwise_allocator memory = tokenizer->memory;
    headwise_memory_give(&memory, tokenizer, 1, sizeof *tokenizer);
}

/* Reads the parts in the order in which one needs the other. */
static enum headwise_status read_parts(headwise_tokenizer *tokenizer,
                                       const struct headwise_config_object *file) {
    struct headwise_config_object part = {.file = file->file, .part = "model"};
    struct headwise_config_members members;
    if (!headwise_config_get(file, "model", &part.slice) ||
        headwise_config_kind(&part.slice) != HEADWISE_JSON_OBJECT)
        return headwise_config_fail(file, "model", "is missing or no object");
    headwise_config_list(&members, &part);
    enum headwise_status status = headwise_model_read(&tokenizer->model, &part);
    part.part = "normalizer";
    if (!status && headwise_config_get(file, "normalizer", &part.slice))
        status = headwise_normalizer_read(&tokenizer->normalizer, &part);
    part.part = "pre_tokenizer";
    if (!status && headwise_config_get(file, "pre_tokenizer", &part.slice))
        status = headwise_pre_tokenizer_read(&tokenizer->pre, &part);
    part.part = "post_processor";
    if (!status && headwise_config_get(file, "post_processor", &part.slice))
        status = headwise_post_processor_read(&tokenizer->post, &part);
    part.part = "decoder";
    if (!status && headwise_config_get(file, "decoder", &part.slice))
        status = headwise_decoder_read(&tokenizer->decoder, &part);
    return status ? status : headwise_added_read(&tokenizer->added, file, &tokenizer->model);
}

enum headwise_status headwise_tokenizer_read(headwise_tokenizer *tokenizer, const void *json,
                                             size_t size_bytes, const char *name) {
    struct headwise_json_reader reader;
    struct headwise_config config = {&tokenizer->memory, name, size_bytes > 0 ? json : ""};
    struct headwise_config_object file = {.file = &config, .part = "tokenizer"};
    struct headwise_config_members members;
    headwise_json_begin(&reader, json, size_bytes);
    headwise_json_skip(&reader, &file.slice);
    headwise_json_end(&reader);
    if (reader.error)
        return headwise_config_broken(&file, &reader);
    if (headwise_config_kind(&file.slice) != HEADWISE_JSON_OBJECT)
        return headwise_config_fail(&file, "the file", "is no object");
    headwise_config_list(&members, &file);
    enum headwise_status status = read_parts(tokenizer, &file);
    tokenizer->hash = headwise_text_hash(json, size_bytes);
    return status ? status : headwise_tokenizer_finish(tokenizer, name);
}

enum headwise_status headwise_tokenizer_finish(headwise_tokenizer *tokenizer, const char *name) {
    struct headwise_pre_tokenizer *pre = &tokenizer->pre;
    struct headwise_pre_step *last = pre->n > 0 ? &pre->steps[pre->n - 1] : NULL;
    bool bytes = last && last->kind == HEADWISE_PRE_BYTE_LEVEL;
    tokenizer->model.as_bytes = bytes && tokenizer->model.kind == HEADWISE_MODEL_BPE;
    enum headwise_status status = headwise_model_finish(&tokenizer->model, name);
    if (bytes)
        last->as_bytes = tokenizer->model.as_bytes;
    if (!status && !tokenizer->post.has_template)
        status = headwise_post_processor_plain(&tokenizer->post);
    struct headwise_pattern_room patterns = {.memory = &tokenizer->memory};
    struct headwise_normalizer_room room = {.other.memory = &tokenizer->memory,
                                            .cleaned.memory = &tokenizer->memory,
                                            .patterns = &patterns};
    if (!status)
        status = headwise_added_finish(&tokenizer->added, &tokenizer->normalizer, &room);
    headwise_aligned_free(&room.other);
    headwise_aligned_free(&room.cleaned);
    headwise_form_room_free(&tokenizer->memory, &room.form);
    headwise_pattern_room_free(&patterns);
    tokenizer->n_ids = tokenizer->model.vocabulary.n_ids;
    for (size_t i = 0; i < tokenizer->added.n; i++) {
        if ((size_t)tokenizer->added.tokens[i].id >= tokenizer->n_ids)
            tokenizer->n_ids = (size_t)tokenizer->added.tokens[i].id + 1;
    }
    return status;
}

enum headwise_status headwise_tokenizer_parse(headwise_tokenizer **tokenizer, const void *json,
                                              size_t size_bytes, const char *name,
                                              const struct headwise_tokenizer_options *options) {
    headwise_tokenizer *made;
    if (!tokenizer || (!json && size_bytes > 0))
        return headwise_model_fail(HEADWISE_ERR_INVALID, "tokenizer_parse: %s is NULL",
                                   tokenizer ? "json" : "tokenizer");
    enum headwise_status status = headwise_tokenizer_new(&made, "tokenizer_parse", options);
    if (status)
        return status;
    status = headwise_tokenizer_read(made, json, size_bytes, name ? name : "tokenizer.json");
    if (status)
        headwise_tokenizer_destroy(made);
    else
        *tokenizer = made;
    return status;
}

int32_t headwise_tokenizer_n_ids(const headwise_tokenizer *tokenizer) {
    return (int32_t)tokenizer->n_ids;
}

int32_t headwise_tokenizer_id(const headwise_tokenizer *tokenizer, struct headwise_text piece) {
    if (!piece.bytes)
        piece.bytes = "";
    int32_t id =
        headwise_vocabulary_find(&tokenizer->added.contents, piece.bytes, piece.size_bytes);
    return id >= 0 ? id
                   : headwise_vocabulary_find(&tokenizer->model.vocabulary, piece.bytes,
                                              piece.size_bytes);
}

struct headwise_text headwise_tokenizer_written(const struct headwise_tokenizer *tokenizer,
                                                int32_t id) {
    const struct headwise_added_token *token = headwise_added_of(&tokenizer->added, id);
    if (token && token->normalized_content.size > 0)
        return (struct headwise_text){token->normalized_content.at, token->normalized_content.size};
    if (token)
        return (struct headwise_text){"", 0};
    return id < 0 ? (struct headwise_text){NULL, 0}
                  : headwise_vocabulary_piece(&tokenizer->model.vocabulary, (uint32_t)id);
}

struct headwise_text headwise_tokenizer_piece(const headwise_tokenizer *tokenizer, int32_t id) {
    const struct headwise_added_token *token = headwise_added_of(&tokenizer->added, id);
    if (token)
        return (struct headwise_text){token->content.at, token->content.size};
    return headwise_tokenizer_written(tokenizer, id);
}

bool headwise_tokenizer_is_special(const headwise_tokenizer *tokenizer, int32_t id) {
    const struct headwise_added_token *token = headwise_added_of(&tokenizer->added, id);
    if (token)
        return token->special && token->content.size == token->normalized_content.size &&
               memcmp(token->content.at, token->normalized_content.at, token->content.size) == 0;
    return false;
}

size_t headwise_tokenizer_n_added(const headwise_tokenizer *tokenizer, bool pair) {
    return headwise_post_processor_n_added(&tokenizer->post, pair);
}
