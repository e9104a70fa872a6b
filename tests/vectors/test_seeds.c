/* The layers of the articles' experiments: maps, logits, head outputs, contributions, results. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "compare.h"
#include "guard.h"
#include "vector_file.h"

/* What the files promise: 2e-6 on a map, and on everything else relative to its largest value. */
static const double file_bound = 2e-6;

static double largest(const double *x, int64_t n) {
    double m = 1;
    for (int64_t i = 0; i < n; i++)
        m = fabs(x[i]) > m ? fabs(x[i]) : m;
    return m;
}

static void expect_values(const float *got, const double *want, int64_t n, const char *what) {
    double bound = file_bound * largest(want, n);
    for (int64_t i = 0; i < n; i++)
        compare_expect((double)got[i], want[i], bound, "%s, element %lld", what, (long long)i);
}

/* A stored layer and its run. All files have y = x W. */
struct seed_layer {
    const headwise_safetensors *file;
    struct headwise_mha_config config;
    int64_t batch, rows, heads;
    const float *x;
    const float *gates;
    float *y;
    struct headwise_probe probe; /* what the file does not hold is computed all the same */
};

static const char *joined(const char *prefix, const char *name) {
    char *text = guard_plain(96, 1);
    snprintf(text, 96, "%s%s", prefix, name);
    return text;
}

/* Matrices are called prefix W_Q and so on. */
static struct seed_layer load_layer(const headwise_safetensors *file, const char *prefix,
                                    int64_t heads, int64_t kv_heads) {
    struct seed_layer s = {.file = file, .batch = 1, .heads = heads};
    const struct headwise_file_tensor *x = vector_find(file, "X");
    const struct headwise_file_tensor *w_v = vector_find(file, joined(prefix, "W_V"));
    const struct headwise_file_tensor *w_q = vector_find(file, joined(prefix, "W_Q"));
    const struct headwise_file_tensor *w_o = vector_find(file, joined(prefix, "W_O"));
    assert_true(x != NULL && w_q != NULL && w_v != NULL && w_o != NULL);
    if (x->rank == 3)
        s.batch = x->shape[0];
    s.rows = x->shape[x->rank - 2];
    s.x = vector_f32(file, "X", -1);
    s.config = (struct headwise_mha_config){
        .size = sizeof(s.config),
        .d_model = x->shape[x->rank - 1],
        .d_out = w_o->shape[1],
        .n_heads = heads,
        .n_kv_heads = kv_heads,
        .head_dim = w_q->shape[1] / heads,
        .value_dim = w_v->shape[1] / kv_heads,
        .layout = HEADWISE_IN_OUT,
        .w_q = vector_f32(file, joined(prefix, "W_Q"), -1),
        .w_k = vector_f32(file, joined(prefix, "W_K"), -1),
        .w_v = vector_f32(file, joined(prefix, "W_V"), -1),
        .w_o = vector_f32(file, joined(prefix, "W_O"), -1),
    };
    return s;
}

static void run_layer(enum headwise_isa isa, struct seed_layer *s) {
    size_t queries = (size_t)(s->batch * s->rows), rows = queries * (size_t)s->heads;
    headwise_context *context = NULL;
    headwise_mha *mha = NULL;
    struct headwise_context_options options = {.size = sizeof(options), .isa = isa, .n_threads = 2};
    s->y = guard_floats(queries * (size_t)s->config.d_out);
    s->probe = (struct headwise_probe){
        .size = sizeof(s->probe),
        .weights = guard_floats(rows * (size_t)s->rows),
        .scores = guard_floats(rows * (size_t)s->rows),
        .head_outputs = guard_floats(rows * (size_t)s->config.value_dim),
        .contributions = guard_floats(rows * (size_t)s->config.d_out),
    };
    struct headwise_attention_options call = {
        .size = sizeof(call), .head_gates = s->gates, .probe = &s->probe};
    struct headwise_tensor x =
        headwise_tensor_brhc(s->x, HEADWISE_F32, s->batch, s->rows, 1, s->config.d_model);
    struct headwise_tensor y =
        headwise_tensor_brhc(s->y, HEADWISE_F32, s->batch, s->rows, 1, s->config.d_out);
    assert_int_equal(headwise_context_create(&context, &options), HEADWISE_OK);
    if (headwise_mha_create(&mha, context, &s->config) != HEADWISE_OK ||
        headwise_mha_forward(context, mha, &y, &x, NULL, &call) != HEADWISE_OK)
        fail_msg("%s", headwise_last_error());
    headwise_mha_destroy(mha);
    headwise_context_destroy(context);
    guard_check();
}

/* Compares an output with the tensor of that name, where the file has it. */
static void expect_tensor(const struct seed_layer *s, const float *got, const char *name,
                          int64_t n) {
    if (vector_find(s->file, name) != NULL)
        expect_values(got, vector_f64(s->file, name, n), n, name);
}

static void expect_layer(const struct seed_layer *s, const char *prefix) {
    int64_t map = s->heads * s->rows * s->rows, rows = s->heads * s->rows;
    expect_tensor(s, s->probe.weights, joined(prefix, "attn"), map);
    expect_tensor(s, s->probe.scores, joined(prefix, "logits"), map);
    expect_tensor(s, s->probe.head_outputs, joined(prefix, "heads"), rows * s->config.value_dim);
    expect_tensor(s, s->probe.contributions, joined(prefix, "contrib"), rows * s->config.d_out);
}

/* Over the heads, contributions sum to the result. */
static void expect_sum_of_contributions(const struct seed_layer *s) {
    int64_t n = s->rows * s->config.d_out;
    double *sum = guard_plain((size_t)n, sizeof(double));
    for (int64_t h = 0; h < s->heads; h++)
        for (int64_t i = 0; i < n; i++)
            sum[i] += (double)s->probe.contributions[h * n + i];
    expect_values(s->y, sum, n, "sum of contributions");
}

/* The strongest other token of each row, where the file names it (two may be equally strong). */
static void expect_strongest(const struct seed_layer *s) {
    if (vector_find(s->file, "strongest_index") == NULL)
        return;
    int64_t rows = s->heads * s->rows;
    const int64_t *index = vector_i64(s->file, "strongest_index", rows);
    const double *weight = vector_f64(s->file, "strongest_weight", rows);
    for (int64_t r = 0; r < rows; r++) {
        const float *row = s->probe.weights + r * s->rows;
        compare_expect((double)row[index[r]], weight[r], file_bound, "strongest of row %d", (int)r);
        for (int64_t j = 0; j < s->rows; j++)
            assert_true(j == r % s->rows || (double)row[j] <= weight[r] + file_bound);
    }
}

/* Row i of head h peaks at column i - shift, where the file says so. */
static void expect_shift(const struct seed_layer *s) {
    if (vector_find(s->file, "shift") == NULL)
        return;
    const int64_t *shift = vector_i64(s->file, "shift", s->heads);
    for (int64_t h = 0; h < s->heads; h++)
        for (int64_t i = shift[h]; i < s->rows; i++) {
            const float *row = s->probe.weights + (h * s->rows + i) * s->rows;
            for (int64_t j = 0; j < s->rows; j++)
                assert_true(j == i - shift[h] || row[j] < row[i - shift[h]]);
        }
}

/* head_mask [n, H]: the result with only some heads' terms. */
static void expect_gated(enum headwise_isa isa, struct seed_layer *s) {
    const struct headwise_file_tensor *masks = vector_find(s->file, "head_mask");
    if (masks == NULL)
        return;
    int64_t n = masks->shape[0], out = s->rows * s->config.d_out;
    const float *gates = vector_f32(s->file, "head_mask", n * s->heads);
    const double *want = vector_f64(s->file, "out_masked", n * out);
    for (int64_t m = 0; m < n; m++) {
        s->gates = gates + m * s->heads;
        run_layer(isa, s);
        expect_values(s->y, want + m * out, out, "out_masked");
    }
    s->gates = NULL;
}

static void run_plain(enum headwise_isa isa, const headwise_safetensors *file) {
    int64_t heads = (int64_t)vector_number(file, "num_heads", 0);
    struct seed_layer s =
        load_layer(file, "", heads, (int64_t)vector_number(file, "num_kv_heads", (double)heads));
    run_layer(isa, &s);
    expect_layer(&s, "");
    expect_tensor(&s, s.y, "out", s.rows * s.config.d_out);
    expect_sum_of_contributions(&s);
    expect_strongest(&s);
    expect_shift(&s);
    expect_gated(isa, &s);
}

/* The same matrices read as 1, 2, 4 ... 64 heads. */
static void run_sweep(enum headwise_isa isa, const headwise_safetensors *file) {
    for (int64_t heads = 1; heads <= 64; heads *= 2) {
        char prefix[16];
        struct seed_layer s = load_layer(file, "", heads, heads);
        snprintf(prefix, sizeof(prefix), "h%d.", (int)heads);
        run_layer(isa, &s);
        expect_layer(&s, prefix);
        expect_values(s.y, vector_f64(file, joined(prefix, "out"), s.rows * s.config.d_out),
                      s.rows * s.config.d_out, prefix);
    }
}

/* A batch of 400; the map is the same for each entry, the result is stored for the first two. */
static void run_two_targets(enum headwise_isa isa, const headwise_safetensors *file) {
    const char *const prefixes[] = {"h2.", "h1_a100.", "h1_a050."};
    for (int p = 0; p < 3; p++) {
        int64_t heads = (int64_t)vector_number(file, joined(prefixes[p], "num_heads"), 0);
        struct seed_layer s = load_layer(file, prefixes[p], heads, heads);
        run_layer(isa, &s);
        int64_t map = heads * s.rows * s.rows, out = 2 * s.rows * s.config.d_out;
        const double *attn = vector_f64(file, joined(prefixes[p], "attn"), map);
        for (int64_t b = 0; b < s.batch; b++)
            expect_values(s.probe.weights + b * map, attn, map, prefixes[p]);
        expect_values(s.y, vector_f64(file, joined(prefixes[p], "out"), out), out, prefixes[p]);
    }
}

/* Given head outputs times a W_O that is not square: with the unit matrix as W_V and a window of
 * nothing but itself, each head gives its own columns of x. */
static void run_concat(enum headwise_isa isa, const headwise_safetensors *file) {
    const int64_t heads = 4, rows = 5, dim = 4, d_out = 8, width = heads * dim;
    const float *parts = vector_f32(file, "heads", heads * rows * dim);
    float *x = guard_floats((size_t)(rows * width)), *unit = guard_floats((size_t)(width * width));
    float *y = guard_floats((size_t)(rows * d_out));
    struct headwise_probe probe = {.size = sizeof(probe),
                                   .contributions = guard_floats((size_t)(heads * rows * d_out))};
    for (int64_t i = 0; i < rows * width; i++)
        x[i] = parts[(i % width / dim * rows + i / width) * dim + i % dim];
    for (int64_t i = 0; i < width * width; i++)
        unit[i] = i / width == i % width;
    struct headwise_mha_config config = {.size = sizeof(config),
                                         .d_model = width,
                                         .d_out = d_out,
                                         .n_heads = heads,
                                         .layout = HEADWISE_IN_OUT,
                                         .w_q = unit,
                                         .w_k = unit,
                                         .w_v = unit,
                                         .w_o = vector_f32(file, "W_O", width * d_out)};
    struct headwise_attention_options call = {
        .size = sizeof(call), .window_is_set = true, .probe = &probe};
    struct headwise_context_options options = {.size = sizeof(options), .isa = isa};
    struct headwise_tensor in = headwise_tensor_brhc(x, HEADWISE_F32, 1, rows, 1, width);
    struct headwise_tensor out = headwise_tensor_brhc(y, HEADWISE_F32, 1, rows, 1, d_out);
    headwise_context *context = NULL;
    headwise_mha *mha = NULL;
    assert_int_equal(headwise_context_create(&context, &options), HEADWISE_OK);
    assert_int_equal(headwise_mha_create(&mha, context, &config), HEADWISE_OK);
    assert_int_equal(headwise_mha_forward(context, mha, &out, &in, NULL, &call), HEADWISE_OK);
    headwise_mha_destroy(mha);
    headwise_context_destroy(context);
    expect_values(y, vector_f64(file, "out", rows * d_out), rows * d_out, "out");
    expect_values(probe.contributions, vector_f64(file, "contrib", heads * rows * d_out),
                  heads * rows * d_out, "contrib");
}

/* Queries and keys on a circle: rank 2 points each row at any key. */
static void run_circle(enum headwise_isa isa, const headwise_safetensors *file) {
    const char *const names[] = {"const12", "shift12", "perm12_0", "perm12_1", "perm12_2",
                                 "shift4",  "shift8",  "shift16",  "swap2",    "twocol12"};
    for (size_t c = 0; c < TEST_COUNT(names); c++) {
        const struct headwise_file_tensor *target = vector_find(file, joined(names[c], ".target"));
        int64_t n = target->shape[0];
        const int64_t *want = vector_i64(file, joined(names[c], ".target"), n);
        float *q = vector_f32(file, joined(names[c], ".circle.Q"), n * 2);
        float *k = vector_f32(file, joined(names[c], ".circle.K"), n * 2);
        float *y = guard_floats((size_t)(n * 2)), *weights = guard_floats((size_t)(n * n));
        struct headwise_probe probe = {.size = sizeof(probe), .weights = weights};
        struct headwise_attention_options call = {
            .size = sizeof(call), .scale_is_set = true, .scale = 1, .probe = &probe};
        struct headwise_tensor tensors[] = {headwise_tensor_bhrc(y, HEADWISE_F32, 1, 1, n, 2),
                                            headwise_tensor_bhrc(q, HEADWISE_F32, 1, 1, n, 2),
                                            headwise_tensor_bhrc(k, HEADWISE_F32, 1, 1, n, 2)};
        struct headwise_context_options options = {.size = sizeof(options), .isa = isa};
        headwise_context *context = NULL;
        assert_int_equal(headwise_context_create(&context, &options), HEADWISE_OK);
        assert_int_equal(
            headwise_attention(context, &tensors[0], &tensors[1], &tensors[2], &tensors[2], &call),
            HEADWISE_OK);
        headwise_context_destroy(context);
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < n; j++)
                if (j != want[i] && weights[i * n + j] >= weights[i * n + want[i]])
                    fail_msg("%s: row %d points at %d, not at %d", names[c], (int)i, (int)j,
                             (int)want[i]);
    }
}

static void run_file(enum headwise_isa isa, const void *path) {
    headwise_safetensors *file = vector_open(path);
    if (vector_find(file, "h64.out") != NULL)
        run_sweep(isa, file);
    else if (vector_find(file, "h2.W_Q") != NULL)
        run_two_targets(isa, file);
    else if (vector_find(file, "concat") != NULL)
        run_concat(isa, file);
    else if (vector_find(file, "shift12.circle.Q") != NULL)
        run_circle(isa, file);
    else
        run_plain(isa, file);
    headwise_safetensors_close(file);
}

/* Files with a layer, a concatenation or queries and keys: not the tables of counts and reaches. */
static bool concerns_attention(const headwise_safetensors *file) {
    return vector_find(file, "W_Q") != NULL || vector_find(file, "h2.W_Q") != NULL ||
           vector_find(file, "concat") != NULL || vector_find(file, "shift12.circle.Q") != NULL;
}

int main(void) {
    const char *const folders[] = {"seeds"};
    size_t n;
    const struct test_case *cases = vector_cases(folders, 1, concerns_attention, run_file, &n);
    return vector_run(cases, n);
}
