/* What a case computes, and what it is called. */
#ifndef BENCH_SHAPE_H
#define BENCH_SHAPE_H

#include <headwise/headwise.h>

/* A call's sizes. The last n_queries of the n_keys positions ask; a layer gets the keys before them
 * as its past. With a cache they are appended before they ask, chunk by chunk, and taken back. */
struct bench_shape {
    const char *kind; /* second word of the name: "prefill", "decode", ... */
    int64_t batch, n_heads, n_kv_heads, n_queries, n_keys, head_dim;
    bool causal;
    int64_t window;                /* keys that a query sees, itself included; 0: no window */
    enum headwise_dtype key_dtype; /* of keys and values; the rest is F32 */
    bool ragged; /* sequences of their own lengths, packed: n_queries and n_keys are the last one's
                  */
    bool cached; /* over a cache that holds the keys before; with a window a ring */
    int64_t chunk; /* cached: rows that are appended and ask at a time; 0: all n_queries */
    bool is_layer; /* four projections of width n_heads * head_dim around it */
    enum headwise_dtype weight_dtype; /* that the layer keeps its weights in */
    bool dynamic;                     /* dynamic_int8 */
};

struct bench_case {
    struct bench_shape shape;
    enum headwise_isa isa;
    int n_threads;
};

/* Of n rows, what sequence b of a ragged shape has: n (b + 1)^2 / B^2, at least one. */
int64_t bench_sequence_rows(const struct bench_shape *shape, int64_t b, int64_t n);

/* The sum of it over all sequences. */
int64_t bench_ragged_rows(const struct bench_shape *shape, int64_t n);

/* Queries of the whole call. */
int64_t bench_queries(const struct bench_shape *shape);

/* family/kind/B:1/H:16/KV:16/S:512/T:512/D:64/causal:0/threads:1/isa:avx512, with /window:256,
 * /dtype:f16, /chunk:64 and /weights:bf16 (or /weights:dynamic) after causal where the shape has
 * them. */
void bench_case_name(char *name, size_t size, const char *family, const struct bench_case *c);

/* Floating point operations: 4 * D for each pair of query and visible key of each head, and 2 for
 * each weight and row of a projection. The exponentials are not counted. */
double bench_attention_flops(const struct bench_shape *shape);
double bench_projection_flops(const struct bench_shape *shape);

/* Bytes that must be read or written once: inputs, visible keys and values, weights, output. */
double bench_bytes(const struct bench_shape *shape);

#endif
