/* The layers of the articles' experiments: maps, logits, head outputs, contributions, results. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bounds.h"
#include "compare.h"
#include "guard.h"
#include "seed.h"

static void expect_layer(const struct seed_layer *s, const char *prefix) {
    int64_t map = s->heads * s->rows * s->rows, rows = s->heads * s->rows;
    seed_expect_tensor(s, s->probe.weights, seed_name(prefix, "attn"), map);
    seed_expect_tensor(s, s->probe.scores, seed_name(prefix, "logits"), map);
    seed_expect_tensor(s, s->probe.head_outputs, seed_name(prefix, "heads"),
                       rows * s->config.value_dim);
    seed_expect_tensor(s, s->probe.contributions, seed_name(prefix, "contrib"),
                       rows * s->config.d_out);
}

/* Over the heads, contributions sum to the result. */
static void expect_sum_of_contributions(const struct seed_layer *s) {
    int64_t n = s->rows * s->config.d_out;
    double *sum = guard_plain((size_t)n, sizeof(double));
    for (int64_t h = 0; h < s->heads; h++)
        for (int64_t i = 0; i < n; i++)
            sum[i] += (double)s->probe.contributions[h * n + i];
    seed_expect(s->y, sum, n, 0, "sum of contributions");
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
        compare_expect((double)row[index[r]], weight[r], SEED_BOUND, "strongest of row %d", (int)r);
        for (int64_t j = 0; j < s->rows; j++)
            assert_true(j == r % s->rows || (double)row[j] <= weight[r] + SEED_BOUND);
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

/* Of the articles' own float64 matrices, which were rounded to f32 for the layer: what the rounding
 * changes is in the file. */
static void expect_original(const struct seed_layer *s) {
    int64_t map = s->heads * s->rows * s->rows, out = s->rows * s->config.d_out;
    if (vector_find(s->file, "attn_orig") == NULL)
        return;
    seed_expect(s->probe.weights, vector_f64(s->file, "attn_orig", map), map,
                vector_number(s->file, "rounding_effect_attn", 0), "attn_orig");
    seed_expect(s->y, vector_f64(s->file, "out_orig", out), out,
                vector_number(s->file, "rounding_effect_out", 0), "out_orig");
}

/* The eight strongest keys of row 1, where the file names them, in this order. */
static void expect_top(const struct seed_layer *s) {
    if (vector_find(s->file, "top8_index") == NULL)
        return;
    const int64_t *top = vector_i64(s->file, "top8_index", 8);
    const float *row = s->probe.weights + s->rows;
    for (int64_t j = 0; j < s->rows; j++) {
        int64_t rank = 0;
        while (rank < 8 && top[rank] != j)
            rank++;
        for (int64_t r = 0; r < 8 && r < rank; r++)
            assert_true(row[top[r]] > row[j]);
    }
}

/* Tables of sinusoids, float64, which headwise_sinusoidal_table() rounds once. */
static void expect_sinusoids(const struct seed_layer *s) {
    static const char *const names[] = {"pe_12x64", "pe_6x4"};
    for (size_t t = 0; t < TEST_COUNT(names); t++) {
        const struct headwise_file_tensor *table = vector_find(s->file, names[t]);
        if (table == NULL)
            continue;
        const int64_t n = table->shape[0], d = table->shape[1];
        const double *want = vector_f64(s->file, names[t], n * d);
        float *got = guard_floats((size_t)(n * d));
        assert_int_equal(headwise_sinusoidal_table(got, n, d), HEADWISE_OK);
        for (int64_t i = 0; i < n * d; i++)
            compare_expect((double)got[i], want[i], bound_rounding(HEADWISE_F32, want[i]) + 1e-15,
                           "%s, element %d", names[t], (int)i);
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
        seed_run(isa, s);
        seed_expect(s->y, want + m * out, out, 0, "out_masked");
    }
    s->gates = NULL;
}

static void run_plain(enum headwise_isa isa, const headwise_safetensors *file) {
    int64_t heads = (int64_t)vector_number(file, "num_heads", 0);
    struct seed_layer s =
        seed_load(file, "", heads, (int64_t)vector_number(file, "num_kv_heads", (double)heads));
    seed_run(isa, &s);
    expect_layer(&s, "");
    seed_expect_tensor(&s, s.y, "out", s.rows * s.config.d_out);
    expect_sum_of_contributions(&s);
    expect_strongest(&s);
    expect_shift(&s);
    expect_original(&s);
    expect_top(&s);
    expect_sinusoids(&s);
    seed_expect_heads(isa, &s, "");
    expect_gated(isa, &s);
}

/* One set of matrices is read as 1, 2, 4 ... 64 heads. */
static void run_sweep(enum headwise_isa isa, const headwise_safetensors *file) {
    for (int64_t heads = 1; heads <= 64; heads *= 2) {
        char prefix[16];
        struct seed_layer s = seed_load(file, "", heads, heads);
        snprintf(prefix, sizeof(prefix), "h%d.", (int)heads);
        seed_run(isa, &s);
        expect_layer(&s, prefix);
        seed_expect(s.y, vector_f64(file, seed_name(prefix, "out"), s.rows * s.config.d_out),
                    s.rows * s.config.d_out, 0, prefix);
        seed_expect_heads(isa, &s, prefix);
    }
}

/* A batch of 400; the map is the same for each entry, the result is stored for the first two. */
static void run_two_targets(enum headwise_isa isa, const headwise_safetensors *file) {
    const char *const prefixes[] = {"h2.", "h1_a100.", "h1_a050."};
    for (int p = 0; p < 3; p++) {
        int64_t heads = (int64_t)vector_number(file, seed_name(prefixes[p], "num_heads"), 0);
        struct seed_layer s = seed_load(file, prefixes[p], heads, heads);
        seed_run(isa, &s);
        int64_t map = heads * s.rows * s.rows, out = 2 * s.rows * s.config.d_out;
        const double *attn = vector_f64(file, seed_name(prefixes[p], "attn"), map);
        for (int64_t b = 0; b < s.batch; b++)
            seed_expect(s.probe.weights + b * map, attn, map, 0, prefixes[p]);
        seed_expect(s.y, vector_f64(file, seed_name(prefixes[p], "out"), out), out, 0, prefixes[p]);
    }
    seed_run_mixtures(isa, file);
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
    const struct headwise_attention_options window = {.size = sizeof(window),
                                                      .window_is_set = true};
    struct headwise_context_options options = {.size = sizeof(options), .isa = isa};
    struct headwise_tensor in = headwise_tensor_brhc(x, HEADWISE_F32, 1, rows, 1, width);
    struct headwise_tensor out = headwise_tensor_brhc(y, HEADWISE_F32, 1, rows, 1, d_out);
    headwise_context *context = NULL;
    headwise_mha *mha = NULL;
    assert_int_equal(headwise_context_create(&context, &options), HEADWISE_OK);
    assert_int_equal(headwise_mha_create(&mha, context, &config), HEADWISE_OK);
    const struct headwise_attention_call call = {
        .size = sizeof(call), .y = &out, .x = &in, .options = &window, .probe = &probe};
    assert_int_equal(headwise_mha_forward(context, mha, &call), HEADWISE_OK);
    headwise_mha_destroy(mha);
    headwise_context_destroy(context);
    seed_expect(y, vector_f64(file, "out", rows * d_out), rows * d_out, 0, "out");
    seed_expect(probe.contributions, vector_f64(file, "contrib", heads * rows * d_out),
                heads * rows * d_out, 0, "contrib");
}

/* Which test a file belongs to: the first whose tensor it has. */
static void run_file(enum headwise_isa isa, const void *path) {
    static const struct {
        const char *tensor;
        void (*run)(enum headwise_isa isa, const headwise_safetensors *file);
    } kinds[] = {{"h64.out", run_sweep},      {"h2.W_Q", run_two_targets},
                 {"concat", run_concat},      {"shift12.circle.Q", seed_run_circle},
                 {"counts", seed_run_counts}, {"formula", seed_run_curve},
                 {"targets", seed_run_reach}, {"W_Q", run_plain}};
    headwise_safetensors *file = vector_open(path);
    for (size_t i = 0; i < TEST_COUNT(kinds); i++) {
        if (vector_find(file, kinds[i].tensor) != NULL) {
            kinds[i].run(isa, file);
            headwise_safetensors_close(file);
            return;
        }
    }
    fail_msg("no test knows what is in %s", (const char *)path);
}

int main(void) {
    const char *const folders[] = {"seeds"};
    size_t n;
    const struct test_case *cases = vector_cases(folders, 1, NULL, run_file, &n);
    return vector_run(cases, n);
}
