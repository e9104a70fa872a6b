/* project of the x86 tiers. */
#include "x86/gemm.h"

TILE project_tile(const struct product *p, ptrdiff_t first, int rows, int vecs,
                  enum element element, enum form form) {
    vec acc[2 * MR];
    float *c = p->c + first * p->c_stride;
    if (p->resume) {
        UNROLLED
        for (int i = 0; i < rows * vecs; i++)
            acc[i] = load(c + i / vecs * p->c_stride + i % vecs * LANES);
    } else {
        UNROLLED
        for (int i = 0; i < rows * vecs; i++)
            acc[i] = broadcast(0.0f);
    }
    accumulate(acc, p, first, rows, vecs, element, form);
    end_projection(acc, p, first, rows, vecs, element);
}

DEFINE_DIRECT(project_f32, project_tile, F32)

/* A function of its own: two full tiles in one cost gcc 8 instructions in each turn of AVX2. */
static __attribute__((noinline)) void project_one_of_few(const struct product *p, ptrdiff_t first) {
    project_tile(p, first, MR, PANEL_VECS, F32, PANEL_CONTINUES_SOON);
}

COLUMNS project_row_panels(const struct product *p, ptrdiff_t m, int n) {
    ptrdiff_t i = 0;
    for (; n == NR && m / MR < TURN_LINES && m - i >= MR; i += MR)
        project_one_of_few(p, i);
    for_each_row_panel(p, i, m, n, project_tile, F32, PANEL_CONTINUES);
}

DEFINE_DIRECT(project_f16, project_tile, F16)
DEFINE_DIRECT(project_bf16, project_tile, BF16)
DEFINE_DIRECT(project_i8, project_tile, I8)

DEFINE_PROJECT(TIER(headwise_project_f32), F32, p.follow_bytes = follow_bytes(m);
               if (a_rows > 1) for_each_panel(&p, m, n, project_row_panels, F32, PANEL);
               else for_each_panel(&p, m, n, project_f32, F32, ROWS))
DEFINE_PROJECT(TIER(headwise_project_f16), F16, for_each_panel(&p, m, n, project_f16, F16, ROWS))
DEFINE_PROJECT(TIER(headwise_project_bf16), BF16,
               for_each_panel(&p, m, n, project_bf16, BF16, ROWS))
DEFINE_PROJECT(TIER(headwise_project_i8), I8, for_each_panel(&p, m, n, project_i8, I8, ROWS))
