/* Fixed calls of MLPs, linear layers and norms of rows: few rows and many, every activation, every
 * type of weights, norms of both kinds in every place. */
#include "hash_dense.h"

#include "cmocka_headers.h"
#include "compare.h"
#include "dense.h"
#include "guard.h"
#include "rows.h"

struct dense_case {
    const char *name;
    enum dense_kind kind;
    enum headwise_activation activation;
    int64_t rows, d, hidden, out; /* hidden 0: a linear layer; d 0: rows alone */
    bool gated;
    int norms; /* bits: 1 before, 2 after, 4 after and before the residual; 8 LAYER */
};

static const struct dense_case cases[HASH_DENSE_CASES] = {
    {"mlp_gelu", DENSE_F32, HEADWISE_ACTIVATION_GELU, 90, 96, 384, 96, false, 10},
    {"mlp_gelu_many", DENSE_F32, HEADWISE_ACTIVATION_GELU, 700, 40, 170, 40, false, 9},
    {"mlp_gelu_tanh", DENSE_F16, HEADWISE_ACTIVATION_GELU_TANH, 17, 64, 300, 64, true, 5},
    {"mlp_quick", DENSE_BF16, HEADWISE_ACTIVATION_GELU_QUICK, 50, 33, 130, 17, false, 9},
    {"mlp_silu", DENSE_I8, HEADWISE_ACTIVATION_SILU, 9, 80, 1100, 80, true, 1},
    {"mlp_silu_dynamic", DENSE_DYNAMIC, HEADWISE_ACTIVATION_SILU, 130, 80, 290, 80, true, 3},
    {"mlp_relu_dynamic", DENSE_DYNAMIC, HEADWISE_ACTIVATION_RELU, 3, 60, 200, 60, false, 10},
    {"mlp_relu", DENSE_F32, HEADWISE_ACTIVATION_RELU, 1, 1030, 50, 70, false, 2},
    {"linear", DENSE_F32, HEADWISE_ACTIVATION_NONE, 300, 130, 0, 90, false, 0},
    {"linear_tanh", DENSE_F32, HEADWISE_ACTIVATION_TANH, 2, 384, 0, 384, false, 0},
    {"linear_norms", DENSE_F16, HEADWISE_ACTIVATION_NONE, 40, 70, 0, 70, false, 11},
    {"linear_dynamic", DENSE_DYNAMIC, HEADWISE_ACTIVATION_GELU, 31, 270, 0, 48, false, 3},
    {"rows_layer", DENSE_F32, HEADWISE_ACTIVATION_NONE, 333, 0, 0, 500, false, 10},
    {"rows_rms", DENSE_F32, HEADWISE_ACTIVATION_NONE, 5, 0, 0, 77, false, 2},
    {"mlp_gelu_groups", DENSE_GROUPS, HEADWISE_ACTIVATION_GELU, 330, 150, 600, 150, false, 9},
    {"mlp_silu_groups", DENSE_GROUPS, HEADWISE_ACTIVATION_SILU, 2, 70, 290, 40, true, 1},
    {"linear_groups", DENSE_GROUPS, HEADWISE_ACTIVATION_NONE, 20, 1100, 0, 90, false, 0},
};

const char *hash_dense_name(int number) {
    return cases[number].name;
}

static void must(enum headwise_status status) {
    if (status != HEADWISE_OK)
        fail_msg("%s", headwise_last_error());
}

static void run_rows(headwise_context *context, const struct headwise_linear_call *call,
                     int64_t n) {
    const struct headwise_rows rows = {.size = sizeof rows,
                                       .n_rows = call->n_rows,
                                       .n = n,
                                       .x = call->x,
                                       .residual = call->residual,
                                       .y = call->y,
                                       .sum = call->sum,
                                       .norm = call->output_norm};
    must(headwise_normalize_rows(context, &rows));
}

static void run_mlp(headwise_context *context, struct test_rng *rng, const struct dense_case *c,
                    const struct headwise_linear_call *call) {
    struct dense_matrix up = dense_make(rng, c->kind, HEADWISE_OUT_IN, c->d, c->hidden);
    struct dense_matrix gate = dense_make(rng, c->kind, HEADWISE_OUT_IN, c->d, c->hidden);
    struct dense_matrix down = dense_make(rng, c->kind, HEADWISE_OUT_IN, c->hidden, c->out);
    const struct headwise_mlp_config config =
        dense_mlp_config(&up, c->gated ? &gate : NULL, &down, c->activation);
    const struct headwise_mlp_call rows = {.size = sizeof rows,
                                           .n_rows = call->n_rows,
                                           .x = call->x,
                                           .y = call->y,
                                           .input_norm = call->input_norm,
                                           .residual = call->residual,
                                           .output_norm = call->output_norm,
                                           .norm_before_residual = call->norm_before_residual,
                                           .sum = call->sum};
    headwise_mlp *mlp = NULL;
    must(headwise_mlp_create(&mlp, context, &config));
    must(headwise_mlp_forward(context, mlp, &rows));
    headwise_mlp_destroy(mlp);
}

static void run_linear(headwise_context *context, struct test_rng *rng, const struct dense_case *c,
                       const struct headwise_linear_call *call) {
    struct dense_matrix matrix = dense_make(rng, c->kind, HEADWISE_OUT_IN, c->d, c->out);
    headwise_linear *linear = dense_create(context, &matrix);
    dense_run(context, linear, call);
    headwise_linear_destroy(linear);
}

uint64_t hash_dense(headwise_context *context, int number) {
    const struct dense_case *c = &cases[number];
    struct test_rng rng = test_rng_fixed(700 + (uint64_t)number);
    int64_t d = c->d ? c->d : c->out, m = c->rows;
    struct headwise_row_norm before = rows_random_norm(&rng, c->norms & 8 ? 7 : 2, (size_t)d);
    struct headwise_row_norm after = rows_random_norm(&rng, c->norms & 8 ? 7 : 6, (size_t)c->out);
    struct headwise_linear_call call = {
        .size = sizeof call,
        .n_rows = m,
        .x = dense_rows(&rng, m, d, 0),
        .y = dense_no_rows(m, c->out, 0),
        .input_norm = c->norms & 1 ? &before : NULL,
        .activation = c->activation,
        .residual = dense_rows(&rng, m, c->out, 0),
        .output_norm = c->norms & 6 ? &after : NULL,
        .norm_before_residual = (c->norms & 4) != 0,
        .sum = c->norms & 4 ? NULL : dense_no_rows(m, c->out, 0),
    };
    if (c->d == 0)
        run_rows(context, &call, c->out);
    else if (c->hidden > 0)
        run_mlp(context, &rng, c, &call);
    else
        run_linear(context, &rng, c, &call);
    size_t bytes = (size_t)(m * c->out) * sizeof(float);
    uint64_t hash = compare_hash(COMPARE_HASH_BASIS, call.y, bytes);
    return call.sum ? compare_hash(hash, call.sum, bytes) : hash;
}
