/* values of the neon tier. */
#include "neon/gemm.h"

TILE values_tile(const struct product *p, ptrdiff_t first, int rows, int vecs,
                 enum element element) {
    vec acc[MR * NR_VECS];
    accumulate(acc, zeros, 0, p, first, rows, vecs, element);
    end_values(acc, p, first, rows, vecs);
}

DEFINE_VALUES(TIER(headwise_values_f32), F32, for_each_panel(&p, m, n, values_tile, F32))
DEFINE_VALUES(TIER(headwise_values_f16), F16, for_each_panel(&p, m, n, values_tile, F16))
DEFINE_VALUES(TIER(headwise_values_bf16), BF16, for_each_panel(&p, m, n, values_tile, BF16))
DEFINE_VALUES(TIER(headwise_values_i8), VALUES_I8, for_each_panel(&p, m, n, values_tile, VALUES_I8))
