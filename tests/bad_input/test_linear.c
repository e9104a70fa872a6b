/* Linear layers, MLPs and rows with one argument wrong at a time: a status, a line that names the
 * argument, outputs untouched. */
#include <math.h>
#include <string.h>

#include "call.h"
#include "dense.h"
#include "guard.h"
#include "runner.h"

enum { D = 6, HIDDEN = 10, M = 3 };

/* A right call of each kind; numbers name the one field that is then made wrong. */
struct scene {
    headwise_context *context;
    struct dense_matrix up, down;
    struct headwise_linear_config linear;
    struct headwise_mlp_config mlp;
    struct headwise_linear_call call;
    struct headwise_mlp_call mlp_call;
    struct headwise_rows rows;
    struct headwise_row_norm norm;
    float bad_scales[HIDDEN];
};

static struct scene scene;

static void open_scene(enum headwise_isa isa, enum dense_kind kind) {
    struct test_rng rng = test_rng_make(331);
    memset(&scene, 0, sizeof scene);
    scene.context = call_context(isa, 1);
    scene.up = dense_make(&rng, kind, HEADWISE_OUT_IN, D, HIDDEN);
    scene.down = dense_make(&rng, kind, HEADWISE_OUT_IN, HIDDEN, D);
    scene.linear = dense_config(&scene.up);
    scene.mlp = dense_mlp_config(&scene.up, NULL, &scene.down, HEADWISE_ACTIVATION_GELU);
    scene.norm = (struct headwise_row_norm){.size = sizeof scene.norm};
    scene.call = (struct headwise_linear_call){.size = sizeof scene.call,
                                               .n_rows = M,
                                               .x = dense_rows(&rng, M, D, 0),
                                               .y = dense_no_rows(M, HIDDEN, 0),
                                               .input_norm = &scene.norm,
                                               .output_norm = &scene.norm,
                                               .sum = dense_no_rows(M, HIDDEN, 0)};
    scene.mlp_call = (struct headwise_mlp_call){.size = sizeof scene.mlp_call,
                                                .n_rows = M,
                                                .x = scene.call.x,
                                                .y = scene.call.y,
                                                .output_norm = &scene.norm};
    scene.rows = (struct headwise_rows){.size = sizeof scene.rows,
                                        .n_rows = M,
                                        .n = D,
                                        .x = scene.call.x,
                                        .y = scene.call.y,
                                        .sum = scene.call.sum,
                                        .norm = &scene.norm};
    scene.bad_scales[HIDDEN - 1] = INFINITY;
    for (int j = 0; j + 1 < HIDDEN; j++)
        scene.bad_scales[j] = 1;
}

static void close_scene(void) {
    headwise_context_destroy(scene.context);
    guard_reset();
}

static void expect_invalid(enum headwise_status status, const char *text) {
    if (status != HEADWISE_ERR_INVALID || strstr(headwise_last_error(), text) == NULL)
        fail_msg("status %d, \"%s\", expected \"%s\"", (int)status, headwise_last_error(), text);
}

/* Makes one field wrong, runs, and makes it right again. */
#define EXPECT(run, field, wrong, text)                                                            \
    do {                                                                                           \
        __typeof__(field) right = (field);                                                         \
        (field) = (__typeof__(field))(wrong);                                                      \
        expect_invalid(run, text);                                                                 \
        (field) = right;                                                                           \
    } while (0)

static headwise_linear *linear;
static headwise_mlp *mlp;

static enum headwise_status create_linear(void) {
    headwise_linear *other = (headwise_linear *)&scene;
    enum headwise_status status = headwise_linear_create(&other, scene.context, &scene.linear);
    if (status != HEADWISE_OK)
        assert_ptr_equal(other, &scene);
    else
        headwise_linear_destroy(other);
    return status;
}

static enum headwise_status create_mlp(void) {
    headwise_mlp *other = (headwise_mlp *)&scene;
    enum headwise_status status = headwise_mlp_create(&other, scene.context, &scene.mlp);
    if (status != HEADWISE_OK)
        assert_ptr_equal(other, &scene);
    else
        headwise_mlp_destroy(other);
    return status;
}

static enum headwise_status run_linear(void) {
    return headwise_linear_forward(scene.context, linear, &scene.call);
}

static enum headwise_status run_mlp(void) {
    return headwise_mlp_forward(scene.context, mlp, &scene.mlp_call);
}

static enum headwise_status run_rows(void) {
    return headwise_normalize_rows(scene.context, &scene.rows);
}

static void linear_configs(enum headwise_isa isa) {
    struct headwise_linear_config *c = &scene.linear;
    open_scene(isa, DENSE_F32);
    EXPECT(create_linear(), c->size, 0, "linear: config: size is 0");
    EXPECT(create_linear(), c->n_inputs, 0, "linear: n_inputs is 0");
    EXPECT(create_linear(), c->n_inputs, INT64_MAX, "n_inputs is");
    EXPECT(create_linear(), c->n_outputs, -1, "n_outputs is -1");
    EXPECT(create_linear(), c->layout, 2, "layout is 2");
    EXPECT(create_linear(), c->weights, NULL, "weights is NULL");
    EXPECT(create_linear(), c->weight_dtype, HEADWISE_BOOL, "weights are bool");
    EXPECT(create_linear(), c->weight_dtype, HEADWISE_I8,
           "weights are i8, but packed_dtype is f32");
    EXPECT(create_linear(), c->packed_dtype, HEADWISE_BOOL, "packed_dtype is bool");
    EXPECT(create_linear(), c->packed_dtype, 99, "packed_dtype is ?");
    EXPECT(create_linear(), c->dynamic_int8, true, "dynamic_int8 is set");
    EXPECT(create_linear(), c->scales, scene.bad_scales, "scales is given");
    ((float *)scene.up.given)[D + 1] = 1e6f;
    EXPECT(create_linear(), c->packed_dtype, HEADWISE_F16,
           "linear: weights: the weight of input 1 in output 1 is 1e+06");
    expect_invalid(headwise_linear_create(NULL, scene.context, c), "the place for it");
    expect_invalid(headwise_linear_create(&linear, NULL, c), "context is NULL");
    expect_invalid(headwise_linear_create(&linear, scene.context, NULL), "config is NULL");
    assert_int_equal(create_linear(), HEADWISE_OK);
    close_scene();
    open_scene(isa, DENSE_DYNAMIC);
    EXPECT(create_linear(), c->scales, NULL, "scales is NULL");
    EXPECT(create_linear(), c->scales, scene.bad_scales, "scales[9] is inf");
    EXPECT(create_linear(), c->n_inputs, 131073, "131073 inputs");
    EXPECT(create_linear(), c->dynamic_group, 64, "dynamic_group is 64, but weights are i8");
    close_scene();
    open_scene(isa, DENSE_GROUPS);
    EXPECT(create_linear(), c->dynamic_group, 32, "is 32, expected 0 or a multiple of 64 up to");
    EXPECT(create_linear(), c->dynamic_int8, false, "64, but dynamic_int8 is not set");
    EXPECT(create_linear(), c->scales, scene.bad_scales, "scales is given, which is of all inputs");
    assert_int_equal(create_linear(), HEADWISE_OK);
    close_scene();
}

static void mlp_configs(enum headwise_isa isa) {
    struct headwise_mlp_config *c = &scene.mlp;
    open_scene(isa, DENSE_F32);
    EXPECT(create_mlp(), c->size, sizeof *c - 8, "mlp: config: size is");
    EXPECT(create_mlp(), c->d_model, 0, "d_model is 0");
    EXPECT(create_mlp(), c->d_hidden, -5, "d_hidden is -5");
    EXPECT(create_mlp(), c->d_out, -1, "d_out is -1");
    EXPECT(create_mlp(), c->activation, 7, "activation is 7");
    EXPECT(create_mlp(), c->activation, -1, "activation is -1");
    EXPECT(create_mlp(), c->layout, -1, "layout is -1");
    EXPECT(create_mlp(), c->w_up, NULL, "w_up is NULL");
    EXPECT(create_mlp(), c->w_down, NULL, "w_down is NULL");
    EXPECT(create_mlp(), c->b_gate, c->b_up, "b_gate is given without w_gate");
    EXPECT(create_mlp(), c->scales_gate, scene.bad_scales, "scales_gate is given without w_gate");
    EXPECT(create_mlp(), c->scales_down, scene.bad_scales, "scales_down is given");
    EXPECT(create_mlp(), c->packed_dtype, HEADWISE_BOOL, "packed_dtype is bool");
    EXPECT(create_mlp(), c->dynamic_int8, true, "dynamic_int8 is set");
    ((float *)scene.down.given)[3] = NAN;
    EXPECT(create_mlp(), c->packed_dtype, HEADWISE_I8,
           "mlp: w_down: the weight of input 3 in output 0 is nan");
    expect_invalid(headwise_mlp_create(NULL, scene.context, c), "the place for it");
    expect_invalid(headwise_mlp_create(&mlp, NULL, c), "context is NULL");
    expect_invalid(headwise_mlp_create(&mlp, scene.context, NULL), "config is NULL");
    assert_int_equal(create_mlp(), HEADWISE_OK);
    close_scene();
    open_scene(isa, DENSE_I8);
    EXPECT(create_mlp(), c->scales_up, NULL, "scales_up is NULL");
    EXPECT(create_mlp(), c->w_gate, c->w_up, "scales_gate is NULL");
    EXPECT(create_mlp(), c->scales_up, scene.bad_scales, "scales_up[9] is inf");
    assert_int_equal(create_mlp(), HEADWISE_OK);
    close_scene();
}

static void linear_calls(enum headwise_isa isa) {
    struct headwise_linear_call *c = &scene.call;
    open_scene(isa, DENSE_F32);
    assert_int_equal(headwise_linear_create(&linear, scene.context, &scene.linear), HEADWISE_OK);
    EXPECT(run_linear(), c->size, 1, "linear: call: size is 1");
    EXPECT(run_linear(), c->n_rows, -1, "n_rows is -1");
    EXPECT(run_linear(), c->n_rows, INT64_MAX, "beyond what can be addressed");
    EXPECT(run_linear(), c->x, NULL, "x is NULL");
    EXPECT(run_linear(), c->y, NULL, "y is NULL");
    EXPECT(run_linear(), c->x_stride, D - 1, "x_stride is 5, expected at least 6");
    EXPECT(run_linear(), c->y_stride, -HIDDEN, "y_stride is -10");
    EXPECT(run_linear(), c->residual_stride, 1, "residual_stride is 1");
    EXPECT(run_linear(), c->sum_stride, 9, "sum_stride is 9");
    EXPECT(run_linear(), c->sum, c->y, "sum and y");
    EXPECT(run_linear(), c->norm_before_residual, true, "norm_before_residual");
    EXPECT(run_linear(), c->activation, 17, "activation is 17");
    EXPECT(run_linear(), scene.norm.size, 8, "linear: input_norm: size is 8");
    EXPECT(run_linear(), scene.norm.norm, 2, "norm is 2");
    EXPECT(run_linear(), scene.norm.eps, -1, "eps is -1");
    EXPECT(run_linear(), scene.norm.eps, NAN, "eps is nan");
    expect_invalid(headwise_linear_forward(NULL, linear, c), "context is NULL");
    expect_invalid(headwise_linear_forward(scene.context, NULL, c), "the layer is NULL");
    expect_invalid(headwise_linear_forward(scene.context, linear, NULL), "call is NULL");
    guard_expect_untouched(c->y, M * HIDDEN * sizeof(float), "y");
    guard_expect_untouched(c->sum, M * HIDDEN * sizeof(float), "sum");
    assert_int_equal(run_linear(), HEADWISE_OK);
    headwise_linear_destroy(linear);
    close_scene();
}

static void mlp_calls(enum headwise_isa isa) {
    struct headwise_mlp_call *c = &scene.mlp_call;
    open_scene(isa, DENSE_F32);
    assert_int_equal(headwise_mlp_create(&mlp, scene.context, &scene.mlp), HEADWISE_OK);
    EXPECT(run_mlp(), c->size, 0, "mlp: call: size is 0");
    EXPECT(run_mlp(), c->n_rows, -2, "n_rows is -2");
    EXPECT(run_mlp(), c->x, NULL, "x is NULL");
    EXPECT(run_mlp(), c->y, NULL, "y is NULL");
    EXPECT(run_mlp(), c->y_stride, D - 1, "y_stride is 5");
    EXPECT(run_mlp(), c->sum, c->y, "sum and y");
    EXPECT(run_mlp(), scene.norm.eps, INFINITY, "mlp: output_norm: eps is inf");
    expect_invalid(headwise_mlp_forward(NULL, mlp, c), "context is NULL");
    expect_invalid(headwise_mlp_forward(scene.context, NULL, c), "the MLP is NULL");
    expect_invalid(headwise_mlp_forward(scene.context, mlp, NULL), "call is NULL");
    guard_expect_untouched(c->y, M * HIDDEN * sizeof(float), "y");
    assert_int_equal(run_mlp(), HEADWISE_OK);
    headwise_mlp_destroy(mlp);
    close_scene();
}

static void row_calls(enum headwise_isa isa) {
    struct headwise_rows *c = &scene.rows;
    open_scene(isa, DENSE_F32);
    EXPECT(run_rows(), c->size, 3, "rows: size is 3");
    EXPECT(run_rows(), c->n_rows, -1, "n_rows is -1");
    EXPECT(run_rows(), c->n, 0, "n is 0");
    EXPECT(run_rows(), c->n, ((int64_t)1 << 30) + 1, "expected 1 to 2^30");
    EXPECT(run_rows(), c->x, NULL, "x is NULL");
    EXPECT(run_rows(), c->y, NULL, "y is NULL");
    EXPECT(run_rows(), c->x_stride, 5, "x_stride is 5");
    EXPECT(run_rows(), c->residual_stride, 5, "residual_stride is 5");
    EXPECT(run_rows(), c->sum_stride, -6, "sum_stride is -6");
    EXPECT(run_rows(), c->sum, c->y, "sum and y");
    EXPECT(run_rows(), scene.norm.norm, -1, "rows: norm: norm is -1");
    expect_invalid(headwise_normalize_rows(NULL, c), "context is NULL");
    expect_invalid(headwise_normalize_rows(scene.context, NULL), "rows is NULL");
    guard_expect_untouched(c->y, M * HIDDEN * sizeof(float), "y");
    guard_expect_untouched(c->sum, M * HIDDEN * sizeof(float), "sum");
    assert_int_equal(run_rows(), HEADWISE_OK);
    close_scene();
}

/* No rows: nothing is asked for, and nothing is done. */
static void no_rows(enum headwise_isa isa) {
    open_scene(isa, DENSE_F32);
    assert_int_equal(headwise_linear_create(&linear, scene.context, &scene.linear), HEADWISE_OK);
    assert_int_equal(headwise_mlp_create(&mlp, scene.context, &scene.mlp), HEADWISE_OK);
    scene.call = (struct headwise_linear_call){.size = sizeof scene.call};
    scene.mlp_call = (struct headwise_mlp_call){.size = sizeof scene.mlp_call};
    scene.rows = (struct headwise_rows){.size = sizeof scene.rows, .n = D};
    assert_int_equal(run_linear(), HEADWISE_OK);
    assert_int_equal(run_mlp(), HEADWISE_OK);
    assert_int_equal(run_rows(), HEADWISE_OK);
    headwise_linear_destroy(linear);
    headwise_mlp_destroy(mlp);
    close_scene();
}

/* What was packed for another tier. */
static void other_tier(enum headwise_isa isa) {
    enum headwise_isa tiers[4];
    int n = test_tiers(tiers);
    enum headwise_isa other = tiers[0] != isa ? tiers[0] : tiers[n - 1];
    if (other == isa)
        test_skip("there is one tier only");
    open_scene(isa, DENSE_F32);
    assert_int_equal(headwise_linear_create(&linear, scene.context, &scene.linear), HEADWISE_OK);
    assert_int_equal(headwise_mlp_create(&mlp, scene.context, &scene.mlp), HEADWISE_OK);
    headwise_context *context = call_context(other, 1);
    expect_invalid(headwise_linear_forward(context, linear, &scene.call), "is packed for tier");
    expect_invalid(headwise_mlp_forward(context, mlp, &scene.mlp_call), "is packed for tier");
    headwise_context_destroy(context);
    headwise_linear_destroy(linear);
    headwise_mlp_destroy(mlp);
    close_scene();
}

int main(void) {
    const struct test_case cases[] = {
        TEST_CASE(linear_configs), TEST_CASE(mlp_configs), TEST_CASE(linear_calls),
        TEST_CASE(mlp_calls),      TEST_CASE(row_calls),   TEST_CASE(no_rows),
        TEST_CASE(other_tier),
    };
    return test_run_tiers(cases, TEST_COUNT(cases));
}
