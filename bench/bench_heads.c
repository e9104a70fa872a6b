/* What more heads cost: the same width, 1 to 128 heads. */
#include "cases.h"
#include "measure.h"

enum { D_MODEL = 1024, ROWS = 512, MAX_HEADS = 128, COUNTS = 8 };

static void add_sweep(const char *kind, bool is_layer) {
    struct bench_shape shapes[COUNTS];
    int n = 0;
    for (int heads = 1; heads <= MAX_HEADS; heads *= 2)
        shapes[n++] = (struct bench_shape){.kind = kind,
                                           .batch = 1,
                                           .n_heads = heads,
                                           .n_kv_heads = heads,
                                           .n_queries = ROWS,
                                           .n_keys = ROWS,
                                           .head_dim = D_MODEL / heads,
                                           .is_layer = is_layer};
    bench_add_shapes("heads", shapes, (size_t)n, bench_measure_call);
}

int main(int argc, char **argv) {
    add_sweep("layer", true);
    add_sweep("attention", false);
    int status = bench_main(argc, argv);
    bench_measure_end();
    return status;
}
