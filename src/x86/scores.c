/* scores of the x86 tiers. */
#include "x86/gemm.h"

TILE scores_tile(const struct product *p, ptrdiff_t first, int rows, int vecs, enum element element,
                 enum form form) {
    vec acc[2 * MR];
    UNROLLED
    for (int i = 0; i < rows * vecs; i++)
        acc[i] = broadcast(0.0f);
    accumulate(acc, p, first, rows, vecs, element, form);
    end_scores(acc, p, first, rows, vecs);
}

DEFINE_DIRECT(scores_f32, scores_tile, F32)

COLUMNS scores_row_panels(const struct product *p, ptrdiff_t m, int n) {
    for_each_row_panel(p, 0, m, n, scores_tile, F32, PANEL);
}

DEFINE_DIRECT(scores_f16, scores_tile, F16)
DEFINE_DIRECT(scores_bf16, scores_tile, BF16)
DEFINE_DIRECT(scores_i8, scores_tile, KEYS_I8)

DEFINE_SCORES(TIER(headwise_scores_f32), F32,
              if (a_rows > 1) for_each_panel(&p, m, n, scores_row_panels, F32, PANEL);
              else for_each_panel(&p, m, n, scores_f32, F32, ROWS))
DEFINE_SCORES(TIER(headwise_scores_f16), F16, for_each_panel(&p, m, n, scores_f16, F16, ROWS))
DEFINE_SCORES(TIER(headwise_scores_bf16), BF16, for_each_panel(&p, m, n, scores_bf16, BF16, ROWS))
DEFINE_SCORES(TIER(headwise_scores_i8), KEYS_I8, for_each_panel(&p, m, n, scores_i8, KEYS_I8, ROWS))
