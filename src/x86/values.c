/* values of the x86 tiers. */
#include "x86/gemm.h"

TILE values_tile(const struct product *p, ptrdiff_t first, int rows, int vecs, enum element element,
                 enum form form) {
    vec acc[2 * MR];
    UNROLLED
    for (int i = 0; i < rows * vecs; i++)
        acc[i] = broadcast(0.0f);
    accumulate(acc, p, first, rows, vecs, element, form);
    end_values(acc, p, first, rows, vecs);
}

COLUMNS values_f32(const struct product *p, ptrdiff_t m, int n) {
    for_each_tile(p, m, n, values_tile, F32);
}

DEFINE_DIRECT(values_in_place, values_tile, F32_ROWS)
DEFINE_DIRECT(values_f16, values_tile, F16)
DEFINE_DIRECT(values_bf16, values_tile, BF16)
DEFINE_DIRECT(values_i8, values_tile, VALUES_I8)

DEFINE_VALUES(TIER(headwise_values_f32), F32,
              if (b->row_stride == (n < NR ? n : NR))
                  for_each_panel(&p, m, n, values_f32, F32, ROWS);
              else for_each_panel(&p, m, n, values_in_place, F32_ROWS, ROWS))
DEFINE_VALUES(TIER(headwise_values_f16), F16, for_each_panel(&p, m, n, values_f16, F16, ROWS))
DEFINE_VALUES(TIER(headwise_values_bf16), BF16, for_each_panel(&p, m, n, values_bf16, BF16, ROWS))
DEFINE_VALUES(TIER(headwise_values_i8), VALUES_I8,
              for_each_panel(&p, m, n, values_i8, VALUES_I8, ROWS))
