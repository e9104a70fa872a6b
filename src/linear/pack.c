/* Packs weight matrices into panels, in the type they are kept in. */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "kernels/panel.h"
#include "linear/matrix.h"

/* A matrix while it is packed. */
struct packing {
    struct headwise_matrix *matrix;
    const struct headwise_kernels *kernels;
    const struct headwise_matrix_source *source;
    float *rows;      /* narrow weights as f32: k * nr */
    float *panel;     /* a panel as f32 where it is kept narrow: k * nr */
    int8_t *integers; /* of a panel before they are put in order: k * nr, or NULL */
    size_t buffer_bytes, integers_bytes;
};

/* n weights from number at on as f32. */
static const float *weights_f32(const struct packing *packing, int64_t at, int64_t n) {
    const void *weights = packing->source->weights;
    if (packing->source->dtype == HEADWISE_F32)
        return (const float *)weights + at;
    packing->kernels->widen[packing->source->dtype](packing->rows, (const uint16_t *)weights + at,
                                                    n);
    return packing->rows;
}

/* The panel of `width` columns from c on, `columns` of them weights. */
static void pack_f32(const struct packing *packing, float *panel, int64_t c, int width,
                     int columns) {
    const struct headwise_kernels *kernels = packing->kernels;
    int64_t k = packing->matrix->k, n = packing->matrix->n;
    if (packing->source->layout == HEADWISE_OUT_IN) {
        const float *rows = weights_f32(packing, c * k, columns * k);
        kernels->pack_transposed(panel, width, rows, k, columns, k);
        return;
    }
    for (int64_t t = 0; t < k; t++) {
        const float *row = weights_f32(packing, t * n + c, columns);
        kernels->pack_columns(panel + t * width, width, row, 0, columns, 1);
    }
}

static enum headwise_status fail_weight(const struct packing *packing, int64_t t, int64_t column,
                                        float weight) {
    return headwise_fail(HEADWISE_ERR_INVALID,
                         "%s: %s: the weight of input %lld in output %lld is %g, which %s cannot "
                         "hold%s",
                         packing->source->owner, packing->source->name, (long long)t,
                         (long long)column, (double)weight,
                         headwise_dtype_name(packing->matrix->dtype),
                         packing->source->scales ? " with the scale given" : "");
}

/* A finite weight must not become infinite: by its bits, one beyond the largest finite number. */
static enum headwise_status narrow_panel(const struct packing *packing, uint16_t *narrow, int64_t c,
                                         int width) {
    const struct headwise_kernels *kernels = packing->kernels;
    int64_t n = packing->matrix->k * width;
    unsigned infinity = packing->matrix->dtype == HEADWISE_F16 ? 0x7c00 : 0x7f80;
    kernels->narrow[packing->matrix->dtype](narrow, packing->panel, n);
    for (int64_t i = 0; i < n; i++) {
        if ((narrow[i] & 0x7fffu) == infinity && isfinite(packing->panel[i]))
            return fail_weight(packing, i / width, c + i % width, packing->panel[i]);
    }
    return HEADWISE_OK;
}

/* The scale of weights up to `largest`: 1/127 of it, rounded up to 16 significant bits, so that
 * integer * scale is exact, and reading weights back and packing them again changes nothing. Held
 * where products neither vanish nor overflow. */
static float scale_of(float largest) {
    const float most = 0x1.0204p121f, least = 0x1p-126f;
    float scale = largest / 127.0f;
    uint32_t bits;
    memcpy(&bits, &scale, sizeof bits);
    bits = (bits + 0xff) & ~(uint32_t)0xff;
    memcpy(&scale, &bits, sizeof scale);
    return scale < least ? least : scale > most ? most : scale;
}

/* Scales of a panel's columns, given or, in each group, by the largest magnitudes. */
static void scale_panel(const struct packing *packing, float *scales, int64_t c, int width,
                        int columns) {
    const struct headwise_matrix *matrix = packing->matrix;
    if (packing->source->scales) {
        memcpy(scales, packing->source->scales + c, (size_t)columns * sizeof(float));
        return;
    }
    for (int64_t t = 0; t < matrix->k; t++) {
        float *of_group = scales + headwise_matrix_scale_at(matrix, t);
        const float *row = packing->panel + t * width;
        for (int j = 0; j < columns; j++)
            of_group[j] = fabsf(row[j]) > of_group[j] ? fabsf(row[j]) : of_group[j];
    }
    for (int64_t g = 0; g < headwise_matrix_groups(matrix); g++) {
        for (int j = 0; j < columns; j++)
            scales[g * matrix->padded + j] = scale_of(scales[g * matrix->padded + j]);
    }
}

/* scales and integers are zeros before. */
static enum headwise_status quantize_panel(const struct packing *packing, int8_t *integers,
                                           float *scales, int64_t c, int width, int columns) {
    scale_panel(packing, scales, c, width, columns);
    for (int64_t t = 0; t < packing->matrix->k; t++) {
        const float *of_group = scales + headwise_matrix_scale_at(packing->matrix, t);
        for (int j = 0; j < columns; j++) {
            float weight = packing->panel[t * width + j], x = weight / of_group[j];
            if (!(isfinite(weight) && x >= -128.5f && x < 127.5f))
                return fail_weight(packing, t, c + j, weight);
            integers[t * width + j] = (int8_t)lrintf(x);
        }
    }
    return HEADWISE_OK;
}

/* Copies integers and their scales as they are given. */
static void copy_integers(const struct packing *packing, int8_t *integers, float *scales, int64_t c,
                          int width, int columns) {
    const int8_t *weights = packing->source->weights;
    int64_t k = packing->matrix->k, n = packing->matrix->n;
    bool is_out_in = packing->source->layout == HEADWISE_OUT_IN;
    memcpy(scales, packing->source->scales + c, (size_t)columns * sizeof(float));
    for (int64_t t = 0; t < k; t++) {
        for (int j = 0; j < columns; j++)
            integers[t * width + j] = weights[is_out_in ? (c + j) * k + t : t * n + c + j];
    }
}

/* Puts integers into the order that the products of bytes read, and sums each column's. */
static void order_panel(const struct packing *packing, const int8_t *integers, int64_t c,
                        int width) {
    struct headwise_matrix *matrix = packing->matrix;
    int64_t together = matrix->together;
    int8_t *panel = (int8_t *)matrix->panels + matrix->depth * c;
    for (int64_t t = 0; t < matrix->k; t++) {
        int32_t *sums = matrix->sums + headwise_matrix_scale_at(matrix, t) + c;
        for (int j = 0; j < width; j++) {
            panel[(t / together * width + j) * together + t % together] = integers[t * width + j];
            sums[j] += integers[t * width + j];
        }
    }
}

static enum headwise_status pack_integers(const struct packing *packing, int64_t c, int width,
                                          int columns) {
    struct headwise_matrix *matrix = packing->matrix;
    float *scales = matrix->scales + c;
    int8_t *integers =
        packing->integers ? packing->integers : (int8_t *)matrix->panels + matrix->k * c;
    memset(integers, 0, (size_t)(matrix->k * width));
    if (packing->source->dtype == HEADWISE_I8) {
        copy_integers(packing, integers, scales, c, width, columns);
    } else {
        pack_f32(packing, packing->panel, c, width, columns);
        TRY(quantize_panel(packing, integers, scales, c, width, columns));
    }
    if (packing->integers)
        order_panel(packing, integers, c, width);
    return HEADWISE_OK;
}

static enum headwise_status pack_panel(const struct packing *packing, int64_t c) {
    const struct headwise_matrix *matrix = packing->matrix;
    int width = headwise_panel_width(packing->kernels, matrix->n, c);
    int columns = (int)headwise_min(width, matrix->n - c);
    char *panel =
        (char *)matrix->panels + matrix->k * c * (int64_t)headwise_dtype_size(matrix->dtype);
    void *place = panel;
    if (matrix->dtype == HEADWISE_F32) {
        pack_f32(packing, place, c, width, columns);
        return HEADWISE_OK;
    }
    if (matrix->dtype == HEADWISE_I8)
        return pack_integers(packing, c, width, columns);
    pack_f32(packing, packing->panel, c, width, columns);
    return narrow_panel(packing, place, c, width);
}

/* Scales before any panel is packed: 0 in the padding, else one that a layer takes back, which it
 * keeps where there are no inputs: those given, or that of zeros. */
static void fill_scales(struct headwise_matrix *matrix, const struct headwise_matrix_source *source,
                        int64_t n) {
    memset(matrix->scales, 0, matrix->scales_bytes);
    for (int64_t j = 0; matrix->k == 0 && j < n; j++)
        matrix->scales[j] = source->scales ? source->scales[j] : scale_of(0.0f);
}

/* What stands beside the panels before any is packed, and the zeros between their inputs. */
static void fill_columns(struct headwise_matrix *matrix,
                         const struct headwise_matrix_source *source) {
    memset(matrix->bias, 0, matrix->bias_bytes);
    if (source->bias)
        memcpy(matrix->bias, source->bias, (size_t)matrix->n * sizeof(float));
    if (matrix->scales)
        fill_scales(matrix, source, matrix->n);
    if (matrix->sums)
        memset(matrix->sums, 0, matrix->scales_bytes);
    if (matrix->sums && matrix->k > 0)
        memset(matrix->panels, 0, matrix->panels_bytes);
}

/* Memory of the matrix and of packing it. */
static bool allocate(struct packing *packing, const struct headwise_allocator *allocator) {
    struct headwise_matrix *matrix = packing->matrix;
    bool packs = matrix->k > 0 && matrix->n > 0;
    bool is_i8 = matrix->dtype == HEADWISE_I8;
    if (matrix->n > 0)
        matrix->bias = headwise_alloc(allocator, matrix->bias_bytes);
    if (matrix->n > 0 && is_i8)
        matrix->scales = headwise_alloc(allocator, matrix->scales_bytes);
    if (matrix->n > 0 && matrix->together)
        matrix->sums = headwise_alloc(allocator, matrix->scales_bytes);
    if (packs) {
        matrix->panels = headwise_alloc(allocator, matrix->panels_bytes);
        packing->rows = headwise_alloc(allocator, packing->buffer_bytes);
        if (matrix->dtype != HEADWISE_F32)
            packing->panel = headwise_alloc(allocator, packing->buffer_bytes);
        if (matrix->together)
            packing->integers = headwise_alloc(allocator, packing->integers_bytes);
    }
    bool has_columns =
        matrix->bias && (matrix->scales || !is_i8) && (matrix->sums || !matrix->together);
    bool has_panels = matrix->panels && packing->rows &&
                      (packing->panel || matrix->dtype == HEADWISE_F32) &&
                      (packing->integers || !matrix->together);
    return (matrix->n == 0 || has_columns) && (!packs || has_panels);
}

enum headwise_status headwise_matrix_create(struct headwise_matrix *matrix,
                                            const struct headwise_kernels *kernels,
                                            const struct headwise_allocator *allocator,
                                            const struct headwise_matrix_source *source,
                                            enum headwise_dtype dtype, int64_t k, int64_t n) {
    int64_t padded = headwise_matrix_padded(kernels, n);
    int together = source->dynamic ? source->dynamic->together : 0;
    /* What has to be asked for and tested is so now: in a task a caller's 16 KB of stack may be all
     * but full. */
    if (source->dynamic && source->dynamic->is_usable)
        (void)source->dynamic->is_usable();
    int64_t depth = together ? headwise_round_up(k, together) : k;
    *matrix = (struct headwise_matrix){
        .dtype = dtype,
        .together = together,
        .k = k,
        .group = together ? source->group : 0,
        .padded = padded,
        .depth = depth,
        .n = n,
        .panels_bytes = headwise_bytes(padded * depth, headwise_dtype_size(dtype)),
        .bias_bytes = headwise_bytes(padded, sizeof(float)),
    };
    matrix->scales_bytes = headwise_bytes(padded * headwise_matrix_groups(matrix), sizeof(float));
    struct packing packing = {.matrix = matrix,
                              .kernels = kernels,
                              .source = source,
                              .buffer_bytes = headwise_bytes(k * kernels->nr, sizeof(float)),
                              .integers_bytes = headwise_bytes(k * kernels->nr, 1)};
    enum headwise_status status = HEADWISE_OK;
    if (!allocate(&packing, allocator))
        status = headwise_fail(HEADWISE_ERR_NO_MEMORY, "%s: no memory for a %lld x %lld matrix",
                               source->owner, (long long)n, (long long)k);
    if (status == HEADWISE_OK && n > 0)
        fill_columns(matrix, source);
    for (int64_t c = 0; k > 0 && c < n && status == HEADWISE_OK; c += kernels->nr)
        status = pack_panel(&packing, c);
    headwise_release(allocator, packing.rows, packing.buffer_bytes);
    headwise_release(allocator, packing.panel, packing.buffer_bytes);
    headwise_release(allocator, packing.integers, packing.integers_bytes);
    if (status != HEADWISE_OK)
        headwise_matrix_destroy(matrix, allocator);
    return status;
}
