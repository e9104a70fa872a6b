/* Google Benchmark for C programs. */
#ifndef BENCH_SHIM_H
#define BENCH_SHIM_H

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One run of one case: a benchmark::State. */
typedef struct bench_run bench_run;

/* The body of a case. It repeats its work while bench_next() is true, then sets counters. Google
 * Benchmark calls it several times per case, with more repetitions each time. */
typedef void bench_fn(bench_run *run, const void *arg);

/* Adds a case. name is copied; arg must outlive bench_main(). */
void bench_add(const char *name, bench_fn *fn, const void *arg);

/* A line of the report's context (console header, "context" in JSON). */
void bench_note(const char *key, const char *value);

bool bench_next(bench_run *run);
void bench_set(bench_run *run, const char *counter, double value);

/* Ends the case as failed, with a text for the report. bench_next() is false afterwards. */
void bench_fail(bench_run *run, const char *why);

/* Reads Google Benchmark's options and runs the cases that --benchmark_filter leaves. Returns what
 * main() should: 1 for an option it does not know. */
int bench_main(int argc, char **argv);

#ifdef __cplusplus
}
#endif
#endif
