/* libFuzzer target: any bytes as a saved sequence of a cache. What is taken is given back as it
 * was; what is refused changes nothing. The first byte chooses the cache's type. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "headwise/headwise.h"

enum { CAPACITY = 300 };

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void expect(bool holds) {
    if (!holds)
        abort();
}

static void expect_saves(const headwise_cache *cache, const uint8_t *bytes, size_t size) {
    size_t saved = 0;
    expect(!headwise_cache_saved_bytes(cache, 0, &saved) && saved == size);
    uint8_t *copy = malloc(size);
    expect(copy && !headwise_cache_save(cache, 0, copy, size) && !memcmp(copy, bytes, size));
    free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    static const enum headwise_dtype types[] = {HEADWISE_F32, HEADWISE_F16, HEADWISE_BF16,
                                                HEADWISE_I8};
    if (size < 1)
        return 0;
    headwise_context *context = NULL;
    headwise_cache *cache = NULL;
    struct headwise_context_options options = {.size = sizeof options, .n_threads = 1};
    struct headwise_cache_config config = {.size = sizeof config,
                                           .n_sequences = 1,
                                           .n_kv_heads = 2,
                                           .head_dim = 3,
                                           .value_dim = 2,
                                           .capacity = CAPACITY,
                                           .dtype = types[bytes[0] % 4]};
    expect(!headwise_context_create(&context, &options));
    expect(!headwise_cache_create(&cache, context, &config));
    void *buffer = malloc(size); /* aligned, and exactly as long */
    expect(buffer != NULL);
    memcpy(buffer, bytes + 1, size - 1);
    enum headwise_status status = headwise_cache_load(cache, 0, buffer, size - 1);
    if (status) {
        expect(headwise_last_error()[0] != '\0' && headwise_cache_length(cache, 0) == 0);
    } else {
        expect(headwise_cache_length(cache, 0) <= CAPACITY);
        expect_saves(cache, buffer, size - 1);
    }
    free(buffer);
    headwise_cache_destroy(cache);
    headwise_context_destroy(context);
    return 0;
}
