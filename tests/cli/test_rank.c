/* tools/calls/rank.c against matrices of known rank. */
#include "calls/rank.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "rng.h"
#include "runner.h"

enum { MOST = 130 * 130 };

/* m x n of rank min(m, n, r): the sum of r products of random columns and rows, in f64, rounded to
 * f32 at the end. Columns from n on are NaN: they are not the matrix's. */
static void fill(float *matrix, int64_t m, int64_t n, int64_t r, int64_t stride, double scale) {
    static float left[MOST], right[MOST];
    struct test_rng rng = test_rng_make((uint64_t)(m * 10007 + n * 101 + r));
    test_rng_fill(&rng, left, (size_t)(m * r), 1.0f);
    test_rng_fill(&rng, right, (size_t)(r * n), 1.0f);
    for (int64_t i = 0; i < m; i++) {
        for (int64_t j = 0; j < stride; j++) {
            double sum = j < n ? 0.0 : NAN;
            for (int64_t t = 0; j < n && t < r; t++)
                sum += (double)left[i * r + t] * (double)right[t * n + j];
            matrix[i * stride + j] = (float)(sum * scale);
        }
    }
}

static void counts_directions(enum headwise_isa isa) {
    (void)isa;
    static const int64_t sides[] = {1, 2, 16, 63, 128};
    static const double scales[] = {1.0, 0x1p-120, 0x1p120};
    static float matrix[MOST];
    for (int at = 0; at < 5 * 5 * 3; at++) {
        int64_t m = sides[at / 15], n = sides[at / 3 % 5], most = m < n ? m : n;
        int64_t ranks[] = {0, 1, 2, most / 2, most - 1, most};
        for (size_t i = 0; i < TEST_COUNT(ranks); i++) {
            if (ranks[i] > most)
                continue;
            fill(matrix, m, n, ranks[i], n + 2, scales[at % 3]);
            assert_int_equal(matrix_rank(matrix, m, n, n + 2), ranks[i]);
        }
    }
}

/* The rule itself: a diagonal's values are its elements. */
static void draws_the_line_where_it_says(enum headwise_isa isa) {
    (void)isa;
    enum { M = 8, N = 24 };
    float matrix[M * N] = {0}, line = 4.0f * (N * FLT_EPSILON);
    matrix[0] = -4.0f;
    matrix[1 * N + 1] = line * 1.001f;
    matrix[2 * N + 2] = line;
    matrix[3 * N + 3] = line * 0.999f;
    double values[M];
    assert_int_equal(matrix_rank_values(values, matrix, M, N, N), 2);
    const double expected[M] = {4.0, (double)(line * 1.001f), (double)line,
                                (double)(line * 0.999f)};
    for (int i = 0; i < M; i++)
        assert_true(fabs(values[i] - expected[i]) <= 4.0 * DBL_EPSILON * 4.0);
    matrix[0] = -3.9f; /* the line moves with the greatest */
    assert_int_equal(matrix_rank(matrix, M, N, N), 4);
}

static void has_rank_0_without_elements(enum headwise_isa isa) {
    (void)isa;
    float one = 1.0f, zeros[6] = {0};
    assert_int_equal(matrix_rank(&one, 0, 5, 5), 0);
    assert_int_equal(matrix_rank(&one, 5, 0, 0), 0);
    assert_int_equal(matrix_rank(zeros, 2, 3, 3), 0);
    assert_int_equal(matrix_rank(&one, 1, 1, 1), 1);
}

static void refuses_what_has_no_rank(enum headwise_isa isa) {
    (void)isa;
    float matrix[6] = {1, 2, 3, 4, 5, 6};
    matrix[4] = NAN;
    assert_int_equal(matrix_rank(matrix, 2, 3, 3), RANK_NOT_FINITE);
    matrix[4] = -INFINITY;
    assert_int_equal(matrix_rank(matrix, 2, 3, 3), RANK_NOT_FINITE);
    assert_string_equal(rank_failure_text(RANK_NOT_FINITE), "a number is infinite or NaN");
    double value;
    assert_int_equal(matrix_rank_values(&value, matrix, 1, INT64_C(1) << 31, INT64_C(1) << 31),
                     RANK_TOO_LARGE);
    assert_int_equal(matrix_rank_values(&value, matrix, INT64_C(1) << 31, 1, 1), RANK_TOO_LARGE);
}

/* A B^T against the rank of the product itself; sizes on both sides of the inner one. */
static void counts_directions_of_products(enum headwise_isa isa) {
    (void)isa;
    static const int64_t sides[] = {1, 3, 8, 40};
    static float a[MOST], b[MOST], product[MOST];
    for (int at = 0; at < 4 * 4 * 4; at++) {
        int64_t m = sides[at / 16], n = sides[at / 4 % 4], inner = sides[at % 4];
        int64_t most = m < n ? m : n;
        most = most < inner ? most : inner;
        /* Up to half of the inner side: square random matrices may be singular to f32. */
        for (int64_t r = 0; r <= (inner + 1) / 2; r++) {
            fill(a, m, inner, r, inner + 1, 1.0);
            fill(b, n, inner, inner, inner + 1, 0x1p20);
            int64_t expected = most < r ? most : r;
            assert_int_equal(product_rank(a, m, b, n, inner, inner + 1), expected);
            for (int64_t i = 0; i < m * n; i++) {
                double sum = 0.0;
                for (int64_t t = 0; t < inner; t++)
                    sum += (double)a[i / n * (inner + 1) + t] * (double)b[i % n * (inner + 1) + t];
                product[i] = (float)sum;
            }
            assert_int_equal(matrix_rank(product, m, n, n), expected);
        }
    }
    a[0] = NAN;
    assert_int_equal(product_rank(a, 2, b, 2, 2, 2), RANK_NOT_FINITE);
    assert_int_equal(product_rank(b, 2, a, 2, 2, 2), RANK_NOT_FINITE);
    assert_int_equal(product_rank(a, 0, b, 2, 2, 2), 0);
    assert_int_equal(product_rank(a, INT64_C(1) << 31, b, 1, 1, 1), RANK_TOO_LARGE);
}

/* The line is drawn by the sides of A B^T, not by those of its factors: 2^-23 * 1000 * 1. */
static void draws_the_line_of_products(enum headwise_isa isa) {
    (void)isa;
    enum { ROWS = 1000 };
    static float a[ROWS * 2], b[4] = {1, 0, 0, 1};
    a[0] = 1;
    a[3] = ROWS * FLT_EPSILON * 0.99f;
    assert_int_equal(product_rank(a, ROWS, b, 2, 2, 2), 1);
    a[3] = ROWS * FLT_EPSILON * 1.01f;
    assert_int_equal(product_rank(a, ROWS, b, 2, 2, 2), 2);
}

int main(void) {
    const struct test_case cases[] = {
        TEST_CASE(counts_directions),
        TEST_CASE(draws_the_line_where_it_says),
        TEST_CASE(has_rank_0_without_elements),
        TEST_CASE(refuses_what_has_no_rank),
        TEST_CASE(counts_directions_of_products),
        TEST_CASE(draws_the_line_of_products),
    };
    return test_run_once(cases, TEST_COUNT(cases));
}
