/* Models cut one word into pieces of the vocabulary. */
#ifndef HEADWISE_TEXT_MODEL_H
#define HEADWISE_TEXT_MODEL_H

#include "text/bpe_merge.h"
#include "text/config.h"
#include "text/trie.h"
#include "text/vocabulary.h"

enum headwise_model_kind {
    HEADWISE_MODEL_WORDPIECE,
    HEADWISE_MODEL_BPE,
    HEADWISE_MODEL_UNIGRAM,
    HEADWISE_MODEL_WORDLEVEL
};

/* A piece of a word: bytes begin..end of the normalized text. */
struct headwise_token {
    int32_t id;
    bool is_text; /* an unknown piece of Unigram: it is written as the text itself */
    size_t begin, end;
};

struct headwise_token_list {
    const struct headwise_allocator *memory;
    struct headwise_token *at;
    size_t n, capacity;
};
bool headwise_token_add(struct headwise_token_list *list, struct headwise_token token);

struct headwise_model {
    const struct headwise_allocator *memory;
    enum headwise_model_kind kind;
    struct headwise_vocabulary vocabulary;
    struct headwise_bytes unknown; /* the piece of unknown words, as the file has it */
    int32_t unknown_id;            /* -1: none */
    struct headwise_bytes prefix;  /* WORDPIECE, BPE: of pieces that go on */
    struct headwise_bytes suffix;  /* BPE: of pieces that end a word */

    struct headwise_trie trie; /* WORDPIECE, UNIGRAM */
    uint32_t inner;            /* WORDPIECE: the node behind the prefix; 0: nothing goes on */
    size_t max_characters;     /* WORDPIECE */

    double *scores; /* UNIGRAM, by id */
    size_t n_scores;
    double unknown_score;

    struct headwise_merges merges; /* BPE */
    bool fuse_unknown, byte_fallback, ignore_merges;
    bool has_unknown; /* BPE: a token for unknown characters was named */
    bool as_bytes;    /* BPE: a word is bytes, the vocabulary is in the byte-level alphabet */
    /* BPE: last bytes of pieces that some merge joins to one that begins with U+2581, the mark of a
     * space. Behind all others a text may be cut before a mark, and its words be kept. */
    bool joins_mark[256];
    bool cuts_at_marks;
    /* BPE: ids of single bytes (as_bytes) or ASCII characters, with the prefix where the first
     * index has 1, with the suffix where it has 2. UNIGRAM and BPE: ids of <0x00> to <0xFF>. */
    int32_t single[4][256];
    int32_t bytes[256];
};

enum headwise_status headwise_model_read(struct headwise_model *model,
                                         const struct headwise_config_object *part);

/* Tables: {"piece": id, ...}; the list merges of an object; "a b", a line of merges.txt. */
enum headwise_status headwise_model_read_vocabulary(struct headwise_model *model,
                                                    const struct headwise_config_object *vocab);
enum headwise_status headwise_model_read_merges(struct headwise_model *model,
                                                const struct headwise_config_object *object);
enum headwise_status headwise_model_add_merge_line(struct headwise_model *model,
                                                   const struct headwise_config_object *object,
                                                   struct headwise_text line);

/* The rest of opening, once the vocabulary, the unknown piece and the options are there. */
enum headwise_status headwise_model_finish(struct headwise_model *model, const char *name);
void headwise_model_free(struct headwise_model *model);

/* What cutting words needs, of one thread. */
struct headwise_model_room {
    const struct headwise_allocator *memory;
    struct headwise_bytes word; /* a word in another alphabet */
    struct headwise_bpe_room bpe;
    struct headwise_unigram_node *nodes;
    size_t nodes_capacity;
    struct headwise_word_cache *cache;
};
void headwise_model_room_free(struct headwise_model_room *room);

/* Appends the pieces of bytes begin..end of text. */
enum headwise_status headwise_model_cut(const struct headwise_model *model,
                                        struct headwise_model_room *room, const char *text,
                                        size_t begin, size_t end,
                                        struct headwise_token_list *tokens);

enum headwise_status headwise_wordpiece_cut(const struct headwise_model *model, const char *text,
                                            size_t begin, size_t end,
                                            struct headwise_token_list *tokens);
enum headwise_status headwise_bpe_cut(const struct headwise_model *model,
                                      struct headwise_model_room *room, const char *text,
                                      size_t begin, size_t end, struct headwise_token_list *tokens);
enum headwise_status headwise_unigram_cut(const struct headwise_model *model,
                                          struct headwise_model_room *room, const char *text,
                                          size_t begin, size_t end,
                                          struct headwise_token_list *tokens);

/* The model's piece for unknown words as one token. */
enum headwise_status headwise_model_unknown(const struct headwise_model *model, size_t begin,
                                            size_t end, struct headwise_token_list *tokens);

/* Where the first words of a text from begin on may end: before a mark, or at end. */
size_t headwise_bpe_cut_end(const struct headwise_model *model, const char *text, size_t begin,
                            size_t end);
/* Notes that the pieces, bytes of the vocabulary, are joined by a merge. */
void headwise_bpe_note_merge(struct headwise_model *model, struct headwise_text left,
                             struct headwise_text right);

/* Fills single and bytes; false: a byte has no piece, so that as_bytes cannot be. */
void headwise_bpe_prepare(struct headwise_model *model);
bool headwise_bpe_has_all_bytes(const struct headwise_model *model);

/* Words seen and their pieces; forgotten when they fill a megabyte. A cache belongs to one
 * tokenizer. */
struct headwise_word_cache *headwise_word_cache_create(const struct headwise_allocator *memory);
void headwise_word_cache_destroy(struct headwise_word_cache *cache,
                                 const struct headwise_allocator *memory);
/* True: the word's pieces were appended, or an allocation failed and nothing was. */
bool headwise_word_cache_find(struct headwise_word_cache *cache, const char *word, size_t size,
                              size_t begin, struct headwise_token_list *tokens, bool *failed);
/* Keeps the tokens from first on, which were just made of the word that begins at begin. */
void headwise_word_cache_keep(struct headwise_word_cache *cache, const char *word, size_t size,
                              size_t begin, const struct headwise_token_list *tokens, size_t first);

#endif
