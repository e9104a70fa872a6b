/* Queries and keys of rank 1, 2, 4, 8 that point at targets, and truncated maps. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bounds.h"
#include "compare.h"
#include "guard.h"
#include "seed.h"

/* The strongest key of each row by the library, scores = a b with a [n][k], b [k][n]. */
static int64_t *point(enum headwise_isa isa, const float *a, const float *b, int64_t n, int64_t k) {
    float *keys = guard_floats((size_t)(n * k)), *y = guard_floats((size_t)(n * k));
    int64_t *strongest = guard_alloc((size_t)n * sizeof(int64_t), 0);
    for (int64_t i = 0; i < n * k; i++)
        keys[i] = b[i % k * n + i / k];
    const struct headwise_statistics statistics = {.size = sizeof(statistics),
                                                   .strongest = strongest};
    const struct headwise_probe probe = {.size = sizeof(probe), .statistics = &statistics};
    const struct headwise_attention_options one = {
        .size = sizeof(one), .scale_is_set = true, .scale = 1};
    struct headwise_tensor q = headwise_tensor_bhrc(a, HEADWISE_F32, 1, 1, n, k);
    struct headwise_tensor key = headwise_tensor_bhrc(keys, HEADWISE_F32, 1, 1, n, k);
    struct headwise_tensor out = headwise_tensor_bhrc(y, HEADWISE_F32, 1, 1, n, k);
    headwise_context *context = seed_context(isa);
    const struct headwise_attention_call call = {.size = sizeof(call),
                                                 .y = &out,
                                                 .q = &q,
                                                 .k = &key,
                                                 .v = &key,
                                                 .options = &one,
                                                 .probe = &probe};
    assert_int_equal(headwise_attention(context, &call), HEADWISE_OK);
    headwise_context_destroy(context);
    guard_check();
    return strongest;
}

/* How many rows point at their target. Where two scores of a row are closer than their errors (k +
 * 2 roundings each, those of a and b included) the test could not tell: no file has such a row. */
static int64_t count_right(enum headwise_isa isa, const headwise_safetensors *file,
                           const char *name, int64_t n, int64_t k, const int64_t *target) {
    const double *a = vector_f64(file, seed_name(name, ".A"), n * k);
    const double *b = vector_f64(file, seed_name(name, ".B"), k * n);
    const int64_t *strongest = point(isa, vector_f32(file, seed_name(name, ".A"), n * k),
                                     vector_f32(file, seed_name(name, ".B"), k * n), n, k);
    int64_t right = 0;
    for (int64_t i = 0; i < n; i++) {
        double best = -INFINITY, second = -INFINITY, size = 0;
        int64_t at = -1;
        for (int64_t j = 0; j < n; j++) {
            double score = 0, terms = 0;
            for (int64_t t = 0; t < k; t++) {
                score += a[i * k + t] * b[t * n + j];
                terms += fabs(a[i * k + t] * b[t * n + j]);
            }
            size = fmax(size, terms);
            second = fmax(second, fmin(best, score));
            at = score > best ? j : at;
            best = fmax(best, score);
        }
        assert_true(best - second > 2 * bound_gamma((double)k + 2) * size);
        assert_int_equal(strongest[i], at);
        right += strongest[i] == target[i];
    }
    return right;
}

/* "accuracy_by_rank : {"1": 0.1666, "2": 1.0}" */
static double stored_accuracy(const headwise_safetensors *file, const char *name, int rank) {
    const char *text = headwise_safetensors_metadata(file, seed_name(name, ".accuracy_by_rank"));
    const char key[] = {'"', (char)('0' + rank), '"', 0};
    assert_non_null(text);
    text = strstr(text, key);
    return text == NULL ? -1 : strtod(text + strlen(": ") + strlen(key), NULL);
}

static void run_target(enum headwise_isa isa, const headwise_safetensors *file, const char *name) {
    const struct headwise_file_tensor *t = vector_find(file, seed_name(name, ".target"));
    const int64_t n = t->shape[0];
    const int64_t *target = vector_i64(file, seed_name(name, ".target"), n);
    float *q = vector_f32(file, seed_name(name, ".circle.Q"), n * 2);
    const float *k = vector_f32(file, seed_name(name, ".circle.K"), n * 2);
    float *columns = guard_floats((size_t)(2 * n));
    for (int64_t i = 0; i < 2 * n; i++)
        columns[i] = k[i % n * 2 + i / n];
    const int64_t *on_circle = point(isa, q, columns, n, 2);
    for (int64_t i = 0; i < n; i++)
        assert_int_equal(on_circle[i], target[i]);
    int least = 0;
    for (int rank = 1; rank <= 2; rank++) {
        const char *part = seed_name(name, rank == 1 ? ".rank1" : ".rank2");
        if (vector_find(file, seed_name(part, ".A")) == NULL)
            continue;
        int64_t right = count_right(isa, file, part, n, rank, target);
        compare_expect((double)right / (double)n, stored_accuracy(file, name, rank), 1e-12, "%s",
                       part);
        least = least == 0 && right == n ? rank : least;
    }
    assert_int_equal(least, (int)vector_number(file, seed_name(name, ".min_rank"), -1));
}

/* A row counts where its target alone is the largest: a row of zeros has no largest. */
static double accuracy_of_map(enum headwise_isa isa, const headwise_safetensors *file,
                              const char *name, int64_t n, const int64_t *target) {
    const float *map = vector_f32(file, name, n * n);
    float *weights = guard_floats((size_t)(n * n));
    int64_t *strongest = guard_alloc((size_t)n * sizeof(int64_t), 0), right = 0;
    seed_run_logits(isa, map, n, weights, strongest);
    for (int64_t i = 0; i < n; i++) {
        int64_t equals = 0;
        for (int64_t j = 0; j < n; j++)
            equals += weights[i * n + j] == weights[i * n + strongest[i]];
        right += equals == 1 && strongest[i] == target[i];
    }
    return (double)right / (double)n;
}

/* Rows of the table: k, accuracy of the truncated map, its error twice, accuracy after training, of
 * another truncation that is as good, its error. */
static void run_table(enum headwise_isa isa, const headwise_safetensors *file) {
    static const char *const ranks[] = {"2", "4", "8"};
    const double *table = vector_f64(file, "shift12.table", 3 * 7);
    const int64_t *target = vector_i64(file, "shift12.target", 12);
    for (int i = 0; i < 3; i++) {
        const double *row = table + i * 7;
        const char *trained = seed_name("shift12.opt_k", ranks[i]);
        compare_expect(accuracy_of_map(isa, file, seed_name("shift12.svd_k", ranks[i]), 12, target),
                       row[1], 1e-12, "svd of rank %s", ranks[i]);
        compare_expect(
            accuracy_of_map(isa, file, seed_name("shift12.fourier_k", ranks[i]), 12, target),
            row[5], 1e-12, "waves of rank %s", ranks[i]);
        int64_t right = count_right(isa, file, trained, 12, (int64_t)row[0], target);
        compare_expect((double)right / 12, row[4], 1e-12, "%s", trained);
    }
}

void seed_run_circle(enum headwise_isa isa, const headwise_safetensors *file) {
    const char *const names[] = {"const12", "shift12", "perm12_0", "perm12_1", "perm12_2",
                                 "shift4",  "shift8",  "shift16",  "swap2",    "twocol12"};
    for (size_t i = 0; i < TEST_COUNT(names); i++)
        run_target(isa, file, names[i]);
    run_table(isa, file);
}
