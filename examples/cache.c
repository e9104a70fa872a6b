/* What a cache is for: a prompt in chunks, tokens one by one, a shared prefix, a beam search,
 * drafts taken back, a text without end, a sequence kept in a file. docs/cache.md explains it step
 * by step; a test compares both. */
#include <headwise/headwise.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { D_MODEL = 64, KV_HEADS = 2, HEAD_DIM = 16, PROMPT = 300, BEAMS = 4 };

static headwise_context *context;
static headwise_mha *layer;

static void check(enum headwise_status status) {
    if (status == HEADWISE_OK)
        return;
    fprintf(stderr, "%s\n", headwise_last_error());
    exit(1);
}

static void say(const char *what, bool yes) {
    printf("%s: %s\n", what, yes ? "yes" : "no");
    if (!yes)
        exit(1);
}

/* Numbers in [-scale, scale): weights, and rows in the place of a model's. */
static const float *numbers(float *x, size_t n, float scale) {
    static uint32_t state = 1;
    for (size_t i = 0; i < n; i++) {
        state = state * 1664525u + 1013904223u;
        x[i] = (float)((int32_t)state >> 8) * 0x1p-23f * scale;
    }
    return x;
}

static headwise_cache *new_cache(int64_t n_sequences, int64_t capacity) {
    struct headwise_cache_config config = {
        .size = sizeof config,
        .n_sequences = n_sequences,
        .n_kv_heads = KV_HEADS,
        .head_dim = HEAD_DIM,
        .capacity = capacity, /* keys of each sequence */
        .dtype = HEADWISE_F16,
    };
    headwise_cache *cache;
    check(headwise_cache_create(&cache, context, &config));
    return cache;
}

static const struct headwise_attention_options causal = {.size = sizeof causal,
                                                         .causal = HEADWISE_CAUSAL_BOTTOM_RIGHT};

/* n_rows rows for each of n sequences: their keys are appended, then each row attends. */
static void forward(headwise_cache *cache, int64_t first, int64_t n, int64_t n_rows, float *out,
                    const float *in) {
    struct headwise_tensor x = headwise_tensor_brhc(in, HEADWISE_F32, n, n_rows, 1, D_MODEL);
    struct headwise_tensor y = headwise_tensor_brhc(out, HEADWISE_F32, n, n_rows, 1, D_MODEL);
    struct headwise_attention_call step = {
        .size = sizeof step, .y = &y, .x = &x, .cache = cache, .options = &causal};
    step.first_sequence = first;
    check(headwise_mha_forward(context, layer, &step));
}

static void print_memory(void) {
    struct headwise_cache_config config = {
        .size = sizeof config,
        .n_sequences = 1,
        .n_kv_heads = 8,
        .head_dim = 128,
        .capacity = 32768,
    };
    const enum headwise_dtype types[] = {HEADWISE_F32, HEADWISE_F16, HEADWISE_BF16, HEADWISE_I8};
    size_t bytes;
    for (int i = 0; i < 4; i++) {
        config.dtype = types[i];
        check(headwise_cache_bytes(context, &config, &bytes));
        printf("%-4s  all of 32768 keys  %6.1f MiB\n", headwise_dtype_name(types[i]),
               (double)bytes / 1048576);
    }
    config.dtype = HEADWISE_F16;
    config.window = 4096;
    config.window_first = 4;
    config.capacity = 4 + 4096 + 512 - 1; /* chunks of up to 512 rows */
    check(headwise_cache_bytes(context, &config, &bytes));
    printf("f16   a ring of 4096     %6.1f MiB\n", (double)bytes / 1048576);
}

/* The prompt at once, in chunks of 64, and row by row. */
static void run_prompt(headwise_cache *cache) {
    static float prompt[PROMPT * D_MODEL], whole[PROMPT * D_MODEL], parts[PROMPT * D_MODEL];
    numbers(prompt, PROMPT * D_MODEL, 1);
    forward(cache, 0, 1, PROMPT, whole, prompt);
    for (int64_t at = 0; at < PROMPT; at += 64) {
        int64_t n = PROMPT - at < 64 ? PROMPT - at : 64;
        forward(cache, 1, 1, n, parts + at * D_MODEL, prompt + at * D_MODEL);
    }
    say("chunks give the same bits", memcmp(parts, whole, sizeof whole) == 0);
    for (int64_t at = 0; at < PROMPT; at++)
        forward(cache, 2, 1, 1, parts + at * D_MODEL, prompt + at * D_MODEL);
    say("single rows give the same bits", memcmp(parts, whole, sizeof whole) == 0);
}

/* A step of a server: two requests go on by a row, a third one brings 20 rows of its prompt. */
static void serve(headwise_cache *cache) {
    enum { ROWS = 1 + 20 + 1 };
    static float in[ROWS * D_MODEL], out[ROWS * D_MODEL], alone[D_MODEL];
    struct headwise_tensor x = headwise_tensor_brhc(in, HEADWISE_F32, 1, ROWS, 1, D_MODEL);
    struct headwise_tensor y = headwise_tensor_brhc(out, HEADWISE_F32, 1, ROWS, 1, D_MODEL);
    numbers(in, ROWS * D_MODEL, 1);
    const int64_t requests[] = {1, 3, 2}; /* their places in the cache */
    const int32_t starts[] = {0, 1, 21, 22};
    struct headwise_attention_call step = {
        .size = sizeof step, .y = &y, .x = &x, .cache = cache, .options = &causal};
    step.n_sequences = 3;
    step.query_starts = starts;
    step.cache_sequences = requests;
    check(headwise_mha_forward(context, layer, &step));
    /* Sequence 0 had the same prompt as 1. */
    forward(cache, 0, 1, 1, alone, in);
    say("a row has the bits it has alone", memcmp(out, alone, sizeof alone) == 0);
}

/* All sequences continue the prompt of sequence 0, one row each at a time. */
static void run_beams(headwise_cache *cache) {
    float rows[BEAMS * D_MODEL], out[BEAMS * D_MODEL];
    for (int64_t beam = 1; beam < BEAMS; beam++)
        check(headwise_cache_copy(cache, beam, 0));
    for (int step = 0; step < 10; step++) {
        numbers(rows, BEAMS * D_MODEL, 1);
        forward(cache, 0, BEAMS, 1, out, rows);
        /* Say beams 2 and 0 were the best: two go on from each of them. */
        const int64_t from[BEAMS] = {2, 2, 0, 0};
        check(headwise_cache_reorder(cache, from));
    }
    printf("keys of a beam: %lld\n", (long long)headwise_cache_length(cache, 0));
}

/* Five rows guessed by a smaller model, of which the first two were right. */
static void take_back(headwise_cache *cache) {
    float draft[5 * D_MODEL], out[5 * D_MODEL];
    int64_t length = headwise_cache_length(cache, 0);
    numbers(draft, 5 * D_MODEL, 1);
    forward(cache, 0, 1, 5, out, draft);
    check(headwise_cache_truncate(cache, 0, length + 2));
    printf("keys after the draft: %lld\n", (long long)headwise_cache_length(cache, 0));
}

static void run_without_end(void) {
    struct headwise_cache_config config = {
        .size = sizeof config,
        .n_sequences = 1,
        .n_kv_heads = KV_HEADS,
        .head_dim = HEAD_DIM,
        .window = 100,
        .window_first = 4,
        .capacity = 4 + 100, /* for one row at a time */
    };
    struct headwise_attention_options options = causal;
    options.window_is_set = true;
    options.window_left = 100 - 1; /* and the row's own key */
    options.window_first = 4;
    headwise_cache *ring;
    check(headwise_cache_create(&ring, context, &config));
    for (int step = 0; step < 1000; step++) {
        float row[D_MODEL], out[D_MODEL];
        numbers(row, D_MODEL, 1);
        struct headwise_tensor x = headwise_tensor_brhc(row, HEADWISE_F32, 1, 1, 1, D_MODEL);
        struct headwise_tensor y = headwise_tensor_brhc(out, HEADWISE_F32, 1, 1, 1, D_MODEL);
        struct headwise_attention_call call = {
            .size = sizeof call, .y = &y, .x = &x, .cache = ring, .options = &options};
        check(headwise_mha_forward(context, layer, &call));
    }
    printf("keys of the ring: %lld, held: 0 to 3 and from %lld on\n",
           (long long)headwise_cache_length(ring, 0), (long long)headwise_cache_held_from(ring, 0));
    headwise_cache_destroy(ring);
}

static void save(const headwise_cache *cache, int64_t sequence, FILE *file) {
    size_t bytes;
    check(headwise_cache_saved_bytes(cache, sequence, &bytes));
    void *buffer = malloc(bytes);
    check(headwise_cache_save(cache, sequence, buffer, bytes));
    say("written", fwrite(buffer, 1, bytes, file) == bytes);
    free(buffer);
}

static void load(headwise_cache *cache, int64_t sequence, FILE *file, size_t bytes) {
    void *buffer = malloc(bytes);
    say("read", fread(buffer, 1, bytes, file) == bytes);
    check(headwise_cache_load(cache, sequence, buffer, bytes));
    free(buffer);
}

static void save_and_load(headwise_cache *cache) {
    float row[D_MODEL], one[D_MODEL], other[D_MODEL];
    FILE *file = tmpfile();
    if (!file)
        exit(1);
    save(cache, 0, file);
    long bytes = ftell(file);
    rewind(file);
    load(cache, 3, file, (size_t)bytes);
    fclose(file);
    numbers(row, D_MODEL, 1);
    forward(cache, 0, 1, 1, one, row);
    forward(cache, 3, 1, 1, other, row);
    say("what was loaded goes on with the same bits", memcmp(one, other, sizeof one) == 0);
}

int main(void) {
    static float w_q[D_MODEL * D_MODEL], w_k[KV_HEADS * HEAD_DIM * D_MODEL],
        w_v[KV_HEADS * HEAD_DIM * D_MODEL], w_o[D_MODEL * D_MODEL];
    struct headwise_mha_config config = {
        .size = sizeof config,
        .d_model = D_MODEL,
        .n_heads = D_MODEL / HEAD_DIM,
        .n_kv_heads = KV_HEADS,
        .w_q = numbers(w_q, sizeof w_q / sizeof *w_q, 0.2f),
        .w_k = numbers(w_k, sizeof w_k / sizeof *w_k, 0.2f),
        .w_v = numbers(w_v, sizeof w_v / sizeof *w_v, 0.2f),
        .w_o = numbers(w_o, sizeof w_o / sizeof *w_o, 0.2f),
    };
    check(headwise_context_create(&context, NULL));
    check(headwise_mha_create(&layer, context, &config));
    headwise_cache *cache = new_cache(BEAMS, 1024);
    print_memory();
    run_prompt(cache);
    serve(cache);
    run_beams(cache);
    take_back(cache);
    run_without_end();
    save_and_load(cache);
    headwise_cache_destroy(cache);
    headwise_mha_destroy(layer);
    headwise_context_destroy(context);
}
