/* Cuts a word by the model of the file, and frees models. */
#include "text/model.h"

#include <string.h>

#include "base/error.h"

bool headwise_token_add(struct headwise_token_list *list, struct headwise_token token) {
    if (!headwise_memory_grow(list->memory, &list->at, &list->capacity, list->n + 1,
                              sizeof *list->at))
        return false;
    list->at[list->n++] = token;
    return true;
}

enum headwise_status headwise_model_unknown(const struct headwise_model *model, size_t begin,
                                            size_t end, struct headwise_token_list *tokens) {
    if (model->unknown_id < 0)
        return headwise_model_fail(
            HEADWISE_ERR_FORMAT,
            "encode: a word is not in the vocabulary, which has no unknown piece '%.*s'",
            (int)model->unknown.size, model->unknown.size ? model->unknown.at : "");
    return headwise_token_add(tokens, (struct headwise_token){model->unknown_id, false, begin, end})
               ? HEADWISE_OK
               : headwise_model_no_memory("encode");
}

static enum headwise_status cut_word(const struct headwise_model *model,
                                     struct headwise_model_room *room, const char *text,
                                     size_t begin, size_t end, struct headwise_token_list *tokens) {
    int32_t id;
    switch (model->kind) {
    case HEADWISE_MODEL_WORDPIECE:
        return headwise_wordpiece_cut(model, text, begin, end, tokens);
    case HEADWISE_MODEL_BPE:
        return headwise_bpe_cut(model, room, text, begin, end, tokens);
    case HEADWISE_MODEL_UNIGRAM:
        return headwise_unigram_cut(model, room, text, begin, end, tokens);
    default:
        id = headwise_vocabulary_find(&model->vocabulary, text + begin, end - begin);
        if (id < 0)
            return headwise_model_unknown(model, begin, end, tokens);
        return headwise_token_add(tokens, (struct headwise_token){id, false, begin, end})
                   ? HEADWISE_OK
                   : headwise_model_no_memory("encode");
    }
}

/* As cut_word(), for a word that may have been seen. */
static enum headwise_status find_or_cut(const struct headwise_model *model,
                                        struct headwise_model_room *room, const char *text,
                                        size_t begin, size_t end,
                                        struct headwise_token_list *tokens) {
    bool failed = false;
    if (headwise_word_cache_find(room->cache, text + begin, end - begin, begin, tokens, &failed))
        return failed ? headwise_model_no_memory("encode") : HEADWISE_OK;
    size_t first = tokens->n;
    enum headwise_status status = cut_word(model, room, text, begin, end, tokens);
    if (!status)
        headwise_word_cache_keep(room->cache, text + begin, end - begin, begin, tokens, first);
    return status;
}

enum headwise_status headwise_model_cut(const struct headwise_model *model,
                                        struct headwise_model_room *room, const char *text,
                                        size_t begin, size_t end,
                                        struct headwise_token_list *tokens) {
    if (model->kind == HEADWISE_MODEL_WORDLEVEL || !room->cache)
        return cut_word(model, room, text, begin, end, tokens);
    enum headwise_status status = HEADWISE_OK;
    for (size_t stop; !status && begin < end; begin = stop) {
        stop = headwise_bpe_cut_end(model, text, begin, end);
        status = find_or_cut(model, room, text, begin, stop, tokens);
    }
    return status;
}

/* The trie of all pieces; UNIGRAM, WORDPIECE. */
static bool build_trie(struct headwise_model *model) {
    size_t n = 0, n_keys = model->vocabulary.n_ids;
    struct headwise_trie_key *keys = headwise_memory_take(model->memory, n_keys + 1, sizeof *keys);
    if (!keys)
        return false;
    for (size_t id = 0; id < n_keys; id++) {
        struct headwise_text piece = headwise_vocabulary_piece(&model->vocabulary, (uint32_t)id);
        if (!piece.bytes || piece.size_bytes == 0)
            continue;
        int32_t found = /* of equal pieces the one that the vocabulary finds */
            headwise_vocabulary_find(&model->vocabulary, piece.bytes, piece.size_bytes);
        keys[n++] = (struct headwise_trie_key){piece, found};
    }
    bool good = headwise_trie_build(&model->trie, keys, n);
    headwise_memory_give(model->memory, keys, n_keys + 1, sizeof *keys);
    uint32_t node = 0;
    for (size_t i = 0; good && i < model->prefix.size; i++) {
        node = headwise_trie_step(&model->trie, node, (unsigned char)model->prefix.at[i]);
        if (node == 0)
            break;
    }
    model->inner = node;
    return good;
}

enum headwise_status headwise_model_finish(struct headwise_model *model, const char *name) {
    if (model->kind != HEADWISE_MODEL_UNIGRAM && model->unknown.size > 0)
        model->unknown_id =
            headwise_vocabulary_find(&model->vocabulary, model->unknown.at, model->unknown.size);
    if (model->kind == HEADWISE_MODEL_BPE || model->kind == HEADWISE_MODEL_UNIGRAM) {
        headwise_bpe_prepare(model);
        /* A byte without a piece shifts what comes after it: then bytes are written out. */
        if (model->as_bytes && !headwise_bpe_has_all_bytes(model)) {
            model->as_bytes = false;
            headwise_bpe_prepare(model);
        }
        model->cuts_at_marks = model->kind == HEADWISE_MODEL_BPE && !model->as_bytes &&
                               !model->ignore_merges && model->prefix.size == 0 &&
                               model->suffix.size == 0 &&
                               headwise_vocabulary_find(&model->vocabulary, "\xe2\x96\x81", 3) >= 0;
    }
    if (model->kind == HEADWISE_MODEL_UNIGRAM || model->kind == HEADWISE_MODEL_WORDPIECE) {
        if (!build_trie(model))
            return headwise_model_no_memory(name);
    }
    return HEADWISE_OK;
}

void headwise_model_free(struct headwise_model *model) {
    const struct headwise_allocator *memory = model->memory;
    headwise_vocabulary_free(&model->vocabulary);
    headwise_trie_free(&model->trie);
    headwise_merges_free(&model->merges);
    headwise_bytes_free(memory, &model->unknown);
    headwise_bytes_free(memory, &model->prefix);
    headwise_bytes_free(memory, &model->suffix);
    headwise_memory_give(memory, model->scores, model->n_scores, sizeof *model->scores);
    model->scores = NULL;
    model->n_scores = 0;
}
