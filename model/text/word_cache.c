/* A small cache of words and their pieces. */
#include <string.h>

#include "text/model.h"

enum { N_ENTRIES = 8192, POOL = 512 << 10, N_TOKENS = 64 << 10, MAX_WORD = 64, MAX_TOKENS = 32 };

struct entry {
    uint64_t hash;
    uint32_t word, first; /* in words and tokens */
    uint16_t size, n;
    uint32_t generation; /* of another one: empty */
};

struct kept {
    int32_t id;
    uint16_t begin, end; /* from the word's beginning */
    bool is_text;
};

struct headwise_word_cache {
    uint32_t generation;
    size_t words_size, n_tokens;
    struct entry entries[N_ENTRIES];
    struct kept tokens[N_TOKENS];
    char words[POOL];
};

struct headwise_word_cache *headwise_word_cache_create(const struct headwise_allocator *memory) {
    struct headwise_word_cache *cache = headwise_memory_take(memory, 1, sizeof *cache);
    if (cache) {
        memset(cache->entries, 0, sizeof cache->entries);
        cache->generation = 1;
        cache->words_size = cache->n_tokens = 0;
    }
    return cache;
}

void headwise_word_cache_destroy(struct headwise_word_cache *cache,
                                 const struct headwise_allocator *memory) {
    headwise_memory_give(memory, cache, 1, sizeof *cache);
}

bool headwise_word_cache_find(struct headwise_word_cache *cache, const char *word, size_t size,
                              size_t begin, struct headwise_token_list *tokens, bool *failed) {
    if (size > MAX_WORD)
        return false;
    uint64_t hash = headwise_text_hash(word, size);
    const struct entry *entry = &cache->entries[hash % N_ENTRIES];
    if (entry->generation != cache->generation || entry->hash != hash || entry->size != size ||
        memcmp(cache->words + entry->word, word, size) != 0)
        return false;
    if (!headwise_memory_grow(tokens->memory, &tokens->at, &tokens->capacity, tokens->n + entry->n,
                              sizeof *tokens->at))
        return *failed = true;
    for (size_t i = 0; i < entry->n; i++) {
        const struct kept *kept = &cache->tokens[entry->first + i];
        tokens->at[tokens->n++] = (struct headwise_token){kept->id, kept->is_text,
                                                          begin + kept->begin, begin + kept->end};
    }
    return true;
}

void headwise_word_cache_keep(struct headwise_word_cache *cache, const char *word, size_t size,
                              size_t begin, const struct headwise_token_list *tokens,
                              size_t first) {
    size_t n = tokens->n - first;
    if (size > MAX_WORD || n > MAX_TOKENS)
        return;
    if (cache->words_size + size > POOL || cache->n_tokens + n > N_TOKENS) {
        cache->words_size = cache->n_tokens = 0;
        if (++cache->generation == 0) {
            memset(cache->entries, 0, sizeof cache->entries);
            cache->generation = 1;
        }
    }
    uint64_t hash = headwise_text_hash(word, size);
    cache->entries[hash % N_ENTRIES] = (struct entry){hash,
                                                      (uint32_t)cache->words_size,
                                                      (uint32_t)cache->n_tokens,
                                                      (uint16_t)size,
                                                      (uint16_t)n,
                                                      cache->generation};
    memcpy(cache->words + cache->words_size, word, size);
    cache->words_size += size;
    for (size_t i = 0; i < n; i++) {
        const struct headwise_token *token = &tokens->at[first + i];
        cache->tokens[cache->n_tokens++] =
            (struct kept){token->id, (uint16_t)(token->begin - begin),
                          (uint16_t)(token->end - begin), token->is_text};
    }
}
