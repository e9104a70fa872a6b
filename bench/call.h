/* A case made ready: context, tensors, layer. */
#ifndef BENCH_CALL_H
#define BENCH_CALL_H

#include "shape.h"

enum { BENCH_CALL_BUFFERS = 10 };

struct bench_call {
    headwise_context *context;
    headwise_mha *mha; /* NULL: the operator */
    struct headwise_attention_options options;
    struct headwise_tensor y, x, k, v; /* x is q where there is no layer */
    struct headwise_tensor past_key, past_value;
    struct headwise_attention_call call; /* of these tensors, where there is no cache */
    headwise_cache *cache;               /* NULL: none */
    int64_t chunk;                       /* rows at a time with a cache */
    void *buffers[BENCH_CALL_BUFFERS];
    int n_buffers;
};

/* Fills *call, which bench_call_close() empties. False: *call is empty and *why says why. */
bool bench_call_open(struct bench_call *call, const struct bench_case *c, const char **why);
void bench_call_close(struct bench_call *call);

/* One call of the library. */
enum headwise_status bench_call_run(struct bench_call *call);

#endif
