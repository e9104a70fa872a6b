/* Random numbers that are the same on every machine for the same seed. */
#ifndef TESTS_RNG_H
#define TESTS_RNG_H

#include <stddef.h>
#include <stdint.h>

struct test_rng {
    uint64_t state;
};

/* The seed of this run: HEADWISE_SEED of the environment (decimal or 0x...), else a fixed number.
 * The runner prints it, so that a failing run can be repeated. */
uint64_t test_seed(void);

/* A generator for one test: different streams of one seed are independent. */
struct test_rng test_rng_make(uint64_t stream);

/* A generator that HEADWISE_SEED does not change: for results that are stored in files. */
struct test_rng test_rng_fixed(uint64_t stream);

uint64_t test_rng_next(struct test_rng *rng);
int64_t test_rng_below(struct test_rng *rng, int64_t n); /* uniform in [0, n), n > 0 */

/* A multiple of 2^-23 in [-1, 1): integer arithmetic and one exact conversion. */
float test_rng_float(struct test_rng *rng);

/* n of them, each times scale. */
void test_rng_fill(struct test_rng *rng, float *x, size_t n, float scale);

#endif
