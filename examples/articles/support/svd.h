/* Singular values of small matrices. */
#ifndef ARTICLES_SVD_H
#define ARTICLES_SVD_H

#include <stdint.h>

/* a [rows][columns], columns <= rows, becomes u * s: columns that are orthogonal to each other, of
 * length s[j], in falling order; v [columns][columns], NULL where not wanted, such that the old a
 * is (u * s) times v transposed. One-sided Jacobi rotations (Hestenes 1958) in double precision. */
void svd(double *a, double *s, double *v, int64_t rows, int64_t columns);

/* How many singular values of a [rows][columns], any shape, exceed the largest one times
 * max(rows, columns) * 2^-24: what is below is rounding of f32. At most 64 columns. */
int64_t numerical_rank(const float *a, int64_t rows, int64_t columns);

/* ||t - P t||_F / ||t||_F, P the projector on the columns of a: what no weights after a can
 * give. a [rows][columns], t [rows][width]; columns <= rows, columns <= 64. */
double missed_part(const float *a, const float *t, int64_t rows, int64_t columns, int64_t width);

#endif
