/* Random calls from several threads at once, serial, by OpenMP, by one pool and stopped half-way,
 * on tensors and caches: the bits are those of one thread, and memory stays flat.
 * HEADWISE_SOAK_SECONDS says for how long; 2 without it. */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "counting.h"
#include "headwise/headwise.h"
#include "rng.h"
#include "runner.h"

enum { CALLERS = 3, WAYS = 4, MOST_ROWS = 60, MOST_KEYS = 600, HEADS = 4, DIM = 16 };
enum way { SERIAL, OPENMP, POOL, STOPPED };

struct soak {
    enum headwise_isa isa;
    headwise_pool *pool;
    struct counting counting;
    double seconds;
    _Atomic long n_calls, n_cancelled, n_wrong;
    _Atomic uint64_t hash; /* of all right results, in any order */
};

struct caller {
    struct soak *soak;
    uint64_t stream;
    headwise_context *contexts[WAYS];
    headwise_cache *cache;
    _Atomic int stop; /* what STOPPED's calls ask */
    float q[MOST_ROWS * HEADS * DIM], k[MOST_KEYS * HEADS * DIM], v[MOST_KEYS * HEADS * DIM];
    float y[MOST_ROWS * HEADS * DIM];
};

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static long resident_bytes(void) {
    long pages = 0;
    FILE *stream = fopen("/proc/self/statm", "r");
    if (stream && fscanf(stream, "%*s %ld", &pages) != 1)
        pages = 0;
    if (stream)
        fclose(stream);
    return pages * sysconf(_SC_PAGESIZE);
}

static uint64_t hash_of(const float *x, size_t n) {
    const unsigned char *bytes = (const unsigned char *)x;
    uint64_t hash = 0xcbf29ce484222325u; /* FNV-1a */
    for (size_t i = 0; i < n * sizeof *x; i++)
        hash = (hash ^ bytes[i]) * 0x100000001b3u;
    return hash;
}

static bool asks_to_stop(void *user) {
    _Atomic int *left = user;
    return atomic_fetch_sub(left, 1) == 0;
}

static bool make_contexts(struct caller *caller) {
    struct soak *soak = caller->soak;
    for (int way = 0; way < WAYS; way++) {
        struct headwise_context_options options = {.size = sizeof options,
                                                   .isa = soak->isa,
                                                   .n_threads = way == SERIAL ? 1 : 2,
                                                   .allocator =
                                                       counting_allocator(&soak->counting)};
        options.pool = way == POOL || way == STOPPED ? soak->pool : NULL;
        if (way == STOPPED) {
            options.cancelled = asks_to_stop;
            options.cancel_user = &caller->stop;
        }
        if (headwise_context_create(&caller->contexts[way], &options))
            return false;
    }
    const struct headwise_cache_config config = {.size = sizeof config,
                                                 .n_sequences = 1,
                                                 .n_kv_heads = HEADS,
                                                 .head_dim = DIM,
                                                 .capacity = MOST_KEYS,
                                                 .dtype = HEADWISE_F32};
    return !headwise_cache_create(&caller->cache, caller->contexts[SERIAL], &config);
}

/* The call one way; what it gives, or 0 where it was stopped. */
static uint64_t run(struct caller *caller, const struct headwise_attention_call *call, enum way way,
                    size_t n) {
    struct soak *soak = caller->soak;
    memset(caller->y, 0, sizeof caller->y);
    enum headwise_status status = headwise_attention(caller->contexts[way], call);
    atomic_fetch_add(&soak->n_calls, 1);
    if (status == HEADWISE_ERR_CANCELLED && way == STOPPED) {
        atomic_fetch_add(&soak->n_cancelled, 1);
        return 0;
    }
    if (status)
        atomic_fetch_add(&soak->n_wrong, 1);
    return hash_of(caller->y, n);
}

/* Keys go into the cache in two chunks, one of which may be stopped: then its length stays. */
static void fill_cache(struct caller *caller, struct test_rng *rng, int64_t n_keys) {
    int64_t cut = test_rng_below(rng, n_keys + 1), at = 0;
    bool failed = headwise_cache_truncate(caller->cache, 0, 0) != HEADWISE_OK;
    while (at < n_keys) {
        int64_t n = at < cut ? cut - at : n_keys - at;
        struct headwise_tensor k =
            headwise_tensor_brhc(caller->k + at * HEADS * DIM, HEADWISE_F32, 1, n, HEADS, DIM);
        struct headwise_tensor v =
            headwise_tensor_brhc(caller->v + at * HEADS * DIM, HEADWISE_F32, 1, n, HEADS, DIM);
        struct headwise_attention_call call = {
            .size = sizeof call, .cache = caller->cache, .k = &k, .v = &v};
        caller->stop = (int)test_rng_below(rng, 4);
        enum headwise_status status = headwise_cache_append(caller->contexts[STOPPED], &call);
        if (status == HEADWISE_ERR_CANCELLED) {
            failed |= headwise_cache_length(caller->cache, 0) != at;
            status = headwise_cache_append(caller->contexts[POOL], &call);
        }
        failed |= status != HEADWISE_OK;
        at += n;
    }
    if (failed)
        atomic_fetch_add(&caller->soak->n_wrong, 1);
}

/* One random call on tensors, all ways, and over a cache. */
static void try_one(struct caller *caller, struct test_rng *rng) {
    int64_t n_keys = 1 + test_rng_below(rng, MOST_KEYS);
    int64_t rows = 1 + test_rng_below(rng, n_keys < MOST_ROWS ? n_keys : MOST_ROWS);
    int64_t offset = n_keys - rows;
    size_t n = (size_t)(rows * HEADS * DIM);
    test_rng_fill(rng, caller->q, n, 1.0f);
    test_rng_fill(rng, caller->k, (size_t)(n_keys * HEADS * DIM), 1.0f);
    test_rng_fill(rng, caller->v, (size_t)(n_keys * HEADS * DIM), 1.0f);
    struct headwise_tensor q = headwise_tensor_brhc(caller->q, HEADWISE_F32, 1, rows, HEADS, DIM);
    struct headwise_tensor y = headwise_tensor_brhc(caller->y, HEADWISE_F32, 1, rows, HEADS, DIM);
    struct headwise_tensor k = headwise_tensor_brhc(caller->k, HEADWISE_F32, 1, n_keys, HEADS, DIM);
    struct headwise_tensor v = headwise_tensor_brhc(caller->v, HEADWISE_F32, 1, n_keys, HEADS, DIM);
    struct headwise_attention_options options = {.size = sizeof options,
                                                 .causal = HEADWISE_CAUSAL_TOP_LEFT,
                                                 .window_is_set = test_rng_below(rng, 2) == 1,
                                                 .window_left = test_rng_below(rng, MOST_KEYS),
                                                 .window_right = 0};
    struct headwise_attention_call dense = {.size = sizeof dense,
                                            .y = &y,
                                            .q = &q,
                                            .k = &k,
                                            .v = &v,
                                            .options = &options,
                                            .query_offsets = &offset};
    struct headwise_attention_call cached = {
        .size = sizeof cached, .y = &y, .q = &q, .cache = caller->cache, .options = &options};
    uint64_t want = run(caller, &dense, SERIAL, n);
    fill_cache(caller, rng, n_keys);
    for (int way = 0; way < WAYS; way++) {
        caller->stop = (int)test_rng_below(rng, 8);
        uint64_t got = run(caller, &dense, way, n), again = run(caller, &cached, way, n);
        if ((got != want && (got || way != STOPPED)) ||
            (again != want && (again || way != STOPPED)))
            atomic_fetch_add(&caller->soak->n_wrong, 1);
    }
    atomic_fetch_add(&caller->soak->hash, want);
}

static void *work(void *argument) {
    struct caller *caller = argument;
    struct soak *soak = caller->soak;
    struct test_rng rng = test_rng_make(caller->stream);
    double end = now() + soak->seconds;
    if (!make_contexts(caller))
        atomic_fetch_add(&soak->n_wrong, 1);
    else
        do
            try_one(caller, &rng);
        while (now() < end);
    headwise_cache_destroy(caller->cache);
    for (int way = 0; way < WAYS; way++)
        headwise_context_destroy(caller->contexts[way]);
    return NULL;
}

/* All callers for some time, each with new contexts. */
static void run_callers(struct soak *soak, uint64_t stream, double seconds) {
    pthread_t threads[CALLERS];
    struct caller *callers = calloc(CALLERS, sizeof *callers);
    assert_non_null(callers);
    soak->seconds = seconds;
    for (int i = 0; i < CALLERS; i++) {
        callers[i].soak = soak;
        callers[i].stream = stream + (uint64_t)i;
        assert_int_equal(pthread_create(&threads[i], NULL, work, &callers[i]), 0);
    }
    for (int i = 0; i < CALLERS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    free(callers);
}

static void stays_right_and_flat(enum headwise_isa isa) {
    enum { ROUNDS = 4 };
    const char *text = getenv("HEADWISE_SOAK_SECONDS");
    double seconds = text ? atof(text) : 2;
    struct soak soak = {.isa = isa, .counting = COUNTING_UNLIMITED};
    struct headwise_pool_options options = {.size = sizeof options, .n_threads = 3};
    long resident[ROUNDS];
    assert_int_equal(headwise_pool_create(&soak.pool, &options), HEADWISE_OK);
    for (int i = 0; i < ROUNDS; i++) {
        run_callers(&soak, 900 + 10 * (uint64_t)i, seconds / ROUNDS);
        counting_expect_balanced(&soak.counting);
        resident[i] = resident_bytes();
    }
    headwise_pool_destroy(soak.pool);
    print_message(
        "soak: %.0f s, %ld calls, %ld stopped, hash %016llx, resident %.1f MB, then %.1f\n",
        seconds, soak.n_calls, soak.n_cancelled, (unsigned long long)soak.hash,
        (double)resident[1] / 1e6, (double)resident[ROUNDS - 1] / 1e6);
    assert_int_equal(soak.n_wrong, 0);
    assert_true(soak.n_cancelled > 0 && soak.n_calls > soak.n_cancelled);
    /* Teams of OpenMP and heaps of threads that ended may differ by some MB; a call that lost its
     * scratch of 100 KB would lose more in 100 calls. */
    assert_true(resident[ROUNDS - 1] < resident[1] + 32 * 1000000L);
}

int main(void) {
    static const struct test_case cases[] = {TEST_CASE(stays_right_and_flat)};
    return test_run_once(cases, TEST_COUNT(cases));
}
