/* Linear layers and MLPs with random weights. */
#include "dense.h"

#include <math.h>

#include "cmocka_headers.h"
#include "guard.h"
#include "half.h"

static bool has_integers(enum dense_kind kind) {
    return kind == DENSE_I8 || kind == DENSE_DYNAMIC;
}

static enum headwise_dtype kept_type(enum dense_kind kind) {
    static const enum headwise_dtype types[DENSE_KINDS] = {
        HEADWISE_F32, HEADWISE_F16, HEADWISE_BF16, HEADWISE_I8, HEADWISE_I8, HEADWISE_I8};
    return types[kind];
}

struct dense_matrix dense_make(struct test_rng *rng, enum dense_kind kind,
                               enum headwise_layout layout, int64_t k, int64_t n) {
    struct dense_matrix matrix = {kind, layout, k, n, NULL, NULL, NULL};
    size_t count = (size_t)(k * n);
    matrix.bias = guard_floats((size_t)n);
    test_rng_fill(rng, matrix.bias, (size_t)n, 1);
    if (!has_integers(kind)) {
        matrix.given = guard_floats(count);
        test_rng_fill(rng, matrix.given, count, 1 / sqrtf((float)k));
        return matrix;
    }
    int8_t *integers = guard_alloc(count, 0);
    for (size_t i = 0; i < count; i++)
        integers[i] = (int8_t)(test_rng_below(rng, 256) - 128);
    matrix.given = integers;
    matrix.scales = guard_floats((size_t)n);
    for (int64_t j = 0; j < n; j++)
        matrix.scales[j] = (1.5f + test_rng_float(rng)) / (128 * sqrtf((float)k));
    return matrix;
}

static float given_f32(const struct dense_matrix *matrix, int64_t t, int64_t j) {
    int64_t at = matrix->layout == HEADWISE_OUT_IN ? j * matrix->k + t : t * matrix->n + j;
    return ((const float *)matrix->given)[at];
}

/* The largest magnitude / 127, rounded up to 16 significant bits. */
float dense_group_scale(const struct dense_matrix *matrix, int64_t t, int64_t j) {
    float largest = 0;
    int64_t first = t / DENSE_GROUP * DENSE_GROUP;
    for (int64_t i = first; i < matrix->k && i < first + DENSE_GROUP; i++)
        largest = fmaxf(largest, fabsf(given_f32(matrix, i, j)));
    int exponent;
    double digits = frexp((double)(largest / 127.0f), &exponent);
    return fmaxf(0x1p-126f, (float)ldexp(ceil(ldexp(digits, 16)), exponent - 16));
}

int64_t dense_group_integer(const struct dense_matrix *matrix, int64_t t, int64_t j) {
    return llrintf(given_f32(matrix, t, j) / dense_group_scale(matrix, t, j));
}

double dense_kept(const struct dense_matrix *matrix, int64_t t, int64_t j) {
    int64_t at = matrix->layout == HEADWISE_OUT_IN ? j * matrix->k + t : t * matrix->n + j;
    if (has_integers(matrix->kind))
        return ((const int8_t *)matrix->given)[at];
    double weight = (double)((const float *)matrix->given)[at];
    enum headwise_dtype type = kept_type(matrix->kind);
    return matrix->kind == DENSE_F32 ? weight
                                     : half_to_double(type, half_from_double(type, weight));
}

struct headwise_linear_config dense_config(const struct dense_matrix *matrix) {
    return (struct headwise_linear_config){
        .size = sizeof(struct headwise_linear_config),
        .n_inputs = matrix->k,
        .n_outputs = matrix->n,
        .layout = matrix->layout,
        .weight_dtype = has_integers(matrix->kind) ? HEADWISE_I8 : HEADWISE_F32,
        .weights = matrix->given,
        .bias = matrix->bias,
        .packed_dtype = kept_type(matrix->kind),
        .dynamic_int8 = matrix->kind == DENSE_DYNAMIC || matrix->kind == DENSE_GROUPS,
        .scales = matrix->scales,
        .dynamic_group = matrix->kind == DENSE_GROUPS ? DENSE_GROUP : 0,
    };
}

headwise_linear *dense_create(headwise_context *context, const struct dense_matrix *matrix) {
    headwise_linear *linear = NULL;
    struct headwise_linear_config config = dense_config(matrix);
    if (headwise_linear_create(&linear, context, &config) != HEADWISE_OK)
        fail_msg("%s", headwise_last_error());
    return linear;
}

void dense_run(headwise_context *context, const headwise_linear *linear,
               const struct headwise_linear_call *call) {
    if (headwise_linear_forward(context, linear, call) != HEADWISE_OK)
        fail_msg("%s", headwise_last_error());
}

struct headwise_mlp_config dense_mlp_config(const struct dense_matrix *up,
                                            const struct dense_matrix *gate,
                                            const struct dense_matrix *down,
                                            enum headwise_activation activation) {
    struct headwise_linear_config matrix = dense_config(up);
    return (struct headwise_mlp_config){
        .size = sizeof(struct headwise_mlp_config),
        .d_model = up->k,
        .d_hidden = up->n,
        .d_out = down->n,
        .activation = activation,
        .layout = up->layout,
        .weight_dtype = matrix.weight_dtype,
        .w_up = up->given,
        .w_gate = gate ? gate->given : NULL,
        .w_down = down->given,
        .b_up = up->bias,
        .b_gate = gate ? gate->bias : NULL,
        .b_down = down->bias,
        .packed_dtype = matrix.packed_dtype,
        .dynamic_int8 = matrix.dynamic_int8,
        .scales_up = up->scales,
        .scales_gate = gate ? gate->scales : NULL,
        .scales_down = down->scales,
        .dynamic_group = matrix.dynamic_group,
    };
}

float *dense_no_rows(int64_t m, int64_t n, int64_t gap) {
    return guard_floats(m > 0 ? (size_t)((m - 1) * (n + gap) + n) : 0);
}

float *dense_rows(struct test_rng *rng, int64_t m, int64_t n, int64_t gap) {
    float *rows = dense_no_rows(m, n, gap);
    for (int64_t i = 0; i < m; i++)
        test_rng_fill(rng, rows + i * (n + gap), (size_t)n, 1);
    return rows;
}
