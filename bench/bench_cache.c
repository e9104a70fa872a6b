/* Caches: decoding from each type, prompts in chunks, a ring, layers. Appending is part of it. */
#include "cases.h"
#include "measure.h"

#define SHAPE(word, b, h, kv, s, t, d)                                                             \
    .kind = word, .batch = b, .n_heads = h, .n_kv_heads = kv, .n_queries = s, .n_keys = t,         \
    .head_dim = d, .causal = true, .cached = true

static const struct bench_shape shapes[] = {
    {SHAPE("decode", 1, 32, 8, 1, 4096, 128), .key_dtype = HEADWISE_F32},
    {SHAPE("decode", 1, 32, 8, 1, 4096, 128), .key_dtype = HEADWISE_F16},
    {SHAPE("decode", 1, 32, 8, 1, 4096, 128), .key_dtype = HEADWISE_BF16},
    {SHAPE("decode", 1, 32, 8, 1, 4096, 128), .key_dtype = HEADWISE_I8},
    {SHAPE("decode", 8, 32, 8, 1, 1024, 128), .key_dtype = HEADWISE_F32},
    {SHAPE("decode", 8, 32, 8, 1, 1024, 128), .key_dtype = HEADWISE_F16},
    {SHAPE("decode", 8, 32, 8, 1, 1024, 128), .key_dtype = HEADWISE_I8},
    {SHAPE("ring", 1, 32, 8, 1, 16384, 128), .key_dtype = HEADWISE_F16, .window = 1024},
    {SHAPE("prefill", 1, 32, 8, 2048, 2048, 128), .chunk = 2048},
    {SHAPE("prefill", 1, 32, 8, 2048, 2048, 128), .chunk = 512},
    {SHAPE("prefill", 1, 32, 8, 2048, 2048, 128), .chunk = 64},
    {SHAPE("prefill", 1, 32, 8, 2048, 2048, 128), .chunk = 512, .key_dtype = HEADWISE_F16},
    {SHAPE("prefill", 1, 32, 8, 2048, 2048, 128), .chunk = 512, .key_dtype = HEADWISE_I8},
    {SHAPE("token", 1, 32, 8, 1, 1025, 64), .is_layer = true, .key_dtype = HEADWISE_F32},
    {SHAPE("token", 1, 32, 8, 1, 1025, 64), .is_layer = true, .key_dtype = HEADWISE_F16},
    {SHAPE("token", 1, 32, 8, 1, 1025, 64), .is_layer = true, .key_dtype = HEADWISE_I8},
};

int main(int argc, char **argv) {
    bench_add_shapes("cache", shapes, sizeof shapes / sizeof *shapes, bench_measure_call);
    int status = bench_main(argc, argv);
    bench_measure_end();
    return status;
}
