/* Gives every shape to Google Benchmark, for each usable tier and number of threads. */
#include "cases.h"

#include <stdio.h>
#include <stdlib.h>

int bench_tiers(enum headwise_isa tiers[BENCH_MAX_TIERS]) {
    static const enum headwise_isa all[] = {HEADWISE_ISA_SCALAR, HEADWISE_ISA_NEON,
                                            HEADWISE_ISA_AVX2, HEADWISE_ISA_AVX512};
    int n = 0;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (headwise_isa_usable(all[i]))
            tiers[n++] = all[i];
    }
    return n;
}

int bench_threads(int n_threads[BENCH_MAX_THREADS]) {
    int most = headwise_default_threads(), n = 0;
    for (int t = 1; t < most && n < BENCH_MAX_THREADS - 1; t *= 2)
        n_threads[n++] = t;
    n_threads[n++] = most;
    return n;
}

/* The case is kept for good: Google Benchmark refers to it until the program ends. */
static void add_case(const char *family, const struct bench_case *c, bench_fn *fn) {
    char name[192];
    struct bench_case *kept = malloc(sizeof *kept);
    if (kept == NULL) {
        fprintf(stderr, "bench: no memory for the list of cases\n");
        exit(1);
    }
    *kept = *c;
    bench_case_name(name, sizeof name, family, c);
    bench_add(name, fn, kept);
}

void bench_add_shapes(const char *family, const struct bench_shape *shapes, size_t n,
                      bench_fn *fn) {
    enum headwise_isa tiers[BENCH_MAX_TIERS];
    int threads[BENCH_MAX_THREADS];
    int n_tiers = bench_tiers(tiers), n_counts = bench_threads(threads);
    for (size_t i = 0; i < n; i++) {
        for (int tier = 0; tier < n_tiers; tier++) {
            for (int t = 0; t < n_counts; t++)
                add_case(family, &(struct bench_case){shapes[i], tiers[tier], threads[t]}, fn);
        }
    }
}
