/* Measures one case of bench_latency. */
#define _POSIX_C_SOURCE 200809L
#include "latency.h"

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "measure/clock.h"

enum { LAYER_WIDTH = 256, LAYER_HEADS = 4, LAYER_ROWS = 32 };
enum { STEP_WIDTH = 1024, STEP_HEADS = 16, STEP_KV_HEADS = 4, STEP_KEYS = 1024 };
enum { MOST_SAMPLES = 1 << 20, WARM_CALLS = 20, MOST_CALLERS = 64 };

/* What all callers share. */
struct scene {
    const struct latency_case *c;
    headwise_pool *pool;
    headwise_mha *mha;
    pthread_barrier_t start;
    int64_t width, rows;
};

struct caller {
    pthread_t thread;
    struct scene *scene;
    headwise_context *context;
    headwise_cache *cache; /* of a step */
    float *x, *y;
    float *us; /* [MOST_SAMPLES] */
    int n_calls;
    enum headwise_status status;
};

static float *random_floats(size_t n, unsigned seed) {
    float *x = malloc(n * sizeof *x);
    for (size_t i = 0; x && i < n; i++) {
        seed = seed * 1664525u + 1013904223u;
        x[i] = ((float)(seed >> 8) / (float)(1 << 24) - 0.5f) / 16;
    }
    return x;
}

static enum headwise_status make_context(headwise_context **context, const struct scene *scene) {
    const struct latency_case *c = scene->c;
    const struct headwise_context_options options = {
        .size = sizeof options,
        .n_threads = c->threads == LATENCY_SERIAL ? 1 : c->n_threads,
        .pool = scene->pool};
    return headwise_context_create(context, &options);
}

static enum headwise_status make_layer(struct scene *scene) {
    bool step = scene->c->call == LATENCY_STEP;
    scene->width = step ? STEP_WIDTH : LAYER_WIDTH;
    scene->rows = step ? 1 : LAYER_ROWS;
    float *weights = random_floats((size_t)(scene->width * scene->width), 7);
    headwise_context *context = NULL;
    struct headwise_mha_config config = {.size = sizeof config,
                                         .d_model = scene->width,
                                         .n_heads = step ? STEP_HEADS : LAYER_HEADS,
                                         .n_kv_heads = step ? STEP_KV_HEADS : 0,
                                         .w_q = weights,
                                         .w_k = weights,
                                         .w_v = weights,
                                         .w_o = weights};
    enum headwise_status status = weights ? make_context(&context, scene) : HEADWISE_ERR_NO_MEMORY;
    if (status == HEADWISE_OK)
        status = headwise_mha_create(&scene->mha, context, &config);
    headwise_context_destroy(context);
    free(weights);
    return status;
}

/* A cache that holds STEP_KEYS rows. */
static enum headwise_status fill_cache(struct caller *caller) {
    const struct headwise_cache_config config = {.size = sizeof config,
                                                 .n_sequences = 1,
                                                 .n_kv_heads = STEP_KV_HEADS,
                                                 .head_dim = STEP_WIDTH / STEP_HEADS,
                                                 .capacity = STEP_KEYS + 1};
    float *rows = random_floats((size_t)STEP_KEYS * STEP_WIDTH, 9);
    struct headwise_tensor x =
        headwise_tensor_brhc(rows, HEADWISE_F32, 1, STEP_KEYS, 1, STEP_WIDTH);
    enum headwise_status status = rows ? HEADWISE_OK : HEADWISE_ERR_NO_MEMORY;
    if (status == HEADWISE_OK)
        status = headwise_cache_create(&caller->cache, caller->context, &config);
    if (status == HEADWISE_OK)
        status = headwise_mha_append(
            caller->context, caller->scene->mha,
            &(struct headwise_attention_call){.size = sizeof(struct headwise_attention_call),
                                              .memory = &x,
                                              .cache = caller->cache});
    free(rows);
    return status;
}

static enum headwise_status call_once(struct caller *caller) {
    const struct scene *scene = caller->scene;
    struct headwise_tensor x =
        headwise_tensor_brhc(caller->x, HEADWISE_F32, 1, scene->rows, 1, scene->width);
    struct headwise_tensor y =
        headwise_tensor_brhc(caller->y, HEADWISE_F32, 1, scene->rows, 1, scene->width);
    const struct headwise_attention_options options = {.size = sizeof options,
                                                       .causal = HEADWISE_CAUSAL_BOTTOM_RIGHT};
    const struct headwise_attention_call call = {.size = sizeof call,
                                                 .y = &y,
                                                 .x = &x,
                                                 .cache = caller->cache,
                                                 .options = caller->cache ? &options : NULL};
    enum headwise_status status = headwise_mha_forward(caller->context, scene->mha, &call);
    return status == HEADWISE_OK && caller->cache
               ? headwise_cache_truncate(caller->cache, 0, STEP_KEYS)
               : status;
}

static enum headwise_status open_caller(struct caller *caller) {
    const struct scene *scene = caller->scene;
    size_t n = (size_t)(scene->rows * scene->width);
    caller->x = random_floats(n, 5);
    caller->y = malloc(n * sizeof *caller->y);
    caller->us = malloc(MOST_SAMPLES * sizeof *caller->us);
    if (!caller->x || !caller->y || !caller->us)
        return HEADWISE_ERR_NO_MEMORY;
    enum headwise_status status = make_context(&caller->context, scene);
    if (status == HEADWISE_OK && scene->c->call == LATENCY_STEP)
        status = fill_cache(caller);
    for (int i = 0; i < WARM_CALLS && status == HEADWISE_OK; i++)
        status = call_once(caller);
    return status;
}

/* Opens and calls on one thread: OpenMP makes a team for each that calls. */
static void *run_caller(void *arg) {
    struct caller *caller = arg;
    const struct timespec pause = {0, 1000000};
    caller->status = open_caller(caller);
    pthread_barrier_wait(&caller->scene->start);
    double end = seconds_now() + caller->scene->c->seconds;
    while (caller->status == HEADWISE_OK && caller->n_calls < MOST_SAMPLES) {
        double begun = seconds_now();
        if (begun >= end)
            break;
        caller->status = call_once(caller);
        caller->us[caller->n_calls++] = (float)((seconds_now() - begun) * 1e6);
        if (caller->scene->c->paced)
            nanosleep(&pause, NULL);
    }
    pthread_barrier_wait(&caller->scene->start);
    return NULL;
}

static void close_caller(struct caller *caller) {
    headwise_cache_destroy(caller->cache);
    headwise_context_destroy(caller->context);
    free(caller->x);
    free(caller->y);
    free(caller->us);
}

static int by_value(const void *a, const void *b) {
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

static double cpu_seconds(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           1e-6 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

static bool summarise(struct latency *latency, const struct caller *callers, int n, double elapsed,
                      double cpu) {
    size_t total = 0, at = 0;
    for (int i = 0; i < n; i++)
        total += (size_t)callers[i].n_calls;
    float *us = malloc((total + 1) * sizeof *us);
    if (!us || total == 0) {
        free(us);
        return false;
    }
    for (int i = 0; i < n; i++) {
        memcpy(us + at, callers[i].us, (size_t)callers[i].n_calls * sizeof *us);
        at += (size_t)callers[i].n_calls;
    }
    qsort(us, total, sizeof *us, by_value);
    *latency = (struct latency){
        .p50 = (double)us[total / 2],
        .p99 = (double)us[total - 1 - total / 100],
        .p999 = (double)us[total - 1 - total / 1000],
        .calls_per_s = (double)total / elapsed,
        .cores = cpu / elapsed,
    };
    free(us);
    return true;
}

static bool run_callers(struct latency *latency, struct scene *scene, struct caller *callers) {
    int n = scene->c->n_callers;
    bool good = pthread_barrier_init(&scene->start, NULL, (unsigned)n + 1) == 0;
    for (int i = 0; i < n && good; i++) {
        callers[i].scene = scene;
        good = pthread_create(&callers[i].thread, NULL, run_caller, &callers[i]) == 0;
    }
    if (!good) {
        fprintf(stderr, "bench_latency: cannot make %d callers\n", n);
        exit(1);
    }
    pthread_barrier_wait(&scene->start);
    double begun = seconds_now(), cpu = cpu_seconds();
    pthread_barrier_wait(&scene->start);
    double elapsed = seconds_now() - begun;
    cpu = cpu_seconds() - cpu;
    for (int i = 0; i < n; i++) {
        pthread_join(callers[i].thread, NULL);
        good = good && callers[i].status == HEADWISE_OK;
    }
    pthread_barrier_destroy(&scene->start);
    return good && summarise(latency, callers, n, elapsed, cpu);
}

bool latency_measure(struct latency *latency, const struct latency_case *c) {
    struct scene scene = {.c = c};
    static struct caller callers[MOST_CALLERS];
    const struct headwise_pool_options options = {.size = sizeof options,
                                                  .n_threads = c->n_threads};
    memset(callers, 0, sizeof callers);
    enum headwise_status status = HEADWISE_OK;
    if (c->threads == LATENCY_POOL)
        status = headwise_pool_create(&scene.pool, &options);
    if (status == HEADWISE_OK)
        status = make_layer(&scene);
    bool good = status == HEADWISE_OK && run_callers(latency, &scene, callers);
    if (!good)
        fprintf(stderr, "bench_latency: a case failed: %s\n", headwise_last_error());
    for (int i = 0; i < c->n_callers; i++)
        close_caller(&callers[i]);
    headwise_mha_destroy(scene.mha);
    headwise_pool_destroy(scene.pool);
    return good;
}
