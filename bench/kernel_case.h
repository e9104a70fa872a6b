/* One kernel of one tier on data of its own. */
#ifndef BENCH_KERNEL_CASE_H
#define BENCH_KERNEL_CASE_H

#include "kernels/kernels.h"

/* What the kernels work on: arrays of BENCH_KERNEL_ELEMENTS random elements. */
struct bench_kernel_data {
    float *c, *a, *b;
    float *fresh; /* what c begins with, for kernels that would use up their input */
    float *alpha, *beta, *max, *sum;
    uint16_t *half;
    uint8_t *visible;
};

enum { BENCH_KERNEL_ELEMENTS = 128 * 1024 };

/* m, n, k as in kernels.h; a size that a kernel does not have is 1. In the list an n of 0 stands
 * for the tier's nr, and -1 for its nr_min. */
struct bench_sizes {
    ptrdiff_t m, n, k;
};

typedef void bench_kernel_fn(const struct headwise_kernels *kernels,
                             const struct bench_kernel_data *data, struct bench_sizes sizes);

struct bench_kernel {
    const char *name; /* the kernel's word in kernels.h */
    struct bench_sizes sizes;
    bench_kernel_fn *call;
    int flops;     /* for each of the m * n * k multiply-adds; 0: the kernel has none to speak of */
    int bytes[4];  /* read and written for each of m * n, m * k, n * k, and m elements */
    bool restores; /* c is filled again before each call */
};

extern const struct bench_kernel bench_kernel_list[];
extern const int bench_n_kernels;

/* Floats between the rows of c and a in all calls: 256 and a cache line. */
enum { BENCH_ROW_STRIDE = HEADWISE_KEY_BLOCK + HEADWISE_SUM_LANES };

#endif
