/* Multiplies rows that are rounded to integers on the way. */
#include "linear/dynamic.h"

#include <string.h>

#include "base/scratch.h"
#include "kernels/dot.h"
#include "kernels/panel.h"

/* Rows from which multiplying bytes, for which panels are interleaved, beats f32. */
enum { DOT_ROWS = 8 };

/* Inputs that are rounded at once, for many rows and for few. */
enum { MANY_ROWS_INPUTS = 256, MOST_INPUTS = 1024 };

/* Components of a rounded row: a cache line more than a power of two. */
static int64_t row_stride(int64_t m) {
    return headwise_dynamic_inputs(m) + 64;
}

/* Where the parts of the scratch lie, in floats. */
struct offsets {
    int64_t scales, integers, panel, tile, total;
};

static struct offsets map_scratch(const struct headwise_kernels *kernels) {
    struct offsets at = {0};
    at.scales = headwise_take(&at.total, HEADWISE_DYNAMIC_ROWS, 1);
    at.integers = headwise_take(&at.total, HEADWISE_DYNAMIC_ROWS, MANY_ROWS_INPUTS + 64);
    at.panel = headwise_take(&at.total, MANY_ROWS_INPUTS, kernels->nr);
    at.tile = headwise_take(&at.total, HEADWISE_DYNAMIC_ROWS, kernels->nr);
    return at;
}

int64_t headwise_dynamic_floats(const struct headwise_kernels *kernels) {
    return map_scratch(kernels).total;
}

/* Integers are rows of f32, or of bytes where those are multiplied. */
struct parts {
    float *scales, *integers, *panel, *tile;
};

static struct parts find_parts(const struct headwise_dynamic *dynamic) {
    struct offsets at = map_scratch(dynamic->kernels);
    return (struct parts){dynamic->scratch + at.scales, dynamic->scratch + at.integers,
                          dynamic->scratch + at.panel, dynamic->scratch + at.tile};
}

static const struct headwise_dot *find_dot(const struct headwise_dynamic *dynamic) {
    return dynamic->m < DOT_ROWS ? NULL : dynamic->dot;
}

void headwise_dynamic_begin(const struct headwise_dynamic *dynamic, int64_t n) {
    struct parts parts = find_parts(dynamic);
    for (int64_t i = 0; i < dynamic->m; i++)
        parts.scales[i] = dynamic->kernels->scale_row_i8(dynamic->x + i * dynamic->x_stride, n);
}

/* k integers, up to the next multiple of 8, as bytes from which an offset of 0 or 128 is to be
 * taken.
 */
static void copy_bytes(uint8_t *bytes, const int8_t *integers, uint8_t offset, int64_t k) {
    uint64_t flip = offset * UINT64_C(0x0101010101010101), eight;
    for (int64_t j = 0; j < k; j += 8) {
        memcpy(&eight, integers + j, sizeof eight);
        eight ^= flip;
        memcpy(bytes + j, &eight, sizeof eight);
    }
}

void headwise_dynamic_round(const struct headwise_dynamic *dynamic, int64_t t, int64_t k) {
    const struct headwise_dot *dot = find_dot(dynamic);
    struct parts parts = find_parts(dynamic);
    for (int64_t i = 0; i < dynamic->m; i++) {
        int8_t integers[MOST_INPUTS] = {0};
        uint8_t *bytes = (uint8_t *)parts.integers + i * row_stride(dynamic->m);
        float *floats = parts.integers + i * row_stride(dynamic->m);
        dynamic->kernels->quantize_row_i8(integers, dynamic->x + i * dynamic->x_stride + t,
                                          parts.scales[i], k);
        if (dot)
            copy_bytes(bytes, integers, dot->offset, k);
        for (int64_t j = 0; !dot && j < k; j++)
            floats[j] = (float)integers[j];
    }
}

/* Exact sums in f32, into the tile. */
static void multiply_floats(const struct headwise_dynamic *dynamic, const struct parts *parts,
                            const int8_t *panel, int width, int64_t k) {
    const struct headwise_kernels *kernels = dynamic->kernels;
    int64_t stride = row_stride(dynamic->m);
    const struct headwise_columns wide = {.data = parts->panel, .row_stride = width};
    const struct headwise_columns integers = {.data = panel, .row_stride = width};
    if (k <= MANY_ROWS_INPUTS && dynamic->m > 2 * kernels->mr) {
        kernels->widen[HEADWISE_I8](parts->panel, panel, k * width);
        kernels->project[HEADWISE_F32](parts->tile, width, parts->integers, stride, 1, &wide,
                                       dynamic->m, width, k, false, NULL);
    } else {
        kernels->project[HEADWISE_I8](parts->tile, width, parts->integers, stride, 1, &integers,
                                      dynamic->m, width, k, false, NULL);
    }
}

/* Integers that are done together: a divisor of every width, so that loops over them have a
 * constant count and become vectors. */
enum { TOGETHER = 4 };

/* Exact sums of the tile, added to the integers whose bits y holds. */
static void add_integers(float *y, int64_t y_stride, const float *tile, int64_t m, int width,
                         bool resume) {
    for (int64_t i = 0; i < m; i++) {
        for (int64_t j = 0; j < width; j += TOGETHER) {
            int32_t sums[TOGETHER] = {0};
            if (resume)
                memcpy(sums, y + i * y_stride + j, sizeof sums);
            for (int l = 0; l < TOGETHER; l++)
                sums[l] += (int32_t)tile[i * width + j + l];
            memcpy(y + i * y_stride + j, sums, sizeof sums);
        }
    }
}

static void finish(float *y, int64_t y_stride, const float *row_scales, const float *scales,
                   const float *bias, int64_t m, int width) {
    for (int64_t i = 0; i < m; i++) {
        for (int64_t j = 0; j < width; j += TOGETHER) {
            int32_t sums[TOGETHER];
            float products[TOGETHER];
            memcpy(sums, y + i * y_stride + j, sizeof sums);
            for (int l = 0; l < TOGETHER; l++)
                products[l] = (float)sums[l] * (row_scales[i] * scales[j + l]);
            for (int l = 0; l < TOGETHER && bias; l++)
                products[l] += bias[j + l];
            memcpy(y + i * y_stride + j, products, sizeof products);
        }
    }
}

void headwise_dynamic_multiply(const struct headwise_dynamic *dynamic,
                               const struct headwise_matrix_slice *slice, float *y,
                               int64_t y_stride) {
    const struct headwise_kernels *kernels = dynamic->kernels;
    const struct headwise_matrix *matrix = slice->matrix;
    const struct headwise_dot *dot = find_dot(dynamic);
    int width = headwise_panel_width(kernels, matrix->n, slice->c);
    const int8_t *panel = (const int8_t *)matrix->panels + matrix->k * slice->c + slice->t * width;
    struct parts parts = find_parts(dynamic);
    if (dot) {
        int8_t *quads = (int8_t *)parts.panel;
        dot->interleave(quads, panel, width, slice->k);
        dot->dot(y, y_stride, (const uint8_t *)parts.integers, row_stride(dynamic->m), quads,
                 dynamic->m, width, (slice->k + 3) / 4, slice->resume);
    } else {
        multiply_floats(dynamic, &parts, panel, width, slice->k);
        add_integers(y, y_stride, parts.tile, dynamic->m, width, slice->resume);
    }
    if (slice->ends)
        finish(y, y_stride, parts.scales, matrix->scales + slice->c, slice->bias, dynamic->m,
               width);
}
