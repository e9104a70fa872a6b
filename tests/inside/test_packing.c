/* Packed matrices, element by element, against a plain reading of where panels hold them. Weights
 * are such that every type holds them exactly, so that equality is exact too. */
#include <stdlib.h>

#include "linear/matrix.h"
#include "rng.h"
#include "runner.h"
#include "tensors/tensor.h"
#include "tier.h"

struct packing_shape {
    int64_t inputs, outputs;
};

/* 1/64: a power of two, so that integers times it are exact in every type. */
static const float scale = 0.015625f;

static float element(const struct headwise_kernels *kernels, const struct headwise_matrix *matrix,
                     int64_t at) {
    float x;
    if (matrix->dtype == HEADWISE_F32)
        return ((const float *)matrix->panels)[at];
    if (matrix->dtype == HEADWISE_I8)
        return (float)((const int8_t *)matrix->panels)[at];
    kernels->widen[matrix->dtype](&x, (const uint16_t *)matrix->panels + at, 1);
    return x;
}

/* Panel c / nr holds columns c ... c + width - 1 as [input][column], after all panels before it. */
static void expect_panels(const struct headwise_kernels *kernels,
                          const struct headwise_matrix *matrix, const float *weights,
                          bool is_out_in) {
    int64_t k = matrix->k, n = matrix->n, nr = kernels->nr, step = kernels->nr_min;
    float unit = matrix->dtype == HEADWISE_I8 ? scale : 1.0f;
    for (int64_t c = 0; c < n; c += nr) {
        int64_t left = (n - c + step - 1) / step * step, width = left < nr ? left : nr;
        for (int64_t t = 0; t < k; t++) {
            for (int64_t j = 0; j < width; j++) {
                float kept = element(kernels, matrix, k * c + t * width + j) * unit;
                float given =
                    c + j >= n ? 0.0f : weights[is_out_in ? (c + j) * k + t : t * n + c + j];
                assert_true(kept == given);
            }
        }
    }
}

static void expect_packed(const struct headwise_kernels *kernels, struct packing_shape shape,
                          enum headwise_dtype dtype, enum headwise_layout layout) {
    const struct headwise_allocator allocator = {0};
    struct test_rng rng = test_rng_make((uint64_t)(shape.inputs * 1000 + shape.outputs));
    int64_t n = shape.inputs * shape.outputs;
    float *weights = malloc((size_t)n * sizeof(float));
    float *again = malloc((size_t)n * sizeof(float));
    float *scales = malloc((size_t)shape.outputs * sizeof(float));
    assert_true(weights && again && scales);
    for (int64_t i = 0; i < n; i++) /* 8 bits of mantissa at most: what bfloat16 holds */
        weights[i] = (float)(test_rng_below(&rng, 255) - 127) * scale;
    for (int64_t j = 0; j < shape.outputs; j++)
        scales[j] = scale;
    const struct headwise_matrix_source source = {.name = "weights",
                                                  .weights = weights,
                                                  .dtype = HEADWISE_F32,
                                                  .layout = layout,
                                                  .scales = dtype == HEADWISE_I8 ? scales : NULL};
    struct headwise_matrix matrix;
    assert_int_equal(headwise_matrix_create(&matrix, kernels, &allocator, &source, dtype,
                                            shape.inputs, shape.outputs),
                     HEADWISE_OK);
    expect_panels(kernels, &matrix, weights, layout == HEADWISE_OUT_IN);
    headwise_matrix_unpack(again, &matrix, kernels, layout);
    assert_memory_equal(again, weights, (size_t)n * sizeof(float));
    headwise_matrix_destroy(&matrix, &allocator);
    free(weights);
    free(again);
    free(scales);
}

static void panels_hold_weights(enum headwise_isa isa) {
    static const enum headwise_dtype dtypes[] = {HEADWISE_F32, HEADWISE_F16, HEADWISE_BF16,
                                                 HEADWISE_I8};
    const struct headwise_kernels *kernels = tier_kernels(isa);
    const struct packing_shape shapes[] = {
        {.inputs = 1, .outputs = 1},
        {.inputs = 5, .outputs = kernels->nr_min},
        {.inputs = 7, .outputs = kernels->nr_min + 1},
        {.inputs = 9, .outputs = kernels->nr - 1},
        {.inputs = 3, .outputs = kernels->nr},
        {.inputs = 33, .outputs = 2 * kernels->nr + 3},
    };
    for (size_t s = 0; s < TEST_COUNT(shapes); s++) {
        for (size_t d = 0; d < TEST_COUNT(dtypes); d++) {
            expect_packed(kernels, shapes[s], dtypes[d], HEADWISE_OUT_IN);
            expect_packed(kernels, shapes[s], dtypes[d], HEADWISE_IN_OUT);
        }
    }
}

int main(void) {
    static const struct test_case cases[] = {TEST_CASE(panels_hold_weights)};
    return test_run_tiers(cases, TEST_COUNT(cases));
}
