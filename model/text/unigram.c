/* Unigram: the cut whose pieces' scores have the largest sum. */
#include <string.h>

#include "base/error.h"
#include "text/model.h"
#include "text/unicode.h"

/* The best way to the byte behind which it lies. */
struct headwise_unigram_node {
    double score;
    size_t from; /* SIZE_MAX: no way yet */
    int32_t id;
};

/* Takes a piece from at to there where that is better; of equal ones the first stays. */
static void offer(struct headwise_unigram_node *nodes, size_t at, size_t there, double score,
                  int32_t id) {
    double sum = score + nodes[at].score;
    struct headwise_unigram_node *node = &nodes[there];
    if (node->from == SIZE_MAX || sum > node->score)
        *node = (struct headwise_unigram_node){sum, at, id};
}

/* Fills nodes; false: a character is unknown and the model has no piece for it. */
static bool search(const struct headwise_model *model, struct headwise_unigram_node *nodes,
                   const char *word, size_t size) {
    const struct headwise_trie *trie = &model->trie;
    for (size_t i = 0; i <= size; i++)
        nodes[i] = (struct headwise_unigram_node){0, SIZE_MAX, 0};
    for (size_t at = 0, character; at < size; at += character) {
        character = headwise_utf8_size((unsigned char)word[at]);
        bool has_character = false;
        uint32_t node = 0;
        for (size_t i = at; i < size; i++) {
            node = headwise_trie_step(trie, node, (unsigned char)word[i]);
            if (node == 0)
                break;
            int32_t id = trie->nodes[node].value;
            if (id < 0)
                continue;
            offer(nodes, at, i + 1, model->scores[id], id);
            has_character = has_character || i + 1 - at == character;
        }
        if (!has_character) {
            if (model->unknown_id < 0)
                return false;
            offer(nodes, at, at + character, model->unknown_score, model->unknown_id);
        }
    }
    return true;
}

/* Appends what was chosen for bytes begin..end of text: unknown characters in a row are one. */
static bool add_piece(const struct headwise_model *model, const char *text, size_t begin,
                      size_t end, struct headwise_token_list *tokens) {
    int32_t id = headwise_vocabulary_find(&model->vocabulary, text + begin, end - begin);
    if (id >= 0)
        return headwise_token_add(tokens, (struct headwise_token){id, false, begin, end});
    bool all = model->byte_fallback;
    for (size_t i = begin; all && i < end; i++)
        all = model->bytes[(unsigned char)text[i]] >= 0;
    if (!all)
        return headwise_token_add(tokens,
                                  (struct headwise_token){model->unknown_id, true, begin, end});
    bool good = true;
    for (size_t i = begin; good && i < end; i++)
        good =
            headwise_token_add(tokens, (struct headwise_token){model->bytes[(unsigned char)text[i]],
                                                               false, begin, end});
    return good;
}

enum headwise_status headwise_unigram_cut(const struct headwise_model *model,
                                          struct headwise_model_room *room, const char *text,
                                          size_t begin, size_t end,
                                          struct headwise_token_list *tokens) {
    size_t size = end - begin;
    if (!headwise_memory_grow(room->memory, &room->nodes, &room->nodes_capacity, size + 1,
                              sizeof *room->nodes))
        return headwise_model_no_memory("encode");
    struct headwise_unigram_node *nodes = room->nodes;
    if (!search(model, nodes, text + begin, size))
        return headwise_model_unknown(model, begin, end, tokens);
    /* The way is known from its end: each node is told where the way goes on. */
    size_t next = SIZE_MAX;
    for (size_t at = size;;) {
        size_t from = nodes[at].from;
        nodes[at].from = next;
        next = at;
        if (at == 0)
            break;
        at = from;
    }
    for (size_t at = 0; at < size;) {
        size_t there = nodes[at].from;
        while (nodes[there].id == model->unknown_id && there < size &&
               nodes[nodes[there].from].id == model->unknown_id)
            there = nodes[there].from;
        if (!add_piece(model, text, begin + at, begin + there, tokens))
            return headwise_model_no_memory("encode");
        at = there;
    }
    return HEADWISE_OK;
}

void headwise_model_room_free(struct headwise_model_room *room) {
    headwise_bytes_free(room->memory, &room->word);
    headwise_bpe_room_free(&room->bpe);
    headwise_memory_give(room->memory, room->nodes, room->nodes_capacity, sizeof *room->nodes);
    headwise_word_cache_destroy(room->cache, room->memory);
    *room = (struct headwise_model_room){.memory = room->memory, .bpe.memory = room->memory};
}
