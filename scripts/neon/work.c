/* What scripts/neon_report.sh counts instructions of: one shape, computed some times on one thread.
 *   work operator|cache|f16-cache REPETITIONS HEADS QUERIES KEYS HEAD_DIM
 * operator: headwise_attention(); cache: the same call on keys appended before. */
#include <headwise/headwise.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void require(enum headwise_status status, const char *what) {
    if (status == HEADWISE_OK)
        return;
    fprintf(stderr, "work: %s: %s\n", what, headwise_status_name(status));
    exit(1);
}

static struct headwise_tensor random_tensor(int64_t heads, int64_t rows, int64_t head_dim) {
    static uint32_t state = 1;
    float *data = malloc((size_t)(heads * rows * head_dim) * sizeof *data);
    if (!data) {
        fprintf(stderr, "work: out of memory\n");
        exit(1);
    }
    for (int64_t i = 0; i < heads * rows * head_dim; i++) {
        state = state * 1664525u + 1013904223u;
        data[i] = (float)(state >> 8) / 8388608.0f - 1.0f;
    }
    return headwise_tensor_bhrc(data, HEADWISE_F32, 1, heads, rows, head_dim);
}

static headwise_cache *fill_cache(headwise_context *context, enum headwise_dtype dtype,
                                  const struct headwise_tensor *k,
                                  const struct headwise_tensor *v) {
    struct headwise_cache_config config = {.size = sizeof config,
                                           .n_sequences = 1,
                                           .n_kv_heads = k->size[1],
                                           .head_dim = k->size[3],
                                           .capacity = k->size[2],
                                           .dtype = dtype};
    headwise_cache *cache;
    require(headwise_cache_create(&cache, context, &config), "cache");
    const struct headwise_attention_call rows = {
        .size = sizeof rows, .k = k, .v = v, .cache = cache};
    require(headwise_cache_append(context, &rows), "append");
    return cache;
}

int main(int argc, char **argv) {
    if (argc != 7) {
        fprintf(stderr,
                "usage: work operator|cache|f16-cache REPETITIONS HEADS QUERIES KEYS DIM\n");
        return 2;
    }
    int64_t repetitions = atoll(argv[2]), heads = atoll(argv[3]), head_dim = atoll(argv[6]);
    struct headwise_context_options options = {.size = sizeof options, .n_threads = 1};
    headwise_context *context;
    require(headwise_context_create(&context, &options), "context");
    struct headwise_tensor q = random_tensor(heads, atoll(argv[4]), head_dim), y = q;
    struct headwise_tensor k = random_tensor(heads, atoll(argv[5]), head_dim);
    struct headwise_tensor v = random_tensor(heads, atoll(argv[5]), head_dim);
    y.data = random_tensor(heads, atoll(argv[4]), head_dim).data;
    headwise_cache *cache = NULL;
    if (strcmp(argv[1], "operator") != 0)
        cache = fill_cache(context, argv[1][0] == 'f' ? HEADWISE_F16 : HEADWISE_F32, &k, &v);
    const struct headwise_attention_call call = {.size = sizeof call,
                                                 .y = &y,
                                                 .q = &q,
                                                 .k = cache ? NULL : &k,
                                                 .v = cache ? NULL : &v,
                                                 .cache = cache};
    for (int64_t i = 0; i < repetitions; i++)
        require(headwise_attention(context, &call), "attention");
    printf("%s\n", headwise_isa_name(headwise_context_describe(context)->isa));
    headwise_cache_destroy(cache);
    headwise_context_destroy(context);
    free(q.data);
    free(k.data);
    free(v.data);
    free(y.data);
    return 0;
}
