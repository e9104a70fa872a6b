/* measure/: timed kernels leave every bit as it is, and each product is in its group's share. */
#include "measure/shares.h"

#include <string.h>

#include "compare.h"
#include "rng.h"
#include "runner.h"

#include "headwise/mha.h"

enum { WIDTH = 128, ROWS = 24 };

struct run {
    headwise_context *context;
    headwise_mha *mha;
    struct headwise_tensor x, y;
};

static enum headwise_status forward(void *arg) {
    struct run *run = arg;
    const struct headwise_attention_call call = {.size = sizeof call, .y = &run->y, .x = &run->x};
    return headwise_mha_forward(run->context, run->mha, &call);
}

static void fill_weights(struct headwise_mha_config *config) {
    static float weights[4][WIDTH * WIDTH];
    struct test_rng rng = test_rng_make(4711);
    test_rng_fill(&rng, weights[0], 4 * WIDTH * WIDTH, 0.1f);
    config->w_q = weights[0];
    config->w_k = weights[1];
    config->w_v = weights[2];
    config->w_o = weights[3];
}

/* The shares of a forward of `rows` rows. */
static struct shares measure(enum headwise_isa isa, enum headwise_dtype packed, bool dynamic,
                             int64_t rows) {
    static float x[ROWS * WIDTH], y[ROWS * WIDTH], plain[ROWS * WIDTH];
    const struct headwise_context_options options = {
        .size = sizeof options, .isa = isa, .n_threads = 1};
    struct headwise_mha_config config = {.size = sizeof config,
                                         .d_model = WIDTH,
                                         .n_heads = 4,
                                         .packed_dtype = packed,
                                         .dynamic_int8 = dynamic};
    struct test_rng rng = test_rng_make(4712);
    struct shares shares = {.rest = -1};
    struct run run = {.x = headwise_tensor_brhc(x, HEADWISE_F32, 1, rows, 1, WIDTH),
                      .y = headwise_tensor_brhc(y, HEADWISE_F32, 1, rows, 1, WIDTH)};
    fill_weights(&config);
    test_rng_fill(&rng, x, ROWS * WIDTH, 1.0f);
    assert_int_equal(headwise_context_create(&run.context, &options), HEADWISE_OK);
    assert_int_equal(headwise_mha_create(&run.mha, run.context, &config), HEADWISE_OK);
    assert_int_equal(forward(&run), HEADWISE_OK);
    memcpy(plain, y, sizeof plain);
    memset(y, 0, sizeof y);
    assert_int_equal(shares_measure(&shares, run.context, forward, &run), HEADWISE_OK);
    compare_same_bits(y, plain, (size_t)(rows * WIDTH), "timed, %lld rows", (long long)rows);
    assert_int_equal(shares.exponentials, 4 * rows * rows);
    headwise_mha_destroy(run.mha);
    headwise_context_destroy(run.context);
    return shares;
}

/* From 8 rows on a layer that rounds its inputs multiplies bytes where the processor can: then no
 * other kernel is in the projections' share, and without the timed ones it would be 0. How large
 * a share is depends on the machine: an emulator gave products no more time than scores. */
static void projections_of_every_type_are_counted(enum headwise_isa isa) {
    static const struct {
        enum headwise_dtype packed;
        bool dynamic;
    } layers[] = {{HEADWISE_F32, false},
                  {HEADWISE_F16, false},
                  {HEADWISE_BF16, false},
                  {HEADWISE_I8, false},
                  {HEADWISE_I8, true}};
    static const int64_t rows[] = {1, 8, ROWS};
    for (size_t i = 0; i < TEST_COUNT(layers); i++) {
        for (size_t r = 0; r < TEST_COUNT(rows); r++) {
            struct shares shares = measure(isa, layers[i].packed, layers[i].dynamic, rows[r]);
            const double *share = shares.share;
            if (!(share[SHARE_PROJECTIONS] > 0))
                fail_msg("type %d, dynamic %d, %lld rows: no time in projections",
                         (int)layers[i].packed, layers[i].dynamic, (long long)rows[r]);
            assert_true(!layers[i].dynamic || share[SHARE_PACKING] > 0); /* rounding of rows */
        }
    }
}

int main(void) {
    const struct test_case cases[] = {
        TEST_CASE(projections_of_every_type_are_counted),
    };
    return test_run_tiers(cases, TEST_COUNT(cases));
}
