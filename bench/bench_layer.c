/* The layer: projections around attention, for prompts and for single tokens with a past. */
#include "cases.h"
#include "measure.h"

#define SHAPE(word, b, h, kv, s, t, d)                                                             \
    .kind = word, .batch = b, .n_heads = h, .n_kv_heads = kv, .n_queries = s, .n_keys = t,         \
    .head_dim = d, .is_layer = true

static const struct bench_shape shapes[] = {
    {SHAPE("forward", 1, 12, 12, 512, 512, 64)},
    {SHAPE("forward", 1, 12, 12, 128, 128, 32)},
    {SHAPE("forward", 8, 12, 12, 128, 128, 32)},
    {SHAPE("forward", 1, 1, 1, 512, 512, 64)}, /* as many heads as two threads cannot share */
    {SHAPE("forward", 1, 3, 3, 512, 512, 64)},
    {SHAPE("forward", 1, 8, 8, 512, 512, 64)},
    {SHAPE("forward", 1, 32, 8, 512, 512, 64), .causal = true},
    {SHAPE("token", 1, 4, 4, 1, 129, 64)},
    {SHAPE("token", 1, 12, 12, 1, 513, 64)},
    {SHAPE("token", 1, 32, 8, 1, 1025, 64)},
    {SHAPE("token", 8, 12, 12, 1, 513, 64)},
    {SHAPE("token", 1, 32, 32, 1, 1, 64)}, /* reading weights and nothing else */
    {SHAPE("token", 1, 32, 32, 1, 1, 64), .weight_dtype = HEADWISE_F16},
    {SHAPE("token", 1, 32, 32, 1, 1, 64), .weight_dtype = HEADWISE_BF16},
    {SHAPE("token", 1, 32, 32, 1, 1, 64), .weight_dtype = HEADWISE_I8},
    {SHAPE("token", 1, 32, 32, 1, 1, 64), .weight_dtype = HEADWISE_I8, .dynamic = true},
    {SHAPE("forward", 1, 32, 32, 256, 256, 64)},
    {SHAPE("forward", 1, 32, 32, 256, 256, 64), .weight_dtype = HEADWISE_BF16},
    {SHAPE("forward", 1, 32, 32, 256, 256, 64), .weight_dtype = HEADWISE_I8, .dynamic = true},
};

int main(int argc, char **argv) {
    bench_add_shapes("layer", shapes, sizeof shapes / sizeof *shapes, bench_measure_call);
    int status = bench_main(argc, argv);
    bench_measure_end();
    return status;
}
