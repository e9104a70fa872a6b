/* Which kv head a query head reads, and gates. */
#include <math.h>

#include "call.h"
#include "compare.h"
#include "guard.h"
#include "runner.h"

/* The values of kv head g are g everywhere: head h must give h / (H / Hkv). */
static void query_heads_read_their_kv_head(enum headwise_isa isa) {
    const int64_t pairs[][2] = {{4, 2}, {6, 2}, {6, 3}, {28, 4}, {48, 2}, {80, 4}, {8, 1}, {5, 5}};
    struct test_rng rng = test_rng_make(131);
    for (size_t p = 0; p < TEST_COUNT(pairs); p++) {
        const struct call_shape shape = {2, pairs[p][0], pairs[p][1], 3, 300, 4, 3};
        struct call call = call_make(&rng, &shape, HEADWISE_F32, 0);
        for (int64_t i = 0; i < 2 * shape.kv_heads * 300 * 3; i++)
            ((float *)call.v.data)[i] = (float)(i / (300 * 3) % shape.kv_heads);
        call_run(isa, &call);
        for (int64_t i = 0; i < 2 * shape.heads * 3 * 3; i++) {
            double want = (double)(i / 9 % shape.heads / (shape.heads / shape.kv_heads));
            compare_expect((double)((float *)call.y.data)[i], want, 1e-6 * want,
                           "%d heads on %d, element %d", (int)shape.heads, (int)shape.kv_heads,
                           (int)i);
        }
        guard_reset();
    }
}

static void heads_that_do_not_divide_are_refused(enum headwise_isa isa) {
    const int64_t pairs[][2] = {{5, 2}, {33, 2}, {3, 2}, {2, 4}, {4, 0}};
    struct test_rng rng = test_rng_make(132);
    headwise_context *context = call_context(isa, 1);
    for (size_t p = 0; p < TEST_COUNT(pairs); p++) {
        const struct call_shape shape = {1, pairs[p][0], pairs[p][1], 3, 5, 4, 3};
        struct call call = call_make(&rng, &shape, HEADWISE_F32, 0);
        assert_int_equal(call_try(context, &call), HEADWISE_ERR_INVALID);
        guard_expect_untouched(call.y.data, (size_t)(pairs[p][0] * 9) * sizeof(float), "y");
    }
    headwise_context_destroy(context);
}

/* After the softmax, and together with hidden keys: factors 1, 0 and 1/2 of the causal means. */
static void gates_multiply_after_the_softmax(enum headwise_isa isa) {
    const float gates[] = {1, 0, 0.5f};
    const struct call_shape shape = {1, 3, 3, 3, 3, 1, 1};
    const float hidden = -INFINITY;
    struct call call = call_uniform(&shape);
    struct headwise_tensor mask = call_tensor(
        HEADWISE_F32, 1, 1, 3, 3, (const float[]){0, hidden, hidden, 0, 0, hidden, 0, 0, 0});
    call.given.mask = &mask;
    call.given.head_gates = gates;
    call_run(isa, &call);
    call_expect_y(&call, (const double[]){1, 1.5, 2, 0, 0, 0, .5, .75, 1}, "gates");
}

/* A gate of 0 gives exact zeros even where the values are NaN, and does not touch the weights. */
static void a_closed_gate_gives_zeros(enum headwise_isa isa) {
    const float gates[] = {0, 1};
    const struct call_shape shape = {1, 2, 2, 4, 270, 8, 5};
    struct test_rng rng = test_rng_make(133);
    for (unsigned wants = 0; wants <= CALL_ALL; wants += CALL_ALL) {
        struct call call = call_make(&rng, &shape, HEADWISE_F32, 0);
        ((float *)call.v.data)[3] = NAN;
        call.given.head_gates = gates;
        if (wants != 0)
            call_probe(&call, wants, HEADWISE_SCORES_MASKED);
        call_expect_oracle(isa, &call);
        for (int i = 0; i < 4 * 5; i++)
            assert_true(((float *)call.y.data)[i] == 0);
    }
}

/* Gates per batch entry, or shared by a stride of 0. */
static void gates_of_each_batch_entry(enum headwise_isa isa) {
    const float gates[] = {1, 0, 0.25f, /* not read */ NAN, -2, 3, 0.5f, NAN};
    const struct call_shape shape = {2, 3, 1, 3, 9, 4, 4};
    struct test_rng rng = test_rng_make(134);
    for (int64_t stride = 0; stride <= 4; stride += 4) {
        struct call call = call_make(&rng, &shape, HEADWISE_F32, 0);
        call.given.head_gates = gates;
        call.given.gate_batch_stride = stride;
        call_probe(&call, CALL_ALL, HEADWISE_SCORES_MASKED);
        call_expect_oracle(isa, &call);
    }
}

int main(void) {
    const struct test_case cases[] = {
        TEST_CASE(query_heads_read_their_kv_head),
        TEST_CASE(heads_that_do_not_divide_are_refused),
        TEST_CASE(gates_multiply_after_the_softmax),
        TEST_CASE(a_closed_gate_gives_zeros),
        TEST_CASE(gates_of_each_batch_entry),
    };
    return test_run_tiers(cases, TEST_COUNT(cases));
}
