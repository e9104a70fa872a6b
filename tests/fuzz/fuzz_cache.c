/* libFuzzer target: any bytes as calls on a cache, beside a plain model of what it must hold. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "draw.h"
#include "headwise/headwise.h"

enum { SEQUENCES = 3, HEADS = 2, DIM = 3, CAPACITY = 560, MOST_ROWS = 300, MOST_STEPS = 40 };

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

/* Each row of a sequence: keys and values of all heads, in the place where they are appended. */
struct plain {
    int64_t length;
    float k[HEADS][CAPACITY][DIM], v[HEADS][CAPACITY][DIM];
};

struct state {
    headwise_context *context;
    headwise_cache *cache;
    struct plain *plain; /* [SEQUENCES] */
    struct draw draw;
};

static void expect(bool holds) {
    if (!holds)
        abort();
}

/* length rows of a sequence of the model from a position on. */
static struct headwise_tensor rows_of(float x[HEADS][CAPACITY][DIM], int64_t position,
                                      int64_t length) {
    return (struct headwise_tensor){.data = x[0][position],
                                    .dtype = HEADWISE_F32,
                                    .size = {1, HEADS, length, DIM},
                                    .stride = {0, CAPACITY * DIM, DIM, 1}};
}

static void append(struct state *s, int64_t sequence) {
    struct plain *p = &s->plain[sequence];
    int64_t n = draw_below(&s->draw, 256) * MOST_ROWS / 255;
    float *k = malloc((size_t)(n * HEADS * DIM + 1) * sizeof *k);
    float *v = malloc((size_t)(n * HEADS * DIM + 1) * sizeof *v);
    expect(k && v);
    draw_fill(&s->draw, k, n * HEADS * DIM);
    draw_fill(&s->draw, v, n * HEADS * DIM);
    struct headwise_tensor k_rows = headwise_tensor_brhc(k, HEADWISE_F32, 1, n, HEADS, DIM);
    struct headwise_tensor v_rows = headwise_tensor_brhc(v, HEADWISE_F32, 1, n, HEADS, DIM);
    struct headwise_attention_call call = {.size = sizeof call,
                                           .cache = s->cache,
                                           .first_sequence = sequence,
                                           .k = &k_rows,
                                           .v = &v_rows};
    enum headwise_status status = headwise_cache_append(s->context, &call);
    expect(status == (p->length + n > CAPACITY ? HEADWISE_ERR_FULL : HEADWISE_OK));
    for (int64_t i = 0; !status && i < n; i++, p->length++) {
        for (int64_t h = 0; h < HEADS; h++) {
            memcpy(p->k[h][p->length], k + (i * HEADS + h) * DIM, DIM * sizeof *k);
            memcpy(p->v[h][p->length], v + (i * HEADS + h) * DIM, DIM * sizeof *v);
        }
    }
    free(k);
    free(v);
}

static void truncate_one(struct state *s, int64_t sequence) {
    struct plain *p = &s->plain[sequence];
    int64_t length = p->length + 8 - draw_below(&s->draw, 256);
    bool is_valid = length >= 0 && length <= p->length;
    expect((headwise_cache_truncate(s->cache, sequence, length) == HEADWISE_OK) == is_valid);
    p->length = is_valid ? length : p->length;
}

static void reorder(struct state *s) {
    int64_t from[SEQUENCES];
    bool is_valid = true;
    struct plain *old = malloc(SEQUENCES * sizeof *old);
    expect(old != NULL);
    memcpy(old, s->plain, SEQUENCES * sizeof *old);
    for (int i = 0; i < SEQUENCES; i++) {
        from[i] = draw_below(&s->draw, SEQUENCES + 1);
        is_valid = is_valid && from[i] < SEQUENCES;
    }
    expect((headwise_cache_reorder(s->cache, from) == HEADWISE_OK) == is_valid);
    for (int i = 0; is_valid && i < SEQUENCES; i++)
        s->plain[i] = old[from[i]];
    free(old);
}

/* Out as bytes and into another sequence. */
static void save_and_load(struct state *s, int64_t from, int64_t to) {
    size_t size = 0;
    expect(!headwise_cache_saved_bytes(s->cache, from, &size));
    char *buffer = malloc(size);
    expect(buffer && !headwise_cache_save(s->cache, from, buffer, size));
    size_t cut = (size_t)draw_below(&s->draw, 4); /* a shortened one is refused */
    expect((headwise_cache_load(s->cache, to, buffer, size - cut) == HEADWISE_OK) == (cut == 0));
    if (cut == 0 && from != to)
        s->plain[to] = s->plain[from];
    free(buffer);
}

static void read(struct state *s, int64_t sequence) {
    static float k[HEADS][CAPACITY][DIM], v[HEADS][CAPACITY][DIM];
    struct plain *p = &s->plain[sequence];
    expect(headwise_cache_length(s->cache, sequence) == p->length);
    expect(headwise_cache_room(s->cache, sequence) == CAPACITY - p->length);
    int64_t begin = draw_below(&s->draw, 256), n = p->length > begin ? p->length - begin : 0;
    struct headwise_tensor k_rows = rows_of(k, 0, n), v_rows = rows_of(v, 0, n);
    if (n == 0)
        return;
    expect(!headwise_cache_read(s->cache, sequence, begin, &k_rows, &v_rows));
    for (int h = 0; h < HEADS; h++) {
        expect(!memcmp(k[h], p->k[h][begin], (size_t)n * sizeof k[h][0]));
        expect(!memcmp(v[h], p->v[h][begin], (size_t)n * sizeof v[h][0]));
    }
}

/* Queries over the cache have the bits of the same call over the model's rows. */
static void attend(struct state *s, int64_t sequence) {
    enum { QUERIES = 2 };
    struct plain *p = &s->plain[sequence];
    float q[QUERIES * HEADS * DIM], y[2][QUERIES * HEADS * DIM];
    int64_t n = p->length < QUERIES ? p->length : QUERIES, offset = p->length - n;
    draw_fill(&s->draw, q, QUERIES * HEADS * DIM);
    memset(y, 0, sizeof y);
    struct headwise_tensor q_rows = headwise_tensor_brhc(q, HEADWISE_F32, 1, n, HEADS, DIM);
    struct headwise_tensor y_rows = headwise_tensor_brhc(y[0], HEADWISE_F32, 1, n, HEADS, DIM);
    struct headwise_tensor z_rows = headwise_tensor_brhc(y[1], HEADWISE_F32, 1, n, HEADS, DIM);
    struct headwise_tensor k = rows_of(p->k, 0, p->length), v = rows_of(p->v, 0, p->length);
    struct headwise_attention_options options = {.size = sizeof options,
                                                 .causal = HEADWISE_CAUSAL_TOP_LEFT};
    struct headwise_attention_call call = {.size = sizeof call,
                                           .y = &y_rows,
                                           .q = &q_rows,
                                           .cache = s->cache,
                                           .first_sequence = sequence,
                                           .options = &options};
    expect(!headwise_attention(s->context, &call));
    struct headwise_attention_call dense = {.size = sizeof dense,
                                            .y = &z_rows,
                                            .q = &q_rows,
                                            .k = &k,
                                            .v = &v,
                                            .options = &options,
                                            .query_offsets = &offset};
    expect(!headwise_attention(s->context, &dense));
    expect(!memcmp(y[0], y[1], sizeof y[0]));
}

static void step(struct state *s) {
    int64_t kind = draw_below(&s->draw, 7), a = draw_below(&s->draw, SEQUENCES);
    int64_t b = draw_below(&s->draw, SEQUENCES);
    switch (kind) {
    case 0:
        append(s, a);
        break;
    case 1:
        truncate_one(s, a);
        break;
    case 2:
        expect(!headwise_cache_copy(s->cache, a, b));
        s->plain[a] = s->plain[b];
        break;
    case 3:
        reorder(s);
        break;
    case 4:
        save_and_load(s, a, b);
        break;
    case 5:
        attend(s, a);
        break;
    default:
        read(s, a);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    struct state s = {.draw = {bytes, size, 1}, .plain = calloc(SEQUENCES, sizeof *s.plain)};
    struct headwise_context_options options = {.size = sizeof options, .n_threads = 1};
    struct headwise_cache_config config = {.size = sizeof config,
                                           .n_sequences = SEQUENCES,
                                           .n_kv_heads = HEADS,
                                           .head_dim = DIM,
                                           .capacity = CAPACITY,
                                           .dtype = HEADWISE_F32};
    expect(s.plain && !headwise_context_create(&s.context, &options));
    expect(!headwise_cache_create(&s.cache, s.context, &config));
    for (int i = 0; s.draw.left > 0 && i < MOST_STEPS; i++)
        step(&s);
    for (int64_t i = 0; i < SEQUENCES; i++)
        read(&s, i);
    headwise_cache_destroy(s.cache);
    headwise_context_destroy(s.context);
    free(s.plain);
    return 0;
}
