/* One call on keys in tensors, on keys in a cache, and on sequences packed one after another. */
#include <headwise/headwise.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 8, HEADS = 2, HEAD_DIM = 4, WIDTH = HEADS * HEAD_DIM };

static void check(enum headwise_status status) {
    if (status == HEADWISE_OK)
        return;
    fprintf(stderr, "%s\n", headwise_last_error());
    exit(1);
}

/* Fails unless the first rows of both are the same bits. */
static void compare(const float *y, const float *whole, size_t rows) {
    if (memcmp(y, whole, rows * WIDTH * sizeof *y) == 0)
        return;
    fprintf(stderr, "the bits differ\n");
    exit(1);
}

int main(void) {
    float in[ROWS * WIDTH], out[ROWS * WIDTH], whole[ROWS * WIDTH];
    for (int i = 0; i < ROWS * WIDTH; i++)
        in[i] = (float)(i * 37 % 64) / 32 - 1;
    struct headwise_tensor q = headwise_tensor_brhc(in, HEADWISE_F32, 1, ROWS, HEADS, HEAD_DIM);
    struct headwise_tensor k = q, v = q, y = q;
    y.data = out;
    headwise_context *context;
    headwise_cache *cache;
    const struct headwise_cache_config config = {.size = sizeof config,
                                                 .n_sequences = 1,
                                                 .n_kv_heads = HEADS,
                                                 .head_dim = HEAD_DIM,
                                                 .capacity = 1024};
    check(headwise_context_create(&context, NULL));
    check(headwise_cache_create(&cache, context, &config));

    struct headwise_attention_options causal = {sizeof causal, .causal = HEADWISE_CAUSAL_TOP_LEFT};
    struct headwise_attention_call call = {sizeof call, &y, &q, &k, &v, .options = &causal};
    check(headwise_attention(context, &call)); /* keys and values in tensors */
    memcpy(whole, out, sizeof whole);

    const int32_t starts[] = {0, 5, 8}; /* sequences of 5 and 3 rows: cu_seqlens */
    call.n_sequences = 2;
    call.query_starts = starts;
    check(headwise_attention(context, &call)); /* each on its own */
    compare(out, whole, 5);

    call = (struct headwise_attention_call){sizeof call, &y, &q, &k, &v, .options = &causal};
    call.cache = cache;
    check(headwise_cache_append(context, &call)); /* k and v, once */
    call.k = call.v = NULL;
    check(headwise_attention(context, &call)); /* the rows appended last ask all before */
    compare(out, whole, ROWS);

    headwise_cache_destroy(cache);
    headwise_context_destroy(context);
}
