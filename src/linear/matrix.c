/* Reads packed matrices, and multiplies by them. */
#include "linear/matrix.h"

#include <string.h>

#include "base/alloc.h"
#include "kernels/panel.h"

int64_t headwise_matrix_padded(const struct headwise_kernels *kernels, int64_t n) {
    return headwise_round_up(n, kernels->nr_min);
}

int64_t headwise_matrix_groups(const struct headwise_matrix *matrix) {
    return matrix->group ? headwise_max(headwise_ceil_div(matrix->k, matrix->group), 1) : 1;
}

int64_t headwise_matrix_scale_at(const struct headwise_matrix *matrix, int64_t t) {
    return matrix->group ? t / matrix->group * matrix->padded : 0;
}

void headwise_matrix_destroy(struct headwise_matrix *matrix,
                             const struct headwise_allocator *allocator) {
    headwise_release(allocator, matrix->panels, matrix->panels_bytes);
    headwise_release(allocator, matrix->bias, matrix->bias_bytes);
    headwise_release(allocator, matrix->scales, matrix->scales_bytes);
    headwise_release(allocator, matrix->sums, matrix->scales_bytes);
    *matrix = (struct headwise_matrix){0};
}

/* n elements from number at on as f32, integers as they are. */
static void widen(const struct headwise_matrix *matrix, const struct headwise_kernels *kernels,
                  float *dst, int64_t at, int64_t n) {
    int64_t at_bytes = at * (int64_t)headwise_dtype_size(matrix->dtype);
    kernels->widen[matrix->dtype](dst, (const char *)matrix->panels + at_bytes, n);
}

/* The integer of input t, column c, of a matrix whose inputs are rounded. */
static int8_t integer_of(const struct headwise_matrix *matrix,
                         const struct headwise_kernels *kernels, int64_t t, int64_t c) {
    int64_t first = c / kernels->nr * kernels->nr, together = matrix->together;
    int width = headwise_panel_width(kernels, matrix->n, first);
    const int8_t *panel = (const int8_t *)matrix->panels + matrix->depth * first;
    return panel[(t / together * width + c - first) * together + t % together];
}

void headwise_matrix_row(float *dst, const struct headwise_matrix *matrix,
                         const struct headwise_kernels *kernels, int64_t t) {
    for (int64_t c = 0; matrix->together && c < matrix->n; c++)
        dst[c] = (float)integer_of(matrix, kernels, t, c);
    for (int64_t c = 0; !matrix->together && c < matrix->n; c += kernels->nr) {
        int width = headwise_panel_width(kernels, matrix->n, c);
        widen(matrix, kernels, dst + c, matrix->k * c + t * width,
              headwise_min(width, matrix->n - c));
    }
    for (int64_t j = 0; matrix->scales && j < matrix->n; j++)
        dst[j] *= matrix->scales[headwise_matrix_scale_at(matrix, t) + j];
}

/* The weight of input t, column c, without its scale. */
static float weight_of(const struct headwise_matrix *matrix, const struct headwise_kernels *kernels,
                       int64_t t, int64_t c) {
    if (matrix->together)
        return (float)integer_of(matrix, kernels, t, c);
    int64_t first = c / kernels->nr * kernels->nr;
    int width = headwise_panel_width(kernels, matrix->n, first);
    float weight;
    widen(matrix, kernels, &weight, matrix->k * first + t * width + c - first, 1);
    return weight;
}

void headwise_matrix_unpack(float *dst, const struct headwise_matrix *matrix,
                            const struct headwise_kernels *kernels, enum headwise_layout layout) {
    bool is_out_in = layout == HEADWISE_OUT_IN;
    for (int64_t t = 0; t < matrix->k && !is_out_in; t++)
        headwise_matrix_row(dst + t * matrix->n, matrix, kernels, t);
    for (int64_t c = 0; c < matrix->n && is_out_in; c++) {
        for (int64_t t = 0; t < matrix->k; t++) {
            float weight = weight_of(matrix, kernels, t, c);
            if (matrix->scales)
                weight *= matrix->scales[headwise_matrix_scale_at(matrix, t) + c];
            dst[c * matrix->k + t] = weight;
        }
    }
}

void headwise_matrix_multiply(const struct headwise_matrix_slice *slice,
                              const struct headwise_kernels *kernels, float *y, int64_t y_stride,
                              const struct headwise_matrix_input *input, float *buffer) {
    const struct headwise_matrix *matrix = slice->matrix;
    int64_t width = headwise_min(slice->n, kernels->nr);
    int64_t at = matrix->k * slice->c + slice->t * width;
    const float *scales = slice->ends && matrix->scales ? matrix->scales + slice->c : NULL;
    const float *bias = slice->ends ? slice->bias : NULL;
    struct headwise_columns columns = {.data = (const char *)matrix->panels +
                                               at * (int64_t)headwise_dtype_size(matrix->dtype),
                                       .row_stride = width,
                                       .panel_stride = matrix->k * width,
                                       .scales = scales};
    headwise_project_fn *project = kernels->project[matrix->dtype];
    if (!buffer || matrix->dtype == HEADWISE_F32) {
        project(y, y_stride, input->x, input->stride, input->row_panel, &columns, input->m,
                slice->n, slice->k, slice->resume, bias);
        return;
    }
    const struct headwise_columns wide = {.data = buffer, .row_stride = width};
    widen(matrix, kernels, buffer, at, slice->k * width);
    kernels->project[HEADWISE_F32](y, y_stride, input->x, input->stride, input->row_panel, &wide,
                                   input->m, width, slice->k, slice->resume, scales ? NULL : bias);
    if (scales) /* no inputs more: the end alone */
        project(y, y_stride, input->x, input->stride, 1, &columns, input->m, width, 0, true, bias);
}
