/* Seeds without a layer: what heads cost, and a curve of exponentials. */
#include <math.h>

#include "bounds.h"
#include "compare.h"
#include "guard.h"
#include "oracle.h"
#include "seed.h"

/* Columns of the table. */
enum {
    WIDTH,
    HEADS,
    HEAD_DIM,
    TOKENS,
    PER_MATRIX,
    QKV,
    QKVO,
    FULL_WIDTH_QKV,
    OF_PROJECTIONS,
    OF_ATTENTION,
    EXPONENTIALS,
    N_COLUMNS
};

/* Writes exactly so many numbers as the part has: the buffer ends at an unreadable page, and none
 * of its marks is left. */
static int64_t count_part(const headwise_mha *mha, enum headwise_mha_part part, int64_t expected) {
    float *weights = guard_floats((size_t)expected);
    assert_int_equal(headwise_mha_weights(mha, weights, NULL, NULL, part, HEADWISE_OUT_IN),
                     HEADWISE_OK);
    for (int64_t i = 0; i < expected; i++)
        assert_true(weights[i] == 0);
    return expected;
}

static void expect_counts(headwise_context *context, const int64_t *row) {
    const int64_t d = row[WIDTH], n = row[TOKENS];
    float *zeros = guard_plain((size_t)(d * d), sizeof(float));
    float *x = guard_plain((size_t)(n * d), sizeof(float)), *y = guard_floats((size_t)(n * d));
    float *weights = guard_floats((size_t)row[EXPONENTIALS]);
    const struct headwise_mha_config config = {.size = sizeof(config),
                                               .d_model = d,
                                               .n_heads = row[HEADS],
                                               .w_q = zeros,
                                               .w_k = zeros,
                                               .w_v = zeros,
                                               .w_o = zeros};
    const struct headwise_probe probe = {.size = sizeof(probe), .weights = weights};
    struct headwise_tensor in = headwise_tensor_brhc(x, HEADWISE_F32, 1, n, 1, d);
    struct headwise_tensor out = headwise_tensor_brhc(y, HEADWISE_F32, 1, n, 1, d);
    const struct headwise_attention_call call = {
        .size = sizeof(call), .y = &out, .x = &in, .probe = &probe};
    headwise_mha *mha = NULL;
    int64_t parameters = 0;
    assert_int_equal(headwise_mha_create(&mha, context, &config), HEADWISE_OK);
    int64_t dim = headwise_mha_describe(mha)->head_dim, heads = headwise_mha_describe(mha)->n_heads;
    for (int part = HEADWISE_MHA_Q; part <= HEADWISE_MHA_O; part++)
        parameters += count_part(mha, (enum headwise_mha_part)part, row[PER_MATRIX]);
    assert_int_equal(headwise_mha_forward(context, mha, &call), HEADWISE_OK);
    headwise_mha_destroy(mha);
    for (int64_t i = 0; i < row[EXPONENTIALS]; i++) /* zero scores: all weights are 1 / n */
        compare_expect((double)weights[i], 1.0 / (double)n, 3 * BOUND_U, "weight %d", (int)i);
    assert_int_equal(dim, row[HEAD_DIM]);
    assert_int_equal(parameters, row[QKVO]);
    assert_int_equal(3 * heads * dim * d, row[QKV]);
    assert_int_equal(3 * heads * d * d, row[FULL_WIDTH_QKV]);
    assert_int_equal(n * parameters, row[OF_PROJECTIONS]);
    assert_int_equal(2 * row[EXPONENTIALS] * dim, row[OF_ATTENTION]);
    guard_check();
}

void seed_run_counts(enum headwise_isa isa, const headwise_safetensors *file) {
    const struct headwise_file_tensor *t = vector_find(file, "counts");
    assert_int_equal(t->shape[1], N_COLUMNS);
    const int64_t *counts = vector_i64(file, "counts", t->shape[0] * N_COLUMNS);
    headwise_context *context = seed_context(isa);
    for (int64_t i = 0; i < t->shape[0]; i++)
        expect_counts(context, counts + i * N_COLUMNS);
    headwise_context_destroy(context);
}

/* formula = 0.74 + 0.18 (1 - exp(-h / 6)) + offset. The exponential is the ratio of two weights, of
 * keys with scores 0 and -h / 6. */
void seed_run_curve(enum headwise_isa isa, const headwise_safetensors *file) {
    static const double offsets[] = {0, .01, .015, .02, .018, .005};
    enum { N = TEST_COUNT(offsets) };
    const int64_t *heads = vector_i64(file, "heads", N);
    const double *formula = vector_f64(file, "formula", N);
    const double *printed = vector_f64(file, "printed", N);
    float *scores = guard_floats(2 * N), *zeros = guard_plain(2 * N, sizeof(float));
    float *weights = guard_floats(2 * N), *y = guard_floats(N);
    for (int i = 0; i < N; i++) {
        scores[2 * i] = 0;
        scores[2 * i + 1] = (float)(-(double)heads[i] / 6);
    }
    const struct headwise_probe probe = {.size = sizeof(probe), .weights = weights};
    struct headwise_tensor mask = headwise_tensor_bhrc(scores, HEADWISE_F32, 1, 1, N, 2);
    struct headwise_tensor q = headwise_tensor_bhrc(zeros, HEADWISE_F32, 1, 1, N, 1);
    struct headwise_tensor k = headwise_tensor_bhrc(zeros, HEADWISE_F32, 1, 1, 2, 1);
    struct headwise_tensor out = headwise_tensor_bhrc(y, HEADWISE_F32, 1, 1, N, 1);
    const struct headwise_attention_call call = {
        .size = sizeof(call), .y = &out, .q = &q, .k = &k, .v = &k, .mask = &mask, .probe = &probe};
    headwise_context *context = seed_context(isa);
    assert_int_equal(headwise_attention(context, &call), HEADWISE_OK);
    headwise_context_destroy(context);
    struct oracle_result *exact = oracle_attention(&call);
    for (int i = 0; i < N; i++) {
        double first = (double)weights[2 * i], ratio = (double)weights[2 * i + 1] / first;
        const double *error = exact->weights_bound + 2 * i;
        double of_ratio = (error[1] + ratio * error[0]) / (first - error[0]);
        double of_score = bound_rounding(HEADWISE_F32, (double)heads[i] / 6) * ratio;
        compare_expect(0.74 + 0.18 * (1 - ratio) + offsets[i], formula[i],
                       0.18 * (of_ratio + 2 * of_score) + 1e-15, "%d heads", (int)heads[i]);
        assert_true(fabs(printed[i] - formula[i]) > 0.0005); /* the article prints others */
    }
    guard_check();
}
