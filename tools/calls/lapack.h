/* The decompositions of LAPACK that ranks need. Its library is opened when one is first asked for:
 * the command is built and runs without it, and no command that needs no ranks pays for it. */
#ifndef HEADWISE_TOOLS_LAPACK_H
#define HEADWISE_TOOLS_LAPACK_H

/* LAPACKE's own numbers. */
enum { LAPACK_ROWS = 101, LAPACK_COLUMNS = 102, LAPACK_NO_MEMORY = -1010 };

/* LAPACKE_dgesdd and LAPACKE_dgeqrf, as its documentation has them, with sizes of 32 bits. */
typedef int lapack_dgesdd_fn(int layout, char job, int m, int n, double *a, int a_stride,
                             double *values, double *u, int u_stride, double *vt, int vt_stride);
typedef int lapack_dgeqrf_fn(int layout, int m, int n, double *a, int a_stride, double *scales);

struct lapack {
    lapack_dgesdd_fn *dgesdd;
    lapack_dgeqrf_fn *dgeqrf;
};

/* NULL where the library is not there or lacks one of them. May be called from several threads. */
const struct lapack *lapack_get(void);

/* After lapack_get() gave NULL: what is missing, why, and what has to be installed. */
const char *lapack_problem(void);

#endif
