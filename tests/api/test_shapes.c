/* Every size where engines were found wrong, in a covering set of combinations, against the oracle,
 * with every buffer ending at an unreadable page. */
#include "call.h"
#include "guard.h"
#include "oracle.h"
#include "runner.h"
#include "shapes.h"

static enum headwise_dtype type_of(size_t i) {
    const enum headwise_dtype types[] = {HEADWISE_F32, HEADWISE_F32, HEADWISE_F16, HEADWISE_BF16};
    return types[i % TEST_COUNT(types)];
}

/* Base addresses moved by one element, so that no vector is aligned, in half of the calls. */
static size_t shift_of(size_t i, enum headwise_dtype dtype) {
    return i / 2 % 2 * headwise_dtype_size(dtype);
}

static void expect_shape(enum headwise_isa isa, struct test_rng *rng, size_t i,
                         const struct call_shape *shape) {
    enum headwise_dtype dtype = type_of(i);
    if ((int64_t)i % test_share() != 0)
        return;
    struct call call = call_make(rng, shape, dtype, shift_of(i, dtype));
    call.options.causal = (enum headwise_causal)(i % 3);
    if (i % 5 == 0)
        call_probe(&call, CALL_ALL, (enum headwise_score_stage)(i / 5 % 4));
    call_expect_oracle(isa, &call);
    guard_reset();
}

/* Every pair of head size and number of keys; value sizes, queries and heads go round. */
static void every_head_size_with_every_number_of_keys(enum headwise_isa isa) {
    struct test_rng rng = test_rng_make(151);
    size_t i = 0;
    for (size_t d = 0; d < SHAPE_DIMS; d++)
        for (size_t s = 0; s < SHAPE_KEYS; s++, i++) {
            int64_t kv_heads = 1 + (int64_t)(i % 2);
            const struct call_shape shape = {1 + (int64_t)(i / 7 % 2),
                                             kv_heads * (1 + (int64_t)(i / 3 % 3)),
                                             kv_heads,
                                             shape_queries[i % SHAPE_QUERIES],
                                             shape_keys[s],
                                             shape_dims[d],
                                             shape_dims[(d * 7 + s) % SHAPE_DIMS]};
            if (shape.keys * shape.dim > 100000) /* the oracle's time */
                expect_shape(isa, &rng, i,
                             &(struct call_shape){1, 1, 1, shape.queries, shape.keys, shape.dim,
                                                  shape.value_dim});
            else
                expect_shape(isa, &rng, i, &shape);
        }
}

/* Every pair of value size and number of queries, and of value size and head size. */
static void every_value_size(enum headwise_isa isa) {
    struct test_rng rng = test_rng_make(152);
    size_t i = 0;
    for (size_t dv = 0; dv < SHAPE_DIMS; dv++)
        for (size_t q = 0; q < SHAPE_QUERIES; q++, i++)
            expect_shape(isa, &rng, i,
                         &(struct call_shape){1, 2, 1, shape_queries[q],
                                              shape_keys[(i * 5) % SHAPE_KEYS], 8, shape_dims[dv]});
    for (size_t dv = 0; dv < SHAPE_DIMS; dv++)
        for (size_t d = 0; d < SHAPE_DIMS; d++, i++)
            expect_shape(isa, &rng, i,
                         &(struct call_shape){1, 1, 1, 2, shape_keys[i % 11], shape_dims[d],
                                              shape_dims[dv]});
}

/* More queries than one tile, up to the tails of tiles of any height. */
static void many_queries(enum headwise_isa isa) {
    const int64_t queries[] = {6, 7, 12, 13, 47, 48, 49, 63, 65, 96, 97, 128, 129, 191, 193, 300};
    struct test_rng rng = test_rng_make(153);
    for (size_t q = 0; q < TEST_COUNT(queries); q++)
        for (size_t i = 0; i < 3; i++)
            expect_shape(isa, &rng, q * 3 + i,
                         &(struct call_shape){1, i == 1 ? 4 : 1, 1, queries[q],
                                              i == 2 ? 300 : queries[q], 16, 20});
}

/* Keys and values that all batch entries, or all heads, share by stride 0. */
static void keys_shared_by_stride_zero(enum headwise_isa isa) {
    struct test_rng rng = test_rng_make(154);
    for (int axis = 0; axis < 2; axis++)
        for (size_t s = 0; s < SHAPE_KEYS; s++) {
            const struct call_shape shape = {3, 2, 2, 3, shape_keys[s], 33, 17};
            struct call call = call_make(&rng, &shape, HEADWISE_F32, 4);
            call.k = call_tensor(HEADWISE_F32, axis == 0 ? 1 : 3, axis == 0 ? 2 : 1, shape.keys, 33,
                                 NULL);
            call.v = call_tensor(HEADWISE_F32, axis == 0 ? 1 : 3, axis == 0 ? 2 : 1, shape.keys, 17,
                                 NULL);
            call_fill(&rng, &call.k, 1);
            call_fill(&rng, &call.v, 1);
            call.k.size[axis] = call.v.size[axis] = axis == 0 ? 3 : 2;
            call.k.stride[axis] = call.v.stride[axis] = 0;
            call_expect_oracle(isa, &call);
            guard_reset();
        }
}

/* (batch, row, head * column) buffers, as projections write them, with rows further apart too. */
static void rows_that_hold_all_heads(enum headwise_isa isa) {
    const struct call_shape shape = {2, 6, 3, 5, 70, 17, 9};
    struct test_rng rng = test_rng_make(155);
    for (int64_t gap = 0; gap <= 3; gap += 3) {
        struct call call = call_make(&rng, &shape, HEADWISE_F32, 0), rows = call;
        struct headwise_tensor *to[] = {&rows.q, &rows.k, &rows.v, &rows.y};
        const struct headwise_tensor *from[] = {&call.q, &call.k, &call.v, &call.y};
        for (int t = 0; t < 4; t++) {
            const int64_t *n = from[t]->size;
            int64_t row = n[1] * n[3] + gap;
            *to[t] = headwise_tensor_brhc(guard_floats((size_t)(n[0] * n[2] * row - gap)),
                                          HEADWISE_F32, n[0], n[2], n[1], n[3]);
            to[t]->stride[2] = row;
            to[t]->stride[0] = n[2] * row;
            for (int64_t b = 0; t < 3 && b < n[0]; b++)
                for (int64_t h = 0; h < n[1]; h++)
                    for (int64_t r = 0; r < n[2]; r++)
                        for (int64_t c = 0; c < n[3]; c++)
                            ((float *)to[t]->data)[b * to[t]->stride[0] + h * to[t]->stride[1] +
                                                   r * row + c] =
                                (float)oracle_load(from[t], b, h, r, c);
        }
        call_expect_oracle(isa, &rows);
        call_run(isa, &call);
        call_expect_same(&rows, &call, "layout");
        for (int64_t r = 0; r + 1 < 2 * 5; r++)
            guard_expect_untouched((float *)rows.y.data + r * (54 + gap) + 54,
                                   (size_t)gap * sizeof(float), "between rows of y");
    }
}

/* Nothing in, nothing out: empty axes are legal, and without keys y is zero. */
static void empty_axes(enum headwise_isa isa) {
    const struct call_shape shapes[] = {
        {0, 2, 1, 3, 5, 4, 4}, {1, 0, 0, 3, 5, 4, 4}, {1, 2, 1, 0, 5, 4, 4},
        {1, 2, 1, 3, 0, 4, 4}, {0, 0, 0, 0, 0, 1, 1}, {2, 2, 2, 1, 0, 7, 3},
    };
    struct test_rng rng = test_rng_make(156);
    for (size_t s = 0; s < TEST_COUNT(shapes); s++)
        for (int causal = 0; causal < 3; causal++) {
            struct call call = call_make(&rng, &shapes[s], HEADWISE_F32, 0);
            call.options.causal = (enum headwise_causal)causal;
            struct headwise_tensor *all[] = {&call.q, &call.k, &call.v, &call.y};
            for (int t = 0; t < 4; t++)
                if (all[t]->size[0] * all[t]->size[1] * all[t]->size[2] == 0)
                    all[t]->data = NULL;
            call_probe(&call, CALL_ALL, HEADWISE_SCORES_MASKED);
            call_expect_oracle(isa, &call);
            guard_reset();
        }
}

int main(void) {
    const struct test_case cases[] = {
        TEST_CASE(every_head_size_with_every_number_of_keys),
        TEST_CASE(every_value_size),
        TEST_CASE(many_queries),
        TEST_CASE(keys_shared_by_stride_zero),
        TEST_CASE(rows_that_hold_all_heads),
        TEST_CASE(empty_axes),
    };
    return test_run_tiers(cases, TEST_COUNT(cases));
}
