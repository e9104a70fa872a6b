/* Ends rows: residual, sum and norm while a row is in the cache. */
#include "rows/end.h"

#include <string.h>

static float *row_of(const struct headwise_row_view *view, int64_t r) {
    return view->data ? view->data + r * view->stride : NULL;
}

static void copy_row(float *y, const float *x, int64_t n) {
    if (y != x)
        memcpy(y, x, (size_t)n * sizeof *y);
}

/* z = t + residual, where z may be either of them. */
static void add_rows(const struct headwise_row_end *end, float *z, const float *t,
                     const float *residual) {
    if (z == residual) {
        end->kernels->add(z, t, end->n);
        return;
    }
    copy_row(z, t, end->n);
    end->kernels->add(z, residual, end->n);
}

static void norm_first(const struct headwise_row_end *end, float *y, float *t,
                       const float *residual) {
    float *normed = y == residual ? t : y;
    headwise_norm_run(&end->norm, normed, 0, t, 0, 1);
    if (residual)
        add_rows(end, y, normed, residual);
}

static void norm_last(const struct headwise_row_end *end, float *y, float *sum, float *t,
                      const float *residual) {
    float *z = sum ? sum : residual ? y : t;
    if (residual)
        add_rows(end, z, t, residual);
    else
        copy_row(z, t, end->n);
    if (end->norm.kernel)
        headwise_norm_run(&end->norm, y, 0, z, 0, 1);
    else
        copy_row(y, z, end->n);
}

void headwise_row_end_run(const struct headwise_row_end *end, float *t, int64_t t_stride,
                          int64_t first, int64_t m) {
    for (int64_t r = first; r < first + m; r++) {
        float *y = row_of(&end->y, r), *sum = row_of(&end->sum, r);
        const float *residual = row_of(&end->residual, r);
        if (end->norm_first)
            norm_first(end, y, t, residual);
        else
            norm_last(end, y, sum, t, residual);
        t += t_stride;
    }
}

static struct headwise_row_view columns_of(struct headwise_row_view view, int64_t c) {
    return (struct headwise_row_view){view.data ? view.data + c : NULL, view.stride};
}

struct headwise_row_end headwise_row_end_columns(const struct headwise_row_end *end, int64_t c,
                                                 int64_t n) {
    struct headwise_row_end columns = *end;
    columns.n = n;
    columns.residual = columns_of(end->residual, c);
    columns.y = columns_of(end->y, c);
    columns.sum = columns_of(end->sum, c);
    return columns;
}
