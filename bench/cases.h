/* From a list of shapes to cases: one for each usable tier and number of threads. */
#ifndef BENCH_CASES_H
#define BENCH_CASES_H

#include "shape.h"
#include "shim.h"

enum { BENCH_MAX_TIERS = 4, BENCH_MAX_THREADS = 12 };

/* The tiers that this machine can run, scalar first; returns how many. */
int bench_tiers(enum headwise_isa tiers[BENCH_MAX_TIERS]);

/* 1, 2, 4, ... below the default number of threads, and that number; returns how many. */
int bench_threads(int n_threads[BENCH_MAX_THREADS]);

/* Adds the cases of n shapes. fn is given a struct bench_case, which lives as long as the program.
 * Exits with a message where memory runs out. */
void bench_add_shapes(const char *family, const struct bench_shape *shapes, size_t n, bench_fn *fn);

#endif
