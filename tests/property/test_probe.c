/* Looking at the heads changes no bit of the result, and every view agrees with the others. */
#include <math.h>
#include <string.h>

#include "bounds.h"
#include "compare.h"
#include "guard.h"
#include "layer.h"
#include "runner.h"

static struct call plain_call(struct test_rng *rng, const struct call_shape *shape, int variant) {
    static const float gates[] = {1, 0, 0.5f, 2, 1, 1};
    struct call call = call_make(rng, shape, HEADWISE_F32, 0);
    call.options.causal = (enum headwise_causal)(variant % 3);
    call.options.softcap = variant == 1 ? 5 : 0;
    call.options.window_is_set = variant == 2;
    call.options.window_left = 40;
    call.options.window_right = -1;
    call.given.head_gates = variant >= 1 ? gates : NULL;
    return call;
}

/* Each output alone, and all together, at every stage: y keeps its bits, and so does each output.
 */
static void asking_changes_no_bit(enum headwise_isa isa) {
    const struct call_shape shapes[] = {{2, 6, 2, 20, 300, 16, 9}, {1, 4, 4, 1, 1100, 16, 16}};
    struct test_rng rng = test_rng_make(311);
    for (size_t s = 0; s < TEST_COUNT(shapes); s++)
        for (int variant = 0; variant < 3; variant++) {
            struct call plain = plain_call(&rng, &shapes[s], variant);
            call_run(isa, &plain);
            for (int stage = HEADWISE_SCORES_SCALED; stage <= HEADWISE_SCORES_WEIGHTS; stage++) {
                struct call all = plain;
                call_new_outputs(&all);
                call_probe(&all, CALL_ALL, (enum headwise_score_stage)stage);
                call_run(isa, &all);
                call_expect_same(&all, &plain, "all outputs");
                for (unsigned one = CALL_WEIGHTS; one < CALL_ALL; one *= 2) {
                    struct call single = plain;
                    call_new_outputs(&single);
                    call_probe(&single, one, (enum headwise_score_stage)stage);
                    call_run(isa, &single);
                    call_expect_same(&single, &all, "one output");
                }
            }
            guard_reset();
        }
}

static void a_layer_shows_the_same_bits(enum headwise_isa isa) {
    struct test_rng rng = test_rng_make(312);
    struct headwise_mha_config config = {.d_model = 48, .n_heads = 6, .n_kv_heads = 2};
    layer_fill_weights(&rng, &config, true);
    struct layer_call plain = layer_call_make(&rng, &config, 2, 70, -1, HEADWISE_F16);
    struct layer_call probed = plain;
    headwise_context *context = call_context(isa, 1);
    headwise_mha *mha = layer_create(context, &config);
    probed.y = call_tensor(HEADWISE_F16, 2, 1, 70, 48, NULL);
    layer_call_probe(&probed, HEADWISE_SCORES_SCALED);
    layer_run_with(context, mha, &plain);
    layer_run_with(context, mha, &probed);
    assert_memory_equal(probed.y.data, plain.y.data, (size_t)2 * 70 * 48 * 2);
    headwise_mha_destroy(mha);
    headwise_context_destroy(context);
}

/* Stage 3 is the weights, head outputs are y, and a weight is exp(score - log-sum-exp). */
static void the_views_agree(enum headwise_isa isa) {
    const struct call_shape shape = {2, 6, 2, 20, 300, 16, 9};
    struct test_rng rng = test_rng_make(313);
    struct call last = plain_call(&rng, &shape, 2), masked = last;
    call_new_outputs(&masked);
    call_probe(&last, CALL_ALL, HEADWISE_SCORES_WEIGHTS);
    call_probe(&masked, CALL_ALL, HEADWISE_SCORES_MASKED);
    call_run(isa, &last);
    call_run(isa, &masked);
    const size_t map = (size_t)2 * 6 * 20 * 300;
    compare_same_bits(last.probe.scores, last.probe.weights, map, "stage 3");
    compare_same_bits(last.probe.head_outputs, last.y.data, (size_t)2 * 6 * 20 * 9, "head outputs");
    for (size_t i = 0; i < map; i++) {
        double score = (double)masked.probe.scores[i], lse = (double)masked.probe.lse[i / 300];
        double want = isinf(score) ? 0 : exp(score - lse);
        /* Scores and log-sum-exp are the engine's own, each within u of at most 16 in size. The
         * weight has the roundings of its exponent (4u of |x| below 32), of the sum over 300 keys
         * (26), and of the factor. */
        compare_expect((double)masked.probe.weights[i], want,
                       want * (2 * 16 + 4 * 32 + 26 + 12) * BOUND_U + BOUND_NORMAL, "weight %zu",
                       i);
    }
}

int main(void) {
    const struct test_case cases[] = {
        TEST_CASE(asking_changes_no_bit),
        TEST_CASE(a_layer_shows_the_same_bits),
        TEST_CASE(the_views_agree),
    };
    return test_run_tiers(cases, TEST_COUNT(cases));
}
