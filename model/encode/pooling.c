/* Rows of a text into one row. Sums are in double, in the order of tokens, and rounded once. */
#include <math.h>
#include <string.h>

#include "encode/encoder.h"

enum { COLUMNS = 16 }; /* that are summed at once, so that each row is read in order */

/* sum over rows of weight * row, divided; weight is 1, or the row's number from 1 on. */
static void sum_rows(float *dst, const float *rows, int64_t n, int64_t columns, int64_t first,
                     bool weighted, double divisor) {
    for (int64_t c = 0; c < columns; c += COLUMNS) {
        int64_t some = columns - c < COLUMNS ? columns - c : COLUMNS;
        double sums[COLUMNS] = {0};
        for (int64_t r = first; r < n; r++)
            for (int64_t i = 0; i < some; i++)
                sums[i] += (double)rows[r * columns + c + i] * (weighted ? (double)(r + 1) : 1);
        for (int64_t i = 0; i < some; i++)
            dst[c + i] = (float)(sums[i] / divisor);
    }
}

static void largest_of_rows(float *dst, const float *rows, int64_t n, int64_t columns,
                            int64_t first) {
    memcpy(dst, rows + first * columns, (size_t)columns * sizeof *dst);
    for (int64_t r = first + 1; r < n; r++)
        for (int64_t c = 0; c < columns; c++)
            dst[c] = rows[r * columns + c] > dst[c] || isnan(rows[r * columns + c])
                         ? rows[r * columns + c]
                         : dst[c];
}

static void pool(enum headwise_pooling pooling, float *dst, const float *rows, int64_t n,
                 int64_t columns, int64_t first) {
    double count = (double)(n - first);
    switch (pooling) {
    case HEADWISE_POOL_CLS:
        memcpy(dst, rows, (size_t)columns * sizeof *dst);
        break;
    case HEADWISE_POOL_LAST:
        memcpy(dst, rows + (n - 1) * columns, (size_t)columns * sizeof *dst);
        break;
    case HEADWISE_POOL_MAX:
        largest_of_rows(dst, rows, n, columns, first);
        break;
    case HEADWISE_POOL_MEAN:
        sum_rows(dst, rows, n, columns, first, false, count);
        break;
    case HEADWISE_POOL_MEAN_SQRT:
        sum_rows(dst, rows, n, columns, first, false, sqrt(count));
        break;
    case HEADWISE_POOL_WEIGHTED_MEAN: /* weights first+1 ... n */
        sum_rows(dst, rows, n, columns, first, true, count * (double)(n + first + 1) / 2);
        break;
    case HEADWISE_POOLINGS:
        break;
    }
}

void headwise_encoder_pool(const headwise_encoder *encoder, float *dst, const float *rows,
                           int64_t n, int64_t columns, int64_t first) {
    for (int i = 0; i < encoder->n_poolings; i++, dst += columns) {
        bool sums =
            encoder->poolings[i] != HEADWISE_POOL_CLS && encoder->poolings[i] != HEADWISE_POOL_LAST;
        if (n == 0 || (sums && first >= n)) /* nothing to pool: zeros */
            memset(dst, 0, (size_t)columns * sizeof *dst);
        else
            pool(encoder->poolings[i], dst, rows, n, columns, first);
    }
}

void headwise_encoder_normalize(float *x, int64_t n) {
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += (double)x[i] * (double)x[i];
    double length = sqrt(sum);
    length = length < 1e-12 ? 1e-12 : length; /* as torch's normalize() */
    for (int64_t i = 0; i < n; i++)
        x[i] = (float)((double)x[i] / length);
}
