/* Times OpenBLAS with a softmax in plain C on a benchmark case, and checks what they compute.
 *
 *   peer_blas CASE [SECONDS]
 *
 * CASE is a name such as attention/prefill/B:1/H:16/KV:16/S:512/T:512/D:64/causal:0/threads:1, the
 * last S of whose T positions ask. Prints, after SECONDS (1) of repetitions,
 *   openblas MICROSECONDS ERROR
 * with the largest deviation of sampled rows from float64, relative to the largest value. Exit
 * status 1 where that is above 1e-4, or the case is none. */
#define _POSIX_C_SOURCE 199309L /* clock_gettime */

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cblas.h>
#include <omp.h>

#include "buffer.h"
#include "measure/clock.h"

static const double largest_error = 1e-4;

struct peer {
    int64_t B, H, KV, S, T, D, window;
    bool causal, is_layer;
    int threads;
    /* Rows of (batch, head, row, column) or, in a layer, (batch, row, head * column). */
    float *q, *k, *v, *y;
    float *x, *out, *weights[4]; /* layers only: q, k, v, o as [in][out] */
    float *scores;               /* for each thread rows_at_once * T */
    int64_t rows_at_once;
};

static int64_t field(const char *name, const char *key, int64_t absent) {
    const char *at = strstr(name, key);
    return at != NULL ? strtoll(at + strlen(key), NULL, 10) : absent;
}

/* Exits where the name holds no case. */
static struct peer parse_case(const char *name) {
    struct peer p = {
        .B = field(name, "/B:", 0),
        .H = field(name, "/H:", 0),
        .KV = field(name, "/KV:", 0),
        .S = field(name, "/S:", 0),
        .T = field(name, "/T:", 0),
        .D = field(name, "/D:", 0),
        .window = field(name, "/window:", 0),
        .causal = field(name, "/causal:", 0) != 0,
        .is_layer = strncmp(name, "layer/", 6) == 0 || strstr(name, "/layer/") != NULL,
        .threads = (int)field(name, "/threads:", 1),
    };
    if (p.B < 1 || p.KV < 1 || p.H < p.KV || p.S < 1 || p.T < p.S || p.D < 1 ||
        (p.is_layer && p.T != p.S)) {
        fprintf(stderr, "peer_blas: no case that can be run: %s\n", name);
        exit(1);
    }
    return p;
}

static float *floats(int64_t n, float scale) {
    float *x = bench_buffer(n, HEADWISE_F32, scale);
    if (x == NULL) {
        fprintf(stderr, "peer_blas: out of memory\n");
        exit(1);
    }
    return x;
}

static void fill(struct peer *p) {
    int64_t E = p->H * p->D, EK = p->KV * p->D;
    p->q = floats(p->B * p->S * E, 1.0f);
    p->k = floats(p->B * p->T * EK, 1.0f);
    p->v = floats(p->B * p->T * EK, 1.0f);
    p->y = floats(p->B * p->S * E, 1.0f);
    /* The query heads of a group are neighbours: with one query they are the rows of one product.
     */
    p->rows_at_once = p->S == 1 ? p->H / p->KV : p->S;
    p->scores = floats(p->threads * p->rows_at_once * p->T, 1.0f);
    if (p->is_layer) {
        float scale = sqrtf(3.0f / (float)E);
        p->x = floats(p->B * p->S * E, 1.0f);
        p->out = floats(p->B * p->S * E, 1.0f);
        for (int i = 0; i < 4; i++)
            p->weights[i] = floats(E * (i == 1 || i == 2 ? EK : E), scale);
    }
}

/* Where row r of a head begins, in q and y (n_heads = H, n_rows = S) or in k and v (KV, T). */
static int64_t row_at(const struct peer *p, int64_t n_heads, int64_t n_rows, int64_t b, int64_t h,
                      int64_t r) {
    return p->is_layer ? ((b * n_rows + r) * n_heads + h) * p->D
                       : ((b * n_heads + h) * n_rows + r) * p->D;
}

static int64_t first_key(const struct peer *p, int64_t i) {
    int64_t position = p->T - p->S + i;
    return p->window > 0 && position + 1 > p->window ? position + 1 - p->window : 0;
}

static int64_t last_key(const struct peer *p, int64_t i) {
    return p->causal ? p->T - p->S + i : p->T - 1;
}

static void softmax_row(float *s, int64_t n, int64_t first, int64_t last) {
    float max = s[first], sum = 0.0f;
    for (int64_t j = first; j <= last; j++)
        max = s[j] > max ? s[j] : max;
    for (int64_t j = first; j <= last; j++) {
        s[j] = expf(s[j] - max);
        sum += s[j];
    }
    for (int64_t j = first; j <= last; j++)
        s[j] /= sum;
    memset(s, 0, (size_t)first * sizeof(float));
    memset(s + last + 1, 0, (size_t)(n - last - 1) * sizeof(float));
}

/* rows_at_once rows from query head h on: products by OpenBLAS, the softmax row by row. */
static void attend(const struct peer *p, int64_t b, int64_t h, int softmax_threads) {
    int64_t g = h / (p->H / p->KV), m = p->rows_at_once;
    int64_t q_stride = p->is_layer && p->S > 1 ? p->H * p->D : p->D;
    int64_t k_stride = p->is_layer ? p->KV * p->D : p->D;
    const float *q = p->q + row_at(p, p->H, p->S, b, h, 0);
    const float *k = p->k + row_at(p, p->KV, p->T, b, g, 0);
    const float *v = p->v + row_at(p, p->KV, p->T, b, g, 0);
    float *y = p->y + row_at(p, p->H, p->S, b, h, 0);
    float *scores = p->scores + omp_get_thread_num() * m * p->T;
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)m, (int)p->T, (int)p->D,
                1.0f / sqrtf((float)p->D), q, (int)q_stride, k, (int)k_stride, 0.0f, scores,
                (int)p->T);
#pragma omp parallel for num_threads(softmax_threads) if (softmax_threads > 1)
    for (int64_t r = 0; r < m; r++)
        softmax_row(scores + r * p->T, p->T, first_key(p, r % p->S), last_key(p, r % p->S));
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)m, (int)p->D, (int)p->T, 1.0f,
                scores, (int)p->T, v, (int)k_stride, 0.0f, y, (int)q_stride);
}

/* Heads in parallel with one thread in each product, or, where there are too few of them, one after
 * the other with all threads in it. */
static void attend_all(const struct peer *p) {
    int64_t per_batch = p->S == 1 ? p->KV : p->H, n = p->B * per_batch, step = p->H / per_batch;
    bool by_head = n >= p->threads;
    openblas_set_num_threads(by_head ? 1 : p->threads);
#pragma omp parallel for num_threads(p->threads) schedule(dynamic) if (by_head && p->threads > 1)
    for (int64_t i = 0; i < n; i++)
        attend(p, i / per_batch, i % per_batch * step, by_head ? 1 : p->threads);
    openblas_set_num_threads(p->threads);
}

static void project(const struct peer *p, float *y, const float *x, const float *w, int64_t n) {
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)(p->B * p->S), (int)n,
                (int)(p->H * p->D), 1.0f, x, (int)(p->H * p->D), w, (int)n, 0.0f, y, (int)n);
}

static void run(const struct peer *p) {
    int64_t E = p->H * p->D, EK = p->KV * p->D;
    if (p->is_layer) {
        project(p, p->q, p->x, p->weights[0], E);
        project(p, p->k, p->x, p->weights[1], EK);
        project(p, p->v, p->x, p->weights[2], EK);
    }
    attend_all(p);
    if (p->is_layer)
        project(p, p->out, p->y, p->weights[3], E);
}

/* The largest deviation in one row of one head from float64, from the q, k and v that were used;
 * *largest becomes the largest value where that is larger. */
static double row_error(const struct peer *p, int64_t b, int64_t h, int64_t i, double *largest) {
    int64_t g = h / (p->H / p->KV);
    const float *q = p->q + row_at(p, p->H, p->S, b, h, i);
    const float *y = p->y + row_at(p, p->H, p->S, b, h, i);
    double *w = malloc((size_t)p->T * sizeof *w), max = -INFINITY, sum = 0, error = 0;
    if (w == NULL)
        return NAN;
    for (int64_t j = first_key(p, i); j <= last_key(p, i); j++) {
        const float *k = p->k + row_at(p, p->KV, p->T, b, g, j);
        w[j] = 0;
        for (int64_t d = 0; d < p->D; d++)
            w[j] += (double)q[d] * k[d] / sqrt((double)p->D);
        max = fmax(max, w[j]);
    }
    for (int64_t j = first_key(p, i); j <= last_key(p, i); j++)
        sum += w[j] = exp(w[j] - max);
    for (int64_t d = 0; d < p->D; d++) {
        double value = 0;
        for (int64_t j = first_key(p, i); j <= last_key(p, i); j++)
            value += w[j] / sum * p->v[row_at(p, p->KV, p->T, b, g, j) + d];
        double deviation = fabs(y[d] - value);
        error = deviation <= error ? error : deviation; /* NaN stays */
        *largest = fmax(*largest, fabs(value));
    }
    free(w);
    return error;
}

/* The error of one row of a projection, in the same terms. */
static double projection_error(const struct peer *p, const float *y, const float *x, const float *w,
                               int64_t n, int64_t row, double *largest) {
    int64_t E = p->H * p->D;
    double error = 0;
    for (int64_t j = 0; j < n; j++) {
        double value = 0;
        for (int64_t t = 0; t < E; t++)
            value += (double)x[row * E + t] * w[t * n + j];
        double deviation = fabs(y[row * n + j] - value);
        error = deviation <= error ? error : deviation;
        *largest = fmax(*largest, fabs(value));
    }
    return error;
}

/* Rows at the start, in the middle and at the end, each relative to the largest value of its kind.
 */
static double check(const struct peer *p) {
    double largest = 0, error = 0, worst = 0;
    const int64_t rows[] = {0, p->S / 2, p->S - 1};
    for (int i = 0; i < 3; i++) {
        double e = row_error(p, i % p->B, rows[i] % p->H, rows[i], &largest);
        error = e <= error ? error : e;
    }
    worst = error / largest;
    for (int i = 0; p->is_layer && i < 4; i++) {
        float *const results[] = {p->q, p->k, p->v, p->out};
        int64_t n = (i == 1 || i == 2 ? p->KV : p->H) * p->D, row = p->B * p->S - 1;
        largest = 0;
        double e =
            projection_error(p, results[i], i == 3 ? p->y : p->x, p->weights[i], n, row, &largest);
        worst = e / largest <= worst ? worst : e / largest;
    }
    return worst;
}

int main(int argc, char **argv) {
    if (argc < 2) {
        fprintf(stderr, "usage: peer_blas CASE [SECONDS]\n");
        return 1;
    }
    struct peer p = parse_case(argv[1]);
    double seconds = argc > 2 ? atof(argv[2]) : 1.0, best_s = INFINITY;
    openblas_set_num_threads(p.threads);
    fill(&p);
    run(&p);
    double error = check(&p), first_s = seconds_now();
    do {
        double begin_s = seconds_now();
        run(&p);
        best_s = fmin(best_s, seconds_now() - begin_s);
    } while (seconds_now() - first_s < seconds);
    if (!(error <= largest_error)) {
        fprintf(stderr, "peer_blas: %s deviates from float64 by %g\n", openblas_get_config(),
                error);
        return 1;
    }
    printf("openblas %.1f %.1e\n", best_s * 1e6, error);
    return 0;
}
