/* project of the neon tier. */
#include "neon/gemm.h"

TILE project_tile(const struct product *p, ptrdiff_t first, int rows, int vecs,
                  enum element element) {
    vec acc[MR * NR_VECS];
    float *c = p->c + first * p->c_stride;
    accumulate(acc, p->resume ? c : zeros, p->resume ? p->c_stride : 0, p, first, rows, vecs,
               element);
    end_projection(acc, p, first, rows, vecs, element);
}

DEFINE_PROJECT(TIER(headwise_project_f32), F32, for_each_panel(&p, m, n, project_tile, F32))
DEFINE_PROJECT(TIER(headwise_project_f16), F16, for_each_panel(&p, m, n, project_tile, F16))
DEFINE_PROJECT(TIER(headwise_project_bf16), BF16, for_each_panel(&p, m, n, project_tile, BF16))
DEFINE_PROJECT(TIER(headwise_project_i8), I8, for_each_panel(&p, m, n, project_tile, I8))
