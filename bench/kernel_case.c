/* Calls one kernel of one tier on data of its own. */
#include "kernel_case.h"

/* The sizes are those that the drivers use: 24 rows against a panel of a block of 256 keys, 96 rows
 * against a slice of 256 inputs, single rows in decoding. */

/* Columns of b in panels of k rows. */
static struct headwise_columns panels_of(const struct headwise_kernels *kernels,
                                         const struct bench_kernel_data *data,
                                         struct bench_sizes s) {
    ptrdiff_t width = s.n < kernels->nr ? s.n : kernels->nr;
    return (struct headwise_columns){
        .data = data->b, .row_stride = width, .panel_stride = width * s.k};
}

static void call_scores(const struct headwise_kernels *kernels,
                        const struct bench_kernel_data *data, struct bench_sizes s) {
    int a_rows = s.m > 1 ? kernels->row_panel : 1;
    const struct headwise_columns b = panels_of(kernels, data, s);
    kernels->scores[HEADWISE_F32](data->c, BENCH_ROW_STRIDE, data->a, BENCH_ROW_STRIDE, a_rows, &b,
                                  s.m, s.n, s.k, 0.125f);
}

static void call_values(const struct headwise_kernels *kernels,
                        const struct bench_kernel_data *data, struct bench_sizes s) {
    const struct headwise_columns b = panels_of(kernels, data, s);
    kernels->values[HEADWISE_F32](data->c, BENCH_ROW_STRIDE, data->a, BENCH_ROW_STRIDE, &b, s.m,
                                  s.n, s.k, data->alpha, data->beta);
}

static void call_project(const struct headwise_kernels *kernels,
                         const struct bench_kernel_data *data, struct bench_sizes s) {
    int a_rows = s.m > 1 ? kernels->row_panel : 1;
    const struct headwise_columns b = panels_of(kernels, data, s);
    kernels->project[HEADWISE_F32](data->c, BENCH_ROW_STRIDE, data->a, BENCH_ROW_STRIDE, a_rows, &b,
                                   s.m, s.n, s.k, false, data->alpha);
}

static void call_pack_rows(const struct headwise_kernels *kernels,
                           const struct bench_kernel_data *data, struct bench_sizes s) {
    kernels->pack_rows(data->c, BENCH_ROW_STRIDE, data->a, BENCH_ROW_STRIDE, s.m, s.k);
}

static void call_pack_transposed(const struct headwise_kernels *kernels,
                                 const struct bench_kernel_data *data, struct bench_sizes s) {
    kernels->pack_transposed(data->b, (int)s.n, data->a, s.k, (int)s.n, s.k);
}

static void call_pack_columns(const struct headwise_kernels *kernels,
                              const struct bench_kernel_data *data, struct bench_sizes s) {
    kernels->pack_columns(data->b, (int)s.n, data->a, 64, (int)s.n, s.k);
}

static void call_softmax(const struct headwise_kernels *kernels,
                         const struct bench_kernel_data *data, struct bench_sizes s) {
    kernels->softmax(data->c, BENCH_ROW_STRIDE, s.m, s.n, data->max, data->sum);
}

static void call_merge(const struct headwise_kernels *kernels, const struct bench_kernel_data *data,
                       struct bench_sizes s) {
    kernels->merge(data->alpha, data->beta, data->max, data->sum, data->a, data->b, s.n);
}

static void call_finish(const struct headwise_kernels *kernels,
                        const struct bench_kernel_data *data, struct bench_sizes s) {
    kernels->finish(data->alpha, data->beta, data->a, data->b, s.n);
}

static void call_factors(const struct headwise_kernels *kernels,
                         const struct bench_kernel_data *data, struct bench_sizes s) {
    kernels->factors(data->c, data->a, 1.0f, 0.5f, s.n);
}

static void call_normalize(const struct headwise_kernels *kernels,
                           const struct bench_kernel_data *data, struct bench_sizes s) {
    kernels->normalize(data->c, data->a, 0.5f, 1.0f, s.n);
}

static void call_softcap(const struct headwise_kernels *kernels,
                         const struct bench_kernel_data *data, struct bench_sizes s) {
    kernels->softcap(data->c, 2.0f, 0.5f, s.n);
}

static void call_alibi(const struct headwise_kernels *kernels, const struct bench_kernel_data *data,
                       struct bench_sizes s) {
    kernels->alibi(data->c, 0.25f, 100.0f, 0, s.n);
}

static void call_add_mask(const struct headwise_kernels *kernels,
                          const struct bench_kernel_data *data, struct bench_sizes s) {
    kernels->add_mask(data->c, data->a, s.n);
}

static void call_hide(const struct headwise_kernels *kernels, const struct bench_kernel_data *data,
                      struct bench_sizes s) {
    kernels->hide(data->c, data->visible, s.n);
}

static void call_add(const struct headwise_kernels *kernels, const struct bench_kernel_data *data,
                     struct bench_sizes s) {
    kernels->add(data->c, data->a, s.n);
}

static void call_rotate_half(const struct headwise_kernels *kernels,
                             const struct bench_kernel_data *data, struct bench_sizes s) {
    kernels->rotate_half(data->c, BENCH_ROW_STRIDE, data->a, BENCH_ROW_STRIDE, data->alpha,
                         data->beta, s.m, s.n);
}

static void call_rotate_interleaved(const struct headwise_kernels *kernels,
                                    const struct bench_kernel_data *data, struct bench_sizes s) {
    kernels->rotate_interleaved(data->c, BENCH_ROW_STRIDE, data->a, BENCH_ROW_STRIDE, data->alpha,
                                data->beta, s.m, s.n);
}

static void call_norm_rms(const struct headwise_kernels *kernels,
                          const struct bench_kernel_data *data, struct bench_sizes s) {
    kernels->norm_rms(data->c, BENCH_ROW_STRIDE, data->a, BENCH_ROW_STRIDE, data->alpha, NULL, s.m,
                      s.n, 1e-6f);
}

static void call_norm_layer(const struct headwise_kernels *kernels,
                            const struct bench_kernel_data *data, struct bench_sizes s) {
    kernels->norm_layer(data->c, BENCH_ROW_STRIDE, data->a, BENCH_ROW_STRIDE, data->alpha,
                        data->beta, s.m, s.n, 1e-6f);
}

static void call_widen_f16(const struct headwise_kernels *kernels,
                           const struct bench_kernel_data *data, struct bench_sizes s) {
    kernels->widen[HEADWISE_F16](data->c, data->half, s.n);
}

static void call_widen_bf16(const struct headwise_kernels *kernels,
                            const struct bench_kernel_data *data, struct bench_sizes s) {
    kernels->widen[HEADWISE_BF16](data->c, data->half, s.n);
}

static void call_narrow_f16(const struct headwise_kernels *kernels,
                            const struct bench_kernel_data *data, struct bench_sizes s) {
    kernels->narrow[HEADWISE_F16](data->half, data->a, s.n);
}

static void call_narrow_bf16(const struct headwise_kernels *kernels,
                             const struct bench_kernel_data *data, struct bench_sizes s) {
    kernels->narrow[HEADWISE_BF16](data->half, data->a, s.n);
}

/* clang-format off */
const struct bench_kernel bench_kernel_list[] = {
    {"scores", {24, 0, 64}, call_scores, 2, {4, 4, 4, 0}, false},
    {"scores", {24, 0, 128}, call_scores, 2, {4, 4, 4, 0}, false},
    {"scores", {1, 0, 128}, call_scores, 2, {4, 4, 4, 0}, false},
    {"values", {24, 0, 256}, call_values, 2, {8, 4, 4, 8}, false},
    {"values", {24, -1, 256}, call_values, 2, {8, 4, 4, 8}, false},
    {"values", {1, 0, 256}, call_values, 2, {8, 4, 4, 8}, false},
    {"project", {96, 0, 256}, call_project, 2, {4, 4, 4, 0}, false},
    {"project", {1, 0, 1024}, call_project, 2, {4, 4, 4, 0}, false},
    {"pack_rows", {24, 1, 256}, call_pack_rows, 0, {8, 0, 0, 0}, false},
    {"pack_transposed", {1, 0, 64}, call_pack_transposed, 0, {0, 0, 8, 0}, false},
    {"pack_transposed", {1, 0, 128}, call_pack_transposed, 0, {0, 0, 8, 0}, false},
    {"pack_columns", {1, 0, 256}, call_pack_columns, 0, {0, 0, 8, 0}, false},
    {"softmax", {24, 256, 1}, call_softmax, 0, {8, 0, 0, 8}, true},
    {"merge", {1, 24, 1}, call_merge, 0, {32, 0, 0, 0}, false},
    {"finish", {1, 24, 1}, call_finish, 0, {16, 0, 0, 0}, false},
    {"factors", {1, 16, 1}, call_factors, 0, {8, 0, 0, 0}, false},
    {"normalize", {1, 64, 1}, call_normalize, 0, {8, 0, 0, 0}, false},
    {"softcap", {1, 4096, 1}, call_softcap, 0, {8, 0, 0, 0}, true},
    {"alibi", {1, 256, 1}, call_alibi, 0, {8, 0, 0, 0}, false},
    {"add_mask", {1, 256, 1}, call_add_mask, 0, {12, 0, 0, 0}, false},
    {"hide", {1, 256, 1}, call_hide, 0, {9, 0, 0, 0}, false},
    {"add", {1, 256, 1}, call_add, 0, {12, 0, 0, 0}, false},
    {"rotate_half", {32, 64, 1}, call_rotate_half, 0, {16, 0, 0, 0}, false},
    {"rotate_interleaved", {32, 64, 1}, call_rotate_interleaved, 0, {16, 0, 0, 0}, false},
    {"norm_rms", {32, 128, 1}, call_norm_rms, 0, {8, 0, 0, 0}, false},
    {"norm_layer", {32, 128, 1}, call_norm_layer, 0, {8, 0, 0, 0}, false},
    {"widen_f16", {1, 4096, 1}, call_widen_f16, 0, {6, 0, 0, 0}, false},
    {"widen_bf16", {1, 4096, 1}, call_widen_bf16, 0, {6, 0, 0, 0}, false},
    {"narrow_f16", {1, 4096, 1}, call_narrow_f16, 0, {6, 0, 0, 0}, false},
    {"narrow_bf16", {1, 4096, 1}, call_narrow_bf16, 0, {6, 0, 0, 0}, false},
};
/* clang-format on */

const int bench_n_kernels = sizeof bench_kernel_list / sizeof *bench_kernel_list;
