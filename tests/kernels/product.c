/* Calls a kernel that multiplies rows by panels, and compares it with exact arithmetic. */
#include "product.h"

#include <math.h>

#include "guard.h"

/* Three panels, then seven: tiers go through one, two or four at once. */
static ptrdiff_t next_width(const struct headwise_kernels *kernels, ptrdiff_t n) {
    return n + (n < kernels->nr ? kernels->nr_min : n == kernels->nr ? 2 * n : 4 * kernels->nr);
}

struct product product_make(struct test_rng *rng, const struct headwise_kernels *kernels,
                            ptrdiff_t m, ptrdiff_t n, ptrdiff_t k, size_t shift_bytes) {
    ptrdiff_t nr = kernels->nr, width = n < nr ? n : nr, gap = 3;
    struct product p = {.kernels = kernels, .m = m, .n = n, .k = k};
    p.a_stride = k + 3;
    p.a_rows = 1;
    p.c_stride = n + 5;
    p.b_size = (size_t)(n * k + (n > nr ? (n / nr - 1) * gap : 0));
    size_t a_size = m > 0 ? (size_t)((m - 1) * p.a_stride + k) : 0;
    size_t c_size = m > 0 ? (size_t)((m - 1) * p.c_stride + n) : 0;
    p.a = guard_alloc(a_size * sizeof(float), shift_bytes);
    p.b = guard_alloc(p.b_size * sizeof(float), shift_bytes);
    p.columns = (struct headwise_columns){
        .data = p.b, .row_stride = width, .panel_stride = width * k + gap};
    p.c = guard_alloc(c_size * sizeof(float), shift_bytes);
    for (size_t i = 0; i < a_size; i++)
        p.a[i] = NAN;
    for (ptrdiff_t i = 0; i < m; i++)
        test_rng_fill(rng, p.a + i * p.a_stride, (size_t)k, 1);
    for (size_t i = 0; i < p.b_size; i++)
        p.b[i] = NAN;
    for (ptrdiff_t j = 0; j < n; j += width)
        test_rng_fill(rng, p.b + j / width * p.columns.panel_stride, (size_t)(k * width), 1);
    return p;
}

void product_lay_rows(struct product *p, ptrdiff_t row_stride) {
    size_t size = p->k > 0 ? (size_t)((p->k - 1) * row_stride + p->n) : 0;
    float *rows = guard_floats(size);
    for (size_t i = 0; i < size; i++)
        rows[i] = NAN;
    for (ptrdiff_t t = 0; t < p->k; t++)
        for (ptrdiff_t j = 0; j < p->n; j++)
            rows[t * row_stride + j] = p->b[product_b_at(p, t, j)];
    p->b = rows;
    p->b_size = size;
    p->columns = (struct headwise_columns){
        .data = rows, .row_stride = row_stride, .panel_stride = p->kernels->nr};
}

void product_pack_rows(struct product *p) {
    ptrdiff_t rows = p->kernels->row_panel;
    size_t size = p->m > 0 ? (size_t)((p->m - 1) / rows * rows * p->a_stride) +
                                 (size_t)((p->m - (p->m - 1) / rows * rows) * p->k)
                           : 0;
    float *a = guard_floats(size);
    for (size_t i = 0; i < size; i++)
        a[i] = NAN;
    for (ptrdiff_t i = 0; i < p->m; i++) {
        ptrdiff_t first = i / rows * rows, height = p->m - first < rows ? p->m - first : rows;
        for (ptrdiff_t t = 0; t < p->k; t++)
            a[first * p->a_stride + t * height + i - first] = product_a(p, i, t);
    }
    p->a = a;
    p->a_rows = (int)rows;
}

float product_a(const struct product *p, ptrdiff_t i, ptrdiff_t t) {
    ptrdiff_t first = i / p->a_rows * p->a_rows;
    ptrdiff_t height = p->m - first < p->a_rows ? p->m - first : p->a_rows;
    return p->a[first * p->a_stride + t * height + i - first];
}

ptrdiff_t product_b_at(const struct product *p, ptrdiff_t t, ptrdiff_t j) {
    ptrdiff_t nr = p->kernels->nr;
    return j / nr * p->columns.panel_stride + t * p->columns.row_stride + j % nr;
}

double product_exact(const struct product *p, ptrdiff_t i, ptrdiff_t j, double *magnitude) {
    double sum = 0;
    *magnitude = 0;
    for (ptrdiff_t t = 0; t < p->k; t++) {
        double term = (double)product_a(p, i, t) * (double)p->b[product_b_at(p, t, j)];
        sum += term;
        *magnitude += fabs(term);
    }
    return sum;
}

float product_fma(const struct headwise_kernels *kernels, float a, float b, float c) {
    if (kernels->isa == HEADWISE_ISA_SCALAR) {
        float product = a * b;
        return product + c;
    }
    return fmaf(a, b, c);
}

float product_chain(const struct product *p, ptrdiff_t i, ptrdiff_t j, float start) {
    float acc = start;
    for (ptrdiff_t t = 0; t < p->k; t++)
        acc = product_fma(p->kernels, product_a(p, i, t), p->b[product_b_at(p, t, j)], acc);
    return acc;
}

void product_check_gaps(const struct product *p) {
    for (ptrdiff_t i = 0; i + 1 < p->m; i++)
        guard_expect_untouched(p->c + i * p->c_stride + p->n,
                               (size_t)(p->c_stride - p->n) * sizeof(float), "between rows of c");
    guard_check();
}

void product_for_grid(const struct headwise_kernels *kernels, uint64_t stream, const int64_t *ks,
                      size_t n_ks, void (*visit)(struct product *p, struct test_rng *rng)) {
    const ptrdiff_t ms[] = {1, 2, 3, 5, kernels->mr, kernels->mr + 1, 2 * kernels->mr + 1};
    struct test_rng rng = test_rng_make(stream);
    size_t count = 0;
    for (size_t ik = 0; ik < n_ks; ik++)
        for (size_t im = 0; im < sizeof(ms) / sizeof(ms[0]); im++)
            for (ptrdiff_t n = kernels->nr_min; n <= 7 * kernels->nr; n = next_width(kernels, n)) {
                size_t shift_bytes = count++ % 2 * sizeof(float);
                struct product p = product_make(&rng, kernels, ms[im], n, ks[ik], shift_bytes);
                visit(&p, &rng);
                product_check_gaps(&p);
                guard_release();
            }
}
