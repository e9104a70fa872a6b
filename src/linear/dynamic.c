/* Multiplies rows that are rounded to bytes on the way. */
#include "linear/dynamic.h"

#include <string.h>

#include "base/scratch.h"
#include "kernels/panel.h"

/* Inputs for which the scratch has room with the most rows: 288 rows of them take 594 KB, which
 * stay in the L2 cache beside a panel. Fewer rows take more inputs at once, so that sums stay in
 * registers. */
enum { MOST_ROWS = HEADWISE_MOST_PROJECT_ROWS, MANY_ROWS_INPUTS = 2048, LINE = HEADWISE_DOT_STEP };

/* Bytes of the rounded rows: each a cache line more, for an odd number of lines. */
enum { ROWS_BYTES = MOST_ROWS * (MANY_ROWS_INPUTS + LINE) };

/* Of the rows, or of the groups of the components that there is room for. */
enum { MOST_ROUNDINGS = ROWS_BYTES / LINE };

/* Where the parts of the scratch lie, in floats. */
struct offsets {
    int64_t roundings, bytes, sums, part, total;
};

static struct offsets map_scratch(const struct headwise_kernels *kernels) {
    struct offsets at = {0};
    int64_t rounding_floats = sizeof(struct headwise_rounding) / sizeof(float);
    at.roundings = headwise_take(&at.total, MOST_ROUNDINGS, rounding_floats);
    at.bytes = headwise_take(&at.total, ROWS_BYTES / sizeof(float), 1);
    at.sums = headwise_take(&at.total, kernels->nr, 1);
    at.part = headwise_take(&at.total, MANY_ROWS_INPUTS, 1);
    return at;
}

int64_t headwise_dynamic_floats(const struct headwise_kernels *kernels) {
    return map_scratch(kernels).total;
}

int64_t headwise_dynamic_inputs(const struct headwise_dynamic *dynamic) {
    int64_t lines = ROWS_BYTES / LINE / headwise_max(dynamic->m, 1) - 1;
    int64_t step = headwise_max(dynamic->group, LINE);
    return headwise_min(headwise_round_up(dynamic->n, step), lines * LINE / step * step);
}

/* Bytes from row to row. */
static int64_t row_stride(const struct headwise_dynamic *dynamic) {
    return (headwise_dynamic_inputs(dynamic) / LINE | 1) * LINE;
}

struct parts {
    struct headwise_rounding *roundings;
    uint8_t *bytes;
    float *sums, *part;
};

static struct parts find_parts(const struct headwise_dynamic *dynamic) {
    struct offsets at = map_scratch(dynamic->kernels);
    float *scratch = dynamic->scratch;
    return (struct parts){(struct headwise_rounding *)(void *)(scratch + at.roundings),
                          (uint8_t *)(scratch + at.bytes), scratch + at.sums, scratch + at.part};
}

void headwise_dynamic_end(const struct headwise_dynamic *dynamic) {
    if (dynamic->dot->release)
        dynamic->dot->release(dynamic->state);
}

void headwise_dynamic_begin(const struct headwise_dynamic *dynamic) {
    struct parts parts = find_parts(dynamic);
    if (dynamic->group)
        return;
    dynamic->kernels->measure_rows(parts.roundings, dynamic->x, dynamic->x_stride, dynamic->m,
                                   dynamic->n);
}

/* Measures and rounds k components, group by group; roundings lie group by group too. */
static void round_groups(const struct headwise_dynamic *dynamic, int64_t t, int64_t k) {
    struct parts parts = find_parts(dynamic);
    const struct headwise_kernels *kernels = dynamic->kernels;
    struct headwise_rounding *roundings = parts.roundings;
    for (int64_t at = 0; at < k; at += dynamic->group, roundings += dynamic->m) {
        int64_t n = headwise_min(dynamic->group, k - at);
        const float *x = dynamic->x + t + at;
        kernels->measure_rows(roundings, x, dynamic->x_stride, dynamic->m, n);
        kernels->round_rows(parts.bytes + at, row_stride(dynamic), x, dynamic->x_stride, roundings,
                            dynamic->m, n);
    }
}

void headwise_dynamic_round(const struct headwise_dynamic *dynamic, int64_t t, int64_t k) {
    struct parts parts = find_parts(dynamic);
    if (dynamic->group)
        round_groups(dynamic, t, k);
    else
        dynamic->kernels->round_rows(parts.bytes, row_stride(dynamic), dynamic->x + t,
                                     dynamic->x_stride, parts.roundings, dynamic->m, k);
}

/* k inputs from t on, a multiple of what lies together, of the panel at column c. */
static struct headwise_dot_columns columns_of(const struct headwise_dynamic *dynamic,
                                              const struct headwise_matrix *matrix, int64_t c,
                                              int64_t t, int64_t k) {
    int width = headwise_panel_width(dynamic->kernels, matrix->n, c);
    return (struct headwise_dot_columns){.panel = (const int8_t *)matrix->panels +
                                                  matrix->depth * c + t * width,
                                         .n = width,
                                         .k = k};
}

/* A slice of whole groups: their float sums go on in y. */
static void multiply_groups(const struct headwise_dynamic *dynamic,
                            const struct headwise_matrix_slice *slice, float *y, int64_t y_stride) {
    const struct headwise_matrix *matrix = slice->matrix;
    struct parts parts = find_parts(dynamic);
    int64_t scales = headwise_matrix_scale_at(matrix, slice->t) + slice->c;
    const struct headwise_dot_rows rows = {parts.bytes, row_stride(dynamic), parts.roundings,
                                           dynamic->m,  dynamic->m,          dynamic->state};
    struct headwise_dot_columns columns = columns_of(dynamic, matrix, slice->c, slice->t, slice->k);
    columns.sums = matrix->sums + scales;
    columns.scales = matrix->scales + scales;
    columns.bias = slice->bias;
    columns.adds = slice->t > 0;
    columns.group = matrix->group;
    columns.groups_apart = matrix->padded;
    dynamic->dot->multiply(y, y_stride, &rows, &columns, false);
}

void headwise_dynamic_multiply(const struct headwise_dynamic *dynamic,
                               const struct headwise_matrix_slice *slice, float *y,
                               int64_t y_stride) {
    if (dynamic->group) {
        multiply_groups(dynamic, slice, y, y_stride);
        return;
    }
    const struct headwise_matrix *matrix = slice->matrix;
    struct parts parts = find_parts(dynamic);
    const struct headwise_dot_rows rows = {
        parts.bytes, row_stride(dynamic), parts.roundings, dynamic->m, 0, dynamic->state};
    struct headwise_dot_columns columns = columns_of(dynamic, matrix, slice->c, slice->t, slice->k);
    if (!slice->resume)
        columns.sums = matrix->sums + slice->c;
    if (slice->ends) {
        columns.scales = matrix->scales + slice->c;
        columns.bias = slice->bias;
    }
    dynamic->dot->multiply(y, y_stride, &rows, &columns, slice->resume);
}

/* Inputs that a contribution takes at once: k of a panel from t on, both multiples of what lies
 * together; those outside first ... last - 1 count as zeros. */
struct stretch {
    int64_t t, k, first, last;
};

/* What has the inputs first ... end - 1, or as many of them as there is room for. */
static struct stretch stretch_of(const struct headwise_dynamic *dynamic, int64_t first,
                                 int64_t end) {
    int64_t together = dynamic->dot->together, t = first / together * together;
    int64_t most = headwise_min(headwise_dynamic_inputs(dynamic), MANY_ROWS_INPUTS);
    int64_t last = headwise_min(end, t + most);
    if (dynamic->group)
        last = headwise_min(end, (first / dynamic->group + 1) * dynamic->group);
    return (struct stretch){t, headwise_round_up(last - t, together), first, last};
}

static void round_stretch(const struct headwise_dynamic *dynamic, const struct stretch *stretch) {
    struct parts parts = find_parts(dynamic);
    int64_t stride = row_stride(dynamic), n = stretch->last - stretch->first;
    if (dynamic->group) {
        int64_t begin = stretch->first / dynamic->group * dynamic->group;
        dynamic->kernels->measure_rows(parts.roundings, dynamic->x + begin, dynamic->x_stride,
                                       dynamic->m,
                                       headwise_min(dynamic->group, dynamic->n - begin));
    }
    memset(parts.part, 0, (size_t)stretch->k * sizeof(float));
    for (int64_t i = 0; i < dynamic->m; i++) {
        memcpy(parts.part + stretch->first - stretch->t,
               dynamic->x + i * dynamic->x_stride + stretch->first, (size_t)n * sizeof(float));
        dynamic->kernels->round_rows(parts.bytes + i * stride, stride, parts.part, 0,
                                     parts.roundings + i, 1, stretch->k);
    }
}

/* The sums of a stretch's weights: its product with a row of ones. */
static void sum_weights(const struct headwise_dynamic *dynamic,
                        const struct headwise_dot_columns *columns) {
    struct parts parts = find_parts(dynamic);
    uint8_t *ones = (uint8_t *)parts.part;
    const struct headwise_dot_rows row = {ones, 0, parts.roundings, 1, 0, dynamic->state};
    memset(ones, 1, (size_t)headwise_round_up(columns->k, LINE));
    dynamic->dot->multiply(parts.sums, 0, &row, columns, false);
}

static void multiply_stretch(const struct headwise_dynamic *dynamic,
                             const struct headwise_matrix *matrix, int64_t c,
                             const struct stretch *stretch, float *tile, bool resume, bool ends) {
    bool adds = dynamic->group && resume; /* a group's sums end in each stretch */
    struct parts parts = find_parts(dynamic);
    const struct headwise_dot_rows rows = {
        parts.bytes, row_stride(dynamic), parts.roundings, dynamic->m, 0, dynamic->state};
    struct headwise_dot_columns columns = columns_of(dynamic, matrix, c, stretch->t, stretch->k);
    sum_weights(dynamic, &columns);
    columns.sums = (const int32_t *)(const void *)parts.sums;
    if (ends || dynamic->group)
        columns.scales = matrix->scales + headwise_matrix_scale_at(matrix, stretch->first) + c;
    columns.adds = adds;
    dynamic->dot->multiply(tile, columns.n, &rows, &columns, resume && !dynamic->group);
}

void headwise_dynamic_contribute(const struct headwise_dynamic *dynamic,
                                 const struct headwise_matrix *matrix, int64_t first, int64_t k,
                                 float *tile, float *out) {
    int64_t end = first + k;
    struct stretch stretch = {.k = -1};
    for (int64_t c = 0; c < matrix->n; c += dynamic->kernels->nr) {
        int width = headwise_panel_width(dynamic->kernels, matrix->n, c);
        for (int64_t at = first; at < end; at = stretch.last) {
            const struct stretch next = stretch_of(dynamic, at, end);
            if (next.t != stretch.t || next.k != stretch.k)
                round_stretch(dynamic, &next);
            stretch = next;
            multiply_stretch(dynamic, matrix, c, &stretch, tile, at > first, stretch.last == end);
        }
        for (int64_t r = 0; r < dynamic->m; r++)
            memcpy(out + r * matrix->n + c, tile + r * width,
                   (size_t)headwise_min(width, matrix->n - c) * sizeof(float));
    }
}
