/* BPE: a word as characters or bytes, joined by merges. */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "text/model.h"
#include "text/normalizer.h"
#include "text/unicode.h"

enum { GOES_ON = 1, ENDS = 2, SINGLE_MAX = 512 };

/* How a character is written in the vocabulary; 0: too long to be in it. */
static size_t write_single(const struct headwise_model *model, char single[SINGLE_MAX],
                           const char *bytes, size_t size, int place) {
    const struct headwise_bytes *prefix = &model->prefix, *suffix = &model->suffix;
    size_t n = 0, n_prefix = place & GOES_ON ? prefix->size : 0;
    size_t n_suffix = place & ENDS ? suffix->size : 0;
    if (n_prefix > SINGLE_MAX - 8 || n_suffix > SINGLE_MAX - 8 - n_prefix)
        return 0;
    if (n_prefix > 0)
        memcpy(single, prefix->at, n_prefix);
    n += n_prefix;
    memcpy(single + n, bytes, size);
    n += size;
    if (n_suffix > 0)
        memcpy(single + n, suffix->at, n_suffix);
    return n + n_suffix;
}

void headwise_bpe_prepare(struct headwise_model *model) {
    char single[SINGLE_MAX], character[4], name[8];
    for (int c = 0; c < 256; c++) {
        snprintf(name, sizeof name, "<0x%02X>", (unsigned)c);
        model->bytes[c] = headwise_vocabulary_find(&model->vocabulary, name, 6);
        uint32_t code = model->as_bytes ? headwise_byte_character((unsigned char)c) : (uint32_t)c;
        size_t size = headwise_utf8_write(character, code);
        for (int place = 0; place < 4; place++) {
            size_t n = write_single(model, single, character, size, place);
            model->single[place][c] =
                n > 0 ? headwise_vocabulary_find(&model->vocabulary, single, n) : -1;
        }
    }
}

bool headwise_bpe_has_all_bytes(const struct headwise_model *model) {
    bool all = true;
    for (int place = 0; place < 4; place++) {
        if ((place & GOES_ON && model->prefix.size > 0) || place == 0 ||
            (place & ENDS && model->suffix.size > 0)) {
            for (int c = 0; c < 256; c++)
                all = all && model->single[place][c] >= 0;
        }
    }
    return all;
}

struct word {
    const struct headwise_model *model;
    struct headwise_bpe_room *room;
    size_t unknown_size; /* of unknown characters that were not written yet */
    bool has_unknown;
};

static bool write_unknown(struct word *word) {
    bool good = !word->has_unknown ||
                headwise_bpe_add(word->room, (uint32_t)word->model->unknown_id, word->unknown_size);
    word->has_unknown = false;
    word->unknown_size = 0;
    return good;
}

/* A character that is not in the vocabulary: its bytes, or an unknown piece, or nothing. */
static bool take_missing(struct word *word, const char *single, size_t n, size_t size) {
    const struct headwise_model *model = word->model;
    bool all = model->byte_fallback && n > 0;
    for (size_t i = 0; all && i < n; i++)
        all = model->bytes[(unsigned char)single[i]] >= 0;
    if (all) {
        bool good = true;
        for (size_t i = 0; good && i < n; i++)
            good =
                headwise_bpe_add(word->room, (uint32_t)model->bytes[(unsigned char)single[i]], 1);
        return good;
    }
    if (!model->has_unknown)
        return true;
    if (word->has_unknown && !model->fuse_unknown && !write_unknown(word))
        return false;
    word->has_unknown = true;
    word->unknown_size += size;
    return true;
}

static bool take_character(struct word *word, const char *bytes, size_t size, int place) {
    const struct headwise_model *model = word->model;
    char single[SINGLE_MAX];
    size_t n = 0;
    int32_t id = -1;
    if (model->as_bytes || size == 1)
        id = model->single[place][(unsigned char)*bytes];
    if (id < 0) {
        n = write_single(model, single, bytes, size, place);
        if (size > 1 && n > 0)
            id = headwise_vocabulary_find(&model->vocabulary, single, n);
    }
    if (id >= 0)
        return write_unknown(word) && headwise_bpe_add(word->room, (uint32_t)id, size);
    return take_missing(word, single, n, size);
}

/* The whole word's id where it is a piece and merges are to be ignored then. */
static int32_t find_whole(const struct headwise_model *model, struct headwise_model_room *room,
                          const char *word, size_t size) {
    if (!model->as_bytes)
        return headwise_vocabulary_find(&model->vocabulary, word, size);
    room->word.size = 0;
    if (size > 1024 || !headwise_bytes_reserve(room->memory, &room->word, 2 * size))
        return size > 1024 ? -1 : -2;
    for (size_t i = 0; i < size; i++)
        room->word.size += headwise_utf8_write(room->word.at + room->word.size,
                                               headwise_byte_character((unsigned char)word[i]));
    return headwise_vocabulary_find(&model->vocabulary, room->word.at, room->word.size);
}

enum headwise_status headwise_bpe_cut(const struct headwise_model *model,
                                      struct headwise_model_room *room, const char *text,
                                      size_t begin, size_t end,
                                      struct headwise_token_list *tokens) {
    struct word word = {model, &room->bpe, 0, false};
    bool good = true;
    if (model->ignore_merges) {
        int32_t id = find_whole(model, room, text + begin, end - begin);
        if (id >= 0)
            good = headwise_token_add(tokens, (struct headwise_token){id, false, begin, end});
        if (id >= 0 && good)
            return HEADWISE_OK;
        good = id == -1;
    }
    room->bpe.n = 0;
    for (size_t at = begin, size; good && at < end; at += size) {
        size = model->as_bytes ? 1 : headwise_utf8_size((unsigned char)text[at]);
        int place = (at > begin ? GOES_ON : 0) | (at + size == end ? ENDS : 0);
        good = take_character(&word, text + at, size, place);
        if (good && word.has_unknown && model->unknown_id < 0)
            return headwise_model_unknown(model, begin, end, tokens);
    }
    good = good && write_unknown(&word) && headwise_bpe_merge(&model->merges, &room->bpe);
    for (size_t i = 0; good && i < room->bpe.n; i++) {
        const struct headwise_symbol *symbol = &room->bpe.symbols[i];
        size_t stop = begin + symbol->size < end ? begin + symbol->size : end;
        good = headwise_token_add(tokens,
                                  (struct headwise_token){(int32_t)symbol->id, false, begin, stop});
        begin = stop;
    }
    return good ? HEADWISE_OK : headwise_model_no_memory("encode");
}
