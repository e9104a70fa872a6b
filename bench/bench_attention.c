/* The operator: prefill, decoding, grouped heads, windows, ragged batches. */
#include "cases.h"
#include "measure.h"

#define SHAPE(word, b, h, kv, s, t, d)                                                             \
    .kind = word, .batch = b, .n_heads = h, .n_kv_heads = kv, .n_queries = s, .n_keys = t,         \
    .head_dim = d

static const struct bench_shape shapes[] = {
    {SHAPE("prefill", 1, 16, 16, 512, 512, 64)},
    {SHAPE("prefill", 1, 12, 12, 2048, 2048, 64)},
    {SHAPE("prefill", 1, 8, 8, 512, 512, 128)},
    {SHAPE("prefill", 1, 12, 12, 128, 128, 32)},
    {SHAPE("prefill", 8, 12, 12, 128, 128, 64)},
    {SHAPE("prefill", 1, 1, 1, 512, 512, 64)}, /* as many heads as two threads cannot share */
    {SHAPE("prefill", 1, 3, 3, 512, 512, 64)},
    {SHAPE("prefill", 1, 8, 8, 512, 512, 64)},
    {SHAPE("prefill", 1, 12, 12, 512, 512, 64)},
    {SHAPE("prefill", 1, 16, 16, 512, 512, 64), .causal = true},
    {SHAPE("prefill", 1, 32, 8, 2048, 2048, 128), .causal = true},
    {SHAPE("gqa", 1, 32, 8, 512, 512, 128)},
    {SHAPE("gqa", 1, 32, 1, 512, 512, 64)},
    {SHAPE("window", 1, 16, 16, 4096, 4096, 64), .causal = true},
    {SHAPE("window", 1, 16, 16, 4096, 4096, 64), .causal = true, .window = 1024},
    {SHAPE("window", 1, 16, 16, 4096, 4096, 64), .causal = true, .window = 256},
    {SHAPE("chunk", 1, 32, 8, 64, 4096, 128), .causal = true},
    {SHAPE("decode", 1, 32, 8, 1, 4096, 128)},
    {SHAPE("decode", 1, 32, 8, 1, 4096, 128), .key_dtype = HEADWISE_F16},
    {SHAPE("decode", 1, 16, 16, 1, 1024, 64)},
    {SHAPE("decode", 8, 32, 8, 1, 1024, 128)},
    {SHAPE("decode", 1, 4, 4, 1, 128, 64)},
    {SHAPE("ragged", 16, 12, 12, 512, 512, 64), .ragged = true}, /* 2 to 512 tokens */
    {SHAPE("ragged", 64, 12, 12, 64, 64, 64), .ragged = true},
    {SHAPE("ragged", 8, 32, 8, 1, 4096, 128), .ragged = true},
};

int main(int argc, char **argv) {
    bench_add_shapes("attention", shapes, sizeof shapes / sizeof *shapes, bench_measure_call);
    int status = bench_main(argc, argv);
    bench_measure_end();
    return status;
}
