/* WordPiece: the longest piece from the left, again and again. */
#include "base/error.h"
#include "text/model.h"
#include "text/unicode.h"

static bool is_too_long(const struct headwise_model *model, const char *word, size_t size) {
    if (size <= model->max_characters)
        return false;
    size_t n = 0;
    for (size_t i = 0; i < size && n <= model->max_characters; i++)
        n += !headwise_utf8_continues(word[i]);
    return n > model->max_characters;
}

enum headwise_status headwise_wordpiece_cut(const struct headwise_model *model, const char *text,
                                            size_t begin, size_t end,
                                            struct headwise_token_list *tokens) {
    if (is_too_long(model, text + begin, end - begin))
        return headwise_model_unknown(model, begin, end, tokens);
    size_t first = tokens->n, length = 0;
    for (size_t at = begin; at < end; at += length) {
        uint32_t node = at > begin ? model->inner : 0;
        int32_t id = at > begin && model->inner == 0 && model->prefix.size > 0
                         ? -1
                         : headwise_trie_longest(&model->trie, node, text + at, end - at, &length);
        if (id < 0) { /* one piece is unknown, so the word is */
            tokens->n = first;
            return headwise_model_unknown(model, begin, end, tokens);
        }
        if (!headwise_token_add(tokens, (struct headwise_token){id, false, at, at + length}))
            return headwise_model_no_memory("encode");
    }
    return HEADWISE_OK;
}
