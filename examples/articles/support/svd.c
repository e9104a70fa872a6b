/* Singular values by Jacobi's one-sided rotations: small, and without another library. */
#include "svd.h"

#include <math.h>
#include <stdlib.h>

#include "report.h"

enum { SWEEPS = 60 };

static double dot(const double *a, int64_t i, int64_t j, int64_t rows, int64_t columns) {
    double sum = 0;
    for (int64_t r = 0; r < rows; r++)
        sum += a[r * columns + i] * a[r * columns + j];
    return sum;
}

static void rotate(double *a, int64_t i, int64_t j, int64_t rows, int64_t columns, double c,
                   double s) {
    for (int64_t r = 0; r < rows; r++) {
        double x = a[r * columns + i], y = a[r * columns + j];
        a[r * columns + i] = c * x - s * y;
        a[r * columns + j] = s * x + c * y;
    }
}

/* Makes columns i and j orthogonal, the longer one first; whether that changed anything. */
static int settle_pair(double *a, double *v, int64_t i, int64_t j, int64_t rows, int64_t columns) {
    double p = dot(a, i, i, rows, columns), q = dot(a, j, j, rows, columns);
    double both = dot(a, i, j, rows, columns), c = 1, s = 0;
    if (fabs(both) > 1e-15 * sqrt(p * q)) {
        double zeta = (q - p) / (2 * both);
        double t = (zeta < 0 ? -1 : 1) / (fabs(zeta) + sqrt(1 + zeta * zeta));
        c = 1 / sqrt(1 + t * t);
        s = c * t;
        p -= t * both;
        q += t * both;
    } else if (p >= q) {
        return 0;
    }
    if (p < q) { /* a quarter turn more */
        double old = c;
        c = -s;
        s = old;
    }
    rotate(a, i, j, rows, columns, c, s);
    if (v)
        rotate(v, i, j, columns, columns, c, s);
    return 1;
}

void svd(double *a, double *s, double *v, int64_t rows, int64_t columns) {
    for (int64_t i = 0; v && i < columns * columns; i++)
        v[i] = i / columns == i % columns;
    int changed = 1;
    for (int sweep = 0; changed && sweep < SWEEPS; sweep++) {
        changed = 0;
        for (int64_t i = 0; i < columns; i++) {
            for (int64_t j = i + 1; j < columns; j++)
                changed |= settle_pair(a, v, i, j, rows, columns);
        }
    }
    for (int64_t j = 0; j < columns; j++)
        s[j] = sqrt(dot(a, j, j, rows, columns));
}

/* As doubles, transposed where that makes it tall. */
static double *tall_copy(const float *a, int64_t *rows, int64_t *columns) {
    int64_t m = *rows, n = *columns;
    double *copy = take(m * n, sizeof *copy);
    for (int64_t i = 0; i < m * n; i++)
        copy[m >= n ? i : i % n * m + i / n] = (double)a[i];
    *rows = m >= n ? m : n;
    *columns = m >= n ? n : m;
    return copy;
}

int64_t numerical_rank(const float *a, int64_t rows, int64_t columns) {
    double *copy = tall_copy(a, &rows, &columns), s[64];
    int64_t rank = 0;
    svd(copy, s, NULL, rows, columns);
    while (rank < columns && s[rank] > s[0] * (double)rows * 0x1p-24)
        rank++;
    free(copy);
    return rank;
}

double missed_part(const float *a, const float *t, int64_t rows, int64_t columns, int64_t width) {
    double *u = take(rows * columns, sizeof *u), s[64], all = 0, reached = 0;
    for (int64_t i = 0; i < rows * columns; i++)
        u[i] = (double)a[i];
    svd(u, s, NULL, rows, columns);
    for (int64_t c = 0; c < width; c++) {
        for (int64_t r = 0; r < rows; r++)
            all += (double)t[r * width + c] * (double)t[r * width + c];
        for (int64_t j = 0; j < columns && s[j] > s[0] * (double)rows * 0x1p-24; j++) {
            double sum = 0;
            for (int64_t r = 0; r < rows; r++)
                sum += u[r * columns + j] * (double)t[r * width + c];
            reached += sum * sum / (s[j] * s[j]);
        }
    }
    free(u);
    return sqrt(fmax(all - reached, 0) / all);
}
