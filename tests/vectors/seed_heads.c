/* Similarity, losses, prunings and ranks of a seed's layer. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "calls/rank.h"
#include "compare.h"
#include "guard.h"
#include "seed.h"

/* The norm of a map's entries off the diagonal, less their mean. */
static double centred_norm(const double *map, int64_t n) {
    double sum = 0, square = 0, count = (double)(n * (n - 1));
    for (int64_t i = 0; i < n * n; i++)
        sum += i / n == i % n ? 0 : map[i];
    for (int64_t i = 0; i < n * n; i++)
        square += i / n == i % n ? 0 : pow(map[i] - sum / count, 2);
    return sqrt(square);
}

/* Maps that are off by SEED_BOUND in each entry: a change d of a centred vector v turns it by at
 * most 2 |d| / |v|, and a correlation is the cosine between two. */
static void expect_correlation(headwise_context *context, const headwise_mha *mha,
                               const struct seed_layer *s) {
    if (vector_find(s->file, "offdiag_corr") == NULL)
        return;
    const int64_t n = s->rows, heads = s->heads, dim = s->config.head_dim;
    const double *want = vector_f64(s->file, "offdiag_corr", heads * heads);
    const double *maps = vector_f64(s->file, "attn", heads * n * n);
    double *got = guard_alloc((size_t)(heads * heads) * sizeof(double), 0);
    float *queries = guard_floats((size_t)(n * heads * dim));
    float *keys = guard_floats((size_t)(n * heads * dim));
    struct headwise_tensor x = headwise_tensor_brhc(s->x, HEADWISE_F32, 1, n, 1, s->config.d_model);
    struct headwise_tensor q = headwise_tensor_bhrc(queries, HEADWISE_F32, 1, heads, n, dim);
    struct headwise_tensor k = headwise_tensor_bhrc(keys, HEADWISE_F32, 1, heads, n, dim);
    const struct headwise_attention_call call = {.size = sizeof(call), .q = &q, .k = &k, .x = &x};
    assert_int_equal(headwise_mha_project(context, mha, &call), HEADWISE_OK);
    assert_int_equal(headwise_map_correlation(context, got, &call), HEADWISE_OK);
    double change = SEED_BOUND * sqrt((double)(n * (n - 1)));
    for (int64_t i = 0; i < heads * heads; i++) {
        double g = centred_norm(maps + i / heads * n * n, n);
        double h = centred_norm(maps + i % heads * n * n, n);
        compare_expect(got[i], want[i], 2 * change * (1 / g + 1 / h), "correlation of %d and %d",
                       (int)(i / heads), (int)(i % heads));
    }
}

static double norm(const double *x, int64_t n) {
    double square = 0;
    for (int64_t i = 0; i < n; i++)
        square += x[i] * x[i];
    return sqrt(square);
}

/* What the output loses with each head: by the gram of contributions. */
static void expect_losses(headwise_context *context, const headwise_mha *mha,
                          const struct seed_layer *s) {
    if (vector_find(s->file, "loss_of_drop") == NULL)
        return;
    const int64_t heads = s->heads, n = s->rows * s->config.d_out;
    const double *want = vector_f64(s->file, "loss_of_drop", heads);
    const double *out = vector_f64(s->file, "out", n);
    const double *contrib = vector_f64(s->file, "contrib", heads * n);
    double *gram = guard_alloc((size_t)(heads * heads) * sizeof(double), 0);
    int64_t *all = guard_plain((size_t)heads, sizeof(int64_t));
    for (int64_t h = 0; h < heads; h++)
        all[h] = h;
    assert_int_equal(
        headwise_contribution_gram(context, mha, gram, s->probe.head_outputs, 1, s->rows),
        HEADWISE_OK);
    double whole = headwise_gram_change(gram, heads, all, heads), exact = norm(out, n);
    double out_error = seed_bound(out, n) * sqrt((double)n);
    double term_error = seed_bound(contrib, heads * n) * sqrt((double)n);
    for (int64_t h = 0; h < heads; h++)
        compare_expect(headwise_gram_change(gram, heads, &h, 1) / whole, want[h],
                       (term_error + want[h] * out_error) / (exact - out_error), "loss of head %d",
                       (int)h);
}

/* The layer without a head, whose rows of W_O go to another one or to none. */
static void expect_pruned(headwise_context *context, const headwise_mha *mha,
                          const struct seed_layer *s, int64_t head, int64_t heir,
                          const char *name) {
    const int64_t n = s->rows * s->config.d_out;
    const struct headwise_prune_options options = {
        .size = sizeof(options), .heads = &head, .n_heads = 1, .merge_into = &heir};
    struct seed_layer small = *s;
    headwise_mha *pruned = NULL;
    if (vector_find(s->file, name) == NULL)
        return;
    assert_int_equal(headwise_mha_prune(&pruned, context, mha, &options), HEADWISE_OK);
    seed_forward(context, pruned, &small);
    headwise_mha_destroy(pruned);
    seed_expect(small.y, vector_f64(s->file, name, n), n, 0, name);
}

/* Number i of a list in the metadata, or of a tensor; -1: the file has none. */
static int64_t stored_rank(const struct seed_layer *s, const char *name, int64_t i) {
    const char *text = headwise_safetensors_metadata(s->file, name);
    if (vector_find(s->file, name) != NULL)
        return vector_i64(s->file, name, s->heads)[i];
    for (; text != NULL && i > 0; i--)
        text = strchr(text, ' ') == NULL ? NULL : strchr(text, ' ') + 1;
    return text == NULL ? -1 : strtoll(text, NULL, 10);
}

/* Ranks of f32 matrices, n of them, one after the other. What a file counts is at least 1e-3 of the
 * largest singular value or 0 but for rounding, and rank.h's limit lies between. */
static void expect_ranks(const struct seed_layer *s, const char *name, const float *matrices,
                         int64_t n, int64_t columns) {
    for (int64_t i = 0; i < n; i++) {
        int64_t want = stored_rank(s, name, i);
        int64_t got = matrix_rank(matrices + i * s->rows * columns, s->rows, columns, columns);
        if (want >= 0 && got != want)
            fail_msg("%s, matrix %d: rank %d, expected %d", name, (int)i, (int)got, (int)want);
    }
}

void seed_expect_heads(enum headwise_isa isa, const struct seed_layer *s, const char *prefix) {
    headwise_context *context = seed_context(isa);
    headwise_mha *mha = seed_create(context, s);
    expect_correlation(context, mha, s);
    expect_losses(context, mha, s);
    expect_pruned(context, mha, s, 5, 2, "out_prune5_merge2");
    expect_pruned(context, mha, s, 6, 3, "out_prune6_merge3");
    expect_pruned(context, mha, s, 0, -1, "out_drop0");
    headwise_mha_destroy(mha);
    headwise_context_destroy(context);
    expect_ranks(s, seed_name(prefix, "logit_rank"), s->probe.scores, s->heads, s->rows);
    expect_ranks(s, seed_name(prefix, "attn_rank"), s->probe.weights, s->heads, s->rows);
    expect_ranks(s, seed_name(prefix, "head_out_rank"), s->probe.head_outputs, s->heads,
                 s->config.value_dim);
    expect_ranks(s, seed_name(prefix, "contrib_rank"), s->probe.contributions, s->heads,
                 s->config.d_out);
    expect_ranks(s, seed_name(prefix, "out_rank"), s->y, 1, s->config.d_out);
    guard_check();
}
